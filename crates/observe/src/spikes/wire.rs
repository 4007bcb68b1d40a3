//! What passes between `wake.bpf.c` and this half, byte for byte: rings of records and of stacks,
//! and the state of each CPU.
//!
//! This is the only place where it is written down; `wire.h` is made from it (`layout.rs`). Reading
//! a ring while it is written is left to `ring.rs`, what records mean to `decode.rs`.

/// The text of `wire.h`.
#[allow(dead_code, reason = "asked by tests and by xtask only")]
pub(crate) fn header() -> String {
    let kernel = "../sources/bpf/kernel.h";
    crate::layout::header("What passes between the kernel half of spikes and user space.", kernel, ITEMS)
}

layout! {
    enum Kind as kind, K_: u8 {
        Switch = 1,
        /// An interrupt, made when it is over. arg: its number.
        Irq = 2,
        /// arg: its vector.
        Softirq = 3,
        Timer = 4,
        /// arg: enum other.
        Other = 5,
        Nmi = 6,
    }

    /// By their order in `decode.rs`.
    enum Other as other, O_: u32 {
        Reschedule = 0,
        CallFunction = 1,
        CallFunctionSingle = 2,
        IrqWork = 3,
    }

    /// Of a switch: the first thread could have gone on.
    const F_PREEMPTED: u8 = 1;
    /// Of a switch: the second thread is the measuring one.
    const F_OWN: u8 = 2;

    /// A record of any kind. It takes one line of the cache, since each line that is touched is a
    /// wait for memory.
    struct Record as record {
        /// Its place in the ring's order, from 1 on; 0 while it is being written.
        seq: u64,
        at: u64,
        kind: u8,
        flags: u8,
        /// Of a switch from the idle task: the last state that the CPU idled in, and one.
        idle: u16,
        /// Of a switch to the measuring thread: the CPU that it was moved from, and one.
        arg: u32,
        /// By kind, as in the structs below.
        words: [u64; 5],
    }

    struct Switched as switch_record {
        seq: u64,
        at: u64,
        kind: u8,
        flags: u8,
        idle: u16,
        arg: u32,
        /// Threads by the kernel's numbers.
        from: u32,
        to: u32,
        from_priority: i32,
        to_priority: i32,
        to_name: [u8; 16] as char,
        spare: u64,
    }

    /// A switch with F_OWN.
    struct Own as own_record {
        seq: u64,
        at: u64,
        kind: u8,
        flags: u8,
        idle: u16,
        arg: u32,
        from: u32,
        to: u32,
        from_priority: i32,
        to_priority: i32,
        /// When it was woken; 0 when it was not.
        woken: u64,
        /// When its timer had to expire, with its slack; 0 when it was not woken by its timer.
        due: u64,
        /// When it was stopped; 0 when it was not.
        stopped: u64,
    }

    struct Interrupt as interrupt_record {
        seq: u64,
        at: u64,
        kind: u8,
        flags: u8,
        idle: u16,
        arg: u32,
        began: u64,
        spare: u64,
        /// Of a handler.
        name: [u8; 16] as char,
        spare2: u64,
    }

    /// A CPU's state.
    struct Cpu as cpu {
        /// Records, ever. Written on that CPU, like all up to `woken`.
        written: u64,
        /// Of the interrupt that it is in; 0 outside.
        hard_began: u64,
        soft_began: u64,
        /// Of the timer that the measuring thread sleeps by; 0 when it does not.
        due: u64,
        stopped: u64,
        /// Stacks, ever.
        stacks: u64,
        /// As in records.
        idle: u32,
        moved_from: u32,
        /// The measuring thread, wherever that was done; 0 when it has run since.
        woken: u64,
        /// Lateness from which on a stack is taken. By user space, and in a line of the cache that
        /// others read when they wake somebody.
        late_ns: u64,
        /// Its number and one; 0: not measured.
        ring: u32,
        /// Of the measuring thread, as user space numbers it.
        tid: u32,
        /// The same, as the kernel does: set by whichever side knows it first.
        pid: u32,
        pad: u32,
        spare: [u64; 5],
    }

    const FRAMES: usize = 60;
    struct Stack as stack {
        /// As of records.
        seq: u64,
        at: u64,
        /// In bytes.
        len: u64,
        spare: u64,
        frames: [u64; FRAMES],
    }
    /// Stacks that are kept for each ring.
    const STACKS: usize = 64;
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_header_is_of_this_layout() {
        assert_eq!(include_str!("wire.h"), super::header(), "try: cargo xtask bpf");
    }
}

//! The binary interface between `wake.bpf.c` and user space: rings of records and of stacks, and
//! the state of each CPU.
//!
//! This is its only definition; `wire.h` is made from it (`layout.rs`). `ring.rs` reads a ring
//! while it is being written; `decode.rs` decodes records.

/// The text of `wire.h`.
#[allow(dead_code, reason = "asked by tests and by xtask only")]
pub(crate) fn header() -> String {
    let kernel = "../sources/bpf/kernel.h";
    crate::layout::header("What passes between the kernel half of spikes and user space.", kernel, ITEMS)
}

layout! {
    enum EventKind as kind, K_: u8 {
        Switch = 1,
        /// An interrupt, recorded at its exit. arg: its number.
        Irq = 2,
        /// arg: its vector.
        Softirq = 3,
        Timer = 4,
        /// arg: enum other.
        Other = 5,
        Nmi = 6,
    }

    /// By their order in `decode.rs`.
    enum OtherInterrupt as other, O_: u32 {
        Reschedule = 0,
        CallFunction = 1,
        CallFunctionSingle = 2,
        IrqWork = 3,
    }

    /// Flag of a switch: the first thread was preempted.
    const F_PREEMPTED: u8 = 1;
    /// Flag of a switch: the second thread is the measuring one.
    const F_OWN: u8 = 2;

    /// A record of any kind. It takes one cache line, since each touched line may be a cache miss.
    struct RingRecord as record {
        /// Its sequence number, from 1 on; 0 while it is being written.
        seq: u64,
        at: u64,
        kind: u8,
        flags: u8,
        /// For a switch from the idle task: the last idle state of the CPU, plus one.
        idle: u16,
        /// For a switch to the measuring thread: the CPU that it migrated from, plus one.
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
        /// Threads by TID in the initial PID namespace.
        from: u32,
        to: u32,
        from_priority: i32,
        to_priority: i32,
        to_name: [u8; 16] as char,
        spare: u64,
    }

    /// A switch with F_OWN.
    struct OwnSwitch as own_record {
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
        /// When its timer was due, with its slack; 0 when it was not woken by its timer.
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
        /// The name of a handler.
        name: [u8; 16] as char,
        spare2: u64,
    }

    /// A CPU's state.
    struct CpuState as cpu {
        /// Number of records so far. Written on that CPU, like all fields up to `woken`.
        written: u64,
        /// Entry of the current interrupt; 0 outside.
        hard_began: u64,
        soft_began: u64,
        /// Expiry of the timer that the measuring thread sleeps on; 0 when it does not.
        due: u64,
        stopped: u64,
        /// Number of stacks so far.
        stacks: u64,
        /// As in records.
        idle: u32,
        moved_from: u32,
        /// When the measuring thread was woken, on any CPU; 0 when it has run since.
        woken: u64,
        /// The latency from which a stack is taken. Set by user space, in a cache line that other
        /// CPUs read at wake-ups.
        late_ns: u64,
        /// Its number plus one; 0: not measured.
        ring: u32,
        /// The TID of the measuring thread in dwell's PID namespace.
        tid: u32,
        /// The same in the initial PID namespace: set by the side that knows it first.
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
    /// The number of stacks that are kept for each ring.
    const STACKS: usize = 64;
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_header_is_of_this_layout() {
        assert_eq!(include_str!("wire.h"), super::header(), "try: cargo xtask bpf");
    }
}

//! The binary interface of the kernel half and user space: records, settings, counters.
//!
//! This is its only definition. `wire.h`, which the kernel half includes, is made from it
//! (`layout.rs`); `decode.rs` and `buffers.rs` read memory as these types. Python frames have their
//! own records (`python.h` and the crate `python`).
//!
//! A record starts with a [`Head`] and is a multiple of 8 bytes long. Some records only add to the
//! next one on the same CPU (an object, the previous task), which keeps the frequent records small.

/// The opening of `wire.h`.
#[allow(dead_code, reason = "asked by tests and by xtask only")]
pub(crate) fn header() -> String {
    crate::layout::header("The binary interface of the kernel half and user space.", "kernel.h", ITEMS)
}

layout! {
    /// The call of a thread that is in none.
    const NO_CALL: u32 = u32::MAX;
    /// The call for the time in which a thread dies.
    const DYING: u32 = 0x7fff;
    /// The number for calls without their own entry.
    const OTHER_CALL: u32 = 0x7ffe;
    /// In the number of a call: from the 32-bit table.
    const COMPAT: u32 = 0x8000;

    /// Flags of a switch and of an `alive_record`.
    const F_UNINTERRUPTIBLE: u8 = 1;
    const F_IO: u8 = 2;
    /// Flag of a switch: nothing ran on the CPU before.
    const F_WAS_IDLE: u8 = 8;
    /// Flag of an exit: the last thread of its process.
    const F_LAST: u8 = 4;
    /// Flags of a connection.
    const F_CLOSED: u8 = 1;
    const F_NO_DELAY: u8 = 2;
    /// Flags of a path.
    const PATH_CUT: u8 = 1;
    const PATH_DELETED: u8 = 2;
    /// Flags of a file: it was opened with O_SYNC, O_DSYNC, O_DIRECT.
    const FILE_SYNC: u32 = 1;
    const FILE_DSYNC: u32 = 2;
    const FILE_DIRECT: u32 = 4;

    /// Object of a switch: the thread's last PATH_GIVEN. Not a kernel address, and not aligned like
    /// a futex.
    const GIVEN_PATH: u64 = 1;
    /// Queue time of a request: the kernel does not keep the time of creation.
    const NOT_KEPT: u64 = u64::MAX;

    /// The limit of distinct calls of a thread between two of its records.
    const SLOTS: usize = 6;
    /// The longest name is 253 bytes.
    const NAME_MAX: usize = 256;
    /// Return addresses that are read of a task that waits.
    const CALLERS_MAX: usize = 16;
    /// Bytes of a packet that are copied: the headers of IPv6, UDP and DNS, and the longest
    /// question.
    const PACKET_MAX: usize = 328;
    /// Bytes of a user stack that are copied: a power of two.
    const USER_MAX: usize = 32768;
    /// Entries of a kernel stack that are copied.
    const KERNEL_MAX: usize = 48;
    /// Registers that calls do not keep, on the architecture that has most of them.
    const SCRATCH_MAX: usize = 19;
    /// Bytes of a local socket's name.
    const SOCKET_NAME_MAX: usize = 108;
    /// Bytes of a request of which its kind is made.
    const REQUEST_TEXT_MAX: usize = 128;
    /// Sockets that user space asks about at a time.
    const ASKED: usize = 64;

    /// What a record is.
    enum Kind as kind, K_: u8 {
        /// The root entered its execve.
        Start = 1,
        Exec = 2,
        Fork = 3,
        Exit = 4,
        Switch = 5,
        Wake = 6,
        Flush = 7,
        Send = 8,
        Sample = 9,
        Rename = 10,
        /// What an object number refers to from now on.
        Object = 11,
        /// For the next switch of this CPU: the previous task, and throttling.
        Ran = 12,
        /// For the next switch of this CPU: the counters of the thread that dies.
        Dead = 13,
        /// For the next wake of this CPU: the socket that became ready.
        Ready = 14,
        /// What had this CPU while the thread waited for it that comes with the next switch.
        Occupant = 15,
        /// The largest resident set of a process whose last thread exits.
        Peak = 16,
        /// a: mapping_kind; a page fault of the sample.
        Fault = 17,
        /// a: path_kind; the path of a file.
        Path = 20,
        /// For the page fault in which the thread blocks next: its file.
        Page = 21,
        /// For the next wake of this thread: the request whose completion causes it.
        Request = 22,
        /// For the next wake of this thread: the object of its waker's call.
        Through = 23,
        /// The names of a local socket and of its other end.
        SocketNames = 24,
        /// a: left; a thread that existed before the recording.
        Alive = 30,
        /// a: connection_began; flags: F_CLOSED, F_NO_DELAY.
        Connection = 40,
        /// a: 1 for a query, 0 for a response.
        Packet = 41,
        /// A name lookup of the C library that has returned.
        Resolved = 42,
        /// a: connection_began; a connection between two high ports is established.
        Established = 43,
        /// A thread received on a TCP connection, after something else.
        Received = 44,
        /// The beginning of what the thread received, of the next `Received` of the same time.
        RequestText = 45,
        /// A thread works for a request that is not followed: it received on this connection, or
        /// sent there.
        LeftOut = 46,
        /// a: n; the request that the thread receives next, at the same time, was drawn of 2^n.
        Drawn = 47,
        /// a: task_did; a task of the program's own scheduler.
        Task = 48,
        /// The same of one that waits.
        TaskWaits = 49,
        /// A head alone. a: 1 where a piece of work begins that was asked for by name, 0 where it
        /// ends.
        Unit = 50,
        /// In the ring `stacks`, like all below. a: mode.
        SampleStack = 64,
        WaitStack = 65,
        /// The stack of a wait that begins: its length is not known yet.
        FaultStack = 66,
        /// The stack of a waker. stands_for_ns: the time of the wake-up, call: the woken thread.
        WakerStack = 67,
        /// The stack of a page fault of the sample.
        FaultSampleStack = 68,
        /// a: mode; a counter of the processor overflowed.
        Counted = 69,
    }

    /// What a task does from then on, if it does not wait.
    enum TaskDid as task_did, TASK_: u8 {
        Runs = 0,
        Ready = 1,
        Ends = 2,
    }

    /// What a page fault is in.
    enum MappingKind as mapping_kind, MAPPING_: u8 {
        Unknown = 0,
        Anonymous = 1,
        Heap = 2,
        Stack = 3,
        File = 4,
    }

    /// The state in which a thread was switched out.
    enum Left as left, LEFT_: u8 {
        None = 0,
        Runnable = 1,
        Blocked = 2,
        Stopped = 3,
        Dead = 4,
    }

    /// What woke a thread.
    enum WakerKind as waker_kind, WAKER_: u8 {
        /// A task of the tree.
        Task = 0,
        OtherTask = 1,
        Timer = 2,
        Device = 3,
        Network = 4,
        Interrupt = 5,
    }

    /// What a sample interrupted.
    enum Mode as mode, MODE_: u8 {
        User = 0,
        Call = 1,
        Fault = 2,
        Interrupt = 3,
        Entry = 4,
    }

    enum ObjectKind as object_kind, OBJECT_: u8 {
        File = 1,
        Net = 2,
        Unix = 3,
        OtherSocket = 4,
    }

    enum PathKind as path_kind, PATH_: u8 {
        OfFile = 0,
        /// From the root of its filesystem, wherever it is mounted.
        InFilesystem = 1,
        /// As given to the current call of the thread; the file itself is not known.
        Given = 2,
    }

    /// How a connection was first seen.
    enum Began as connection_began, BEGAN_: u8 {
        Opened = 1,
        Accepted = 2,
        Found = 3,
    }

    /// Indexes of the map `settings`.
    enum Setting as setting, SETTING_: u32 {
        /// Set by user space: blocked time that one stack of a wait represents.
        WaitPeriodNs = 0,
        /// Set by the kernel half: lost stacks.
        LostStacks = 1,
        /// Set by user space: calls are not traced at the moment.
        CallsOff = 2,
        /// Set by the kernel half: lost samples of counters.
        LostCounted = 3,
        /// Set by user space: of 2^n requests one is followed; up to 31.
        Halvings = 4,
    }
    const SETTINGS: u32 = Setting::Halvings as u32 + 1;

    struct Head as head {
        at: u64,
        kind: u8,
        /// left, waker_kind, mode, object_kind and so on.
        a: u8,
        /// F_…
        flags: u8,
        /// Number of `struct slot` after the record.
        calls: u8,
        tid: u32,
    }

    /// Time in one call since the last record.
    struct Slot as slot {
        call: u32,
        count: u32,
        ns: u64,
    }

    /// The two ends of a socket.
    struct Ends as ends {
        local: [u8; 16],
        remote: [u8; 16],
        local_port: u16,
        remote_port: u16,
        protocol: u16,
        family: u16,
    }

    /// The kernel's counters of a thread.
    struct Counters as counters {
        cpu_ns: u64,
        runqueue_ns: u64,
        minor_faults: u64,
        major_faults: u64,
        voluntary: u64,
        involuntary: u64,
    }

    struct Switch as switch_record, then "struct slot tail[]" {
        /// tid: the thread switched out; 0 when outside the tree.
        head: Head,
        cpu: u32,
        /// The thread switched in; 0 when outside the tree.
        into: u32,
        /// The call it blocked in.
        call: u32,
        pad: u32,
        object: u64,
    }

    struct Wake as wake_record, then "struct slot tail[]" {
        /// tid: the thread that is woken.
        head: Head,
        cpu: u32,
        waker: u32,
        /// The waker's name, when it is outside the tree.
        name: [u8; 16] as char,
    }

    struct Exec as exec_record {
        head: Head,
        entered: u64,
        pid: u32,
        old_tid: u32,
        name: [u8; 16] as char,
    }

    struct Fork as fork_record, then "struct slot tail[]" {
        head: Head,
        child: u32,
        pid: u32,
        name: [u8; 16] as char,
    }

    struct Exit as exit_record, then "struct slot tail[]" {
        head: Head,
        status: i32,
        pid: u32,
    }

    struct Peak as peak_record {
        /// tid: the process.
        head: Head,
        pages: u64,
    }

    struct Flush as flush_record, then "struct slot tail[]" {
        head: Head,
    }

    struct Sample as sample_record {
        head: Head,
        ip: u64,
        call: u32,
        /// CPU time that the sample represents.
        period_ns: u32,
    }

    struct Rename as rename_record {
        head: Head,
        name: [u8; 16] as char,
    }

    struct Ran as ran_record {
        /// tid: the thread switched in.
        head: Head,
        cpu: u32,
        ran: u32,
        name: [u8; 16] as char,
        throttled_ns: u64,
    }

    struct Occupant as occupant_record {
        /// tid: what had the CPU; 0 is the idle task.
        head: Head,
        from: u64,
        to: u64,
        cpu: u32,
        /// 0 where it is not known in dwell's PID namespace.
        pid: u32,
        name: [u8; 16] as char,
    }

    struct Dead as dead_record {
        head: Head,
        cpu: u32,
        pad: u32,
        counters: Counters,
    }

    struct Alive as alive_record {
        head: Head,
        pid: u32,
        /// Its current call.
        call: u32,
        object: u64,
        name: [u8; 16] as char,
        /// Until then.
        counters: Counters,
    }

    /// What the iterator prints of a thread that it has found, or found again.
    struct Found as found_row {
        tid: u32,
        pid: u32,
        /// Where it blocks: USER_REGS; else zeros.
        regs: [u64; 8],
    }

    struct Object as object_record {
        /// a: object_kind.
        head: Head,
        object: u64,
        mode: u16,
        pad: u16,
        dev: u32,
        ino: u64,
        peer: u64,
        magic: u64,
        name: [u8; 16] as char,
        ends: Ends,
    }

    /// K_SEND, K_READY, K_ESTABLISHED.
    struct OfEnds as ends_record, then "struct slot tail[]" {
        head: Head,
        cpu: u32,
        pad: u32,
        ends: Ends,
    }

    struct Received as received_record, then "struct slot tail[]" {
        /// a: 1 where the tree is known to serve.
        head: Head,
        /// When the first of these bytes came in; 0: not known.
        arrived: u64,
        cpu: u32,
        /// 0: the other end sends no more.
        bytes: u32,
        ends: Ends,
    }

    struct Task as task_record {
        head: Head,
        /// Its address in the process.
        task: u64,
    }

    struct TaskWaits as task_waits_record {
        head: Head,
        task: u64,
        /// Where it waits, in the process.
        on: u64,
        pid: u32,
        /// The number of the reason.
        reason: u32,
        /// Addresses, the innermost first, up to a 0.
        callers: [u64; CALLERS_MAX],
    }

    struct RequestText as request_text_record {
        head: Head,
        /// How many of the bytes are there.
        len: u32,
        pad: u32,
        bytes: [u8; REQUEST_TEXT_MAX],
    }

    struct Path as path_record, then "char text[]" {
        head: Head,
        ino: u64,
        dev: u32,
        /// Bytes of `text` in use: components, the last one first, each terminated by a 0.
        length: u32,
    }

    struct Page as page_record {
        head: Head,
        /// 0: no file is known.
        ino: u64,
        dev: u32,
        pad: u32,
    }

    struct Fault as fault_record {
        /// a: mapping_kind.
        head: Head,
        /// The inode of a file.
        ino: u64,
        dev: u32,
        /// The faults that it stands for.
        faults: u32,
        name: [u8; 16] as char,
    }

    struct Through as through_record {
        /// tid: the thread that is about to be woken.
        head: Head,
        object: u64,
    }

    struct SocketNames as socket_names_record {
        head: Head,
        ino: u64,
        /// Bytes of `own` and `peer` in use; 0: it has no name.
        own_len: u32,
        peer_len: u32,
        /// As in `sockaddr_un`: those that begin with a 0 are no paths.
        own: [u8; SOCKET_NAME_MAX] as char,
        peer: [u8; SOCKET_NAME_MAX] as char,
    }

    struct RequestAbout as request_about {
        dev: u32,
        bytes: u32,
        /// May be NOT_KEPT.
        queue_ns: u64,
        device_ns: u64,
        write: u32,
        pad: u32,
    }

    struct Request as request_record {
        /// tid: the thread that is about to be woken.
        head: Head,
        about: RequestAbout,
    }

    struct Connection as connection_record {
        /// tid: the thread that opened it or sent on it first; 0 when unknown.
        head: Head,
        began: u64,
        established: u64,
        sent: u64,
        received: u64,
        round_trip_us: u32,
        round_trip_us_min: u32,
        retransmits: u32,
        segment_bytes_max: u32,
        ends: Ends,
    }

    struct Resolved as resolved_record {
        /// tid: the calling thread; at: when it returned.
        head: Head,
        asked_at: u64,
        /// The return value of the function; 0: success.
        error: i32,
        len: u32,
        name: [u8; NAME_MAX] as char,
    }

    struct Packet as packet_record {
        /// tid: the thread that sends a query.
        head: Head,
        len: u32,
        pad: u32,
        /// From the IP header on.
        bytes: [u8; PACKET_MAX],
    }

    /// The user stack follows, from the stack pointer upwards.
    struct Stack as stack_record, then "u8 user[USER_MAX]" {
        head: Head,
        stands_for_ns: u64,
        pid: u32,
        call: u32,
        /// User registers: USER_REGS.
        regs: [u64; 8],
        /// The others, of a sample in user mode: SCRATCH_REGS.
        scratch: [u64; SCRATCH_MAX],
        /// How many of these there are; 0 where they were not taken.
        scratch_regs: u32,
        pad: u32,
        /// In bytes.
        kernel_len: u32,
        /// In bytes.
        user_len: u32,
        kernel: [u64; KERNEL_MAX],
    }

    /// In the ring, since a counter may overflow where no other interrupt comes.
    struct Counted as counted_record {
        head: Head,
        ip: u64,
        /// How much it stands for; it tells which counter.
        period: u64,
        pid: u32,
        pad: u32,
    }

    /// Bytes of a segment that have a position.
    const SEGMENT: usize = 64 * 1024;
    /// Space after them for the rest of a segment's last record.
    const LONGEST: usize = 512;
    /// Each CPU has its own buffer, written in place and read by user space, which maps it
    /// (`buffers.rs`). It is a power of two of segments; a position counts bytes since the start
    /// and wraps at the buffer's size. A record that begins in a segment ends in it.
    ///
    /// A record is preceded by a word: 0 until the record is complete, then its size. The reader
    /// zeroes records that it has read.
    struct Segment as segment {
        bytes: [u8; SEGMENT + LONGEST],
    }
    /// Reader and writer use separate cache lines.
    struct Buffer as buffer {
        /// Position of the end; the last record may be incomplete.
        written: u64,
        pad: [u64; 15],
        taken: u64,
        pad2: [u64; 15],
    }

    /// Per CPU: the current interrupt, and counters of lost records.
    struct Cpu as cpu {
        lost: u64,
        /// Calls that returned, and those of them whose time is known.
        calls: u64,
        timed: u64,
        /// Bytes of small transfers since the last sample, and when the next is due (`files.h`).
        moved: u32,
        gap: u32,
        /// Vector plus 1.
        softirq: u32,
        irq: u32,
        timer: u32,
        /// `ends` holds the socket that became ready in this softirq.
        ready: u32,
        /// The task of slot `index`, if known: the running one, unless its switch was hidden.
        task: u64,
        /// The same task's registers; 0 when not known.
        regs: u64,
        /// What the scheduler's clock of this CPU was behind ours at the last switch of a thread of
        /// the tree; it wraps. 0: not known yet.
        behind: u64,
        /// 0: outside the tree.
        index: u32,
        /// A request to a disk was completed in this context.
        request: u32,
        ends: Ends,
        /// Bytes of files that were counted (`files.h`).
        file_bytes: u64,
        /// Requests to disks that were counted (`disk_requests.h`).
        disk_requests: u64,
        /// Calls on paths: those that are in the sample, and those until the next that is
        /// (`asked.h`).
        asked: u32,
        asked_pause: u32,
        /// Requests that began and are not followed (`received.h`).
        left_out: u64,
        /// Requests that began and are followed.
        followed: u64,
        /// How often a thread of the tree, or another one, came past a probe (`units.h`).
        came_past: u64,
        others_came_past: u64,
        /// What tasks did (`tasks.h`).
        tasks: u64,
    }

    /// The files of which it is counted what processes read and wrote.
    const FILES_MAX: u32 = 4096;
    /// The bytes that a sample of small transfers stands for: a power of two.
    const POINT_BYTES: u32 = 1024 * 1024;

    /// A file and a process. Inodes are reused, with another generation.
    struct FileKey as file_key {
        ino: u64,
        dev: u32,
        generation: u32,
        pid: u32,
        pad: u32,
    }
    /// What a process moved in one direction, as far as the sample tells.
    struct Transfers as transfers {
        bytes: u64,
        /// CPU time of the calls.
        ns: u64,
        /// In 1/1024.
        calls: u64,
        /// Samples that stand for POINT_BYTES each. The rest was counted whole.
        points: u32,
        /// The call of the last.
        call: u32,
    }
    struct FileCounts as file_counts {
        /// The largest that was seen.
        size: u64,
        /// Of its filesystem.
        magic: u64,
        read: Transfers,
        written: Transfers,
        /// FILE_SYNC and so on, of all descriptors.
        flags: u32,
        /// The call of the last write that waited to be durable.
        durable_call: u32,
        name: [u8; 16] as char,
        /// Writes that waited to be durable, and their time.
        durable_calls: u64,
        durable_bytes: u64,
        durable_ns: u64,
        /// Requests to a disk that were made for it, and their bytes.
        disk_reads: u64,
        disk_read_bytes: u64,
        disk_writes: u64,
        disk_written_bytes: u64,
    }

    /// Paths that were asked for again, with their text.
    const ASKED_MAX: u32 = 1024;
    /// Bytes of such a text, its zero included: of a longer path the end.
    const ASKED_NAME: usize = 112;
    /// The first calls of a CPU, which are all in the sample.
    const ASKED_FIRST: u32 = 4096;
    /// Calls in one piece that are in the sample from then on, and of how many they are one.
    const ASKED_PIECE: u32 = 64;
    const ASKED_ONE_IN: u32 = 32;

    /// A path that a process asked for again, since it has an entry.
    struct AskedCounts as asked_counts {
        again: u64,
        failed: u64,
        call: u32,
        pid: u32,
        /// `text` is its end.
        cut: u32,
        pad: u32,
        text: [u8; ASKED_NAME] as char,
    }

    /// Processes and disks of which requests are counted, reads and writes apart.
    const DISK_USES_MAX: u32 = 512;
    /// Octaves of the distances of requests in sectors: the first has those without any, the last
    /// all that are larger.
    const DISTANCES: usize = 40;

    /// A disk, a process, and what the requests do.
    struct DiskKey as disk_key {
        dev: u32,
        pid: u32,
        /// 0: they read.
        write: u32,
        pad: u32,
    }
    struct DiskCounts as disk_counts {
        requests: u64,
        bytes: u64,
        /// The sector behind the last one; 0: there was none.
        end: u64,
        /// Issued while no other of the tree was under way on that disk.
        alone: u64,
        /// The sum of how many were under way at each, itself included.
        depths: u64,
        depth_max: u32,
        pad: u32,
        /// By octave of bytes.
        sizes: [u32; SIZES],
        distances: [u32; DISTANCES],
    }

    /// Buckets of a histogram of call times.
    const BUCKETS: usize = 320;
    /// Calls with their own statistics, and one entry for the others: a power of two.
    const DENSE: u32 = 128;
    /// Numbers of calls are below this.
    const CALLS: u32 = 1024;
    /// Octaves of the numbers of bytes that calls moved: the last has all that is larger.
    const SIZES: usize = 24;
    /// Error numbers that are kept apart for each call and CPU: the first that occur.
    const ERRORS: usize = 6;
    struct ErrorCount as error_count {
        /// 0: not used.
        error: u32,
        calls: u32,
    }
    /// Per call and CPU.
    struct Stats as stats {
        /// The call, or OTHER_CALL.
        call: u64,
        calls: u64,
        errors: u64,
        /// Of calls that move bytes: what they moved.
        bytes: u64,
        /// Calls that returned 0.
        zeros: u64,
        /// Calls whose entry was traced too: the figures below are of these.
        timed: u64,
        total_ns: u64,
        cpu_ns: u64,
        max_ns: u64,
        /// Calls that did what the one before did; see `results.h`.
        repeats: u64,
        /// Of calls on paths, by a sample (`asked.h`): how many it has, for how many these stand,
        /// how many of those asked again, and failed then.
        asked_sample: u64,
        asked: u64,
        asked_again: u64,
        asked_again_failed: u64,
        by_error: [ErrorCount; ERRORS],
        sizes: [u32; SIZES],
        histogram: [u32; BUCKETS],
    }

    /// The state of a connection until it is reported.
    struct Tracked as connection {
        /// Time of its first segment, or when it was first observed.
        began: u64,
        /// 0: not established, or not observed.
        established: u64,
        /// TCP's counters when it was found.
        sent: u64,
        received: u64,
        retransmits: u32,
        /// 0: not known yet.
        tid: u32,
        /// connection_began.
        how: u8,
        pad: [u8; 7],
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_header_is_of_this_layout() {
        assert_eq!(include_str!("wire.h"), super::header(), "try: cargo xtask bpf");
    }
}

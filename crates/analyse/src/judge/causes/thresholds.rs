//! The manual says the thresholds of the code: each row is a cause, a line of its file and the
//! words that say it. Who changes one has to change the other.

use super::{Cause, Manual};

/// The text of a cause's file.
macro_rules! source {
    ($($id:literal: $file:literal),* $(,)?) => {
        &[$(($id, include_str!(concat!($file, ".rs")))),*]
    };
}

const SOURCES: &[(&str, &str)] = source![
    "allocation": "allocation",
    "busy-wait": "busy_wait", "connection-churn": "connection_churn",
    "context-switching": "context_switching", "cpu-contention": "cpu_contention",
    "delayed-ack": "delayed_ack", "disk-latency": "disk_latency",
    "disk-throughput": "disk_throughput", "dns-lookups": "dns_lookups", "hot-code": "hot_code",
    "interpreter-lock": "interpreter_lock", "lock-contention": "lock_contention",
    "memory-latency": "memory_latency", "memory-pressure": "memory_pressure",
    "metadata-calls": "metadata_calls", "network-throughput": "network_throughput",
    "oversubscription": "oversubscription", "page-faults": "page_faults", "pipe-peer": "pipe_peer",
    "process-spawning": "process_spawning",
    "repeated-reads": "repeated_reads", "serial-requests": "serial_requests",
    "single-thread": "single_thread", "sleep-polling": "sleep_polling",
    "small-files": "small_files", "small-io": "small_io", "sync-writes": "sync_writes",
    "timeout": "timeout",
];

#[rustfmt::skip]
const SAID: &[(&str, &str, &str)] = &[
    ("allocation", "SHARE_MIN: f64 = 0.25", "A quarter of all samples on CPUs or more"),
    ("allocation", "SHARE_LO_MIN: f64 = 0.20", "the low end of the interval at a fifth"),
    ("allocation", "SCRIPT_SHARE_MIN: f64 = 0.50", "half of all samples are needed"),
    ("allocation", "SCRIPT_SHARE_LO_MIN: f64 = 0.40", "the low end at two fifths"),
    ("allocation", "SAMPLES_MIN: u64 = 30", "at least 30 of them"),
    ("allocation", "PART_MIN: f64 = 0.5", "between half of the allocator's time and all of it"),
    ("busy-wait", "SHARE_MIN: f64 = 0.05", "a twentieth of all samples or more"),
    ("busy-wait", "SAMPLES_MIN: u64 = 30", "30 at least"),
    ("connection-churn", "AGAIN_MIN: u64 = 10", "Ten connections or more"),
    ("connection-churn", "FIRST_WINDOW_BYTES: f64 = 14_480.0", "from 14,480 bytes"),
    ("connection-churn", "SETUP_NS: Ns = 2_000_000", "up to 2 ms of each first turn"),
    ("context-switching", "HAND_OVERS_MIN: u64 = 1000", "a thousand waits of each other or more"),
    ("context-switching", "APART_NS_MAX: Ns = 50_000", "one in 50 us of the account"),
    ("context-switching", "BYTES_MAX: u64 = 4096", "move 4 KiB on average or less"),
    ("context-switching", "TOGETHER: f64 = 10.0", "with k from 10 to all of them"),
    ("cpu-contention", "PART: Ns = 10", "A tenth of the account"),
    ("cpu-contention", "OTHERS_NS_MIN: Ns = 20_000_000", "20 ms or more are run queue"),
    ("delayed-ack", "DELAYED_MIN: u64 = 3", "at least three"),
    ("delayed-ack", "ROUND_TRIP_NS_MAX: Ns = 20_000_000", "the smallest round trip is below 20 ms"),
    ("delayed-ack", "DELAY_PART: f64 = 38.0 / 48.0", "38 of 48 ms"),
    ("disk-latency", "WAITS_MIN: u64 = 100", "100 waits or more"),
    ("disk-latency", "BYTES_MAX: u64 = 32 << 10", "reads are of 32 KiB or less"),
    ("disk-latency", "ALONE_SHARE: f64 = 0.75", "three quarters of the requests to read"),
    ("disk-latency", "AT_ONCE_PART: Ns = 10", "nine tenths of the time with such waits"),
    ("disk-latency", "AT_ONCE: f64 = 2.0", "at least half of the waits"),
    ("disk-throughput", "LIMIT_PART: Ns = 3", "for a third or more of the time"),
    ("disk-throughput", "FEWER: f64 = 1.5", "from 1.5, which most data can be compressed to"),
    ("dns-lookups", "REPEATED_MIN: u64 = 3", "three times or more"),
    ("dns-lookups", "CACHED_NS: Ns = 200_000", "within 0.2 ms"),
    ("dns-lookups", "LIBRARY_NS: Ns = 500_000", "up to 0.5 ms for each"),
    ("hot-code", "SHARE_MIN: f64 = 0.10", "a tenth of all"),
    ("hot-code", "SHARE_LO_MIN: f64 = 0.05", "its interval does not begin below a twentieth"),
    ("hot-code", "SAMPLES_MIN: u64 = 30", "at least 30 of them"),
    ("hot-code", "FASTER_MIN: f64 = 1.5", "from 1.5 to all of it gone"),
    ("interpreter-lock", "WHOLE_PART: Ns = 100", "a hundredth of the time or more"),
    ("interpreter-lock", "THREAD_PART: Ns = 4", "at least a quarter as long"),
    ("interpreter-lock", "START_NS: Ns = 50_000_000", "need 50 ms to start"),
    ("interpreter-lock", "SPEED_MIN: f64 = 0.75", "at three quarters of their speed"),
    ("lock-contention", "WHOLE_PART: Ns = 100", "a hundredth of the time or more"),
    ("lock-contention", "PART: Part = (0.5, 1.0)", "from half of the waits gone to all"),
    ("memory-latency", "SHARE_MIN: f64 = 0.10", "a tenth of the CPU time or more"),
    ("memory-latency", "AT_LOADS_MIN: f64 = 0.5", "Half of its samples or more"),
    ("memory-latency", "ADDRESSES_MIN: u64 = 100", "100 addresses or more"),
    ("memory-latency", "IN_ORDER_MAX: f64 = 0.25", "less than a quarter of them"),
    ("memory-latency", "TRANSLATED_MAX: u64 = 4096", "from 4,096 on"),
    ("memory-pressure", "PART: Ns = 20", "a twentieth of the account or more"),
    ("metadata-calls", "FAILED_MIN: u64 = 100", "and 100 or more"),
    ("metadata-calls", "ASKED_MIN: u64 = 1000", "1,000 questions for metadata or more"),
    ("metadata-calls", "TIMES_MIN: u64 = 4", "asked for four times or more"),
    ("metadata-calls", "ENTRY_BYTES_MIN: u64 = 24", "at least 24 bytes each"),
    ("metadata-calls", "LISTED_PART: u64 = 4", "at least a quarter of these"),
    ("network-throughput", "FEWER_MIN: f64 = 1.5", "made 1.5 times fewer"),
    ("network-throughput", "LIMITED_SHARE: f64 = 0.5", "for half of the run"),
    ("network-throughput", "LINK_PART: u64 = 2", "half of its bytes or more"),
    ("oversubscription", "CROWD: f64 = 1.5", "as 1.5 times the CPUs"),
    ("oversubscription", "COMPUTES_PART: Ns = 2", "for half of their life or more"),
    ("oversubscription", "FAIR_PART: f64 = 2.0", "half of an even share of the CPUs or more"),
    ("oversubscription", "YIELDS_MIN: u64 = 1000", "`sched_yield` 1,000 times or more"),
    ("oversubscription", "WAITS_A_THREAD: u64 = 10", "10 times for each thread or more"),
    ("oversubscription", "SPIN_SHARE_MIN: f64 = 0.1", "a tenth of their samples or more"),
    ("oversubscription", "SPIN_SAMPLES_MIN: u64 = 30", "at least 30"),
    ("oversubscription", "LINES_MAX: u64 = 2", "no more than two lines of memory"),
    ("oversubscription", "OTHER_LOADS_PART: u64 = 20", "fewer than a twentieth of its samples"),
    ("page-faults", "TIMES_MIN: u64 = 2", "at least twice as many faults"),
    ("page-faults", "GIVEN_BACK_MIN: u64 = 10", "ten times or more"),
    ("page-faults", "ENTRY_NS: Ns = 200", "200 ns a fault"),
    ("pipe-peer", "FASTER_MIN: f64 = 1.5", "from 1.5 to all of it"),
    ("process-spawning", "PROCESSES_MIN: usize = 20", "20 processes or more"),
    ("process-spawning", "PART: Ns = 20", "a twentieth of the tree's CPU time or more"),
    ("repeated-reads", "AGAIN_MIN: u64 = 4 << 20", "by 4 MiB or more"),
    ("serial-requests", "TURNS_MIN: u64 = 16", "16 times or more"),
    ("serial-requests", "CONNECTIONS_MIN: u64 = 8", "on 8 connections or more"),
    ("serial-requests", "AT_ONCE_PART: Ns = 10", "for nine tenths of the time"),
    ("serial-requests", "AT_A_TIME: (f64, f64) = (2.0, 16.0)", "from k = 2 to 16"),
    ("single-thread", "PROCESSES_MIN: usize = 4", "Four processes or more"),
    ("single-thread", "LIFE_NS_MIN: Ns = 10_000_000", "live for 10 ms or more"),
    ("single-thread", "COMPUTES_MIN: f64 = 0.5", "compute for half of that"),
    ("sleep-polling", "SLEEPS_MIN: u64 = 5", "sleeps 5 times or more"),
    ("sleep-polling", "WORK_SHARE_MIN: f64 = 0.5", "for half of the time that it sleeps"),
    ("sleep-polling", "WORK_SHARE_SEEN_MIN: f64 = 0.01", "A hundredth is enough"),
    ("sleep-polling", "SLEEPS_A_LOOK: u64 = 2", "every other sleep or more"),
    ("sleep-polling", "FOUR_OF_FIVE: f64 = 1.2816", "1.28 times the root"),
    ("small-files", "FILES_MIN: u64 = 1000", "1,000 files or more"),
    ("small-files", "BYTES_MAX: u64 = 32 << 10", "32 KiB or less"),
    ("small-files", "IN_DIRECTORY_MIN: u64 = 100", "for every 100 files or fewer"),
    ("small-files", "BUFFER: u64 = 65_536", "bytes/64 KiB"),
    ("small-io", "BUFFER: u64 = 65_536", "beyond bytes/64 KiB"),
    ("small-io", "GONE_MIN: u64 = 100", "100 or more beyond those"),
    ("sync-writes", "CALLS_MIN: u64 = 10", "returned 10 times or more"),
    ("sync-writes", "GROUP: f64 = 10.0", "with g from 10 records to all of them"),
    ("sync-writes", "BYTES_MAX: u64 = 256 << 10", "No more than 256 KiB"),
    ("sync-writes", "WRITES_A_WAIT: u64 = 2", "every other one waits for the disk"),
    ("timeout", "PEER_UNIT: Ns = 100_000_000", "a multiple of 100 ms"),
    ("timeout", "THREAD_UNIT: Ns = 10_000_000", "a limit of 10 ms or more"),
    ("timeout", "LATE_PART: Ns = 1000", "up to 0.1 % more"),
    ("timeout", "LATE_NS: Ns = 500_000", "and 0.5 ms"),
    ("timeout", "TIMES_MIN: u64 = 5", "5 times or more"),
    ("timeout", "WORK_SHARE_MIN: f64 = 0.1", "for a tenth of that time or more"),
    ("timeout", "WORK_SHARE_MAX: f64 = 0.5", "for half of the time, that is sleep-polling"),
    ("timeout", "HANDSHAKE_LATE_NS: Ns = 100_000_000", "a tenth of a second beyond whole seconds"),
];

#[test]
fn the_manual_says_the_thresholds_of_the_code() {
    for (id, threshold, words) in SAID {
        let Manual { rule, part, .. } = &Cause::named(id).expect("a cause").manual;
        let (_, source) = SOURCES.iter().find(|(of, _)| of == id).expect("its file is named");
        assert!(source.contains(&format!("const {threshold};")), "{id}: {threshold} is not in its file");
        assert!(rule.contains(words) || part.contains(words), "{id}: {words:?} is not in its manual");
    }
}

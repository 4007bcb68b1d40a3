//! What operations cost, and a program whose waits are held against it.

use super::{MS, Place, run, thread, wait};
use model::ladder::MedianInterval;
use model::run::Run;
use model::{Costs, Seen, State::*};

/// As from a quick ladder of a virtual machine, with two rungs that could not be measured.
pub(crate) fn of_a_ladder() -> Costs {
    let cost = |median: f64| Seen::Value(MedianInterval { median, lo: median * 0.95, hi: median * 1.1 });
    Costs {
        from: "kept quick ladder of 2026-11-21".into(),
        measured_at: "2026-11-21T20:47:12Z".into(),
        quick: true,
        memory_access_ns: cost(131.4),
        call_ns: cost(98.2),
        fault_ns: cost(812.0),
        switch_ns: cost(1_321.0),
        open_ns: cost(1_912.5),
        stat_ns: cost(702.0),
        fsync_ns: cost(1_402_113.0),
        disk_read_ns: Seen::unseen("direct-read: the filesystem refuses direct reads"),
        process_ns: cost(412_000.0),
        connect_ns: Seen::unseen("tcp-connect: there is no loopback interface"),
        load_ns: Seen::unseen("the ladder has no curve of latency against size"),
        disk_read_32_ns: Seen::unseen("not measured"),
        sequential_read_ns: Seen::unseen("not measured"),
        sequential_write_ns: Seen::unseen("not measured"),
        tls_handshake_ns: Seen::unseen("not measured"),
    }
}

/// The same from a file that somebody has tampered with.
pub(crate) fn hostile() -> Costs {
    Costs { from: "\x1b[2J\u{202e}ladder\nof nobody".into(), ..of_a_ladder() }
}

/// A program that writes a journal, one fsync at a time.
pub(crate) fn journal() -> Run {
    let places: &[Place] = &[
        ("journal", 71, 71, Disk, "fsync, /var/lib/journal", 612 * MS, 200),
        ("journal", 71, 71, Kernel, "fsync", 31 * MS, 200),
        ("journal", 71, 71, User, "", 12 * MS, 200),
    ];
    let mut journal = run(&["./journal"], places, 0.04);
    journal.waits = vec![wait(Disk, "fsync", ("file", "/var/lib/journal"), 200, 612 * MS, 612 * MS)];
    journal.threads =
        vec![thread(71, 71, "journal", &[(Disk, 612 * MS), (Kernel, 31 * MS), (User, 12 * MS)])];
    journal.costs = Seen::Value(of_a_ladder());
    journal
}

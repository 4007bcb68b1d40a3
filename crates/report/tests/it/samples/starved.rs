//! A program that is not let run: by others, by the quota of its group, by its own threads.

use super::{MS, Place, run, thread};
use model::limits::{CpuQuota, Limits, MemoryLimit};
use model::run::Run;
use model::{Seen, State::*};

/// A database on a busy host, in a group with a quota and little memory.
pub(crate) fn starved() -> Run {
    let places: &[Place] = &[
        ("sqlite3", 31, 31, Runqueue, "cc1 ran", 5_120 * MS, 7_300),
        ("sqlite3", 31, 31, Runqueue, "kworker/u8:1 ran", 410 * MS, 900),
        ("sqlite3", 31, 31, Runqueue, "on its way to a free cpu", 12 * MS, 40),
        ("sqlite3", 31, 31, Throttled, "", 960 * MS, 48),
        ("sqlite3", 31, 31, Disk, "fdatasync, file /var/db", 1_100 * MS, 2_000),
        ("sqlite3", 31, 31, User, "", 420 * MS, 8_000),
    ];
    let mut starved = run(&["sqlite3", "a.db"], places, 0.02);
    let group = || "/system.slice/db.service".to_owned();
    starved.limits = Seen::Value(Limits {
        group: Seen::Value(format!("{}/inner", group())),
        cpu: Seen::Value(CpuQuota {
            group: group(),
            quota_ns: 20 * MS,
            period_ns: 100 * MS,
            periods: 80,
            throttled_periods: 48,
            throttled_ns: 960 * MS,
        }),
        memory: Seen::Value(MemoryLimit {
            group: group(),
            limit_bytes: 512 << 20,
            used_bytes: 510 << 20,
            reached: 12,
        }),
        cpus_allowed: Seen::Value(1),
        refaulted_bytes: Seen::Absent,
    });
    starved.threads = vec![thread(31, 31, "sqlite3", &[(Runqueue, 5_542 * MS), (User, 420 * MS)])];
    starved
}

/// Four threads on two CPUs.
pub(crate) fn crowded() -> Run {
    let places: &[Place] = &[
        ("encode", 90, 91, User, "", 4_000 * MS, 300),
        ("encode", 90, 91, Runqueue, "encode of the tree ran", 3_900 * MS, 299),
        ("encode", 90, 91, Runqueue, "rcu_preempt ran", 30 * MS, 60),
        ("encode", 90, 90, Kernel, "read", 150 * MS, 30),
    ];
    let mut crowded = run(&["encode", "-T4"], places, 0.02);
    if let Seen::Value(queue) = &mut crowded.run_queue {
        (queue.cpus_used, queue.cpus_wanted) = (1.99, 3.94);
    }
    crowded
}

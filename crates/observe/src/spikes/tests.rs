//! Messages about missing events, and this thread itself as the measuring one.

use super::*;
use std::thread;
use std::time::Duration;

fn record(at: Ns) -> RingRecord {
    RingRecord { seq: 1, at, kind: 0, flags: 0, idle: 0, arg: 0, words: [0; 5] }
}

#[test]
fn what_is_lost_is_said() {
    let part = |records, cut, torn| RingPart { records: (0..records).map(record).collect(), cut, torn };
    assert_eq!(lost(&part(5, false, 0), None), None);
    let no_steal = lost(&part(5, false, 0), Some(&"no file".to_owned())).unwrap();
    assert_eq!(no_steal, "steal is not known: no file");
    let all = lost(&part(RECORDS_MAX as u64 + 3, true, 2), None).unwrap();
    for said in ["ring was overwritten", "3 events in the middle", "2 events were overwritten"] {
        assert!(all.contains(said), "{all}");
    }
}

#[test]
fn of_too_many_events_the_first_and_the_last_are_kept() {
    let (kept, hole) = bounded((0..RECORDS_MAX as u64 + 100).map(record).collect());
    assert_eq!(hole, Some(RECORDS_MAX / 2));
    assert_eq!((kept.len(), kept[0].at, kept[RECORDS_MAX - 1].at), (RECORDS_MAX, 0, RECORDS_MAX as u64 + 99));
    assert!(kept.is_sorted_by_key(|record| record.at));
    assert_eq!((bounded(vec![record(1)]).0.len(), bounded(vec![record(1)]).1), (1, None));
}

#[test]
fn every_structure_that_the_kernel_half_declares_is_read_from_the_kernels_types() {
    let relocated = include_str!("wake.bpf.c").split("clang attribute push").nth(1).unwrap();
    let relocated = relocated.split("clang attribute pop").next().unwrap();
    let declared = relocated.lines().filter_map(|line| line.strip_prefix("struct ")?.split_once(" {"));
    // A suffix after three underscores is not part of the name.
    let names = declared.map(|(name, _)| name.split("___").next().unwrap());
    let mut own: Vec<_> = names.filter(|name| *name != "task_struct").collect();
    own.sort_unstable();
    assert_eq!(own, STRUCTS_OF_SPIKES);
}

/// This thread as the measuring one. Needs root and BPF.
#[test]
fn a_threads_own_sleeps_are_seen_and_the_latest_are_kept() {
    let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
    // It may be on any CPU; all are measured, and the events show which one.
    let cpus = host::cpus(host::here());
    for _ in 0..20 {
        let mut spikes = Spikes::open(&cpus, None).unwrap();
        let cpu = rustix::thread::sched_getcpu() as u32;
        spikes.begin(monotonic_ns(), &[(cpu, tid)]);
        for _ in 0..KEPT + 4 {
            let before = monotonic_ns();
            thread::sleep(Duration::from_millis(1));
            spikes.late(cpu, before, monotonic_ns());
            spikes.look();
        }
        spikes.late(cpu + 1_000, 0, Ns::MAX);
        let moved = rustix::thread::sched_getcpu() as u32 != cpu;
        let seen = spikes.finish();
        assert_eq!(seen.len(), KEPT);
        assert!(seen.is_sorted_by_key(|seen| std::cmp::Reverse(seen.awake_ns - seen.expected_ns)));
        let whole = seen.iter().all(|seen| {
            let woken =
                |event: &KernelEvent| matches!(&event.happened, KernelAction::Woken(task) if task.tid == tid);
            let comes =
                |event: &KernelEvent| matches!(&event.happened, KernelAction::Switch { to, .. } if to.tid == tid);
            let expired = seen.events.iter().any(|event| event.happened == KernelAction::Expired);
            expired && seen.events.iter().any(woken) && seen.events.iter().any(comes)
        });
        if whole && !moved {
            return;
        }
    }
    panic!("in none of 20 tries were all wake-ups of this thread seen");
}

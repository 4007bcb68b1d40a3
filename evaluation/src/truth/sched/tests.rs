//! Small traces, written by hand, with known answers.

use super::*;

/// Process, thread, microseconds and event, as perf prints them; on CPU 0 where nothing else is
/// said.
fn trace(lines: &[(&str, u64, &str)]) -> Trace {
    let text = lines.iter().map(|(task, us, what)| {
        let (name, rest) = what.split_once(": ").unwrap();
        let cpu = if task.contains('[') { "" } else { "[000]" };
        let name = if name.starts_with("PERF") { name.to_owned() } else { format!("sched:sched_{name}") };
        format!(" {task} {cpu}  1.{:09}:  {name}: {rest}\n", us * 1_000)
    });
    Trace::read(text.collect::<String>().as_bytes()).unwrap()
}

const US: u64 = 1_000;
const BASE_NS: u64 = 1_000_000_000;

/// dwell is 10 and starts 20, which executes a program at 100 us, starts 21, waits for it while it
/// computes, waits while it sleeps, and ends.
fn parent_and_child() -> Trace {
    trace(&[
        ("9/9", 1, "process_exec: filename=/t/perf pid=9 old_pid=9"),
        ("10/10", 10, "process_exec: filename=/t/dwell pid=10 old_pid=10"),
        ("10/11", 20, "process_fork: comm=dwell pid=10 child_comm=dwell child_pid=20"),
        ("10/10", 30, "switch: dwell:10 [120] S ==> dwell:20 [120]"),
        ("20/20", 100, "process_exec: filename=/bin/sh pid=20 old_pid=20"),
        ("20/20", 200, "process_fork: comm=sh pid=20 child_comm=sh child_pid=21"),
        ("20/20", 250, "wakeup_new: sh:21 [120] CPU:000"),
        ("20/20", 300, "switch: sh:20 [120] S ==> sh:21 [120]"),
        ("21/21", 500, "switch: sh:21 [120] S ==> swapper/0:0 [120]"),
        ("0/0", 900, "wakeup: sh:21 [120] CPU:000"),
        ("0/0", 950, "switch: swapper/0:0 [120] R ==> sh:21 [120]"),
        ("21/21", 960, "wakeup: sh:20 [120] CPU:000"),
        ("21/21", 980, "switch: sh:21 [120] Z ==> other:77 [120]"),
        ("77/77", 1_080, "switch: other:77 [120] R ==> sh:20 [120]"),
        ("-1/-1", 1_100, "switch: sh:20 [120] X ==> swapper/0:0 [120]"),
        ("10/10", 1_300, "switch: dwell:10 [120] X ==> swapper/0:0 [120]"),
    ])
}

#[test]
fn the_program_is_what_is_first_executed_below_dwell() {
    let trace = parent_and_child();
    let dwell = trace.program("/t/dwell").unwrap();
    assert_eq!((dwell.tid, dwell.ended_ns), (10, BASE_NS + 1_300 * US));
    let root = trace.program_below(&dwell).unwrap();
    assert_eq!(root, Root { tid: 20, begun_ns: BASE_NS + 100 * US, ended_ns: BASE_NS + 1_100 * US });
    assert_eq!(trace.program("/t/other"), None);
}

#[test]
fn the_wall_clock_of_a_tree_is_whole() {
    let trace = parent_and_child();
    let root = trace.program_below(&trace.program("/t/dwell").unwrap()).unwrap();
    let (wall, tree) = trace.wall(&root);
    assert_eq!(tree, BTreeSet::from([20, 21]));
    // Alone: 100-250, 300-500, 950-960, 1080-1100. With one waiting: 250-300, 960-980. Another
    // program ran from 980 to 1080, and nothing from 900 to 950.
    let expected = Wall {
        on_alone_ns: 380 * US,
        on_behind_own_ns: 70 * US,
        on_behind_others_ns: 0,
        only_runnable_ns: 150 * US,
        all_blocked_ns: 400 * US,
        beside_disk_ns: 0,
        wakes_unseen: 0,
    };
    assert_eq!(wall, expected);
    assert_eq!(wall.whole_ns(), root.ended_ns - root.begun_ns);
}

#[test]
fn a_thread_of_a_window_is_known_by_its_first_event() {
    let trace = trace(&[
        ("5/5", 100, "switch: a:5 [120] S ==> swapper/0:0 [120]"),
        ("6/6 [001]", 150, "wakeup: b:6 [120] CPU:001"),
        ("6/6 [001]", 300, "switch: c:7 [120] R ==> b:6 [120]"),
    ]);
    let ledgers = trace.ledgers(&BTreeSet::from([5, 6, 7, 8]), BASE_NS, BASE_NS + 400 * US);
    let of = |on, runnable, blocked| Ledger {
        on_ns: on * US,
        runnable_ns: runnable * US,
        behind_others_ns: 0,
        blocked_ns: blocked * US,
    };
    assert_eq!(ledgers[&5], of(100, 0, 300));
    assert_eq!(ledgers[&6], of(100, 150, 150));
    assert_eq!(ledgers[&7], of(300, 100, 0));
    assert_eq!(ledgers[&8], of(0, 0, 400));
}

#[test]
fn a_window_cuts_what_began_before_it_and_ends_after_it() {
    let trace = trace(&[
        ("5/5", 100, "switch: a:5 [120] S ==> swapper/0:0 [120]"),
        ("5/5", 300, "wakeup: a:5 [120] CPU:000"),
        ("5/5", 310, "switch: swapper/0:0 [120] R ==> a:5 [120]"),
        ("5/5", 320, "wakeup: a:5 [120] CPU:000"),
        ("5/5", 350, "process_fork: comm=a pid=5 child_comm=a child_pid=6"),
        ("5/5", 360, "wakeup_new: a:6 [120] CPU:000"),
        ("5/5", 500, "switch: a:5 [120] X ==> a:6 [120]"),
    ]);
    let ledgers = trace.ledgers(&BTreeSet::from([5, 6]), BASE_NS + 200 * US, BASE_NS + 400 * US);
    let of = |on, runnable, blocked| Ledger {
        on_ns: on * US,
        runnable_ns: runnable * US,
        behind_others_ns: 0,
        blocked_ns: blocked * US,
    };
    // A wake-up of a thread that runs changes nothing.
    assert_eq!(ledgers[&5], of(90, 10, 100));
    assert_eq!(ledgers[&6], of(0, 40, 10));
}

/// On CPU 0 are threads of the tree, on CPU 1 is another program; a thread waits for the one and
/// then for the other.
#[test]
fn waiting_behind_others_is_told_from_waiting_behind_its_own() {
    let trace = trace(&[
        ("1/1", 10, "process_exec: filename=/t/it pid=1 old_pid=1"),
        ("0/0 [001]", 20, "switch: swapper/1:0 [120] R ==> other:9 [120]"),
        ("1/1", 100, "process_fork: comm=a pid=1 child_comm=a child_pid=2"),
        ("1/1", 100, "wakeup_new: a:2 [120] CPU:000"),
        ("1/1", 200, "migrate_task: comm=a pid=2 prio=120 orig_cpu=0 dest_cpu=1"),
        ("9/9 [001]", 350, "switch: other:9 [120] S ==> a:2 [120]"),
        ("1/2 [001]", 400, "switch: a:2 [120] X ==> swapper/1:0 [120]"),
        ("1/1", 500, "switch: a:1 [120] X ==> swapper/0:0 [120]"),
    ]);
    let root = trace.program("/t/it").unwrap();
    let (wall, tree) = trace.wall(&root);
    let expected = Wall {
        on_alone_ns: (90 + 50 + 100) * US,
        on_behind_own_ns: 100 * US,
        on_behind_others_ns: 150 * US,
        ..Wall::default()
    };
    assert_eq!(wall, expected);
    // The window begins within the wait, and within the other's time.
    let ledger = trace.ledgers(&tree, BASE_NS + 50 * US, BASE_NS + 300 * US)[&2];
    let expected = Ledger { runnable_ns: 200 * US, behind_others_ns: 100 * US, ..Ledger::default() };
    assert_eq!(ledger, expected);
}

/// dwell's first thread works until 100 us and from 700 us on, another for a moment at 400 us.
#[test]
fn a_window_is_where_dwell_has_nothing_to_do() {
    let trace = trace(&[
        ("10/10", 10, "process_exec: filename=/t/dwell pid=10 old_pid=10"),
        ("10/10", 50, "process_fork: comm=dwell pid=10 child_comm=dwell child_pid=11"),
        ("10/10", 100, "switch: dwell:10 [120] S ==> dwell:11 [120]"),
        ("10/11", 110, "switch: dwell:11 [120] S ==> swapper/0:0 [120]"),
        ("0/0", 400, "wakeup: dwell:11 [120] CPU:000"),
        ("0/0", 402, "switch: swapper/0:0 [120] R ==> dwell:11 [120]"),
        ("10/11", 405, "switch: dwell:11 [120] S ==> swapper/0:0 [120]"),
        ("0/0", 700, "wakeup: dwell:10 [120] CPU:000"),
        ("0/0", 750, "switch: swapper/0:0 [120] R ==> dwell:10 [120]"),
        ("10/10", 900, "switch: dwell:10 [120] X ==> swapper/0:0 [120]"),
    ]);
    let dwell = trace.program("/t/dwell").unwrap();
    assert_eq!(trace.quietest(&dwell, 590 * US), BASE_NS + 110 * US);
    // Short ones lie in the longest pause, from where something ended.
    assert_eq!(trace.quietest(&dwell, 290 * US), BASE_NS + 110 * US);
    // No longer than its life.
    assert_eq!(trace.quietest(&dwell, 2_000 * US), BASE_NS + 10 * US);
}

/// A thread that is hidden gets the CPU at 100 us and 300 us, and is not seen to leave it.
#[test]
fn a_thread_that_leaves_a_cpu_has_had_it() {
    let trace = trace(&[
        ("5/5", 100, "switch: a:5 [120] R ==> hidden:9 [120]"),
        ("5/5", 200, "switch: a:5 [120] S ==> swapper/0:0 [120]"),
        ("0/0", 300, "switch: swapper/0:0 [120] R ==> hidden:9 [120]"),
        ("0/0", 350, "wakeup: a:5 [120] CPU:000"),
        ("5/5", 400, "switch: a:5 [120] S ==> swapper/0:0 [120]"),
    ]);
    let ledger = trace.ledgers(&BTreeSet::from([5]), BASE_NS, BASE_NS + 500 * US)[&5];
    assert_eq!(ledger, Ledger { on_ns: 250 * US, blocked_ns: 250 * US, ..Ledger::default() });
}

/// The idle task is not seen to give the CPU away, nor the wake-up: the time that is charged tells
/// when the thread came.
#[test]
fn a_thread_that_came_unseen_has_had_what_is_charged_to_it() {
    let trace = trace(&[
        ("5/5", 90, "stat_runtime: comm=a pid=5 runtime=90000 [ns]"),
        ("5/5", 100, "switch: a:5 [120] S ==> swapper/0:0 [120]"),
        ("5/5", 300, "stat_runtime: comm=a pid=5 runtime=10000 [ns]"),
        ("5/5", 320, "stat_runtime: comm=a pid=5 runtime=20000 [ns]"),
        ("5/5", 320, "switch: a:5 [120] S ==> swapper/0:0 [120]"),
        // More is charged than there is room for.
        ("5/5", 340, "stat_runtime: comm=a pid=5 runtime=90000 [ns]"),
        ("5/5", 340, "switch: a:5 [120] S ==> swapper/0:0 [120]"),
    ]);
    let ledger = trace.ledgers(&BTreeSet::from([5]), BASE_NS, BASE_NS + 500 * US)[&5];
    assert_eq!(ledger, Ledger { on_ns: 150 * US, blocked_ns: 350 * US, ..Ledger::default() });
}

/// It is not seen to leave its CPU either.
#[test]
fn a_thread_that_left_unseen_had_its_cpu_until_it_was_last_charged() {
    let trace = trace(&[
        ("9/9", 100, "switch: x:9 [120] S ==> a:5 [120]"),
        ("5/5", 150, "stat_runtime: comm=a pid=5 runtime=50000 [ns]"),
        ("6/6", 400, "stat_runtime: comm=b pid=6 runtime=100000 [ns]"),
        ("6/6", 400, "switch: b:6 [120] S ==> swapper/0:0 [120]"),
    ]);
    let ledgers = trace.ledgers(&BTreeSet::from([5, 6]), BASE_NS + 100 * US, BASE_NS + 500 * US);
    let of = |on, blocked| Ledger { on_ns: on * US, blocked_ns: blocked * US, ..Ledger::default() };
    assert_eq!(ledgers[&5], of(50, 350));
    assert_eq!(ledgers[&6], of(100, 300));
}

#[test]
fn what_runs_beside_a_wait_for_a_disk_is_known() {
    let trace = trace(&[
        ("1/1", 10, "process_exec: filename=/t/it pid=1 old_pid=1"),
        ("1/1", 100, "process_fork: comm=a pid=1 child_comm=a child_pid=2"),
        ("1/1", 100, "wakeup_new: a:2 [120] CPU:000"),
        ("1/1", 200, "switch: a:1 [120] D ==> a:2 [120]"),
        ("1/2", 350, "wakeup: a:1 [120] CPU:000"),
        ("1/2", 400, "switch: a:2 [120] X ==> a:1 [120]"),
        ("1/1", 500, "switch: a:1 [120] X ==> swapper/0:0 [120]"),
    ]);
    let (wall, _) = trace.wall(&trace.program("/t/it").unwrap());
    assert_eq!((wall.beside_disk_ns, wall.whole_ns()), (150 * US, 490 * US));
}

#[test]
fn a_vfork_is_no_wait_for_a_disk() {
    let trace = trace(&[
        ("1/1", 10, "process_exec: filename=/t/it pid=1 old_pid=1"),
        ("1/1", 200, "process_fork: comm=a pid=1 child_comm=a child_pid=2"),
        ("1/1", 200, "wakeup_new: a:2 [120] CPU:000"),
        ("1/1", 200, "switch: a:1 [120] D ==> a:2 [120]"),
        ("2/2", 400, "wakeup: a:1 [120] CPU:000"),
        ("2/2", 400, "switch: a:2 [120] X ==> a:1 [120]"),
        ("1/1", 500, "switch: a:1 [120] X ==> swapper/0:0 [120]"),
    ]);
    let (wall, _) = trace.wall(&trace.program("/t/it").unwrap());
    assert_eq!((wall.beside_disk_ns, wall.whole_ns()), (0, 490 * US));
}

/// A thread preempts another program twice, and is charged from its wake-ups on. Its third turn is
/// not seen to begin, and its last one not to end.
#[test]
fn of_a_turn_that_was_seen_it_is_known_what_was_charged_too_much() {
    let trace = trace(&[
        ("9/9", 93, "waking: comm=a pid=5 prio=120 target_cpu=000"),
        ("9/9", 100, "switch: x:9 [120] R ==> a:5 [120]"),
        ("5/5", 120, "stat_runtime: comm=a pid=5 runtime=27000 [ns]"),
        ("5/5", 150, "stat_runtime: comm=a pid=5 runtime=30000 [ns]"),
        ("5/5", 150, "switch: a:5 [120] S ==> x:9 [120]"),
        ("9/9", 198, "stat_runtime: comm=x pid=9 runtime=48000 [ns]"),
        ("9/9", 200, "switch: x:9 [120] R ==> a:5 [120]"),
        ("5/5", 250, "stat_runtime: comm=a pid=5 runtime=52000 [ns]"),
        ("5/5", 250, "switch: a:5 [120] S ==> swapper/0:0 [120]"),
        ("5/5", 500, "stat_runtime: comm=a pid=5 runtime=90000 [ns]"),
        ("5/5", 500, "switch: a:5 [120] S ==> x:9 [120]"),
        ("9/9", 600, "stat_runtime: comm=x pid=9 runtime=100000 [ns]"),
        ("9/9", 600, "switch: x:9 [120] R ==> a:5 [120]"),
        ("5/5", 640, "stat_runtime: comm=a pid=5 runtime=44000 [ns]"),
    ]);
    let over = |tid, from, to| {
        trace.overcharged_ns(&BTreeSet::from([tid]), BASE_NS + from * US, BASE_NS + to * US) / 1_000
    };
    assert_eq!(over(5, 0, 700), 9);
    // A turn that began before is not known whole.
    assert_eq!((over(5, 110, 700), over(5, 0, 240)), (2, 7));
    // The other one lacks it.
    assert_eq!(over(9, 0, 700), -2);
}

/// The begins of both turns are not traced. Of the first one there is perf's record, so it is known
/// what was charged from the wake-up on; the second one is placed by what was charged.
#[test]
fn perfs_own_record_of_a_switch_tells_when_a_hidden_turn_began() {
    let trace = trace(&[
        ("5/5", 100, "switch: a:5 [120] S ==> swapper/0:0 [120]"),
        ("5/5", 203, "PERF_RECORD_SWITCH_CPU_WIDE IN prev pid/tid: 0/0"),
        ("5/5", 250, "stat_runtime: comm=a pid=5 runtime=50000 [ns]"),
        ("5/5", 250, "switch: a:5 [120] S ==> swapper/0:0 [120]"),
        ("5/5", 350, "stat_runtime: comm=a pid=5 runtime=40000 [ns]"),
        ("5/5", 350, "switch: a:5 [120] S ==> swapper/0:0 [120]"),
    ]);
    let five = BTreeSet::from([5]);
    assert_eq!(trace.overcharged_ns(&five, BASE_NS, BASE_NS + 500 * US), 3 * US.cast_signed());
    let ledgers = trace.ledgers(&five, BASE_NS + 110 * US, BASE_NS + 500 * US);
    assert_eq!(ledgers[&5].on_ns, (47 + 40) * US);
}

#[test]
fn threads_of_known_processes_and_what_they_start_belong_to_the_tree() {
    let trace = trace(&[
        ("5/5", 100, "process_fork: comm=a pid=5 child_comm=a child_pid=6"),
        ("6/6", 200, "process_fork: comm=a pid=6 child_comm=a child_pid=7"),
        ("8/8", 250, "process_fork: comm=b pid=8 child_comm=b child_pid=9"),
        ("5/11", 260, "switch: a:11 [120] S ==> b:8 [120]"),
        ("7/7", 300, "process_fork: comm=a pid=7 child_comm=a child_pid=10"),
    ]);
    let tree = trace.tree(BTreeSet::from([5]), BASE_NS, BASE_NS + 300 * US);
    assert_eq!(tree, BTreeSet::from([5, 6, 7, 11]));
}

#[test]
fn an_empty_trace_is_an_error() {
    assert!(Trace::read(&b"# a comment\n"[..]).is_err());
}

//! Small traces, written by hand, with known answers.

use super::*;

/// Process, thread, microseconds and event, as perf prints them.
fn trace(lines: &[(&str, u64, &str)]) -> Trace {
    let text = lines.iter().map(|(task, us, what)| {
        let (name, rest) = what.split_once(": ").unwrap();
        format!(" {task} [000]  1.{:09}:  sched:sched_{name}: {rest}\n", us * 1_000)
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
    // Alone: 100-200, 300-500, 950-960, 1080-1100. With one waiting: 200-300, 960-980. Another
    // program ran from 980 to 1080, and nothing from 900 to 950.
    let expected = Wall {
        on_alone_ns: 330 * US,
        on_contended_ns: 120 * US,
        only_runnable_ns: 150 * US,
        all_blocked_ns: 400 * US,
    };
    assert_eq!(wall, expected);
    assert_eq!(wall.whole_ns(), root.ended_ns - root.begun_ns);
}

#[test]
fn a_thread_of_a_window_is_known_by_its_first_event() {
    let trace = trace(&[
        ("5/5", 100, "switch: a:5 [120] S ==> swapper/0:0 [120]"),
        ("6/6", 150, "wakeup: b:6 [120] CPU:000"),
        ("6/6", 300, "switch: c:7 [120] R ==> b:6 [120]"),
    ]);
    let ledgers = trace.ledgers(&BTreeSet::from([5, 6, 7, 8]), BASE_NS, BASE_NS + 400 * US);
    let of = |on, runnable, blocked| Ledger {
        on_ns: on * US,
        runnable_ns: runnable * US,
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
        ("5/5", 500, "switch: a:5 [120] X ==> a:6 [120]"),
    ]);
    let ledgers = trace.ledgers(&BTreeSet::from([5, 6]), BASE_NS + 200 * US, BASE_NS + 400 * US);
    // A wake-up of a thread that runs changes nothing.
    assert_eq!(ledgers[&5], Ledger { on_ns: 90 * US, runnable_ns: 10 * US, blocked_ns: 100 * US });
    assert_eq!(ledgers[&6], Ledger { on_ns: 0, runnable_ns: 50 * US, blocked_ns: 0 });
}

#[test]
fn an_empty_trace_is_an_error() {
    assert!(Trace::read(&b"# a comment\n"[..]).is_err());
}

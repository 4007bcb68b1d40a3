//! Which programs processes executed, and which process was the largest, told in small stories.

use crate::story::*;
use model::processes::{MemoryPeak, ProgramRow};
use model::recording::{Event, Rusage, Tier, Trailer};
use model::{Run, Seen};

const MIB: u64 = 1 << 20;

/// The root works, has a child that executes a program and works, and works again; the child had
/// `child`, the root `root` bytes.
fn story(child: u64, root: u64) -> Story {
    let mut story = Story::begins();
    story.after(10).forks(ROOT, CHILD, CHILD);
    story.leaves(ROOT, waiting_in(WAIT4, model::recording::Object::Unknown), none());
    story.after(2).comes(CHILD);
    story.after(3).push(|at| Event::Exec {
        at,
        entered: at,
        tid: CHILD,
        pid: CHILD,
        old_tid: CHILD,
        name: "worker".into(),
    });
    story.push(|_| Event::Command { pid: CHILD, line: "worker --fast".into() });
    story.after(20).push(|at| Event::MemoryPeak { at, pid: CHILD, bytes: child });
    story.exits(CHILD, inside(EXIT_GROUP, 0));
    story.after(1).wakes(ROOT, by_task(CHILD), inside(EXIT_GROUP, 1)).dies(CHILD);
    story.after(1).comes(ROOT);
    story.after(5).push(|at| Event::MemoryPeak { at, pid: ROOT, bytes: root });
    story
}

fn peak(run: &Run) -> &MemoryPeak {
    run.tables.memory_peak.value().unwrap_or_else(|| panic!("{:?}", run.tables.memory_peak))
}

#[test]
fn each_program_has_its_processes_their_start_and_their_time() {
    let run = story(MIB, 2 * MIB).ends();
    let programs = run.tables.programs.value().expect("they were seen");
    let [worker, root] = &programs.rows[..] else { panic!("{programs:?}") };
    let expected = ProgramRow {
        name: "worker".into(),
        command: Some("worker --fast".into()),
        processes: 1,
        started: 1,
        startup_ns: 5_000,
        life_ns: 26_000,
        user_ns: 23_000,
        kernel_ns: 1_000,
    };
    assert_eq!(worker, &expected);
    let figures = (root.processes, root.started, root.startup_ns, root.user_ns, root.kernel_ns);
    assert_eq!((&*root.name, figures), ("root", (1, 1, 1_000, 16_000, 1_000)));
    assert_eq!(root.life_ns, run.wall_ns);
    assert_eq!(programs.rest, None);
}

#[test]
fn the_largest_process_is_named() {
    let run = story(300 * MIB, 2 * MIB).ends();
    let expected = MemoryPeak {
        bytes: 300 * MIB,
        at_most: false,
        pid: Seen::Value(CHILD),
        name: Seen::Value("worker".into()),
    };
    assert_eq!(peak(&run), &expected);
    // A child begins at its parent's size.
    assert_eq!(peak(&story(2 * MIB, 2 * MIB).ends()).pid, Seen::Value(ROOT));
    assert!(matches!(Story::begins().ends().tables.memory_peak, Seen::Unseen(_)), "none of it was recorded");
}

#[test]
fn what_lives_on_counts_and_what_may_be_dwells_is_at_most() {
    let mut story = story(MIB, 2 * MIB);
    story.ends();
    let began = |bytes| move |trailer: &mut Trailer| trailer.began_at_bytes = Some(bytes);
    assert!(peak(&story.told_as(Tier::Bpf, began(2 * MIB))).at_most);
    assert!(!peak(&story.told_as(Tier::Bpf, began(2 * MIB - 1))).at_most);
    let run = story.told_as(Tier::Bpf, |trailer| trailer.peaks = vec![(7, 5 * MIB), (8, 4 * MIB)]);
    assert_eq!((peak(&run).bytes, &peak(&run).pid), (5 * MIB, &Seen::Value(7)));
    assert!(matches!(peak(&run).name, Seen::Unseen(_)));
}

#[test]
fn looks_know_the_size_and_not_whose_it_is() {
    let usage = |bytes| Seen::Value(Rusage { max_rss_bytes: bytes, ..Rusage::default() });
    let story = Story::begins();
    for tier in [Tier::Perf, Tier::Proc] {
        let run = story.told_as(tier, |trailer| {
            trailer.rusage = usage(9 * MIB);
            trailer.began_at_bytes = Some(MIB);
        });
        assert_eq!((peak(&run).bytes, peak(&run).at_most), (9 * MIB, false));
        assert!(matches!(peak(&run).pid, Seen::Unseen(_)));
        assert!(matches!(run.tables.programs, Seen::Unseen(_)));
        // In older recordings it may be the size of dwell.
        let run = story.told_as(tier, |trailer| trailer.rusage = usage(9 * MIB));
        assert!(matches!(run.tables.memory_peak, Seen::Unseen(_)), "{:?}", run.tables.memory_peak);
    }
}

/// Each works for 3 us while the first one waits for it.
#[test]
fn after_many_threads_new_ones_of_the_roots_process_share_a_row_too() {
    const MANY: u32 = 20_040;
    let mut story = Story::begins();
    for tid in (ROOT + 1..).take(MANY as usize) {
        story.after(1).forks(ROOT, tid, ROOT);
        story.leaves(ROOT, waiting_in(WAIT4, model::recording::Object::Unknown), none());
        story.comes(tid);
        story.after(3).exits(tid, inside(EXIT_GROUP, 0));
        story.wakes(ROOT, by_task(tid), inside(EXIT_GROUP, 1)).dies(tid);
        story.comes(ROOT);
    }
    let run = story.after(5).ends();
    let rows: Vec<_> = run.threads.iter().filter(|row| row.name == "(others)").collect();
    let [others] = rows[..] else { panic!("{} threads have rows", run.threads.len()) };
    assert!((30 * 3_000..60 * 3_000).contains(&others.life_ns), "{others:?}");
    let sum: u64 = run.account.iter().map(|part| part.ns).sum();
    assert_eq!(sum, run.wall_ns);
}

//! Who ended whose waits, and how soon the woken ran, told in small stories. Times are
//! microseconds.

use crate::story::*;
use model::hand_overs::{HandOverEnd, HandOvers};
use model::recording::{Object, SwitchOutState};
use model::wait::TargetKind;
use model::{Run, Seen, Tid};

const US: u64 = 1000;

fn hand_overs(run: &Run) -> &HandOvers {
    run.tables.hand_overs.value().unwrap_or_else(|| panic!("{:?}", run.tables.hand_overs))
}

fn end(name: &str, tid: Tid) -> HandOverEnd {
    HandOverEnd { name: name.into(), pid: Seen::Value(tid), tid: Seen::Value(tid) }
}

/// The root waits for this child, which takes so long to end; so does the way back to a CPU.
fn child(story: &mut Story, tid: Tid, takes: u64, back: u64) {
    story.after(1).forks(ROOT, tid, tid);
    story.leaves(ROOT, waiting_in(WAIT4, Object::Unknown), none());
    story.comes(tid).after(takes).exits(tid, inside(EXIT_GROUP, 0));
    story.wakes(ROOT, by_task(tid), inside(EXIT_GROUP, 0)).dies(tid);
    story.after(back).comes(ROOT);
}

#[test]
fn a_wait_that_a_thread_of_the_tree_ends_is_handed_over() {
    let mut story = Story::begins();
    child(&mut story, CHILD, 20, 3);
    // What happens to it later is no part of it.
    story.after(5).leaves(ROOT, SwitchOutState::Runnable, none()).after(50).comes(ROOT);
    let run = story.after(1).ends();
    let [row] = &hand_overs(&run).rows[..] else { panic!("{:?}", run.tables.hand_overs) };
    assert_eq!((&row.from, &row.to), (&end("child", CHILD), &end("root", ROOT)));
    assert_eq!((row.through.kind(), row.times), (TargetKind::Child, 1));
    assert_eq!((row.waited.total_ns, row.waited.max_ns), (20 * US, 20 * US));
    assert_eq!(row.until_run.value().map(|until| (until.total_ns, until.max_ns)), Some((3 * US, 3 * US)));
}

#[test]
fn a_timer_hands_nothing_over() {
    let mut story = Story::begins();
    story.leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), none());
    story.after(100).wakes(ROOT, model::recording::Waker::Timer, none()).comes(ROOT);
    assert_eq!(hand_overs(&story.after(1).ends()), &HandOvers::default());
}

#[test]
fn who_was_not_seen_to_run_was_woken_all_the_same() {
    let mut story = Story::begins();
    story.after(1).forks(ROOT, CHILD, CHILD).comes(CHILD);
    story.leaves(CHILD, waiting_in(READ, Object::Unknown), none());
    story.after(7).wakes(CHILD, by_task(ROOT), none());
    let run = story.after(1).ends();
    let [row] = &hand_overs(&run).rows[..] else { panic!("{:?}", run.tables.hand_overs) };
    assert_eq!((row.times, row.waited.total_ns), (1, 7 * US));
    assert!(matches!(row.until_run, Seen::Unseen(_)), "{:?}", row.until_run);
}

#[test]
fn many_of_one_name_are_one_row() {
    let of = |children: u32| {
        let mut story = Story::begins();
        (0..children).for_each(|one| child(&mut story, CHILD + one, 10, 1));
        let run = story.after(1).ends();
        let table = hand_overs(&run);
        assert_eq!(table.times(), u64::from(children));
        (table.rows.len(), table.rows[0].times, table.rows[0].from.tid.clone())
    };
    assert_eq!(of(8), (8, 1, Seen::Value(CHILD)));
    assert_eq!(of(9), (1, 9, Seen::Absent));
}

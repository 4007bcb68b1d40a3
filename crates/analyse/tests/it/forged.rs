//! Recordings that no dwell wrote: what is not in them, or cannot be, costs neither memory nor
//! time.

use crate::story::*;
use dwell_analyse::Analyser;
use model::recording::{
    CodeLocation, Event, Object, SampleMode, SwitchIn, SwitchOutState, Trailer, WaitContext,
};
use model::run::Phases;

/// Longer than any machine has run.
const AGES: u64 = 1 << 62;

#[test]
fn an_end_long_after_the_last_event_makes_few_slices() {
    let mut story = Story::begins();
    story.after(10).comes(ROOT);
    let trailer = Trailer { reaped_at: AGES, ..story.trailer() };
    let mut analyser = Analyser::new(&story.header());
    story.events.iter().for_each(|event| analyser.event(event));
    let run = analyser.finish(&trailer).expect("it closes").run;
    let Phases { slice_ns, slices } = run.phases;
    assert!(slices.len() <= 256, "{} slices", slices.len());
    assert!(slice_ns * slices.len() as u64 >= run.wall_ns && run.wall_ns > AGES / 2);
}

#[test]
fn a_caller_that_comes_later_is_none() {
    let mut story = Story::begins();
    let place = CodeLocation::Native { module: "/usr/bin/prog".to_owned(), address: 1 };
    story.push(|_| Event::Place { id: 0, place });
    // Each calls the other.
    story.push(|_| Event::Node { id: 1, caller: 2, place: 0 });
    story.push(|_| Event::Node { id: 2, caller: 1, place: 0 });
    story.after(10).push(|at| Event::Sampled {
        at,
        tid: ROOT,
        mode: SampleMode::User,
        ip: 1,
        period_ns: 1000,
        node: Some(2),
    });
    assert_eq!(story.ended().profile().nodes.len(), 2);
}

#[test]
fn a_cpu_that_no_machine_has_is_not_heard_of() {
    let mut story = Story::begins();
    let into = Some(SwitchIn { tid: ROOT, ran: None, throttled_ns: 0 });
    story.after(10).push(|at| Event::Switch { at, cpu: u32::MAX, out: None, into });
    let wait = WaitContext { call: None, uninterruptible: false, io: false, on: Object::Unknown };
    story.after(5).leaves(ROOT, SwitchOutState::Blocked(wait), none());
    story.after(5).comes(ROOT);
    assert!(story.ends().wall_ns > 0);
}

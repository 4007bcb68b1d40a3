//! Which parts are joined, and to what.

use super::*;
use crate::Call;
use crate::recording::{Calls, SampleMode, SwitchIn, SwitchOut};

const REQUEST: BlockRequest = BlockRequest { dev: 1, write: false, bytes: 512, queue_ns: None, device_ns: 7 };

fn switch(at: Ns, out: Option<(Tid, SwitchOutState)>, into: Option<Tid>) -> Event {
    let out = out.map(|(tid, left)| SwitchOut { tid, left, calls: Calls::new() });
    let into = into.map(|tid| SwitchIn { tid, ran: None, throttled_ns: 0 });
    Event::Switch { at, cpu: 0, out, into }
}

fn fault(on: Object) -> SwitchOutState {
    SwitchOutState::Blocked(WaitContext { call: None, uninterruptible: true, io: true, on })
}

fn woken_by(at: Ns, tid: Tid, waker: Waker, reasons: &[WakeReason]) -> Event {
    Event::Woken { at, cpu: 1, tid, waker, reasons: reasons.into(), calls: Calls::new() }
}

fn wake(at: Ns, tid: Tid, waker: Waker) -> Event {
    Event::Wake { at, cpu: 1, tid, waker, calls: Calls::new() }
}

fn sample(at: Ns, tid: Tid) -> Event {
    Event::Sample { at, tid, mode: SampleMode::User, ip: 9, period_ns: 1000 }
}

fn sampled(at: Ns, tid: Tid, node: Option<u32>) -> Event {
    Event::Sampled { at, tid, mode: SampleMode::User, ip: 9, period_ns: 1000, node }
}

fn stack(at: Ns, tid: Tid, node: u32) -> Event {
    Event::SampleStack { at, tid, node, mode: SampleMode::User, period_ns: 1000 }
}

fn completed(joiner: &mut Joiner, mut event: Event) -> Event {
    joiner.complete(&mut event);
    event
}

fn joined(events: &[Event]) -> Vec<Event> {
    let mut joiner = Joiner::default();
    let mut all = Vec::new();
    for event in events {
        joiner.join(event, &mut |event| all.push(event.clone()));
    }
    joiner.finish(&mut |event| all.push(event.clone()));
    all
}

#[test]
fn parts_are_put_into_the_event_of_their_time_and_thread_and_into_no_other() {
    let mut joiner = Joiner::default();
    let ran = (5, Comm::from("other"));
    let counters = Counters { cpu_ns: 3, ..Counters::default() };
    joiner.part(10, 7, EventPart::Ran { ran, throttled_ns: 4 });
    joiner.part(10, 6, EventPart::Counted(counters));
    let dead = |counters| Some((6, SwitchOutState::Dead(counters)));
    let before = || switch(9, dead(Counters::default()), Some(7));
    assert_eq!(completed(&mut joiner, before()), before());
    let other = || switch(10, Some((8, SwitchOutState::Runnable)), Some(9));
    assert_eq!(completed(&mut joiner, other()), other());
    let whole = completed(&mut joiner, switch(10, dead(Counters::default()), Some(7)));
    let Event::Switch { out: Some(out), into: Some(into), .. } = whole else { panic!("{whole:?}") };
    assert_eq!((out.left, into.ran, into.throttled_ns), (SwitchOutState::Dead(counters), Some(ran), 4));
    assert!(joiner.waiting.is_empty());
}

#[test]
fn a_thread_that_leaves_and_comes_at_one_time_gets_each_part_where_it_belongs() {
    let mut joiner = Joiner::default();
    let ran = (5, Comm::from("other"));
    joiner.part(10, 7, EventPart::FaultOn(Object::SwapPage));
    joiner.part(10, 7, EventPart::Ran { ran, throttled_ns: 0 });
    let whole = completed(&mut joiner, switch(10, Some((7, fault(Object::Unknown))), Some(7)));
    let Event::Switch { out: Some(out), into: Some(into), .. } = whole else { panic!("{whole:?}") };
    assert_eq!((out.left, into.ran), (fault(Object::SwapPage), Some(ran)));
}

#[test]
fn a_wake_up_has_all_its_reasons_and_its_socket_only_from_the_network() {
    let mut joiner = Joiner::default();
    let pipe = Object::Unix { ino: 1, peer: 2 };
    let ends = SocketEnds { protocol: 6, local: [1; 16], local_port: 1, remote: [2; 16], remote_port: 2 };
    joiner.part(10, 7, EventPart::Ready(ends));
    joiner.part(10, 7, EventPart::Request(REQUEST));
    joiner.part(10, 7, EventPart::WorkedOn(pipe.clone()));
    let reasons = [WakeReason::Request(REQUEST), WakeReason::Object(pipe)];
    let by_timer = completed(&mut joiner, woken_by(10, 7, Waker::Timer, &[]));
    assert_eq!(by_timer, woken_by(10, 7, Waker::Timer, &reasons));
    let network = |ready| Waker::Network { over: 3, ready };
    let by_network = completed(&mut joiner, woken_by(10, 7, network(None), &[]));
    assert_eq!(by_network, woken_by(10, 7, network(Some(ends)), &[]));
}

#[test]
fn parts_whose_events_were_lost_make_room() {
    let mut joiner = Joiner::default();
    for at in 0..1000 {
        joiner.part(at, 7, EventPart::Request(REQUEST));
    }
    assert_eq!(joiner.waiting.len(), WAITING_MAX);
    let late = completed(&mut joiner, woken_by(0, 7, Waker::Device, &[]));
    assert_eq!(late, woken_by(0, 7, Waker::Device, &[]));
    let last = completed(&mut joiner, woken_by(999, 7, Waker::Device, &[]));
    assert_eq!(last, woken_by(999, 7, Waker::Device, &[WakeReason::Request(REQUEST)]));
}

#[test]
fn an_older_recording_is_read_as_one_of_today() {
    let through = Object::Unix { ino: 1, peer: 2 };
    let because = |at, because| Event::Because { at, tid: 7, because };
    let file = Object::Page { dev: 8, ino: 9 };
    let events = [
        Event::Page { at: 10, tid: 7, dev: 8, ino: 9 },
        switch(10, Some((7, fault(Object::Unknown))), None),
        because(20, LegacyWakeReason::Request(REQUEST)),
        wake(20, 7, Waker::Device),
        Event::Page { at: 30, tid: 7, dev: 0, ino: 0 },
        switch(30, Some((7, fault(Object::Unknown))), None),
        wake(40, 7, Waker::Device),
        because(50, LegacyWakeReason::Through(through.clone())),
        wake(50, 7, Waker::Timer),
        because(60, LegacyWakeReason::From { woken_at: 50, node: 3 }),
    ];
    let expected = [
        switch(10, Some((7, fault(file))), None),
        woken_by(20, 7, Waker::Device, &[WakeReason::Request(REQUEST)]),
        switch(30, Some((7, fault(Object::SwapPage))), None),
        woken_by(40, 7, Waker::Device, &[]),
        woken_by(50, 7, Waker::Timer, &[WakeReason::Object(through)]),
        Event::WakerStack { at: 60, tid: 7, woken_at: 50, node: 3 },
    ];
    assert_eq!(joined(&events), expected);
    // What is whole already stays as it is.
    assert_eq!(joined(&expected), expected);
}

#[test]
fn a_page_is_only_of_a_fault() {
    let wait = WaitContext { call: Some(Call(0)), uninterruptible: true, io: true, on: Object::Unknown };
    let switch = switch(10, Some((7, SwitchOutState::Blocked(wait))), None);
    let page = Event::Page { at: 10, tid: 7, dev: 8, ino: 9 };
    assert_eq!(joined(&[page, switch.clone()]), [switch]);
}

#[test]
fn an_older_sample_waits_for_its_stack_as_long_as_only_code_is_told() {
    let node = || Event::Node { id: 4, caller: 0, place: 2 };
    let last = stack(20, 8, 4);
    let events = [sample(10, 7), node(), stack(10, 7, 4), sample(20, 7), sample(20, 8), last];
    let expected = [node(), sampled(10, 7, Some(4)), sampled(20, 7, None), sampled(20, 8, Some(4))];
    assert_eq!(joined(&events), expected);
    // A stack that comes late, or whose sample was lost, stays by itself.
    let between = switch(15, None, Some(7));
    let events = [sample(10, 7), between.clone(), stack(10, 7, 4), sample(30, 7)];
    let expected = [sampled(10, 7, None), between, stack(10, 7, 4), sampled(30, 7, None)];
    assert_eq!(joined(&events), expected);
}

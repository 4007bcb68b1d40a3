//! Events from their parts.
//!
//! What belongs to a switch, a wake-up or a sample is not always written with it. The kernel half
//! writes a record of its own where that is rare, and older recordings have an event of its own.
//! All of these have the time and the thread of the event that they are part of, and come just
//! before it; only a sample's stack comes after it. That is the one rule by which they are joined,
//! live and in what was kept.

use crate::object::{Object, SocketEnds};
use crate::recording::{Event, SwitchOutState, WaitContext, WakeReason, WakeReasons, Waker};
use crate::thread::{Comm, Counters};
use crate::wake_reason::{BlockRequest, LegacyWakeReason};
use crate::{Ns, Tid};

/// Parts that wait at once. Past it the oldest is dropped: its event was lost.
const WAITING_MAX: usize = 64;

/// A part of an event that comes after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventPart {
    /// Who had the CPU before the thread that comes, and how long that was out of quota.
    Ran {
        /// As in [`In::ran`](crate::recording::SwitchIn::ran).
        ran: (Tid, Comm),
        /// As in [`In::throttled_ns`](crate::recording::SwitchIn::throttled_ns).
        throttled_ns: Ns,
    },
    /// What the kernel had counted of a thread that leaves for the last time.
    Counted(Counters),
    /// What the fault is on in which a thread blocks.
    FaultOn(Object),
    /// The socket whose data a thread is woken for.
    Ready(SocketEnds),
    /// The request whose end wakes a thread.
    Request(BlockRequest),
    /// What the waker of a thread works on.
    WorkedOn(Object),
}

/// Parts that wait for their events.
#[derive(Debug, Default)]
pub struct Joiner {
    waiting: Vec<(Ns, Tid, EventPart)>,
    /// A sample of an older recording: its stack may come.
    sample: Option<Event>,
}

impl Joiner {
    /// Takes a part; its event comes.
    pub fn part(&mut self, at: Ns, tid: Tid, part: EventPart) {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.remove(0);
        }
        self.waiting.push((at, tid, part));
    }

    /// Puts the parts that wait for this event into it.
    pub fn complete(&mut self, event: &mut Event) {
        if self.waiting.is_empty() {
            return;
        }
        match event {
            Event::Switch { at, out, into, .. } => {
                if let Some(into) = into {
                    self.take(*at, into.tid, |part| match part {
                        EventPart::Ran { ran, throttled_ns } => {
                            (into.ran, into.throttled_ns) = (Some(ran), throttled_ns);
                            None
                        }
                        other => Some(other),
                    });
                }
                if let Some(out) = out {
                    self.take(*at, out.tid, |part| left(&mut out.left, part));
                }
            }
            Event::Woken { at, tid, waker, reasons, .. } => {
                self.take(*at, *tid, |part| woken(waker, reasons, part));
            }
            _ => {}
        }
    }

    /// Gives `to` the parts of this time and thread, which gives back what is not for it.
    fn take(&mut self, at: Ns, tid: Tid, mut to: impl FnMut(EventPart) -> Option<EventPart>) {
        let mut index = 0;
        while let Some((of, whose, _)) = self.waiting.get(index) {
            if (*of, *whose) == (at, tid) {
                let (_, _, part) = self.waiting.remove(index);
                if let Some(part) = to(part) {
                    self.waiting.insert(index, (at, tid, part));
                    index += 1;
                }
            } else {
                index += 1;
            }
        }
    }

    /// Hands on an event of a kept recording. What older ones tell in parts is joined; all else
    /// goes on as it is.
    pub fn join(&mut self, event: &Event, sink: &mut dyn FnMut(&Event)) {
        if self.sample.is_some() && !matches!(event, Event::Place { .. } | Event::Node { .. }) {
            let stack = self.of_sample(event);
            self.finish(sink);
            if stack {
                return;
            }
        }
        match event {
            Event::Page { at, tid, ino: 0, .. } => self.part(*at, *tid, EventPart::FaultOn(Object::SwapPage)),
            Event::Page { at, tid, dev, ino } => {
                self.part(*at, *tid, EventPart::FaultOn(Object::Page { dev: *dev, ino: *ino }));
            }
            Event::Because { at, tid, because } => match because {
                LegacyWakeReason::Request(request) => self.part(*at, *tid, EventPart::Request(*request)),
                LegacyWakeReason::Through(object) => {
                    self.part(*at, *tid, EventPart::WorkedOn(object.clone()))
                }
                LegacyWakeReason::From { woken_at, node } => {
                    sink(&Event::WakerStack { at: *at, tid: *tid, woken_at: *woken_at, node: *node });
                }
            },
            Event::Wake { at, cpu, tid, waker, calls } => {
                let (at, cpu, tid, waker, calls) = (*at, *cpu, *tid, waker.clone(), calls.clone());
                let reasons = WakeReasons::new();
                let mut event = Event::Woken { at, cpu, tid, waker, reasons, calls };
                self.complete(&mut event);
                sink(&event);
            }
            Event::Switch { .. } if !self.waiting.is_empty() => {
                let mut event = event.clone();
                self.complete(&mut event);
                sink(&event);
            }
            Event::Sample { at, tid, mode, ip, period_ns } => {
                let (at, tid, mode, ip, period_ns) = (*at, *tid, *mode, *ip, *period_ns);
                self.sample = Some(Event::Sampled { at, tid, mode, ip, period_ns, node: None });
            }
            _ => sink(event),
        }
    }

    /// Hands on what no event came for any more.
    pub fn finish(&mut self, sink: &mut dyn FnMut(&Event)) {
        if let Some(sample) = self.sample.take() {
            sink(&sample);
        }
    }

    /// Whether this is the stack of the sample that waits, which then has it.
    fn of_sample(&mut self, event: &Event) -> bool {
        match (&mut self.sample, event) {
            (
                Some(Event::Sampled { at, tid, node, .. }),
                Event::SampleStack { at: of, tid: whose, node: innermost, .. },
            ) if (of, whose) == (&*at, &*tid) => {
                *node = Some(*innermost);
                true
            }
            _ => false,
        }
    }
}

/// Puts a part into how its thread left; gives back what is not for it.
fn left(left: &mut SwitchOutState, part: EventPart) -> Option<EventPart> {
    match (left, part) {
        (SwitchOutState::Dead(of), EventPart::Counted(counters)) => *of = counters,
        (SwitchOutState::Blocked(WaitContext { call: None, on, .. }), EventPart::FaultOn(object)) => {
            *on = object
        }
        (_, part) => return Some(part),
    }
    None
}

/// Puts a part into a wake-up; gives back what is not for it.
fn woken(waker: &mut Waker, reasons: &mut WakeReasons, part: EventPart) -> Option<EventPart> {
    match (waker, part) {
        (Waker::Network { ready, .. }, EventPart::Ready(ends)) => *ready = Some(ends),
        (_, EventPart::Request(request)) => reasons.push(WakeReason::Request(request)),
        (_, EventPart::WorkedOn(object)) => reasons.push(WakeReason::Object(object)),
        (_, part) => return Some(part),
    }
    None
}

#[cfg(test)]
mod tests;

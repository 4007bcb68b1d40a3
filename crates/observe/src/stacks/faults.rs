//! Waits in page faults, and in calls while these are not traced: their stacks are taken when they
//! begin, and weighted when they end.

use model::recording::{SwitchIn, SwitchOut, SwitchOutState};
use model::{Event, Ns, Tid};
use rustc_hash::FxHashMap;

/// The limit of threads; with more at once, some waits have no stack.
const THREADS: usize = 16_384;

/// Threads that wait, or waited, in page faults.
#[derive(Debug, Default)]
pub(super) struct FaultWaits {
    threads: FxHashMap<Tid, Fault>,
    calls_are_off: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Fault {
    /// When it blocked; 0 when it is not blocked.
    since: Ns,
    /// When it was woken; 0 when it was not.
    woken: Ns,
    /// Blocked time that no stack represents yet.
    owed_ns: Ns,
    /// The stack that this wait began with; 0 when there is none.
    node: u32,
}

impl FaultWaits {
    /// A stack was taken of a thread that blocks in a page fault.
    pub(super) fn stack(&mut self, tid: Tid, node: u32) {
        if self.threads.len() < THREADS || self.threads.contains_key(&tid) {
            self.threads.entry(tid).or_default().node = node;
        }
    }

    /// What is heard of the threads. A finished wait with a stack: the thread, its stack and the
    /// time that it represents.
    pub(super) fn after(&mut self, event: &Event) -> Option<(Tid, u32, Ns)> {
        match event {
            Event::Switch { at, out, into, .. } => {
                let over = into.as_ref().and_then(|into| self.came(*at, into));
                if let Some(out) = out {
                    self.left(*at, out);
                }
                over
            }
            Event::Woken { at, tid, .. } => {
                if let Some(fault) = self.threads.get_mut(tid).filter(|fault| fault.since > 0) {
                    fault.woken = *at;
                }
                None
            }
            Event::Exit { tid, .. } => {
                self.threads.remove(tid);
                None
            }
            Event::Tracing { calls, .. } => {
                self.calls_are_off = !calls;
                None
            }
            _ => None,
        }
    }

    fn left(&mut self, at: Ns, out: &SwitchOut) {
        let off = self.calls_are_off;
        let begins = matches!(&out.left, SwitchOutState::Blocked(wait) if off || wait.call.is_none());
        if begins && (self.threads.len() < THREADS || self.threads.contains_key(&out.tid)) {
            let fault = self.threads.entry(out.tid).or_default();
            (fault.since, fault.woken) = (at, 0);
        }
    }

    fn came(&mut self, at: Ns, into: &SwitchIn) -> Option<(Tid, u32, Ns)> {
        let fault = self.threads.get_mut(&into.tid).filter(|fault| fault.since > 0)?;
        let until = if fault.woken > 0 { fault.woken } else { at };
        fault.owed_ns += until.saturating_sub(fault.since);
        fault.since = 0;
        if fault.node == 0 {
            return None;
        }
        let over = (into.tid, fault.node, fault.owed_ns);
        (fault.owed_ns, fault.node) = (0, 0);
        Some(over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::recording::{Calls, Object, WaitContext, WakeReasons, Waker};

    fn switched_out(at: Ns) -> Event {
        let wait = WaitContext { call: None, uninterruptible: true, io: true, on: Object::Unknown };
        let out = Some(SwitchOut { tid: 7, left: SwitchOutState::Blocked(wait), calls: Calls::new() });
        Event::Switch { at, cpu: 0, out, into: None }
    }

    fn switched_in(at: Ns) -> Event {
        Event::Switch { at, cpu: 0, out: None, into: Some(SwitchIn { tid: 7, ran: None, throttled_ns: 0 }) }
    }

    #[test]
    fn a_stack_stands_for_its_wait_and_for_those_without_since_the_last() {
        let mut faults = FaultWaits::default();
        assert_eq!(faults.after(&switched_in(5)), None);
        faults.after(&switched_out(10));
        let (reasons, calls) = (WakeReasons::new(), Calls::new());
        faults.after(&Event::Woken { at: 40, cpu: 0, tid: 7, waker: Waker::Device, reasons, calls });
        assert_eq!(faults.after(&switched_in(50)), None);
        faults.stack(7, 3);
        faults.after(&switched_out(100));
        assert_eq!(faults.after(&switched_in(200)), Some((7, 3, 130)));
        assert_eq!(faults.after(&switched_in(300)), None);
    }
}

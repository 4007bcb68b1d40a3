//! How long threads of the tree were on a CPU, from its switches as they pass.

use model::{Event, Ns};
use rustc_hash::FxHashMap;

/// The sum, and who runs since when.
#[derive(Debug, Default)]
pub(super) struct Busy {
    running: FxHashMap<u32, Ns>,
    sum_ns: Ns,
}

impl Busy {
    /// What is heard of switches.
    pub(super) fn event(&mut self, event: &Event) {
        let Event::Switch { at, cpu, out, into } = event else { return };
        if let Some(since) = self.running.remove(cpu).filter(|_| out.is_some()) {
            self.sum_ns += at.saturating_sub(since);
        }
        if into.is_some() {
            self.running(*cpu, *at);
        }
    }

    /// A thread of the tree runs there since then.
    pub(super) fn running(&mut self, cpu: u32, since: Ns) {
        self.running.insert(cpu, since);
    }

    /// Time on a CPU up to now.
    pub(super) fn until(&self, now: Ns) -> Ns {
        self.sum_ns + self.running.values().map(|since| now.saturating_sub(*since)).sum::<Ns>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::recording::{Calls, In, Left, Out};

    #[test]
    fn time_between_coming_and_leaving_adds_up_and_what_runs_counts_up_to_now() {
        let switch = |at, cpu, out: bool, into: bool| Event::Switch {
            at,
            cpu,
            out: out.then(|| Out { tid: 1, left: Left::Runnable, calls: Calls::new() }),
            into: into.then_some(In { tid: 2, ran: None, throttled_ns: 0 }),
        };
        let mut busy = Busy::default();
        for event in [switch(10, 0, false, true), switch(15, 1, false, true), switch(30, 0, true, false)] {
            busy.event(&event);
        }
        assert_eq!((busy.until(30), busy.until(40)), (35, 45));
        busy.event(&switch(50, 1, true, true));
        assert_eq!(busy.until(60), 65);
    }
}

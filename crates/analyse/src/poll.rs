//! The account where wake-ups and calls cannot be seen: from switches and snapshots (tier `perf`),
//! or from snapshots alone (tier `proc`). Coarser than the account of tier `bpf`, and closed like
//! it.
//!
//! ```text
//! tier perf   events say when, snapshots say what    switch-out |------- wait -------| switch-in
//!                                                                  snapshot: "read, pipe"
//! tier proc   each snapshot speaks for the time      snapshot A: user    B: sleeps
//!             around it; the kernel's count of CPU    user |  user | sleep      |  sleep
//!             time says where it changed               (3 ms of CPU)
//! ```
//!
//! What comes first is left to `order`; where the path goes on from a wait to `path`; how time
//! divides by states to `division` and `members`.

mod closed;
mod division;
mod late;
mod members;
mod mix;
mod order;
mod path;
mod run;
mod thread;
mod tree;
mod wait;
mod watch;
mod window;

use crate::names::Names;
pub(crate) use mix::TICK_NS;
use mix::UserShare;
use model::recording::{Header, Tier, Trailer};
use model::{Event, Ns};
use order::{Batch, Order};
use path::PathLedger;
use watch::{Waits, Watch, is_over};

pub(crate) use closed::{Closed, Counted};

/// The account in the making.
#[derive(Debug)]
pub(crate) struct Poll {
    names: Names,
    period_ns: Ns,
    order: Order,
    watch: Watch,
}

impl Poll {
    /// For the recording that begins with `header`, of tier `perf` or `proc`.
    pub(crate) fn new(header: &Header) -> Self {
        let names = Names::new(header);
        let watch = Watch::new(header, names.arch);
        Self { names, period_ns: header.sample_period_ns, order: Order::default(), watch }
    }

    /// Takes the next event. Events and snapshots may come up to 5 ms out of order.
    pub(crate) fn event(&mut self, event: &Event) {
        if let Event::LocalSocket { ino, serves, name } = event {
            self.names.local_sockets.observe(*ino, *serves, name);
        }
        self.order.push(event);
        while let Some(batch) = self.order.next() {
            self.work_through(batch);
        }
    }

    /// The account, at the end of the recording.
    pub(crate) fn close(mut self, trailer: &Trailer) -> Closed {
        while let Some(batch) = self.order.rest() {
            self.work_through(batch);
        }
        let Self { names, period_ns, mut watch, .. } = self;
        let rusage = trailer.rusage.value();
        let end = watch.ended_at.unwrap_or(trailer.reaped_at).min(trailer.reaped_at);
        watch.advance_past_looks(end, rusage.map_or(0, |used| used.user_ns + used.kernel_ns));
        let hides_kernel = watch.tier == Tier::Perf && watch.kernel_samples == 0;
        let user = UserShare {
            only_user_each_ns: hides_kernel.then_some(period_ns),
            rusage: rusage.filter(|_| watch.window.is_none()),
            pooled: watch.pooled,
            on_cpu_ns: 0,
        };
        let Watch { tree, tier, looks, root, path, unsure, on_path, .. } = watch;
        let names = &names;
        match watch.window {
            Some(attached) => {
                let end = trailer.reaped_at.max(attached.at);
                window::close(window::WindowAtEnd { tree, attached, end, names, tier, user, looks, unsure })
            }
            None => {
                let path = path.unwrap_or_else(|| PathLedger::new(end));
                let by_looks = tier == Tier::Proc;
                let on_path = on_path.into_iter().collect();
                run::close(run::RunAtEnd { tree, path, names, root, user, by_looks, looks, unsure, on_path })
            }
        }
    }

    /// Works through a snapshot and the events before it.
    fn work_through(&mut self, Batch { events, look }: Batch) {
        let Some((at, threads)) = look else {
            return self.watch.events_until(&events, &Waits::default(), &[]);
        };
        let at = at.max(self.watch.begin());
        let mut waits = Waits::default();
        let in_window = self.watch.window.is_some();
        for looked in threads.iter().filter(|looked| matches!(looked.state, b'S' | b'D')) {
            let wait = self.watch.tree.bounded(wait::wait(looked, in_window, &mut self.names));
            waits.insert(looked.tid, wait);
        }
        self.watch.events_until(&events, &waits, &threads);
        // All have ended: it says nothing of what they did, only that their window has ended.
        if self.watch.window.is_some() || threads.iter().any(|looked| !is_over(looked)) {
            self.watch.look(at, threads, &waits);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;

//! Signals that end a measurement early, from terminals and service managers.

use crate::exit;
use model::Ns;
use std::cell::{Cell, RefCell};
use std::os::fd::AsFd;
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::poll;
use sys::signals::{Signals, stop_self};

/// The signal of Ctrl-Z, the one that continues, and those that end a measurement: SIGHUP, SIGINT,
/// SIGQUIT, SIGTERM.
pub(crate) const SIGTSTP: i32 = 20;
const SIGCONT: i32 = 18;
pub(crate) const ENDING: [i32; 4] = [1, 2, 3, 15];

/// The last pending signal that ends a measurement. Ctrl-Z stops dwell here, until SIGCONT.
pub(crate) fn ending(signals: &mut Signals) -> Option<i32> {
    take(signals).0
}

/// The signal that came, with the time for which dwell was stopped.
fn take(signals: &mut Signals) -> (Option<i32>, Ns) {
    let (mut ended_by, mut stopped_ns, mut last_ns) = (None, 0, 0);
    while let Ok(Some(signal)) = signals.take() {
        if ENDING.contains(&signal.number) {
            ended_by = Some(signal.number);
        } else if signal.number == SIGTSTP {
            let begun_ns = monotonic_ns();
            stop_self();
            last_ns = monotonic_ns() - begun_ns;
        } else if signal.number == SIGCONT {
            // Without it the kernel did not stop dwell: no shell could have continued it.
            stopped_ns += std::mem::take(&mut last_ns);
        }
    }
    (ended_by, stopped_ns)
}

/// Whether to end a measurement, for measuring loops to poll.
pub(crate) struct Stop<'a> {
    signals: RefCell<&'a mut Signals>,
    ended_by: Cell<Option<i32>>,
    stopped_ns: Cell<Ns>,
}

impl<'a> Stop<'a> {
    pub(crate) fn new(signals: &'a mut Signals) -> Self {
        Self { signals: RefCell::new(signals), ended_by: Cell::new(None), stopped_ns: Cell::new(0) }
    }

    /// Whether a signal asked for the end.
    pub(crate) fn asked(&self) -> bool {
        let (ended_by, stopped_ns) = take(&mut self.signals.borrow_mut());
        self.ended_by.set(ended_by.or(self.ended_by.get()));
        self.stopped_ns.set(self.stopped_ns.get() + stopped_ns);
        self.ended_by.get().is_some()
    }

    /// For how long Ctrl-Z stopped dwell so far.
    pub(crate) fn stopped_ns(&self) -> Ns {
        self.stopped_ns.get()
    }

    /// Waits for a signal, that of the end of a child included, for so long at most.
    pub(crate) fn wait(&self, most: Option<Duration>) {
        // What cannot be waited for is asked for again.
        let _ = poll::wait(&[self.signals.borrow().as_fd()], most);
    }

    /// The exit status for the signal, as shells have it: 128 plus its number.
    pub(crate) fn status(&self) -> Option<u8> {
        self.ended_by.get().map(exit::of_signal)
    }
}

//! Signals that end a measurement early, from terminals and service managers.

use crate::exit;
use std::cell::{Cell, RefCell};
use std::os::fd::AsFd;
use std::time::Duration;
use sys::poll;
use sys::signals::{Signals, stop_self};

/// The signal of Ctrl-Z, and those that end a measurement: SIGHUP, SIGINT, SIGQUIT, SIGTERM.
const SIGTSTP: i32 = 20;
const ENDING: [i32; 4] = [1, 2, 3, 15];

/// The last pending signal that ends a measurement. Ctrl-Z stops dwell here, until SIGCONT.
pub(crate) fn ending(signals: &mut Signals) -> Option<i32> {
    let mut ended_by = None;
    while let Ok(Some(signal)) = signals.take() {
        if ENDING.contains(&signal.number) {
            ended_by = Some(signal.number);
        } else if signal.number == SIGTSTP {
            stop_self();
        }
    }
    ended_by
}

/// Whether to end a measurement, for measuring loops to poll.
pub(crate) struct Stop<'a> {
    signals: RefCell<&'a mut Signals>,
    ended_by: Cell<Option<i32>>,
}

impl<'a> Stop<'a> {
    pub(crate) fn new(signals: &'a mut Signals) -> Self {
        Self { signals: RefCell::new(signals), ended_by: Cell::new(None) }
    }

    /// Whether a signal asked for the end.
    pub(crate) fn asked(&self) -> bool {
        if let Some(signal) = ending(&mut self.signals.borrow_mut()) {
            self.ended_by.set(Some(signal));
        }
        self.ended_by.get().is_some()
    }

    /// Waits for a signal, that of the end of a child included, until `timeout`.
    pub(crate) fn wait(&self, timeout: Duration) {
        // What cannot be waited for is asked for again.
        let _ = poll::wait(&[self.signals.borrow().as_fd()], Some(timeout));
    }

    /// The exit status for the signal, as shells have it: 128 plus its number.
    pub(crate) fn status(&self) -> Option<u8> {
        self.ended_by.get().map(exit::of_signal)
    }
}

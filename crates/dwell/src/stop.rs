//! Whether somebody wants a measurement to end: the signals that terminals and service managers send.

use crate::exit;
use std::cell::{Cell, RefCell};
use sys::signals::{Signals, stop_self};

/// What the terminal sends for Ctrl-Z, and for Ctrl-C and its like.
const SIGTSTP: i32 = 20;
const ENDING: [i32; 4] = [1, 2, 3, 15];

/// The latest signal that ends a measurement, of those that came since the last look. Ctrl-Z stops dwell here, until it is
/// told to go on.
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

/// Asked again and again by what measures.
pub(crate) struct Stop<'a> {
    signals: RefCell<&'a mut Signals>,
    ended_by: Cell<Option<i32>>,
}

impl<'a> Stop<'a> {
    pub(crate) fn new(signals: &'a mut Signals) -> Self {
        Self { signals: RefCell::new(signals), ended_by: Cell::new(None) }
    }

    /// Whether it is to end.
    pub(crate) fn asked(&self) -> bool {
        if let Some(signal) = ending(&mut self.signals.borrow_mut()) {
            self.ended_by.set(Some(signal));
        }
        self.ended_by.get().is_some()
    }

    /// The exit status that says which signal ended it early, in the words of shells.
    pub(crate) fn status(&self) -> Option<u8> {
        self.ended_by.get().map(exit::of_signal)
    }
}

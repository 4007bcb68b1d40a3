//! Time by state.

use model::{Ns, State};

/// How long in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Times([Ns; State::ALL.len()]);

impl Times {
    pub(crate) fn add(&mut self, state: State, ns: Ns) {
        self.0[state as usize] += ns;
    }

    /// Adds all of another.
    pub(crate) fn add_all(&mut self, more: Times) {
        self.0.iter_mut().zip(more.0).for_each(|(sum, more)| *sum += more);
    }

    pub(crate) fn of(&self, state: State) -> Ns {
        self.0[state as usize]
    }

    /// What there was of such states.
    pub(crate) fn sum(&self, which: impl Fn(State) -> bool) -> Ns {
        State::ALL.into_iter().filter(|state| which(*state)).map(|state| self.of(state)).sum()
    }

    /// The states that occurred, in order of precedence.
    pub(crate) fn rows(&self) -> Vec<(State, Ns)> {
        State::ALL.into_iter().zip(self.0).filter(|(_, ns)| *ns > 0).collect()
    }
}

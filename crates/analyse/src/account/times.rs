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

    /// What there is beyond another.
    pub(crate) fn without(mut self, less: Times) -> Self {
        self.0.iter_mut().zip(less.0).for_each(|(sum, less)| *sum = sum.saturating_sub(less));
        self
    }

    /// As much of it as `ns` is of `all_ns`, and no more than `ns`.
    pub(crate) fn part(mut self, ns: Ns, all_ns: Ns) -> Self {
        let whole = all_ns.max(self.0.iter().sum()).max(1);
        let part = |sum: Ns| u64::try_from(u128::from(sum) * u128::from(ns) / u128::from(whole));
        self.0.iter_mut().for_each(|sum| *sum = part(*sum).unwrap_or(ns));
        self
    }

    /// What was of one state is of another, as far as there is of it.
    pub(crate) fn moves(&mut self, from: State, to: State, ns: Ns) {
        let ns = ns.min(self.of(from));
        self.0[from as usize] -= ns;
        self.0[to as usize] += ns;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rows: &[(State, Ns)]) -> Times {
        let mut times = Times::default();
        rows.iter().for_each(|(state, ns)| times.add(*state, *ns));
        times
    }

    #[test]
    fn a_part_is_of_each_state_and_never_more_than_it_is_of() {
        let all = times(&[(State::User, 60), (State::Disk, 30)]);
        assert_eq!(all.part(50, 100), times(&[(State::User, 30), (State::Disk, 15)]));
        assert_eq!(all.part(30, 45), times(&[(State::User, 20), (State::Disk, 10)]), "no more than 30");
        assert_eq!(all.part(0, 0), times(&[]));
    }

    #[test]
    fn no_more_moves_than_there_is() {
        let mut all = times(&[(State::Sleep, 10), (State::Lock, 1)]);
        all.moves(State::Sleep, State::Lock, 25);
        assert_eq!(all, times(&[(State::Lock, 11)]));
        assert_eq!(all.without(times(&[(State::Lock, 4), (State::User, 9)])), times(&[(State::Lock, 7)]));
    }
}

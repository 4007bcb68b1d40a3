//! How many waits for one peer are under way at once: from their two ends, as each one ends. (Those
//! of the whole tree are counted in `under_way`.)

use model::Ns;
use std::collections::VecDeque;

/// Waits that are remembered, and so the most that are told apart.
const WAITS: usize = 64;
/// Stretches of time to which a wait that ends may still belong.
const STRETCHES: usize = 16;

/// Waits that ended, in the order of their ends.
#[derive(Debug, Default, Clone)]
pub(crate) struct PeerOverlap {
    last: VecDeque<Wait>,
    most: u64,
    /// Time with a wait under way: in one piece each, the last ones.
    stretches: VecDeque<(Ns, Ns)>,
    /// The sum of those before.
    before_ns: Ns,
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    from: Ns,
    to: Ns,
    /// How many were under way when it began, itself included, as far as these have ended.
    at_once: u64,
}

impl PeerOverlap {
    /// One has ended.
    pub(crate) fn waited(&mut self, from: Ns, to: Ns) {
        self.stretch(from, to);
        let mut at_once = 1;
        // Ends are in order: what ended before this one began stands before all others.
        for other in self.last.iter_mut().rev().take_while(|other| other.to > from) {
            if other.from <= from {
                at_once += 1;
            } else {
                other.at_once += 1;
                self.most = self.most.max(other.at_once);
            }
        }
        self.most = self.most.max(at_once);
        self.last.push_back(Wait { from, to, at_once });
        if self.last.len() > WAITS {
            self.last.pop_front();
        }
    }

    fn stretch(&mut self, mut from: Ns, mut to: Ns) {
        while let Some((began, ended)) = self.stretches.pop_back_if(|(_, ended)| *ended >= from) {
            (from, to) = (from.min(began), to.max(ended));
        }
        self.stretches.push_back((from, to));
        if self.stretches.len() > STRETCHES
            && let Some((began, ended)) = self.stretches.pop_front()
        {
            self.before_ns += ended - began;
        }
    }

    /// The most that were under way at once.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// For how long one was or more.
    pub(crate) fn any_ns(&self) -> Ns {
        self.before_ns + self.stretches.iter().map(|(from, to)| to - from).sum::<Ns>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(waits: &[(Ns, Ns)]) -> (u64, Ns) {
        let mut all = PeerOverlap::default();
        waits.iter().for_each(|(from, to)| all.waited(*from, *to));
        (all.most(), all.any_ns())
    }

    #[test]
    fn one_after_the_other_are_one_at_once_and_their_time_is_all_of_it() {
        assert_eq!(of(&[]), (0, 0));
        assert_eq!(of(&[(0, 10), (10, 20), (25, 30)]), (1, 25));
        let many: Vec<_> = (0..1000).map(|i| (i * 10, i * 10 + 4)).collect();
        assert_eq!(of(&many), (1, 4000));
    }

    #[test]
    fn those_that_overlap_are_counted_where_most_do() {
        // Three at 12, which is known when the longest ends; two at 30.
        assert_eq!(of(&[(10, 20), (12, 25), (0, 40), (30, 45)]), (3, 45));
        assert_eq!(of(&[(0, 10), (20, 30), (5, 40)]), (2, 40));
    }

    #[test]
    fn more_than_are_remembered_are_not_told_apart() {
        let all: Vec<_> = (0..200).map(|i| (i, 1000 + i)).collect();
        assert_eq!(of(&all), (WAITS as u64 + 1, 1199));
    }
}

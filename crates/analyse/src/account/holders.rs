//! What the thread that releases a lock did while another waited for it.
//!
//! The waker of a wait is not known when it begins. So the start times of the most recent waits for
//! locks are remembered, and each thread cuts its time at these and adds it up in between: what it
//! did since one of them is a sum of a few.

use super::times::Times;
use model::{Ns, State};
use std::collections::VecDeque;

/// Begins that are remembered. Where more threads wait for locks at one time, the longest waits
/// lose what went on.
const BEGINS: usize = 32;

/// When the most recent waits for locks began, in order.
#[derive(Debug, Default)]
pub(crate) struct Begins(VecDeque<Ns>);

impl Begins {
    /// A wait begins.
    pub(crate) fn add(&mut self, at: Ns) {
        let place = self.0.iter().rposition(|begin| *begin <= at).map_or(0, |place| place + 1);
        // CPUs' clocks may differ a little, so one can come late.
        if place.checked_sub(1).is_none_or(|before| self.0[before] != at) {
            self.0.insert(place, at);
        }
        if self.0.len() > BEGINS {
            self.0.pop_front();
        }
    }

    fn has(&self, at: Ns) -> bool {
        self.0.binary_search(&at).is_ok()
    }
}

/// A thread's time since the first of the begins, in pieces that end at them.
#[derive(Debug, Default)]
pub(crate) struct HolderTimes(Vec<Piece>);

#[derive(Debug)]
struct Piece {
    from: Ns,
    to: Ns,
    times: Times,
}

impl HolderTimes {
    /// From then to then it did these, in an order that is not known. They are all of it.
    pub(crate) fn add(&mut self, begins: &Begins, from: Ns, to: Ns, parts: &[(State, Ns)]) {
        let Some(first) = begins.0.front().copied().filter(|first| *first < to && from < to) else { return };
        self.0.retain(|piece| piece.to > first);
        let later = begins.0.partition_point(|begin| *begin <= from);
        let cuts = begins.0.range(later..).copied().take_while(|begin| *begin < to);
        let mut at = from;
        for cut in cuts.chain([to]) {
            if at >= first {
                self.piece(begins, at, cut, parts, to - from);
            }
            at = cut;
        }
    }

    /// A part of what took `of` altogether.
    fn piece(&mut self, begins: &Begins, from: Ns, to: Ns, parts: &[(State, Ns)], of: Ns) {
        let last = self.0.last().filter(|last| last.to == from && !begins.has(from));
        if last.is_none() {
            self.0.push(Piece { from, to, times: Times::default() });
        }
        let Some(piece) = self.0.last_mut() else { return };
        piece.to = to;
        let mut rest = to - from;
        for (index, (state, ns)) in parts.iter().enumerate() {
            let share = u128::from(*ns) * u128::from(to - from) / u128::from(of.max(1));
            let last = index + 1 == parts.len();
            let share = if last { rest } else { u64::try_from(share).unwrap_or(rest).min(rest) };
            piece.times.add(*state, share);
            rest -= share;
        }
    }

    /// What it did since then, as far as that is known.
    pub(crate) fn since(&self, begin: Ns) -> Times {
        let mut sum = Times::default();
        for piece in self.0.iter().filter(|piece| piece.from >= begin) {
            sum.add_all(piece.times);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_on_is_cut_where_waits_began() {
        let (mut begins, mut holder) = (Begins::default(), HolderTimes::default());
        holder.add(&begins, 0, 10, &[(State::User, 10)]);
        begins.add(15);
        begins.add(30);
        holder.add(&begins, 10, 20, &[(State::Disk, 10)]);
        holder.add(&begins, 20, 40, &[(State::User, 12), (State::Kernel, 8)]);
        holder.add(&begins, 40, 50, &[(State::Sleep, 10)]);
        let mut want = vec![(State::Kernel, 8), (State::User, 12), (State::Disk, 5), (State::Sleep, 10)];
        want.sort_by_key(|(state, _)| *state as usize);
        assert_eq!(holder.since(15).rows(), want);
        assert_eq!(holder.since(30).rows().iter().map(|(_, ns)| ns).sum::<Ns>(), 20);
        assert_eq!(holder.since(41).rows(), [], "a wait whose begin was not remembered");
    }

    #[test]
    fn begins_are_in_order_and_few_and_old_pieces_go() {
        let (mut begins, mut holder) = (Begins::default(), HolderTimes::default());
        for at in (0..200).map(|turn| turn * 10) {
            begins.add(at);
            begins.add(at.saturating_sub(3));
            begins.add(at);
            holder.add(&begins, at, at + 10, &[(State::User, 10)]);
        }
        assert!(begins.0.iter().is_sorted() && begins.0.len() <= BEGINS);
        assert!(holder.0.len() <= BEGINS + 1, "{}", holder.0.len());
        assert_eq!(holder.since(1990).rows(), [(State::User, 10)]);
    }
}

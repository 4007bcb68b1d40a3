//! Whose the processes of a recording are: each of these users could have named the sources that
//! their code says it is from.

use model::Pid;
use std::collections::BTreeSet;
use sys::untrusted_file::Rights;

/// New processes that are asked at one look.
const NEW: usize = 256;
/// Known processes that are asked again at one look, in turn: programs change their user. A target
/// with fewer is asked whole each time, a host with 500 in three seconds. Each takes the kernel
/// 80 us: all of a host at each look, ten times a second, were a fifth of dwell's time.
const AGAIN: usize = 16;

/// The users that were seen so far.
#[derive(Debug, Default)]
pub(crate) struct Users {
    pub(crate) seen: BTreeSet<u32>,
    /// The processes of the last look that were asked before.
    asked: BTreeSet<Pid>,
    /// Where the turn is.
    next: Pid,
}

impl Users {
    /// Asks the processes that are new, and some of the others.
    pub(crate) fn look(&mut self, living: &[Pid]) {
        let asked = self.turn(living);
        self.seen.extend(asked.into_iter().filter_map(|pid| Some(Rights::of_process(pid).ok()?.uid())));
    }

    /// The processes that are to be asked now.
    fn turn(&mut self, living: &[Pid]) -> Vec<Pid> {
        let (known, new): (BTreeSet<Pid>, BTreeSet<Pid>) =
            living.iter().partition(|pid| self.asked.contains(pid));
        let mut now: Vec<Pid> = known.range(self.next..).chain(known.range(..self.next)).copied().collect();
        now.truncate(AGAIN);
        self.next = now.last().map_or(0, |last| last.saturating_add(1));
        now.extend(new.into_iter().take(NEW));
        self.asked = known;
        self.asked.extend(&now);
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_new_is_asked_at_once_and_the_others_in_turn() {
        let mut users = Users::default();
        let living: Vec<Pid> = (1..=100).collect();
        assert_eq!(users.turn(&living), living);
        let asked: Vec<Pid> = (0..7).flat_map(|_| users.turn(&living)).collect();
        assert_eq!(asked[..100], living, "all of them, in as many looks as it takes");
        assert_eq!(asked[100..], living[..12]);
        let more: Vec<Pid> = living.iter().copied().chain([4711]).collect();
        let asked = users.turn(&more);
        assert!(asked.len() == AGAIN + 1 && asked.contains(&4711), "{asked:?}");
        assert_eq!(users.turn(&[1, 2, 3]), [1, 2, 3], "few are asked each time");
        // A number that was another's in the meantime is new.
        users.turn(&[1]);
        assert_eq!(users.turn(&[1, 2]), [1, 2]);
    }

    #[test]
    fn what_is_more_than_is_asked_at_once_comes_next() {
        let mut users = Users::default();
        let living: Vec<Pid> = (1..=300).collect();
        assert_eq!(users.turn(&living), living[..NEW]);
        assert!(users.turn(&living).ends_with(&living[NEW..]));
    }

    #[test]
    fn a_living_process_has_a_user_and_one_that_is_gone_none() {
        let mut users = Users::default();
        users.look(&[std::process::id(), Pid::MAX]);
        assert_eq!(users.seen.into_iter().collect::<Vec<_>>(), [sys::user::effective_uid()]);
    }
}

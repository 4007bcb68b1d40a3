//! Turns on one connection: something is sent, and then what comes back is waited for.
//!
//! A turn begins with the first thing sent after a wait; a request that is sent in several pieces,
//! or answered in several, is one turn. What is answered before anyone waits for it is no turn.
//! Which rows turns are summed in is up to `connections`.

use model::Ns;
use model::peers::Turns;

/// The turns of one connection.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct TurnsOfOne {
    /// Blocked before anything was sent.
    before_ns: Ns,
    begun: bool,
    /// Nobody has waited since something was sent.
    unanswered: bool,
    /// Blocked in the turn under way, and what of that ended while another was not answered.
    now_ns: Ns,
    now_at_once_ns: Ns,
    /// What limits ended since something was sent last, and what of the turn was that, and was
    /// answered.
    in_vain_ns: Ns,
    now_sliced_ns: Ns,
    first_ns: Ns,
    all: Turns,
}

impl TurnsOfOne {
    /// A thread of the tree sent something. Whether the peer now owes an answer that it did not owe
    /// before.
    pub(crate) fn sent(&mut self) -> bool {
        self.begun = true;
        self.in_vain_ns = 0;
        if self.now_ns > 0 && !self.unanswered {
            self.close();
        }
        !std::mem::replace(&mut self.unanswered, true)
    }

    /// A thread of the tree was blocked until something came. `others`: what was sent on another
    /// connection is not answered. Whether the peer owes no answer any more.
    pub(crate) fn waited(&mut self, ns: Ns, others: bool) -> bool {
        if !self.begun {
            self.before_ns += ns;
            return false;
        }
        self.now_ns += ns;
        self.now_sliced_ns += std::mem::take(&mut self.in_vain_ns);
        self.now_at_once_ns += if others { ns } else { 0 };
        std::mem::take(&mut self.unanswered)
    }

    /// A thread of the tree was blocked until its time was up: nothing came.
    pub(crate) fn waited_in_vain(&mut self, ns: Ns) {
        self.in_vain_ns += ns;
        *(if self.begun { &mut self.now_ns } else { &mut self.before_ns }) += ns;
    }

    /// Whether something was sent, and nobody has waited for an answer yet.
    pub(crate) fn awaits_first(&self) -> bool {
        self.begun && self.all.times == 0 && self.unanswered
    }

    /// Whether the peer owes an answer.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.unanswered
    }

    fn close(&mut self) {
        let ns = std::mem::take(&mut self.now_ns);
        if self.all.times == 0 {
            self.first_ns = ns;
        }
        self.all.add(&Turns {
            times: 1,
            total_ns: ns,
            max_ns: ns,
            at_once_ns: std::mem::take(&mut self.now_at_once_ns),
            sliced_ns: std::mem::take(&mut self.now_sliced_ns),
        });
    }

    /// At its end: the turns, what was waited for before the first, and in it; and whether the peer
    /// owes an answer still.
    pub(crate) fn ended(mut self) -> (Turns, Ns, Ns, bool) {
        if self.now_ns > 0 {
            self.close();
        }
        (self.all, self.before_ns, self.first_ns, self.unanswered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_all_that_is_waited_for_between_two_requests() {
        let mut one = TurnsOfOne::default();
        assert!(!one.waited(7, false), "a greeting");
        assert!(one.sent() && !one.sent(), "in two pieces");
        assert!(one.waited(100, false) && !one.waited(50, false), "answered in two");
        assert!(one.sent());
        assert!(!one.sent(), "answered before anyone waited");
        assert!(one.waited(30, true));
        let (turns, before_ns, first_ns, owes) = one.ended();
        assert_eq!(turns, Turns { times: 2, total_ns: 180, max_ns: 150, at_once_ns: 30, sliced_ns: 0 });
        assert_eq!((before_ns, first_ns, owes), (7, 150, false));
    }

    #[test]
    fn what_limits_ended_is_sliced_if_nothing_more_was_sent_until_the_answer() {
        let mut one = TurnsOfOne::default();
        one.sent();
        one.waited_in_vain(100);
        one.waited_in_vain(100);
        one.waited(50, false);
        one.sent();
        one.waited_in_vain(100);
        one.sent();
        one.waited(5, false);
        let (turns, ..) = one.ended();
        assert_eq!((turns.times, turns.total_ns, turns.sliced_ns), (2, 355, 200));
    }

    #[test]
    fn the_only_turn_is_the_first_and_the_peer_may_owe_the_next() {
        let mut one = TurnsOfOne::default();
        one.sent();
        one.waited(9, false);
        one.sent();
        let (turns, _, first_ns, owes) = one.ended();
        assert_eq!((turns.times, first_ns, owes), (1, 9, true));
    }
}

//! What a run would have gained had a part of it cost nothing.
//!
//! What it means and where it is blind: `docs/method/prediction.md`. Which part of a site can go,
//! and what bounds the program then, is up to whoever asks.

use crate::account::Basis;
use crate::coverage::Interval;
use crate::wait::{SyscallName, WaitTarget};
use crate::{JsonSchema, Ns, Pid, Seen, State};
use serde::{Deserialize, Serialize};

/// The savings of a run, by site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// The wall clock by the clocks that the savings come from, with nothing edited. It is the
    /// run's.
    pub unedited_ns: Ns,
    /// Sites that had a hundredth of the wall clock or more, over all threads; those that save most
    /// come first.
    pub sites: Vec<SiteTimes>,
}

/// Something that a program spends time at and that could be made to cost less.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Site {
    /// A system call: on a CPU in it, and waits in it that no thread of the tree ended.
    Call(SyscallName),
    /// A futex of a process, by its address there: waits for it, whatever ended them.
    Lock {
        /// The process.
        pid: Pid,
        /// The address.
        address: u64,
    },
    /// The other end of connections, outside the tree: waits for it.
    Peer(WaitTarget),
    /// Answers to questions for names: waits for them.
    NameLookups,
    /// A file: waits for its disk.
    File(Seen<String>),
    /// All threads of processes that execute a program of this name: all of their time, but for
    /// waits that a thread of the tree ended.
    Program(String),
    /// All time in a state.
    State(State),
}

/// What a site has of a run, and what the run would gain without it.
///
/// The ends of an interval are apart by what the site had before it was watched, and by what
/// samples leave open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiteTimes {
    /// Which.
    pub site: Site,
    /// Its time on the path to the end. Of a lock: on the path that does not go over to the
    /// threads that had it.
    pub path_ns: Seen<Interval>,
    /// By how much the run would have ended earlier had it cost nothing, by the dependencies that
    /// were seen.
    pub saved_ns: Seen<Interval>,
    /// Its time on the path while no other thread of the tree was under way.
    pub alone_ns: Seen<Interval>,
    /// P, S and A as they would be if samples left nothing open: where they tell some of its time.
    /// What samples divide was measured as a whole, so sums over states are made of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimates: Option<[Interval; 3]>,
    /// Whether part of its time is known by samples only.
    pub basis: Basis,
}

impl SiteTimes {
    /// P, S and A, where they are seen.
    pub fn known(&self) -> Option<[Interval; 3]> {
        let [path, saved, alone] = [&self.path_ns, &self.saved_ns, &self.alone_ns].map(Seen::value);
        Some([*path?, *saved?, *alone?])
    }

    /// What removing this part (0 to 1) of the site saves, before limits of the machine.
    ///
    /// At least what it had to itself of that part, since dependencies that never blocked anything
    /// were not seen and may bind; at most what it had of the path, or all that it can save.
    pub fn saving_ns(&self, part: f64) -> Seen<Interval> {
        let part = part.clamp(0.0, 1.0);
        let of = |ns: Ns| (ns as f64 * part).round() as Ns;
        let known = self.path_ns.clone().zip(self.saved_ns.clone()).zip(self.alone_ns.clone());
        known.map(|((path, saved), alone)| {
            let hi = of(path.hi).min(saved.hi);
            Interval { lo: of(alone.lo.min(saved.lo)).min(hi), hi }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(path: (Ns, Ns), saved: (Ns, Ns), alone: (Ns, Ns)) -> SiteTimes {
        let interval = |(lo, hi)| Seen::Value(Interval { lo, hi });
        SiteTimes {
            site: Site::State(State::Sleep),
            path_ns: interval(path),
            saved_ns: interval(saved),
            alone_ns: interval(alone),
            estimates: None,
            basis: Basis::Measured,
        }
    }

    #[test]
    fn a_part_saves_from_what_was_alone_to_what_was_on_the_path() {
        let polls = times((1500, 1500), (1400, 1400), (960, 960));
        assert_eq!(polls.saving_ns(1.0), Seen::Value(Interval { lo: 960, hi: 1400 }));
        assert_eq!(polls.saving_ns(0.5), Seen::Value(Interval { lo: 480, hi: 750 }));
        assert_eq!(polls.saving_ns(7.0), polls.saving_ns(1.0), "no more than all of it can go");
        assert_eq!(polls.saving_ns(0.0), Seen::Value(Interval { lo: 0, hi: 0 }));
    }

    #[test]
    fn what_was_before_the_watch_widens_it() {
        let late = times((100, 130), (80, 110), (90, 120));
        assert_eq!(late.saving_ns(1.0), Seen::Value(Interval { lo: 80, hi: 110 }));
        let unseen = SiteTimes { saved_ns: Seen::unseen("why"), ..late };
        assert_eq!(unseen.saving_ns(1.0), Seen::unseen("why"));
    }
}

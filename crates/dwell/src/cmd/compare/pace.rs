//! When a comparison ends, and whether it can decide anything by then.

use crate::cli::CompareArgs;
use model::Ns;
use model::compare::commands::CompareEnd;

pub(super) const SECOND_NS: Ns = 1_000_000_000;
/// The default of --for.
const FOR_NS: Ns = 60 * SECOND_NS;
/// Pairs of commands that are so long that fewer would fit into the default.
const LONG_PAIRS: u32 = 12;
/// Nothing is decided before: a burst of other work lasts about as long.
const LEAST_NS: Ns = 3 * SECOND_NS;
/// Runs of one command alone, where nothing is decided.
const ALONE_RUNS: u32 = 10;

/// The limits of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    /// Exactly this many pairs.
    fixed: Option<u32>,
    /// At least this many.
    least: u32,
    /// At most this many.
    most: Option<u32>,
    /// No pair begins after this time.
    pub(super) for_ns: Option<Ns>,
    /// One command, compared with nothing.
    alone: bool,
}

impl Pace {
    /// The limits that the command line gives, once the first pair took `pair_ns`.
    pub(super) fn of(args: &CompareArgs, pair_ns: Ns, alone: bool) -> Self {
        let long = args.for_ns.is_none() && pair_ns > FOR_NS / Ns::from(LONG_PAIRS);
        let free = args.pairs.is_none();
        let most = args.max_pairs.or((free && long).then(|| LONG_PAIRS.max(args.min_pairs.unwrap_or(0))));
        Self {
            fixed: args.pairs,
            least: args.min_pairs.unwrap_or(if alone { ALONE_RUNS } else { 1 }),
            most,
            for_ns: (free && !long).then(|| args.for_ns.unwrap_or(FOR_NS)),
            alone,
        }
    }

    /// Why no further pair begins; none if one does.
    pub(super) fn end(&self, pairs: u32, elapsed_ns: Ns, decided: bool) -> Option<CompareEnd> {
        if let Some(fixed) = self.fixed {
            return (pairs >= fixed).then_some(CompareEnd::PairsDone);
        }
        let enough = pairs >= self.least && elapsed_ns >= LEAST_NS.min(self.for_ns.unwrap_or(LEAST_NS));
        if decided && enough {
            return Some(CompareEnd::Decided);
        }
        if self.most.is_some_and(|most| pairs >= most) || (self.alone && enough) {
            return Some(CompareEnd::PairsDone);
        }
        let up = self.for_ns.is_some_and(|for_ns| elapsed_ns >= for_ns);
        (up && (self.alone || pairs >= self.least)).then_some(CompareEnd::TimeUp)
    }

    /// How many pairs there can be at most, if each takes `pair_ns`.
    pub(super) fn pairs_possible(&self, pair_ns: Ns) -> Ns {
        let in_time = self.for_ns.map(|for_ns| for_ns.div_ceil(pair_ns.max(1)).max(Ns::from(self.least)));
        let given = self.fixed.or(self.most).map(Ns::from);
        given.into_iter().chain(in_time).min().unwrap_or(Ns::MAX)
    }

    /// The time that is left at most; none if it is not known.
    pub(super) fn left_ns(&self, pairs: u32, elapsed_ns: Ns, pair_ns: Ns) -> Option<Ns> {
        let given = self.fixed.or(self.most).map(|most| Ns::from(most.saturating_sub(pairs)) * pair_ns);
        let in_time = self.for_ns.map(|for_ns| for_ns.saturating_sub(elapsed_ns));
        given.into_iter().chain(in_time).min()
    }

    /// What to say before it begins: that the pairs which fit cannot decide.
    pub(super) fn too_few(&self, pair_ns: Ns, needed: u32) -> Option<String> {
        let possible = self.pairs_possible(pair_ns);
        if self.alone || possible >= Ns::from(needed) {
            return None;
        }
        let pairs = report::units::counted(possible, "pair");
        let remedy = match (self.fixed, self.most) {
            (Some(_), _) => format!("--pairs {needed}"),
            (None, Some(most)) if most < needed => format!("--max-runs {needed}"),
            _ => {
                let time = report::units::duration(pair_ns.saturating_mul(Ns::from(needed)));
                format!("--for with {time} or more")
            }
        };
        Some(format!("{pairs} cannot decide: that takes {needed} at least\ntry: {remedy}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser;
    use model::compare::commands::CompareEnd::{Decided, PairsDone, TimeUp};

    const MS: Ns = 1_000_000;

    fn pace(line: &[&str], pair_ns: Ns) -> Pace {
        let cli = Cli::try_parse_from([&["dwell", "compare"], line, &["a", "b"]].concat()).unwrap();
        let Verb::Compare(args) = cli.verb else { panic!("not a comparison") };
        Pace::of(&args, pair_ns, false)
    }

    #[test]
    fn it_ends_when_decided_after_three_seconds() {
        let pace = pace(&[], 40 * MS);
        assert_eq!(pace.end(50, 2 * SECOND_NS, true), None);
        assert_eq!(pace.end(75, 3 * SECOND_NS, true), Some(Decided));
        assert_eq!(pace.end(75, 59 * SECOND_NS, false), None);
        assert_eq!(pace.end(75, 60 * SECOND_NS, false), Some(TimeUp));
    }

    #[test]
    fn long_commands_have_twelve_pairs() {
        let pace_ = pace(&[], 600 * SECOND_NS);
        assert_eq!(pace_.end(11, 6_600 * SECOND_NS, false), None);
        assert_eq!(pace_.end(7, 4_200 * SECOND_NS, true), Some(Decided));
        assert_eq!(pace_.end(12, 7_200 * SECOND_NS, false), Some(PairsDone));
        assert_eq!(pace_.left_ns(10, 6_000 * SECOND_NS, 600 * SECOND_NS), Some(1_200 * SECOND_NS));
        // A time that was asked for holds.
        let pace_ = pace(&["--for", "60s"], 600 * SECOND_NS);
        assert_eq!(pace_.end(1, 600 * SECOND_NS, false), Some(TimeUp));
    }

    #[test]
    fn numbers_of_pairs_that_were_asked_for_hold() {
        let fixed = pace(&["--pairs", "30"], 40 * MS);
        assert_eq!((fixed.end(29, 90 * SECOND_NS, true), fixed.for_ns), (None, None));
        assert_eq!(fixed.end(30, MS, false), Some(PairsDone));
        let bounded = pace(&["-m", "5", "-M", "9"], SECOND_NS);
        assert_eq!(bounded.end(4, 8 * SECOND_NS, true), None);
        assert_eq!(bounded.end(4, 80 * SECOND_NS, false), None);
        assert_eq!(bounded.end(9, 9 * SECOND_NS, false), Some(PairsDone));
    }

    #[test]
    fn one_command_alone_has_ten_runs() {
        let alone = Pace { alone: true, least: ALONE_RUNS, ..pace(&[], SECOND_NS) };
        assert_eq!(alone.end(9, 9 * SECOND_NS, false), None);
        assert_eq!(alone.end(10, 10 * SECOND_NS, false), Some(PairsDone));
        assert_eq!(alone.too_few(SECOND_NS, 7), None);
    }

    #[test]
    fn too_few_pairs_are_said_with_what_would_do() {
        assert_eq!(pace(&[], 40 * MS).too_few(40 * MS, 7), None);
        assert_eq!(pace(&[], 600 * SECOND_NS).too_few(600 * SECOND_NS, 7), None);
        let said = pace(&["--pairs", "3"], MS).too_few(MS, 6).unwrap();
        assert_eq!(said, "3 pairs cannot decide: that takes 6 at least\ntry: --pairs 6");
        let said = pace(&["--for", "1m"], 20 * SECOND_NS).too_few(20 * SECOND_NS, 7).unwrap();
        assert_eq!(said, "3 pairs cannot decide: that takes 7 at least\ntry: --for with 140 s or more");
        assert!(pace(&["-M", "4"], MS).too_few(MS, 7).unwrap().contains("--max-runs 7"));
    }
}

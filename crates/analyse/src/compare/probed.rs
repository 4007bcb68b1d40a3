//! What pairs of runs say of a fix that was imposed on one of each.

use super::predicted::came;
use model::compare::why::{Came, SignedInterval, TimeDifference};
use model::finding::{SavedTime, Saving};
use model::probe::MeasuredSaving;
use model::{Ns, Probe, Probed, Seen};
use stats::paired::{hodges_lehmann, signed_rank};

/// The chance that an interval does not hold the saving.
const ALPHA: f64 = 0.05;

/// The result of pairs of wall clocks, without the fix and with it; `first_ns` is the wall clock of
/// the run that was observed, `saving` what its finding predicts. None without pairs.
pub fn probed(probe: Probe, walls_ns: &[(Ns, Ns)], first_ns: Ns, saving: &Seen<Saving>) -> Option<Probed> {
    let differences: Vec<f64> =
        walls_ns.iter().map(|(plain, probed)| *plain as f64 - *probed as f64).collect();
    let whole = |value: f64| value.round() as i64;
    let estimate = whole(hodges_lehmann(&differences)?);
    let interval = signed_rank(&differences, ALPHA).map(|(lo, hi)| (whole(lo), whole(hi)));
    let plain_ns = median(walls_ns.iter().map(|(plain, _)| *plain));
    let probed_ns = median(walls_ns.iter().map(|(_, probed)| *probed));
    // A saving is the second below the first.
    let measured = TimeDifference {
        a_ns: plain_ns,
        b_ns: probed_ns,
        ns: -estimate,
        interval: interval.map(|(lo, hi)| SignedInterval { lo: -hi, hi: -lo }),
    };
    let predicted = saving.value().filter(|saving| saving.of == SavedTime::Wall);
    Some(Probed {
        probe,
        pairs: walls_ns.len() as u32,
        plain_ns,
        probed_ns,
        saving_ns: MeasuredSaving {
            estimate,
            lo: interval.map(|(lo, _)| lo),
            hi: interval.map(|(_, hi)| hi),
        },
        held: predicted.map_or(Came::Undecided, |saving| came(&saving.ns, &measured)),
        slow_again: plain_ns >= first_ns / 2,
    })
}

fn median(walls_ns: impl Iterator<Item = Ns>) -> Ns {
    stats::median_of(walls_ns.map(|ns| ns as f64)).unwrap_or(0.0).round() as Ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::coverage::Interval;
    use model::finding::SavingBasis;

    const MS: Ns = 1_000_000;

    fn saving(lo: Ns, hi: Ns) -> Seen<Saving> {
        let ns = Interval { lo: lo * MS, hi: hi * MS };
        Seen::Value(Saving {
            ns,
            of: SavedTime::Wall,
            part: (0.0, 1.0),
            known: SavingBasis::Counted,
            queued_ns: 0,
            shared: None,
            learnt: None,
        })
    }

    fn of(walls_ms: &[(Ns, Ns)], saving: &Seen<Saving>) -> Probed {
        let walls: Vec<_> = walls_ms.iter().map(|(plain, probed)| (plain * MS, probed * MS)).collect();
        probed(Probe::NoDelay, &walls, 1000 * MS, saving).expect("there are pairs")
    }

    #[test]
    fn one_pair_has_no_interval_and_decides_nothing() {
        let one = of(&[(1000, 300)], &saving(600, 800));
        assert_eq!(one.saving_ns, MeasuredSaving { estimate: 700_000_000, lo: None, hi: None });
        assert_eq!((one.pairs, one.held), (1, Came::Undecided));
        assert_eq!(probed(Probe::NoDelay, &[], 1000 * MS, &saving(1, 2)), None);
    }

    #[test]
    fn from_six_pairs_on_the_interval_is_held_against_what_was_predicted() {
        let walls: Vec<_> = (0..6).map(|at| (1000 + at, 300)).collect();
        let held = of(&walls, &saving(600, 800));
        let (lo, hi) = (held.saving_ns.lo.unwrap(), held.saving_ns.hi.unwrap());
        assert!(lo >= 700_000_000 && hi <= 705_000_000 && lo < hi, "{lo} {hi}");
        assert_eq!(held.held, Came::Held);
        assert_eq!(of(&walls, &saving(100, 200)).held, Came::More);
        assert_eq!(of(&walls, &saving(800, 900)).held, Came::Less);
        assert_eq!(of(&walls, &Seen::unseen("why")).held, Came::Undecided);
        assert_eq!(of(&walls[..5], &saving(600, 800)).saving_ns.lo, None);
    }

    #[test]
    fn what_was_not_slow_again_is_told_and_a_loss_is_negative() {
        let gone = of(&[(400, 410)], &saving(600, 800));
        assert!(!gone.slow_again && gone.saving_ns.estimate == -10_000_000, "{gone:?}");
        assert!(of(&[(500, 410)], &saving(600, 800)).slow_again);
    }
}

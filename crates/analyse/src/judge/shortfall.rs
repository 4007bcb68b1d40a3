//! Why a share of the samples is too small for a cause: by itself, by how few samples it rests on,
//! or by the low end of its interval.

use model::run::Share;
use model::sentence::Piece;
use model::{RuledOut, Sentence, say};

/// What a rule asks of a share of the samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShareNeeded {
    /// The share itself, 0 to 1.
    pub(super) value: f64,
    /// The low end of its interval.
    pub(super) lo: f64,
    /// The samples that it rests on.
    pub(super) samples: u64,
}

impl ShareNeeded {
    /// Why this share does not do; none where it does. `what` goes on from the share: `of CPU time
    /// in the allocator`.
    pub(super) fn why_not(&self, share: &Share, samples: u64, what: Sentence) -> Option<RuledOut> {
        let figure = Piece::Share(share.value);
        if share.value < self.value {
            Some(RuledOut::below(figure, what, Piece::Share(self.value)))
        } else if samples < self.samples {
            Some(RuledOut::few_samples(figure, what, samples, self.samples))
        } else if share.lo < self.lo {
            let what = what.and(say!(" at the low end, ", figure, " by estimate"));
            Some(RuledOut::below(Piece::Share(share.lo), what, Piece::Share(self.lo)))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Threshold;

    #[test]
    fn a_share_is_too_small_in_one_of_three_ways() {
        let needed = ShareNeeded { value: 0.25, lo: 0.2, samples: 30 };
        let of = |value, lo, samples| {
            let share = Share { value, lo, hi: 1.0 };
            needed.why_not(&share, samples, say!("of CPU time")).and_then(|why| why.threshold)
        };
        let below = |figure, needed| {
            let (figure, needed) = (Piece::Share(figure), Piece::Share(needed));
            Some(Threshold::Below { figure, needed })
        };
        assert_eq!(of(0.1, 0.05, 7), below(0.1, 0.25));
        let figure = Piece::Share(0.86);
        assert_eq!(of(0.86, 0.1, 7), Some(Threshold::FewSamples { figure, samples: 7, needed: 30 }));
        assert_eq!(of(0.26, 0.15, 40), below(0.15, 0.2));
        assert_eq!(of(0.26, 0.21, 40), None);
    }
}

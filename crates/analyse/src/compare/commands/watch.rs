//! One command beside the first: its pairs, and what they rule out.

use model::compare::commands::{CommandPair, CompareSettings, EstimateInterval};
use model::compare::{Change, Side};
use model::timing::{Figure, TimedRun};
use stats::median::{median_of, quantile};
use stats::paired::{Bound, Sequence, hodges_lehmann, signed_rank};

/// The difference of a pair in which one has none of the figure: larger than any that is measured.
const ALL_OR_NONE: f64 = 20.0;

/// The confidence of what is no verdict: noise and order.
const ALPHA_BESIDE: f64 = 0.05;

/// The ends of an interval are found so exactly, on the logarithmic scale.
const ENDS_WITHIN: f64 = 1e-4;

/// What is compared of each run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Measure {
    Figure(Figure),
    /// This percentile of the numbers that it printed.
    Percentile(u32),
}

#[derive(Debug, Clone)]
pub(super) struct Watch {
    pub(super) b: u32,
    measure: Measure,
    alpha: f64,
    /// The pairs are looked at once, at the end.
    fixed: bool,
    /// The logarithm of the margin.
    margin: f64,
    pub(super) pairs: Vec<CommandPair>,
    pub(super) sequence: Sequence,
    pub(super) bounds: Bounds,
}

/// The centres that verdicts depend on: ruled out from which side.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    /// None at all: the differences lie above, or below.
    none: [Bound; 2],
    /// The margin's ends: they lie above the lower one, or below the upper one.
    margin: [Bound; 2],
}

impl Watch {
    pub(super) fn new(b: u32, alpha: f64, settings: &CompareSettings) -> Self {
        Self::of(Measure::Figure(settings.on), b, alpha, settings)
    }

    /// The same commands by another measure.
    pub(super) fn by(&self, measure: Measure, settings: &CompareSettings) -> Self {
        Self::of(measure, self.b, self.alpha, settings)
    }

    fn of(measure: Measure, b: u32, alpha: f64, settings: &CompareSettings) -> Self {
        let sequence = Sequence::new(alpha);
        let margin = settings.margin.ln_1p();
        let bounds = Bounds {
            none: [sequence.bound(0.0, true), sequence.bound(0.0, false)],
            margin: [sequence.bound(-margin, true), sequence.bound(margin, false)],
        };
        let fixed = settings.pairs.is_some();
        Self { b, measure, alpha, fixed, margin, pairs: Vec::new(), sequence, bounds }
    }

    /// Adds the pair of a block, if both of it count.
    pub(super) fn add(&mut self, block: &[TimedRun], settings: &CompareSettings) {
        let of = |command: u32| {
            let run = block.iter().find(|run| run.command == command && settings.counts(run))?;
            Some((run, self.measure.of(run)?))
        };
        let (Some((run_a, a)), Some((run_b, b))) = (of(0), of(self.b)) else { return };
        let Some(difference) = log_ratio(a, b) else { return };
        let first = if run_a.place < run_b.place { Side::A } else { Side::B };
        self.pairs.push(CommandPair { block: run_a.block, first, a, b });
        self.add_difference(difference);
    }

    pub(super) fn add_difference(&mut self, difference: f64) {
        let full = self.sequence.add(difference);
        self.bounds.all_mut().for_each(|bound| bound.add(difference, full));
    }

    /// What the pairs allow to say: of a fixed number of pairs, and of a difference that changed,
    /// by their interval.
    pub(super) fn judged(&self, ratio: Option<EstimateInterval>) -> Change {
        match self.fixed || self.moved() {
            true => self.verdict_of(ratio),
            false => self.verdict(),
        }
    }

    /// What the pairs so far allow to say, however often it is asked.
    pub(super) fn verdict(&self) -> Change {
        let out = |bound: &Bound| self.sequence.rules_out(bound);
        if self.bounds.margin.iter().all(out) {
            return Change::Same;
        }
        match self.bounds.none.each_ref().map(out) {
            [true, false] => Change::More,
            [false, true] => Change::Less,
            _ => Change::Undecided,
        }
    }

    /// What an interval allows to say.
    fn verdict_of(&self, ratio: Option<EstimateInterval>) -> Change {
        let Some(ratio) = ratio else { return Change::Undecided };
        let (lo, hi) = (ratio.lo.ln(), ratio.hi.ln());
        if lo >= -self.margin && hi <= self.margin {
            Change::Same
        } else if hi < 0.0 {
            Change::Less
        } else if lo > 0.0 {
            Change::More
        } else {
            Change::Undecided
        }
    }

    /// B by A; none while an end is open. Where the difference changed, the interval holds what the
    /// first pairs have and what all of them have.
    pub(super) fn ratio(&self) -> Option<EstimateInterval> {
        let ratio = self.interval_of_ratio()?;
        if !self.contradicts(&ratio) {
            return Some(ratio);
        }
        let differences: Vec<f64> = self.sequence.values().collect();
        let (lo, hi) = signed_rank(&differences, self.alpha)?;
        Some(EstimateInterval { lo: ratio.lo.min(lo.exp()), hi: ratio.hi.max(hi.exp()), ..ratio })
    }

    /// Whether the difference changed while it was measured, by more than the pairs allow to say:
    /// those at first rule out what all of them have. The interval that is looked at after each
    /// pair is then of no use: it leaves the estimate out, or goes beyond the margin of a verdict
    /// that was reached from both sides, at two times. On a quiet host it is so narrow that a
    /// change of a thousandth is enough.
    pub(super) fn moved(&self) -> bool {
        self.interval_of_ratio().is_some_and(|ratio| self.contradicts(&ratio))
    }

    fn contradicts(&self, ratio: &EstimateInterval) -> bool {
        if self.fixed {
            return false;
        }
        let (lo, hi) = (ratio.lo.ln(), ratio.hi.ln());
        let estimate = ratio.estimate.ln();
        let left_out = estimate < lo - ENDS_WITHIN || estimate > hi + ENDS_WITHIN;
        let beyond = lo < -self.margin - ENDS_WITHIN || hi > self.margin + ENDS_WITHIN;
        left_out || (beyond && self.verdict() == Change::Same)
    }

    fn interval_of_ratio(&self) -> Option<EstimateInterval> {
        let differences: Vec<f64> = self.sequence.values().collect();
        let estimate = hodges_lehmann(&differences)?;
        let (lo, hi) =
            if self.fixed { signed_rank(&differences, self.alpha)? } else { self.sequence.interval() };
        let bounded = lo.is_finite() && hi.is_finite();
        bounded.then(|| EstimateInterval { estimate: estimate.exp(), lo: lo.exp(), hi: hi.exp() })
    }

    /// B less A, of the median of A.
    pub(super) fn difference(&self, ratio: EstimateInterval) -> Option<EstimateInterval> {
        let a = median_of(self.pairs.iter().map(|pair| pair.a))?;
        let of = |ratio: f64| a * (ratio - 1.0);
        Some(EstimateInterval { estimate: of(ratio.estimate), lo: of(ratio.lo), hi: of(ratio.hi) })
    }

    /// A against A: each second run by the one before it.
    pub(super) fn noise_floor(&self) -> Option<EstimateInterval> {
        let (two, _) = self.pairs.as_chunks::<2>();
        interval(&two.iter().filter_map(|[one, next]| log_ratio(one.a, next.a)).collect::<Vec<_>>())
    }

    /// Who was second by who was first, without the difference of the two.
    pub(super) fn second_by_first(&self) -> Option<EstimateInterval> {
        let differences: Vec<f64> = self.sequence.values().collect();
        let centre = hodges_lehmann(&differences)?;
        let ordered = self.pairs.iter().zip(differences).map(|(pair, difference)| match pair.first {
            Side::A => difference - centre,
            Side::B => centre - difference,
        });
        interval(&ordered.collect::<Vec<_>>())
    }

    /// Why these runs cannot give a verdict.
    pub(super) fn no_verdict(&self, runs: &[TimedRun], settings: &CompareSettings) -> Vec<String> {
        let failed =
            |command: u32| runs.iter().filter(|run| run.command == command && settings.failed(run)).count();
        let (a, b) = (failed(0), failed(self.b));
        let mut reasons = Vec::new();
        if are_unequal(a, b) {
            reasons.push(format!(
                "{a} runs of the first command do not count and {b} of the other: those that are left may \
                 be the short ones"
            ));
        }
        reasons
    }
}

impl Measure {
    fn of(self, run: &TimedRun) -> Option<f64> {
        match self {
            Self::Figure(figure) => figure.of(run),
            Self::Percentile(percent) => {
                let mut printed = run.printed.clone();
                printed.sort_unstable_by(f64::total_cmp);
                quantile(&printed, f64::from(percent) / 100.0)
            }
        }
    }
}

impl Bounds {
    fn all_mut(&mut self) -> impl Iterator<Item = &mut Bound> {
        self.none.iter_mut().chain(&mut self.margin)
    }
}

/// Whether one failed more often than the other: by more than one, and more than the deviation of
/// such a difference by chance.
fn are_unequal(a: usize, b: usize) -> bool {
    let difference = a.abs_diff(b);
    difference > 1 && difference * difference > a + b
}

/// The logarithm of `b` by `a`. None where one is negative or no number.
fn log_ratio(a: f64, b: f64) -> Option<f64> {
    match (a, b) {
        _ if !(a >= 0.0 && b >= 0.0 && a.is_finite() && b.is_finite()) => None,
        _ if a == b => Some(0.0),
        _ if a == 0.0 => Some(ALL_OR_NONE),
        _ if b == 0.0 => Some(-ALL_OR_NONE),
        _ => Some((b / a).ln()),
    }
}

fn interval(differences: &[f64]) -> Option<EstimateInterval> {
    let estimate = hodges_lehmann(differences)?;
    let (lo, hi) = signed_rank(differences, ALPHA_BESIDE)?;
    Some(EstimateInterval { estimate: estimate.exp(), lo: lo.exp(), hi: hi.exp() })
}

//! Percentiles of the numbers that each run printed, compared over the pairs as the figure is,
//! which is their median. No verdict and no end of the comparison rests on them: each has an
//! interval of its own.

use super::watch::{Measure, Watch};
use model::Seen;
use model::compare::Change;
use model::compare::commands::{CommandPair, CompareSettings, PercentileChange, PercentileFound};
use model::timing::{Figure, TimedRun};
use stats::median::median_of;

/// Those beside the median.
const PERCENTS: [u32; 2] = [90, 99];

/// Of one command against the first, whose pairs `watch` has. None unless runs of these pairs
/// printed several numbers.
pub(super) fn of(watch: &Watch, runs: &[TimedRun], settings: &CompareSettings) -> Vec<PercentileChange> {
    let Some((fewest, most)) = numbers(watch, runs).filter(|_| settings.on == Figure::Printed) else {
        return Vec::new();
    };
    if most < 2 {
        return Vec::new();
    }
    let change = |percent| {
        let found = match numbers_min(percent) {
            min if fewest < min => {
                Seen::unseen(format!("it takes {min} numbers in each run, and a run printed {fewest}"))
            }
            _ => found(watch.by(Measure::Percentile(percent), settings), runs, settings),
        };
        PercentileChange { percent, found }
    };
    PERCENTS.into_iter().map(change).collect()
}

/// Takes back what was concluded: the pairs can give no verdict.
pub(super) fn withhold(of: &mut PercentileChange) {
    if let Seen::Value(found) = &mut of.found {
        found.change = Change::Undecided;
    }
}

/// The fewest numbers of which one lies beyond the percentile.
fn numbers_min(percent: u32) -> usize {
    (100 / (100 - percent)) as usize
}

/// How many numbers the runs of the pairs printed: the fewest and the most.
fn numbers(watch: &Watch, runs: &[TimedRun]) -> Option<(usize, usize)> {
    let mut pairs = watch.pairs.iter().map(|pair| pair.block).peekable();
    let mut ends: Option<(usize, usize)> = None;
    for run in runs.iter().filter(|run| [0, watch.b].contains(&run.command)) {
        // Both are in the order of their blocks.
        while pairs.next_if(|block| *block < run.block).is_some() {}
        if pairs.peek() == Some(&run.block) {
            let many = run.printed.len();
            ends = Some(ends.map_or((many, many), |(fewest, most)| (fewest.min(many), most.max(many))));
        }
    }
    ends
}

/// What the pairs say of the percentile that `watch` follows.
fn found(mut watch: Watch, runs: &[TimedRun], settings: &CompareSettings) -> Seen<PercentileFound> {
    runs.chunk_by(|one, next| one.block == next.block).for_each(|block| watch.add(block, settings));
    let side = |of: fn(&CommandPair) -> f64| median_of(watch.pairs.iter().map(of));
    let (Some(a), Some(b)) = (side(|pair| pair.a), side(|pair| pair.b)) else {
        return Seen::unseen("no pair has it on both sides");
    };
    let ratio = watch.ratio();
    let difference = ratio.and_then(|ratio| watch.difference(ratio));
    Seen::Value(PercentileFound { a, b, ratio, difference, change: watch.judged(ratio) })
}

//! How many pairs a verdict would take: the differences so far are drawn from again and again, as
//! if it had gone on (B. Efron, 1979), until there is a verdict.

use super::watch::Watch;
use model::Ns;
use model::compare::Change;
use model::compare::commands::{CompareSettings, PairsNeeded};
use model::timing::TimedRun;
use stats::{Random, median_of};

/// Times that it goes on; the middle one is told.
const TRIALS: usize = 21;
/// Beyond, nobody would wait.
const PAIRS_MAX: usize = 20_000;
/// With fewer pairs the spread is not known.
const PAIRS_MIN: usize = 3;

/// None where fewer than half of the trials have an end.
pub(super) fn pairs(watch: &Watch, runs: &[TimedRun], settings: &CompareSettings) -> Option<PairsNeeded> {
    let seen: Vec<f64> = watch.sequence.values().collect();
    if seen.len() < PAIRS_MIN {
        return None;
    }
    let mut random = Random::new(settings.seed);
    let mut needed: Vec<usize> = (0..TRIALS).map(|_| until_decided(watch, &seen, &mut random)).collect();
    needed.sort_unstable();
    let pairs = needed[TRIALS / 2];
    (pairs < PAIRS_MAX).then(|| PairsNeeded {
        pairs: pairs as u32,
        time_ns: (block_ns(runs, settings) * pairs as f64) as Ns,
    })
}

fn until_decided(watch: &Watch, seen: &[f64], random: &mut Random) -> usize {
    let mut watch = watch.clone();
    while watch.sequence.len() < PAIRS_MAX && watch.verdict() == Change::Undecided {
        let drawn = (random.uniform() * seen.len() as f64) as usize;
        watch.add_difference(seen[drawn.min(seen.len() - 1)]);
    }
    watch.sequence.len()
}

/// The time from the begin of a block to that of the next: the middle one, since a pause between
/// two (Ctrl-Z) is in none of the others.
fn block_ns(runs: &[TimedRun], settings: &CompareSettings) -> f64 {
    let blocks = runs.chunk_by(|one, next| one.block == next.block);
    let counted = blocks.filter(|block| !settings.warms_up(&block[0]));
    let begins: Vec<Ns> = counted.map(|block| block[0].began_ns).collect();
    let times = begins.windows(2).map(|two| two[1].saturating_sub(two[0]) as f64);
    median_of(times).unwrap_or(0.0)
}

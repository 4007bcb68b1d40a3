//! A mispredicted branch: the same branches on random and on sorted bits.

use crate::bench::Bench;
use crate::memory::order::Random;
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use model::Ns;
use sys::clock::monotonic_ns;
use sys::loops;

/// Bits of the pattern: longer than any predictor remembers.
const PATTERN: usize = 1 << 20;
/// Branches of the smallest sample. Half of them are mispredicted when they are random.
const PIECE: usize = 1 << 10;

pub(crate) fn rung() -> Rung {
    let about = RungDescription {
        excludes: "the work that was done for nothing, and a target that is not in a cache".into(),
        method: "a branch on each of a million random bits, less the same on as many sorted ones; half of the random ones are \
                 counted as mispredicted"
            .into(),
        source: "A. Fog, The microarchitecture of Intel, AMD and VIA CPUs: branch prediction".into(),
        ..about("branch-miss", RungGroup::Core, "a mispredicted branch")
    };
    Rung { about, parts: 1.0, watch_cycle: true, measure: Box::new(measure) }
}

fn measure(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let mut random = Random::new();
    let bits: Vec<u8> = (0..PATTERN).map(|_| (random.next() >> 63) as u8).collect();
    let ones = bits.iter().filter(|bit| **bit == 1).count();
    let sorted: Vec<u8> = (0..PATTERN).map(|at| u8::from(at >= PATTERN - ones)).collect();
    let (mut at, mut sorted_at) = (0, 0);
    let samples = bench.sample_against(
        |pieces| Ok(walk(&bits, &mut at, pieces)),
        |pieces| Ok(walk(&sorted, &mut sorted_at, pieces)),
    )?;
    // Counted in pieces until here, in mispredictions from here on.
    let misses = (PIECE / 2) as u64;
    let per_miss = |ns: Vec<f64>| ns.into_iter().map(|ns| ns / misses as f64).collect();
    Ok(Samples {
        per_op_ns: per_miss(samples.per_op_ns),
        baseline_ns: per_miss(samples.baseline_ns),
        ops_per_sample: samples.ops_per_sample * misses,
        ..samples
    })
}

/// This number of pieces of the pattern, from where it ended the last time.
fn walk(pattern: &[u8], at: &mut usize, pieces: u64) -> Ns {
    let from = monotonic_ns();
    for _ in 0..pieces {
        loops::branches(&pattern[*at..*at + PIECE]);
        *at = (*at + PIECE) % pattern.len();
    }
    monotonic_ns() - from
}

//! Scores the estimate of a longer run's maximum: the coverage of its interval on known
//! distributions.
//!
//! `cargo run --release -p dwell-stats --example extremes [RUNS]`: prints a table, which
//! docs/results/extremes.md has.

// A program of its own: it prints, and takes an argument.
#![allow(clippy::print_stdout, clippy::disallowed_methods, missing_docs)]

use dwell_stats::Random;
use dwell_stats::extremes::{Refusal, largest};
use std::collections::BTreeMap;

/// Values in a block: wake-ups of a second at 1 kHz.
const VALUES: u32 = 1_000;
/// The length of the run that is estimated, in measured runs.
const TIMES: u32 = 10;
const CONFIDENCE: f64 = 0.95;

/// A value, by the share of values above it.
type Draw = fn(f64) -> f64;

/// A distribution, and rare other events: the number of blocks per event, and its size.
struct Source {
    name: &'static str,
    quantile: Draw,
    other: Option<(f64, Draw)>,
}

impl Source {
    /// The maximum of `blocks` blocks together.
    fn maximum(&self, random: &mut Random, blocks: u32) -> f64 {
        // The largest of n, drawn in one step: the n-th root of a uniform number, as its distance
        // from 1.
        let rest = -(random.uniform().ln() / f64::from(VALUES * blocks)).exp_m1();
        let usual = (self.quantile)(rest);
        let Some((one_in, late)) = self.other else { return usual };
        // The largest of a Poisson number of other events.
        let expected = f64::from(blocks) / one_in;
        let hit = random.uniform();
        if hit < (-expected).exp() { usual } else { usual.max(late(-hit.ln() / expected)) }
    }
}

fn normal(rest: f64) -> f64 {
    // Bisection: the continued fraction of the complementary error function has six digits here.
    let above = |z: f64| {
        let mut fraction = z;
        for step in (1..30).rev() {
            fraction = z + f64::from(step) / fraction;
        }
        (-z * z / 2.0).exp() / (std::f64::consts::TAU.sqrt() * fraction)
    };
    let (mut low, mut high) = (1.0, 9.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if above(middle) > rest { low = middle } else { high = middle }
    }
    low
}

fn main() {
    let runs: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(500);
    let late = |share: f64| 100.0 - 20.0 * share.ln();
    let sources = [
        Source { name: "exponential", quantile: |rest| -5.0 * rest.ln(), other: None },
        Source { name: "gumbel", quantile: |rest| -5.0 * (-(-rest).ln_1p()).ln(), other: None },
        Source { name: "normal", quantile: |rest| 20.0 + 3.0 * normal(rest), other: None },
        Source { name: "lognormal", quantile: |rest| 10.0 * (0.5 * normal(rest)).exp(), other: None },
        Source { name: "uniform", quantile: |rest| 50.0 * (1.0 - rest), other: None },
        Source { name: "power 0.1", quantile: |rest| 10.0 * rest.powf(-0.1), other: None },
        Source { name: "power 0.25", quantile: |rest| 10.0 * rest.powf(-0.25), other: None },
        Source { name: "also one in 5", quantile: |rest| -5.0 * rest.ln(), other: Some((5.0, late)) },
        Source { name: "also one in 20", quantile: |rest| -5.0 * rest.ln(), other: Some((20.0, late)) },
        Source { name: "also one in 60", quantile: |rest| -5.0 * rest.ln(), other: Some((60.0, late)) },
        Source { name: "also one in 500", quantile: |rest| -5.0 * rest.ln(), other: Some((500.0, late)) },
    ];
    println!(
        "{:<16} {:>9} {:>8} {:>7} {:>7} {:>7} {:>7}  refused as",
        "values", "blocks", "estimated", "held", "below", "above", "wrong"
    );
    for blocks in [60, 240, 600] {
        for source in &sources {
            let mut random = Random::new(7);
            let (mut held, mut below, mut above) = (0_u32, 0_u32, 0_u32);
            let mut refused: BTreeMap<String, u32> = BTreeMap::new();
            for _ in 0..runs {
                let maxima: Vec<f64> = (0..blocks).map(|_| source.maximum(&mut random, 1)).collect();
                let truth = source.maximum(&mut random, blocks * TIMES);
                match largest(&maxima, u64::from(blocks * VALUES), f64::from(TIMES), CONFIDENCE) {
                    Ok(found) if truth < found.lo => below += 1,
                    Ok(found) if found.hi.is_some_and(|hi| truth > hi) => above += 1,
                    Ok(_) => held += 1,
                    Err(why) => *refused.entry(name(why)).or_default() += 1,
                }
            }
            let estimated = held + below + above;
            let share = |part: u32, of: u32| {
                if of == 0 {
                    "-".to_owned()
                } else {
                    format!("{:.1} %", 100.0 * f64::from(part) / f64::from(of))
                }
            };
            let why: Vec<String> = refused.iter().map(|(why, times)| format!("{why} {times}")).collect();
            println!(
                "{:<16} {:>9} {:>8} {:>7} {:>7} {:>7} {:>7}  {}",
                source.name,
                blocks,
                share(estimated, runs),
                share(held, estimated),
                share(below, estimated),
                share(above, estimated),
                share(below + above, runs),
                why.join(", ")
            );
        }
    }
}

fn name(why: Refusal) -> String {
    format!("{why:?}").to_lowercase()
}

//! How often ways to compare two commands are wrong, and how many pairs they take: a simulation.
//!
//! `cargo run --release -p dwell-stats --example compare_designs [REPETITIONS]` prints the tables
//! of `docs/results/compare.md`. Times have noise as on a shared machine: white noise, noise that
//! lasts for some runs, a drift, spikes, and a run that comes second takes longer. All of it is
//! made up; what is compared is how the designs stand it.

// A program of its own: it prints, and takes an argument.
#![allow(clippy::print_stdout, clippy::disallowed_methods, missing_docs)]

use dwell_stats::paired::{Bound, Sequence, signed_rank};
use dwell_stats::{Random, median_of};

const ALPHA: f64 = 0.05;
/// Differences up to this count as none.
const MARGIN: f64 = 0.01;
/// Runs of each command, where their number is fixed.
const FIXED: usize = 30;
/// Looks, where it is looked at after each pair.
const LOOKS: usize = 500;

/// The noise of one sitting.
struct Machine {
    random: Random,
    /// What lasts.
    level: f64,
    /// Change for each run.
    drift: f64,
    runs: f64,
    noise: f64,
}

impl Machine {
    fn new(seed: u64, noise: f64) -> Self {
        let mut random = Random::new(seed);
        let drift = noise * 0.02 * normal(&mut random);
        Self { level: noise * normal(&mut random), drift, runs: 0.0, random, noise }
    }

    /// The logarithm of the time of a run.
    fn run(&mut self, difference: f64, second: bool) -> f64 {
        const LASTS: f64 = 0.8;
        self.runs += 1.0;
        let fresh = (1.0 - LASTS * LASTS).sqrt() * normal(&mut self.random);
        self.level = LASTS * self.level + self.noise * 0.7 * fresh;
        let spike = if self.random.uniform() < 0.05 { -0.1 * self.random.uniform().ln() } else { 0.0 };
        let order = if second { 0.005 } else { 0.0 };
        let white = self.noise * 0.7 * normal(&mut self.random);
        difference + self.level + white + self.drift * self.runs + spike + order
    }

    /// The difference of a pair in random order.
    fn pair(&mut self, difference: f64) -> f64 {
        if self.random.uniform() < 0.5 {
            let a = self.run(0.0, false);
            self.run(difference, true) - a
        } else {
            let b = self.run(difference, false);
            b - self.run(0.0, true)
        }
    }
}

fn normal(random: &mut Random) -> f64 {
    (-2.0 * random.uniform().ln()).sqrt() * (std::f64::consts::TAU * random.uniform()).cos()
}

/// What a design says of B.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Faster,
    Slower,
    Same,
    Undecided,
}

/// First all runs of A, then all of B; Welch's test of the times.
fn blocks(machine: &mut Machine, difference: f64) -> Verdict {
    let of = |machine: &mut Machine, difference: f64| -> Vec<f64> {
        (0..FIXED).map(|_| machine.run(difference, false).exp()).collect()
    };
    let (a, b) = (of(machine, 0.0), of(machine, difference));
    let stats = |values: &[f64]| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0) / n)
    };
    let ((mean_a, error_a), (mean_b, error_b)) = (stats(&a), stats(&b));
    // Student's t for 58 to 29 degrees of freedom.
    let t = (mean_b - mean_a) / (error_a + error_b).sqrt();
    if t > 2.02 {
        Verdict::Slower
    } else if t < -2.02 {
        Verdict::Faster
    } else {
        Verdict::Undecided
    }
}

fn of_interval((lo, hi): (f64, f64)) -> Verdict {
    if lo > -MARGIN && hi < MARGIN {
        Verdict::Same
    } else if lo > 0.0 {
        Verdict::Slower
    } else if hi < 0.0 {
        Verdict::Faster
    } else {
        Verdict::Undecided
    }
}

/// A number of pairs that is fixed; the exact signed-rank interval.
fn fixed(machine: &mut Machine, difference: f64) -> Verdict {
    let pairs: Vec<f64> = (0..FIXED).map(|_| machine.pair(difference)).collect();
    signed_rank(&pairs, ALPHA).map_or(Verdict::Undecided, of_interval)
}

/// Ways to look after each pair.
#[derive(Clone, Copy, PartialEq)]
enum Looks {
    /// The signed-rank interval of the pairs so far, as if it were the only look.
    SignedRank,
    /// An e-process on plain signs: the mixture over Beta(1/2, 1/2).
    Signs,
    /// That of `dwell compare`.
    Stakes,
}

/// Looks after each pair until there is a verdict; with the number of pairs. `same`: also stops
/// there.
fn looked(machine: &mut Machine, difference: f64, looks: Looks, same: bool, most: usize) -> (Verdict, usize) {
    let mut sequence = Sequence::new(ALPHA);
    let at = |centre, above| sequence.bound(centre, above);
    let mut bounds = [at(0.0, true), at(0.0, false), at(-MARGIN, true), at(MARGIN, false)];
    let mut signs = [Signs::default(); 3];
    let mut pairs = Vec::new();
    for pair in 1..=most {
        let found = machine.pair(difference);
        let verdict = match looks {
            Looks::SignedRank => {
                pairs.push(found);
                signed_rank(&pairs, ALPHA).map_or(Verdict::Undecided, of_interval)
            }
            Looks::Signs => {
                for (signs, centre) in signs.iter_mut().zip([0.0, -MARGIN, MARGIN]) {
                    signs.add(found - centre);
                }
                match signs.each_ref().map(Signs::out) {
                    [_, Some(true), Some(false)] => Verdict::Same,
                    [Some(true), ..] => Verdict::Slower,
                    [Some(false), ..] => Verdict::Faster,
                    _ => Verdict::Undecided,
                }
            }
            Looks::Stakes => {
                let full = sequence.add(found);
                bounds.iter_mut().for_each(|bound| bound.add(found, full));
                of_bounds(&sequence, &bounds)
            }
        };
        if verdict != Verdict::Undecided && (same || verdict != Verdict::Same) {
            return (verdict, pair);
        }
    }
    (Verdict::Undecided, most)
}

fn of_bounds(sequence: &Sequence, bounds: &[Bound; 4]) -> Verdict {
    match bounds.each_ref().map(|bound| sequence.rules_out(bound)) {
        [_, _, true, true] => Verdict::Same,
        [true, false, ..] => Verdict::Slower,
        [false, true, ..] => Verdict::Faster,
        _ => Verdict::Undecided,
    }
}

/// Signs about a centre.
#[derive(Clone, Copy, Default)]
struct Signs {
    above: f64,
    all: f64,
    /// The logarithm of what chance makes of the mixture, so far.
    mixture: f64,
    out: Option<bool>,
}

impl Signs {
    fn add(&mut self, distance: f64) {
        // The next factor of B(k + 1/2, n - k + 1/2) / B(1/2, 1/2) * 2^n.
        let up = distance > 0.0;
        let k = if up { self.above } else { self.all - self.above };
        self.mixture += ((k + 0.5) / (self.all + 1.0) * 2.0).ln();
        self.all += 1.0;
        self.above += f64::from(u8::from(up));
        if self.out.is_none() && self.mixture >= (1.0 / ALPHA).ln() {
            self.out = Some(self.above * 2.0 > self.all);
        }
    }

    /// Which side the centre is ruled out from: true where the differences lie above.
    fn out(&self) -> Option<bool> {
        self.out
    }
}

fn share(of: usize, all: usize) -> String {
    format!("{:.1} %", of as f64 * 100.0 / all as f64)
}

fn main() {
    let repetitions: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let seeds = || (0..repetitions as u64).map(|seed| seed.wrapping_mul(0x9e37_79b9) + 1);
    let noise = 0.02;

    println!("| design, 30 runs of each command | false alarms | a difference of 2 % found |");
    println!("| --- | --- | --- |");
    type Design = fn(&mut Machine, f64) -> Verdict;
    let designs: [(&str, Design); 2] =
        [("blocks, Welch's test", blocks), ("pairs in random order, signed-rank interval", fixed)];
    // These are quick, and near what is allowed.
    let many = 5 * repetitions;
    let many_seeds = || (0..many as u64).map(|seed| seed.wrapping_mul(0x9e37_79b9) + 1);
    for (name, design) in designs {
        let alarms = many_seeds().filter(|seed| {
            matches!(design(&mut Machine::new(*seed, noise), 0.0), Verdict::Faster | Verdict::Slower)
        });
        let found =
            many_seeds().filter(|seed| design(&mut Machine::new(*seed, noise), 0.02) == Verdict::Slower);
        println!("| {name} | {} | {} |", share(alarms.count(), many), share(found.count(), many));
    }

    println!("\n| looked at after each pair | false alarms in {LOOKS} looks | wrong verdicts |");
    println!("| --- | --- | --- |");
    let ways = [
        ("signed-rank interval", Looks::SignedRank),
        ("e-process on plain signs", Looks::Signs),
        ("e-process, stakes by size", Looks::Stakes),
    ];
    for (name, looks) in ways {
        let wrong = |same: bool| {
            let of = |seed: u64| looked(&mut Machine::new(seed, noise), 0.0, looks, same, LOOKS).0;
            share(
                seeds().filter(|seed| matches!(of(*seed), Verdict::Faster | Verdict::Slower)).count(),
                repetitions,
            )
        };
        println!("| {name} | {} | {} |", wrong(false), wrong(true));
    }

    println!("\n| true difference | looked at | right within 200 pairs | median of pairs | wrong |");
    println!("| --- | --- | --- | --- | --- |");
    for difference in [0.0, 0.005, 0.01, 0.02, 0.05, 0.3] {
        for (name, looks) in &ways[1..] {
            let found: Vec<(Verdict, usize)> = seeds()
                .map(|seed| looked(&mut Machine::new(seed, noise), difference, *looks, true, 200))
                .collect();
            let right = |verdict: Verdict| match difference {
                0.0 => verdict == Verdict::Same,
                small if small <= MARGIN => matches!(verdict, Verdict::Same | Verdict::Slower),
                _ => verdict == Verdict::Slower,
            };
            let hits = found.iter().filter(|(verdict, _)| right(*verdict)).count();
            let wrong = found
                .iter()
                .filter(|(verdict, _)| !right(*verdict) && *verdict != Verdict::Undecided)
                .count();
            let pairs = median_of(found.iter().map(|(_, pairs)| *pairs as f64)).unwrap_or(f64::NAN);
            println!(
                "| {:.1} % | {name} | {} | {pairs:.0} | {} |",
                difference * 100.0,
                share(hits, repetitions),
                share(wrong, repetitions)
            );
        }
    }
}

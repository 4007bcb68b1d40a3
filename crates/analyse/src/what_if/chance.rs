//! How much the wall clock of a replay would differ from run to run by chance.
//!
//! One recording has one length of each step. What is known of chance is how much the waits of a
//! thread for one thing differ from each to the next, and what runs of the same code differ by.

use super::path::Piece;
use super::program::{KindId, Program, Step, ThreadId};
use rustc_hash::FxHashMap;

/// Standard deviation of the CPU time of the same code from run to run, in parts of it: `dwell
/// compare` of programs with themselves, `docs/results/compare.md`.
const OF_CPU_TIME: f64 = 0.01;
/// Fewer waits do not tell what they differ by.
const WAITS_MIN: usize = 8;
/// Standard deviations to each side of an interval of 95 %.
const NORMAL_95: f64 = 1.96;

/// Half of the interval of 95 % of the length of such a path, in nanoseconds.
///
/// Waits are taken to differ by chance as far as each differs from the one before (the mean square
/// successive difference: J. von Neumann et al., Annals of Mathematical Statistics 12, 1941): that
/// they grow or shrink over the run is none. Each is taken to be independent of the others.
pub(super) fn half_interval_ns(program: &Program, path: &[Piece]) -> f64 {
    let mut cpu_ns = 0.0;
    let mut waits: FxHashMap<(ThreadId, KindId), Vec<f64>> = FxHashMap::default();
    for piece in path {
        let ns = piece.ns() as f64;
        match program.thread(piece.thread).steps[piece.step as usize] {
            Step::Run { .. } => cpu_ns += ns,
            Step::Wait { kind, .. } | Step::Await { kind, .. } | Step::Queue { kind, .. } => {
                waits.entry((piece.thread, kind)).or_default().push(ns);
            }
            Step::Release(_) | Step::Fork(_) => {}
        }
    }
    let of_waits: f64 = waits.values().map(|lengths| variance_of_sum(lengths)).sum();
    NORMAL_95 * (of_waits + (cpu_ns * OF_CPU_TIME).powi(2)).sqrt()
}

/// That of the sum of this many lengths, by how each differs from the next.
fn variance_of_sum(lengths: &[f64]) -> f64 {
    if lengths.len() < WAITS_MIN {
        return 0.0;
    }
    let squares: f64 = lengths.windows(2).map(|two| (two[1] - two[0]).powi(2)).sum();
    squares / (2.0 * (lengths.len() - 1) as f64) * lengths.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_differ_by_what_each_differs_from_the_next() {
        let alike = [5.0; 20];
        assert_eq!(variance_of_sum(&alike), 0.0);
        let growing: Vec<f64> = (0..20).map(f64::from).collect();
        let changing: Vec<f64> = (0..20).map(|at| f64::from(at % 2) * 19.0).collect();
        assert!(variance_of_sum(&growing) * 100.0 < variance_of_sum(&changing));
        // Of +-9.5 around the mean: twice 9.5 squared by differences, since each changes sides.
        assert!((variance_of_sum(&changing) - 20.0 * 361.0 / 2.0).abs() < 1e-9);
        assert_eq!(variance_of_sum(&changing[..7]), 0.0, "too few");
    }
}

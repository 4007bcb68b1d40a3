//! Busy loops: threads that compute and never wait.

use crate::team::together;
use crate::{RunLimit, Tally, Work};
use std::hint::black_box;
use std::io;

/// Dependent steps of a loop: a multiplication and an addition, as in a random number generator.
const STEPS: u64 = 100_000;

pub(crate) fn run(threads: u32, limit: RunLimit<'_>) -> io::Result<Tally> {
    let seeds = (0..u64::from(threads)).collect();
    let mut tally = together("cpu", seeds, limit, &|| {}, &|seed, stop| {
        let (mut state, mut loops) = (seed, 0);
        while !stop.is_set() {
            for _ in 0..STEPS {
                state = black_box(state).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            }
            loops += 1;
        }
        Ok(Work::done(loops))
    })?;
    tally.work.limits.push(format!("a loop is {STEPS} dependent multiplications and additions"));
    Ok(tally)
}

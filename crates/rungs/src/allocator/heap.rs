//! `malloc` and `free` of the C library that dwell is linked with: its own, where dwell is the
//! static binary. That of the host cannot be loaded into a static binary, so each figure says whose
//! it is.

use crate::bench::Bench;
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use std::hint::black_box;
use sys::pthread::C_LIBRARY;

const SMALL_BYTES: usize = 64;
const LARGE_BYTES: usize = 1 << 20;

pub(crate) fn small() -> Rung {
    rung("malloc-small", "malloc and free of 64 bytes", SMALL_BYTES)
}

pub(crate) fn large() -> Rung {
    rung("malloc-large", "malloc and free of 1 MiB, untouched", LARGE_BYTES)
}

fn rung(id: &str, what: &str, bytes: usize) -> Rung {
    let about = RungDescription {
        excludes: "a heap in disorder, other threads that allocate, and touching the memory".into(),
        method:
            "a block is repeatedly allocated and freed by one thread, so that it is mostly the same block"
                .into(),
        source: "malloc(3)".into(),
        ..about(id, RungGroup::Allocator, what)
    };
    let measure = move |bench: &Bench<'_>| measure(bench, bytes);
    Rung { about, parts: 0.5, watch_cycle: true, measure: Box::new(measure) }
}

fn measure(bench: &Bench<'_>, bytes: usize) -> Result<Samples, Unmeasured> {
    let mut samples = bench.sample(|count| {
        allocate(bytes, count);
        Ok(())
    })?;
    samples.limits.push(format!(
        "of dwell's own C library, {C_LIBRARY}; another one can be several times as fast or as slow"
    ));
    Ok(samples)
}

/// Allocates and frees `ops` times.
pub(super) fn allocate(bytes: usize, count: u64) {
    for _ in 0..count {
        // Without the box a compiler may leave out both.
        drop(black_box(Vec::<u8>::with_capacity(black_box(bytes))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::grows_with_work;

    #[test]
    fn nothing_is_left_out() {
        grows_with_work(5_000, |count| allocate(SMALL_BYTES, count));
    }
}

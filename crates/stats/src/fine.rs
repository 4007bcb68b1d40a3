//! Fine log-linear bins: 128 an octave, so a value is known to within 1 %, its middle to 0.4 %.
//!
//! The caller keeps the counts: a measuring thread needs an array of its own that never grows.

use crate::log_linear::LogLinear;

/// The number of bins; the last one has all values from about five hours (in ns) on.
pub const BINS: usize = 128 * 39;

type Bins = LogLinear<128, BINS>;

/// The bin of a value.
#[inline]
pub fn index(value: u64) -> usize {
    Bins::index(value)
}

/// The values of a bin: from the first up to, not with, the second.
pub fn bounds(index: usize) -> (u64, u64) {
    Bins::bounds(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bin_begins_after_hours() {
        assert!(bounds(BINS - 1).0 > 4 * 3600 * 1_000_000_000);
    }
}

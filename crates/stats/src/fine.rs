//! Fine log-linear bins: 128 equal ones an octave, so a value is known to within 1 %, its middle to 0.4 %.
//!
//! Where counts are kept is up to who counts: a measuring thread wants an array of its own that never grows.

/// Bins; the last one has everything from about five hours (in ns) on.
pub const BINS: usize = 128 * 39;

/// The bin of a value.
pub fn index(value: u64) -> usize {
    if value < 128 {
        return value as usize;
    }
    let octave = value.ilog2() as usize;
    ((octave - 6) * 128 + ((value >> (octave - 7)) & 127) as usize).min(BINS - 1)
}

/// The values of a bin: from the first up to, not with, the second.
pub fn bounds(index: usize) -> (u64, u64) {
    if index < 128 {
        return (index as u64, index as u64 + 1);
    }
    let width = 1_u64 << (index / 128 - 1);
    let low = (128 + (index % 128) as u64) * width;
    (low, low + width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_lies_within_its_bin(value in 0_u64..(1 << 44)) {
            let (low, high) = bounds(index(value));
            prop_assert!(low <= value && value < high);
            prop_assert!(high - low <= (value / 128).max(1));
        }
    }

    #[test]
    fn bins_meet_and_the_last_takes_the_rest() {
        for at in 0..BINS - 1 {
            assert_eq!(bounds(at).1, bounds(at + 1).0, "{at}");
            assert_eq!((index(bounds(at).0), index(bounds(at).1 - 1)), (at, at));
        }
        assert_eq!(index(u64::MAX), BINS - 1);
        assert!(bounds(BINS - 1).0 > 4 * 3600 * 1_000_000_000);
    }
}

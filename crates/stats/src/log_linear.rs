//! Log-linear bins: each octave of values is cut into the same number of equal bins, so a value is
//! known to within one part in that number. The caller keeps the counts.

/// `PER_OCTAVE` bins per octave, a power of two; `BINS` in all. The last bin has all values beyond
/// the one before.
#[derive(Debug, Clone, Copy)]
pub struct LogLinear<const PER_OCTAVE: usize, const BINS: usize>;

impl<const PER_OCTAVE: usize, const BINS: usize> LogLinear<PER_OCTAVE, BINS> {
    const SHIFT: u32 = {
        assert!(PER_OCTAVE.is_power_of_two() && BINS > PER_OCTAVE);
        PER_OCTAVE.ilog2()
    };

    /// The bin of a value.
    #[inline]
    pub const fn index(value: u64) -> usize {
        if value < PER_OCTAVE as u64 {
            return value as usize;
        }
        let above = value.ilog2() - Self::SHIFT;
        let within = (value >> above) as usize & (PER_OCTAVE - 1);
        let index = (above as usize + 1) * PER_OCTAVE + within;
        if index < BINS { index } else { BINS - 1 }
    }

    /// The values of a bin: from the first up to, not with, the second.
    pub const fn bounds(index: usize) -> (u64, u64) {
        if index < PER_OCTAVE {
            return (index as u64, index as u64 + 1);
        }
        let width = 1_u64 << (index / PER_OCTAVE - 1);
        let low = (PER_OCTAVE + index % PER_OCTAVE) as u64 * width;
        (low, low + width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Coarse = LogLinear<8, 320>;
    type Fine = LogLinear<128, { 128 * 39 }>;

    proptest! {
        #[test]
        fn a_value_lies_within_its_bin(value in 0_u64..(1 << 42)) {
            for (per_octave, (low, high)) in
                [(8, Coarse::bounds(Coarse::index(value))), (128, Fine::bounds(Fine::index(value)))]
            {
                prop_assert!(low <= value && value < high);
                prop_assert!(high - low <= (value / per_octave).max(1));
            }
        }
    }

    #[test]
    fn bins_meet_and_the_last_takes_the_rest() {
        for at in 0..320 - 1 {
            assert_eq!(Coarse::bounds(at).1, Coarse::bounds(at + 1).0, "{at}");
        }
        for at in 0..128 * 39 - 1 {
            let (low, high) = Fine::bounds(at);
            assert_eq!(high, Fine::bounds(at + 1).0, "{at}");
            assert_eq!((Fine::index(low), Fine::index(high - 1)), (at, at));
        }
        assert_eq!((Coarse::index(u64::MAX), Fine::index(u64::MAX)), (319, 128 * 39 - 1));
    }

    #[test]
    fn indices_are_those_of_the_kernel_half() {
        let indices = [7, 8, 15, 16].map(Coarse::index);
        assert_eq!(indices, [7, 8, 15, 16]);
        assert_eq!([7, 8, 16].map(Coarse::bounds), [(7, 8), (8, 9), (16, 18)]);
    }
}

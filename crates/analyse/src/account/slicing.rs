//! Equal slices of the wall clock, for what went on over time.

use model::Ns;

/// The number of a slice where slices are longer by this power of two: the first one where all time
/// there is would be in it.
pub(super) fn coarse(slice: u32, longer: u32) -> u32 {
    slice.checked_shr(longer).unwrap_or(0)
}

/// Slices that double in length when they become too many: there are at least half as many as
/// may be, in a run that is long enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slicing {
    start: Ns,
    shift: u32,
    slices_max: u32,
}

impl Slicing {
    /// For traced events: slices from 16 us on.
    pub(crate) fn fine(start: Ns) -> Self {
        Self { start, shift: 14, slices_max: 256 }
    }

    /// For snapshots, which are milliseconds apart: slices from 1 ms on.
    pub(crate) fn coarse(start: Ns) -> Self {
        Self { start, shift: 20, slices_max: 128 }
    }

    /// There are no more than this many slices from now on, and at least eight.
    pub(crate) fn at_most(&mut self, slices: u32) {
        self.slices_max = self.slices_max.min(slices.max(8));
    }

    /// Doubles the slices until `at` is in one of the few.
    pub(crate) fn fit(&mut self, at: Ns) {
        while (at.saturating_sub(self.start)) >> self.shift >= u64::from(self.slices_max) {
            self.shift += 1;
        }
    }

    /// Length of a slice.
    pub(crate) fn slice_ns(self) -> Ns {
        1 << self.shift
    }

    /// How many slices there are until `end`.
    pub(crate) fn count(self, end: Ns) -> usize {
        end.saturating_sub(self.start).div_ceil(self.slice_ns()) as usize
    }

    /// By what power of two a slice is longer than the shortest.
    pub(super) fn shift(self) -> u32 {
        self.shift
    }

    pub(super) fn slice_of(self, at: Ns) -> u32 {
        u32::try_from(at.saturating_sub(self.start) >> self.shift).unwrap_or(u32::MAX)
    }

    pub(super) fn end_of(self, slice: u32) -> Ns {
        self.start.saturating_add((u64::from(slice) + 1).saturating_mul(self.slice_ns()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_end_behind_their_times_also_at_the_end_of_all_time() {
        for start in [0, 5, u64::MAX - 7] {
            let mut slicing = Slicing::fine(start);
            for at in [start, start.saturating_add(1 << 40).min(u64::MAX - 1), u64::MAX - 1] {
                slicing.fit(at);
                assert!(slicing.slice_of(at) < 256 && slicing.end_of(slicing.slice_of(at)) > at);
            }
            assert!(slicing.count(u64::MAX) <= 257);
        }
    }
}

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
    use crate::random::Random;
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

    /// Latencies of 200 hosts, a tenth of which are four times as slow, and have rare values that
    /// are far out.
    fn hosts() -> Vec<Vec<u64>> {
        let mut random = Random::new(11);
        let mut latency = |slow: bool| {
            let usual = 20_000.0 * (1.0 - random.uniform()).ln().abs() + 5_000.0;
            let far = if random.uniform() < 0.003 { 1.0 / random.uniform().max(1e-3) } else { 1.0 };
            (usual * far * if slow { 4.0 } else { 1.0 }) as u64
        };
        (0..200).map(|host| (0..2000).map(|_| latency(host % 10 == 0)).collect()).collect()
    }

    fn exact(sorted: &[u64], share: f64) -> u64 {
        sorted[((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len()) - 1]
    }

    /// By how much quantiles of the summed bins of all hosts are too large, at most: a share of
    /// those of all their values.
    fn worst<const PER_OCTAVE: usize, const BINS: usize>(hosts: &[Vec<u64>]) -> f64 {
        let mut all: Vec<u64> = hosts.concat();
        all.sort_unstable();
        let mut counts = vec![0_u64; BINS];
        hosts.iter().flatten().for_each(|value| counts[LogLinear::<PER_OCTAVE, BINS>::index(*value)] += 1);
        let error = |share: f64| {
            let mut left = (all.len() as f64 * share).ceil() as u64;
            let bin = counts.iter().position(|count| {
                let there = *count >= left;
                left -= (*count).min(left);
                there
            });
            let (_, end) = LogLinear::<PER_OCTAVE, BINS>::bounds(bin.unwrap());
            let exact = exact(&all, share) as f64;
            assert!(end as f64 > exact, "the end of its bin is beyond a value: {share}");
            (end as f64 - exact) / exact
        };
        let shares = (1..1000).map(|at| f64::from(at) / 1000.0).chain([0.9995, 0.9999, 0.99999]);
        shares.map(error).fold(0.0, f64::max)
    }

    #[test]
    fn summed_bins_of_many_hosts_give_the_quantiles_of_all_their_values_and_octaves_do_not() {
        let hosts = hosts();
        let errors = (worst::<128, { 128 * 39 }>(&hosts), worst::<8, 320>(&hosts), worst::<1, 64>(&hosts));
        assert!(errors.0 <= 0.008 && errors.1 <= 0.125, "{errors:?}");
        assert!(errors.2 > 0.9, "an octave is too coarse: {errors:?}");
        // Nor does the mean of the hosts' percentiles.
        let p99 = |mut values: Vec<u64>| {
            values.sort_unstable();
            exact(&values, 0.99) as f64
        };
        let mean = hosts.iter().map(|host| p99(host.clone())).sum::<f64>() / hosts.len() as f64;
        let pooled = p99(hosts.concat());
        assert!((mean / pooled - 1.0).abs() > 0.02, "{mean} {pooled}");
    }
}

//! When following something takes more than the bound of overhead: a look each tenth of a second.

use model::Ns;

/// The time between two looks.
const LOOK_NS: Ns = 100_000_000;

/// How much it may take.
#[derive(Debug, Default)]
pub(super) struct Limit {
    /// A share of the tree's CPU time; none without a bound.
    bound: Option<f64>,
    /// The share of a CPU that it always may take.
    always: f64,
    /// How many looks in a row find too much.
    looks: u32,
    /// When it was looked last, the tree's CPU time then, and what it had taken.
    last: Option<(Ns, Ns, f64)>,
    too_many: u32,
}

impl Limit {
    pub(super) fn new(bound: Option<f64>, always: f64, looks: u32) -> Self {
        Self { bound, always, looks, ..Self::default() }
    }

    pub(super) fn is_due(&self, now: Ns) -> bool {
        self.last.is_none_or(|(at, ..)| now >= at + LOOK_NS)
    }

    /// Whether it takes too much, given the tree's CPU time and what it has taken so far.
    pub(super) fn is_exceeded(&mut self, now: Ns, busy_ns: Ns, taken_ns: f64) -> bool {
        let before = self.last.replace((now, busy_ns, taken_ns));
        let (Some(bound), Some((at, busy_before, taken_before))) = (self.bound, before) else { return false };
        let allowed = bound * busy_ns.saturating_sub(busy_before) as f64;
        let always = self.always * now.saturating_sub(at) as f64;
        let is = taken_ns - taken_before > allowed.max(always);
        self.too_many = if is { self.too_many + 1 } else { 0 };
        self.too_many >= self.looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it is too much after looks a tenth of a second apart, each after so much.
    fn is_too_much(bound: Option<f64>, looks: u32, busy_ns: Ns, taken: &[f64]) -> bool {
        let mut limit = Limit::new(bound, 0.04, looks);
        let (mut sum, mut is) = (0.0, false);
        for (look, taken) in (0..).zip([0.0].iter().chain(taken)) {
            sum += taken;
            is = limit.is_exceeded(look * LOOK_NS, look * busy_ns, sum);
        }
        is
    }

    #[test]
    fn it_is_too_much_where_it_takes_too_much_for_so_many_looks() {
        let bound = Some(0.02);
        // 4 ms are 4 % of 0.1 s.
        assert!(!is_too_much(bound, 3, 0, &[4e6; 9]));
        assert!(is_too_much(bound, 3, 0, &[4.002e6; 3]));
        assert!(!is_too_much(bound, 3, 0, &[18e6, 18e6, 0.0, 18e6, 18e6]));
        assert!(is_too_much(bound, 1, 0, &[0.0, 4.002e6]));
        // 2 % of eight CPUs.
        assert!(!is_too_much(bound, 3, 8 * LOOK_NS, &[16e6; 9]));
        assert!(!is_too_much(None, 3, 0, &[1e15; 9]));
    }
}

//! What is known of calls while they are not traced: by the samples that fall into them, each of
//! which has its call, and by their waits, whose switches are always traced.

use crate::account::split::{Counts, KINDS, add, sum};
use model::recording::SampleMode;
use model::{Call, Ns};
use rustc_hash::FxHashMap;

/// Samples in calls, by call, with the weights that they have in [`Counts`].
#[derive(Debug, Clone, Default)]
pub(crate) struct InCalls(Vec<(Call, u64)>);

impl InCalls {
    pub(crate) fn add(&mut self, call: Call, weight: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == call) {
            Some((_, sum)) => *sum += weight,
            None => self.0.push((call, weight)),
        }
    }

    pub(crate) fn add_all(&mut self, more: &InCalls) {
        more.0.iter().for_each(|(call, weight)| self.add(*call, *weight));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Time in calls, divided as the samples are. Sums to `ns`; nothing where there are none.
    pub(crate) fn divide(&self, ns: Ns) -> impl Iterator<Item = (Call, Ns)> {
        let all: u64 = self.0.iter().map(|(_, weight)| weight).sum();
        let (mut left, mut weights) = (ns, all);
        self.0.iter().map(move |(call, weight)| {
            // Of what is left, so that nothing is.
            let part = (u128::from(left) * u128::from(*weight)).checked_div(u128::from(weights));
            let part = part.unwrap_or(0) as Ns;
            (left, weights) = (left - part, weights - weight);
            (*call, part)
        })
    }
}

/// The call that a sample is in, where that is known.
pub(crate) fn call_of(mode: SampleMode) -> Option<Call> {
    match mode {
        SampleMode::Call(call) | SampleMode::InterruptInCall(call) => Some(call),
        _ => None,
    }
}

/// The same of the whole tree, with waits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Untraced {
    /// All samples, also those outside calls.
    pub(crate) all: Counts,
    calls: InCalls,
    waits: FxHashMap<Call, Ns>,
}

impl Untraced {
    pub(crate) fn sampled(&mut self, mode: SampleMode, sample: [u32; KINDS]) {
        add(&mut self.all, sample);
        if let Some(call) = call_of(mode) {
            self.calls.add(call, sum(sample.map(u64::from)));
        }
    }

    pub(crate) fn waited(&mut self, call: Call, ns: Ns) {
        *self.waits.entry(call).or_default() += ns;
    }

    /// The weight of the samples in a call.
    pub(crate) fn weight(&self, call: Call) -> u64 {
        self.calls.0.iter().find(|(known, _)| *known == call).map_or(0, |(_, weight)| *weight)
    }

    /// How long threads waited in a call that was not traced to its end.
    pub(crate) fn waited_ns(&self, call: Call) -> Ns {
        self.waits.get(&call).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_calls_is_divided_as_samples_are_and_nothing_is_left() {
        let mut calls = InCalls::default();
        assert_eq!(calls.divide(7).count(), 0);
        for (call, weight) in [(1, 6), (2, 1), (1, 6), (3, 6)] {
            calls.add(Call(call), weight);
        }
        for ns in [0, 1, 18, 19, 1_000_003] {
            assert_eq!(calls.divide(ns).map(|(_, ns)| ns).sum::<Ns>(), ns);
        }
        assert_eq!(calls.divide(19).collect::<Vec<_>>(), [(Call(1), 12), (Call(2), 1), (Call(3), 6)]);
    }
}

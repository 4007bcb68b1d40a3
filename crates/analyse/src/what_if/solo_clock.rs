//! For how long no thread was under way, and for how long only one was, as it was recorded.
//!
//! `account::solo_clock` knows this as events arrive; here all of them are there.

use super::program::Program;
use super::times::Times;
use model::Ns;

/// Sums of time with no thread under way, and with one, up to each change.
#[derive(Debug, Default)]
pub(super) struct SoloClock {
    changes: Vec<Change>,
}

#[derive(Debug, Clone, Copy)]
struct Change {
    at: Ns,
    /// Time by then with none, and with one.
    sums: [Ns; 2],
    /// How many are from here on.
    threads: u32,
}

impl SoloClock {
    /// `recorded`: when steps were done as they were recorded.
    pub(super) fn new(program: &Program, recorded: &Times) -> Self {
        let mut ends = Vec::<(Ns, bool)>::new();
        for (thread, done) in program.threads.iter().zip(&recorded.done) {
            let mut at = thread.creator.map_or(0, |place| recorded.at(place));
            let mut since = None;
            for (step, done) in thread.steps.iter().zip(done) {
                let under_way = step.time().map(|(kind, _)| program.kind(kind).under_way);
                match (under_way, since) {
                    (Some(true), None) => since = Some(at),
                    (Some(false), Some(from)) => {
                        ends.extend([(from, true), (at, false)]);
                        since = None;
                    }
                    _ => {}
                }
                at = *done;
            }
            ends.extend(since.into_iter().flat_map(|from| [(from, true), (at, false)]));
        }
        // What begins at a time before what ends then: nobody is alone for no time.
        ends.sort_unstable_by_key(|(at, begins)| (*at, !begins));
        let mut changes = Vec::<Change>::new();
        let (mut at, mut sums, mut threads) = (0, [0, 0], 0_u32);
        for (to, begins) in ends {
            if let Some(sum) = sums.get_mut(threads as usize) {
                *sum += to - at;
            }
            at = to;
            threads = if begins { threads + 1 } else { threads - 1 };
            match changes.last_mut() {
                Some(last) if last.at == at => (last.sums, last.threads) = (sums, threads),
                _ => changes.push(Change { at, sums, threads }),
            }
        }
        Self { changes }
    }

    /// For how long in this time no other thread was under way than one that is, or is not.
    pub(super) fn within(&self, from: Ns, to: Ns, under_way: bool) -> Ns {
        let few = usize::from(under_way);
        self.sum(to, few) - self.sum(from, few)
    }

    fn sum(&self, at: Ns, few: usize) -> Ns {
        let Some(before) = self.changes.partition_point(|change| change.at <= at).checked_sub(1) else {
            return if few == 0 { at } else { 0 };
        };
        let Change { at: since, sums, threads } = self.changes[before];
        sums[few] + if threads as usize == few { at - since } else { 0 }
    }
}

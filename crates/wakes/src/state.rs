//! The record of a measuring thread, read by another thread while it measures: allocated before the
//! start, one writer, no lock.
//!
//! Each field has one writer, so a plain load and store of an atomic is enough to add, without a
//! locked instruction in the loop. A reader may see the count of this wake-up and the sum of the
//! one before; at the end all is consistent.

use crate::request::only;
use model::Ns;
use model::wake::{Bin, LatencyBlock};
use rustix::thread::{sched_getcpu, sched_setaffinity};
use stats::fine;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// Late wake-ups that the ring holds: at a poll each 15 ms, every wake-up at an interval of 60 us.
const RING: usize = 256;
/// No CPU has this number.
const UNBOUND: u32 = u32::MAX;
/// Blocks of a timeline at most.
const BLOCKS: u64 = 4096;
const BLOCK_NS: Ns = 1_000_000_000;

/// A late wake-up; both times are of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LateTimes {
    pub(crate) expected_ns: Ns,
    pub(crate) awake_ns: Ns,
}

/// The record of one thread so far.
#[derive(Debug)]
pub(crate) struct State {
    /// The thread ID; 0 before it runs.
    pub(crate) tid: AtomicU32,
    cycles: AtomicU64,
    missed: AtomicU64,
    /// The CPU that the thread is bound to; [`UNBOUND`] where it is not.
    cpu: AtomicU32,
    /// Wake-ups on another one.
    elsewhere: AtomicU64,
    min_ns: AtomicU64,
    sum_ns: AtomicU64,
    max_ns: AtomicU64,
    max_at_ns: AtomicU64,
    bins: Box<[AtomicU64]>,
    blocks: Box<[AtomicBlock]>,
    /// Length of a block.
    pub(crate) block_ns: Ns,
    /// Latencies from this on go to the ring; the reader sets it.
    threshold_ns: AtomicU64,
    ring: Box<[AtomicLate]>,
    /// The number of entries put into the ring and taken out of it.
    put: AtomicU64,
    taken: AtomicU64,
    /// Entries lost because the ring was full, and the largest latency of them.
    lost: AtomicU64,
    lost_max_ns: AtomicU64,
    /// The thread should end.
    pub(crate) stop: AtomicBool,
    /// The CPU time of a wake-up if the thread cannot keep its interval; 0: it can.
    overrun_ns: AtomicU64,
}

#[derive(Debug, Default)]
struct AtomicBlock {
    cycles: AtomicU64,
    max_ns: AtomicU64,
}

#[derive(Debug, Default)]
struct AtomicLate {
    expected_ns: AtomicU64,
    awake_ns: AtomicU64,
}

/// The block length for a measurement: a second, or more if there would be too many blocks.
fn block_ns(for_ns: Ns) -> Ns {
    BLOCK_NS * for_ns.div_ceil(BLOCK_NS * BLOCKS).max(1)
}

/// Adds without a locked instruction: there is one writer.
fn add(to: &AtomicU64, what: u64) {
    to.store(to.load(Relaxed).wrapping_add(what), Relaxed);
}

impl State {
    /// A record for a measurement of this length, with every page of it touched.
    pub(crate) fn new(for_ns: Ns, threshold_ns: Ns) -> Self {
        let block_ns = block_ns(for_ns);
        // One more than needed: a late wake-up may fall beyond the end.
        let blocks = for_ns / block_ns + 2;
        let state = Self {
            tid: AtomicU32::new(0),
            cycles: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            cpu: AtomicU32::new(UNBOUND),
            elsewhere: AtomicU64::new(0),
            min_ns: AtomicU64::new(Ns::MAX),
            sum_ns: AtomicU64::new(0),
            max_ns: AtomicU64::new(0),
            max_at_ns: AtomicU64::new(0),
            bins: (0..fine::BINS).map(|_| AtomicU64::new(1)).collect(),
            blocks: (0..blocks).map(|_| AtomicBlock::default()).collect(),
            block_ns,
            threshold_ns: AtomicU64::new(threshold_ns),
            ring: (0..RING).map(|_| AtomicLate::default()).collect(),
            put: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            lost_max_ns: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            overrun_ns: AtomicU64::new(0),
        };
        // Zeroed memory may be the shared zero page until it is written.
        state.bins.iter().for_each(|bin| bin.store(0, Relaxed));
        state.blocks.iter().for_each(|block| block.max_ns.store(0, Relaxed));
        state.ring.iter().for_each(|late| late.awake_ns.store(0, Relaxed));
        state
    }

    /// Locks the record in memory.
    pub(crate) fn lock(&self) -> std::io::Result<()> {
        sys::locked::lock(&self.bins)?;
        sys::locked::lock(&self.blocks)?;
        sys::locked::lock(&self.ring)?;
        sys::locked::lock(std::slice::from_ref(self))
    }

    /// Records a wake-up in the `block`th block; called by the measuring thread.
    #[inline]
    pub(crate) fn record(&self, expected_ns: Ns, awake_ns: Ns, block: usize, begun_ns: Ns) {
        let late_ns = awake_ns.saturating_sub(expected_ns);
        add(&self.cycles, 1);
        add(&self.sum_ns, late_ns);
        add(&self.bins[fine::index(late_ns)], 1);
        if late_ns < self.min_ns.load(Relaxed) {
            self.min_ns.store(late_ns, Relaxed);
        }
        if late_ns > self.max_ns.load(Relaxed) {
            self.max_ns.store(late_ns, Relaxed);
            self.max_at_ns.store(expected_ns.saturating_sub(begun_ns), Relaxed);
        }
        let block = &self.blocks[block.min(self.blocks.len() - 1)];
        add(&block.cycles, 1);
        if late_ns > block.max_ns.load(Relaxed) {
            block.max_ns.store(late_ns, Relaxed);
        }
        if late_ns >= self.threshold_ns.load(Relaxed) {
            self.put(LateTimes { expected_ns, awake_ns });
        }
    }

    /// The calling thread is bound to this CPU.
    pub(crate) fn bound_to(&self, cpu: u32) {
        self.cpu.store(cpu, Relaxed);
    }

    /// Whether the calling thread, which measures, woke up on another CPU than it is bound to: its
    /// own went offline, or was taken away. Counts that, and tries to go back.
    #[inline]
    pub(crate) fn is_elsewhere(&self) -> bool {
        let cpu = self.cpu.load(Relaxed);
        if cpu == UNBOUND || sched_getcpu() == cpu as usize {
            return false;
        }
        add(&self.elsewhere, 1);
        // Refused for as long as the CPU is away.
        let _ = sched_setaffinity(None, &only(cpu as usize));
        true
    }

    /// Wake-ups on other CPUs.
    pub(crate) fn elsewhere(&self) -> u64 {
        self.elsewhere.load(Relaxed)
    }

    /// Records missed periods.
    #[inline]
    pub(crate) fn miss(&self, periods: u64) {
        add(&self.missed, periods);
    }

    /// Ends the measurement: a wake-up takes too long for the interval.
    #[cold]
    pub(crate) fn give_up(&self, cost_ns: Ns) {
        self.overrun_ns.store(cost_ns.max(1), Relaxed);
        self.stop.store(true, Relaxed);
    }

    /// The CPU time of a wake-up, if it was too long for the interval.
    pub(crate) fn overrun_ns(&self) -> Option<Ns> {
        Some(self.overrun_ns.load(Relaxed)).filter(|ns| *ns > 0)
    }

    #[cold]
    fn put(&self, late: LateTimes) {
        let put = self.put.load(Relaxed);
        if put - self.taken.load(Acquire) >= RING as u64 {
            add(&self.lost, 1);
            let late_ns = late.awake_ns.saturating_sub(late.expected_ns);
            self.lost_max_ns.store(late_ns.max(self.lost_max_ns.load(Relaxed)), Relaxed);
            return;
        }
        let slot = &self.ring[(put % RING as u64) as usize];
        slot.expected_ns.store(late.expected_ns, Relaxed);
        slot.awake_ns.store(late.awake_ns, Relaxed);
        self.put.store(put + 1, Release);
    }

    /// The next unread late wake-up; called by the one reader.
    pub(crate) fn take(&self) -> Option<LateTimes> {
        let taken = self.taken.load(Relaxed);
        if taken == self.put.load(Acquire) {
            return None;
        }
        let slot = &self.ring[(taken % RING as u64) as usize];
        let late =
            LateTimes { expected_ns: slot.expected_ns.load(Relaxed), awake_ns: slot.awake_ns.load(Relaxed) };
        self.taken.store(taken + 1, Release);
        Some(late)
    }

    pub(crate) fn set_threshold_ns(&self, threshold_ns: Ns) {
        self.threshold_ns.store(threshold_ns, Relaxed);
    }

    pub(crate) fn cycles(&self) -> u64 {
        self.cycles.load(Relaxed)
    }

    pub(crate) fn missed(&self) -> u64 {
        self.missed.load(Relaxed)
    }

    /// The number of late wake-ups lost, and the largest latency of them.
    pub(crate) fn lost(&self) -> (u64, Ns) {
        (self.lost.load(Relaxed), self.lost_max_ns.load(Relaxed))
    }

    /// 0 without wake-ups, as the two below.
    pub(crate) fn min_ns(&self) -> Ns {
        if self.cycles() == 0 { 0 } else { self.min_ns.load(Relaxed) }
    }

    pub(crate) fn sum_ns(&self) -> Ns {
        self.sum_ns.load(Relaxed)
    }

    /// The maximum latency, and when that wake-up was due, from the start.
    pub(crate) fn max_ns(&self) -> (Ns, Ns) {
        (self.max_ns.load(Relaxed), self.max_at_ns.load(Relaxed))
    }

    /// The median, to within a bin.
    pub(crate) fn median_ns(&self) -> Ns {
        Self::quantile_ns(&[self], 0.5)
    }

    /// Of several threads together what this part of all latencies is below, to within a bin; 0
    /// without wake-ups.
    pub(crate) fn quantile_ns(all: &[&State], part: f64) -> Ns {
        let cycles: u64 = all.iter().map(|state| state.cycles()).sum();
        let rank = (cycles as f64 * part) as u64;
        let mut below = 0;
        for at in 0..fine::BINS {
            below += all.iter().map(|state| state.bins[at].load(Relaxed)).sum::<u64>();
            if below > rank {
                return fine::bounds(at).0;
            }
        }
        0
    }

    pub(crate) fn histogram(&self) -> Vec<Bin> {
        let bins = self.bins.iter().enumerate().map(|(at, bin)| {
            let (from_ns, to_ns) = fine::bounds(at);
            Bin { from_ns, to_ns, count: bin.load(Relaxed) }
        });
        bins.filter(|bin| bin.count > 0).collect()
    }

    /// Up to the last one with a wake-up in it.
    pub(crate) fn blocks(&self) -> Vec<LatencyBlock> {
        let block = |(at, block): (usize, &AtomicBlock)| LatencyBlock {
            at_ns: at as Ns * self.block_ns,
            cycles: block.cycles.load(Relaxed),
            max_ns: block.max_ns.load(Relaxed),
        };
        let mut blocks: Vec<LatencyBlock> = self.blocks.iter().enumerate().map(block).collect();
        while blocks.last().is_some_and(|block| block.cycles == 0) {
            blocks.pop();
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_is_read() {
        let state = State::new(3_000_000_000, 100);
        assert_eq!((state.min_ns(), state.max_ns(), state.blocks().len()), (0, (0, 0), 0));
        for (expected, late, block) in [(1_000, 50, 0), (2_000, 30, 0), (2_000_003_000, 700, 2)] {
            state.record(expected, expected + late, block, 1_000);
        }
        assert_eq!((state.cycles(), state.sum_ns(), state.min_ns()), (3, 780, 30));
        assert_eq!(state.max_ns(), (700, 2_000_002_000));
        assert_eq!(state.median_ns(), 50);
        let other = State::new(1, 1_000);
        (0..97).for_each(|_| other.record(1_000, 1_010, 0, 1_000));
        let of_both = |part| State::quantile_ns(&[&state, &other], part);
        assert_eq!((of_both(0.5), of_both(0.98)), (10, 50));
        assert_eq!(State::quantile_ns(&[], 0.5), 0);
        let maxima: Vec<_> = state.blocks().iter().map(|block| (block.cycles, block.max_ns)).collect();
        assert_eq!(maxima, [(2, 50), (0, 0), (1, 700)]);
        assert_eq!(state.histogram().iter().map(|bin| bin.count).sum::<u64>(), 3);
        assert_eq!(state.take(), Some(LateTimes { expected_ns: 2_000_003_000, awake_ns: 2_000_003_700 }));
        assert_eq!(state.take(), None);
    }

    #[test]
    fn what_ran_on_another_cpu_is_told() {
        let state = State::new(1, 0);
        assert!(!state.is_elsewhere(), "it is bound to none");
        let before = rustix::thread::sched_getaffinity(None).unwrap();
        let here = sched_getcpu();
        sched_setaffinity(None, &only(here)).unwrap();
        state.bound_to(here as u32);
        assert!(!state.is_elsewhere());
        // None of this number can be gone back to.
        state.bound_to(here as u32 + 1000);
        assert!(state.is_elsewhere());
        assert_eq!((state.elsewhere(), state.cycles()), (1, 0));
        sched_setaffinity(None, &before).unwrap();
    }

    #[test]
    fn a_full_ring_loses_and_counts() {
        let state = State::new(1, 0);
        for wake in 0..RING as u64 + 5 {
            state.record(wake, wake + 1, 0, 0);
        }
        assert_eq!(state.lost(), (5, 1));
        assert_eq!(std::iter::from_fn(|| state.take()).count(), RING);
        state.record(1, 3, 0, 0);
        assert_eq!(state.take(), Some(LateTimes { expected_ns: 1, awake_ns: 3 }));
    }

    #[test]
    fn a_writer_and_a_reader_agree_on_every_late_wake_up() {
        let state = State::new(1, 0);
        let (mut seen, mut last) = (0, 0);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (1..100_000).for_each(|wake| state.record(wake, wake * 2, 0, 0)));
            loop {
                let done = writer.is_finished();
                while let Some(late) = state.take() {
                    assert!(late.expected_ns > last && late.awake_ns == late.expected_ns * 2, "{late:?}");
                    (seen, last) = (seen + 1, late.expected_ns);
                }
                if done {
                    break;
                }
            }
        });
        assert_eq!(seen + state.lost().0, state.cycles());
    }

    #[test]
    fn long_measurements_have_longer_blocks_and_not_more() {
        assert_eq!([block_ns(1), block_ns(4096 * BLOCK_NS)], [BLOCK_NS, BLOCK_NS]);
        assert_eq!(block_ns(4096 * BLOCK_NS + 1), 2 * BLOCK_NS);
        let day = State::new(86_400 * BLOCK_NS, 0);
        assert!(day.blocks.len() <= BLOCKS as usize + 2, "{}", day.blocks.len());
    }
}

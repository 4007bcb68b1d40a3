//! The reader's end of the rings of `wake.bpf.c` (`wire.rs`): copies a part of a ring while it is
//! being written.
//!
//! Reading removes nothing and blocks no writer. A record has its sequence number first and last,
//! so one that was overwritten while being copied is detected and left out. `decode.rs` decodes the
//! records.

use super::wire::{self, CpuState, EventKind, RingRecord, STACKS};
use model::{Ns, Tid};
use std::mem::offset_of;
use std::ops::Deref;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;
use zerocopy::transmute;

const WORD: usize = size_of::<u64>();
/// Words of the types shared with the kernel half.
const RECORD_WORDS: usize = size_of::<RingRecord>() / WORD;
const CPU_WORDS: usize = size_of::<CpuState>() / WORD;
const STACK_WORDS: usize = size_of::<wire::Stack>() / WORD;
/// Words of [`CpuState`].
const WRITTEN: usize = offset_of!(CpuState, written) / WORD;
const STACKS_WRITTEN: usize = offset_of!(CpuState, stacks) / WORD;
const LATE_NS: usize = offset_of!(CpuState, late_ns) / WORD;
const RING_AND_TID: usize = offset_of!(CpuState, ring) / WORD;
const PID: usize = offset_of!(CpuState, pid) / WORD;
// Two fields are stored as one word.
const _: () =
    assert!(offset_of!(CpuState, tid) == offset_of!(CpuState, ring) + 4 && cfg!(target_endian = "little"));

/// The number of records of each of this many rings, a power of two: 2 MiB for each of up to 32, 64
/// MiB in all for more, but never less than 256 KiB each. A ping-pong of two threads, the fastest
/// case, writes 150 records per millisecond.
pub(super) fn records_per_ring(rings: usize) -> u32 {
    let fair = 64 * 1024 * 1024 / (RECORD_WORDS * 8) / rings.max(1);
    1 << u32::try_from(fair).unwrap_or(u32::MAX).clamp(4 * 1024, 32 * 1024).ilog2()
}

/// Words of the kernel's arrays `cpus`, `records` and `stacks`; entries of the last.
pub(super) fn words(cpus: u32, rings: usize, per_ring: u32) -> (usize, usize, usize) {
    (cpus as usize * CPU_WORDS, rings * per_ring as usize * RECORD_WORDS, rings * STACKS * STACK_WORDS)
}

/// Entries of the array `stacks`.
pub(super) fn stacks(rings: usize) -> u32 {
    (rings * STACKS) as u32
}

/// The reader's end of all rings.
pub(super) struct Rings<W> {
    pub(super) cpus: W,
    pub(super) records: W,
    pub(super) stacks: W,
    pub(super) per_ring: u32,
}

/// A part of a ring.
#[derive(Debug, Default)]
pub(super) struct RingPart {
    /// By time.
    pub(super) records: Vec<RingRecord>,
    /// Older requested records had been overwritten.
    pub(super) cut: bool,
    /// Records that were overwritten while being copied.
    pub(super) torn: u64,
}

/// A recorded stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stack {
    pub(super) at: Ns,
    /// Innermost first.
    pub(super) frames: Vec<u64>,
}

impl<W: Deref<Target = [AtomicU64]>> Rings<W> {
    /// Assigns this ring to this CPU.
    pub(super) fn write_to(&self, ring: usize, cpu: u32) {
        self.cpu(cpu, RING_AND_TID).store(ring as u64 + 1, Relaxed);
    }

    /// Sets the CPU's measuring thread. `numbered`: its TID in the initial PID namespace; else the
    /// kernel half finds it.
    pub(super) fn watch(&self, ring: usize, cpu: u32, tid: Tid, numbered: bool) {
        self.cpu(cpu, PID).store(if numbered { u64::from(tid) } else { 0 }, Relaxed);
        self.cpu(cpu, RING_AND_TID).store((ring as u64 + 1) | (u64::from(tid) << 32), Relaxed);
    }

    /// The TID of the measuring thread in the initial PID namespace; 0 where it is not known yet.
    pub(super) fn pid(&self, cpu: u32) -> Tid {
        self.cpu(cpu, PID).load(Relaxed) as Tid
    }

    /// Sets the latency from which the CPU takes stacks.
    pub(super) fn late_from(&self, cpu: u32, late_ns: Ns) {
        self.cpu(cpu, LATE_NS).store(late_ns, Relaxed);
    }

    fn cpu(&self, cpu: u32, word: usize) -> &AtomicU64 {
        &self.cpus[cpu as usize * CPU_WORDS + word]
    }

    /// The records from `from` up to and including `until`, preceded by those since the last switch
    /// before `from`.
    pub(super) fn part(&self, ring: usize, cpu: u32, from: Ns, until: Ns) -> RingPart {
        let per_ring = u64::from(self.per_ring);
        let written = self.cpu(cpu, WRITTEN).load(Acquire);
        let oldest = written.saturating_sub(per_ring);
        let mut part = RingPart { cut: oldest > 0, ..RingPart::default() };
        for place in (oldest..written).rev() {
            let index = ring * self.per_ring as usize + (place % per_ring) as usize;
            let words = &self.records[index * RECORD_WORDS..(index + 1) * RECORD_WORDS];
            let Some(copy) = whole::<RECORD_WORDS>(words, place + 1) else {
                // At the newer end it is one that is being written, and later than needed.
                part.torn += u64::from(!part.records.is_empty());
                continue;
            };
            let record: RingRecord = transmute!(copy);
            if record.at <= until {
                part.records.push(record);
            }
            if record.at < from && record.kind == EventKind::Switch as u8 {
                part.cut = false;
                break;
            }
        }
        part.records.reverse();
        // An interrupt's record may precede that of what it interrupted.
        part.records.sort_by_key(|record| record.at);
        part
    }

    /// The stacks from `from` up to and including `until`.
    pub(super) fn stacks(&self, ring: usize, cpu: u32, from: Ns, until: Ns) -> Vec<Stack> {
        let written = self.cpu(cpu, STACKS_WRITTEN).load(Acquire);
        let mut stacks = Vec::new();
        for place in written.saturating_sub(STACKS as u64)..written {
            let index = ring * STACKS + (place % STACKS as u64) as usize;
            let words = &self.stacks[index * STACK_WORDS..(index + 1) * STACK_WORDS];
            let Some(copy) = whole::<STACK_WORDS>(words, place + 1) else { continue };
            let wire::Stack { at, len, frames, .. } = transmute!(copy);
            if (from..=until).contains(&at) {
                let frames = frames.into_iter().take(len as usize / WORD).collect();
                stacks.push(Stack { at, frames });
            }
        }
        stacks
    }
}

/// A copy of an entry that starts with its sequence number, if it was complete throughout.
fn whole<const WORDS: usize>(words: &[AtomicU64], seq: u64) -> Option<[u64; WORDS]> {
    let mut copy = [0; WORDS];
    copy[0] = words[0].load(Acquire);
    if copy[0] != seq {
        return None;
    }
    for (copied, word) in copy.iter_mut().zip(words).skip(1) {
        *copied = word.load(Relaxed);
    }
    // Copying is complete before this is read again.
    fence(Acquire);
    (words[0].load(Relaxed) == seq).then_some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::SeqCst;

    const PER_RING: u32 = 64;

    /// The writer's end: two CPUs; the second has the only ring.
    struct Written {
        cpus: Vec<AtomicU64>,
        records: Vec<AtomicU64>,
        stacks: Vec<AtomicU64>,
    }

    impl Written {
        fn new() -> Self {
            let (cpus, records, stacks) = words(2, 1, PER_RING);
            let zeros = |count| (0..count).map(|_| AtomicU64::new(0)).collect();
            Self { cpus: zeros(cpus), records: zeros(records), stacks: zeros(stacks) }
        }

        fn reader(&self) -> Rings<&[AtomicU64]> {
            Rings { cpus: &self.cpus, records: &self.records, stacks: &self.stacks, per_ring: PER_RING }
        }

        fn take(&self) -> (&[AtomicU64], u64) {
            let place = self.cpus[CPU_WORDS + WRITTEN].fetch_add(1, SeqCst);
            let at = (place % u64::from(PER_RING)) as usize * RECORD_WORDS;
            let words = &self.records[at..at + RECORD_WORDS];
            words[0].store(0, SeqCst);
            (words, place + 1)
        }

        fn write(&self, at: Ns, kind: EventKind) {
            let (words, seq) = self.take();
            words[1].store(at, SeqCst);
            words[2].store(kind as u64, SeqCst);
            (3..8).for_each(|word| words[word].store(at, SeqCst));
            words[0].store(seq, SeqCst);
        }
    }

    fn times(part: &RingPart) -> Vec<Ns> {
        part.records.iter().map(|record| record.at).collect()
    }

    #[test]
    fn a_part_begins_with_the_last_switch_before_it() {
        let written = Written::new();
        for (at, kind) in [
            (5, EventKind::Switch),
            (10, EventKind::Switch),
            (12, EventKind::Softirq),
            (20, EventKind::Switch),
            (30, EventKind::Softirq),
            (40, EventKind::Softirq),
        ] {
            written.write(at, kind);
        }
        let part = written.reader().part(0, 1, 15, 30);
        assert_eq!((times(&part), part.cut, part.torn), (vec![10, 12, 20, 30], false, 0));
    }

    #[test]
    fn a_ring_that_has_gone_round_says_so_and_one_that_has_not_is_whole() {
        let written = Written::new();
        written.write(10, EventKind::Softirq);
        assert!(!written.reader().part(0, 1, 0, 100).cut);
        (11..90).for_each(|at| written.write(at, EventKind::Softirq));
        let part = written.reader().part(0, 1, 0, 100);
        assert_eq!((part.records.len(), part.records[0].at, part.cut), (PER_RING as usize, 26, true));
        written.write(90, EventKind::Switch);
        assert!(!written.reader().part(0, 1, 91, 100).cut);
    }

    #[test]
    fn what_an_interrupt_wrote_within_another_record_goes_by_its_time() {
        let written = Written::new();
        written.write(10, EventKind::Switch);
        written.write(22, EventKind::Softirq);
        written.write(20, EventKind::Softirq);
        assert_eq!(times(&written.reader().part(0, 1, 15, 30)), [10, 20, 22]);
    }

    #[test]
    fn a_record_that_is_not_whole_is_left_out_and_counted_unless_it_is_the_newest() {
        let written = Written::new();
        written.write(10, EventKind::Switch);
        written.take();
        let part = written.reader().part(0, 1, 15, 30);
        assert_eq!((times(&part), part.torn), (vec![10], 0));
        written.write(20, EventKind::Softirq);
        let part = written.reader().part(0, 1, 15, 30);
        assert_eq!((times(&part), part.torn), (vec![10, 20], 1));
    }

    #[test]
    fn no_record_is_ever_made_of_two() {
        let (written, done) = (Written::new(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (1..200_000).for_each(|at| written.write(at, EventKind::Softirq));
                done.store(true, SeqCst);
            });
            let mut seen = 0;
            while !done.load(SeqCst) || seen == 0 {
                let part = written.reader().part(0, 1, 1, Ns::MAX);
                assert!(part.records.iter().all(|record| record.words == [record.at; 5]), "{part:?}");
                assert!(part.records.is_sorted_by(|a, b| a.at < b.at));
                seen += part.records.len();
            }
        });
    }

    #[test]
    fn stacks_are_found_by_their_time() {
        let written = Written::new();
        for (place, at) in [(0, 10), (1, 20), (2, 30)] {
            let words = &written.stacks[place * STACK_WORDS..];
            [place as u64 + 1, at, 16, 0, at + 1, at + 2]
                .iter()
                .zip(words)
                .for_each(|(word, to)| to.store(*word, SeqCst));
        }
        written.cpus[CPU_WORDS + STACKS_WRITTEN].store(3, SeqCst);
        assert_eq!(written.reader().stacks(0, 1, 15, 25), [Stack { at: 20, frames: vec![21, 22] }]);
    }

    #[test]
    fn rings_of_all_processors_together_stay_small() {
        let sizes = [0, 1, 32, 33, 128, 4096].map(records_per_ring);
        assert_eq!(sizes, [32768, 32768, 32768, 16384, 8192, 4096]);
    }
}

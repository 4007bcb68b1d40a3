//! The buffers that the kernel half writes, one per CPU (`wire.rs`), read as one stream in order of
//! time.
//!
//! This file keeps the stream causal. If one record leads to another (a wake-up and the switch-in
//! after it, or a thread's last record on one CPU and its first on the next), then the first was
//! complete before the clock was read for the other. So the complete records older than a moment
//! before the buffers were read are all records of that age, except those without a cause so far;
//! the rest is left for the next drain. The clock (CLOCK_MONOTONIC) may differ between CPUs by a
//! few nanoseconds, while a few hundred pass between the two clock reads: the end of a BPF program,
//! and a wake-up that reaches another CPU. `decode.rs` decodes the records.

use super::maps::map;
use super::refusal::BpfRefusal;
use super::wire;
use aya::Ebpf;
use model::Ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::mem::offset_of;
use std::ops::Deref;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use sys::shared::SharedWords;
use zerocopy::IntoBytes;

const WORD: u64 = 8;
const SEGMENT: u64 = wire::SEGMENT as u64;
/// The shortest record is its head; the longest, with its size, ends before the next segment.
const SHORTEST: u64 = size_of::<wire::Head>() as u64;
const LONGEST: u64 = wire::LONGEST as u64;
/// Words of a segment and of a buffer's positions, and the one that the reader writes.
const SEGMENT_WORDS: usize = size_of::<wire::Segment>() / WORD as usize;
const BUFFER_WORDS: usize = size_of::<wire::Buffer>() / WORD as usize;
const TAKEN: usize = offset_of!(wire::Buffer, taken) / WORD as usize;
const _: () = assert!(offset_of!(wire::Buffer, written) == 0);

/// What the buffers of all CPUs that there may be are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BufferSizes {
    /// CPUs with a buffer. Events of others count as lost.
    pub(super) cpus: u32,
    /// Those below this number were online at the start, or stand among them.
    pub(super) at_start: u32,
    /// Segments of each of these, a power of two.
    pub(super) segments_each: u32,
    /// The same of each of the others, which come online later, if ever.
    pub(super) segments_of_others: u32,
}

/// The memory of all buffers of CPUs that are online at the start, and of the others.
const BYTES: u64 = 32 * 1024 * 1024;
const BYTES_OF_OTHERS: u64 = 8 * 1024 * 1024;
/// More CPUs that are offline at the start have no buffer.
const OTHERS_MAX: u32 = 256;

impl BufferSizes {
    /// Those of this host, where these CPUs are online.
    pub(super) fn here(online: &[u32]) -> Self {
        let possible = host::cpus::list(&host::here().sys.join("devices/system/cpu/possible"));
        let last = possible.ok().and_then(|possible| possible.as_slice().iter().max().copied());
        Self::new(online, last.map_or(0, |last| last + 1))
    }

    /// A power of two of segments each: 8 MiB for each of up to 4 CPUs, 32 MiB in all for more (the
    /// kernel allocates and clears it before the program starts), but never less than 256 KiB each.
    /// The busiest CPU writes 55 MB/s, and a reader that has to wait for a CPU can be late by 100
    /// ms. Virtual machines may have ten times as many CPUs as are online: 128 KiB to 1 MiB each.
    pub(super) fn new(online: &[u32], possible: u32) -> Self {
        let at_start = online.iter().max().map_or(1, |last| last + 1);
        let others = possible.saturating_sub(at_start).min(OTHERS_MAX);
        let fair = |bytes: u64, cpus: u32| (bytes / SEGMENT) as u32 / cpus.max(1);
        Self {
            cpus: at_start + others,
            at_start,
            segments_each: 1 << fair(BYTES, at_start).clamp(4, 128).ilog2(),
            segments_of_others: 1 << fair(BYTES_OF_OTHERS, others).clamp(2, 16).ilog2(),
        }
    }

    /// Segments of all CPUs.
    pub(super) fn segments(self) -> u32 {
        self.first(self.cpus)
    }

    /// The first segment of a CPU, as `threads.h` has it.
    fn first(self, cpu: u32) -> u32 {
        cpu.min(self.at_start) * self.segments_each
            + cpu.saturating_sub(self.at_start) * self.segments_of_others
    }

    fn many(self, cpu: u32) -> u32 {
        if cpu < self.at_start { self.segments_each } else { self.segments_of_others }
    }

    /// Words of the kernel's arrays `buffers` and `segments`.
    pub(super) fn words(self) -> (usize, usize) {
        (self.cpus as usize * BUFFER_WORDS, self.segments() as usize * SEGMENT_WORDS)
    }
}

/// These buffers, shared with the kernel half.
pub(super) fn shared(ebpf: &Ebpf, sizes: BufferSizes) -> Result<Buffers<SharedWords>, BpfRefusal> {
    let (positions, places) = sizes.words();
    Ok(Buffers::new(map(ebpf, "buffers", positions)?, map(ebpf, "segments", places)?, sizes))
}

/// The reader's end of all CPUs' buffers.
pub(super) struct Buffers<W> {
    /// The positions of both ends.
    positions: W,
    segments: W,
    sizes: BufferSizes,
    cpus: Vec<Cpu>,
    /// Times that reading was resumed after invalid data.
    pub(super) malformed: u64,
    /// The current record, in words: records are read in place, which requires their alignment.
    record: Vec<u64>,
}

/// The reader's end of one CPU's buffer.
#[derive(Clone, Copy, Default)]
struct Cpu {
    taken: u64,
    /// The writer's position at the start of this drain.
    written: u64,
    /// The most recent time of the records taken so far: records of one CPU keep their order, which
    /// is not always that of the clock (an interrupt's record may precede the one that it
    /// interrupted).
    last: Ns,
}

/// The next item of a buffer.
enum NextRecord {
    /// A record with this time.
    Record(Ns),
    /// One that is still being written, or whose writer was interrupted.
    Unfinished,
    Nothing,
}

impl<W: Deref<Target = [AtomicU64]>> Buffers<W> {
    /// The arrays must have the size of [`BufferSizes::words`].
    pub(super) fn new(positions: W, segments: W, sizes: BufferSizes) -> Self {
        let cpus = vec![Cpu::default(); positions.len() / BUFFER_WORDS];
        Self { positions, segments, sizes, cpus, malformed: 0, record: Vec::new() }
    }

    /// The time in which the busiest CPU fills its buffer: the fastest round trips over a pipe
    /// write 55 bytes per microsecond.
    pub(super) fn fill_ns(&self) -> Ns {
        let others = self.cpus.iter().skip(self.sizes.at_start as usize);
        let least = match others.clone().any(|cpu| cpu.written > 0) {
            true => self.sizes.segments_each.min(self.sizes.segments_of_others),
            false => self.sizes.segments_each,
        };
        u64::from(least) * SEGMENT * 1000 / 64
    }

    /// Passes on the records made before `until`, which must be a moment before the call; all for
    /// `Ns::MAX`. Returns their number.
    pub(super) fn drain(&mut self, mut until: Ns, each: &mut dyn FnMut(&[u8])) -> u64 {
        let rest = until == Ns::MAX;
        let mut heap = BinaryHeap::new();
        for cpu in 0..self.cpus.len() {
            self.cpus[cpu].written = self.positions[cpu * BUFFER_WORDS].load(Acquire);
            match self.next(cpu) {
                NextRecord::Record(at) => heap.push(Reverse((at, cpu))),
                // The records after it are not available yet, and may have caused those of other
                // CPUs.
                NextRecord::Unfinished if !rest => until = until.min(self.cpus[cpu].last),
                NextRecord::Unfinished | NextRecord::Nothing => {}
            }
        }
        let mut records = 0;
        while let Some(mut first) = heap.peek_mut() {
            let Reverse((at, cpu)) = *first;
            if at >= until {
                break;
            }
            self.take(cpu);
            each(self.record.as_bytes());
            self.cpus[cpu].last = at;
            records += 1;
            match self.next(cpu) {
                NextRecord::Record(at) => *first = Reverse((at, cpu)),
                NextRecord::Unfinished if !rest => break,
                NextRecord::Unfinished | NextRecord::Nothing => drop(PeekMut::pop(first)),
            }
        }
        for cpu in 0..self.cpus.len() {
            self.give_back(cpu);
        }
        records
    }

    /// Gives the memory back; nothing can be drained from here on.
    pub(super) fn close(&mut self)
    where
        W: Default,
    {
        self.cpus.clear();
        self.segments = W::default();
        self.positions = W::default();
    }

    fn next(&mut self, cpu: usize) -> NextRecord {
        let Cpu { taken, written, last } = self.cpus[cpu];
        if taken == written {
            return NextRecord::Nothing;
        }
        let at = self.place(cpu, taken);
        // Acquire: the record is visible once its size is.
        let size = self.segments[at].load(Acquire);
        if size == 0 {
            return NextRecord::Unfinished;
        }
        let room = written.wrapping_sub(taken);
        if !(SHORTEST..=LONGEST - WORD).contains(&size) || !size.is_multiple_of(WORD) || WORD + size > room {
            self.malformed += 1;
            self.cpus[cpu].taken = written;
            return NextRecord::Nothing;
        }
        NextRecord::Record(last.max(self.segments[at + 1].load(Relaxed)))
    }

    /// Moves the next record to `self.record`, and leaves zeros, so that a record is not considered
    /// complete too early.
    fn take(&mut self, cpu: usize) {
        let taken = self.cpus[cpu].taken;
        let at = self.place(cpu, taken);
        let size = self.segments[at].load(Relaxed);
        self.record.clear();
        self.segments[at].store(0, Relaxed);
        for word in &self.segments[at + 1..at + 1 + (size / WORD) as usize] {
            self.record.push(word.load(Relaxed));
            word.store(0, Relaxed);
        }
        let next = taken + WORD + size;
        self.cpus[cpu].taken = next;
        if next / SEGMENT != taken / SEGMENT {
            self.give_back(cpu);
        }
    }

    fn give_back(&self, cpu: usize) {
        // Release: the zeros are visible before the space is free.
        self.positions[cpu * BUFFER_WORDS + TAKEN].store(self.cpus[cpu].taken, Release);
    }

    /// The index in `segments` of a CPU's position.
    fn place(&self, cpu: usize, position: u64) -> usize {
        let (first, many) = (self.sizes.first(cpu as u32), self.sizes.many(cpu as u32));
        let segment = first as usize + (position / SEGMENT) as usize % many as usize;
        segment * SEGMENT_WORDS + (position % SEGMENT / WORD) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second CPU comes online later, and its buffer is smaller.
    const SIZES: BufferSizes = BufferSizes { cpus: 2, at_start: 1, segments_each: 4, segments_of_others: 2 };

    /// The kernel's end.
    struct Written {
        positions: Vec<AtomicU64>,
        segments: Vec<AtomicU64>,
    }

    impl Written {
        fn new() -> Self {
            let (positions, segments) = SIZES.words();
            let zeros = |count| (0..count).map(|_| AtomicU64::new(0)).collect();
            Self { positions: zeros(positions), segments: zeros(segments) }
        }

        fn reader(&self) -> Buffers<&[AtomicU64]> {
            Buffers::new(&self.positions, &self.segments, SIZES)
        }

        /// Reserves space for a record of this many words; none when the reader is behind. Returns
        /// the index of its size.
        fn reserve(&self, cpu: usize, record: &[u64]) -> Option<usize> {
            let [written, taken] = [0, TAKEN].map(|end| &self.positions[cpu * BUFFER_WORDS + end]);
            let (from, whole) = (written.load(Relaxed), WORD + record.len() as u64 * WORD);
            let many = [4, 2][cpu];
            if from + whole - taken.load(Relaxed) > many * SEGMENT {
                return None;
            }
            written.store(from + whole, Relaxed);
            let segment = [0, 4][cpu] + (from / SEGMENT % many) as usize;
            let at = segment * SEGMENT_WORDS + (from % SEGMENT / WORD) as usize;
            for (place, word) in self.segments[at..].iter().zip([0].iter().chain(record)) {
                // An unfinished record must not look complete: the space was cleared.
                assert_eq!(place.load(Relaxed), 0);
                place.store(*word, Relaxed);
            }
            Some(at)
        }

        fn finish(&self, at: usize, words: usize) {
            self.segments[at].store(words as u64 * WORD, Relaxed);
        }

        /// A complete record of two words.
        fn write(&self, cpu: usize, at: Ns, what: u64) {
            let place = self.reserve(cpu, &[at, what]).unwrap();
            self.finish(place, 2);
        }
    }

    /// The second word of each record before `until`.
    fn drained(reader: &mut Buffers<&[AtomicU64]>, until: Ns) -> Vec<u64> {
        let mut seen = Vec::new();
        let records = reader.drain(until, &mut |record| {
            seen.push(u64::from_ne_bytes(record[8..16].try_into().unwrap()));
        });
        assert_eq!(records, seen.len() as u64);
        seen
    }

    #[test]
    fn records_of_two_cpus_come_by_time_and_those_of_one_in_their_order() {
        let written = Written::new();
        let mut reader = written.reader();
        written.write(0, 10, 1);
        written.write(0, 30, 3);
        written.write(0, 15, 4); // an interrupted one: stays after the one that interrupted it
        written.write(1, 20, 2);
        written.write(1, 40, 5);
        written.write(1, 50, 6);
        assert_eq!(drained(&mut reader, 50), [1, 2, 3, 4, 5]);
        written.write(0, 45, 7);
        assert_eq!(drained(&mut reader, 60), [7, 6]);
        assert!(drained(&mut reader, Ns::MAX).is_empty());
        assert_eq!(reader.malformed, 0);
    }

    #[test]
    fn nothing_passes_a_record_that_is_not_whole_but_at_the_end() {
        let written = Written::new();
        let mut reader = written.reader();
        written.write(0, 10, 1);
        let unfinished = written.reserve(0, &[20, 2]).unwrap();
        written.write(0, 21, 3);
        written.write(1, 5, 0);
        written.write(1, 22, 4);
        assert_eq!(drained(&mut reader, 100), [0, 1]);
        assert!(drained(&mut reader, 100).is_empty());
        written.finish(unfinished, 2);
        assert_eq!(drained(&mut reader, 100), [2, 3, 4]);
        written.reserve(0, &[30, 5]).unwrap();
        written.write(1, 40, 6);
        assert!(drained(&mut reader, 100).is_empty());
        assert_eq!(drained(&mut reader, Ns::MAX), [6]);
    }

    #[test]
    fn records_of_all_lengths_go_around_many_times_and_none_is_overwritten() {
        let written = Written::new();
        let mut reader = written.reader();
        let (mut next, mut refused, mut seen) = (0, 0, 0);
        for round in 0..20_000 {
            let record: Vec<u64> =
                (0..2 + round % 61).map(|word| if word == 0 { next } else { next ^ word }).collect();
            match written.reserve(1, &record) {
                Some(place) => {
                    written.finish(place, record.len());
                    next += 1;
                }
                None => refused += 1,
            }
            if round % 700 == 0 {
                reader.drain(Ns::MAX, &mut |record| {
                    let words =
                        record.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
                    assert!(words.zip(0..).all(|(word, at)| word == if at == 0 { seen } else { seen ^ at }));
                    seen += 1;
                });
            }
        }
        reader.drain(Ns::MAX, &mut |_| seen += 1);
        assert_eq!((seen, reader.malformed), (next, 0));
        assert!(refused > 0 && next > 10_000, "{refused} refused, {next} written");
        assert!(written.segments.iter().all(|word| word.load(Relaxed) == 0));
    }

    #[test]
    fn what_cannot_be_a_record_is_skipped_and_counted() {
        for size in [8, 17, LONGEST, u64::MAX] {
            let written = Written::new();
            let mut reader = written.reader();
            let place = written.reserve(0, &[10, 1]).unwrap();
            written.segments[place].store(size, Relaxed);
            written.write(1, 20, 2);
            assert_eq!(drained(&mut reader, 100), [2]);
            written.write(0, 30, 3);
            assert_eq!((drained(&mut reader, 100), reader.malformed), (vec![3], 1));
        }
    }

    #[test]
    fn buffers_of_all_cpus_together_stay_small() {
        let each = |cpus: u32| BufferSizes::new(&(0..cpus).collect::<Vec<_>>(), cpus).segments_each;
        assert_eq!([1, 2, 4, 5, 16, 17, 64, 128, 4096].map(each), [128, 128, 128, 64, 32, 16, 8, 4, 4]);
        let here = |possible| BufferSizes::new(&[0, 1], possible);
        assert_eq!((here(0).cpus, here(2).cpus, here(2).segments()), (2, 2, 256));
        // What may come online has a buffer, and takes nothing from what is.
        for (possible, each) in [(3, 16), (10, 16), (64, 2), (240, 2)] {
            let sizes = here(possible);
            assert_eq!((sizes.cpus, sizes.segments_each, sizes.segments_of_others), (possible, 128, each));
            assert!(u64::from(sizes.segments()) * SEGMENT <= 48 << 20, "{sizes:?}");
        }
        assert_eq!(here(8192).cpus, 2 + OTHERS_MAX);
        let offline = BufferSizes::new(&[0, 3], 6);
        assert_eq!((offline.at_start, offline.cpus, offline.first(5)), (4, 6, 4 * 128 + 16));
    }
}

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

/// How many segments each of this many CPUs gets, a power of two: 8 MiB for each of up to 4 CPUs,
/// 32 MiB in all for more (the kernel allocates and clears it before the program starts), but never
/// less than 256 KiB each. The busiest CPU writes 55 MB/s, and a reader that has to wait for a CPU
/// can be late by 100 ms.
pub(super) fn segments_per_cpu(cpus: u32) -> u32 {
    let fair = (32 * 1024 * 1024 / SEGMENT) as u32 / cpus.max(1);
    1 << fair.clamp(4, 128).ilog2()
}

/// Words of the kernel's arrays `buffers` and `segments`.
pub(super) fn words(cpus: u32, segments_per_cpu: u32) -> (usize, usize) {
    (cpus as usize * BUFFER_WORDS, cpus as usize * segments_per_cpu as usize * SEGMENT_WORDS)
}

/// The buffers of this many CPUs, shared with the kernel half.
pub(super) fn shared(ebpf: &Ebpf, cpus: u32) -> Result<Buffers<SharedWords>, BpfRefusal> {
    let segments = segments_per_cpu(cpus);
    let (positions, places) = words(cpus, segments);
    Ok(Buffers::new(map(ebpf, "buffers", positions)?, map(ebpf, "segments", places)?, segments))
}

/// The reader's end of all CPUs' buffers.
pub(super) struct Buffers<W> {
    /// The positions of both ends.
    positions: W,
    segments: W,
    segments_per_cpu: u32,
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
    /// The arrays must have the size of [`words`].
    pub(super) fn new(positions: W, segments: W, segments_per_cpu: u32) -> Self {
        let cpus = vec![Cpu::default(); positions.len() / BUFFER_WORDS];
        Self { positions, segments, segments_per_cpu, cpus, malformed: 0, record: Vec::new() }
    }

    /// The time in which the busiest CPU fills its buffer: the fastest round trips over a pipe
    /// write 55 bytes per microsecond.
    pub(super) fn fill_ns(&self) -> Ns {
        u64::from(self.segments_per_cpu) * SEGMENT * 1000 / 64
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
        let per_cpu = self.segments_per_cpu as usize;
        let segment = cpu * per_cpu + (position / SEGMENT) as usize % per_cpu;
        segment * SEGMENT_WORDS + (position % SEGMENT / WORD) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUS: u32 = 2;
    const SEGMENTS: u32 = 2;

    /// The kernel's end.
    struct Written {
        positions: Vec<AtomicU64>,
        segments: Vec<AtomicU64>,
    }

    impl Written {
        fn new() -> Self {
            let (positions, segments) = words(CPUS, SEGMENTS);
            let zeros = |count| (0..count).map(|_| AtomicU64::new(0)).collect();
            Self { positions: zeros(positions), segments: zeros(segments) }
        }

        fn reader(&self) -> Buffers<&[AtomicU64]> {
            Buffers::new(&self.positions, &self.segments, SEGMENTS)
        }

        /// Reserves space for a record of this many words; none when the reader is behind. Returns
        /// the index of its size.
        fn reserve(&self, cpu: usize, record: &[u64]) -> Option<usize> {
            let [written, taken] = [0, TAKEN].map(|end| &self.positions[cpu * BUFFER_WORDS + end]);
            let (from, whole) = (written.load(Relaxed), WORD + record.len() as u64 * WORD);
            if from + whole - taken.load(Relaxed) > u64::from(SEGMENTS) * SEGMENT {
                return None;
            }
            written.store(from + whole, Relaxed);
            let segment = cpu * SEGMENTS as usize + (from / SEGMENT) as usize % SEGMENTS as usize;
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
        assert_eq!(drained(&mut reader, Ns::MAX), []);
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
        assert_eq!(drained(&mut reader, 100), []);
        written.finish(unfinished, 2);
        assert_eq!(drained(&mut reader, 100), [2, 3, 4]);
        written.reserve(0, &[30, 5]).unwrap();
        written.write(1, 40, 6);
        assert_eq!(drained(&mut reader, 100), []);
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
        let sizes = [1, 2, 4, 5, 16, 17, 64, 128, 4096].map(segments_per_cpu);
        assert_eq!(sizes, [128, 128, 128, 64, 32, 16, 8, 4, 4]);
    }
}

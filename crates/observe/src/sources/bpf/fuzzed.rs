//! What the fuzzer runs on the buffers of the kernel half and on packets.

use super::buffers::{BufferSizes, Buffers};
use super::decode::{Decoder, Reports, of_stacks};
use super::{dns, lookups::Lookups};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use zerocopy::{FromBytes, IntoBytes};

/// The content of a CPU's buffer, from its first record on: for each its length, and itself.
pub(crate) fn buffer(bytes: &[u8]) {
    const SIZES: BufferSizes = BufferSizes { cpus: 1, at_start: 1, segments_each: 2, segments_of_others: 2 };
    let (positions, places) = SIZES.words();
    let zeros = |count| -> Vec<AtomicU64> { (0..count).map(|_| AtomicU64::new(0)).collect() };
    let (positions, places) = (zeros(positions), zeros(places));
    let given = bytes.chunks_exact(8).map(|word| u64::read_from_bytes(word).unwrap_or(0));
    let mut written = 0;
    for (to, word) in places.iter().zip(given) {
        to.store(word, Relaxed);
        written += 8;
    }
    positions[0].store(written, Relaxed);
    let mut buffers = Buffers::new(&positions[..], &places[..], SIZES);
    let mut decoder = Decoder::new(Reports { swaps: true, no_contexts: false });
    buffers.drain(u64::MAX, &mut |record| {
        let _ = decoder.decode(record);
        let _ = of_stacks(record);
    });
}

/// Records, each behind its length in words: without the buffer, whose first bad length ends it.
pub(crate) fn ring(bytes: &[u8]) {
    let mut decoder = Decoder::new(Reports { swaps: true, no_contexts: false });
    let mut rest = bytes;
    // Records are as aligned as in the buffer.
    let mut record: Vec<u64> = Vec::new();
    while let Some((words, after)) = rest.split_first() {
        let len = (usize::from(*words) * 8).min(after.len() & !7);
        record.clear();
        record.extend(after[..len].chunks_exact(8).map(|word| u64::read_from_bytes(word).unwrap_or(0)));
        let _ = decoder.decode(record.as_bytes());
        let _ = of_stacks(record.as_bytes());
        rest = &after[len..];
    }
}

/// Packets of name lookups, from their IP header on, each behind its length; every second asks.
pub(crate) fn packets(bytes: &[u8]) {
    let mut lookups = Lookups::default();
    let (mut rest, mut at) = (bytes, 0);
    while let Some((length, after)) = rest.split_first() {
        let (packet, next) = after.split_at(usize::from(*length).min(after.len()));
        let _ = lookups.packet(at, 7, at % 2 == 0, packet);
        let _ = dns::read(packet).and_then(|message| message.question);
        (rest, at) = (next, at + 1);
    }
    lookups.give_up(u64::MAX, &mut |_| {});
}

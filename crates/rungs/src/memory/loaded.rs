//! `dram-loaded`: the chase of `dram` while the other CPUs read memory as fast as they can.

use crate::bench::Bench;
use crate::cpu::pin::{Pinned, others};
use crate::memory::levels::{
    chase, dram_bytes, line_bytes, obtain, obtain_while, small_for_dram, small_pages, whole,
};
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use sys::clock::monotonic_ns;
use sys::loops;
use sys::pages::PageKind;

/// What all readers together have, at most; less each where there are many.
const READ_BYTES: u64 = 1 << 30;
/// Readers beyond these add nothing that one socket's memory could still give.
const READERS_MOST: usize = 64;

pub(crate) fn rung() -> Rung {
    Rung {
        about: RungDescription {
            excludes: "writers, and CPUs that dwell may not use".into(),
            method: "the chase of dram while every other CPU reads memory of its own from first to last; read: what they \
                     got together"
                .into(),
            source: "multichase's loaded latency; Intel Memory Latency Checker".into(),
            needs: "two CPUs and free memory".into(),
            ..about("dram-loaded", RungGroup::Memory, "a dependent load from memory while other CPUs read it")
        },
        parts: 1.0,
        watch_cycle: false,
        measure: Box::new(measure),
    }
}

fn measure(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let readers = others(bench.machine);
    if readers.is_empty() {
        return Err(Unmeasured::Absent("only one CPU may be used: no other CPU can load the memory".into()));
    }
    let readers = &readers[..readers.len().min(READERS_MOST)];
    // The chase and all readers share what one rung may take.
    let bytes = whole(dram_bytes(bench.machine)? / 2);
    let each = (bytes.min(READ_BYTES) / readers.len() as u64).max(8 << 20) / 4096 * 4096;
    let line = line_bytes(bench.machine.caches.last());
    let mut chase = chase(bench, obtain(bench, bytes, PageKind::Huge)?, bytes, line)?;
    let (stop, read_bytes, reading) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        let _stop = StopAtEnd(&stop);
        for cpu in readers {
            let reader = || read(*cpu, each, &stop, &read_bytes, &reading);
            let started = thread::Builder::new().spawn_scoped(scope, reader);
            started.map_err(|error| crate::bench::without_thread(&error))?;
        }
        // Readers fill their memory first. One that cannot have any counts as reading nothing.
        while reading.load(Relaxed) < readers.len() as u64 && !bench.stopped() {
            thread::yield_now();
        }
        let (from, before) = (monotonic_ns(), read_bytes.load(Relaxed));
        let samples = bench.sample(|hops| {
            chase.hop(hops);
            Ok(())
        });
        let span_ns = monotonic_ns() - from;
        let mut samples = samples?;
        samples.bytes_per_s = vec![(read_bytes.load(Relaxed) - before) as f64 * 1e9 / span_ns as f64];
        samples.limits.push(match readers.len() {
            1 => "one other CPU read meanwhile".to_owned(),
            more => format!("{more} other CPUs read meanwhile"),
        });
        samples.limits.extend(small_pages(chase.pages()));
        samples.limits.extend(small_for_dram(bench.machine, bytes));
        Ok(samples)
    })
}

/// Readers end also when the measuring fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn read(cpu: u32, bytes: u64, stop: &AtomicBool, read_bytes: &AtomicU64, reading: &AtomicU64) {
    let _pinned = Pinned::to(cpu);
    let pages = obtain_while(bytes, PageKind::Huge, &|| !stop.load(Relaxed));
    reading.fetch_add(1, Relaxed);
    let Ok(pages) = pages else { return };
    while !stop.load(Relaxed) {
        for piece in pages.as_slice().chunks(1 << 20) {
            loops::read(piece);
            read_bytes.fetch_add(piece.len() as u64, Relaxed);
            if stop.load(Relaxed) {
                return;
            }
        }
    }
}

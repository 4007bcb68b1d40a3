//! `core-to-core`: how long a line takes from one core's cache to another's.

use crate::bench::Bench;
use crate::cpu::pin::{Pinned, home, others};
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use model::Ns;
use std::hint;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::thread;
use sys::clock::monotonic_ns;

/// Pairs that are measured, at most: spread over those there are.
const PAIRS: usize = 8;
/// Sent to the answering thread to end it.
const END: u32 = u32::MAX;
/// Looks without an answer before asking whether to give up: the other CPU may be busy with
/// somebody else.
const PATIENCE: u32 = 1 << 14;

pub(crate) fn rung() -> Rung {
    Rung {
        about: RungDescription {
            excludes: "the round trip: it is one way, half of that".into(),
            method: "two threads on two CPUs pass a word to each other by compare-and-swap; of several pairs, all samples"
                .into(),
            source: "N. Viennot's core-to-core-latency".into(),
            needs: "two CPUs".into(),
            ..about("core-to-core", RungGroup::Memory, "a cache line just written by another core, one way")
        },
        parts: 1.0,
        watch_cycle: false,
        measure: Box::new(measure),
    }
}

/// A word with a line, and the line that is fetched with it, to itself.
#[repr(align(128))]
struct Word(AtomicU32);

fn measure(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let others = others(bench.machine);
    if others.is_empty() {
        return Err(Unmeasured::Absent("only one CPU is allowed".into()));
    }
    let pairs = others.len().min(PAIRS);
    let chosen = (0..pairs).map(|pair| others[pair * others.len() / pairs]);
    let bench = bench.with_budget(bench.budget_ns / pairs as u64);
    let mut all: Option<Samples> = None;
    let mut medians = Vec::new();
    for cpu in chosen {
        let samples = pair(&bench, cpu)?;
        let mut sorted = samples.per_op_ns.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        medians.extend(stats::median::quantile(&sorted, 0.5).map(|ns| (ns, cpu)));
        match &mut all {
            Some(all) => all.per_op_ns.extend(samples.per_op_ns),
            None => all = Some(samples),
        }
    }
    let mut all = all.ok_or_else(crate::bench::interrupted)?;
    medians.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    if let ([(least, near), .., (most, far)], home) = (&medians[..], home(bench.machine)) {
        all.limits.push(format!(
            "of {pairs} pairs with CPU {home}: from {least:.0} ns with {near} to {most:.0} ns with {far}"
        ));
    }
    Ok(all)
}

/// The word goes to and fro between this CPU and that one.
fn pair(bench: &Bench<'_>, cpu: u32) -> Result<Samples, Unmeasured> {
    let word = Word(AtomicU32::new(0));
    thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, || answer(cpu, &word.0));
        other.map_err(|error| crate::bench::without_thread(&error))?;
        let samples = bench.sample_timed(|hops| {
            let from = monotonic_ns();
            let trips = hops.div_ceil(2);
            for _ in 0..trips {
                // Even numbers are this side's to change, odd ones the other's.
                hand_over(&word.0, 0, 1);
                wait_for(&word.0, 0, bench)?;
            }
            // Every trip is two ways, and a sample may be one longer than asked for.
            Ok::<Ns, Unmeasured>((monotonic_ns() - from) * hops / (trips * 2))
        });
        // The other side may be about to answer: end it whatever the word is.
        word.0.swap(END, AcqRel);
        samples
    })
}

fn hand_over(word: &AtomicU32, from: u32, to: u32) -> bool {
    word.compare_exchange(from, to, AcqRel, Relaxed).is_ok()
}

fn wait_for(word: &AtomicU32, value: u32, bench: &Bench<'_>) -> Result<(), Unmeasured> {
    let mut looks = 0_u32;
    while word.load(Acquire) != value {
        hint::spin_loop();
        looks += 1;
        if looks.is_multiple_of(PATIENCE) && bench.stopped() {
            return Err(crate::bench::interrupted());
        }
    }
    Ok(())
}

/// The other side.
fn answer(cpu: u32, word: &AtomicU32) {
    let _pinned = Pinned::to(cpu);
    while word.load(Acquire) != END {
        if !hand_over(word, 1, 0) {
            hint::spin_loop();
        }
    }
}

//! An atomic addition and a lock, uncontended and contended.

use crate::bench::Bench;
use crate::cpu::pin::{Pinned, others};
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use sys::clock::monotonic_ns;

/// The lock stays with one thread for a while and then goes over: samples are this many times
/// longer than others', so that each has several of both.
const LONGER: u64 = 64;
/// Others that want the lock, at most.
const RIVALS: usize = 3;

pub(crate) fn atomic() -> Rung {
    Rung {
        about: RungDescription {
            excludes: "a line that other cores write too (see core-to-core)".into(),
            method: "64-bit atomic additions to one word that no other core touches".into(),
            source: "H. Schweizer, M. Besta, T. Hoefler, Evaluating the Cost of Atomic Operations on Modern Architectures, 2015"
                .into(),
            ..about("atomic-add", RungGroup::Memory, "an atomic addition to a word that no other core uses")
        },
        parts: 0.5,
        watch_cycle: true,
        measure: Box::new(|bench| {
            let word = AtomicU64::new(0);
            bench.sample(|count| {
                for _ in 0..count {
                    black_box(&word).fetch_add(1, Relaxed);
                }
                Ok(())
            })
        }),
    }
}

pub(crate) fn uncontended() -> Rung {
    Rung {
        about: RungDescription {
            excludes: "anybody else who wants the lock (see lock-contended)".into(),
            method: "acquiring and releasing a lock that no other thread has or wants: the standard library's, on futexes".into(),
            source: "lmbench; futex(7)".into(),
            ..about("lock", RungGroup::Memory, "acquiring and releasing an uncontended lock")
        },
        parts: 0.5,
        watch_cycle: true,
        measure: Box::new(|bench| {
            let lock = Mutex::new(0_u64);
            bench.sample(|count| {
                for _ in 0..count {
                    add(&lock);
                }
                Ok(())
            })
        }),
    }
}

pub(crate) fn contended() -> Rung {
    Rung {
        about: RungDescription {
            excludes: "work under the lock: there is one addition".into(),
            method: "threads on up to four CPUs take the same lock without a pause: the time divided by all acquisitions".into(),
            source: "futex(7); U. Drepper, Futexes Are Tricky, 2011".into(),
            needs: "two CPUs".into(),
            ..about("lock-contended", RungGroup::Memory, "acquiring a contended lock")
        },
        parts: 1.0,
        watch_cycle: false,
        measure: Box::new(with_rivals),
    }
}

fn add(lock: &Mutex<u64>) -> u64 {
    // No panic while the lock is held: there is only an addition.
    let mut value = lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    *value += 1;
    *value
}

fn with_rivals(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let others = others(bench.machine);
    if others.is_empty() {
        return Err(Unmeasured::Absent(
            "only one CPU may be used: no other CPU can contend for the lock".into(),
        ));
    }
    let rivals = &others[..others.len().min(RIVALS)];
    let lock = Mutex::new(0_u64);
    let (stop, ready) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for cpu in rivals {
            let rival = || {
                let _pinned = Pinned::to(*cpu);
                ready.fetch_add(1, Relaxed);
                while !stop.load(Relaxed) {
                    add(&lock);
                }
            };
            if let Err(error) = thread::Builder::new().spawn_scoped(scope, rival) {
                stop.store(true, Relaxed);
                return Err(crate::bench::without_thread(&error));
            }
        }
        while ready.load(Relaxed) < rivals.len() as u64 {
            thread::yield_now();
        }
        let samples = bench.sample_timed(|count| {
            let (from, first) = (monotonic_ns(), add(&lock));
            let mut turns = 0;
            for _ in 0..count * LONGER {
                turns = add(&lock) - first;
            }
            // The turns of the others are turns too: the time is shared by all of them.
            let ns = (monotonic_ns() - from) as f64;
            Ok((ns * count as f64 / turns as f64).round() as u64)
        });
        stop.store(true, Relaxed);
        samples.map(|mut samples| {
            samples.limits.push(format!("{} threads want the lock", rivals.len() + 1));
            samples
        })
    })
}

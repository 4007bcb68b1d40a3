//! Threads that wait for something while they have a lock, or before they take it.

use crate::work::compute;
use crate::{Pair, Run, Setting, Size, Way};
use std::io;
use std::sync::Mutex;
use std::thread::{scope, sleep};
use std::time::Duration;

pub(super) static PAIR: Pair = Pair {
    name: "locks",
    title: "threads that wait for a device under a lock, or outside of it",
    cause: Some("lock-contention"),
    size: Size { unit: "items a thread", usual: 60, least: 25, most: 60 },
    ways: &[
        Way { name: "held", what: "the wait under the lock", run: Run::Native(held) },
        Way { name: "released", what: "the wait before the lock is taken", run: Run::Native(released) },
    ],
    source: include_str!("locks.rs"),
    needs: &[],
    lesson: "While a thread has the lock no other one gets further. What it does meanwhile counts for all of them: a wait \
             for a disk, a peer or a timer makes the threads go one by one, as if there were one. Take the lock late, \
             give it back early, and do not wait for anything in between.",
    writing: None,
};

const THREADS: usize = 3;

fn held(setting: &Setting) -> io::Result<()> {
    let sum = Mutex::new(0);
    threads(|| {
        for item in 0..setting.size {
            let mut sum = taken(&sum);
            answer();
            *sum += item;
            drop(sum);
            compute(300_000);
        }
    });
    Ok(())
}

fn released(setting: &Setting) -> io::Result<()> {
    let sum = Mutex::new(0);
    threads(|| {
        for item in 0..setting.size {
            answer();
            let mut sum = taken(&sum);
            *sum += item;
            drop(sum);
            compute(300_000);
        }
    });
    Ok(())
}

/// A device's, after 3 ms.
fn answer() {
    sleep(Duration::from_millis(3));
}

fn taken(sum: &Mutex<u64>) -> std::sync::MutexGuard<'_, u64> {
    sum.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn threads(each: impl Fn() + Sync) {
    scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(&each);
        }
    });
}

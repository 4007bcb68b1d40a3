//! A team of threads that work until they are stopped.

use crate::{RunLimit, Tally, Work, while_doing};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::{Builder, scope};
use sys::clock::{monotonic_ns, process_cpu_ns};

/// The stack of a worker: enough for any, and a thousand of them need little memory.
pub(crate) const STACK_BYTES: usize = 256 << 10;

/// Whether workers should stop.
#[derive(Debug, Default)]
pub(crate) struct Stop(AtomicBool);

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Relaxed);
    }
}

/// Runs a thread for each of `items` until the limit. Then `wake` is called, for threads that are
/// blocked.
pub(crate) fn together<T: Send>(
    name: &str,
    items: Vec<T>,
    mut limit: RunLimit<'_>,
    wake: &dyn Fn(),
    work: &(dyn Fn(T, &Stop) -> io::Result<Work> + Sync),
) -> io::Result<Tally> {
    let (stop, at_work) = (Stop::default(), AtomicUsize::new(items.len()));
    let (from_ns, cpu_from_ns) = (monotonic_ns(), process_cpu_ns());
    let count = items.len();
    let mut total = Work::default();
    scope(|scope| {
        let mut threads = Vec::new();
        let mut refused = None;
        for item in items {
            let (stop, at_work) = (&stop, &at_work);
            let thread = Builder::new().name(format!("load-{name}")).stack_size(STACK_BYTES);
            let started = thread.spawn_scoped(scope, move || {
                let done = work(item, stop);
                at_work.fetch_sub(1, Relaxed);
                done
            });
            match started {
                Ok(started) => threads.push(started),
                Err(error) => {
                    refused = Some(while_doing(&format!("cannot start {count} threads"), &error));
                    break;
                }
            }
        }
        if refused.is_none() {
            limit.wait(from_ns, &mut || at_work.load(Relaxed) == 0);
        }
        stop.set();
        wake();
        let mut failed = 0;
        for thread in threads {
            match thread.join() {
                Ok(Ok(work)) => total.add(work),
                Ok(Err(error)) => {
                    failed += 1;
                    total.add(Work::failed(&error.to_string()));
                }
                Err(_) => return Err(io::Error::other("a worker panicked")),
            }
        }
        if let Some(error) = refused {
            return Err(error);
        }
        // A load whose workers have all failed has failed.
        if failed == count {
            return Err(io::Error::other(total.failures.join("; ")));
        }
        Ok(())
    })?;
    Ok(Tally { work: total, ran_ns: monotonic_ns() - from_ns, cpu_ns: process_cpu_ns() - cpu_from_ns })
}

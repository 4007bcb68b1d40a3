//! What one thread asks of the kernel without waiting: the clock, the cheapest call, a signal to
//! itself.

use crate::bench::Bench;
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use rustix::process::getppid;
use std::hint::black_box;
use sys::clock::monotonic_ns;
use sys::to_self::Handler;

pub(crate) fn clock() -> Rung {
    let about = RungDescription {
        excludes: "other clocks; those of CPU time are always system calls".into(),
        method:
            "clock_gettime of CLOCK_MONOTONIC over and over, through the kernel's vDSO where there is one"
                .into(),
        source: "vdso(7)".into(),
        ..about("clock-read", RungGroup::Kernel, "reading the clock")
    };
    Rung { about, parts: 0.5, watch_cycle: true, measure: Box::new(of_clock) }
}

pub(crate) fn cheapest() -> Rung {
    let about = RungDescription {
        excludes:
            "what a call that does something does, what tracing or a filter adds for other programs, and the return from a C \
             library's function around it: expensive where the kernel flushes the CPU's return predictor"
                .into(),
        method: "getppid over and over, by the call's own instruction: a call that nothing answers but the kernel".into(),
        source: "lmbench's lat_syscall null".into(),
        ..about("system-call", RungGroup::Kernel, "the cheapest system call")
    };
    Rung { about, parts: 0.5, watch_cycle: true, measure: Box::new(of_cheapest) }
}

pub(crate) fn signal() -> Rung {
    let about = RungDescription {
        excludes: "a signal from another process, which must be woken".into(),
        method: "a thread sends itself a signal by tgkill, whose handler adds to a counter: the call, the handler and the \
                 return from it"
            .into(),
        source: "lmbench's lat_sig catch".into(),
        ..about("signal", RungGroup::Kernel, "a signal of a thread to itself, handled")
    };
    Rung { about, parts: 0.5, watch_cycle: true, measure: Box::new(of_signal) }
}

fn of_clock(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let mut samples = bench.sample(|count| {
        read_clock(count);
        Ok(())
    })?;
    samples
        .limits
        .extend(bench.machine.clocksource.value().map(|source| format!("the clock source is {source}")));
    Ok(samples)
}

fn read_clock(count: u64) {
    for _ in 0..count {
        black_box(monotonic_ns());
    }
}

fn of_cheapest(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    bench.sample(|count| {
        call(count);
        Ok(())
    })
}

/// Makes the cheapest system call `ops` times.
pub(super) fn call(count: u64) {
    for _ in 0..count {
        black_box(getppid());
    }
}

fn of_signal(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let handler = Handler::install()
        .map_err(|error| Unmeasured::Unseen(format!("a handler for a signal was refused: {error}")))?;
    bench.sample(|count| {
        if handler.deliver(count) == count {
            Ok(())
        } else {
            Err(Unmeasured::Unseen("a signal to oneself was not handled at once".into()))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::grows_with_work;

    #[test]
    fn nothing_is_left_out() {
        grows_with_work(2_000, read_clock);
        grows_with_work(1_000, call);
        let handler = Handler::install().unwrap();
        grows_with_work(200, |count| assert_eq!(handler.deliver(count), count));
    }
}

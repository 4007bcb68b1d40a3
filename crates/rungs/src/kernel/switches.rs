//! From one thread to another and back: through a pipe, by a futex, and the switch alone.

use super::echo::{Alone, Echo};
use super::pinned;
use super::turns::Turns;
use crate::bench::Bench;
use crate::cpu::pin::{home, others};
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use model::Ns;
use sys::clock::monotonic_ns;

/// Switches of a round trip.
const SWITCHES: f64 = 2.0;

pub(crate) fn futex() -> Rung {
    let about = RungDescription {
        excludes: "a free lock, which needs no system call".into(),
        method:
            "two threads on one core wake each other in alternation: two wake-ups, two waits and two switches"
                .into(),
        source: "B. Sigoure, How long does it take to make a context switch? (timectxsw)".into(),
        ..about("futex-round-trip", RungGroup::Kernel, "a round trip to a thread on the same core by futex")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(of_futex) }
}

pub(crate) fn pipe() -> Rung {
    let about = RungDescription {
        excludes: "the change of address space: both ends are threads of one process".into(),
        method: "a byte to a thread on the same core and back, through two pipes: two writes, two reads and two switches".into(),
        source: "lmbench's lat_pipe".into(),
        ..about("pipe-round-trip", RungGroup::Kernel, "a round trip to a thread on the same core by pipes")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(of_pipe) }
}

pub(crate) fn same_core() -> Rung {
    let about = RungDescription {
        excludes: "the writes and reads that cause it, and the caches that the other thread needs for its work".into(),
        method: "half of the round trip through pipes between two threads on one core, less the same writes and reads by one \
                 thread: a wake-up, going to sleep and the switch between them"
            .into(),
        source: "lmbench's lat_ctx".into(),
        ..about("thread-switch", RungGroup::Kernel, "a context switch to another thread on the same core")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(of_same_core) }
}

pub(crate) fn across() -> Rung {
    let about = RungDescription {
        excludes: "the writes and reads that cause it, as one thread alone would do them".into(),
        method: "the same between threads on two cores: one way, with the interrupt that wakes the other core, and that core's way \
                 out of whatever sleep it was in"
            .into(),
        source: "lmbench's lat_ctx, with the threads on two cores".into(),
        needs: "a second CPU".into(),
        ..about("thread-switch-cores", RungGroup::Kernel, "a switch to a thread that waits on another core")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(of_across) }
}

fn of_futex(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let cpu = home(bench.machine);
    let _pinned = pinned(cpu)?;
    let turns = Turns::start(cpu)?;
    bench.sample(|count| {
        turns.round_trips(count);
        Ok(())
    })
}

fn of_pipe(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let cpu = home(bench.machine);
    let _pinned = pinned(cpu)?;
    let mut echo = Echo::start(cpu)?;
    bench.sample(|count| echo.round_trips(count))
}

fn of_same_core(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let cpu = home(bench.machine);
    switches(bench, cpu, cpu)
}

fn of_across(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let here = home(bench.machine);
    let others = others(bench.machine);
    let siblings = siblings(here);
    let elsewhere = others.iter().find(|cpu| !siblings.contains(cpu));
    let Some(there) = elsewhere.or(others.first()) else {
        return Err(Unmeasured::Absent("only one CPU is allowed".into()));
    };
    let mut samples = switches(bench, here, *there)?;
    samples.limits.push(if elsewhere.is_some() {
        format!("between CPUs {here} and {there}; others may be nearer or farther")
    } else {
        format!("CPUs {here} and {there} are two threads of one core, and there is no other")
    });
    Ok(samples)
}

/// CPUs of the same core, as the kernel tells; itself at least.
fn siblings(cpu: u32) -> Vec<u32> {
    host::cpus::siblings(host::here(), cpu).map_or_else(|_| vec![cpu], |cpus| cpus.into_vec())
}

fn switches(bench: &Bench<'_>, here: u32, there: u32) -> Result<Samples, Unmeasured> {
    let _pinned = pinned(here)?;
    let (mut echo, mut alone) = (Echo::start(there)?, Alone::new()?);
    let mut samples = bench.sample_against(
        |count| timed(|| echo.round_trips(count)),
        |count| timed(|| alone.round_trips(count)),
    )?;
    // Counted in round trips until here, in switches from here on.
    samples.per_op_ns.iter_mut().chain(&mut samples.baseline_ns).for_each(|ns| *ns /= SWITCHES);
    samples.ops_per_sample *= SWITCHES as u64;
    Ok(samples)
}

fn timed(what: impl FnOnce() -> Result<(), Unmeasured>) -> Result<Ns, Unmeasured> {
    let from = monotonic_ns();
    what()?;
    Ok(monotonic_ns() - from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;
    use crate::testing::grows_with_work;

    #[test]
    fn every_round_trip_is_made() {
        let machine = machine();
        let cpu = home(&machine);
        let _pinned = pinned(cpu).unwrap();
        let turns = Turns::start(cpu).unwrap();
        grows_with_work(50, |count| turns.round_trips(count));
        let (mut echo, mut alone) = (Echo::start(cpu).unwrap(), Alone::new().unwrap());
        grows_with_work(50, |count| echo.round_trips(count).unwrap());
        grows_with_work(50, |count| alone.round_trips(count).unwrap());
    }

    #[test]
    fn a_partner_where_it_may_not_be_is_refused_and_gone() {
        assert!(Echo::start(100_000).is_err());
        assert!(Turns::start(1_023).is_err());
    }

    #[test]
    fn a_cpu_is_a_sibling_of_itself() {
        let cpu = home(&machine());
        assert!(siblings(cpu).contains(&cpu));
        assert_eq!(siblings(100_000), [100_000]);
    }
}

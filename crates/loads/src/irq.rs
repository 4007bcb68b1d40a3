//! Timer interrupts: threads, distributed over the CPUs, that each wait for a periodic timer.

use crate::room::allow_files;
use crate::team::together;
use crate::{RunLimit, Tally, Work, while_doing};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;

pub(crate) fn run(threads: u32, rate_hz: u32, limit: RunLimit<'_>) -> io::Result<Tally> {
    allow_files(threads.into(), "fewer threads")?;
    let allowed = sched_getaffinity(None)?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let timers: io::Result<Vec<_>> = (0..threads as usize)
        .map(|at| Ok((cpus.get(at % cpus.len().max(1)).copied(), timer(rate_hz)?)))
        .collect();
    let mut tally = together("irq", timers?, limit, &|| {}, &|(cpu, timer), stop| {
        if let Some(cpu) = cpu {
            let mut own = CpuSet::new();
            own.set(cpu);
            sched_setaffinity(None, &own)?;
        }
        // Armed by the thread that waits for it, so that the kernel's timer is on that CPU.
        arm(&timer, rate_hz)?;
        let mut expired = [0; 8];
        let mut interrupts = 0;
        while !stop.is_set() {
            rustix::io::read(&timer, &mut expired)?;
            // A timer does not interrupt again before it is read, so missed periods do not count.
            interrupts += 1;
        }
        Ok(Work::done(interrupts))
    })?;
    let expected = f64::from(threads) * f64::from(rate_hz) * tally.ran_ns as f64 / 1e9;
    let part = tally.work.done as f64 / expected.max(1.0);
    if part < 0.99 && expected >= 100.0 {
        tally
            .work
            .limits
            .push(format!("{:.0} % of the timers interrupted in time: the CPUs were busy", part * 100.0));
    }
    Ok(tally)
}

fn timer(rate_hz: u32) -> io::Result<OwnedFd> {
    let made = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC);
    made.map_err(|error| while_doing(&format!("cannot create timers of {rate_hz} Hz"), &error.into()))
}

fn arm(timer: &OwnedFd, rate_hz: u32) -> io::Result<()> {
    let period_ns = 1_000_000_000 / i64::from(rate_hz);
    let period = Timespec { tv_sec: period_ns / 1_000_000_000, tv_nsec: period_ns % 1_000_000_000 };
    let every = Itimerspec { it_interval: period, it_value: period };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &every)?;
    Ok(())
}

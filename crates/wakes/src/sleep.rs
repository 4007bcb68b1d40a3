//! Ways to sleep until a given time.

use model::Ns;
use model::wake::Sleeper;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use sys::posix_timer::PosixTimer;

/// A way to sleep, set up for the calling thread.
#[derive(Debug)]
pub(crate) enum Sleep {
    ClockNanosleep,
    Timerfd(OwnedFd),
    PosixTimer(PosixTimer),
}

fn timespec(ns: Ns) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

impl Sleep {
    /// Sets up wake-ups at `first_ns` and every `interval_ns` from then on.
    pub(crate) fn new(sleeper: Sleeper, first_ns: Ns, interval_ns: Ns) -> io::Result<Self> {
        Ok(match sleeper {
            Sleeper::ClockNanosleep => Self::ClockNanosleep,
            Sleeper::Timerfd => {
                let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
                let when = Itimerspec { it_interval: timespec(interval_ns), it_value: timespec(first_ns) };
                timerfd_settime(&fd, TimerfdTimerFlags::ABSTIME, &when)?;
                Self::Timerfd(fd)
            }
            Sleeper::PosixTimer => Self::PosixTimer(PosixTimer::start(first_ns, interval_ns)?),
        })
    }

    /// Sleeps until `until_ns`, one of the times it was set up for. Periodic timers may return
    /// earlier: if an expiration was counted as missed just before it came.
    #[inline]
    pub(crate) fn until(&self, until_ns: Ns) -> io::Result<()> {
        match self {
            Self::ClockNanosleep => loop {
                match clock_nanosleep_absolute(ClockId::Monotonic, &timespec(until_ns)) {
                    Ok(()) => return Ok(()),
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            },
            Self::Timerfd(fd) => loop {
                let mut expired = [0_u8; 8];
                match rustix::io::read(fd, &mut expired) {
                    Ok(_) => return Ok(()),
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            },
            Self::PosixTimer(timer) => timer.wait(),
        }
    }
}

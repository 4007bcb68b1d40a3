//! `--every`: a window in each interval, at a random moment, until a signal.
//!
//! Moments are random so that what a program does at fixed times (each full minute, after each
//! garbage collection of a known length) is met as often as it takes time, and so that many hosts
//! do not measure at once. They are on the monotonic clock: whoever sets the clock of the host
//! neither loses windows nor gets them at once.
//!
//! Each window is a dwell of its own: what it takes of memory and rights ends with it, and one that
//! fails is only that one.

use super::target;
use crate::cli::AttachArgs;
use crate::exit;
use crate::progress::ProgressLine;
use crate::stop::{ENDING, SIGTSTP};
use anyhow::{Context, bail};
use model::Ns;
use stats::Random;
use std::env;
use std::io;
use std::os::fd::AsFd;
use std::process::{Child, Command};
use std::time::Duration;
use sys::clock::{monotonic_ns, unix_time};
use sys::poll;
use sys::signals::{self, Signals};

/// The variable that tells a dwell that it is for one window.
const WINDOW: &str = "DWELL_WINDOW";

/// Whether this dwell was started for one of the windows. Signals act on it then, as they wait in
/// the dwell that started it.
pub(super) fn is_window() -> bool {
    let is_window = env::var_os(WINDOW).is_some();
    if is_window {
        signals::unblock();
    }
    is_window
}

/// Records windows of `length`, one in each interval of `every`; returns the exit status of the
/// last one.
///
/// # Errors
/// There is no such target now, or it is a process by its number, which is nobody's or another's
/// once the process has ended. A window that fails later is no error.
pub(super) fn every(args: &AttachArgs, every: Ns, length: Ns) -> anyhow::Result<u8> {
    if every <= length {
        bail!("--every {} is not longer than --for {}", duration(every), duration(length));
    }
    if let Some(pid) = args.targets.iter().find(|target| target.parse::<u32>().is_ok()) {
        bail!(
            "--every needs a target that outlives its process, not PID {pid}\ntry: a name, :PORT or --service"
        );
    }
    target(args)?;
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    let (unix_s, unix_ns) = unix_time();
    let seed = monotonic_ns() ^ unix_s.rotate_left(32) ^ u64::from(unix_ns);
    let mut moments = Moments { begin: monotonic_ns(), every, length, next: 0, random: Random::new(seed) };
    let mut status = 0;
    loop {
        let at = moments.next(monotonic_ns());
        let line = ProgressLine::new(args.quiet);
        line.put(|| format!("next window in {}; Ctrl-C to stop", duration(at - monotonic_ns().min(at))));
        if waits_until(at, &mut signals)? {
            return Ok(status);
        }
        drop(line);
        let window = Command::new(env::current_exe().context("cannot find dwell itself")?)
            .args(env::args_os().skip(1))
            .env(WINDOW, "1")
            .spawn()
            .context("cannot start dwell for a window")?;
        let (ended, asked) = wait(window, &mut signals).context("cannot wait for a window")?;
        status = ended.unwrap_or(if asked { status } else { exit::DWELL_FAILED });
        if asked {
            return Ok(status);
        }
    }
}

fn duration(ns: Ns) -> String {
    report::units::duration(ns)
}

/// When windows begin.
struct Moments {
    /// When the first interval begins.
    begin: Ns,
    every: Ns,
    length: Ns,
    /// The first interval that has had no window.
    next: u64,
    random: Random,
}

impl Moments {
    /// The next moment: in the next interval of which enough is left for a window, at random in
    /// what is left of it.
    fn next(&mut self, now: Ns) -> Ns {
        let mut interval = self.next.max(now.saturating_sub(self.begin) / self.every);
        let begins = |interval: u64| self.begin.saturating_add(interval.saturating_mul(self.every));
        if begins(interval + 1).saturating_sub(self.length) < now {
            interval += 1;
        }
        let from = begins(interval).max(now);
        let until = begins(interval + 1).saturating_sub(self.length).max(from);
        self.next = interval + 1;
        from + ((until - from) as f64 * self.random.uniform()) as Ns
    }
}

/// Sleeps until then; returns whether a signal asked dwell to end.
fn waits_until(at: Ns, signals: &mut Signals) -> io::Result<bool> {
    while monotonic_ns() < at {
        if takes(signals, &mut |_| ())? {
            return Ok(true);
        }
        let left = Duration::from_nanos(at.saturating_sub(monotonic_ns()));
        poll::wait(&[signals.as_fd()], Some(left))?;
    }
    Ok(false)
}

/// Waits for the dwell of a window. Returns its exit status (none if a signal ended it), and
/// whether a signal asked for the end: a window that is under way then ends at once, and its result
/// is kept. One that is not yet, or is over and analysed, has none.
fn wait(mut window: Child, signals: &mut Signals) -> io::Result<(Option<u8>, bool)> {
    let pid = window.id();
    let mut asked = false;
    loop {
        // Before the look at it: its end is signalled too, and ends the wait.
        asked |= takes(signals, &mut |from_terminal| {
            // From a terminal it has come to both.
            if !from_terminal {
                signals::terminate(pid);
            }
        })?;
        if let Some(status) = window.try_wait()? {
            return Ok((status.code().and_then(|code| u8::try_from(code).ok()), asked));
        }
        poll::wait(&[signals.as_fd()], None)?;
    }
}

/// Takes the signals that have come. Returns whether one asked for the end; `asks` is called for
/// each that does, with whether a terminal sent it.
fn takes(signals: &mut Signals, asks: &mut dyn FnMut(bool)) -> io::Result<bool> {
    let mut asked = false;
    while let Some(signal) = signals.take()? {
        match signal.number {
            number if ENDING.contains(&number) => {
                asked = true;
                asks(signal.from_kernel);
            }
            SIGTSTP => signals::stop_self(),
            _ => {}
        }
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Ns = 1_000_000_000;

    fn moments(begin: Ns) -> Moments {
        Moments { begin, every: 100 * SECOND, length: 10 * SECOND, next: 0, random: Random::new(7) }
    }

    #[test]
    fn each_interval_has_one_window_that_ends_in_it_at_any_moment() {
        let mut moments = moments(5 * SECOND);
        let mut now = 5 * SECOND;
        let mut tenths = [0; 9];
        for interval in 0..900 {
            let at = moments.next(now);
            let within = at - 5 * SECOND - interval * 100 * SECOND;
            assert!(within <= 90 * SECOND, "{interval} {within}");
            tenths[(within / (10 * SECOND)).min(8) as usize] += 1;
            now = at + 10 * SECOND;
        }
        assert!(tenths.iter().all(|count| (70..=130).contains(count)), "{tenths:?}");
    }

    #[test]
    fn a_window_that_took_long_costs_the_intervals_that_are_over_and_no_more() {
        let mut moments = moments(0);
        moments.next(0);
        // Until the middle of the fourth: what is left of it has room.
        let at = moments.next(350 * SECOND);
        assert!((350 * SECOND..=390 * SECOND).contains(&at), "{at}");
        // Until its last 5 s: there is none, and the fifth has one.
        let at = moments.next(495 * SECOND);
        assert!((500 * SECOND..=590 * SECOND).contains(&at), "{at}");
        let at = moments.next(at + SECOND);
        assert!((600 * SECOND..=690 * SECOND).contains(&at), "{at}");
    }

    #[test]
    fn a_clock_at_its_end_does_not_overflow() {
        let at = moments(Ns::MAX - 50 * SECOND).next(Ns::MAX - 20 * SECOND);
        assert!(at >= Ns::MAX - 20 * SECOND, "{at}");
    }
}

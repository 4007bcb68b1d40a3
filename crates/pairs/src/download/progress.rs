//! What downloads amount to: on standard error, while they run, if that is a terminal.
//!
//! No thread of its own: it is written by whoever gets something, five times a second at most.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(200);

pub(crate) struct Progress {
    downloads: u64,
    begun: Instant,
    shown: bool,
    sum: Mutex<Sum>,
}

#[derive(Debug, Default)]
struct Sum {
    whole: u64,
    bytes: u64,
    /// Of how many downloads the length is known, and all of these.
    known: u64,
    known_bytes: u64,
    shown_at: Option<Duration>,
}

impl Progress {
    pub(crate) fn new(downloads: u64) -> Self {
        Self { downloads, begun: Instant::now(), shown: io::stderr().is_terminal(), sum: Mutex::default() }
    }

    /// One more begins, of this length if it is told.
    pub(super) fn expects(&self, bytes: Option<u64>) {
        self.add(|sum| {
            sum.known += u64::from(bytes.is_some());
            sum.known_bytes += bytes.unwrap_or(0);
        });
    }

    pub(super) fn came(&self, bytes: u64) {
        self.add(|sum| sum.bytes += bytes);
    }

    pub(super) fn is_whole(&self) {
        self.add(|sum| sum.whole += 1);
    }

    /// Takes the line away: something else is about to be written.
    pub(crate) fn clear(&self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn add(&self, what: impl FnOnce(&mut Sum)) {
        let Ok(mut sum) = self.sum.lock() else { return };
        what(&mut sum);
        let now = self.begun.elapsed();
        if self.shown && sum.shown_at.is_none_or(|at| now >= at + INTERVAL) {
            sum.shown_at = Some(now);
            let _ = write!(io::stderr(), "\r\x1b[K{}", sum.line(self.downloads, now));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Sum {
    /// `3 of 10 downloads, 1.5 MB of 5.0 MB, 750 kB/s, 5 s left`.
    fn line(&self, downloads: u64, after: Duration) -> String {
        let mut line = format!("{} of {downloads} downloads, {}", self.whole, amount(self.bytes as f64));
        // Those that have not begun are taken for as long as the others are on average.
        let all = (self.known > 0).then(|| self.known_bytes as f64 / self.known as f64 * downloads as f64);
        let rate = self.bytes as f64 / after.as_secs_f64().max(1e-3);
        if let Some(all) = all {
            let _ = write!(line, " of {}", amount(all.max(self.bytes as f64)));
        }
        let _ = write!(line, ", {}/s", amount(rate));
        if let Some(left) = all.map(|all| (all - self.bytes as f64).max(0.0)).filter(|_| rate > 0.0) {
            let _ = write!(line, ", {:.0} s left", (left / rate).ceil());
        }
        line
    }
}

/// Two digits at least.
pub(crate) fn amount(bytes: f64) -> String {
    let (value, unit) = match bytes {
        ..1e3 => return format!("{bytes:.0} B"),
        ..1e6 => (bytes / 1e3, "kB"),
        ..1e9 => (bytes / 1e6, "MB"),
        _ => (bytes / 1e9, "GB"),
    };
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amount_rate_and_time_left_are_those_of_what_is_known() {
        let sum = Sum { whole: 3, bytes: 1_500_000, known: 4, known_bytes: 2_000_000, shown_at: None };
        let line = sum.line(10, Duration::from_secs(2));
        assert_eq!(line, "3 of 10 downloads, 1.5 MB of 5.0 MB, 750 kB/s, 5 s left");
        let none = Sum { bytes: 2000, ..Sum::default() };
        assert_eq!(none.line(1, Duration::from_secs(1)), "0 of 1 downloads, 2.0 kB, 2.0 kB/s");
    }
}

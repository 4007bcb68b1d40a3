//! A copy in pieces of 512 bytes, or of 64 KiB; on a terminal with amount, rate and time left.

use crate::work::filled;
use crate::{Pair, Run, Setting, Size, Way, Writing};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::time::{Duration, Instant};

pub(super) static PAIR: Pair = Pair {
    name: "copy",
    title: "a copy in pieces of 512 bytes, or of 64 KiB",
    cause: Some("small-io"),
    size: Size { unit: "MiB", usual: 100, least: 60, most: 120 },
    ways: &[
        Way { name: "small", what: "pieces of 512 bytes", run: Run::Native(small) },
        Way { name: "large", what: "pieces of 64 KiB", run: Run::Native(large) },
    ],
    source: include_str!("copy.rs"),
    needs: &[],
    lesson: "Two calls for each piece: with 512 bytes each, the old size of a disk's sector and still what dd takes by \
             default, the copy is mostly calls. From 64 KiB on they no longer count, and what is left is the copying itself.",
    writing: Some(Writing {
        title: "Code Quality, chapter 4.1 (Spinellis)",
        theirs: "a copy that shows its amount, its seconds and its bits per second as it goes",
    }),
};

const MIB: u64 = 1 << 20;
/// Between two looks at the clock.
const LOOK_BYTES: u64 = 4 * MIB;

fn small(setting: &Setting) -> io::Result<()> {
    copy(setting, 512)
}

fn large(setting: &Setting) -> io::Result<()> {
    copy(setting, 65_536)
}

fn copy(setting: &Setting, piece: usize) -> io::Result<()> {
    let all = setting.size * MIB;
    let (mut made, block) = (File::create("from")?, filled(MIB as usize));
    for _ in 0..setting.size {
        made.write_all(&block)?;
    }
    let (mut from, mut to, mut bytes) = (File::open("from")?, File::create("to")?, vec![0; piece]);
    let mut progress = Progress::new(all);
    let mut done = 0;
    while done < all {
        let some = from.read(&mut bytes)?;
        if some == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(&bytes[..some])?;
        done += some as u64;
        progress.put(done);
    }
    progress.end();
    fs::remove_file("from")?;
    fs::remove_file("to")
}

/// Amount, rate and time left, where a person looks on: the lab gives programs no standard input.
struct Progress {
    all: u64,
    from: Instant,
    shown: Instant,
    next: u64,
    on: bool,
}

impl Progress {
    fn new(all: u64) -> Self {
        let now = Instant::now();
        let on = io::stdin().is_terminal() && io::stderr().is_terminal();
        Self { all, from: now, shown: now, next: if on { LOOK_BYTES } else { u64::MAX }, on }
    }

    fn put(&mut self, done: u64) {
        if done < self.next {
            return;
        }
        self.next = done + LOOK_BYTES;
        if self.shown.elapsed() >= Duration::from_millis(100) {
            self.shown = Instant::now();
            let shown = line(done, self.all, self.from.elapsed());
            let _ = write!(io::stderr(), "\r{shown}\x1b[K");
        }
    }

    fn end(&self) {
        if self.on {
            let shown = line(self.all, self.all, self.from.elapsed());
            let _ = writeln!(io::stderr(), "\r{shown}\x1b[K");
        }
    }
}

/// `48 of 100 MiB, 1.2 s, 336 Mb/s, 1.3 s left`.
fn line(done: u64, all: u64, took: Duration) -> String {
    let seconds = took.as_secs_f64().max(1e-9);
    let (rate, left) = (done as f64 / seconds, all.saturating_sub(done) as f64);
    let (of_done, of_all) = (done / MIB, all / MIB);
    let left = if done == 0 { "?".to_owned() } else { format!("{:.1}", left / rate) };
    format!("{of_done} of {of_all} MiB, {seconds:.1} s, {:.0} Mb/s, {left} s left", rate * 8.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_shows_amount_rate_and_time_left() {
        let shown = line(25 * MIB, 100 * MIB, Duration::from_secs(2));
        assert_eq!(shown, "25 of 100 MiB, 2.0 s, 105 Mb/s, 6.0 s left");
        assert_eq!(line(0, MIB, Duration::ZERO), "0 of 1 MiB, 0.0 s, 0 Mb/s, ? s left");
    }
}

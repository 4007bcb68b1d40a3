//! Writers that the kernel holds back until the disk has caught up, against the kernel's own events
//! of it (`balance_dirty_pages`).
//!
//! Needs root and loop devices: of a disk of its own a test may say how much may be in memory, and
//! no other program is held for it.

use crate::support::{fresh, hold_coarse, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const EVENT: &str = "events/writeback/balance_dirty_pages/enable";

/// What a command prints, which has to succeed.
fn done(command: &[&str]) -> String {
    let output = Command::new(command[0]).args(&command[1..]).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// A file system on a disk of its own, of which little may be in memory. Gone with the test.
struct SmallShare {
    place: PathBuf,
    disk: String,
}

impl SmallShare {
    fn new() -> Self {
        let place = fresh("held");
        fs::create_dir_all(place.join("within")).expect("a directory in the scratch directory");
        let image = place.join("image");
        let image = image.to_str().expect("plain characters");
        done(&["truncate", "-s", "300M", image]);
        done(&["mkfs.ext4", "-qF", image]);
        let disk = done(&["losetup", "-f", "--show", image]);
        let made = Self { place, disk };
        done(&["mount", &made.disk, made.within("").to_str().expect("plain characters")]);
        let name = Path::new(&made.disk).file_name().and_then(|name| name.to_str()).expect("a device");
        let number = fs::read_to_string(format!("/sys/block/{name}/dev")).expect("a disk has a number");
        for (file, value) in [("max_ratio", "1"), ("strict_limit", "1")] {
            let path = format!("/sys/class/bdi/{}/{file}", number.trim());
            fs::write(&path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
        made
    }

    fn within(&self, name: &str) -> PathBuf {
        self.place.join("within").join(name)
    }
}

impl Drop for SmallShare {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.place.join("within")).status();
        let _ = Command::new("losetup").args(["-d", &self.disk]).status();
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// The kernel's events, in a buffer of their own. Gone with the test.
struct Events(PathBuf);

impl Events {
    fn new() -> Self {
        let at = TRACING.iter().map(|at| Path::new(at).join("instances"));
        let within = at.into_iter().find(|at| at.is_dir()).expect("tracefs is mounted");
        let events = Self(within.join(format!("dwell-held-{}", std::process::id())));
        fs::create_dir(&events.0).expect("the tests may make buffers of events");
        fs::write(events.0.join(EVENT), "1").expect("the kernel has the event");
        events
    }

    /// How often this thread was to sleep, and for how many ms.
    fn of(&self, tid: u64) -> (u64, u64) {
        let trace = fs::read_to_string(self.0.join("trace")).expect("a buffer can be read");
        let own = trace.lines().filter(|line| line.contains(&format!("-{tid} ")));
        let paused = own.filter_map(|line| line.split(" pause=").nth(1)?.split(' ').next()?.parse().ok());
        let paused: Vec<i64> = paused.filter(|ms| *ms > 0).collect();
        (paused.len() as u64, paused.iter().sum::<i64>() as u64)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join(EVENT), "0");
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_writer_is_held_as_often_as_the_kernel_says() {
    let share = SmallShare::new();
    let target = format!("of={}", share.within("data").display());
    let writes = ["dd", "if=/dev/zero", &target, "bs=1M", "count=200", "status=none"];
    let truth = std::cell::Cell::new((0, 0));
    hold_coarse(
        || {
            let events = Events::new();
            let told = run(&writes);
            let tid = told.rows("threads").first().and_then(|row| row["tid"].as_u64());
            truth.set(events.of(tid.expect("dd has a thread")));
            told
        },
        |told, claims| {
            let (times, ms) = truth.get();
            let writes = told.rows("waits").iter().filter(|wait| wait["call"] == "write");
            let by = writes.flat_map(|wait| wait["by"].as_array().into_iter().flatten());
            let (mut held, mut held_ns) = (0, 0);
            for waker in by.filter(|waker| waker["kind"] == "timer") {
                held += waker["times"].as_u64().unwrap_or_default();
                held_ns += waker["ns"].as_u64().unwrap_or_default();
            }
            claims.that(times > 0, "the kernel held nobody");
            claims.equal("waits that a timer ended", held, times);
            // A sleep lasts to the end of a jiffy (10 ms at most), and a timer is not early.
            let begun = times * 10;
            claims.between("ms", held_ns / 1_000_000, ms.saturating_sub(begun), ms + begun);
        },
    );
}

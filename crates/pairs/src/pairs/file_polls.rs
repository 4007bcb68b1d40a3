//! A file that another thread makes: looked for every 100 ms, or waited for.

use crate::work::compute;
use crate::{Pair, Run, Setting, Size, Way};
use rustix::fs::inotify;
use std::path::Path;
use std::time::Duration;
use std::{fs, io, thread};

pub(super) static PAIR: Pair = Pair {
    name: "file-polls",
    title: "a file looked for every 100 ms, or waited for",
    cause: Some("sleep-polling"),
    size: Size { unit: "files", usual: 6, least: 4, most: 8 },
    ways: &[
        Way { name: "polls", what: "a look every 100 ms", run: Run::Native(polls) },
        Way { name: "waits", what: "inotify", run: Run::Native(waits) },
    ],
    source: include_str!("file_polls.rs"),
    needs: &[],
    lesson: "Who looks every 100 ms goes on 50 ms late on average, each time, and looks in vain in between. Looking more often \
             takes more CPU time and is still late. inotify says when a file is there; a child's end, a lock and a queue can be \
             waited for in the same way.",
    writing: None,
};

fn polls(setting: &Setting) -> io::Result<()> {
    for at in 0..setting.size {
        let worker = thread::spawn(move || make(at));
        while !Path::new("ready").exists() {
            thread::sleep(Duration::from_millis(100));
        }
        worker.join().expect("it does not panic")?;
        fs::remove_file("ready")?;
    }
    Ok(())
}

fn waits(setting: &Setting) -> io::Result<()> {
    let changes = inotify::init(inotify::CreateFlags::CLOEXEC)?;
    inotify::add_watch(&changes, ".", inotify::WatchFlags::MOVED_TO)?;
    for at in 0..setting.size {
        let worker = thread::spawn(move || make(at));
        while !Path::new("ready").exists() {
            rustix::io::read(&changes, &mut [0; 4096])?;
        }
        worker.join().expect("it does not panic")?;
        fs::remove_file("ready")?;
    }
    Ok(())
}

/// Works, each time for another while, and makes the file.
fn make(at: u64) -> io::Result<()> {
    compute(60_000_000 + at * 37_000_000 % 100_000_000);
    fs::write("made", "ready")?;
    fs::rename("made", "ready")
}

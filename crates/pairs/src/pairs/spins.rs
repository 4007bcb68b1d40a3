//! A thread that looks again and again whether something has come, or sleeps until it has.

use crate::work::{compute, cpus, keep};
use crate::{Pair, Run, Setting, Size, Way};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::scope;

pub(super) static PAIR: Pair = Pair {
    name: "spins",
    title: "threads that look again and again whether a byte has come, or sleep",
    cause: Some("busy-wait"),
    size: Size { unit: "million rounds", usual: 240, least: 120, most: 240 },
    ways: &[
        Way { name: "look", what: "reads that return at once", run: Run::Native(look) },
        Way { name: "sleep", what: "reads that wait", run: Run::Native(sleep) },
    ],
    source: include_str!("spins.rs"),
    needs: &[],
    lesson: "A thread that looks in a loop keeps a CPU busy and gets nothing done. With as many of them as there are CPUs, \
             the one that they wait for gets what they leave. A blocking read, a condition or a futex lets the kernel wake \
             the thread when there is something to do; spin only for waits that are shorter than a wake-up.",
    writing: None,
};

fn look(setting: &Setting) -> io::Result<()> {
    listened_to(setting, |mut from| {
        from.set_nonblocking(true)?;
        let mut byte = [0];
        while from.read(&mut byte).is_err() {}
        Ok(())
    })
}

fn sleep(setting: &Setting) -> io::Result<()> {
    listened_to(setting, |mut from| {
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        Ok(())
    })
}

/// Computes, and then tells a thread for each CPU.
fn listened_to(setting: &Setting, listen: fn(UnixStream) -> io::Result<()>) -> io::Result<()> {
    scope(|scope| {
        let mut listeners = Vec::new();
        for _ in 0..cpus() {
            let (to, from) = UnixStream::pair()?;
            scope.spawn(move || keep(listen(from)));
            listeners.push(to);
        }
        compute(setting.size * 1_000_000);
        listeners.iter_mut().try_for_each(|to| to.write_all(&[1]))
    })
}

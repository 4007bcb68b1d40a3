//! The starter's own side: a process that does one request after the other, until dwell's end of
//! the socket is closed.
#![allow(unsafe_code)]

use super::child;
use super::family;
use super::figures::{Figures, Step};
use super::order::Order;
use super::request::{self, Request};
use crate::clock::monotonic_ns;
use crate::counters::SharedCounters;
use crate::origin::{origin, set_ignored};
use crate::signals::block_all;
use crate::spawn::image::ExecImage;
use crate::spawn::wait::{self, Change};
use model::Pid;
use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::process::{getpid, set_child_subreaper};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// What the starter does until dwell ends; its exit status.
pub(super) fn serve(socket: UnixStream, figures: &SharedCounters) -> u8 {
    // Signals of the terminal are for dwell and for the command, which gets the mask that dwell
    // got.
    block_all();
    // A parent that ignores SIGCHLD would have the kernel reap the commands.
    set_ignored(libc::SIGCHLD, false);
    close_own(socket.as_raw_fd());
    let_go_of_streams();
    // Without it, processes that a command leaves behind are init's, and not counted.
    let _ = set_child_subreaper(Some(getpid()));
    let figures = Figures(figures);
    let mut left = BTreeSet::new();
    while let Some(request) = request::receive(&socket) {
        match request {
            Request::Run { order, environment, streams } => {
                left = run(&order, &environment, &streams, figures, &left);
            }
            Request::Count => {
                left = family::living();
                figures.set_left(0, left.len());
            }
        }
        if (&socket).write_all(b"D").is_err() {
            break;
        }
    }
    0
}

/// Runs a command to its end. Takes and gives the processes that were left behind.
fn run(
    order: &Order,
    environment: &[OsString],
    streams: &[OwnedFd; 3],
    figures: Figures<'_>,
    left_before: &BTreeSet<Pid>,
) -> BTreeSet<Pid> {
    figures.clear();
    if let Err((step, error)) = start_and_wait(order, environment, streams, figures) {
        figures.fail(step, error.raw_os_error().unwrap_or(libc::EINVAL));
    }
    let left = family::living();
    let earlier = left.intersection(left_before).count();
    figures.set_left(left.len() - earlier, earlier);
    left
}

fn start_and_wait(
    order: &Order,
    environment: &[OsString],
    streams: &[OwnedFd; 3],
    figures: Figures<'_>,
) -> Result<(), (Step, io::Error)> {
    let at = |step| move |error| (step, error);
    let image = ExecImage::of(&order.path, order.is_script, &order.argv, environment);
    let image = image.map_err(at(Step::Arguments))?;
    let streams = [&streams[0], &streams[1], &streams[2]].map(AsRawFd::as_raw_fd);
    let pid = child::fork(&image, origin(), streams, figures).map_err(at(Step::Fork))?;
    figures.set_pid(u64::from(pid.as_raw_nonzero().get().unsigned_abs()));
    loop {
        let change = wait::ended_or_stopped(pid);
        let now_ns = monotonic_ns();
        match change.map_err(at(Step::Wait))? {
            Some(Change::Ended(end, switches)) => {
                figures.set_end(now_ns, &end, switches);
                return Ok(());
            }
            Some(Change::Stopped) => figures.set_stopped(),
            Some(Change::Continued) | None => {}
        }
    }
}

/// Closes dwell's own descriptors, which are those that would not outlive `execve(2)`: open here,
/// they would keep files and pipes of dwell in use. What dwell itself was given is the command's.
fn close_own(but: RawFd) {
    let Ok(listed) = fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<RawFd> =
        listed.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in open.into_iter().filter(|fd| *fd > libc::STDERR_FILENO && *fd != but) {
        // SAFETY: the descriptor is open, or was the one of the list, then the call fails; nothing
        // keeps the borrowed one.
        let flags = rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(fd) });
        if flags.is_ok_and(|flags| flags.contains(FdFlags::CLOEXEC)) {
            // SAFETY: its owner in Rust lives in dwell; here it is a copy that nothing uses.
            unsafe { libc::close(fd) };
        }
    }
}

/// Puts `/dev/null` in place of dwell's standard streams, so that who reads its output sees its
/// end.
fn let_go_of_streams() {
    let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) else {
        return;
    };
    for place in 0..=libc::STDERR_FILENO {
        // SAFETY: takes two numbers; replaces streams that nothing here reads or writes.
        unsafe { libc::dup2(null.as_raw_fd(), place) };
    }
}

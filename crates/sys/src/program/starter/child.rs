//! The command's process, from the fork to `execve(2)`.
#![allow(unsafe_code)]

use super::figures::{Figures, Step};
use crate::clock::monotonic_ns;
use crate::origin::InheritedSignals;
use crate::program::errno::errno;
use crate::spawn::image::ExecImage;
use rustix::process::Pid;
use std::ffi::{c_char, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

/// Forks it and returns its process id.
pub(super) fn fork(
    image: &ExecImage,
    origin: &InheritedSignals,
    streams: [RawFd; 3],
    figures: Figures<'_>,
) -> io::Result<Pid> {
    // SAFETY: the starter has one thread, and the child runs only `become_command`, which allocates
    // nothing.
    match unsafe { libc::fork() } {
        0 => become_command(image, origin, streams, figures),
        pid => Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error),
    }
}

fn become_command(
    image: &ExecImage,
    origin: &InheritedSignals,
    streams: [RawFd; 3],
    figures: Figures<'_>,
) -> ! {
    for (stream, place) in streams.into_iter().zip(0..) {
        if let Err(errno) = put_in_place(stream, place) {
            refuse(figures, Step::Streams, errno);
        }
    }
    origin.restore();
    figures.set_starter_rss(max_rss_bytes());
    // Nothing but the call comes between the clock and the kernel.
    figures.set_started(monotonic_ns());
    let mut errno = execve(image.path.as_ptr(), image.argv.as_ptr(), image.envp.as_ptr());
    if let (libc::ENOEXEC, Some(script)) = (errno, &image.script) {
        errno = execve(image.shell().as_ptr(), script.as_ptr(), image.envp.as_ptr());
    }
    refuse(figures, Step::Execute, errno);
}

/// Makes a descriptor the standard stream `place`. The copy stays open over `execve(2)`.
fn put_in_place(stream: RawFd, place: RawFd) -> Result<(), c_int> {
    // SAFETY: takes two numbers; the descriptors are the child's own copies.
    if unsafe { libc::dup2(stream, place) } < 0 { Err(errno()) } else { Ok(()) }
}

/// The largest resident set so far: the kernel begins the command's at it.
fn max_rss_bytes() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the place is valid for writes; all bits zero are a valid `rusage`, in case the kernel
    // writes none.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024
}

fn refuse(figures: Figures<'_>, step: Step, errno: c_int) -> ! {
    figures.fail(step, errno);
    // SAFETY: ends the process without running anything of the starter's.
    unsafe { libc::_exit(125) }
}

/// Returns only the error number of its failure.
fn execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> c_int {
    // SAFETY: the caller passes terminated strings and null-terminated tables that live in
    // `ExecImage`.
    unsafe { libc::execve(path, argv, envp) };
    errno()
}

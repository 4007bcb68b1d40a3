//! The child, from the fork to `execve`. Its code is async-signal-safe and allocates nothing:
//! another thread of dwell may have held the allocator's lock at the fork.
#![allow(unsafe_code)]

use super::filter::CallFilter;
use super::image::ExecImage;
use crate::origin::InheritedSignals;
use crate::program::errno::errno;
use crate::user::User;
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities};
use std::ffi::c_int;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// The child's descriptors of the two pipes.
pub(super) struct PipeEnds {
    /// The end to read the go-ahead from.
    pub(super) hold: RawFd,
    /// The end to report progress to.
    pub(super) status: RawFd,
    /// dwell's ends; open, they would keep the child held after dwell's death.
    pub(super) not_its_own: [RawFd; 2],
}

/// Progress of the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildReport {
    /// It is set up, and waits.
    Ready,
    /// It is about to execute the program.
    Executing,
    /// The next step failed, with this error number.
    Refused(i32),
    /// What was to be imposed on the program was refused, with this error number.
    Unimposed(i32),
    /// The pipe is closed: the program was executed, or the child is dead.
    Nothing,
}

impl ChildReport {
    const SIZE: usize = 5;

    fn encode(self) -> [u8; Self::SIZE] {
        let (tag, errno) = match self {
            ChildReport::Ready => (b'R', 0),
            ChildReport::Executing => (b'E', 0),
            ChildReport::Refused(errno) => (b'X', errno),
            ChildReport::Unimposed(errno) => (b'U', errno),
            ChildReport::Nothing => (0, 0),
        };
        let [a, b, c, d] = errno.to_le_bytes();
        [tag, a, b, c, d]
    }

    /// Waits for the next report of the child.
    pub(super) fn read(from: &mut PipeReader) -> io::Result<Self> {
        let mut message = [0; Self::SIZE];
        match from.read_exact(&mut message) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(ChildReport::Nothing),
            Err(error) => return Err(error),
        }
        let [tag, errno @ ..] = message;
        Ok(match tag {
            b'R' => ChildReport::Ready,
            b'E' => ChildReport::Executing,
            b'U' => ChildReport::Unimposed(i32::from_le_bytes(errno)),
            _ => ChildReport::Refused(i32::from_le_bytes(errno)),
        })
    }
}

/// What differs from dwell's own for the program, besides its user.
pub(super) struct Changes {
    /// In place of its standard output and standard error.
    pub(super) output: Option<OwnedFd>,
    /// On its system calls.
    pub(super) filter: Option<CallFilter>,
}

/// Forks the child and returns its process id.
pub(super) fn fork(
    image: &ExecImage,
    origin: &InheritedSignals,
    user: Option<&User>,
    changes: &Changes,
    ends: &PipeEnds,
) -> io::Result<Pid> {
    // SAFETY: the child runs only `become_program`, which is safe in a forked child.
    match unsafe { libc::fork() } {
        0 => become_program(image, origin, user, changes, ends),
        pid => Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error),
    }
}

fn become_program(
    image: &ExecImage,
    origin: &InheritedSignals,
    user: Option<&User>,
    changes: &Changes,
    ends: &PipeEnds,
) -> ! {
    for fd in ends.not_its_own {
        close(fd);
    }
    // Before it becomes another user, who may not filter without giving up set-user-ID programs.
    if let Err(errno) = make(changes) {
        tell(ends, ChildReport::Unimposed(errno));
        exit();
    }
    if let Some(user) = user
        && let Err(errno) = become_user(user)
    {
        refuse(ends, errno);
    }
    origin.restore();
    tell(ends, ChildReport::Ready);
    if !go_ahead(ends.hold) {
        exit();
    }
    tell(ends, ChildReport::Executing);
    let mut errno = execve(image.path.as_ptr(), image.argv.as_ptr(), image.envp.as_ptr());
    if let (libc::ENOEXEC, Some(script)) = (errno, &image.script) {
        errno = execve(image.shell().as_ptr(), script.as_ptr(), image.envp.as_ptr());
    }
    refuse(ends, errno);
}

fn refuse(ends: &PipeEnds, errno: c_int) -> ! {
    tell(ends, ChildReport::Refused(errno));
    exit();
}

fn make(changes: &Changes) -> Result<(), c_int> {
    if let Some(output) = &changes.output {
        for place in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
            // SAFETY: takes two numbers; the descriptors are the child's own copies.
            if unsafe { libc::dup2(output.as_raw_fd(), place) } < 0 {
                return Err(errno());
            }
        }
    }
    changes.filter.as_ref().map_or(Ok(()), CallFilter::put_in_force)
}

/// Becomes another user, with nothing of dwell's that would outlast it: no descriptors but the
/// standard ones, no capabilities that an execution could bring back, and a session without dwell's
/// terminal, into which it could type what root's shell then reads (TIOCSTI).
fn become_user(user: &User) -> Result<(), c_int> {
    let another = user.is_another();
    set_ids(user)?;
    if !another {
        return Ok(());
    }
    // SAFETY: takes nothing. A child that was just forked leads no group, so it cannot fail.
    unsafe { libc::setsid() };
    close_at_execve();
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    // One system call each. The ambient ones went with root's ID, unless that was forbidden.
    let _ = clear_ambient_capability_set();
    set_capabilities(None, sets).map_err(Errno::raw_os_error)
}

/// Has all descriptors but the standard ones closed when the program is executed.
fn close_at_execve() {
    const FIRST: libc::c_long = 3;
    const LAST: libc::c_long = 0xffff_ffff;
    const CLOEXEC: libc::c_long = 4;
    /// Looked at one by one before Linux 5.11: dwell itself opens fewer.
    const MANY: libc::c_int = 65_536;
    // SAFETY: takes three numbers.
    if unsafe { libc::syscall(libc::SYS_close_range, FIRST, LAST, CLOEXEC) } == 0 {
        return;
    }
    for fd in libc::STDERR_FILENO + 1..MANY {
        // SAFETY: takes three numbers; one that is not open is no matter.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Groups first: afterwards they may not be set. Raw system calls, because the C library's would
/// also signal threads that the child does not have.
fn set_ids(user: &User) -> Result<(), c_int> {
    // SAFETY: the pointer is to as many group ids as the length says.
    let groups = unsafe { libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()) };
    if groups != 0 {
        // No right to set groups is needed to stay the same user. SAFETY: takes nothing and cannot
        // fail.
        let already = unsafe { libc::geteuid() } == user.uid;
        return if already { Ok(()) } else { Err(errno()) };
    }
    // SAFETY: takes three numbers.
    if unsafe { libc::syscall(libc::SYS_setresgid, user.gid, user.gid, user.gid) } != 0 {
        return Err(errno());
    }
    // SAFETY: takes three numbers.
    if unsafe { libc::syscall(libc::SYS_setresuid, user.uid, user.uid, user.uid) } != 0 {
        return Err(errno());
    }
    Ok(())
}

/// Waits for the go-ahead; `false` when dwell closed the pipe, or died.
fn go_ahead(hold: RawFd) -> bool {
    let mut byte = 0_u8;
    loop {
        // SAFETY: the buffer is one byte long.
        let read = unsafe { libc::read(hold, (&raw mut byte).cast(), 1) };
        if read >= 0 || errno() != libc::EINTR {
            return read == 1;
        }
    }
}

fn tell(ends: &PipeEnds, told: ChildReport) {
    let message = told.encode();
    // SAFETY: the buffer is as long as the length says. Less than PIPE_BUF: written whole or, with
    // dwell dead, not.
    unsafe { libc::write(ends.status, message.as_ptr().cast(), message.len()) };
}

fn close(fd: RawFd) {
    // SAFETY: the descriptor is the child's copy; its owner in Rust lives in the parent.
    unsafe { libc::close(fd) };
}

fn exit() -> ! {
    // SAFETY: ends the process without running anything of the parent's.
    unsafe { libc::_exit(125) }
}

/// Returns only the error number of its failure.
fn execve(
    path: *const libc::c_char,
    argv: *const *const libc::c_char,
    envp: *const *const libc::c_char,
) -> c_int {
    // SAFETY: the callers pass terminated strings and null-terminated tables that live in
    // `ExecImage`.
    unsafe { libc::execve(path, argv, envp) };
    errno()
}

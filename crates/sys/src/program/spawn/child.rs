//! The child, from the fork to `execve`. What runs in it is async-signal-safe and allocates nothing: another
//! thread of dwell may have held the allocator's lock at the fork.
#![allow(unsafe_code)]

use super::image::Image;
use crate::origin::Origin;
use crate::user::User;
use rustix::process::Pid;
use std::ffi::c_int;
use std::io::{self, PipeReader, Read};
use std::os::fd::RawFd;

/// The descriptors of the two pipes, as the child has them.
pub(super) struct Ends {
    /// To read the go-ahead from.
    pub(super) hold: RawFd,
    /// To tell how far it got.
    pub(super) status: RawFd,
    /// dwell's ends, which would keep the hold open after dwell's death.
    pub(super) not_its_own: [RawFd; 2],
}

/// How far the child got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// It is as the program shall be, and waits.
    Ready,
    /// It is about to execute the program.
    Executing,
    /// The system refused what comes next, with this error number.
    Refused(i32),
    /// The pipe is closed: the program was executed, or the child is dead.
    Nothing,
}

impl Told {
    const SIZE: usize = 5;

    fn encode(self) -> [u8; Self::SIZE] {
        let (tag, errno) = match self {
            Told::Ready => (b'R', 0),
            Told::Executing => (b'E', 0),
            Told::Refused(errno) => (b'X', errno),
            Told::Nothing => (0, 0),
        };
        let [a, b, c, d] = errno.to_le_bytes();
        [tag, a, b, c, d]
    }

    /// Waits for what the child says next.
    pub(super) fn read(from: &mut PipeReader) -> io::Result<Self> {
        let mut message = [0; Self::SIZE];
        match from.read_exact(&mut message) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Told::Nothing),
            Err(error) => return Err(error),
        }
        let [tag, errno @ ..] = message;
        Ok(match tag {
            b'R' => Told::Ready,
            b'E' => Told::Executing,
            _ => Told::Refused(i32::from_le_bytes(errno)),
        })
    }
}

/// Forks the child and returns its process id.
pub(super) fn fork(image: &Image, origin: &Origin, user: Option<&User>, ends: &Ends) -> io::Result<Pid> {
    // SAFETY: the child runs `become_program` only, which keeps to what a forked child may do.
    match unsafe { libc::fork() } {
        0 => become_program(image, origin, user, ends),
        pid => Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error),
    }
}

fn become_program(image: &Image, origin: &Origin, user: Option<&User>, ends: &Ends) -> ! {
    for fd in ends.not_its_own {
        close(fd);
    }
    if let Some(user) = user
        && let Err(errno) = become_user(user)
    {
        refuse(ends, errno);
    }
    origin.restore();
    tell(ends, Told::Ready);
    if !go_ahead(ends.hold) {
        exit();
    }
    tell(ends, Told::Executing);
    let mut errno = execve(image.path.as_ptr(), image.argv.as_ptr(), image.envp.as_ptr());
    if let (libc::ENOEXEC, Some(script)) = (errno, &image.script) {
        errno = execve(image.shell().as_ptr(), script.as_ptr(), image.envp.as_ptr());
    }
    refuse(ends, errno);
}

fn refuse(ends: &Ends, errno: c_int) -> ! {
    tell(ends, Told::Refused(errno));
    exit();
}

/// Groups first: afterwards there is no right to set them. Raw calls, because the C library's would try to take
/// along threads that the child does not have.
fn become_user(user: &User) -> Result<(), c_int> {
    // SAFETY: the pointer is to as many group ids as are announced.
    let groups = unsafe { libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()) };
    if groups != 0 {
        // Who is that user already need not have the right to set groups.
        // SAFETY: takes nothing and cannot fail.
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

fn tell(ends: &Ends, told: Told) {
    let message = told.encode();
    // SAFETY: the buffer is as long as announced. Less than PIPE_BUF: written whole or, with dwell dead, not.
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
    // SAFETY: the callers pass terminated strings and null-terminated tables that live in `Image`.
    unsafe { libc::execve(path, argv, envp) };
    errno()
}

fn errno() -> c_int {
    // SAFETY: the location is valid for this thread.
    unsafe { *libc::__errno_location() }
}

//! Waiting for any of several descriptors: ppoll(2).

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Waits until one of `fds` is readable (or hung up, or failed), or until `timeout` expires;
/// without a timeout it waits forever. Returns for each whether it is ready; none is after a
/// timeout or a signal.
///
/// # Errors
/// The error of `ppoll`; an interruption by a signal is not an error.
pub fn wait(fds: &[BorrowedFd<'_>], timeout: Option<Duration>) -> io::Result<Vec<bool>> {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    // A duration beyond the kernel's range means forever.
    let timeout = timeout.and_then(|duration| Timespec::try_from(duration).ok());
    match rustix::event::poll(&mut polled, timeout.as_ref()) {
        Ok(_) => Ok(polled.iter().map(|fd| !fd.revents().is_empty()).collect()),
        Err(Errno::INTR) => Ok(vec![false; fds.len()]),
        Err(errno) => Err(errno.into()),
    }
}

/// Waits until `fd` can be written to (or is hung up, or failed), for so long at most; whether it
/// can be.
///
/// # Errors
/// As [`wait`].
pub fn has_room(fd: BorrowedFd<'_>, most: Duration) -> io::Result<bool> {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    match rustix::event::poll(&mut polled, Timespec::try_from(most).ok().as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;

    #[test]
    fn the_ready_one_is_told_from_the_others() {
        let (quiet, _keep) = io::pipe().unwrap();
        let (ready, mut writer) = io::pipe().unwrap();
        let fds = [quiet.as_fd(), ready.as_fd()];
        assert_eq!(wait(&fds, Some(Duration::ZERO)).unwrap(), [false, false]);
        writer.write_all(b"x").unwrap();
        assert_eq!(wait(&fds, None).unwrap(), [false, true]);
    }

    #[test]
    fn a_hang_up_is_ready() {
        let (reader, writer) = io::pipe().unwrap();
        drop(writer);
        assert_eq!(wait(&[reader.as_fd()], None).unwrap(), [true]);
    }
}

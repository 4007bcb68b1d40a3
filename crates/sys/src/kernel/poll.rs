//! Waiting for any of several descriptors: ppoll(2).

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// How long a reader is waited for until it is tried again.
const EVERY: Duration = Duration::from_secs(1);

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

/// Writes to a descriptor as to one that blocks. A program that shares it may have changed that for
/// all: asyncio and ssh make their standard output non-blocking.
#[derive(Debug)]
pub struct Blocking<'a>(pub BorrowedFd<'a>);

impl Write for Blocking<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(self.0, bytes) {
                Err(Errno::AGAIN) => {
                    has_room(self.0, EVERY)?;
                }
                Err(Errno::INTR) => {}
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
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

    #[test]
    fn a_reader_of_a_descriptor_that_does_not_block_gets_all_of_it() {
        const MUCH: usize = 1 << 20;
        let (mut reader, writer) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let slow = std::thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all.len())
        });
        Blocking(writer.as_fd()).write_all(&vec![1; MUCH]).unwrap();
        drop(writer);
        assert_eq!(slow.join().unwrap().unwrap(), MUCH);
    }
}

//! Waiting for file systems, which may never answer: one of a network, or one that a program
//! serves. Whoever waits in the kernel for such a file is deaf to all signals but SIGKILL, so a
//! thread waits there, which is left behind.

use super::signals;
use rustix::io::{Errno, ReadWriteFlags};
use std::fs::File;
use std::io::{self, ErrorKind, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a file system is waited for.
pub(super) const WITHIN: Duration = Duration::from_secs(2);

/// The same when a signal has asked for the end.
pub(super) const WITHIN_AFTER_SIGNAL: Duration = Duration::from_millis(400);

/// How often it is asked whether one has.
const STEP: Duration = Duration::from_millis(50);

/// Does what may wait for a file system, in a thread of its own; where there is none to be had, in
/// this one.
///
/// # Errors
/// Those of `what`; and [`ErrorKind::TimedOut`] if it takes too long.
pub fn in_time<T: Send + 'static>(what: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let take = |what: &Mutex<Option<_>>| what.lock().unwrap_or_else(PoisonError::into_inner).take();
    let here = Arc::new(Mutex::new(Some(what)));
    let there = Arc::clone(&here);
    match in_thread(move || take(&there).map_or_else(|| Err(ErrorKind::Other.into()), |what| what())) {
        Err(error) if error.kind() != ErrorKind::TimedOut => take(&here).map_or(Err(error), |what| what()),
        done => done,
    }
}

/// As [`in_time`], but never in this thread.
///
/// # Errors
/// As [`in_time`]; also if there is no thread to be had.
pub(crate) fn in_thread<T: Send + 'static>(
    what: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::Builder::new().name("dwell-read".into());
    thread.spawn(move || sender.send(what()))?;
    let begun = Instant::now();
    loop {
        match receiver.recv_timeout(STEP) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("a thread of its own failed"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let within = if signals::asked_to_end() { WITHIN_AFTER_SIGNAL } else { WITHIN };
        if begun.elapsed() >= within {
            return Err(silent());
        }
    }
}

/// The error of a file system that does not answer.
pub(super) fn silent() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "its file system does not answer")
}

/// Up to `len` bytes of a file from `start` on; fewer where it ends. What the kernel has in memory
/// takes no thread.
///
/// # Errors
/// As reading the file, and as [`in_time`].
pub fn read_at(file: &Arc<File>, start: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let read = loop {
        let into = &mut [IoSliceMut::new(&mut bytes)];
        match rustix::io::preadv2(file, into, start, ReadWriteFlags::NOWAIT) {
            Err(Errno::INTR) => {}
            read => break read,
        }
    };
    match read {
        Ok(read) if read == 0 || read == len => bytes.truncate(read),
        _ => {
            let file = Arc::clone(file);
            bytes = in_time(move || up_to(&file, start, bytes))?;
        }
    }
    Ok(bytes)
}

/// Reads until `bytes` is full or the file ends: it may have become shorter.
fn up_to(file: &File, start: u64, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], start + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write, pipe};

    #[test]
    fn who_never_answers_is_left_behind() {
        let (mut reader, writer) = pipe().unwrap();
        let waits = in_time(move || reader.read(&mut [0]));
        assert_eq!(waits.unwrap_err().kind(), ErrorKind::TimedOut);
        drop(writer);
        assert_eq!(in_time(|| Ok(7)).unwrap(), 7);
        assert_eq!(
            in_time(|| Err::<(), _>(ErrorKind::NotFound.into())).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }

    #[test]
    fn a_file_is_read_up_to_its_end() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let file = Arc::new(file);
        assert_eq!(read_at(&file, 2, 3).unwrap(), b"234");
        assert_eq!(read_at(&file, 8, 5).unwrap(), b"89");
        assert_eq!(read_at(&file, 10, 5).unwrap(), b"");
    }
}

//! A recording that grows while signals are taken over, and that may go to a pipe: its reader is
//! waited for, but not for ever when a signal has asked for the end.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use sys::{poll, signals};

/// How long a reader that reads nothing is waited for after a signal.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often it is asked for signals.
const EVERY: Duration = Duration::from_millis(50);
/// A pipe that has any room takes as much without waiting.
const PIECE: usize = 4096;

/// A file, or a pipe to a reader.
#[derive(Debug)]
pub(crate) struct ToReader {
    file: File,
    /// It is no file on a disk.
    may_wait: bool,
    /// Whether a signal has asked for the end.
    asked: fn() -> bool,
}

impl ToReader {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        Self::with(file, signals::asked_to_end)
    }

    fn with(file: File, asked: fn() -> bool) -> io::Result<Self> {
        let may_wait = !file.metadata()?.is_file();
        Ok(Self { file, may_wait, asked })
    }

    /// Waits until the reader has made room.
    fn wait(&self) -> io::Result<()> {
        let mut asked_at = None;
        while !poll::has_room(self.file.as_fd(), EVERY)? {
            if (self.asked)() && asked_at.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
                return Err(io::Error::new(ErrorKind::TimedOut, "nobody reads it"));
            }
        }
        Ok(())
    }
}

impl Write for ToReader {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.may_wait {
            return self.file.write(bytes);
        }
        loop {
            self.wait()?;
            match self.file.write(&bytes[..bytes.len().min(PIECE)]) {
                // The program made it non-blocking, and others write to it.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, pipe};
    use std::os::fd::OwnedFd;

    /// More than a pipe holds.
    const MUCH: usize = 1 << 20;

    #[test]
    fn a_reader_that_reads_nothing_is_left_after_a_signal() {
        let (reader, writer) = pipe().unwrap();
        let mut writer = ToReader::with(OwnedFd::from(writer).into(), || true).unwrap();
        let said = writer.write_all(&vec![1; MUCH]).unwrap_err();
        assert_eq!(said.kind(), ErrorKind::TimedOut);
        drop(reader);
        assert_eq!(writer.write_all(&[1]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_reader_that_is_slow_gets_all_of_it() {
        let (mut reader, writer) = pipe().unwrap();
        let mut writer = ToReader::with(OwnedFd::from(writer).into(), || false).unwrap();
        let read = std::thread::spawn(move || {
            std::thread::sleep(2 * EVERY);
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        writer.write_all(&vec![1; MUCH]).unwrap();
        drop(writer);
        assert_eq!(read.join().unwrap().unwrap(), vec![1; MUCH]);
    }
}

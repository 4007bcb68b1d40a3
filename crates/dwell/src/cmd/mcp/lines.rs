//! Lines of the client, each bounded, and answers to it, which wait for its reader only as long as
//! no signal asks for the end.

use crate::stop::Stop;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use sys::poll;

/// The longest line that is taken: arguments of commands are shorter.
pub(super) const LINE_MAX: usize = 1 << 20;
/// What a pipe takes at once where there is room at all.
const PART: usize = 4096;
/// How often a signal is looked for while the client reads nothing.
const LOOK: Duration = Duration::from_millis(100);

/// A line without its end; none was longer than is taken.
pub(super) type Line = Option<Vec<u8>>;

/// The client: what it sends, line by line, and what is sent to it.
#[derive(Debug)]
pub(super) struct Client {
    input: Option<File>,
    output: File,
    buffer: LineBuffer,
}

impl Client {
    /// Standard input and output.
    pub(super) fn new() -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?.into();
        let output = io::stdout().as_fd().try_clone_to_owned()?.into();
        Ok(Self { input: Some(input), output, buffer: LineBuffer::default() })
    }

    /// What to wait for; none after the end.
    pub(super) fn input(&self) -> Option<BorrowedFd<'_>> {
        self.input.as_ref().map(AsFd::as_fd)
    }

    /// The lines that are there, once input is ready.
    pub(super) fn lines(&mut self) -> Vec<Line> {
        let mut bytes = [0; 1 << 16];
        match self.input.as_mut().map(|input| input.read(&mut bytes)) {
            Some(Ok(read)) if read > 0 => self.buffer.lines(&bytes[..read]),
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => Vec::new(),
            _ => {
                self.input = None;
                self.buffer.lines(b"\n")
            }
        }
    }

    /// Sends a message. Where nobody reads any more, the input is at its end as well.
    pub(super) fn send(&mut self, message: &Value, stop: &Stop<'_>) {
        if self.write(&format!("{message}\n"), stop).is_err() {
            self.input = None;
        }
    }

    fn write(&mut self, text: &str, stop: &Stop<'_>) -> io::Result<()> {
        for part in text.as_bytes().chunks(PART) {
            while !poll::has_room(self.output.as_fd(), LOOK)? {
                if stop.asked() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
            }
            self.output.write_all(part)?;
        }
        Ok(())
    }
}

/// Bytes that are not a whole line yet.
#[derive(Debug, Default)]
struct LineBuffer {
    begun: Vec<u8>,
    /// The line is too long, and the rest of it is dropped.
    too_long: bool,
}

impl LineBuffer {
    /// The lines that end in these bytes, without empty ones.
    fn lines(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            self.too_long |= self.begun.len() + text.len() > LINE_MAX;
            if self.too_long {
                self.begun = Vec::new();
            } else {
                self.begun.extend_from_slice(text);
            }
            if ends {
                let line = std::mem::take(&mut self.begun);
                if std::mem::take(&mut self.too_long) {
                    lines.push(None);
                } else if !line.trim_ascii().is_empty() {
                    lines.push(Some(line));
                }
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_in_whatever_parts_they_arrive() {
        let mut buffer = LineBuffer::default();
        assert!(buffer.lines(b"{\"a\"").is_empty());
        let whole = |text: &[u8]| Some(text.to_vec());
        assert_eq!(buffer.lines(b":1}\n\n{}\r\n[").as_slice(), [whole(b"{\"a\":1}"), whole(b"{}\r")]);
        assert_eq!(buffer.lines(b"]\n").as_slice(), [whole(b"[]")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_one_error_and_takes_no_memory() {
        let mut buffer = LineBuffer::default();
        for _ in 0..40 {
            assert!(buffer.lines(&[b'x'; 1 << 16]).is_empty());
            assert!(buffer.begun.capacity() <= 2 * LINE_MAX);
        }
        assert_eq!(buffer.lines(b"x\n{}\n").as_slice(), [None, Some(b"{}".to_vec())]);
    }
}

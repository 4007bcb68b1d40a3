//! The client's side of standard input and output: what it sends is read as it comes, and answers
//! wait for its reader only as long as no signal asks for the end.

use super::dialogue::lines::{Line, LineBuffer};
use crate::stop::Stop;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use sys::poll;

/// What a pipe takes at once where there is room at all.
const PART: usize = 4096;
/// How often a signal is looked for while the client reads nothing.
const LOOK: Duration = Duration::from_millis(100);

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

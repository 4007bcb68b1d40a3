//! The body of an answer: of a told length, in chunks, or until the connection ends.

use super::{Head, line};
use std::io::{self, BufRead};

/// Read at once.
const PIECE: usize = 32 << 10;

pub(super) struct Body<R> {
    from: R,
    /// Bytes left of the body, or of the chunk under way. None: until the end.
    left: Option<u64>,
    chunked: bool,
}

/// How a body ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyEnd {
    Whole,
    /// Earlier than it should.
    Cut,
}

impl<R: BufRead> Body<R> {
    pub(super) fn new(from: R, head: &Head) -> Self {
        let left = if head.chunked { Some(0) } else { head.length };
        Self { from, left, chunked: head.chunked }
    }

    /// Gives each piece to `take`.
    pub(super) fn each(&mut self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<BodyEnd> {
        let mut piece = vec![0; PIECE];
        loop {
            if self.left == Some(0) {
                match self.chunked.then(|| self.next_chunk()) {
                    None | Some(Ok(false)) => return Ok(BodyEnd::Whole),
                    Some(Ok(true)) => {}
                    Some(Err(error)) if is_cut(&error) => return Ok(BodyEnd::Cut),
                    Some(Err(error)) => return Err(error),
                }
            }
            let most = self.left.map_or(PIECE, |left| left.min(PIECE as u64) as usize);
            let len = match self.from.read(&mut piece[..most]) {
                Ok(len) => len,
                Err(error) if is_cut(&error) => return Ok(BodyEnd::Cut),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if len == 0 {
                return Ok(if self.left.is_none() { BodyEnd::Whole } else { BodyEnd::Cut });
            }
            take(&piece[..len])?;
            self.left = self.left.map(|left| left - len as u64);
            if self.chunked && self.left == Some(0) {
                match line(&mut self.from) {
                    Err(error) if is_cut(&error) => return Ok(BodyEnd::Cut),
                    ended => ended?,
                };
            }
        }
    }

    /// Whether there is another one.
    fn next_chunk(&mut self) -> io::Result<bool> {
        let size = line(&mut self.from)?;
        let size = size.split(';').next().unwrap_or_default();
        let size = u64::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
        self.left = Some(size);
        Ok(size > 0)
    }
}

/// The connection ended in the middle: of TCP, of a line, or of TLS without its farewell.
fn is_cut(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof)
}

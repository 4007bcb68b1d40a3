//! Writing a recording as a stream of events.

use crate::block::{self, BlockKind};
use crate::{Error, MAGIC};
use model::{Event, Header, Ns, Trailer};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes one recording. Cheap for each event: it is encoded into memory, which is written when it
/// is full.
///
/// A failure to write does not disturb the run: later events are dropped, and [`Writer::finish`]
/// reports it.
#[derive(Debug)]
pub struct Writer<W: Write = File> {
    out: W,
    path: PathBuf,
    limit_bytes: u64,
    written_bytes: u64,
    /// The event block being filled.
    events: Vec<u8>,
    /// Time of the last event that is kept.
    last_at: Ns,
    /// Set when the limit was reached.
    kept_until: Option<Ns>,
    failed: Option<io::Error>,
}

/// The outcome of writing a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptRecording {
    /// Size of the file.
    pub bytes: u64,
    /// Events after this time were not kept: the limit was reached.
    pub until: Option<Ns>,
}

impl Writer {
    /// Creates the file, or empties it, and writes the header.
    ///
    /// # Errors
    /// [`Error::Write`] when the file cannot be created.
    pub fn create(path: &Path, header: &Header, limit_bytes: u64) -> Result<Self, Error> {
        let out = File::create(path).map_err(|said| Error::Write { path: path.to_owned(), said })?;
        Ok(Self::new(out, path, header, limit_bytes))
    }
}

impl<W: Write> Writer<W> {
    /// Writes the header to `out`, which is empty; `path` is its name in errors. Events are kept
    /// until they fill `limit_bytes`.
    pub fn new(out: W, path: &Path, header: &Header, limit_bytes: u64) -> Self {
        let mut writer = Self {
            out,
            path: path.to_owned(),
            limit_bytes,
            written_bytes: 0,
            events: block::start(),
            last_at: 0,
            kept_until: None,
            failed: None,
        };
        writer.attempt(|writer| {
            writer.write(MAGIC)?;
            writer.write_json(BlockKind::Header, header)
        });
        writer
    }

    /// Adds an event.
    pub fn event(&mut self, event: &Event) {
        if self.kept_until.is_some() || self.failed.is_some() {
            return;
        }
        let before = self.events.len();
        match postcard::to_extend(event, std::mem::take(&mut self.events)) {
            Ok(events) => self.events = events,
            Err(error) => {
                self.failed = Some(io::Error::other(error));
                return;
            }
        }
        if self.written_bytes + self.events.len() as u64 > self.limit_bytes {
            self.events.truncate(before);
            self.kept_until = Some(self.last_at);
            self.attempt(Self::write_events);
            return;
        }
        self.last_at = event.at().unwrap_or(self.last_at);
        if block::payload_len(&self.events) >= block::FULL {
            self.attempt(Self::write_events);
        }
    }

    /// Whether the limit was reached: then [`Writer::finish`] wants the whole result.
    pub fn is_full(&self) -> bool {
        self.kept_until.is_some()
    }

    /// Writes the trailer, with the final `kept_until`: a recording that ends here is whole, unless
    /// it is full.
    pub fn end(&mut self, trailer: &Trailer) {
        let trailer = Trailer { kept_until: self.kept_until, ..trailer.clone() };
        self.attempt(|writer| {
            writer.write_events()?;
            writer.write_json(BlockKind::Trailer, &trailer)?;
            writer.out.flush()
        });
    }

    /// Writes what was concluded, as JSON: of a full recording the whole result, since it covers
    /// events that were not kept; of others what was found.
    ///
    /// # Errors
    /// [`Error::Write`] with the first failure since the start.
    pub fn finish(mut self, concluded: Option<&str>) -> Result<KeptRecording, Error> {
        if let Some(concluded) = concluded {
            self.attempt(|writer| {
                let mut block = block::start();
                block.extend_from_slice(concluded.as_bytes());
                writer.write_block(BlockKind::Run, &mut block)?;
                writer.out.flush()
            });
        }
        match self.failed {
            Some(said) => Err(Error::Write { path: self.path, said }),
            None => Ok(KeptRecording { bytes: self.written_bytes, until: self.kept_until }),
        }
    }

    /// Runs a fallible step, unless an earlier one has failed.
    fn attempt(&mut self, what: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = what(self).err();
        }
    }

    fn write_events(&mut self) -> io::Result<()> {
        if block::payload_len(&self.events) == 0 {
            return Ok(());
        }
        let mut events = std::mem::take(&mut self.events);
        let written = self.write_block(BlockKind::Events, &mut events);
        // Its memory is reused.
        block::restart(&mut events);
        self.events = events;
        written
    }

    fn write_json(&mut self, kind: BlockKind, value: &impl Serialize) -> io::Result<()> {
        let mut block = block::start();
        serde_json::to_writer(&mut block, value)?;
        self.write_block(kind, &mut block)
    }

    fn write_block(&mut self, kind: BlockKind, block: &mut Vec<u8>) -> io::Result<()> {
        block::seal(kind, block)?;
        self.write(block)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.written_bytes += bytes.len() as u64;
        Ok(())
    }
}

//! Reading a recording back, as far as it goes.

use crate::block::{self, BlockKind, BlockRead};
use crate::{Error, FORMAT, MAGIC};
use model::{Event, Header, Ns, Trailer};
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// An open recording: its header, and then its events, as an iterator.
#[derive(Debug)]
pub struct Reader<R: Read = BufReader<File>> {
    from: R,
    header: Header,
    /// The event block being read, and how far.
    events: Vec<u8>,
    at: usize,
    last_at: Option<Ns>,
    over: bool,
    end: RecordingEnd,
    owner: Option<u32>,
    /// The file, where it is one, for its position.
    file: Option<File>,
}

/// What follows the events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordingEnd {
    /// Absent when the recording ends early.
    pub trailer: Option<Trailer>,
    /// What was concluded, as JSON: the whole result where not all events were kept
    /// (`trailer.kept_until`), else what was found. Older recordings lack the latter.
    pub concluded: Option<String>,
    /// What the reader must know of an incomplete recording.
    pub notice: Option<Notice>,
}

/// How a recording is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// What is wrong.
    pub what: Incomplete,
    /// Time of the last event before that.
    pub last_at: Option<Ns>,
}

/// What is wrong with an incomplete recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incomplete {
    /// It has no end.
    CutOff,
    /// A block differs from what was written.
    Damaged,
    /// A block has content that this version does not know.
    NotUnderstood,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.what {
            Incomplete::CutOff => "the recording has no end: dwell was killed, or is still writing it",
            Incomplete::Damaged => "the recording is damaged from here on",
            Incomplete::NotUnderstood => "the recording has events that this version of dwell does not know",
        })
    }
}

impl Reader {
    /// Opens a recording and reads its header.
    ///
    /// # Errors
    /// The file cannot be read, is no recording, is too new, or ends within its header.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|said| Error::Read { path: path.to_owned(), said })?;
        let owner = file.metadata().ok().map(|found| found.uid());
        // It has the position of the one that is read.
        let position = file.try_clone().ok();
        let reader = Self::new(BufReader::with_capacity(block::FULL, file), path)?;
        Ok(Self { owner, file: position, ..reader })
    }

    /// The reader, of the type that a recording from anywhere has.
    pub fn boxed(self) -> Reader<Box<dyn Read + Send>> {
        let Self { from, header, events, at, last_at, over, end, owner, file } = self;
        Reader { from: Box::new(from), header, events, at, last_at, over, end, owner, file }
    }
}

impl<R: Read> Reader<R> {
    /// Which part of the file has been read, from 0 to 1; none where there is no file, or its size
    /// is not known.
    pub fn part(&self) -> Option<f64> {
        let mut file = self.file.as_ref()?;
        let size = file.metadata().ok().map(|found| found.len()).filter(|size| *size > 0)?;
        let at = file.stream_position().ok()?;
        Some((at as f64 / size as f64).min(1.0))
    }

    /// Reads a recording from `from`; `path` is its name in errors.
    ///
    /// # Errors
    /// See [`Reader::open`].
    pub fn new(mut from: R, path: &Path) -> Result<Self, Error> {
        let failed = |said| Error::Read { path: path.to_owned(), said };
        let mut magic = Vec::new();
        from.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(failed)?;
        if magic != MAGIC {
            return Err(Error::NotARecording { path: path.to_owned() });
        }
        let no_header = |how| Error::NoHeader { path: path.to_owned(), how };
        let header = match block::read(&mut from).map_err(failed)? {
            BlockRead::Block(BlockKind::Header, json) => json,
            BlockRead::End | BlockRead::CutOff => return Err(no_header("cut off")),
            BlockRead::Block(..) | BlockRead::Damaged => return Err(no_header("damaged")),
        };
        let header = read_header(&header, path)?;
        let end = RecordingEnd::default();
        Ok(Self {
            from,
            header,
            events: Vec::new(),
            at: 0,
            last_at: None,
            over: false,
            end,
            owner: None,
            file: None,
        })
    }

    /// Says whose file it is.
    pub fn of_user(self, uid: u32) -> Self {
        Self { owner: Some(uid), ..self }
    }

    /// What was known before the program started.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The user whose file it is, where it is one.
    pub fn owner(&self) -> Option<u32> {
        self.owner
    }

    /// What follows the events; skips those that were not read.
    pub fn end(mut self) -> RecordingEnd {
        for _ in self.by_ref() {}
        self.end
    }

    fn stop(&mut self, what: Incomplete) {
        self.over = true;
        self.end.notice = Some(Notice { what, last_at: self.last_at });
    }

    /// Reads the next block.
    fn next_block(&mut self) {
        // A read error is treated as the end of the file.
        match block::read(&mut self.from).unwrap_or(BlockRead::CutOff) {
            BlockRead::Block(BlockKind::Events, events) => (self.events, self.at) = (events, 0),
            BlockRead::Block(BlockKind::Trailer, json) => match serde_json::from_slice(&json) {
                Ok(trailer) => self.end.trailer = Some(trailer),
                Err(_) => self.stop(Incomplete::NotUnderstood),
            },
            BlockRead::Block(BlockKind::Run, json) => self.end.concluded = String::from_utf8(json).ok(),
            BlockRead::Block(BlockKind::Header | BlockKind::Unknown, _) => {}
            BlockRead::End if self.end.trailer.is_some() => self.over = true,
            BlockRead::End | BlockRead::CutOff => self.stop(Incomplete::CutOff),
            BlockRead::Damaged => self.stop(Incomplete::Damaged),
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Event;

    /// The next event; none at the end, or where the recording is incomplete.
    fn next(&mut self) -> Option<Event> {
        while self.at == self.events.len() {
            if self.over {
                return None;
            }
            self.next_block();
        }
        match postcard::take_from_bytes::<Event>(&self.events[self.at..]) {
            Ok((event, rest)) => {
                self.at = self.events.len() - rest.len();
                self.last_at = event.at().or(self.last_at);
                Some(event)
            }
            Err(_) => {
                self.at = self.events.len();
                self.stop(Incomplete::NotUnderstood);
                None
            }
        }
    }
}

/// The format is read first: a later header may have unknown content.
fn read_header(json: &[u8], path: &Path) -> Result<Header, Error> {
    #[derive(serde::Deserialize)]
    struct FormatVersion {
        format: u32,
        recorder: String,
    }
    let damaged = |_| Error::NoHeader { path: path.to_owned(), how: "damaged" };
    let version: FormatVersion = serde_json::from_slice(json).map_err(damaged)?;
    if version.format > FORMAT {
        return Err(Error::Newer {
            path: path.to_owned(),
            format: version.format,
            recorder: version.recorder,
        });
    }
    serde_json::from_slice(json).map_err(damaged)
}

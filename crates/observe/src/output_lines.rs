//! Counts the lines that the program writes to its standard output, in the file that it is
//! redirected to.
//!
//! The file is read independently of the program: with a pipe as its output it would behave
//! differently. The file position, which dwell shares with the program, is not moved.

use host::own;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Standard output.
const OUTPUT: u32 = 1;

/// The output file, from the offset at which the program's output begins.
pub struct OutputLines {
    file: File,
}

/// Why lines of output cannot be counted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is a terminal, a pipe, a device.
    #[error(
        "cannot count lines of output: standard output is not a file\n\
         try: the same with > FILE after it, or --work with a number"
    )]
    NotAFile,
    /// The file cannot be read.
    #[error("cannot count lines of output in {}", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// Where the output begins is unknown.
    #[error("cannot count lines of output")]
    NoPosition(#[from] host::Error),
}

impl OutputLines {
    /// Finds the offset at which the program's output will begin. Call it before the program
    /// starts.
    ///
    /// # Errors
    /// Standard output is not a regular file, or cannot be read.
    pub fn before() -> Result<Self, Error> {
        let path = own::descriptor(host::here(), OUTPUT);
        let unreadable = |error| Error::Unreadable(path.clone(), error);
        let metadata = fs::metadata(&path).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(Error::NotAFile);
        }
        // Opened anew, it has a position of its own.
        let mut file = File::open(&path).map_err(unreadable)?;
        let begin = own::write_position(host::here(), OUTPUT, metadata.len())?;
        file.seek(SeekFrom::Start(begin)).map_err(unreadable)?;
        Ok(Self { file })
    }

    /// How many lines it wrote; one that does not end with a newline counts as well. None when the
    /// file cannot be read any more.
    pub fn after(mut self) -> Option<u64> {
        // What a process that was left behind writes from here on is not waited for.
        let end = self.file.metadata().ok()?.len();
        let begin = self.file.stream_position().ok()?;
        let mut file = BufReader::new(self.file.take(end.saturating_sub(begin)));
        let (mut lines, mut last) = (0, b'\n');
        loop {
            let piece = file.fill_buf().ok()?;
            let Some(end) = piece.last() else { break };
            last = *end;
            lines += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
            let read = piece.len();
            file.consume(read);
        }
        Some(lines + u64::from(last != b'\n'))
    }
}

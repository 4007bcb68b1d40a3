//! Lines that the program writes to its standard output, counted in the file that this goes to.
//!
//! The file is read apart from the program: with a pipe of dwell's as its output it would behave in
//! another way. The file position, which dwell shares with the program, is not moved.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};

const OUTPUT: &str = "/proc/self/fd/1";
const INFO: &str = "/proc/self/fdinfo/1";
/// O_APPEND, as /proc shows it: octal, the same on every architecture that dwell runs on.
const APPENDS: u32 = 0o2000;

/// The program's output from where it begins.
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
    /// What is known of standard output cannot be read.
    #[error("cannot count lines of output: {0}")]
    Unreadable(&'static str, #[source] io::Error),
}

impl OutputLines {
    /// Finds where the program's output will begin. To be called before it is started.
    ///
    /// # Errors
    /// Standard output is no regular file, or cannot be read.
    pub fn before() -> Result<Self, Error> {
        let output = |error| Error::Unreadable(OUTPUT, error);
        if !fs::metadata(OUTPUT).map_err(output)?.is_file() {
            return Err(Error::NotAFile);
        }
        // Opened anew, it has a position of its own.
        let mut file = File::open(OUTPUT).map_err(output)?;
        let info = fs::read_to_string(INFO).map_err(|error| Error::Unreadable(INFO, error))?;
        let len = file.metadata().map_err(output)?.len();
        let unknown = || Error::Unreadable(INFO, io::ErrorKind::InvalidData.into());
        let begins = begin(&info, len).ok_or_else(unknown)?;
        file.seek(SeekFrom::Start(begins)).map_err(output)?;
        Ok(Self { file })
    }

    /// How many lines it wrote; one that does not end with a newline counts as well. None when the
    /// file cannot be read any more.
    pub fn after(self) -> Option<u64> {
        let mut file = BufReader::new(self.file);
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

/// Where what is written next goes, from what the kernel says of a descriptor (proc_pid_fdinfo(5)).
fn begin(info: &str, len: u64) -> Option<u64> {
    let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let flags = u32::from_str_radix(field("flags:")?, 8).ok()?;
    if flags & APPENDS != 0 { Some(len) } else { field("pos:")?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_next_goes_to_the_position_or_to_the_end() {
        assert_eq!(begin("pos:\t12\nflags:\t0100001\nmnt_id:\t29\n", 90), Some(12));
        assert_eq!(begin("pos:\t0\nflags:\t0102001\nmnt_id:\t29\n", 90), Some(90));
        assert_eq!(begin("pos:\t0\n", 90), None);
    }
}

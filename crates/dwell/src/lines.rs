//! Lines that the program writes to its standard output, counted in the file that this goes to.
//!
//! They are counted behind its back: were its output a pipe of dwell's, it would behave in another way. Nor is the
//! position moved, which dwell shares with it.

use analyse::extrapolate::Work;
use anyhow::{Context, bail};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Seek, SeekFrom};

const OUTPUT: &str = "/proc/self/fd/1";
const INFO: &str = "/proc/self/fdinfo/1";
/// O_APPEND, as /proc shows it: octal, the same on every architecture that dwell runs on.
const APPENDS: u32 = 0o2000;

/// The program's output from where it begins.
pub(crate) struct Lines {
    file: File,
}

impl Lines {
    /// Finds it, where lines are the work.
    pub(crate) fn before(work: Option<&Work>) -> anyhow::Result<Option<Self>> {
        if !matches!(work, Some(Work::Lines(_))) {
            return Ok(None);
        }
        let cannot = "cannot count lines of output";
        if !fs::metadata(OUTPUT).with_context(|| format!("{cannot}: {OUTPUT}"))?.is_file() {
            bail!(
                "{cannot}: standard output is no file\ntry: the same with > FILE behind it, or --work with a number"
            );
        }
        // Opened anew, it has a position of its own.
        let mut file = File::open(OUTPUT).with_context(|| format!("{cannot}: {OUTPUT}"))?;
        let info = fs::read_to_string(INFO).with_context(|| format!("{cannot}: {INFO}"))?;
        let begins = begin(&info, file.metadata()?.len())
            .with_context(|| format!("{cannot}: {INFO} is not as known"))?;
        file.seek(SeekFrom::Start(begins))?;
        Ok(Some(Self { file }))
    }

    /// How many it wrote; one that does not end with a newline is one as well.
    pub(crate) fn after(self) -> Work {
        let mut file = BufReader::new(self.file);
        let (mut lines, mut last) = (0, b'\n');
        loop {
            let Ok(piece) = file.fill_buf() else { return Work::Lines(None) };
            let Some(end) = piece.last() else { break };
            last = *end;
            lines += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
            let read = piece.len();
            file.consume(read);
        }
        Work::Lines(Some(lines + u64::from(last != b'\n')))
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

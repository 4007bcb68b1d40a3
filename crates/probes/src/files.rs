//! Files in the page cache: taken out of it before a run, or read into it.

use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use sys::untrusted_file;

/// The files may take one part in this many of the free memory.
const FREE_PART: u64 = 2;

/// A read takes so much at once.
const PIECE_BYTES: usize = 1 << 20;

/// Whether the files can be read, and fit into memory.
pub(crate) fn check(files: &[PathBuf]) -> Result<(), String> {
    let mut bytes = 0_u64;
    for path in files {
        let size = untrusted_file::open(path).and_then(|file| file.metadata()).map(|metadata| metadata.len());
        bytes = bytes.saturating_add(size.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!(
                "{path:?}, which the first run read, is gone: this probe is for files that stay between two runs"
            ),
            _ => format!("cannot read {path:?}: {error}"),
        })?);
    }
    let free = host::memory::free_bytes(host::here()).map_err(|error| error.to_string())?;
    if bytes > free / FREE_PART {
        let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
        return Err(format!(
            "its files have {} MB, more than half of the {} MB of free memory",
            megabytes(bytes),
            megabytes(free)
        ));
    }
    Ok(())
}

/// Takes their pages out of the cache. Pages that are not on their disk yet, or that a process has
/// mapped, stay.
pub(crate) fn drop_pages(files: &[PathBuf]) -> Result<(), String> {
    each(files, |file| Ok(fadvise(file, 0, None, Advice::DontNeed)?))
}

/// Reads them from the first byte to the last.
pub(crate) fn warm(files: &[PathBuf]) -> Result<(), String> {
    let mut piece = vec![0; PIECE_BYTES];
    each(files, |mut file| {
        // One that grows while it is read ends, too.
        let mut left = file.metadata()?.len();
        while left > 0 {
            match file.read(&mut piece)? {
                0 => break,
                read => left = left.saturating_sub(read as u64),
            }
        }
        Ok(())
    })
}

fn each(files: &[PathBuf], mut with: impl FnMut(&File) -> io::Result<()>) -> Result<(), String> {
    for path in files {
        let done = untrusted_file::open(path).and_then(|file| with(&file));
        done.map_err(|error| format!("cannot read {path:?}: {error}"))?;
    }
    Ok(())
}

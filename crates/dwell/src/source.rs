//! Source files, as debug information and interpreters name them.

use std::fs::File;
use std::io::Read;

/// Longer ones are no source.
const LONGEST_BYTES: u64 = 16 << 20;

/// The text of a source file, if there is one under this name. The name is the program's: only a regular file of
/// moderate size is read.
pub(crate) fn text(path: &str) -> Option<String> {
    // Asked before it is opened: opening a pipe would wait for its writer.
    let found = std::fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > LONGEST_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LONGEST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

//! The text of source files named by debug information and interpreters.

use std::fs::File;
use std::io::Read;

/// The largest file that is read as source.
const SIZE_MAX: u64 = 16 << 20;

/// The text of a source file, if there is one with this name. The name comes from the program and
/// is untrusted: only a regular file of moderate size is read.
pub fn source_text(path: &str) -> Option<String> {
    // Before it is opened: opening a pipe would wait for its writer.
    let found = std::fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > SIZE_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(SIZE_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

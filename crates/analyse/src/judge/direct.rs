//! Files that are read and written past the page cache: opened with `O_DIRECT`.
//!
//! What is read of them comes from the disk each time, whoever has read it before.

use super::Evidence;
use model::files::{FileRow, TransferRow};

/// A call's bytes are so if this part of them is.
const PART: u64 = 2;

/// Whether a file was opened so.
pub(super) fn is_direct(file: &FileRow) -> bool {
    file.flags.iter().any(|flag| flag == "O_DIRECT")
}

impl<'a> Evidence<'a> {
    /// Whether this file was opened so.
    pub(super) fn is_direct(&self, path: &str) -> bool {
        self.file_rows().iter().any(|file| file.path == path && is_direct(file))
    }

    /// Whether most of the bytes that a call moved were of such files.
    pub(super) fn is_mostly_direct(&self, call: &str) -> bool {
        let of_call = |moved: &TransferRow| if moved.call == call { moved.bytes } else { 0 };
        let bytes = |file: &FileRow| of_call(&file.read) + of_call(&file.written);
        let all: u64 = self.file_rows().iter().map(bytes).sum();
        let direct: u64 = self.file_rows().iter().filter(|file| is_direct(file)).map(bytes).sum();
        direct > 0 && direct * PART >= all
    }

    fn file_rows(&self) -> &'a [FileRow] {
        self.run.tables.files.value().map_or(&[][..], |files| &files.rows)
    }
}

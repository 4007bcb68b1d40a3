//! What a result is to the store: a row, and its JSON.

use std::path::PathBuf;

/// The longest command and note that a row has, in bytes: the result has all of a command.
pub const TEXT_MAX: usize = 4096;
/// The longest tag, in bytes.
pub const TAG_MAX: usize = 64;

/// A result to be kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewResult {
    /// The verb that gave it: `run`.
    pub verb: String,
    /// What it was of, as typed in a shell.
    pub command: String,
    /// The name of the host.
    pub host: String,
    /// A number of the machine, which tells hosts of the same name apart: 16 hexadecimal digits.
    pub machine: String,
    /// The kernel's release.
    pub kernel: String,
    /// When it was there, in seconds since 1970.
    pub at_s: u64,
    /// The wall clock; none where there is none.
    pub wall_ns: Option<u64>,
    /// The verdict, or the class, in the words of the page.
    pub verdict: Option<String>,
    /// The cause that was found first.
    pub finding: Option<String>,
    /// The schema of the JSON.
    pub schema: String,
    /// The version of dwell.
    pub dwell: String,
    /// The result.
    pub json: Vec<u8>,
    /// The file of its recording, to be kept beside the store.
    pub recording: Option<PathBuf>,
}

/// A row of the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultRow {
    /// Its place: later results have larger ones.
    pub seq: i64,
    /// Its name: 8 hexadecimal digits.
    pub id: String,
    /// See [`NewResult`].
    pub verb: String,
    /// See [`NewResult`].
    pub command: String,
    /// See [`NewResult`].
    pub host: String,
    /// See [`NewResult`].
    pub kernel: String,
    /// See [`NewResult`].
    pub at_s: u64,
    /// See [`NewResult`].
    pub wall_ns: Option<u64>,
    /// See [`NewResult`].
    pub verdict: Option<String>,
    /// See [`NewResult`].
    pub finding: Option<String>,
    /// See [`NewResult`].
    pub schema: String,
    /// See [`NewResult`].
    pub dwell: String,
    /// The size of the JSON.
    pub json_bytes: u64,
    /// The size of the packed recording; 0 where there is none.
    pub recording_bytes: u64,
    /// What was written beside it.
    pub note: Option<String>,
    /// Its tags, in the order of the alphabet.
    pub tags: Vec<String>,
}

/// The name of a result as dwell gives it: a store that somebody else made may have a path there,
/// or what a terminal obeys.
pub(super) fn plain_id(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// Text that is at most this many bytes long: what is left out is marked.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most.saturating_sub(4)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &text[..end])
}

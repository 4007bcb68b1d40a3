//! A file of the kernel that is kept open and read repeatedly.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// An open file and a buffer for its content.
#[derive(Debug)]
pub(super) struct PolledFile {
    path: PathBuf,
    /// The file, or why it could not be opened.
    file: Result<File, String>,
    buffer: Vec<u8>,
}

impl PolledFile {
    /// Opens it. For a missing file each reading returns the error.
    pub(super) fn open(path: PathBuf) -> Self {
        let file = File::open(&path).map_err(|error| format!("cannot open {}: {error}", path.display()));
        Self { path, file, buffer: vec![0; 16 << 10] }
    }

    /// Its current content.
    pub(super) fn text(&mut self) -> Result<Cow<'_, str>, String> {
        let file = self.file.as_ref().map_err(Clone::clone)?;
        let mut len = 0;
        loop {
            // The kernel returns whole lines, so a short read is not the end.
            match file.read_at(&mut self.buffer[len..], len as u64) {
                Ok(0) => break,
                Ok(more) => len += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("cannot read {}: {error}", self.path.display())),
            }
            if self.buffer.len() - len < 4 << 10 {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
        Ok(String::from_utf8_lossy(&self.buffer[..len]))
    }
}

/// The numbers of a line's fields; invalid ones count as 0.
pub(super) fn numbers<'a>(fields: impl Iterator<Item = &'a str>) -> Vec<u64> {
    fields.map(|field| field.parse().unwrap_or(0)).collect()
}

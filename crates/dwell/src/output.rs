//! Where results are written: found out before the program starts, touched only when there is something to write.

use anyhow::Context;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file that is open for writing and still as it was. One that had to be created is removed again unless it
/// is written.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    file: Option<File>,
    created: bool,
}

impl Target {
    /// Opens `path` for writing.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let existing = OpenOptions::new().write(true).open(path);
        let (opened, created) = match existing {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                (OpenOptions::new().write(true).create_new(true).open(path), true)
            }
            opened => (opened, false),
        };
        let file = opened.with_context(|| format!("cannot write {path:?}"))?;
        Ok(Self { path: path.to_owned(), file: Some(file), created })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file, empty.
    pub(crate) fn take(mut self) -> anyhow::Result<File> {
        let file = self.file.take().context("a file is taken once")?;
        // A pipe or a device has no length to set.
        if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            file.set_len(0).with_context(|| format!("cannot write {:?}", self.path))?;
        }
        Ok(file)
    }

    /// Writes the whole of it.
    pub(crate) fn write(self, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
        let path = self.path.clone();
        let mut file = self.take()?;
        or_gone(file.write_all(content.as_ref())).with_context(|| format!("cannot write {path:?}"))
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.created && self.file.is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Writes to standard output. A reader who has seen enough and left is no error.
pub(crate) fn to_stdout(content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    or_gone(stdout.write_all(content.as_ref()).and_then(|()| stdout.flush()))
        .context("cannot write to standard output")
}

/// Writes to standard error; whether it can be written or not, there is nobody else to tell.
pub(crate) fn to_stderr(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Says what is wrong, on standard error.
pub(crate) fn complain(text: &str) {
    to_stderr(&format!("dwell: {text}\n"));
}

fn or_gone(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_as_it_was_until_it_is_written() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("old");
        fs::write(&path, "what was there before").unwrap();
        drop(Target::open(&path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "what was there before");
        Target::open(&path).unwrap().write("new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_file_that_is_not_written_is_not_left_behind() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("new");
        let target = Target::open(&path).unwrap();
        assert!(path.exists());
        drop(target);
        assert!(!path.exists());
        Target::open(&path).unwrap().write("").unwrap();
        assert!(path.exists());
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let error = Target::open(Path::new("/no/such/directory/file")).unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot write \"/no/such/directory/file\": "), "{error:#}");
        assert!(Target::open(Path::new("/")).is_err());
        Target::open(Path::new("/dev/null")).unwrap().write("gone").unwrap();
    }
}

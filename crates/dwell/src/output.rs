//! Output files: opened before the program starts, there or changed only when the result is
//! written. Standard output and standard error.

use anyhow::{Context, bail};
use observe::LeftProgram;
pub(crate) use report::clean_lines;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::atomic_write::Output;
use sys::output_file::{self, Made};
use sys::poll::Blocking;

/// Files that were created and are not written yet.
static UNWRITTEN: Mutex<Vec<Arc<Made>>> = Mutex::new(Vec::new());

/// Whether a line of progress stands on the terminal: what is printed meanwhile takes its place.
static STANDS: AtomicBool = AtomicBool::new(false);

/// To the beginning of the line, which is erased.
pub(crate) const REMOVE: &str = "\r\x1b[K";

/// Says whether a line of progress stands on the terminal.
pub(crate) fn line_stands(stands: bool) {
    STANDS.store(stands, Ordering::Relaxed);
}

/// What removes a line that stands there.
fn removed() -> &'static str {
    if STANDS.swap(false, Ordering::Relaxed) { REMOVE } else { "" }
}

/// A file that is written whole or not at all: until then what stands there is unchanged, and where
/// there is nothing, there is nothing.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    output: Output,
}

impl Target {
    /// Opens `path` for writing.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        is_no_store(path)?;
        let output = Output::open(path).with_context(|| cannot_write(path))?;
        Ok(Self { path: path.to_owned(), output })
    }

    /// Writes all of `content`; returns whether all of it was accepted: by the disk, or by the
    /// reader of a pipe.
    pub(crate) fn put(self, content: impl AsRef<[u8]>) -> anyhow::Result<bool> {
        taken(self.output.write(content.as_ref())).with_context(|| cannot_write(&self.path))
    }
}

/// A file that grows while a program runs, open for writing and still unchanged. One that had to be
/// created is removed again unless it is begun.
#[derive(Debug)]
pub(crate) struct Growing {
    path: PathBuf,
    file: Option<File>,
    made: Option<Arc<Made>>,
}

impl Growing {
    /// Opens `path` for writing.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        is_no_store(path)?;
        let (file, made) = output_file::open(path).with_context(|| cannot_write(path))?;
        let made = made.map(Arc::new);
        unwritten().extend(made.clone());
        Ok(Self { path: path.to_owned(), file: Some(file), made })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file, truncated.
    pub(crate) fn take(mut self) -> anyhow::Result<File> {
        let file = self.file.take().context("the file was taken already")?;
        self.is_no_more_unwritten();
        // A pipe or a device has no length.
        if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            file.set_len(0).with_context(|| cannot_write(&self.path))?;
        }
        Ok(file)
    }

    fn is_no_more_unwritten(&self) {
        if let Some(made) = &self.made {
            unwritten().retain(|other| !Arc::ptr_eq(other, made));
        }
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        self.is_no_more_unwritten();
        if let Some(made) = self.made.take_if(|_| self.file.is_some()) {
            let _ = made.remove();
        }
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {path:?}")
}

fn unwritten() -> MutexGuard<'static, Vec<Arc<Made>>> {
    UNWRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the files that were created and are not written, for a process that ends at once.
pub(crate) fn remove_unwritten() {
    // Whoever holds it opens or writes one at this moment: there is no waiting for that.
    if let Ok(mut unwritten) = UNWRITTEN.try_lock() {
        for made in unwritten.drain(..) {
            let _ = made.remove();
        }
    }
}

/// Writes to standard output. A reader that closed the pipe is no error.
pub(crate) fn to_stdout(content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    put_to_stdout(content).map(drop)
}

/// The same; returns whether all of it was accepted.
pub(crate) fn put_to_stdout(content: impl AsRef<[u8]>) -> anyhow::Result<bool> {
    taken(Blocking(io::stdout().as_fd()).write_all(content.as_ref()))
        .context("cannot write to standard output")
}

/// Checks that an output is not written over kept results.
pub(crate) fn is_no_store(path: &Path) -> anyhow::Result<()> {
    if store::results::is_store(path) {
        bail!("{path:?} is a store of results, and would be overwritten\ntry: another file for the output");
    }
    Ok(())
}

/// Takes the outcome of writing to standard output elsewhere.
pub(crate) fn put(written: io::Result<()>) -> anyhow::Result<()> {
    taken(written).map(drop).context("cannot write to standard output")
}

/// Writes to standard error. A failure has nowhere to go.
pub(crate) fn to_stderr(text: &str) {
    let _ = write_to_stderr(text);
}

/// Writes a page there, as [`put_to_stdout`] does: a page that is lost must not look like success,
/// though only the exit status can tell of it.
pub(crate) fn put_page_to_stderr(content: impl AsRef<[u8]>) -> anyhow::Result<bool> {
    taken(write_to_stderr(content)).context("cannot write to standard error")
}

fn write_to_stderr(content: impl AsRef<[u8]>) -> io::Result<()> {
    Blocking(io::stderr().as_fd()).write_all(content.as_ref())
}

/// What failed and why, and below it what to try: the cause of an error stands before its remedy.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let (mut failed, mut remedies) = (Vec::new(), String::new());
    for link in error.chain().map(ToString::to_string) {
        let (what, remedy) = link.split_at(link.find("\ntry: ").unwrap_or(link.len()));
        failed.push(what.to_owned());
        remedies.push_str(remedy);
    }
    failed.join(": ") + &remedies
}

/// Prints a warning or an error to standard error.
pub(crate) fn complain(text: &str) {
    to_stderr(&format!("{}dwell: {text}\n", removed()));
}

/// Says that the program goes on, if it does; it was `done` up to here.
pub(crate) fn complain_of_left(left: Option<LeftProgram>, done: &str) {
    if let Some(LeftProgram { pid, signal }) = left {
        complain(&format!(
            "the program (PID {pid}) did not end by signal {signal} and goes on; it is {done} up to here"
        ));
    }
}

/// Whether it was accepted. It was not, without an error, if the reader of the pipe is gone.
fn taken(written: io::Result<()>) -> io::Result<bool> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_remedy_stands_below_the_cause() {
        let error = anyhow::anyhow!("no such file").context("cannot read it\ntry: another").context("a");
        assert_eq!(told(&error), "a: cannot read it: no such file\ntry: another");
        assert_eq!(told(&anyhow::anyhow!("it\nand more\ntry: x")), "it\nand more\ntry: x");
    }

    #[test]
    fn what_is_printed_meanwhile_removes_the_line_once() {
        assert_eq!(removed(), "");
        line_stands(true);
        assert_eq!([removed(), removed()], [REMOVE, ""]);
    }

    #[test]
    fn a_file_is_unchanged_until_it_is_written() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("old");
        fs::write(&path, "what was there before").unwrap();
        drop(Target::open(&path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "what was there before");
        Target::open(&path).unwrap().put("new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_file_that_is_not_written_is_not_left_behind() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("new");
        drop(Target::open(&path).unwrap());
        drop(Growing::open(&path).unwrap());
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);
        Target::open(&path).unwrap().put("").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        fs::remove_file(&path).unwrap();
        drop(Growing::open(&path).unwrap().take().unwrap());
        assert!(path.exists());
    }

    #[test]
    fn the_error_names_the_file() {
        let error = Target::open(Path::new("/no/such/directory/file")).unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot write \"/no/such/directory/file\": "), "{error:#}");
        assert!(Target::open(Path::new("/")).is_err());
        Target::open(Path::new("/dev/null")).unwrap().put("gone").unwrap();
    }
}

//! A sheet of wake-ups while it is measured: one file of JSON, replaced when a case is done, so
//! that a run of hours can be resumed after an interruption.
//!
//! It is written to a temporary file, synced and then renamed: even after a power failure there is
//! the old or the new one, whole.

use crate::whole;
use model::Pid;
use model::recording::Host;
use model::wake::WakeRequest;
use model::wake::sheet::Sheet;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A larger file is not a sheet of dwell.
const MAX_BYTES: u64 = 1 << 30;

/// The name of the schema.
pub const SCHEMA_UNFINISHED: &str = "dwell.wake-unfinished/1";

/// A sheet that is being measured, with what is needed to resume it. Not a public format; removed
/// when the sheet is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// [`SCHEMA_UNFINISHED`].
    pub schema: String,
    /// The version of dwell that measures.
    pub recorder: String,
    /// The process that measures, or was the last to do so.
    pub process: Pid,
    /// The host; it can be resumed only there.
    pub host: Host,
    /// The request of each case, without its loads.
    pub asked: WakeRequest,
    /// Idle states are left as they are.
    pub idle_states: bool,
    /// Spikes are not traced.
    pub no_spikes: bool,
    /// The outputs, by the name of the form: files by absolute paths, `-` for standard output.
    /// Names of files need not be UTF-8.
    #[serde(rename = "places")]
    pub outputs: BTreeMap<String, OsString>,
    /// All cases, and the results of completed ones.
    pub sheet: Sheet,
}

/// The user, host and version that resume a sheet.
#[derive(Debug, Clone, Copy)]
pub struct Resumer<'a> {
    /// The machine.
    pub host: &'a Host,
    /// The version of dwell.
    pub recorder: &'a str,
    /// The effective user: a sheet names files to write, so one of another user is refused.
    pub uid: u32,
}

/// Why an unfinished sheet cannot be saved.
#[derive(Debug, thiserror::Error)]
#[error("cannot save the cases measured so far to {path:?}: {said}")]
pub struct SheetSaveError {
    /// Its path.
    pub path: PathBuf,
    /// The system's error.
    pub said: io::Error,
}

/// Why a sheet cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The system refused to read it.
    #[error("cannot read {path:?}: {said}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        said: io::Error,
    },
    /// It belongs to another user.
    #[error("{path:?} is of another user ({uid}), and names files to write\ntry: the same as that user")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// It is damaged, or something else.
    #[error(
        "{0:?} is not a sheet that can be resumed\ntry: the file that dwell wake --sheet named when it was interrupted"
    )]
    Other(PathBuf),
    /// It is being measured.
    #[error(
        "{path:?} is being measured{}\ntry: the same when that has ended",
        .process.map_or_else(String::new, |process| format!(" by process {process}"))
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// The process that measures it.
        process: Option<u64>,
    },
    /// It is of another host, or of this one before a change.
    #[error(
        "{path:?} was measured on another {what} ({was}; here it is {is}): one sheet has one host\n\
         try: dwell wake --sheet {path:?} --json NEW, which measures its cases anew; dwell diff {path:?} NEW has those that were \
         measured"
    )]
    Elsewhere {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// Its value in the file.
        was: String,
        /// Its value here.
        is: String,
    },
    /// Another version of dwell measured it.
    #[error(
        "{path:?} was begun by dwell {was}; this is {is}, which may measure in another way\n\
         try: that version; or dwell wake --sheet {path:?} --json NEW, which measures its cases anew; dwell diff {path:?} NEW has \
         those that were measured"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version that began it.
        was: String,
        /// This one.
        is: String,
    },
}

/// The file of a sheet, locked: while this value exists, no other process can resume the sheet.
///
/// The file itself is locked (flock(2)), so the lock ends when its holder is killed. On a
/// filesystem without locks there is none.
#[derive(Debug)]
pub struct LockedSheet {
    path: PathBuf,
    /// The lock belongs to this file.
    _locked: File,
}

impl LockedSheet {
    /// Saves a new one at `path`, which must not exist; makes the directory.
    ///
    /// # Errors
    /// The system's error, with the path.
    pub fn begin(path: &Path, unfinished: &Unfinished) -> Result<Self, SheetSaveError> {
        let make = || -> io::Result<File> {
            let dir = crate::above(path)?;
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            let file = match written(dir, unfinished)?.persist_noclobber(path) {
                Err(taken) if taken.error.kind() == ErrorKind::AlreadyExists => return Err(taken.error),
                // Not every filesystem can rename without replacing.
                Err(unable) => unable.file.persist(path)?,
                Ok(file) => file,
            };
            File::open(dir)?.sync_all()?;
            Ok(file)
        };
        let locked = make().map_err(|said| SheetSaveError { path: path.to_owned(), said })?;
        Ok(Self { path: path.to_owned(), _locked: locked })
    }

    /// The sheet at `path`, if it is of this user, this host and this version of dwell, and no
    /// other process holds it.
    ///
    /// # Errors
    /// Why it cannot be resumed.
    pub fn resume(path: &Path, by: Resumer<'_>) -> Result<(Self, Unfinished), ResumeError> {
        let Resumer { host, recorder, uid } = by;
        let refused = |said| ResumeError::Unreadable { path: path.to_owned(), said };
        let other = || ResumeError::Other(path.to_owned());
        // Some filesystems lock only files that are open for writing.
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(refused)?;
        let found = file.metadata().map_err(refused)?;
        if found.uid() != uid {
            return Err(ResumeError::Foreign { path: path.to_owned(), uid: found.uid() });
        }
        if !found.is_file() {
            return Err(other());
        }
        let locked = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        let any: Option<Value> = serde_json::from_slice(&whole(&file, MAX_BYTES).map_err(refused)?).ok();
        let any = any.filter(|any| any["schema"] == SCHEMA_UNFINISHED).ok_or_else(other)?;
        // The process that measures may have replaced it between opening and locking.
        if !locked || !leads_to(path, &file) {
            return Err(ResumeError::Busy { path: path.to_owned(), process: any["process"].as_u64() });
        }
        let was = any["recorder"].as_str().unwrap_or_default();
        if was != recorder {
            let (was, is) = (was.to_owned(), recorder.to_owned());
            return Err(ResumeError::Version { path: path.to_owned(), was, is });
        }
        let unfinished: Unfinished = serde_json::from_value(any).map_err(|_| other())?;
        let cpus = |host: &Host| format!("{} CPUs", host.cpus);
        for (what, was, is) in [
            ("name", unfinished.host.name.clone(), host.name.clone()),
            ("kernel", unfinished.host.kernel.clone(), host.kernel.clone()),
            ("architecture", unfinished.host.arch.clone(), host.arch.clone()),
            ("machine", cpus(&unfinished.host), cpus(host)),
        ] {
            if was != is {
                return Err(ResumeError::Elsewhere { path: path.to_owned(), what, was, is });
            }
        }
        let (done, cases) = (unfinished.sheet.results.len(), unfinished.sheet.cases.len());
        if done > cases {
            return Err(other());
        }
        Ok((Self { path: path.to_owned(), _locked: file }, unfinished))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Saves it as it is now, in place of the old one.
    ///
    /// # Errors
    /// The system's error, with the path.
    pub fn keep(&mut self, unfinished: &Unfinished) -> Result<(), SheetSaveError> {
        let put = || -> io::Result<File> {
            let dir = crate::above(&self.path)?;
            let file = written(dir, unfinished)?.persist(&self.path)?;
            File::open(dir)?.sync_all()?;
            Ok(file)
        };
        self._locked = put().map_err(|said| SheetSaveError { path: self.path.clone(), said })?;
        Ok(())
    }

    /// Removes it: the sheet is done. It is no error when it does not exist.
    ///
    /// # Errors
    /// The system's error, with the path.
    pub fn done(self) -> Result<(), SheetSaveError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|said| SheetSaveError { path: self.path, said }),
        }
    }
}

/// A temporary file, synced and locked.
fn written(dir: &Path, unfinished: &Unfinished) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(".unfinished-").tempfile_in(dir)?;
    file.write_all(&serde_json::to_vec(unfinished)?)?;
    file.as_file().sync_all()?;
    // No other process knows this file yet, so only a filesystem without locks can refuse.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Whether `path` leads to this file.
fn leads_to(path: &Path, file: &File) -> bool {
    let which = |found: fs::Metadata| (found.dev(), found.ino());
    let (there, here) = (fs::metadata(path).map(which), file.metadata().map(which));
    matches!((there, here), (Ok(there), Ok(here)) if there == here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seen;
    use model::wake::sheet::{Case, SCHEMA_SHEET};
    use model::wake::{Policy, Sleeper, WakeMode};

    fn host() -> Host {
        Host {
            name: "board".into(),
            kernel: "6.1.0".into(),
            arch: "aarch64".into(),
            cpus: 4,
            memory_bytes: Seen::Value(1 << 30),
            virtualisation: Seen::Absent,
        }
    }

    /// This user's attempt, on `host` with version `recorder`.
    fn resume(path: &Path, host: &Host, recorder: &str) -> Result<(LockedSheet, Unfinished), ResumeError> {
        let above = path.parent().unwrap();
        let uid = fs::metadata(above).unwrap().uid();
        LockedSheet::resume(path, Resumer { host, recorder, uid })
    }

    fn unfinished() -> Unfinished {
        let asked = WakeRequest {
            mode: WakeMode::Timer,
            sleeper: Sleeper::ClockNanosleep,
            cpus: vec![0, 1],
            interval_ns: 200_000,
            for_ns: 1_000_000_000,
            policy: Policy::Fifo(80),
            loads: Vec::new(),
            deadline: None,
            spike_ns: None,
        };
        let cases = vec![Case { name: "idle".into(), loads: Vec::new() }];
        Unfinished {
            schema: SCHEMA_UNFINISHED.into(),
            recorder: "1.2.3".into(),
            host: host(),
            asked,
            idle_states: false,
            no_spikes: true,
            process: 7,
            outputs: [("json".to_owned(), "/a/\u{fc}".into())].into(),
            sheet: Sheet {
                schema: SCHEMA_SHEET.into(),
                name: "x".into(),
                for_ns: 1_000_000_000,
                cases,
                results: Vec::new(),
            },
        }
    }

    #[test]
    fn what_is_kept_is_read_back_and_gone_when_it_is_done() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("a/b/sheet.unfinished");
        let mut held = LockedSheet::begin(&path, &unfinished()).unwrap();
        held.keep(&unfinished()).unwrap();
        drop(held);
        let (held, kept) = resume(&path, &host(), "1.2.3").unwrap();
        assert_eq!((kept, held.path()), (unfinished(), path.as_path()));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        held.done().unwrap();
        assert!(matches!(resume(&path, &host(), "1.2.3"), Err(ResumeError::Unreadable { .. })));
    }

    #[test]
    fn no_other_process_resumes_or_replaces_what_is_locked() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        let busy = || match resume(&path, &host(), "1.2.3") {
            Err(error @ ResumeError::Busy { .. }) => {
                error.to_string().contains("being measured by process 7")
            }
            _ => false,
        };
        let mut held = LockedSheet::begin(&path, &unfinished()).unwrap();
        assert!(busy());
        assert_eq!(
            LockedSheet::begin(&path, &unfinished()).unwrap_err().said.kind(),
            ErrorKind::AlreadyExists
        );
        held.keep(&unfinished()).unwrap();
        assert!(busy(), "the file that replaced it is locked as well");
        drop(held);
        let (held, _) = resume(&path, &host(), "1.2.3").unwrap();
        assert!(busy());
        drop(held);
        assert!(resume(&path, &host(), "1.2.3").is_ok());
    }

    #[test]
    fn another_host_kernel_version_or_file_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        drop(LockedSheet::begin(&path, &unfinished()).unwrap());
        let refused = |host: &Host, recorder: &str| resume(&path, host, recorder).unwrap_err().to_string();
        for (host, said) in [
            (Host { name: "other".into(), ..host() }, "another name (board; here it is other)"),
            (Host { kernel: "6.1.0-rt".into(), ..host() }, "another kernel (6.1.0;"),
            (Host { cpus: 2, ..host() }, "another machine (4 CPUs; here it is 2 CPUs)"),
        ] {
            assert!(refused(&host, "1.2.3").contains(said), "{}", refused(&host, "1.2.3"));
        }
        assert!(refused(&host(), "1.2.4").contains("begun by dwell 1.2.3"));
        for other in ["", "{}", "[1]", "{\"schema\": \"dwell.wake-sheet/1\"}"] {
            fs::write(&path, other).unwrap();
            assert!(refused(&host(), "1.2.3").contains("not a sheet that can be resumed"), "{other}");
        }
        assert!(LockedSheet::begin(Path::new("/proc/no/x"), &unfinished()).is_err());
    }

    #[test]
    fn a_sheet_of_another_user_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        drop(LockedSheet::begin(&path, &unfinished()).unwrap());
        let uid = fs::metadata(&path).unwrap().uid() + 1;
        let refused =
            LockedSheet::resume(&path, Resumer { host: &host(), recorder: "1.2.3", uid }).unwrap_err();
        assert!(matches!(refused, ResumeError::Foreign { .. }), "{refused}");
    }
}

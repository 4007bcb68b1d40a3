//! A sheet of wake-ups while it is measured: one file of JSON, replaced when a case is done, so that a run of hours goes on
//! where it was after whatever ended it.
//!
//! It is written beside its place, brought to the disk and then put there: also after a loss of power there is the old
//! one or the new one, whole.

use crate::whole;
use model::Pid;
use model::recording::Host;
use model::wake::Asked;
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

/// More is no sheet of ours.
const MAX_BYTES: u64 = 1 << 30;

/// The name of what an unfinished sheet is kept as.
pub const SCHEMA_UNFINISHED: &str = "dwell.wake-unfinished/1";

/// A sheet that is being measured, with what is needed to resume it. Not a promise to others, and
/// removed when the sheet is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// [`SCHEMA_UNFINISHED`].
    pub schema: String,
    /// The version of dwell that measures.
    pub recorder: String,
    /// The process that measures, or did last.
    pub process: Pid,
    /// Where it is measured, and nowhere else.
    pub host: Host,
    /// What is asked for in each case, without its loads.
    pub asked: Asked,
    /// Idle states are left as they are.
    pub idle_states: bool,
    /// The kernel is not watched for what makes wake-ups late.
    pub no_spikes: bool,
    /// Where the result goes, by the name of the form: files by absolute paths, `-` for standard
    /// output. Names of files need not be UTF-8.
    #[serde(rename = "places")]
    pub outputs: BTreeMap<String, OsString>,
    /// All cases, and the results of those that were measured to their end.
    pub sheet: Sheet,
}

/// Who resumes a sheet, and where.
#[derive(Debug, Clone, Copy)]
pub struct Resumer<'a> {
    /// The machine.
    pub host: &'a Host,
    /// The version of dwell.
    pub recorder: &'a str,
    /// The effective user: a sheet says which files are written, so that of another is refused.
    pub uid: u32,
}

/// Why an unfinished sheet cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep what was measured so far in {path:?}: {said}")]
pub struct NotKept {
    /// Where it was to be.
    pub path: PathBuf,
    /// What the system said.
    pub said: io::Error,
}

/// Why a sheet cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum CannotGoOn {
    /// The system refused to read it.
    #[error("cannot read {path:?}: {said}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        said: io::Error,
    },
    /// It belongs to another user.
    #[error(
        "{path:?} is of another user ({uid}), and says where results are written\ntry: the same as that user"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// It is damaged, or something else.
    #[error(
        "{0:?} is no sheet that could go on\ntry: the file that dwell wake --sheet named when it was ended"
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
        /// By whom.
        process: Option<u64>,
    },
    /// It is of another host, or of this one as it was.
    #[error(
        "{path:?} was measured on another {what} ({was}; here it is {is}): one sheet has one host\n\
         try: dwell wake --sheet {path:?} --json NEW, which measures its cases anew; dwell diff {path:?} NEW has those that were \
         measured"
    )]
    Elsewhere {
        /// The file.
        path: PathBuf,
        /// In what they differ.
        what: &'static str,
        /// There.
        was: String,
        /// Here.
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

/// A sheet's file, held: while this is there, no other process goes on with it.
///
/// What is locked is the file itself (flock(2)), so that nothing stays when its holder is killed. A filesystem without locks
/// has none here either.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    /// The lock is this file's.
    _locked: File,
}

impl Held {
    /// Keeps a new one at `path`, where nothing may be yet; makes the directory.
    ///
    /// # Errors
    /// What the system said, with the place.
    pub fn begin(path: &Path, unfinished: &Unfinished) -> Result<Self, NotKept> {
        let make = || -> io::Result<File> {
            let dir = crate::above(path)?;
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            let file = match written(dir, unfinished)?.persist_noclobber(path) {
                Err(taken) if taken.error.kind() == ErrorKind::AlreadyExists => return Err(taken.error),
                // Not every filesystem can put a file only where there is none.
                Err(unable) => unable.file.persist(path)?,
                Ok(file) => file,
            };
            File::open(dir)?.sync_all()?;
            Ok(file)
        };
        let locked = make().map_err(|said| NotKept { path: path.to_owned(), said })?;
        Ok(Self { path: path.to_owned(), _locked: locked })
    }

    /// The sheet at `path`, if it is of this user, this host and this version of dwell, and no other
    /// process holds it.
    ///
    /// # Errors
    /// Why it cannot go on.
    pub fn resume(path: &Path, by: Resumer<'_>) -> Result<(Self, Unfinished), CannotGoOn> {
        let Resumer { host, recorder, uid } = by;
        let refused = |said| CannotGoOn::Unreadable { path: path.to_owned(), said };
        let other = || CannotGoOn::Other(path.to_owned());
        // Some filesystems lock only what is open for writing.
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(refused)?;
        let found = file.metadata().map_err(refused)?;
        if found.uid() != uid {
            return Err(CannotGoOn::Foreign { path: path.to_owned(), uid: found.uid() });
        }
        if !found.is_file() {
            return Err(other());
        }
        let locked = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        let any: Option<Value> = serde_json::from_slice(&whole(&file, MAX_BYTES).map_err(refused)?).ok();
        let any = any.filter(|any| any["schema"] == SCHEMA_UNFINISHED).ok_or_else(other)?;
        // Whoever is at it may have replaced it between the two looks.
        if !locked || !leads_to(path, &file) {
            return Err(CannotGoOn::Busy { path: path.to_owned(), process: any["process"].as_u64() });
        }
        let was = any["recorder"].as_str().unwrap_or_default();
        if was != recorder {
            let (was, is) = (was.to_owned(), recorder.to_owned());
            return Err(CannotGoOn::Version { path: path.to_owned(), was, is });
        }
        let unfinished: Unfinished = serde_json::from_value(any).map_err(|_| other())?;
        let cpus = |host: &Host| format!("{} processors", host.cpus);
        for (what, was, is) in [
            ("name", unfinished.host.name.clone(), host.name.clone()),
            ("kernel", unfinished.host.kernel.clone(), host.kernel.clone()),
            ("architecture", unfinished.host.arch.clone(), host.arch.clone()),
            ("machine", cpus(&unfinished.host), cpus(host)),
        ] {
            if was != is {
                return Err(CannotGoOn::Elsewhere { path: path.to_owned(), what, was, is });
            }
        }
        let (done, cases) = (unfinished.sheet.results.len(), unfinished.sheet.cases.len());
        if done > cases {
            return Err(other());
        }
        Ok((Self { path: path.to_owned(), _locked: file }, unfinished))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps it as it is now, in place of what was there.
    ///
    /// # Errors
    /// What the system said, with the place.
    pub fn keep(&mut self, unfinished: &Unfinished) -> Result<(), NotKept> {
        let put = || -> io::Result<File> {
            let dir = crate::above(&self.path)?;
            let file = written(dir, unfinished)?.persist(&self.path)?;
            File::open(dir)?.sync_all()?;
            Ok(file)
        };
        self._locked = put().map_err(|said| NotKept { path: self.path.clone(), said })?;
        Ok(())
    }

    /// Removes it: the sheet is done. What is not there need not go.
    ///
    /// # Errors
    /// What the system said, with the place.
    pub fn done(self) -> Result<(), NotKept> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|said| NotKept { path: self.path, said }),
        }
    }
}

/// A file without its name yet, on the disk and locked.
fn written(dir: &Path, unfinished: &Unfinished) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(".unfinished-").tempfile_in(dir)?;
    file.write_all(&serde_json::to_vec(unfinished)?)?;
    file.as_file().sync_all()?;
    // Nobody else knows this file yet, so only a filesystem without locks can refuse.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Whether it is this file that is found there.
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
    use model::wake::{Mode, Policy, Sleeper};

    fn host() -> Host {
        Host {
            name: "board".into(),
            kernel: "6.1.0".into(),
            arch: "aarch64".into(),
            cpus: 4,
            memory_bytes: 1 << 30,
            virtualisation: Seen::Absent,
        }
    }

    /// This user's attempt, on `host` with version `recorder`.
    fn resume(path: &Path, host: &Host, recorder: &str) -> Result<(Held, Unfinished), CannotGoOn> {
        let above = path.parent().unwrap();
        let uid = fs::metadata(above).unwrap().uid();
        Held::resume(path, Resumer { host, recorder, uid })
    }

    fn unfinished() -> Unfinished {
        let asked = Asked {
            mode: Mode::Timer,
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
        let mut held = Held::begin(&path, &unfinished()).unwrap();
        held.keep(&unfinished()).unwrap();
        drop(held);
        let (held, kept) = resume(&path, &host(), "1.2.3").unwrap();
        assert_eq!((kept, held.path()), (unfinished(), path.as_path()));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        held.done().unwrap();
        assert!(matches!(resume(&path, &host(), "1.2.3"), Err(CannotGoOn::Unreadable { .. })));
    }

    #[test]
    fn nobody_else_goes_on_with_what_is_held_or_begins_in_its_place() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        let busy = || match resume(&path, &host(), "1.2.3") {
            Err(error @ CannotGoOn::Busy { .. }) => error.to_string().contains("being measured by process 7"),
            _ => false,
        };
        let mut held = Held::begin(&path, &unfinished()).unwrap();
        assert!(busy());
        assert_eq!(Held::begin(&path, &unfinished()).unwrap_err().said.kind(), ErrorKind::AlreadyExists);
        held.keep(&unfinished()).unwrap();
        assert!(busy(), "also what was put in its place is held");
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
        drop(Held::begin(&path, &unfinished()).unwrap());
        let refused = |host: &Host, recorder: &str| resume(&path, host, recorder).unwrap_err().to_string();
        for (host, said) in [
            (Host { name: "other".into(), ..host() }, "another name (board; here it is other)"),
            (Host { kernel: "6.1.0-rt".into(), ..host() }, "another kernel (6.1.0;"),
            (Host { cpus: 2, ..host() }, "another machine (4 processors; here it is 2 processors)"),
        ] {
            assert!(refused(&host, "1.2.3").contains(said), "{}", refused(&host, "1.2.3"));
        }
        assert!(refused(&host(), "1.2.4").contains("begun by dwell 1.2.3"));
        for other in ["", "{}", "[1]", "{\"schema\": \"dwell.wake-sheet/1\"}"] {
            fs::write(&path, other).unwrap();
            assert!(refused(&host(), "1.2.3").contains("no sheet that could go on"), "{other}");
        }
        assert!(Held::begin(Path::new("/proc/no/x"), &unfinished()).is_err());
    }

    #[test]
    fn a_sheet_of_another_user_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        drop(Held::begin(&path, &unfinished()).unwrap());
        let uid = fs::metadata(&path).unwrap().uid() + 1;
        let refused = Held::resume(&path, Resumer { host: &host(), recorder: "1.2.3", uid }).unwrap_err();
        assert!(matches!(refused, CannotGoOn::Foreign { .. }), "{refused}");
    }
}

//! A sheet of wake-ups while it is measured: one file of JSON, replaced when a case is done, so that a run of hours goes on
//! where it was after whatever ended it.
//!
//! It is written beside its place, brought to the disk and then put there: also after a loss of power there is the old
//! one or the new one, whole.

use model::recording::Host;
use model::wake::sheet::{SCHEMA_UNFINISHED, Unfinished};
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

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
    /// It is damaged, or something else.
    #[error(
        "{0:?} is no sheet that could go on\ntry: the file that dwell wake --sheet named when it was ended"
    )]
    Other(PathBuf),
    /// It is of another host, or of this one as it was.
    #[error(
        "{path:?} was measured on another {what} ({was}; here it is {is}): one sheet has one host\ntry: a new sheet"
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
        "{path:?} was begun by dwell {was}; this is {is}, which may measure in another way\ntry: a new sheet, or that version"
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

/// Keeps it at `path`, in place of what was there; makes the directory.
///
/// # Errors
/// What the system said, with the place.
pub fn keep(path: &Path, unfinished: &Unfinished) -> Result<(), NotKept> {
    let put = || -> io::Result<()> {
        let above = path.parent().ok_or(ErrorKind::InvalidInput)?;
        let dir = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let mut file = tempfile::Builder::new().prefix(".unfinished-").tempfile_in(dir)?;
        file.write_all(&serde_json::to_vec(unfinished)?)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        File::open(dir)?.sync_all()
    };
    put().map_err(|said| NotKept { path: path.to_owned(), said })
}

/// What is kept at `path`, if it is of this host as it is now and of this version of dwell.
///
/// # Errors
/// Why it cannot go on.
pub fn kept(path: &Path, host: &Host, recorder: &str) -> Result<Unfinished, CannotGoOn> {
    let bytes = fs::read(path).map_err(|said| CannotGoOn::Unreadable { path: path.to_owned(), said })?;
    let other = |_| CannotGoOn::Other(path.to_owned());
    let any: serde_json::Value = serde_json::from_slice(&bytes).map_err(other)?;
    if any["schema"] != SCHEMA_UNFINISHED {
        return Err(CannotGoOn::Other(path.to_owned()));
    }
    let was = any["recorder"].as_str().unwrap_or_default();
    if was != recorder {
        let (was, is) = (was.to_owned(), recorder.to_owned());
        return Err(CannotGoOn::Version { path: path.to_owned(), was, is });
    }
    let unfinished: Unfinished = serde_json::from_value(any).map_err(other)?;
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
    if done > cases { Err(CannotGoOn::Other(path.to_owned())) } else { Ok(unfinished) }
}

/// Removes it: the sheet is done. What is not there need not go.
///
/// # Errors
/// What the system said, with the place.
pub fn done(path: &Path) -> Result<(), NotKept> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|said| NotKept { path: path.to_owned(), said }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seen;
    use model::wake::sheet::{Case, SCHEMA_SHEET, Sheet};
    use model::wake::{Asked, Mode, Policy, Sleeper};

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
        keep(&path, &unfinished()).unwrap();
        keep(&path, &unfinished()).unwrap();
        assert_eq!(kept(&path, &host(), "1.2.3").unwrap(), unfinished());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        done(&path).unwrap();
        done(&path).unwrap();
        assert!(matches!(kept(&path, &host(), "1.2.3"), Err(CannotGoOn::Unreadable { .. })));
    }

    #[test]
    fn another_host_kernel_version_or_file_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("x");
        keep(&path, &unfinished()).unwrap();
        let refused = |host: &Host, recorder: &str| kept(&path, host, recorder).unwrap_err().to_string();
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
        assert!(keep(Path::new("/proc/no/x"), &unfinished()).is_err());
    }
}

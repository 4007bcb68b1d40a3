//! What is imposed on a run, and what is done instead for the run beside it.

use crate::files;
use crate::group::OwnGroup;
use rustix::process::{Pid, getpriority_process, setpriority_process};
use std::ffi::OsString;
use std::path::PathBuf;
use sys::spawn::{Flushes, HeldProgram, Imposed};

/// What is imposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imposing {
    /// Calls that have the disk confirm what was written return 0. Beside it they are done, and
    /// pass through a filter of the same length.
    SkipFlushes,
    /// `TCP_NODELAY` on its sockets. Beside it the sockets are looked for as well.
    NoDelay,
    /// These files are read into memory. Beside it they are taken out of memory: without that the
    /// first run would have warmed them.
    WarmFiles(Vec<PathBuf>),
    /// A control group beside this one, the outermost that has a CPU quota.
    LiftQuota(PathBuf),
    /// The highest priority of ordinary programs. That of others stays as it is.
    RaisePriority,
    /// glibc's malloc gives nothing back and maps no blocks of their own.
    KeepMemory,
}

/// nice(2): the highest.
const HIGHEST: i32 = -20;

/// mallopt(3): a threshold that is never reached, and no blocks that are mapped on their own.
const KEEP: [(&str, &str); 2] = [("MALLOC_TRIM_THRESHOLD_", "1000000000000000"), ("MALLOC_MMAP_MAX_", "0")];

impl Imposing {
    /// Whether it can be imposed here.
    ///
    /// # Errors
    /// Why not: a sentence without a full stop.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::WarmFiles(paths) => files::check(paths),
            Self::LiftQuota(limited) => OwnGroup::beside(limited).map(drop),
            Self::RaisePriority => may_raise(),
            Self::SkipFlushes | Self::NoDelay | Self::KeepMemory => Ok(()),
        }
    }

    /// Before the command's process is there; `on`: the run with the fix, else the one beside it.
    pub(crate) fn before(&self, on: bool) -> Result<Imposed, String> {
        let mut imposed = Imposed { silent: true, ..Imposed::default() };
        match self {
            Self::SkipFlushes => {
                imposed.flushes = Some(if on { Flushes::Skipped } else { Flushes::Done });
            }
            Self::WarmFiles(paths) if on => files::warm(paths)?,
            Self::WarmFiles(paths) => files::drop_pages(paths)?,
            Self::KeepMemory if on => {
                imposed.variables = KEEP.map(|(name, value)| (OsString::from(name), value.into())).into();
            }
            Self::NoDelay | Self::LiftQuota(_) | Self::RaisePriority | Self::KeepMemory => {}
        }
        Ok(imposed)
    }

    /// While the command's process is held, with the fix. What it gives is to be kept until the
    /// command has ended.
    pub(crate) fn on_held(&self, held: &HeldProgram) -> Result<Option<OwnGroup>, String> {
        match self {
            Self::LiftQuota(limited) => {
                let group = OwnGroup::beside(limited)?;
                group.add(held.pid())?;
                Ok(Some(group))
            }
            Self::RaisePriority => {
                let pid = i32::try_from(held.pid()).ok().and_then(Pid::from_raw);
                setpriority_process(pid, HIGHEST)
                    .map(|()| None)
                    .map_err(|errno| format!("cannot raise its priority: {errno}"))
            }
            _ => Ok(None),
        }
    }
}

/// Tries it with this process, and puts it back.
fn may_raise() -> Result<(), String> {
    let refused = |errno| format!("cannot raise a priority: {errno}");
    let before = getpriority_process(None).map_err(refused)?;
    setpriority_process(None, HIGHEST).map_err(refused)?;
    setpriority_process(None, before).map_err(refused)
}

//! Code that processes made while they ran: who made it, and its names.
//!
//! A runtime names its code in a perf map or a jitdump file, where it was told to (Node.js with
//! `--perf-basic-prof`, .NET, Java, ...). Which addresses need names is noted as code runs. The
//! files are read when the process ends or executes another program, or when names are looked up:
//! what was made later may cover what was made before.

mod dotnet;
mod dump;
mod named;
mod perf_map;
mod process;
mod runtime;

use std::fmt;
use std::fs::File;
use std::sync::Arc;
use std::time::SystemTime;

use model::recording::Runtime;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Mapping;
use crate::files::FileId;
pub(crate) use named::Named;
use process::Process;
pub use process::{UnreadReason, began};
#[cfg(any(test, fuzzing))]
pub(crate) use {dump::name as names_of_dump, perf_map::name as names_of_map};

/// The limit of processes of which names are looked up. Each may hold a descriptor while it lives.
const PROCESSES_MAX: usize = 256;

/// The limit of addresses to be named, in all processes.
const ADDRESSES_MAX: usize = 1 << 20;

/// The limit of jitdump files that are held open.
const DUMPS_MAX: usize = 256;

/// A file with names that is not read, or not whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnreadNames {
    /// The process.
    pub pid: u32,
    /// Which of its files.
    pub file: NameFile,
    /// Why.
    pub why: UnreadReason,
}

/// A kind of file with names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameFile {
    /// `/tmp/perf-PID.map`.
    PerfMap,
    /// `jit-PID.dump`.
    JitDump,
}

impl fmt::Display for UnreadNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = match self.file {
            NameFile::PerfMap => "perf map",
            NameFile::JitDump => "jitdump file",
        };
        match self.why {
            UnreadReason::TooLong => {
                write!(f, "the {file} of process {} is not read whole: {}", self.pid, self.why)
            }
            _ => write!(f, "the {file} of process {} is not read: {}", self.pid, self.why),
        }
    }
}

/// A jitdump file that a process has mapped, open; or why it is not.
pub(crate) type Dump = Result<File, UnreadReason>;

/// All processes in which such code ran.
pub(crate) struct JitProcesses {
    all: Vec<JitProcess>,
    by_file: FxHashMap<FileId, usize>,
    addresses: usize,
    dumps: usize,
    /// When the first process could be seen.
    began: SystemTime,
}

/// The code of one process, between two executions of programs.
struct JitProcess {
    pid: u32,
    addresses: FxHashSet<u64>,
    /// None once it has ended, and above the limit of processes.
    process: Option<Process>,
    names: JitNames,
}

/// Names of a process's code.
#[derive(Debug, Default)]
pub(crate) struct JitNames {
    pub(crate) named: Named,
    pub(crate) unread: Vec<UnreadNames>,
}

impl JitProcesses {
    pub(crate) fn new() -> Self {
        JitProcesses {
            all: Vec::new(),
            by_file: FxHashMap::default(),
            addresses: 0,
            dumps: 0,
            began: SystemTime::now(),
        }
    }

    /// Code of a process ran for the first time; `file` stands for it from now on.
    pub(crate) fn met(&mut self, pid: u32, file: FileId) {
        let process = (self.all.len() < PROCESSES_MAX).then(|| Process::of(pid, self.began));
        self.by_file.insert(file, self.all.len());
        let addresses = FxHashSet::default();
        self.all.push(JitProcess { pid, addresses, process, names: JitNames::default() });
    }

    /// Code at an address ran.
    pub(crate) fn ran(&mut self, file: FileId, address: u64) {
        let Some(process) = self.by_file.get(&file).and_then(|at| self.all.get_mut(*at)) else { return };
        if self.addresses < ADDRESSES_MAX && process.process.is_some() && process.addresses.insert(address) {
            self.addresses += 1;
        }
    }

    /// A process mapped a file: opens it if it is a jitdump file.
    pub(crate) fn mapped(&mut self, pid: u32, mapping: &Mapping) -> Option<Arc<Dump>> {
        let name = mapping.path.rsplit(|byte| *byte == b'/').next()?;
        let digits = name.strip_prefix(b"jit-")?.strip_suffix(b".dump")?;
        let is = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        if !is || self.dumps >= DUMPS_MAX {
            return None;
        }
        self.dumps += 1;
        Some(Arc::new(process::mapped(pid, mapping)))
    }

    /// A process has ended, or executed another program: its files are read for the last time.
    pub(crate) fn ended(&mut self, file: FileId, dump: Option<&Dump>) {
        let Some(process) = self.by_file.get(&file).and_then(|at| self.all.get_mut(*at)) else { return };
        if let Some(names) = process.names(dump) {
            process.names = names;
        }
        process.process = None;
        process.addresses = FxHashSet::default();
    }

    /// Calls `use_names` with the names of a process's code as they are now.
    pub(crate) fn with_names(&self, file: FileId, dump: Option<&Dump>, use_names: impl FnOnce(&JitNames)) {
        let Some(process) = self.by_file.get(&file).and_then(|at| self.all.get(*at)) else { return };
        match process.names(dump) {
            Some(names) => use_names(&names),
            None => use_names(&process.names),
        }
    }
}

impl JitProcess {
    /// Reads the names; none where that was done for the last time.
    fn names(&self, dump: Option<&Dump>) -> Option<JitNames> {
        let process = self.process.as_ref()?;
        let mut names = JitNames { named: Named::new(self.addresses.iter().copied()), unread: Vec::new() };
        let mut unread = |file, why| names.unread.push(UnreadNames { pid: self.pid, file, why });
        let of_dump = match dump {
            Some(Ok(file)) => named_by_dump(process, file, &mut names.named).err(),
            Some(Err(why)) => Some(why.clone()),
            None => None,
        };
        of_dump.into_iter().for_each(|why| unread(NameFile::JitDump, why));
        if let Err(why) = named_by_map(process, &mut names.named) {
            unread(NameFile::PerfMap, why);
        }
        Some(names)
    }
}

fn named_by_dump(process: &Process, file: &File, named: &mut Named) -> Result<(), UnreadReason> {
    // The process has mapped this file, so its age does not matter.
    let file = process.checked(file.try_clone()?, None)?;
    if dump::name(&file, named)? { Err(UnreadReason::TooLong) } else { Ok(()) }
}

fn named_by_map(process: &Process, named: &mut Named) -> Result<(), UnreadReason> {
    let Some(file) = process.perf_map()? else { return Ok(()) };
    if perf_map::name(&file, named)? { Err(UnreadReason::TooLong) } else { Ok(()) }
}

/// The runtime that makes the code of a process with these mapped files.
pub(crate) fn runtime<'a>(paths: impl Iterator<Item = &'a str>) -> Runtime {
    runtime::of(paths)
}

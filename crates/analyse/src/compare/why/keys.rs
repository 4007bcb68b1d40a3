//! What makes a row of one run that of another: typed keys. PIDs are no part of them, nor is where
//! the program lies.

use super::names::{self, Varying};
use super::rows::Pairs;
use model::peers::ConnectionRow;
use model::run::{FunctionRow, LineRow, WaitRow, WakerRow};
use model::wait::{TargetKind, WaitCall, WaitTarget, WakerKind};
use model::{Reason, Run, State, Step};

/// The kernel keeps this many bytes of a task's name.
const COMM_BYTES: usize = 15;

/// A name, or that of the command, which two versions of a program may have different ones of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Named {
    Command,
    Other(String),
}

impl Named {
    /// A process or thread.
    fn task(run: &Run, name: &str) -> Self {
        Self::unless(name, comm(command(run)))
    }

    /// The file that code is in.
    fn module(run: &Run, name: &str) -> Self {
        Self::unless(name, command(run))
    }

    fn unless(name: &str, command: &str) -> Self {
        if name == command { Named::Command } else { Named::Other(name.to_owned()) }
    }

    /// Its name, and that in B where it is another; `a` and `b` are the names of the commands.
    pub(super) fn names(&self, a: &str, b: &str) -> (String, Option<String>) {
        match self {
            Named::Command => (a.to_owned(), (a != b).then(|| b.to_owned())),
            Named::Other(name) => (name.clone(), None),
        }
    }

    /// The same of a task, whose names are short.
    pub(super) fn task_names(&self, a: &str, b: &str) -> (String, Option<String>) {
        self.names(comm(a), comm(b))
    }
}

/// The name of the file that was executed.
fn command(run: &Run) -> &str {
    let path = run.command.first().map_or("", String::as_str);
    path.rsplit('/').next().unwrap_or(path)
}

/// A name as the kernel keeps it of a task.
fn comm(name: &str) -> &str {
    &name[..name.floor_char_boundary(COMM_BYTES)]
}

/// The commands of both sides, by their files' names.
pub(super) fn commands(pairs: &Pairs<'_>) -> [String; 2] {
    let name = |run: &Run| command(run).to_owned();
    pairs.first().map_or_else(Default::default, |(a, b)| [name(a), name(b)])
}

/// A step of the path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct StepKey {
    pub(super) process: Named,
    pub(super) state: State,
    pub(super) reason: Reason,
}

impl StepKey {
    pub(super) fn of(run: &Run, step: &Step) -> Self {
        Self {
            process: Named::task(run, &step.process),
            state: step.state,
            reason: names::of_any_run(&step.reason),
        }
    }
}

impl Varying for StepKey {
    fn constant(&self) -> Option<Self> {
        Some(Self { reason: self.reason.constant()?, ..self.clone() })
    }
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FunctionKey {
    pub(super) name: String,
    pub(super) module: Named,
    pub(super) mode: String,
}

impl FunctionKey {
    pub(super) fn of(run: &Run, row: &FunctionRow) -> Self {
        let module = Named::module(run, &row.module);
        Self { name: row.name.clone(), module, mode: row.mode.clone() }
    }
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct LineKey {
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) function: String,
}

impl LineKey {
    pub(super) fn of(row: &LineRow) -> Self {
        Self { file: row.file.clone(), line: row.line, function: row.function.clone() }
    }
}

/// Two trees of one source have it in different directories.
impl Varying for LineKey {
    fn constant(&self) -> Option<Self> {
        let (_, file) = self.file.rsplit_once('/')?;
        Some(Self { file: file.to_owned(), ..self.clone() })
    }
}

/// A kind of wait.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct WaitKey {
    pub(super) reason: State,
    pub(super) call: WaitCall,
    pub(super) on: WaitTarget,
}

impl WaitKey {
    pub(super) fn of(row: &WaitRow) -> Self {
        let on = names::target_of_any_run(&row.on);
        Self { reason: row.reason, call: row.call.clone(), on }
    }
}

impl Varying for WaitKey {
    fn constant(&self) -> Option<Self> {
        Some(Self { on: self.on.constant()?, ..self.clone() })
    }
}

/// What ends waits in a state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct WakerKey {
    pub(super) reason: State,
    pub(super) kind: WakerKind,
    pub(super) name: Named,
}

impl WakerKey {
    pub(super) fn of(run: &Run, reason: State, by: &WakerRow) -> Self {
        Self { reason, kind: by.kind, name: Named::task(run, &by.name) }
    }
}

impl Varying for WakerKey {
    fn constant(&self) -> Option<Self> {
        match &self.name {
            Named::Command => None,
            Named::Other(name) => Some(Self { name: Named::Other(names::numbered(name)?), ..self.clone() }),
        }
    }
}

/// A peer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PeerKey {
    pub(super) remote: String,
    pub(super) service: Option<String>,
}

impl PeerKey {
    pub(super) fn of(row: &ConnectionRow) -> Self {
        Self { remote: row.remote.clone(), service: row.service.clone() }
    }
}

impl Varying for PeerKey {
    fn constant(&self) -> Option<Self> {
        Some(Self { remote: names::peer(&self.remote)?, ..self.clone() })
    }
}

/// A file that was waited for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FileKey(pub(super) WaitTarget);

impl FileKey {
    pub(super) fn of(row: &WaitRow) -> Option<Self> {
        (row.on.kind() == TargetKind::File).then(|| Self(row.on.clone()))
    }
}

impl Varying for FileKey {
    fn constant(&self) -> Option<Self> {
        self.0.constant().map(Self)
    }
}

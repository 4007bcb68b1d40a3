//! What is known of a program before it is run: how it is prepared, started and watched, and which
//! class is right. The programs themselves are in `evaluation/programs`, a file for each family.
//!
//! Words of commands hold places to be filled in: `{dir}` the program's own directory, `{inputs}`
//! files made for all, `{sources}` what is written here for this lane, `{root}` the repository,
//! `{temp}` a directory that other users can enter, `{port}` a free port of the loopback, `{pg}`
//! the programs of PostgreSQL, `{python}` the interpreter, `{group}` the control group of a quota.
//! Lines of a preparation may also hold a piece by its name: what several programs have in common.

use super::needs::{self, Need};
pub(crate) use model::run::Class;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A program, and what is right to say of it.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(Clone))]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    pub(crate) name: String,
    /// What has to be installed.
    #[serde(default, deserialize_with = "named")]
    pub(crate) needs: Vec<&'static Need>,
    /// Lines for a shell, run before anything is watched.
    #[serde(default)]
    pub(crate) prepare: Vec<String>,
    /// Started before, in this order, and ended afterwards.
    #[serde(default)]
    pub(crate) servers: Vec<String>,
    /// The command that `dwell run` runs. Or:
    #[serde(default)]
    pub(crate) run: Vec<String>,
    /// What `dwell attach` is for.
    pub(crate) attach: Option<Attach>,
    /// Judged before any run. More than one where it depends on the machine, by the reason.
    pub(crate) class: Vec<Class>,
    /// Why this class is right.
    pub(crate) why: String,
    /// Oracles beyond the scheduler's trace and the samples.
    #[serde(default)]
    pub(crate) also: Vec<Also>,
}

/// A window on a process that is there already, and has nothing to do if it is given no load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attach {
    /// Its PID stands in the first line of this file; without one it is the last server.
    pub(crate) pid_file: Option<String>,
    /// A command that gives it work meanwhile.
    pub(crate) load: Option<Vec<String>>,
    /// How long the window is.
    #[serde(default = "usual_window")]
    pub(crate) window: String,
}

fn usual_window() -> String {
    "3s".to_owned()
}

/// A process that is there while the program runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    pub(crate) command: Vec<String>,
    pub(crate) ready: Ready,
}

/// When a server can be used.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ready {
    /// Its port accepts.
    Port,
    /// This command succeeds.
    Succeeds(Vec<String>),
    /// A file is there.
    File(String),
}

/// A further oracle.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Also {
    /// `strace -c` of a run beside: how often these calls are made, which is the same in each run.
    Calls(Vec<String>),
    /// The control group's own time of throttling, and its name.
    Quota,
    /// `pg_stat_activity`: the share of time that sessions of the attached process wait for a lock.
    LockWaits,
    /// `pg_blocking_pids`: who holds it.
    LockHolder,
    /// The program prints `own cpu_ns N` at its end: the CPU time that it had, by its own clock.
    OwnClock,
    /// The source: at least half of the samples are in a function whose name has one of these words
    /// in it.
    Function(Vec<String>),
}

/// What dwell calls machine code that it has no map for: honest, and not a wrong name.
pub(crate) const JIT: &str = "JIT code";

fn named<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<&'static Need>, D::Error> {
    let need = |name: &String| needs::named(name).ok_or_else(|| D::Error::custom(format!("no need {name}")));
    Vec::<String>::deserialize(from)?.iter().map(need).collect()
}

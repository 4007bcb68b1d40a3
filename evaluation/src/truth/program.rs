//! What is known of a program before it is run: how it is prepared, started and watched, and which
//! class is right. The programs themselves are in `programs`, a file for each family.
//!
//! Words of commands hold places to be filled in: `{dir}` the program's own directory, `{inputs}`
//! files made for all, `{sources}` what is written here for this lane, `{root}` the repository,
//! `{temp}` a directory that other users can enter, `{port}` a free port of the loopback, `{pg}`
//! the programs of PostgreSQL, `{python}` the interpreter, `{group}` the control group of a quota.

use super::needs::Need;
pub(crate) use model::run::Class;

/// A program, and what is right to say of it.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// What has to be installed.
    pub(crate) needs: &'static [&'static Need],
    /// Lines for a shell, run before anything is watched.
    pub(crate) prepare: &'static [&'static str],
    /// Started before, in this order, and ended afterwards.
    pub(crate) servers: &'static [Server],
    pub(crate) watch: Watch,
    /// Judged before any run. More than one where it depends on the machine, by the reason.
    pub(crate) class: &'static [Class],
    /// Why this class is right.
    pub(crate) why: &'static str,
    /// Oracles beyond the scheduler's trace and the samples.
    pub(crate) also: &'static [Also],
}

/// What most programs have in common.
pub(crate) const PLAIN: Program = Program {
    name: "",
    needs: &[],
    prepare: &[],
    servers: &[],
    watch: Watch::Run(&[]),
    class: &[],
    why: "",
    also: &[],
};

/// How dwell is used on it.
#[derive(Clone, Copy)]
pub(crate) enum Watch {
    /// `dwell run` of this command.
    Run(&'static [&'static str]),
    /// `dwell attach`.
    Attach(Attach),
}

/// A window on a process that is there already.
#[derive(Clone, Copy)]
pub(crate) struct Attach {
    /// Its PID stands in the first line of this file; without one it is the last server.
    pub(crate) pid_file: Option<&'static str>,
    /// A command that gives it work meanwhile.
    pub(crate) load: Option<&'static [&'static str]>,
    /// How long the window is.
    pub(crate) window: &'static str,
}

/// A window on the last server, to which nothing is sent.
pub(crate) const ALONE: Attach = Attach { pid_file: None, load: None, window: "3s" };

/// The same, as most programs use it.
pub(crate) const LEFT_ALONE: Watch = Watch::Attach(ALONE);

/// A window on the last server under this load.
pub(crate) const fn under(load: &'static [&'static str]) -> Watch {
    Watch::Attach(Attach { load: Some(load), ..ALONE })
}

/// A process that is there while the program runs.
pub(crate) struct Server {
    pub(crate) command: &'static [&'static str],
    pub(crate) ready: Ready,
}

/// When a server can be used.
pub(crate) enum Ready {
    /// Its port accepts.
    Port,
    /// This command succeeds.
    Succeeds(&'static [&'static str]),
    /// A file is there.
    File(&'static str),
}

/// A further oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Also {
    /// `strace -c` of a run beside: how often these calls are made, which is the same in each run.
    Calls(&'static [&'static str]),
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
    Function(&'static [&'static str]),
}

/// What dwell calls machine code that it has no map for: honest, and not a wrong name.
pub(crate) const JIT: &str = "JIT code";

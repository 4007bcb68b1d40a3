//! `dwell attach`: what already runs, watched for a while and accounted for.

use crate::cli::AttachArgs;
use crate::cmd::run::{Kept, Watcher, finish};
use crate::deliver::Outputs;
use crate::kept;
use crate::output;
use anyhow::{Context, bail};
use model::{Ns, Pid};
use observe::cgroups::{self, Hierarchies, NotFound};
use observe::targets::{self, Process};
use observe::{Target, Who, Window};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::Command;
use sys::signals::Signals;

/// Between two lines of progress.
const PROGRESS_NS: Ns = 200_000_000;

/// Watches what is asked for; gives the exit status.
pub(crate) fn attach(args: AttachArgs) -> anyhow::Result<u8> {
    let target = target(&args)?;
    // From here on Ctrl-C ends the window, and the report still comes.
    let _signals = Signals::take_over().context("cannot take signals")?;
    let outputs = Outputs::open(&args.page, args.watching.keep.as_deref())?;
    let keep = args.watching.keep.as_deref().map(output::Target::open).transpose()?;
    let window = Window { target, watching: args.watching.watching(), length_ns: args.length_ns };
    let mut watcher = Watcher { analyser: None, kept: Kept::new(keep, args.watching.keep_limit) };
    let mut progress = Progress::new(!args.quiet, args.length_ns);
    let mut trailer = observe::attach(&window, &mut watcher, &mut |ns| progress.tell(ns))?;
    drop(progress);
    trailer.costs = kept::costs();
    finish(watcher, &trailer, outputs, &args.page, args.quiet)
}

/// A line on a terminal that says how far it is, and is gone when that is over.
struct Progress {
    shown: bool,
    length_ns: Option<Ns>,
    next_ns: Ns,
}

impl Progress {
    fn new(wanted: bool, length_ns: Option<Ns>) -> Self {
        Self { shown: wanted && io::stderr().is_terminal(), length_ns, next_ns: 0 }
    }

    fn tell(&mut self, ns: Ns) {
        if !self.shown || ns < self.next_ns {
            return;
        }
        self.next_ns = ns + PROGRESS_NS;
        let seconds = |ns: Ns| report::units::duration(ns / 1_000_000_000 * 1_000_000_000);
        let of = self
            .length_ns
            .map(|length| format!(" of {}", report::units::duration(length)))
            .unwrap_or_default();
        output::to_stderr(&format!("\r\x1b[Krecording: {}{of}; Ctrl-C ends it", seconds(ns)));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown && self.next_ns > 0 {
            output::to_stderr("\r\x1b[K");
        }
    }
}

/// Whom the arguments mean.
fn target(args: &AttachArgs) -> anyhow::Result<Target> {
    if let Some(unit) = &args.service {
        let found = Hierarchies::here().service(unit).or_else(|error| told_by_systemd(unit).ok_or(error));
        let group =
            one_group(found, &format!("no service {unit:?} runs here\ntry: systemctl status {unit:?}"))?;
        return of_group(format!("service {unit}"), group);
    }
    if let Some(id) = &args.container {
        let none = format!(
            "no container {id:?} runs here (its identifier or the beginning of it, not its name)\n\
             try: docker ps, podman ps or crictl ps"
        );
        let group = one_group(Hierarchies::here().container(id), &none)?;
        return of_group(format!("container {id}"), group);
    }
    if let Some(path) = &args.cgroup {
        let group = Hierarchies::here()
            .at(path)
            .with_context(|| format!("no control group {}\ntry: systemd-cgls", path.display()))?;
        return of_group(format!("cgroup {}", path.display()), group);
    }
    let mut roots = Vec::new();
    let mut names = Vec::new();
    for text in &args.targets {
        let (root, name) = match text.parse() {
            Ok(pid) => by_number(pid)?,
            Err(_) => by_name(text)?,
        };
        roots.push(root);
        names.push(name);
    }
    let command = targets::command(*roots.first().context("no target")?);
    Ok(Target { name: names.join(", "), command, who: Who::Trees(roots) })
}

/// The one group that was found, or why there is not one.
fn one_group(found: Result<PathBuf, NotFound>, none: &str) -> anyhow::Result<PathBuf> {
    match found {
        Ok(group) => Ok(group),
        Err(NotFound::None) => bail!("{none}"),
        Err(NotFound::Several(groups)) => {
            let lines: Vec<_> =
                groups.iter().map(|path| report::clean(&format!("  {}", path.display()), true)).collect();
            bail!("there are {} of them; choose by --cgroup:\n{}", lines.len(), lines.join("\n"))
        }
    }
}

/// The group of a unit that systemd calls otherwise than its group: by an alias.
fn told_by_systemd(unit: &str) -> Option<PathBuf> {
    let said = Command::new("systemctl")
        .args(["show", "--property", "ControlGroup", "--value", "--", unit])
        .output()
        .ok()?;
    let path = String::from_utf8(said.stdout).ok()?;
    let path = path.trim();
    // "" where it does not run, "/" where there is no systemd to ask.
    if path.len() < 2 { None } else { Hierarchies::here().at(Path::new(path)) }
}

fn of_group(name: String, group: PathBuf) -> anyhow::Result<Target> {
    let first = cgroups::members(&group).into_iter().next();
    let first = first.with_context(|| format!("{name} has no processes"))?;
    Ok(Target { name, command: targets::command(first), who: Who::Cgroup(group) })
}

fn by_number(pid: Pid) -> anyhow::Result<(Pid, String)> {
    if pid == std::process::id() {
        bail!("process {pid} is dwell itself");
    }
    let process = targets::process(pid).with_context(|| format!("no process {pid}"))?;
    Ok((pid, format!("{} (process {pid})", process.name)))
}

/// All processes of a name, when they are one tree.
fn by_name(name: &str) -> anyhow::Result<(Pid, String)> {
    let found = targets::named(name);
    match targets::roots_of(&found).as_slice() {
        [] => bail!("no process is called {name:?}"),
        [root] => Ok((root.pid, name.to_owned())),
        several => {
            let line = |process: &&Process| {
                let command = targets::command(process.pid).join(" ");
                report::clean(&format!("  {:>7}  {command}", process.pid), true)
            };
            let lines: Vec<_> = several.iter().map(line).collect();
            bail!("{} processes are called {name:?}; choose by number:\n{}", lines.len(), lines.join("\n"))
        }
    }
}

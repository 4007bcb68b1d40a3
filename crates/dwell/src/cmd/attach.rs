//! `dwell attach`: what already runs, watched for a while and accounted for.

use crate::cli::AttachArgs;
use crate::cmd::run::{Kept, Watcher, finish};
use crate::deliver::Outputs;
use crate::output;
use anyhow::{Context, bail};
use model::{Ns, Pid};
use observe::targets::{self, Process};
use observe::{Target, Who, Window};
use std::io::{self, IsTerminal};
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
    let trailer = observe::attach(&window, &mut watcher, &mut |ns| progress.tell(ns))?;
    drop(progress);
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
        let group = targets::service(unit)
            .with_context(|| format!("no service {unit:?} runs here\ntry: systemctl status {unit:?}"))?;
        return of_group(format!("service {unit}"), group);
    }
    if let Some(path) = &args.cgroup {
        let group = targets::cgroup(path)
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

fn of_group(name: String, group: std::path::PathBuf) -> anyhow::Result<Target> {
    let first = targets::members(&group).into_iter().next();
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

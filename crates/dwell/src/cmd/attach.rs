//! `dwell attach`: running processes, recorded for a window and accounted for.

use crate::cli::AttachArgs;
use crate::cmd::run::{OfRun, finish};
use crate::keep::ResultStore;
use crate::last_ladder;
use crate::live_run::LiveRun;
use crate::out::Page;
use crate::progress::ProgressLine;
use crate::suggest;
use anyhow::{Context, bail};
use model::{Ns, Pid};
use observe::cgroups::{self, Hierarchies, NotFound};
use observe::targets::{self, Listeners, Process};
use observe::{MaxOverhead, ProcessSet, Sources, Target, Window};
use std::path::{Path, PathBuf};
use std::process::Command;
use sys::policy::RtBoost;
use sys::rights;
use sys::signals::Signals;
use sys::untrusted_file::Rights;

/// Records the target; returns the exit status.
pub(crate) fn attach(args: AttachArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    let target = target(&args)?;
    // Those of one process; of the others it is looked while they are recorded.
    let rights = target.first().and_then(|pid| Rights::of_process(pid).ok()).unwrap_or_else(Rights::own);
    let page = if args.quiet { Page::None } else { Page::Stderr };
    let outputs = args.page.open(page, args.watching.keep.as_deref(), &[])?;
    let mut live_run = LiveRun::prepare(&args.watching)?;
    // From here on Ctrl-C ends the window, and the report is still written.
    let signals = Signals::take_over().context("cannot handle signals")?;
    let (watching, length_ns) = (args.watching.watching(MaxOverhead::All(0.02)), args.length_ns);
    let window = Window { target, watching, length_ns, jvm_names: args.jvm_names };
    let line = ProgressLine::new(args.quiet);
    let recorded =
        observe::attach(&window, &mut live_run, &mut |ns| line.update(|| passed(ns, args.length_ns)))?;
    drop(line);
    // What comes now may wait: for the reader of a pipe, for a disk.
    drop(signals);
    // Somebody waits for the end: before the right to do so is given up.
    let _hurry = recorded.was_asked_to_end().then(RtBoost::begin);
    rights::after_recording();
    let sources = Sources::of(rights, recorded.users());
    let of_run = OfRun { job: args.page.job(None), sources, recording: args.watching.keep };
    let trailer = recorded.trailer(last_ladder::costs(keeper));
    finish(keeper, live_run, &trailer, outputs, args.page, of_run, |_| ())
}

/// `recording: 3 s of 10 s; Ctrl-C to stop`.
fn passed(ns: Ns, length_ns: Option<Ns>) -> String {
    let seconds = report::units::duration(ns / 1_000_000_000 * 1_000_000_000);
    let of = length_ns.map(|length| format!(" of {}", report::units::duration(length))).unwrap_or_default();
    format!("recording: {seconds}{of}; Ctrl-C to stop")
}

/// The target that the arguments name.
fn target(args: &AttachArgs) -> anyhow::Result<Target> {
    if let Some(unit) = &args.service {
        let found = Hierarchies::here().service(unit).or_else(|error| cgroup_by_systemd(unit).ok_or(error));
        let group =
            one_group(found, &format!("service {unit:?} is not running\ntry: systemctl status {unit:?}"))?;
        return of_group(format!("service {unit}"), group);
    }
    if let Some(id) = &args.container {
        let none = format!(
            "no running container has an ID that begins with {id:?}\n\
             try: docker ps, podman ps or crictl ps"
        );
        let group = one_group(Hierarchies::here().container(id), &none)?;
        return of_group(format!("container {id}"), group);
    }
    if let Some(path) = &args.cgroup {
        let group = Hierarchies::here()
            .at(path)
            .with_context(|| format!("no cgroup {}\ntry: systemd-cgls", path.display()))?;
        return of_group(format!("cgroup {}", path.display()), group);
    }
    let mut roots = Vec::new();
    let mut names = Vec::new();
    let given = args.targets.iter().map(|text| match (text.parse(), text.strip_prefix(':')) {
        (Ok(pid), _) => by_pid(pid),
        (Err(_), Some(port)) => by_port(port),
        (Err(_), None) => by_name(text),
    });
    for found in given.chain(args.pids.iter().map(|pid| by_pid(*pid))) {
        let (root, name) = found?;
        roots.push(root);
        names.push(name);
    }
    let command = targets::command(*roots.first().context("no target")?);
    Ok(Target { name: names.join(", "), command, who: ProcessSet::Trees(roots) })
}

/// The only cgroup found; an error if there is none, or several.
fn one_group(found: Result<PathBuf, NotFound>, none: &str) -> anyhow::Result<PathBuf> {
    match found {
        Ok(group) => Ok(group),
        Err(NotFound::None) => bail!("{none}"),
        Err(NotFound::Several(groups)) => {
            let lines: Vec<_> =
                groups.iter().map(|path| report::clean(&format!("  {}", path.display()), true)).collect();
            bail!("{} cgroups match; choose with --cgroup:\n{}", lines.len(), lines.join("\n"))
        }
    }
}

/// The cgroup of a unit by its alias, from systemd.
fn cgroup_by_systemd(unit: &str) -> Option<PathBuf> {
    let output = Command::new("systemctl")
        .args(["show", "--property", "ControlGroup", "--value", "--", unit])
        .output()
        .ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    let path = path.trim();
    // "" if the unit is not running, "/" if there is no systemd.
    if path.len() < 2 { None } else { Hierarchies::here().at(Path::new(path)) }
}

fn of_group(name: String, group: PathBuf) -> anyhow::Result<Target> {
    let first = cgroups::members(&group).into_iter().next();
    let first = first.with_context(|| format!("{name} has no processes"))?;
    Ok(Target { name, command: targets::command(first), who: ProcessSet::Cgroup(group) })
}

fn by_pid(pid: Pid) -> anyhow::Result<(Pid, String)> {
    if pid == std::process::id() {
        bail!("process {pid} is dwell itself");
    }
    let process = targets::process(pid).with_context(|| {
        format!(
            "no process has the PID {pid}\ntry: ps -e; or a name, a script's name such as server.py, or :PORT"
        )
    })?;
    Ok((pid, format!("{} (PID {pid})", process.name)))
}

/// The processes with this name, if they are one tree.
fn by_name(name: &str) -> anyhow::Result<(Pid, String)> {
    let found = targets::named(name);
    if found.is_empty() {
        let names: Vec<String> = targets::processes().into_iter().map(|process| process.name).collect();
        let near = suggest::nearest(name, names.iter().map(String::as_str));
        let try_these = match near.as_slice() {
            [] => "a PID, a name as in `ps -e`, a script's name such as server.py, or :PORT".to_owned(),
            near => report::clean(&near.join(", "), true),
        };
        bail!("no process is called {name:?}, and none runs a script of this name\ntry: {try_these}");
    }
    one_tree(&found, name, &format!("are called {name:?}"))
}

/// Who listens at this port, if they are one tree.
fn by_port(text: &str) -> anyhow::Result<(Pid, String)> {
    let port: u16 = text.parse().with_context(|| format!("not a port: {text:?}\ntry: :8080"))?;
    match targets::listening(port) {
        Listeners::Nobody => bail!("nothing listens at port {port} here\ntry: ss -ltnp"),
        Listeners::Hidden => bail!(
            "something listens at port {port}, but in a process whose files this user may not see\n\
             try: sudo {} attach :{port}",
            observe::access::this_binary()
        ),
        Listeners::These(found) => one_tree(&found, &format!(":{port}"), &format!("listen at port {port}")),
    }
}

/// The root of these processes, if they are one tree.
fn one_tree(found: &[Process], name: &str, which: &str) -> anyhow::Result<(Pid, String)> {
    match targets::roots_of(found).as_slice() {
        [root] if root.name == name => Ok((root.pid, name.to_owned())),
        [root] => Ok((root.pid, format!("{name} ({}, PID {})", root.name, root.pid))),
        several => {
            let line = |process: &&Process| {
                let command = targets::command(process.pid).join(" ");
                report::clean(&format!("  {:>7}  {command}", process.pid), true)
            };
            let lines: Vec<_> = several.iter().map(line).collect();
            bail!("{} processes {which}; choose by PID:\n{}", lines.len(), lines.join("\n"))
        }
    }
}

//! The processes that the command line of `dwell attach` names.

use crate::cli::AttachArgs;
use crate::suggest;
use anyhow::{Context, bail};
use model::Pid;
use observe::cgroups::{self, Hierarchies, NotFound};
use observe::targets::{self, Listeners, Process};
use observe::{ProcessSet, Target, pods};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target that the arguments name.
pub(super) fn target(args: &AttachArgs) -> anyhow::Result<Target> {
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
    if let Some(pod) = &args.pod {
        return of_group(format!("pod {pod}"), group_of_pod(pod)?);
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

/// The cgroup of a pod, by its UID or its name.
fn group_of_pod(pod: &str) -> anyhow::Result<PathBuf> {
    let uids = pods::uids(Path::new(pods::LOGS), pod).with_context(|| {
        format!(
            "cannot find the pod {pod:?} by its name: this needs {}, which the kubelet makes on each node\n\
             try: on the pod's node, or --pod UID, from: \
             kubectl get pods -o custom-columns=NAME:.metadata.name,UID:.metadata.uid",
            pods::LOGS
        )
    })?;
    let none = format!("no pod {pod:?} runs on this host\ntry: crictl pods");
    one_group(Hierarchies::here().pod(&uids), &none)
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
        bail!(
            "no process is called {name:?}, and none runs a script of this name or has it on its command line\ntry: {try_these}"
        );
    }
    one_tree(&found, name, &format!("are called {name:?}"))
}

/// Who listens at this port, if they are one tree.
fn by_port(text: &str) -> anyhow::Result<(Pid, String)> {
    let port: Option<u16> = text.parse().ok().filter(|port| *port > 0);
    let port =
        port.with_context(|| format!("not a port: {text:?}; ports are numbers from 1 to 65535\ntry: :8080"))?;
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
                report::clean(&format!("  dwell attach {:<7}  {command}", process.pid), true)
            };
            let lines: Vec<_> = several.iter().map(line).collect();
            bail!("{} processes {which}; type one of:\n{}", lines.len(), lines.join("\n"))
        }
    }
}

//! `cargo xtask supervise SECONDS PROGRAM…`: runs a program of tests and leaves nothing of it
//! running.
//!
//! Orphans of the program become children of this process, which kills them: a failed test may
//! leave programs running, in their own sessions and process groups. The subcommand is for
//! `lanes.rs`; it also ends everything when its standard input closes, since then its parent has
//! ended.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use std::fs;
use std::io::Read;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The exit status for a program that reached the time limit, as in timeout(1).
pub(crate) const TIMED_OUT: u8 = 124;
/// The exit status for a program that a signal ended.
const SIGNALLED: u8 = 125;
/// A killed process ends within this time, unless it is stuck in the kernel.
const DYING: Duration = Duration::from_secs(10);

enum Event {
    Ended(u8),
    Abandoned,
}

/// Runs the command for at most the given seconds, then kills what is left of it.
///
/// # Errors
/// When the arguments are wrong or the program cannot be started.
pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    let [seconds, program, arguments @ ..] = arguments else { bail!("supervise SECONDS PROGRAM…") };
    let limit = Duration::from_secs(seconds.parse().context("SECONDS is not a number")?);
    set_child_subreaper(Some(getpid())).context("cannot become the parent of orphans")?;
    // A shell in the background, or nohup, has signals ignored, which programs inherit.
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(program).args(arguments).stdin(Stdio::null());
    let child = command.spawn().with_context(|| format!("cannot start {program}"))?;
    let (sender, events) = channel();
    let main = Pid::from_child(&child);
    let reader = sender.clone();
    thread::spawn(move || reap(main, &sender));
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = reader.send(Event::Abandoned);
    });
    let ended = outcome(&events, limit);
    end_leftovers(ended.is_some());
    Ok(ExitCode::from(ended.unwrap_or(TIMED_OUT)))
}

/// The exit status of the program; none when it reached the time limit or the parent has ended.
fn outcome(events: &Receiver<Event>, limit: Duration) -> Option<u8> {
    match events.recv_timeout(limit) {
        Ok(Event::Ended(status)) => Some(status),
        Ok(Event::Abandoned) | Err(_) => None,
    }
}

/// Waits for all children, orphans among them, and reports the end of `main`.
fn reap(main: Pid, sender: &Sender<Event>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == main => {
                let code = status.exit_status().map_or(SIGNALLED, |code| code as u8);
                let _ = sender.send(Event::Ended(code));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // No child now; an orphan may still arrive.
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Kills the children, and orphans as they are reparented, until there are none. Those that
/// outlived the program (`said`) are named.
fn end_leftovers(said: bool) {
    let begun = Instant::now();
    let mut named = Vec::new();
    loop {
        let children = children();
        if children.is_empty() || begun.elapsed() > DYING {
            return;
        }
        for pid in children {
            if said && !named.contains(&pid) {
                named.push(pid);
                eprintln!("xtask: left running, now killed: {} ({pid})", command_line(pid));
            }
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// The living children of this process.
fn children() -> Vec<i32> {
    let own = getpid().as_raw_nonzero().get();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| parent_of_living(*pid) == Some(own)).collect()
}

/// The parent of a process that is not a zombie.
fn parent_of_living(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    (!["Z", "X"].contains(&state)).then(|| fields.next()?.parse().ok()).flatten()
}

fn command_line(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    words.collect::<Vec<_>>().join(" ").trim().to_owned()
}

//! A child that is listened to until it ends, within a time limit and a limit of what it may say.
//! It is gone, with what it started, when this comes back.

use crate::Unmeasured;
use crate::bench::{Bench, interrupted};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use sys::clock::monotonic_ns;

/// Beyond its share of the time: an interpreter that starts from a slow disk.
const START_NS: u64 = 10_000_000_000;
const MOST_BYTES: usize = 1 << 20;
/// The interval of checks for an early end.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// The child and whatever it started: a process group of its own. Also the terminal's Ctrl-C
/// thereby reaches dwell alone.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // First the group, while the child is not reaped and its PID cannot be reused.
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// Runs it and gives what it said.
pub(super) fn run(bench: &Bench<'_>, program: &Path, args: &[&str]) -> Result<String, Unmeasured> {
    let begun = monotonic_ns();
    let failed = |error: io::Error| Unmeasured::Unseen(format!("python3 could not be run: {error}"));
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut group = Group(command.spawn().map_err(failed)?);
    let Some(mut output) = group.0.stdout.take() else { return Ok(String::new()) };
    let mut said = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if bench.stopped() {
            return Err(interrupted());
        }
        if monotonic_ns() - begun > bench.budget_ns + START_NS {
            return Err(Unmeasured::Unseen(format!(
                "python3 was not done after {} s",
                (bench.budget_ns + START_NS) / 1_000_000_000
            )));
        }
        match poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&LOOK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(failed(error.into())),
        }
        match output.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => said.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
        if said.len() > MOST_BYTES {
            return Err(Unmeasured::Unseen(format!("python3 said more than {} KiB", MOST_BYTES >> 10)));
        }
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

//! Loads in processes of their own: dwell executes itself for each, stops it by closing its
//! standard input, and reads its result from its standard output.
//!
//! A load's process also stops when its parent ends, and when its time is up.

use crate::room::memory_bytes;
use crate::{after, not_started, while_doing};
use model::wake::load::{Load, LoadDone, LoadRun};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::poll;

/// The line that a load's process writes when all its workers have started.
pub const READY: &str = "ready\n";
/// The time limit for that: a load may start thousands of processes.
const START: Duration = Duration::from_secs(120);
/// The time limit for a load to end and write its result.
const END: Duration = Duration::from_secs(30);
/// The same where somebody waits for the end of everything.
const END_SOON: Duration = Duration::from_millis(300);
/// The extra time for both per GiB that is filled, and verified at the end.
const GIB: Duration = Duration::from_secs(1);
/// The interval of checks whether the load should end.
const POLL: Duration = Duration::from_millis(100);
/// The running executable of dwell.
const SELF_EXE: &str = "/proc/self/exe";

/// Running loads. Dropping it kills them with all of their workers.
#[derive(Debug)]
pub struct Running(Vec<Process>);

/// The results of loads.
#[derive(Debug)]
pub struct Results {
    /// In the order of the loads, without those that failed.
    pub done: Vec<LoadDone>,
    /// The loads that failed, and why there is no result.
    pub failed: Vec<(Load, String)>,
}

impl Running {
    /// Starts one load after the other, each after all workers of the one before have started, so
    /// that it sees how much memory is left. They run until [`stop`](Self::stop), but no longer
    /// than `length` from the start of the last.
    ///
    /// The calling thread must be the main one: loads inherit its affinity, policy and limits, and
    /// the kernel kills them when it ends.
    ///
    /// # Errors
    /// If a load cannot be started, with its error; [`io::ErrorKind::Interrupted`] if `ended` is
    /// true before. Nothing is left behind then.
    pub fn start(loads: &[Load], length: Duration, ended: &dyn Fn() -> bool) -> io::Result<Self> {
        let mut running = Self(Vec::new());
        for (load, length) in loads.iter().zip(lengths(loads, length)) {
            let started = Process::start(load, length).and_then(|mut process| {
                process.wait_until_ready(ended)?;
                Ok(process)
            });
            let started = started.map_err(|error| while_doing(&format!("load {}", load.kind()), &error));
            running.0.push(started?);
        }
        Ok(running)
    }

    /// Ends all loads, waits for their workers up to a time limit, and gives the results. `soon`: a
    /// signal asked for the end, so one that has not ended shortly is killed, without a result.
    pub fn stop(mut self, soon: bool) -> Results {
        // Stop all before waiting, so that they end at the same time.
        for process in &mut self.0 {
            process.input = None;
        }
        let longest = self.0.iter().map(|process| process.filling).max().unwrap_or_default();
        let give_up_ns = after(if soon { END_SOON } else { END + longest });
        let mut results = Results { done: Vec::new(), failed: Vec::new() };
        for mut process in self.0.drain(..) {
            process.given_up = soon;
            match process.finish(give_up_ns) {
                Ok(done) => results.done.push(done),
                Err(error) => results.failed.push((process.load.clone(), error.to_string())),
            }
        }
        results
    }
}

/// The time limit of each load: it runs while those after it start.
fn lengths(loads: &[Load], length: Duration) -> Vec<Duration> {
    let begin = |load: &Load| START + filling(load);
    (1..=loads.len()).map(|after| length + loads[after..].iter().map(begin).sum::<Duration>()).collect()
}

/// The extra time to fill a load's memory, which is limited by what is free.
fn filling(load: &Load) -> Duration {
    match load {
        Load::Memory { bytes, .. } => {
            let gib = memory_bytes().map_or(*bytes, |room| room.min(*bytes)).div_ceil(1 << 30);
            GIB.saturating_mul(u32::try_from(gib).unwrap_or(u32::MAX))
        }
        _ => Duration::ZERO,
    }
}

#[derive(Debug)]
struct Process {
    load: Load,
    /// Computed before the load took memory.
    filling: Duration,
    child: Child,
    /// Closing it stops the load.
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// Output received and not parsed yet.
    received: Vec<u8>,
    /// Nobody waits for its end: once it is killed it ends with its workers.
    given_up: bool,
}

impl Process {
    fn start(load: &Load, length: Duration) -> io::Result<Self> {
        let filling = filling(load);
        let mut command = Command::new(SELF_EXE);
        command.arg0("dwell").args(["load", "--supervised", "--for", &format!("{}ns", length.as_nanos())]);
        command.args(["--json", "-", &load.spec()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // What the terminal sends is for dwell, which then asks for what was done.
        command.process_group(0);
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (load, received) = (load.clone(), Vec::new());
        Ok(Self { load, filling, child, input, output, received, given_up: false })
    }

    fn wait_until_ready(&mut self, ended: &dyn Fn() -> bool) -> io::Result<()> {
        let give_up_ns = after(START + self.filling);
        while !self.received.starts_with(READY.as_bytes()) {
            if ended() {
                self.given_up = true;
                return Err(not_started());
            }
            if !self.listen(give_up_ns)? {
                return Err(self.why());
            }
        }
        self.received.drain(..READY.len());
        Ok(())
    }

    fn finish(&mut self, give_up_ns: u64) -> io::Result<LoadDone> {
        while self.listen(give_up_ns)? {}
        match serde_json::from_slice::<LoadRun>(&self.received) {
            Ok(run) => {
                if !self.given_up {
                    self.child.wait()?;
                }
                Ok(run.result)
            }
            Err(_) => Err(self.why()),
        }
    }

    /// Reads available output, or waits for it a little; false at EOF.
    fn listen(&mut self, give_up_ns: u64) -> io::Result<bool> {
        let left = Duration::from_nanos(give_up_ns.saturating_sub(monotonic_ns()));
        if !poll::wait(&[self.output.as_fd()], Some(left.min(POLL)))?[0] {
            if left.is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not end in time"));
            }
            return Ok(true);
        }
        let mut buffer = [0; 8192];
        let count = self.output.read(&mut buffer)?;
        self.received.extend_from_slice(&buffer[..count]);
        Ok(count > 0)
    }

    /// Why it ended without a result: its error output, or its exit status.
    fn why(&mut self) -> io::Error {
        let _ = self.child.kill();
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut text);
        }
        let text = text.trim().trim_start_matches("dwell: ").to_owned();
        match self.child.wait() {
            _ if !text.is_empty() => io::Error::other(text),
            Ok(status) => io::Error::other(format!("the process ended with {status}")),
            Err(error) => error,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its workers end with it. If it cannot be killed, it has ended.
        let _ = self.child.kill();
        if !self.given_up {
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_run_while_others_start() {
        let cpu = Load::Cpu { threads: 1 };
        let memory = Load::Memory { threads: 1, bytes: 1 << 20 };
        let second = Duration::from_secs(1);
        let lengths = lengths(&[cpu.clone(), memory, cpu], second);
        assert_eq!(lengths, [second + START + GIB + START, second + START, second]);
    }

    #[test]
    fn an_early_end_does_not_wait_for_the_start_of_loads() {
        // It starts this test binary, which does not know the arguments.
        let cpu = Load::Cpu { threads: 1 };
        let error = Running::start(&[cpu], Duration::from_secs(1), &|| true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted, "{error}");
    }
}

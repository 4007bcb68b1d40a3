//! Loads in processes of their own: dwell executes itself for each, tells it to stop by closing its standard input, and
//! reads what it did from its standard output.
//!
//! A load's process also stops when nobody is left to tell it so, and after its time.

use crate::room::memory_bytes;
use crate::{after, not_begun, while_doing};
use model::wake::load::{Load, LoadDone, LoadRun};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::poll;

/// What a load's process says when all its workers are at work.
pub const READY: &str = "ready\n";
/// How long one may take for that: thousands of processes.
const BEGIN: Duration = Duration::from_secs(120);
/// How long one may take to end and say what it did.
const END: Duration = Duration::from_secs(30);
/// So much longer may both take for each GiB that is filled, and verified at the end.
const GIB: Duration = Duration::from_secs(1);
/// Between looks at whether somebody wants it to end.
const LOOK: Duration = Duration::from_millis(100);
/// dwell itself, wherever it is and whatever it is called.
const OURSELVES: &str = "/proc/self/exe";

/// Loads that are at work. When this is dropped they end at once, and all of their workers with them.
#[derive(Debug)]
pub struct Running(Vec<Process>);

/// What loads did.
#[derive(Debug)]
pub struct Stopped {
    /// In the order of the loads, without those that failed.
    pub done: Vec<LoadDone>,
    /// The others: which, and why what it did is not known.
    pub failed: Vec<(Load, String)>,
}

impl Running {
    /// Starts one load after the other, each when all workers of those before it are at work, so that each sees what memory
    /// these left. They run until [`stop`](Self::stop), but no longer than `length` from when the last is at work.
    ///
    /// To be called by the main thread, with the processors, policy and limits that the loads shall have: they inherit
    /// them, and are killed by the kernel when the thread that started them ends.
    ///
    /// # Errors
    /// When one of them cannot be started, with what it said; [`io::ErrorKind::Interrupted`] when `ended` says before that
    /// it shall end. Nothing is left then.
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

    /// Ends all loads, waits until all their workers are gone, and gives what they did. Whoever was asked to end asks for
    /// that too: it is waited for, but not for ever.
    pub fn stop(mut self) -> Stopped {
        // All first: the slowest is waited for once.
        for process in &mut self.0 {
            process.input = None;
        }
        let longest = self.0.iter().map(|process| process.filling).max().unwrap_or_default();
        let give_up_ns = after(END + longest);
        let mut stopped = Stopped { done: Vec::new(), failed: Vec::new() };
        for mut process in self.0.drain(..) {
            match process.finish(give_up_ns) {
                Ok(done) => stopped.done.push(done),
                Err(error) => stopped.failed.push((process.load.clone(), error.to_string())),
            }
        }
        stopped
    }
}

/// How long each may run: it is at work while those after it begin.
fn lengths(loads: &[Load], length: Duration) -> Vec<Duration> {
    let begin = |load: &Load| BEGIN + filling(load);
    (1..=loads.len()).map(|after| length + loads[after..].iter().map(begin).sum::<Duration>()).collect()
}

/// How much longer a load may take for its memory: of what it asks for, it takes no more than there is.
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
    /// As it was before it took any.
    filling: Duration,
    child: Child,
    /// Closing it tells the load to stop.
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// What it has said and nobody has looked at yet.
    said: Vec<u8>,
}

impl Process {
    fn start(load: &Load, length: Duration) -> io::Result<Self> {
        let filling = filling(load);
        let mut command = Command::new(OURSELVES);
        command.arg0("dwell").args(["load", "--supervised", "--for", &format!("{}ns", length.as_nanos())]);
        command.args(["--json", "-", &load.spec()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // What the terminal sends is for dwell, which then asks for what was done.
        command.process_group(0);
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { load: load.clone(), filling, child, input, output, said: Vec::new() })
    }

    fn wait_until_ready(&mut self, ended: &dyn Fn() -> bool) -> io::Result<()> {
        let give_up_ns = after(BEGIN + self.filling);
        while !self.said.starts_with(READY.as_bytes()) {
            if ended() {
                return Err(not_begun());
            }
            if !self.listen(give_up_ns)? {
                return Err(self.why());
            }
        }
        self.said.drain(..READY.len());
        Ok(())
    }

    fn finish(&mut self, give_up_ns: u64) -> io::Result<LoadDone> {
        while self.listen(give_up_ns)? {}
        match serde_json::from_slice::<LoadRun>(&self.said) {
            Ok(run) => {
                self.child.wait()?;
                Ok(run.result)
            }
            Err(_) => Err(self.why()),
        }
    }

    /// Reads what there is, or waits a little for it; false when there will be no more.
    fn listen(&mut self, give_up_ns: u64) -> io::Result<bool> {
        let left = Duration::from_nanos(give_up_ns.saturating_sub(monotonic_ns()));
        if !poll::wait(&[self.output.as_fd()], Some(left.min(LOOK)))?[0] {
            if left.is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"));
            }
            return Ok(true);
        }
        let mut buffer = [0; 8192];
        let count = self.output.read(&mut buffer)?;
        self.said.extend_from_slice(&buffer[..count]);
        Ok(count > 0)
    }

    /// Why it ended without an answer: its own words, or how it ended.
    fn why(&mut self) -> io::Error {
        let _ = self.child.kill();
        let mut words = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut words);
        }
        let words = words.trim().trim_start_matches("dwell: ").to_owned();
        match self.child.wait() {
            _ if !words.is_empty() => io::Error::other(words),
            Ok(status) => io::Error::other(format!("its process ended with {status}")),
            Err(error) => error,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its own workers end with it. What cannot be killed has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_last_while_others_begin() {
        let cpu = Load::Cpu { threads: 1 };
        let memory = Load::Memory { threads: 1, bytes: 1 << 20 };
        let second = Duration::from_secs(1);
        let lengths = lengths(&[cpu.clone(), memory, cpu], second);
        assert_eq!(lengths, [second + BEGIN + GIB + BEGIN, second + BEGIN, second]);
    }

    #[test]
    fn whoever_wants_an_end_does_not_wait_until_loads_are_at_work() {
        // What is started is this test, which does not know what to do with its arguments.
        let cpu = Load::Cpu { threads: 1 };
        let error = Running::start(&[cpu], Duration::from_secs(1), &|| true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted, "{error}");
    }
}

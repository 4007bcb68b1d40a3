//! Loads in processes of their own: dwell executes itself for each, tells it to stop by closing its standard input, and
//! reads what it did from its standard output.
//!
//! A load's process also stops when nobody is left to tell it so, and after its time.

use crate::{spec, while_doing};
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
/// How long one may take for that: thousands of processes, gigabytes to fill.
const BEGIN: Duration = Duration::from_secs(120);
/// How long one may take to end and say what it did.
const END: Duration = Duration::from_secs(30);
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
    /// Starts all loads and waits until all their workers are at work. They run until [`stop`](Self::stop), but no longer
    /// than `length`.
    ///
    /// To be called by the main thread, with the processors, policy and limits that the loads shall have: they inherit
    /// them, and are killed by the kernel when the thread that started them ends.
    ///
    /// # Errors
    /// When one of them cannot be started, with what it said; nothing is left then.
    pub fn start(loads: &[Load], length: Duration) -> io::Result<Self> {
        let mut running = Self(Vec::new());
        for load in loads {
            let started = Process::start(load, length)
                .map_err(|error| while_doing(&format!("load {}", spec::name(load)), &error))?;
            running.0.push(started);
        }
        for process in &mut running.0 {
            let name = spec::name(&process.load);
            process.wait_until_ready().map_err(|error| while_doing(&format!("load {name}"), &error))?;
        }
        Ok(running)
    }

    /// Ends all loads, waits until all their workers are gone, and gives what they did.
    pub fn stop(mut self) -> Stopped {
        // All first: the slowest is waited for once.
        for process in &mut self.0 {
            process.input = None;
        }
        let mut stopped = Stopped { done: Vec::new(), failed: Vec::new() };
        for mut process in self.0.drain(..) {
            match process.finish() {
                Ok(done) => stopped.done.push(done),
                Err(error) => stopped.failed.push((process.load.clone(), error.to_string())),
            }
        }
        stopped
    }
}

#[derive(Debug)]
struct Process {
    load: Load,
    child: Child,
    /// Closing it tells the load to stop.
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// What it has said and nobody has looked at yet.
    said: Vec<u8>,
}

impl Process {
    fn start(load: &Load, length: Duration) -> io::Result<Self> {
        let mut command = Command::new(OURSELVES);
        command.arg0("dwell").args(["load", "--supervised", "--for", &format!("{}ns", length.as_nanos())]);
        command.args(["--json", "-", &load.spec()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // What the terminal sends is for dwell, which then asks for what was done.
        command.process_group(0);
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { load: load.clone(), child, input, output, said: Vec::new() })
    }

    fn wait_until_ready(&mut self) -> io::Result<()> {
        let give_up_ns = monotonic_ns() + BEGIN.as_nanos() as u64;
        while !self.said.starts_with(READY.as_bytes()) {
            if !self.listen(give_up_ns)? {
                return Err(self.why());
            }
        }
        self.said.drain(..READY.len());
        Ok(())
    }

    fn finish(&mut self) -> io::Result<LoadDone> {
        let give_up_ns = monotonic_ns() + END.as_nanos() as u64;
        while self.listen(give_up_ns)? {}
        match serde_json::from_slice::<LoadRun>(&self.said) {
            Ok(run) => {
                self.child.wait()?;
                Ok(run.result)
            }
            Err(_) => Err(self.why()),
        }
    }

    /// Reads what there is; false when there will be no more.
    fn listen(&mut self, give_up_ns: u64) -> io::Result<bool> {
        let left = give_up_ns.saturating_sub(monotonic_ns());
        if left == 0 {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"));
        }
        if !poll::wait(&[self.output.as_fd()], Some(Duration::from_nanos(left)))?[0] {
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

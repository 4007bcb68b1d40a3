//! A verb that a tool stands for: dwell itself, in a process of its own, with what it wrote.
//!
//! A measurement has its process to itself, as from a shell; whatever becomes of it, the server
//! goes on.

use super::dialogue::job::Job;
use super::dialogue::lines::LINE_MAX;
use crate::cli::StoreArgs;
use anyhow::Context;
use serde_json::Value;
use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use sys::output_file::Caller;
use sys::poll;
use sys::scratch::{Kind, Scratch};

/// The time that programs have to end in order, as from `dwell lab`.
const PATIENCE: Duration = Duration::from_millis(500);
/// The time that dwell has to write what it found up to there.
const WRITING: Duration = Duration::from_secs(20);
/// The most bytes of each standard stream that are given back.
const STREAM_MAX: usize = 4 << 10;
/// The most of a page and of a result that is read: both are bounded, but for a list of all.
const PAGE_MAX: u64 = 4 << 20;
const JSON_MAX: u64 = 32 << 20;

/// How dwell is called for it.
fn command(job: &Job, within: &Path, store: &StoreArgs) -> anyhow::Result<Command> {
    let mut command = Command::new(env::current_exe().context("cannot find dwell itself")?);
    command.arg(job.verb).args(&job.options);
    let file = |option: &str, name: &str| {
        let mut word = OsString::from(option);
        word.push("=");
        word.push(within.join(name));
        word
    };
    if job.json {
        command.arg(file("--json", JSON));
    }
    if job.records {
        command.args([file("--output", PAGE), file("--keep", RECORDING)]);
    }
    command.arg(file("--id-to", ID));
    if store.no_store {
        command.arg("--no-store");
    }
    if let Some(path) = &store.store {
        command.arg("--store").arg(path);
    }
    command.arg("--").args(&job.words);
    let out = if job.records && !job.output { Stdio::null() } else { Stdio::piped() };
    command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped());
    Ok(command)
}

/// Names of files in the directory of a job.
const JSON: &str = "result.json";
const PAGE: &str = "page.txt";
const RECORDING: &str = "run.dwell";
const ID: &str = "id";

/// A job that was begun.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    /// Its files.
    directory: Scratch,
    page_in_file: bool,
    has_json: bool,
    shows_output: bool,
    /// The time that the program has, which dwell sees to.
    limit: Option<Duration>,
    output: Stream,
    errors: Stream,
    pub(super) begun: Instant,
    /// When it is ended.
    until: Option<Instant>,
    /// When it was asked to end.
    asked: Option<Instant>,
    /// Whether that was at its time limit.
    timed_out: bool,
    /// Whether what it measures was killed.
    killed: bool,
}

impl Running {
    /// Starts it.
    ///
    /// # Errors
    /// There is no room for its files, or no process for it.
    pub(super) fn start(job: &Job, store: &StoreArgs) -> anyhow::Result<Self> {
        let directory = Scratch::new(&env::temp_dir(), Kind::Mcp).context("cannot make a directory")?;
        if Caller::of_sudo().is_some() && sys::user::is_root() {
            // With that user's rights the recording, which is that user's, goes into the store.
            // Nothing else can be put there.
            fs::set_permissions(directory.path(), Permissions::from_mode(0o711))?;
        }
        let mut command = command(job, directory.path(), store)?;
        let mut child = sys::signals::as_before(&mut command).spawn().context("cannot start dwell")?;
        let begun = Instant::now();
        Ok(Self {
            output: Stream::of(child.stdout.take().map(OwnedFd::from), !job.records),
            errors: Stream::of(child.stderr.take().map(OwnedFd::from), false),
            child,
            directory,
            page_in_file: job.records,
            has_json: job.json,
            shows_output: job.records && job.output,
            limit: job.limit,
            begun,
            until: job.stop_after.map(|after| begun + after),
            asked: None,
            timed_out: false,
            killed: false,
        })
    }

    /// What to wait for besides signals, and for how long at most.
    pub(super) fn waits(&self) -> (Vec<BorrowedFd<'_>>, Option<Duration>) {
        let streams = [&self.output, &self.errors].into_iter().filter_map(|stream| stream.file.as_ref());
        let at = match self.asked {
            None => self.until,
            Some(asked) if !self.killed => Some(asked + PATIENCE),
            Some(asked) => Some(asked + WRITING),
        };
        let left = at.map(|at| at.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)));
        (streams.map(AsFd::as_fd).collect(), left)
    }

    /// Asks it to end, as Ctrl-C does.
    pub(super) fn interrupt(&mut self) {
        if self.asked.is_none() {
            self.asked = Some(Instant::now());
            sys::signals::interrupt(self.child.id());
        }
    }

    /// Reads what it wrote, and ends what is due; whether it has ended.
    pub(super) fn attend(&mut self) -> io::Result<bool> {
        self.output.read();
        self.errors.read();
        if self.until.is_some_and(|until| Instant::now() >= until) && self.asked.is_none() {
            self.timed_out = true;
            self.interrupt();
        }
        if self.child.try_wait()?.is_some() {
            return Ok(true);
        }
        let asked = self.asked.map(|asked| asked.elapsed());
        if asked.is_some_and(|asked| asked >= PATIENCE) && !self.killed {
            self.killed = true;
            // dwell ends in order when what it measures is gone.
            observe::targets::descendants(self.child.id()).into_iter().for_each(sys::signals::kill);
        }
        if asked.is_some_and(|asked| asked >= WRITING) {
            self.child.kill()?;
        }
        Ok(false)
    }

    /// What it left, once it has ended.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub(super) fn made(mut self) -> anyhow::Result<Made> {
        let status = self.child.wait().context("cannot wait for dwell")?;
        self.output.read();
        self.errors.read();
        let within = self.directory.path();
        let read = |name: &str, most| read(&within.join(name), most).unwrap_or_default();
        let page =
            if self.page_in_file { read(PAGE, PAGE_MAX) } else { std::mem::take(&mut self.output.first) };
        let json =
            if self.has_json { serde_json::from_slice::<Value>(&read(JSON, JSON_MAX)).ok() } else { None };
        let failed = if self.has_json { json.is_none() } else { !status.success() };
        let id = String::from_utf8_lossy(&read(ID, 64)).lines().next().map(str::to_owned);
        let mut notes = Vec::new();
        notes.extend(self.limit.zip(json.as_ref()).and_then(|(limit, run)| stopped(limit, run)));
        if self.timed_out {
            let after = report::units::duration(self.begun.elapsed().as_nanos() as u64);
            notes.push(format!(
                "It was ended after {after}, as by Ctrl-C; the page is about the time until then."
            ));
        }
        if failed && page.is_empty() {
            notes.push(format!("dwell gave no result: {status}."));
        }
        let captured = |stream: &mut Stream| Captured {
            last: std::mem::take(&mut stream.last).into(),
            total: stream.total,
        };
        Ok(Made {
            page: String::from_utf8_lossy(&page).into_owned(),
            json,
            id,
            failed,
            notes,
            output: self.shows_output.then(|| captured(&mut self.output)),
            errors: Some(captured(&mut self.errors)),
        })
    }
}

/// What became of a program that reached its limit of time, by its result; none for one that ended
/// before.
fn stopped(limit: Duration, run: &Value) -> Option<String> {
    let wall_ns = run["wall_ns"].as_u64()?;
    if u128::from(wall_ns) < limit.as_nanos() {
        return None;
    }
    let seconds = limit.as_secs();
    let killed =
        if run["exit"]["signal"] == 9 { "; it did not end by that, so SIGKILL followed" } else { "" };
    let wall = report::units::duration_precise(wall_ns);
    Some(format!(
        "Its limit is {seconds} s (stop_after_s): then it was sent SIGINT, as by Ctrl-C{killed}. The page is \
         about the {wall} until its end."
    ))
}

impl Drop for Running {
    /// Nothing goes on that nobody waits for.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let descendants = observe::targets::descendants(self.child.id());
            let _ = self.child.kill();
            descendants.into_iter().for_each(sys::signals::kill);
            let _ = self.child.wait();
        }
    }
}

/// What a job left.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) page: String,
    pub(super) json: Option<Value>,
    /// The name of the result in the store.
    pub(super) id: Option<String>,
    /// Whether there is no result.
    pub(super) failed: bool,
    /// What the server has to say.
    pub(super) notes: Vec<String>,
    pub(super) output: Option<Captured>,
    pub(super) errors: Option<Captured>,
}

/// The end of what came on a standard stream.
#[derive(Debug, Default)]
pub(super) struct Captured {
    pub(super) last: Vec<u8>,
    pub(super) total: u64,
}

/// A stream of the process: read to its end, of which little is kept.
#[derive(Debug)]
struct Stream {
    file: Option<File>,
    /// All of it, up to the limit of a page, where it is a page.
    first: Vec<u8>,
    is_page: bool,
    last: VecDeque<u8>,
    total: u64,
}

impl Stream {
    fn of(descriptor: Option<OwnedFd>, is_page: bool) -> Self {
        Self { file: descriptor.map(File::from), first: Vec::new(), is_page, last: VecDeque::new(), total: 0 }
    }

    /// Reads what is there, but no more than a pipe can hold: a program that writes for ever is
    /// not waited for.
    fn read(&mut self) {
        let mut bytes = [0; 1 << 14];
        for _ in 0..LINE_MAX / bytes.len() {
            let Some(file) = &mut self.file else { return };
            if !poll::wait(&[file.as_fd()], Some(Duration::ZERO)).is_ok_and(|ready| ready[0]) {
                return;
            }
            match file.read(&mut bytes) {
                Ok(0) => self.file = None,
                Ok(read) => self.take(&bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.file = None,
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        if self.is_page {
            let room = (PAGE_MAX as usize).saturating_sub(self.first.len());
            self.first.extend_from_slice(&bytes[..bytes.len().min(room)]);
            return;
        }
        self.last.extend(bytes);
        let over = self.last.len().saturating_sub(STREAM_MAX);
        self.last.drain(..over);
    }
}

fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

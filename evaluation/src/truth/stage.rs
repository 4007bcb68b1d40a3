//! Everything that is there while a program is watched: its directory, its servers, what gives them
//! work, its control groups. All of it ends, or is removed, when the stage goes, also on failure.

use super::account::{Account, accounts};
use super::needs;
use super::program::{Also, Program, Ready, Server};
use super::programs::Programs;
use super::quota::Quota;
use super::sched::Tid;
use crate::bench::python;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use workshop::shell::{forget_package, output, program as shell_program, root, succeeds};

/// A server that is not there after this is not waited for any longer.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// A server may take this long to end when asked to.
const END_WITHIN: Duration = Duration::from_secs(5);

/// What preparing a program may take, in seconds: the first time it may be fetched and built.
const PREPARE_SECONDS: &str = "600";

pub(crate) struct Stage {
    /// Lines for a shell.
    prepare: Vec<String>,
    places: Vec<(&'static str, String)>,
    pub(crate) dir: PathBuf,
    // In the order in which they have to end.
    servers: Vec<Started>,
    pub(crate) quota: Option<Quota>,
    /// None where the kernel has none, or the program leaves it for that of its quota.
    pub(crate) account: Option<Account>,
    _temp: Temporary,
}

impl Stage {
    /// Prepares the program and starts its servers.
    ///
    /// # Errors
    /// When a line of the preparation fails, or a server does not come up.
    pub(crate) fn set(program: &Program, programs: &Programs, base: &Path) -> Result<Self> {
        let dir = base.join(&program.name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        let temp = Temporary::make()?;
        let quota = program.also.contains(&Also::Quota).then(Quota::make).transpose()?;
        let account = if quota.as_ref().is_some_and(|quota| accounts(quota.path())) {
            None
        } else {
            Account::make().ok()
        };
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let places = vec![
            ("{dir}", text(&dir)),
            ("{inputs}", text(&base.join("inputs"))),
            ("{sources}", text(&root().join("evaluation/sources"))),
            ("{root}", text(&root())),
            ("{temp}", text(&temp.0)),
            ("{port}", free_port()?.to_string()),
            ("{pg}", needs::postgres().map_or_else(String::new, |path| text(&path))),
            ("{python}", python().to_owned()),
            ("{group}", quota.as_ref().map_or_else(String::new, |quota| text(&quota.entry()))),
        ];
        let prepare = programs.prepare(program);
        let mut stage = Self { prepare, places, dir, servers: Vec::new(), quota, account, _temp: temp };
        stage.prepare()?;
        for server in programs.servers(program)? {
            stage.start(server)?;
        }
        Ok(stage)
    }

    /// Runs the lines of the preparation; again before a second run.
    ///
    /// # Errors
    /// When one fails.
    pub(crate) fn prepare(&self) -> Result<()> {
        for line in &self.prepare {
            let mut shell = shell_program("timeout", &[PREPARE_SECONDS, "sh", "-ec", &self.fill(line)]);
            forget_package(shell.current_dir(&self.dir));
            output(&mut shell)?;
        }
        Ok(())
    }

    /// The words of a command with all places filled in.
    pub(crate) fn words(&self, words: &[String]) -> Vec<String> {
        words.iter().map(|word| self.fill(word)).collect()
    }

    /// The process to attach to: the last server, or the PID in the first line of a file.
    ///
    /// # Errors
    /// When there is no server, or the file does not hold a PID.
    pub(crate) fn target(&self, pid_file: Option<&str>) -> Result<Tid> {
        let Some(file) = pid_file else {
            let server = self.servers.last().context("there is no server to attach to")?;
            return Tid::try_from(server.0.id()).context("a PID is too large");
        };
        let path = self.fill(file);
        let begun = Instant::now();
        loop {
            let text = fs::read_to_string(&path).unwrap_or_default();
            if let Some(Ok(pid)) = text.lines().next().map(|line| line.trim().parse()) {
                return Ok(pid);
            }
            ensure!(begun.elapsed() < READY_WITHIN, "{path} holds no PID");
            sleep(Duration::from_millis(50));
        }
    }

    /// Starts a command that runs beside, its output going to a file in the directory.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn beside(&self, words: &[String], out: &str) -> Result<Started> {
        Started::spawn(&self.words(words), &self.dir, &self.dir.join(out))
    }

    fn start(&mut self, server: &Server) -> Result<()> {
        let out = format!("server-{}", self.servers.len());
        self.servers.push(self.beside(&server.command, &out)?);
        let begun = Instant::now();
        while !self.is_ready(&server.ready) {
            let started = self.servers.last_mut().context("just started")?;
            let gone = started.0.try_wait()?.is_some();
            if gone || begun.elapsed() > READY_WITHIN {
                let said = fs::read_to_string(self.dir.join(&out)).unwrap_or_default();
                bail!("{} is not ready: {}", server.command[0], said.trim());
            }
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn is_ready(&self, ready: &Ready) -> bool {
        match ready {
            Ready::Port => {
                let port = self.fill("{port}").parse().unwrap_or(0);
                TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
            }
            Ready::Succeeds(words) => {
                let words = self.words(words);
                words.split_first().is_some_and(|(name, rest)| succeeds(Command::new(name).args(rest)))
            }
            Ready::File(path) => Path::new(&self.fill(path)).exists(),
        }
    }

    fn fill(&self, word: &str) -> String {
        self.places.iter().fold(word.to_owned(), |word, (name, value)| word.replace(name, value))
    }
}

/// A process with its children, in a group of their own.
pub(crate) struct Started(Child);

impl Started {
    /// Starts it, with its output in a file.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn spawn(words: &[String], dir: &Path, out: &Path) -> Result<Self> {
        let out = File::create(out).with_context(|| format!("cannot create {}", out.display()))?;
        // It ends with this lane, should that be interrupted. setpriv becomes what it starts, so
        // the PID is the server's.
        let mut command = shell_program("setpriv", &["--pdeathsig=TERM"]);
        forget_package(command.args(words).current_dir(dir));
        command.stdout(out.try_clone()?).stderr(out).process_group(0);
        Ok(Self(command.spawn().with_context(|| format!("cannot start {}", words.join(" ")))?))
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            // The group may have ended by itself.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Servers end their own children at an interrupt, also those in other groups.
        self.signal(Signal::INT);
        let begun = Instant::now();
        while begun.elapsed() < END_WITHIN && matches!(self.0.try_wait(), Ok(None)) {
            sleep(Duration::from_millis(20));
        }
        // Background processes of a shell ignore interrupts.
        self.signal(Signal::KILL);
        let _ = self.0.wait();
    }
}

/// A directory that other users can enter, for servers that do not run as root.
struct Temporary(PathBuf);

impl Temporary {
    fn make() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("dwell-truth-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Ports of services: Linux gives clients those from 32768 on.
const SERVICES: Range<u16> = 20_000..32_768;

/// A port that nothing listened on just now: as a rule another one than the last program's, whose
/// connections may still be closing.
fn free_port() -> Result<u16> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let first = now.subsec_micros() as usize % SERVICES.len();
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    SERVICES.skip(first).chain(SERVICES).find(is_free).context("the loopback has no free port")
}

//! Where attacks take place: a directory, the processes started in it, and what is left of them.

use super::verbs::Verb;
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use workshop::shell::target;

const LOOK: Duration = Duration::from_millis(2);
/// Results of dwell, which are no leftovers.
const RESULTS: [&str; 13] = [
    "one.json", "out.json", "out.kept", "out.svg", "out.txt", "kept", "said", "count", "lab.lock", "pages",
    "refuse", "disk", "gone",
];

/// The directory, gone with this.
pub(super) struct Workplace {
    dwell: PathBuf,
    top: PathBuf,
    /// The dwells and their orphans, by PID.
    started: RefCell<BTreeSet<u32>>,
}

/// A dwell that was started.
pub(super) struct Started(Child);

/// A program that counts in a file, for dwell to attach to.
pub(super) struct Target {
    child: Child,
    count: PathBuf,
}

impl Workplace {
    pub(super) fn new(dwell: &Path) -> Result<Self> {
        let top = target().join(format!("attack-{}", std::process::id()));
        for below in ["work", "tmp", "cache", "work/pages", "work/disk"] {
            let path = top.join(below);
            fs::create_dir_all(&path).with_context(|| format!("cannot make {}", top.display()))?;
            // Some cases run as an ordinary user.
            fs::set_permissions(&path, Permissions::from_mode(0o1777))?;
        }
        Ok(Self { dwell: fs::canonicalize(dwell)?, top, started: RefCell::default() })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.join("work").join(name)
    }

    /// Starts a verb. What it says goes to a file.
    pub(super) fn start(&self, verb: &Verb, target: Option<&Target>) -> Result<Started> {
        let said = File::create(self.at("said")).context("cannot make a file for what dwell says")?;
        // A shell in the background has signals ignored, which programs inherit.
        let mut command = Command::new("env");
        command.arg("--default-signal").args(self.command(verb, target));
        self.spawn(command, said)
    }

    /// The words of dwell's command line.
    pub(super) fn command(&self, verb: &Verb, target: Option<&Target>) -> Vec<String> {
        let mut words = vec![self.dwell.to_string_lossy().into_owned()];
        words.extend(verb.arguments(self, target));
        words
    }

    /// Starts a command below a line of shell, in a mount namespace of its own.
    pub(super) fn start_in(&self, shell: &str, words: &[String]) -> Result<Started> {
        let said = File::create(self.at("said")).context("cannot make a file for what dwell says")?;
        let mut command = Command::new("env");
        command.args(["--default-signal", "unshare", "--mount", "sh", "-c", shell, "sh"]).args(words);
        command.env("REFUSE", self.refuse()).env("ATTACK_GROUP", self.group());
        command.env("ATTACK_WORK", self.top.join("work"));
        self.spawn(command, said)
    }

    fn spawn(&self, mut command: Command, said: File) -> Result<Started> {
        command.env("TMPDIR", self.top.join("tmp")).env("XDG_CACHE_HOME", self.top.join("cache"));
        command.current_dir(self.top.join("work")).stdin(Stdio::null());
        command.stdout(said.try_clone()?).stderr(said);
        let started = command.spawn().context("cannot start dwell")?;
        self.started.borrow_mut().insert(started.id());
        Ok(Started(started))
    }

    /// The path of a file in the working directory.
    pub(super) fn path(&self, name: &str) -> String {
        self.at(name).to_string_lossy().into_owned()
    }

    /// Where the program that refuses system calls is.
    pub(super) fn refuse(&self) -> PathBuf {
        self.at("refuse")
    }

    fn group(&self) -> String {
        self.top.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Removes the control group that a case has made.
    pub(super) fn leave_group(&self) {
        let top = Path::new("/sys/fs/cgroup");
        let below = fs::read_dir(top).into_iter().flatten().flatten().map(|entry| entry.path());
        for directory in below.chain([top.to_owned()]) {
            let _ = fs::remove_dir(directory.join(self.group()));
        }
    }

    /// Forgets results, and what a dwell of another user has cached.
    pub(super) fn clear_results(&self) {
        let _ = fs::remove_file(self.at("out.json"));
        let _ = fs::remove_dir_all(self.top.join("cache").join("dwell"));
    }

    /// Whether the result is there and whole.
    pub(super) fn has_result(&self) -> bool {
        fs::read(self.at("out.json"))
            .is_ok_and(|text| serde_json::from_slice::<serde_json::Value>(&text).is_ok())
    }

    /// What the last one said.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(self.at("said")).unwrap_or_default()
    }

    /// Starts a program to attach to.
    pub(super) fn target(&self) -> Result<Target> {
        let count = self.at("count");
        let mut command = Command::new("sh");
        command.args(["-c", "while sleep 0.02; do echo >> \"$0\"; done"]).arg(&count);
        Ok(Target { child: command.stdin(Stdio::null()).spawn()?, count })
    }

    /// Forgets what the last program did.
    pub(super) fn clear_program(&self) {
        for name in ["started", "finished"] {
            let _ = fs::remove_file(self.at(name));
        }
    }

    /// Whether the program began and did not come to its end.
    pub(super) fn program_is_unfinished(&self) -> bool {
        self.at("started").exists() && !self.at("finished").exists()
    }

    /// Whether the program came to its end.
    pub(super) fn program_is_finished(&self) -> bool {
        self.at("finished").exists()
    }

    /// Waits until what dwell left running has ended; those that have not are counted and killed.
    pub(super) fn wait_for_orphans(&self, target: Option<&Target>, most: Duration) -> usize {
        let begun = Instant::now();
        loop {
            let left: Vec<Pid> =
                children().into_iter().filter(|pid| Some(*pid) != target.map(Target::of)).collect();
            let orphans = left.iter().filter_map(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok());
            self.started.borrow_mut().extend(orphans);
            for pid in &left {
                if begun.elapsed() > most {
                    let _ = kill_process(*pid, Signal::KILL);
                    let _ = waitpid(Some(*pid), WaitOptions::empty());
                } else {
                    let _ = waitpid(Some(*pid), WaitOptions::NOHANG);
                }
            }
            if left.is_empty() || begun.elapsed() > most {
                return left.len();
            }
            sleep(LOOK);
        }
    }

    /// Control groups of dwells that were started here, all of which have ended.
    pub(super) fn groups(&self) -> BTreeSet<PathBuf> {
        let ours = self.started.borrow();
        let mut found = BTreeSet::new();
        let mut queue = vec![PathBuf::from("/sys/fs/cgroup")];
        while let Some(directory) = queue.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    let owner = name.starts_with("dwell-").then(|| name.rsplit('-').next()?.parse().ok());
                    if owner.flatten().is_some_and(|pid: u32| ours.contains(&pid)) {
                        found.insert(entry.path());
                    }
                    queue.push(entry.path());
                }
            }
        }
        found
    }

    /// All files but results.
    pub(super) fn files(&self) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        for top in [self.top.as_path(), Path::new("/dev/shm")] {
            list(top, &mut files);
        }
        files
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        self.leave_group();
        let _ = fs::remove_dir_all(&self.top);
    }
}

fn list(directory: &Path, files: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && name != "pages" {
            list(&entry.path(), files);
        }
        let is_result = RESULTS.contains(&name.as_str()) || name.starts_with("ladder-");
        let is_ours = directory != Path::new("/dev/shm") || name.contains("dwell");
        if !is_result
            && is_ours
            && !["cache", "dwell", "work", "tmp", "started", "finished"].contains(&name.as_str())
        {
            files.insert(entry.path().to_string_lossy().into_owned());
        }
    }
}

/// BPF programs that no process holds, by number; none if bpftool(8) is missing or cannot see them.
/// Other dwells of this machine hold theirs.
pub(super) fn unheld_programs() -> Option<BTreeSet<u64>> {
    let output = Command::new("bpftool").args(["-j", "prog", "show"]).output().ok()?;
    let programs: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).ok()?;
    let held = held_programs();
    let ids = programs.iter().filter_map(|program| program["id"].as_u64());
    Some(ids.filter(|id| !held.contains(id)).collect())
}

/// BPF programs that processes have descriptors of, or of their links.
fn held_programs() -> BTreeSet<u64> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let descriptors = processes
        .flat_map(|process| fs::read_dir(process.path().join("fdinfo")).into_iter().flatten().flatten());
    let texts = descriptors.filter_map(|descriptor| fs::read_to_string(descriptor.path()).ok());
    texts
        .filter_map(|text| text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok()))
        .collect()
}

impl Started {
    pub(super) fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.0), signal);
    }

    /// Waits for its end; none if it hangs, and then it is killed.
    pub(super) fn end(mut self, most: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        loop {
            if let Ok(Some(status)) = self.0.try_wait() {
                return Some(status);
            }
            if begun.elapsed() > most {
                let _ = self.0.kill();
                let _ = self.0.wait();
                return None;
            }
            sleep(LOOK);
        }
    }
}

impl Target {
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn of(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Whether it still counts, and nobody traces it.
    pub(super) fn goes_on(&mut self) -> bool {
        let length = || fs::metadata(&self.count).map_or(0, |found| found.len());
        let before = length();
        let begun = Instant::now();
        while length() == before && begun.elapsed() < Duration::from_secs(5) {
            sleep(LOOK);
        }
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        length() > before && status.contains("TracerPid:\t0\n")
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The children of this process, orphans among them.
fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let parent = |pid: i32| -> Option<i32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may contain anything.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    pids.filter(|pid| parent(*pid) == Some(own)).filter_map(Pid::from_raw).collect()
}

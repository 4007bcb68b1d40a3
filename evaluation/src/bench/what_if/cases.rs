//! The programs of `bench what-if`, each with what is edited and how it runs without it; and what
//! they need: servers, CPUs, a control group with a quota, a place for recordings.

use crate::truth::quota::Quota;
use anyhow::{Context, Result};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::SystemTime;
use workshop::shell::program;

/// A program, and the same without what an edit takes away.
///
/// In commands and edits `{it}` is the compiled program, `{slow}` and `{fast}` are the ports of
/// servers that answer after 5 ms and after 1 ms, `{one}` and `{two}` are CPUs, `{group}` and
/// `{open}` are the files by which a process enters the group with a quota and one without: to
/// enter one takes milliseconds.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) edits: &'static [&'static str],
    pub(super) before: &'static str,
    pub(super) after: &'static str,
}

const fn case([name, what, before, after]: [&'static str; 4], edits: &'static [&'static str]) -> Case {
    Case { name, what, edits, before, after }
}

/// All, in the order of the table.
pub(super) const CASES: [Case; 9] = [
    case(
        ["syncs", "a disk confirms each record", "{it} syncs 100 each", "{it} syncs 100 none"],
        &["fdatasync=0"],
    ),
    case(
        ["sleeps", "3 threads sleep under a lock", "{it} sleeps 40 held", "{it} sleeps 40 free"],
        &["lock=0"],
    ),
    case(
        ["computes", "2 threads compute under a lock", "{it} computes 100 held", "{it} computes 100 free"],
        &["lock=0"],
    ),
    case(
        ["server", "a server answers after 5 ms", "{it} ask {slow} 50", "{it} ask {fast} 50"],
        &["tcp 127.0.0.1:{slow}=1ms"],
    ),
    case(
        [
            "more-cpus",
            "4 threads on one CPU",
            "taskset -c {one} {it} spin 4 40",
            "taskset -c {two} {it} spin 4 40",
        ],
        &["cpus=2"],
    ),
    case(
        [
            "fewer-cpus",
            "4 threads on two CPUs",
            "taskset -c {two} {it} spin 4 40",
            "taskset -c {one} {it} spin 4 40",
        ],
        &["cpus=1"],
    ),
    case(
        ["quota", "a fifth of a CPU", "{it} within {group} spin 1 40", "{it} within {open} spin 1 40"],
        &["quota=none"],
    ),
    case(
        ["function", "a function of two", "{it} halves 150 all", "{it} halves 150 half"],
        &["user:hash=0.5"],
    ),
    case(
        [
            "several",
            "a question, a function, a record",
            "{it} all {slow} 40 each all",
            "{it} all {fast} 40 none half",
        ],
        &["tcp 127.0.0.1:{slow}=1ms", "fdatasync=0", "user:hash=0.5"],
    ),
];

/// What the programs need.
pub(super) struct Place {
    /// The directory in which they run, with dwell.
    pub(super) here: PathBuf,
    slow: Server,
    fast: Server,
    /// CPUs that this process may use: the first two.
    cpus: Vec<u32>,
    /// One that bounds, and one that does not.
    quota: Result<[Quota; 2]>,
}

impl Place {
    /// Starts the servers.
    ///
    /// # Errors
    /// When one does not start.
    pub(super) fn make(here: PathBuf) -> Result<Self> {
        let server = |us| Server::start(&here.join("what_if"), us);
        let (slow, fast) = (server("5000")?, server("1000")?);
        let allowed = rustix::thread::sched_getaffinity(None).context("no CPUs are known")?;
        let cpus = (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).take(2);
        let cpus = cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect();
        let quota = Quota::make().and_then(|quota| Ok([quota, Quota::open()?]));
        Ok(Self { here, slow, fast, cpus, quota })
    }

    /// Why a program cannot be run here.
    pub(super) fn missing(&self, case: &Case) -> Option<String> {
        let wants = |word: &str| case.before.contains(word) || case.after.contains(word);
        match &self.quota {
            Err(error) if wants("{group}") => Some(format!("{error:#}")),
            _ if wants("{two}") && self.cpus.len() < 2 => Some("there is one CPU only".to_owned()),
            _ => None,
        }
    }

    /// A command or an edit with what stands for its words.
    pub(super) fn filled(&self, text: &str) -> String {
        let cpus = |many: usize| {
            let cpus: Vec<String> = self.cpus.iter().take(many).map(u32::to_string).collect();
            cpus.join(",")
        };
        let group = |at: usize| -> String {
            let entry = self.quota.as_ref().map(|groups| groups[at].entry().to_string_lossy().into_owned());
            entry.unwrap_or_default()
        };
        text.replace("{it}", &self.here.join("what_if").to_string_lossy())
            .replace("{slow}", &self.slow.port)
            .replace("{fast}", &self.fast.port)
            .replace("{one}", &cpus(1))
            .replace("{two}", &cpus(2))
            .replace("{group}", &group(0))
            .replace("{open}", &group(1))
    }

    /// A new directory for recordings.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn kept(&self) -> Result<Kept> {
        let path = self.here.join("kept");
        // Of a run that was ended early.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Kept(path))
    }
}

/// A server that ends with this.
struct Server {
    process: Child,
    port: String,
}

impl Server {
    /// One that answers after this many microseconds.
    fn start(path: &Path, us: &str) -> Result<Self> {
        let mut process = program(path, &["serve", us])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let said = process.stdout.take().context("the server says nothing")?;
        let mut port = String::new();
        BufReader::new(said).read_line(&mut port).context("the server says no port")?;
        Ok(Self { process, port: port.trim().to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its standard input ends, and so does it.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// A directory of recordings, removed when this goes.
pub(super) struct Kept(PathBuf);

impl Kept {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The recordings, the first one first.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub(super) fn in_order(&self) -> Result<Vec<PathBuf>> {
        let mut all = Vec::<(SystemTime, PathBuf)>::new();
        for entry in fs::read_dir(&self.0).context("cannot list recordings")? {
            let entry = entry.context("cannot list recordings")?;
            all.push((entry.metadata().and_then(|about| about.modified())?, entry.path()));
        }
        all.sort();
        Ok(all.into_iter().map(|(_, path)| path).collect())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_a_command_is_left() {
        let server = |port: &str| Server {
            process: program("true", &[]).stdin(Stdio::piped()).spawn().expect("true can be started"),
            port: port.to_owned(),
        };
        let quota = Err(anyhow::anyhow!("no controller"));
        let (slow, fast) = (server("1"), server("2"));
        let place = Place { here: "here".into(), slow, fast, cpus: vec![4], quota };
        for case in &CASES {
            let edits = case.edits.iter().copied();
            for text in edits.chain([case.before, case.after]) {
                let filled = place.filled(text);
                assert!(!filled.contains(['{', '}', '\'']), "{filled}");
            }
        }
        let missing: Vec<_> = CASES.iter().filter(|case| place.missing(case).is_some()).collect();
        assert_eq!(
            missing.iter().map(|case| case.name).collect::<Vec<_>>(),
            ["more-cpus", "fewer-cpus", "quota"]
        );
        assert_eq!(place.filled("taskset -c {one} {it} ask {fast}"), "taskset -c 4 here/what_if ask 2");
    }
}

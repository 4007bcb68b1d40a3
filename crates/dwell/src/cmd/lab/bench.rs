//! Where a pair is held: a directory that is removed, the server of those that need one, busy loops
//! beside them, and dwell itself, which observes and compares.

use super::place::Place;
use crate::cache;
use crate::child;
use crate::cmd::results;
use crate::output;
use crate::private;
use crate::progress::ProgressLine;
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use model::Ns;
use model::compare::commands::Comparison;
use model::lab::{LabPair, LabPart, LabProfile, Observed, Sitting, Writing};
use model::wake::load::Load;
use pairs::server::Service;
use pairs::{Need, Pair, Run, Served, Setting, Way};
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A variable of the environment: the program works in the current directory, which is of the lab.
pub(super) const IN_PLACE: &str = "DWELL_LAB_IN_PLACE";
/// No pair takes longer.
const LONGEST: Duration = Duration::from_secs(600);

/// Runs of each way whose parts are timed: an odd number, so that one is the median.
const APART_RUNS: u32 = 5;

/// What is asked of a sitting.
pub(super) struct Asked {
    pub(super) size: u64,
    pub(super) beside: bool,
    pub(super) pairs: u32,
    /// Compare the further ways too.
    pub(super) all_ways: bool,
    /// Time the parts of the ways too, where they have any.
    pub(super) apart: bool,
    /// The user's, in place of what the server has.
    pub(super) urls: Vec<String>,
    /// How the server is to be.
    pub(super) server: Served,
}

/// What came of a sitting.
pub(super) struct Held {
    pub(super) sitting: Sitting,
    /// Of the slow and the fast program, as far as they were run.
    pub(super) profiles: Vec<LabProfile>,
    /// The parts of the ways.
    pub(super) apart: Vec<LabPart>,
    /// Why not all of it was held.
    pub(super) ended_early: Option<String>,
}

/// Where pairs are held, one after another.
pub(super) struct Bench<'a, 's> {
    exe: PathBuf,
    /// Where the programs work.
    directory: Place,
    /// Where dwell writes: small files.
    results: Place,
    /// Held while pairs are: what two labs measure, both disturb.
    _lock: Option<File>,
    stop: &'a Stop<'s>,
    line: &'a ProgressLine,
}

/// A server for one pair. It ends with its standard input, and so with dwell.
struct Server {
    child: Child,
    at: SocketAddrV4,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The pair of that name.
pub(super) fn named(name: &str) -> anyhow::Result<&'static Pair> {
    Pair::named(name)
        .ok_or_else(|| anyhow!("the lab has no {name:?}\ntry: dwell lab (lists all {})", pairs::ALL.len()))
}

/// As the results name it.
pub(super) fn described(pair: &Pair) -> LabPair {
    LabPair {
        name: pair.name.to_owned(),
        title: pair.title.to_owned(),
        cause: pair.cause.map(str::to_owned),
        writing: pair
            .writing
            .map(|writing| Writing { title: writing.title.to_owned(), theirs: writing.theirs.to_owned() }),
    }
}

/// Why a pair cannot be held here. None if it can.
pub(super) fn missing(pair: &Pair) -> Option<String> {
    let servers = pair.service().map_or(&[][..], Service::programs);
    let servers = servers.iter().copied().map(Need::Program);
    let languages = pair.ways.iter().filter_map(|way| match way.run {
        Run::Foreign(source) => Some(Need::Program(source.language.needs())),
        Run::Native(_) => None,
    });
    pair.needs.iter().copied().chain(servers).chain(languages).find_map(|need| match need {
        Need::Program(name) if !in_path(name) => Some(format!("there is no {name} in $PATH")),
        Need::Root if !sys::user::is_root() => Some("it needs root".to_owned()),
        _ => None,
    })
}

fn in_path(name: &str) -> bool {
    let paths = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&paths).any(|directory| directory.join(name).is_file())
}

/// The words that do the work one way, by themselves.
fn by_hand(pair: &Pair, way: &Way, setting: &Setting) -> Vec<String> {
    let mut words = ["dwell", "lab", pair.name, "--run", way.name, "--size"].map(str::to_owned).to_vec();
    words.push(setting.size.to_string());
    words.extend(options(setting));
    words.extend(setting.urls.iter().flat_map(|url| ["--url".to_owned(), url.clone()]));
    words
}

/// The words that are the server of these programs.
fn server_by_hand(pair: &Pair, setting: &Setting) -> Option<Vec<String>> {
    let service = pair.service().filter(|_| setting.port > 0)?;
    let words = ["dwell", "lab", "--serve", service.name()].map(str::to_owned);
    Some(words.into_iter().chain(options(setting)).collect())
}

/// Where the server is, and how it is to be.
fn options(setting: &Setting) -> impl Iterator<Item = String> {
    let port = (setting.port > 0).then(|| setting.port.to_string());
    let host = (setting.host != Ipv4Addr::LOCALHOST).then(|| setting.host.to_string());
    let [latency, rate] =
        [setting.server.latency_ms, setting.server.rate].map(|value| value.map(|value| value.to_string()));
    [("--port", port), ("--host", host), ("--latency", latency), ("--rate", rate)]
        .into_iter()
        .flat_map(|(option, value)| value.into_iter().flat_map(move |value| [option.to_owned(), value]))
}

/// Says why the cause of a pair cannot be found, where the run could not be looked at for it.
fn say_unseen(pair: &Pair, run: &model::Run) {
    let mut rows = run.not_looked_for.value().into_iter().flatten();
    if let Some(row) = rows.find(|row| Some(row.cause.as_str()) == pair.cause) {
        let remedy = if sys::user::is_root() { "" } else { "\ntry: sudo dwell lab" };
        let why = format!("{} cannot be found here: {}{remedy}", row.cause, row.why);
        output::complain(&output::clean_lines(&why));
    }
}

/// The lock of the user's labs; says so where another one has it. None where there is no directory
/// for it.
fn lock() -> Option<File> {
    let directory = private::directory(&cache::directory()?, &[]).ok()?;
    let file = File::create(directory.join("lab.lock")).ok()?;
    if file.try_lock().is_err() {
        output::complain("another dwell lab is running: each disturbs what the other measures");
    }
    Some(file)
}

impl Drop for Bench<'_, '_> {
    fn drop(&mut self) {
        // Of programs that were killed.
        pairs::group::remove_left();
    }
}

impl<'a, 's> Bench<'a, 's> {
    /// In a new directory in `directory`, or in the current one.
    pub(super) fn new(
        directory: Option<&Path>,
        stop: &'a Stop<'s>,
        line: &'a ProgressLine,
    ) -> anyhow::Result<Self> {
        let exe = env::current_exe().context("cannot find dwell itself")?;
        let within = directory.unwrap_or(Path::new("."));
        let within =
            fs::canonicalize(within).with_context(|| format!("cannot use {within:?}\ntry: --dir DIR"))?;
        let results = Place::new(&env::temp_dir())?;
        Ok(Self { exe, directory: Place::new(&within)?, results, _lock: lock(), stop, line })
    }

    /// Holds a pair. None if it was ended before there was a result; what was held by then, if it
    /// was ended later. `before` goes before the progress.
    pub(super) fn hold(
        &self,
        pair: &'static Pair,
        asked: &Asked,
        before: &str,
    ) -> anyhow::Result<Option<Held>> {
        if let Some(why) = missing(pair) {
            bail!("{} cannot be run here: {why}", pair.name);
        }
        let server = match pair.service() {
            Some(service) if asked.urls.is_empty() => Some(
                self.server(service, asked.server)
                    .with_context(|| format!("{} cannot be run here", pair.name))?,
            ),
            _ => None,
        };
        let at = server.as_ref().map_or(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0), |server| server.at);
        let setting = Setting {
            size: asked.size,
            host: *at.ip(),
            port: at.port(),
            urls: asked.urls.clone(),
            server: asked.server,
        };
        let ways = match pair.cause {
            Some(_) if asked.all_ways => pair.ways,
            Some(_) => &pair.ways[..pair.ways.len().min(2)],
            None => &pair.ways[..1],
        };
        for way in ways {
            if let Run::Foreign(source) = way.run {
                source
                    .prepare(self.directory.path())
                    .with_context(|| format!("cannot prepare {}", pair.name))?;
            }
        }
        let commands: Vec<_> = ways.iter().map(|way| self.command(pair, way, &setting)).collect();
        let tell = |what: &str| self.line.put(|| format!("{before}{}: {what}", pair.name));
        let others = if asked.beside { Some(self.busy_loops()?) } else { None };

        tell("the slow program under dwell run");
        let Some((slow, run)) = self.observed(&commands[0])? else { return Ok(None) };
        if before.is_empty() {
            say_unseen(pair, &run);
        }
        let (mut saved, mut wall_ns, mut fast) = (Vec::new(), Vec::new(), None);
        let (mut pairs, mut profiles) = (0, vec![analyse::lab::profile(&run)]);
        if pair.cause.is_some() {
            tell("both by turns with dwell compare");
            if let Some(comparison) = self.compared(&commands, asked.pairs)? {
                saved = analyse::lab::saved(&comparison);
                wall_ns = analyse::lab::walls(&comparison);
                pairs = comparison.comparisons.first().map_or(0, |change| change.pairs.len() as u32);
            }
            if !self.stop.asked() {
                tell("the fast program under dwell run");
                if let Some((of_fast, run)) = self.observed(&commands[1])? {
                    profiles.push(analyse::lab::profile(&run));
                    fast = Some(of_fast);
                }
            }
        }
        let mut apart = Vec::new();
        if asked.apart && pair.has_parts() && !self.stop.asked() {
            tell("the parts of both");
            apart = self.apart(&commands)?;
        }
        if let Some(others) = others {
            drop(others.stop(self.stop.asked()));
        }
        let is_whole = pair.cause.is_none() || !saved.is_empty() && fast.is_some();
        let described: LabPair = described(pair);
        let first = saved.first().copied().flatten();
        let outcome = analyse::lab::outcome(&described, asked.beside, &slow, fast.as_ref(), first);
        let sitting = Sitting {
            size: asked.size,
            unit: pair.size.unit.to_owned(),
            beside: asked.beside,
            ways: ways.iter().map(|way| way.what.to_owned()).collect(),
            commands,
            by_hand: ways.iter().map(|way| by_hand(pair, way, &setting)).collect(),
            server: server_by_hand(pair, &setting),
            slow,
            fast,
            saved,
            wall_ns,
            pairs,
            outcome,
        };
        let ended_early = (!is_whole).then(|| "a signal ended it".to_owned());
        Ok(Some(Held { sitting, profiles, apart, ended_early }))
    }

    /// The parts of these ways, each timed by itself, in runs by turns: the medians. Empty if a
    /// signal ended it.
    fn apart(&self, commands: &[Vec<String>]) -> anyhow::Result<Vec<LabPart>> {
        let mut times: Vec<(String, Vec<Vec<Ns>>)> = Vec::new();
        let path = self.results.path().join("parts");
        for _ in 0..APART_RUNS {
            for (way, words) in commands.iter().enumerate() {
                let file = File::create(&path).context("cannot make a file")?;
                let mut program = Command::new(&words[0]);
                program.args(&words[1..]).arg("--apart").current_dir(self.directory.path());
                program.env(IN_PLACE, "1").stdin(Stdio::null()).stdout(file);
                let program = program.spawn().context("cannot start the program")?;
                let status = child::wait(self.stop, program)?;
                if self.stop.asked() {
                    return Ok(Vec::new());
                }
                if status != Some(0) {
                    bail!("a program of the lab failed when its parts were timed");
                }
                let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path:?}"))?;
                for (at, line) in text.lines().enumerate() {
                    let (ns, what) = line.split_once(' ').context("a part has no name")?;
                    if times.len() == at {
                        times.push((what.to_owned(), vec![Vec::new(); commands.len()]));
                    }
                    times[at].1[way].push(ns.parse().context("a part has no time")?);
                }
            }
        }
        let median = |mut all: Vec<Ns>| {
            all.sort_unstable();
            all[all.len() / 2]
        };
        Ok(times
            .into_iter()
            .map(|(what, ways)| LabPart { what, wall_ns: ways.into_iter().map(median).collect() })
            .collect())
    }

    /// The words that run a program one way.
    fn command(&self, pair: &Pair, way: &Way, setting: &Setting) -> Vec<String> {
        if let Run::Foreign(source) = way.run {
            return source.words(way.name, setting);
        }
        let mut words = by_hand(pair, way, setting);
        words[0] = self.exe.to_string_lossy().into_owned();
        words
    }

    fn server(&self, service: Service, how: Served) -> anyhow::Result<Server> {
        let mut command = Command::new(&self.exe);
        command.args(["lab", "--serve", service.name()]);
        if let Some(ms) = how.latency_ms {
            command.args(["--latency", &ms.to_string()]);
        }
        command.current_dir(self.directory.path());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the server")?;
        let output = child.stdout.take().context("the server has no output")?;
        let mut server = Server { child, at: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0) };
        let mut text = String::new();
        BufReader::new(output).read_line(&mut text).context("the server says nothing")?;
        if text.is_empty() {
            bail!("its server did not start");
        }
        server.at = text.trim().parse().context("the server says no address")?;
        Ok(server)
    }

    /// A loop on each CPU.
    fn busy_loops(&self) -> anyhow::Result<loads::Running> {
        let threads = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
        loads::Running::start(&[Load::Cpu { threads }], LONGEST, &|| self.stop.asked())
            .context("cannot keep the CPUs busy")
    }

    /// The program under `dwell run`.
    fn observed(&self, words: &[String]) -> anyhow::Result<Option<(Observed, model::Run)>> {
        let json = self.results.path().join("run.json");
        let run = ["run", "--quiet", "--json"].map(OsStr::new);
        let words = words.iter().map(OsStr::new);
        let arguments = run.into_iter().chain([json.as_os_str(), OsStr::new("--")]).chain(words);
        let Some(value) = self.dwell(arguments, &json)? else { return Ok(None) };
        let run = results::run(&json, value)?;
        Ok(Some((analyse::lab::observed(&run), run)))
    }

    /// The programs under `dwell compare`.
    fn compared(&self, commands: &[Vec<String>], pairs: u32) -> anyhow::Result<Option<Comparison>> {
        let json = self.results.path().join("compare.json");
        let pairs = pairs.to_string();
        let compare = ["compare", "--quiet", "--no-why", "--pairs", &pairs, "--json"].map(OsStr::new);
        let line =
            |words: &Vec<String>| shlex::try_join(words.iter().map(String::as_str)).context("cannot quote");
        let lines = commands.iter().map(line).collect::<anyhow::Result<Vec<_>>>()?;
        let lines = lines.iter().map(OsStr::new);
        let arguments = compare.into_iter().chain([json.as_os_str(), OsStr::new("--")]).chain(lines);
        let value = match self.dwell(arguments, &json)? {
            Some(value) => value,
            // The pairs before the signal count.
            None => match fs::read(&json).ok().and_then(|text| serde_json::from_slice(&text).ok()) {
                Some(value) => value,
                None => return Ok(None),
            },
        };
        Ok(Some(serde_json::from_value(value).context("cannot read the comparison")?))
    }

    /// What a dwell writes to `json`. None if a signal ended it.
    fn dwell<'b>(
        &self,
        arguments: impl Iterator<Item = &'b OsStr>,
        json: &Path,
    ) -> anyhow::Result<Option<serde_json::Value>> {
        let mut dwell = Command::new(&self.exe);
        dwell.args(arguments).current_dir(self.directory.path()).env(IN_PLACE, "1");
        // What it finds is a part of the result of the lab.
        dwell.env("DWELL_STORE", "off");
        dwell.stdin(Stdio::null()).stdout(Stdio::null());
        let _ = fs::remove_file(json);
        let status = child::wait(self.stop, dwell.spawn().context("cannot start dwell")?)?;
        if self.stop.asked() {
            return Ok(None);
        }
        match status {
            Some(0) => {}
            status => bail!(
                "a program of the lab failed ({})",
                status.map_or("killed".to_owned(), |status| status.to_string())
            ),
        }
        let text = fs::read(json).with_context(|| format!("cannot read {json:?}"))?;
        Ok(Some(serde_json::from_slice(&text).context("dwell wrote no JSON")?))
    }
}

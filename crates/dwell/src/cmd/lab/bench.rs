//! Where a pair is held: a directory that is removed, the server, where a pair needs one, busy
//! loops beside them, and dwell itself, which observes and compares.

use super::pair::{described, missing};
use super::served::Server;
use super::words::{by_hand, server_by_hand};
use super::work_dir::WorkDir;
use crate::cache;
use crate::child;
use crate::out;
use crate::output;
use crate::private;
use crate::progress::{self, ProgressLine};
use crate::stop::Stop;
use anyhow::{Context, bail};
use model::compare::commands::{Comparison, EstimateInterval};
use model::lab::{LabPart, LabProfile, LabSitting, Observed, Unfound};
use model::wake::load::Load;
use model::{FindingsInWords, Ns, RunResult};
use pairs::{Pair, Run, Served, Setting, Way};
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use sys::clock::monotonic_ns;

/// A variable of the environment: the program works in the current directory, which is of the lab.
pub(super) const IN_PLACE: &str = "DWELL_LAB_IN_PLACE";
/// How a pair is called whose name is hidden.
const HIDDEN: &str = "quiz";
/// No pair takes longer.
const LONGEST: Duration = Duration::from_secs(600);

/// A result has a megabyte at most (`analyse::bounds`).
const RESULT_BYTES_MAX: usize = 1 << 20;
/// Runs of each way whose parts are timed: an odd number, so that one is the median.
const APART_RUNS: u32 = 5;

/// What is asked of a sitting.
#[derive(Default)]
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
    /// Whether the name of the pair is not shown.
    pub(super) hidden: bool,
}

impl Asked {
    /// Whether the cause of the pair was judged to be in what is asked for.
    fn is_judged(&self, pair: &Pair) -> bool {
        self.size >= pair.size.least && self.urls.is_empty() && self.server == Served::default()
    }
}

/// What came of a sitting.
pub(super) struct PairRun {
    pub(super) sitting: LabSitting,
    /// Profiles of the slow and the fast program, as far as they were run.
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
    directory: WorkDir,
    /// Where dwell writes: small files.
    results: WorkDir,
    /// Held while pairs are: what two labs measure, both disturb.
    _lock: Option<File>,
    stop: &'a Stop<'s>,
    line: &'a ProgressLine,
}

/// What was measured of a pair; what a signal came before is empty.
struct Measured {
    slow: Observed,
    /// Why the cause of the pair is no finding of it.
    unfound: Option<Unfound>,
    fast: Option<Observed>,
    saved: Vec<Option<EstimateInterval>>,
    wall_ns: Vec<Option<Ns>>,
    pairs: u32,
    profiles: Vec<LabProfile>,
    apart: Vec<LabPart>,
}

/// The line that shows what is done with a pair.
struct Shown<'a> {
    pair: &'static str,
    line: &'a ProgressLine,
    /// What goes before, of a pair of several.
    before: Option<&'a dyn Fn() -> String>,
}

impl Shown<'_> {
    /// Shows what is done from now on; what is given back is called meanwhile. `most_ns`: how long
    /// it takes at most, which is shown of one pair alone.
    fn begin(&self, what: &'static str, most_ns: Option<Ns>) -> impl Fn() {
        let begun_ns = monotonic_ns();
        let most_ns = most_ns.filter(|_| self.before.is_none());
        let show = move || {
            let running = progress::running(monotonic_ns() - begun_ns, most_ns);
            let before = self.before.map_or_else(String::new, |before| before());
            format!("{before}{}: {what}{running}; Ctrl-C to stop", self.pair)
        };
        self.line.put(show);
        move || self.line.update(show)
    }
}

/// Says why the cause of a pair cannot be found, where the run could not be looked at for it.
fn say_unseen(pair: &Pair, words: &FindingsInWords) {
    if let Some(row) = words.not_looked_for.iter().find(|row| Some(row.cause.as_str()) == pair.cause) {
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
        let results = WorkDir::new(&env::temp_dir(), "TMPDIR")?;
        Ok(Self { exe, directory: WorkDir::new(&within, "--dir")?, results, _lock: lock(), stop, line })
    }

    /// The wall clock of the slow program with so much work; none if a signal ended it.
    pub(super) fn wall_ns(&self, pair: &'static Pair, size: u64) -> anyhow::Result<Option<Ns>> {
        let asked = Asked { size, ..Asked::default() };
        let (_server, setting) = self.setting(pair, &asked)?;
        self.prepare(pair, &pair.ways[..1])?;
        let shown = Shown { pair: HIDDEN, line: self.line, before: None };
        let tick = shown.begin("how fast is this machine", None);
        let observed = self.observed(&self.command(pair, &pair.ways[0], &setting), &tick)?;
        Ok(observed.map(|(observed, ..)| observed.wall_ns))
    }

    /// The server of a pair, where it needs one, and what its programs are told.
    fn setting(&self, pair: &Pair, asked: &Asked) -> anyhow::Result<(Option<Server>, Setting)> {
        let server = self.server(pair, asked)?;
        let at = server.as_ref().map_or(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0), |server| server.at);
        let setting = Setting {
            size: asked.size,
            host: *at.ip(),
            port: at.port(),
            urls: asked.urls.clone(),
            server: asked.server,
        };
        Ok((server, setting))
    }

    /// Holds a pair. None if it was ended before there was a result; what was held by then, if it
    /// was ended later. `before` makes what goes before the progress of a pair of several.
    pub(super) fn hold(
        &self,
        pair: &'static Pair,
        asked: &Asked,
        before: Option<&dyn Fn() -> String>,
    ) -> anyhow::Result<Option<PairRun>> {
        self.hold_with(pair, asked, before, &mut |_| Ok(true))
    }

    /// The same; `then` gets the slow run before anything is compared, and says whether to go on.
    pub(super) fn hold_with(
        &self,
        pair: &'static Pair,
        asked: &Asked,
        before: Option<&dyn Fn() -> String>,
        then: &mut dyn FnMut(&RunResult) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Option<PairRun>> {
        if let Some(why) = missing(pair) {
            bail!("{} cannot be run here: {why}", pair.name);
        }
        let (_server, setting) = self.setting(pair, asked)?;
        let ways = match pair.cause {
            Some(_) if asked.all_ways => pair.ways,
            Some(_) => &pair.ways[..pair.ways.len().min(2)],
            None => &pair.ways[..1],
        };
        self.prepare(pair, ways)?;
        let commands: Vec<_> = ways.iter().map(|way| self.command(pair, way, &setting)).collect();
        let others = if asked.beside { Some(self.busy_loops()?) } else { None };
        let name = if asked.hidden { HIDDEN } else { pair.name };
        let shown = Shown { pair: name, line: self.line, before };
        let Some(measured) = self.measure(pair, asked, &commands, &shown, then)? else { return Ok(None) };
        if let Some(others) = others {
            drop(others.stop(self.stop.asked()));
        }
        let Measured { slow, unfound, fast, saved, wall_ns, pairs, profiles, apart } = measured;
        let is_whole = pair.cause.is_none() || !saved.is_empty() && fast.is_some();
        let first = saved.first().copied().flatten();
        let outcome =
            analyse::lab::outcome(&described(pair), asked.beside, &slow, fast.as_ref(), first, unfound);
        let sitting = LabSitting {
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
        Ok(Some(PairRun { sitting, profiles, apart, ended_early }))
    }

    /// Runs the programs, observes and compares them. None if a signal ended the first run.
    fn measure(
        &self,
        pair: &Pair,
        asked: &Asked,
        commands: &[Vec<String>],
        shown: &Shown<'_>,
        then: &mut dyn FnMut(&RunResult) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Option<Measured>> {
        let tick = shown.begin("dwell run, slow", None);
        let Some((slow, result, words)) = self.observed(&commands[0], &tick)? else { return Ok(None) };
        if !then(&result)? {
            return Ok(None);
        }
        let run = result.run;
        if shown.before.is_none() {
            say_unseen(pair, &words);
        }
        let unfound =
            pair.cause.and_then(|cause| analyse::lab::unfound(&words, cause, asked.is_judged(pair)));
        let mut measured = Measured {
            slow,
            unfound,
            fast: None,
            saved: Vec::new(),
            wall_ns: Vec::new(),
            pairs: 0,
            profiles: vec![analyse::lab::profile(&run)],
            apart: Vec::new(),
        };
        // If no way is slower than the first was.
        let most_ns = |runs: Ns| Some(run.wall_ns.saturating_mul(runs * commands.len() as Ns));
        if pair.cause.is_some() {
            // A warm-up and the pairs.
            let tick = shown.begin("dwell compare", most_ns(Ns::from(asked.pairs) + 1));
            if let Some(comparison) = self.compared(commands, asked.pairs, &tick)? {
                measured.saved = analyse::lab::saved(&comparison);
                measured.wall_ns = analyse::lab::walls(&comparison);
                measured.pairs = comparison.comparisons.first().map_or(0, |change| change.pairs.len() as u32);
            }
            if !self.stop.asked() {
                let tick = shown.begin("dwell run, fast", Some(run.wall_ns));
                if let Some((fast, result, _)) = self.observed(&commands[1], &tick)? {
                    measured.profiles.push(analyse::lab::profile(&result.run));
                    measured.fast = Some(fast);
                }
            }
        }
        if asked.apart && pair.has_parts() && !self.stop.asked() {
            let tick = shown.begin("the parts of both", most_ns(APART_RUNS.into()));
            measured.apart = self.apart(commands, &tick)?;
        }
        Ok(Some(measured))
    }

    /// The server of a pair that needs one, unless the user has another.
    fn server(&self, pair: &Pair, asked: &Asked) -> anyhow::Result<Option<Server>> {
        let Some(service) = pair.service().filter(|_| asked.urls.is_empty()) else { return Ok(None) };
        let server = Server::start(&self.exe, service, asked.server, self.directory.path());
        server.map(Some).with_context(|| format!("{} cannot be run here", pair.name))
    }

    /// Builds the programs of other languages.
    fn prepare(&self, pair: &Pair, ways: &[Way]) -> anyhow::Result<()> {
        for way in ways {
            if let Run::Foreign(source) = way.run {
                source
                    .prepare(self.directory.path())
                    .with_context(|| format!("cannot prepare {}", pair.name))?;
            }
        }
        Ok(())
    }

    /// The parts of these ways, each timed by itself, in alternation: the medians. Empty if a
    /// signal ended it.
    fn apart(&self, commands: &[Vec<String>], tick: &dyn Fn()) -> anyhow::Result<Vec<LabPart>> {
        let mut times: Vec<(String, Vec<Vec<Ns>>)> = Vec::new();
        let path = self.results.path().join("parts");
        for _ in 0..APART_RUNS {
            for (way, words) in commands.iter().enumerate() {
                let file = File::create(&path).context("cannot make a file")?;
                let mut program = Command::new(&words[0]);
                program.args(&words[1..]).arg("--apart").current_dir(self.directory.path());
                program.env(IN_PLACE, "1").stdin(Stdio::null()).stdout(file);
                let program = program.spawn().context("cannot start the program")?;
                let status = child::wait(self.stop, program, Some(tick))?;
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

    /// A loop on each CPU.
    fn busy_loops(&self) -> anyhow::Result<loads::Running> {
        let threads = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
        loads::Running::start(&[Load::Cpu { threads }], LONGEST, &|| self.stop.asked())
            .context("cannot keep the CPUs busy")
    }

    /// The program under `dwell run`.
    fn observed(
        &self,
        words: &[String],
        tick: &dyn Fn(),
    ) -> anyhow::Result<Option<(Observed, RunResult, FindingsInWords)>> {
        let json = self.results.path().join("run.json");
        let run = ["run", "--quiet", "--json"].map(OsStr::new);
        let words = words.iter().map(OsStr::new);
        let arguments = run.into_iter().chain([json.as_os_str(), OsStr::new("--")]).chain(words);
        let Some(value) = self.dwell(arguments, &json, tick)? else { return Ok(None) };
        let result = out::read_run(&json, value)?;
        let words = report::in_words(&result);
        Ok(Some((analyse::lab::observed(&result.run, &words), result, words)))
    }

    /// The programs under `dwell compare`.
    fn compared(
        &self,
        commands: &[Vec<String>],
        pairs: u32,
        tick: &dyn Fn(),
    ) -> anyhow::Result<Option<Comparison>> {
        let json = self.results.path().join("compare.json");
        let pairs = pairs.to_string();
        let compare = ["compare", "--quiet", "--no-why", "--pairs", &pairs, "--json"].map(OsStr::new);
        let line =
            |words: &Vec<String>| shlex::try_join(words.iter().map(String::as_str)).context("cannot quote");
        let lines = commands.iter().map(line).collect::<anyhow::Result<Vec<_>>>()?;
        let lines = lines.iter().map(OsStr::new);
        let arguments = compare.into_iter().chain([json.as_os_str(), OsStr::new("--")]).chain(lines);
        let value = match self.dwell(arguments, &json, tick)? {
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
        tick: &dyn Fn(),
    ) -> anyhow::Result<Option<serde_json::Value>> {
        let mut dwell = Command::new(&self.exe);
        dwell.args(arguments).current_dir(self.directory.path()).env(IN_PLACE, "1");
        // What it finds is a part of the result of the lab.
        dwell.env("DWELL_STORE", "off");
        dwell.stdin(Stdio::null()).stdout(Stdio::null());
        let _ = fs::remove_file(json);
        let status = child::wait(self.stop, dwell.spawn().context("cannot start dwell")?, Some(tick))?;
        if self.stop.asked() {
            return Ok(None);
        }
        match status {
            Some(0) => {}
            Some(_) if !self.has_room_for_results() => bail!(
                "there is no room in {:?} for what dwell writes meanwhile\ntry: TMPDIR=DIR dwell lab",
                env::temp_dir()
            ),
            status => bail!(
                "a program of the lab failed ({})",
                status.map_or("killed".to_owned(), |status| status.to_string())
            ),
        }
        let text = fs::read(json).with_context(|| format!("cannot read {json:?}"))?;
        Ok(Some(serde_json::from_slice(&text).context("dwell wrote no JSON")?))
    }

    /// Whether a result of the greatest length could be written.
    fn has_room_for_results(&self) -> bool {
        let path = self.results.path().join("room");
        let written = fs::write(&path, vec![0; RESULT_BYTES_MAX]);
        let _ = fs::remove_file(path);
        written.is_ok()
    }
}

//! `cargo xtask attack`: each verb of dwell ended at random moments, by SIGKILL and by the signals
//! that end it in order; what was left, what hung, and which programs came to harm.
//!
//! This process is the parent of orphans, so nothing that is left can hide. Moments are uniform
//! over the time that the verb takes undisturbed. Everything lies in a directory of its own, which
//! is also dwell's `TMPDIR` and cache.

mod place;
mod verbs;

use crate::bench::install;
use anyhow::{Context, Result, bail, ensure};
use place::{Place, groups};
use rustix::process::{Signal, geteuid, getpid, set_child_subreaper};
use stats::Random;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use verbs::{Fate, VERBS, Verb};

/// SIGKILLs of each verb, and signals of each kind.
const KILLS: usize = 30;
const SIGNALS: usize = 6;
/// What ends dwell in order, and how soon it has to.
const ENDING: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::QUIT, Signal::HUP];
const SOON: Duration = Duration::from_secs(1);
/// After this time a process hangs.
const HANGS: Duration = Duration::from_secs(15);

struct Options {
    kills: usize,
    dwell: Option<PathBuf>,
    verbs: Vec<&'static Verb>,
}

/// What came of the attacks on one verb.
#[derive(Default)]
struct Row {
    kills: usize,
    /// Processes and control groups that were there after a SIGKILL.
    processes: usize,
    groups: usize,
    /// Files after a SIGKILL, and after the next undisturbed start.
    files: usize,
    unswept: Vec<String>,
    harmed: usize,
    /// Of the programs that dwell said would end with it.
    foretold: usize,
    signals: usize,
    /// Signals after which dwell took longer than [`SOON`], and the longest time.
    late: usize,
    slowest: Duration,
    hung: usize,
    /// Starts that said of a panic.
    panics: usize,
}

/// Attacks the verbs and prints the table.
///
/// # Errors
/// For options that are not understood, without root, when dwell does not build, or when anything
/// did not hold.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let options = options(arguments)?;
    ensure!(geteuid().is_root(), "dwell's BPF programs are part of what could be left: this needs root");
    set_child_subreaper(Some(getpid())).context("cannot become the parent of orphans")?;
    let dwell = install(options.dwell.as_deref())?.join("dwell");
    let place = Place::new(&dwell)?;
    verbs::prepare(&place)?;
    let mut random = Random::new(u64::from(std::process::id()));
    println!("{HEADER}");
    let mut failed = 0;
    for verb in options.verbs {
        match attack(&place, verb, options.kills, &mut random) {
            Ok(row) => {
                failed += usize::from(!row.holds());
                println!("{}", row.line(verb.name));
            }
            // It cannot be run here at all: no Python with exact counts, no right.
            Err(error) => {
                failed += 1;
                println!("{error:#}");
            }
        }
    }
    if failed > 0 {
        bail!("{failed} verbs did not hold");
    }
    Ok(())
}

fn options(arguments: &[&str]) -> Result<Options> {
    let mut options = Options { kills: KILLS, dwell: None, verbs: Vec::new() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--kills" => options.kills = words.next().context("--kills N")?.parse().context("--kills N")?,
            "--dwell" => options.dwell = Some(words.next().context("--dwell FILE")?.into()),
            name => {
                let found = VERBS.iter().find(|verb| verb.name == name);
                options.verbs.push(found.with_context(|| format!("{name:?} is no verb to attack"))?);
            }
        }
    }
    if options.verbs.is_empty() {
        options.verbs = VERBS.iter().collect();
    }
    Ok(options)
}

fn attack(place: &Place, verb: &Verb, kills: usize, random: &mut Random) -> Result<Row> {
    let before = (place.files(), groups());
    let mut row = Row::default();
    let mut target = verb.target(place)?;
    let begun = Instant::now();
    let status = place.start(verb, target.as_ref())?.end(HANGS);
    ensure!(status.is_some_and(|status| status.success()), "{}: {}", verb.name, place.said());
    let length = begun.elapsed();
    for _ in 0..kills {
        place.clear_program();
        let dwell = place.start(verb, target.as_ref())?;
        std::thread::sleep(length.mul_f64(random.uniform()));
        dwell.signal(Signal::KILL);
        let killed_running = dwell.end(HANGS).is_some_and(|status| !status.success());
        row.kills += 1;
        let left = place.wait_for_orphans(target.as_ref(), HANGS);
        row.processes += left;
        row.groups += groups().difference(&before.1).count();
        row.files += usize::from(place.files() != before.0);
        row.panics += usize::from(place.said().contains("panicked"));
        if killed_running && place.program_is_unfinished() {
            match verb.fate {
                Fate::GoesOn => row.harmed += 1,
                Fate::EndsWithDwell => row.foretold += 1,
                Fate::None => {}
            }
        }
        if let Some(target) = &mut target {
            row.harmed += usize::from(!target.goes_on());
        }
    }
    for signal in ENDING {
        for _ in 0..SIGNALS.min(kills) {
            place.clear_program();
            let dwell = place.start(verb, target.as_ref())?;
            std::thread::sleep(length.mul_f64(random.uniform()));
            let sent = Instant::now();
            dwell.signal(signal);
            match dwell.end(HANGS) {
                None => row.hung += 1,
                Some(_) => {
                    row.late += usize::from(sent.elapsed() > SOON);
                    row.slowest = row.slowest.max(sent.elapsed());
                }
            }
            row.signals += 1;
            row.processes += place.wait_for_orphans(target.as_ref(), HANGS);
            row.panics += usize::from(place.said().contains("panicked"));
            if let Some(target) = &mut target {
                row.harmed += usize::from(!target.goes_on());
            }
        }
    }
    place.clear_program();
    place.start(verb, target.as_ref())?.end(HANGS);
    place.clear_program();
    row.unswept = place.files().difference(&before.0).cloned().collect();
    Ok(row)
}

const HEADER: &str = "verb            kills  processes groups files  unswept harmed foretold  \
                      signals late slowest  hung panics";

impl Row {
    fn holds(&self) -> bool {
        self.processes + self.groups + self.unswept.len() + self.harmed == 0
            && self.late + self.hung + self.panics == 0
    }

    fn line(&self, name: &str) -> String {
        let unswept = if self.unswept.is_empty() { String::new() } else { format!("  {:?}", self.unswept) };
        format!(
            "{name:14} {:6} {:10} {:6} {:5} {:8} {:6} {:8} {:8} {:4} {:5} ms {:5} {:6}{unswept}",
            self.kills,
            self.processes,
            self.groups,
            self.files,
            self.unswept.len(),
            self.harmed,
            self.foretold,
            self.signals,
            self.late,
            self.slowest.as_millis(),
            self.hung,
            self.panics,
        )
    }
}

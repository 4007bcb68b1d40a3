//! `dwell lab`: programs that are slow in one known way, and whether dwell finds it.
//!
//! The programs are those of `pairs`. They run as dwell itself, in processes of their own, below
//! `dwell run` and `dwell compare` as a user would type them; what comes out is judged by
//! `analyse::lab`.

mod bench;
mod score;

use crate::cli::LabArgs;
use crate::exit;
use crate::look::{OutputKind, look};
use crate::out::{LabResult, Outputs, Page};
use crate::output;
use crate::progress::ProgressLine;
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use bench::{Asked, Bench, described, named};
use model::lab::{LabRun, SCHEMA_LAB};
use pairs::{Pair, Setting, Way, server};
use report::lab::{Lesson, Listed};
use similar::TextDiff;
use std::env;
use sys::clock::{rfc3339, unix_s};
use sys::signals::Signals;

/// The pair that takes the user's URLs.
const OF_URLS: &str = "downloads";
/// Pairs of runs where nothing is said.
const PAIRS: u32 = 10;

/// Lists, runs or scores; returns the exit status.
pub(crate) fn lab(args: &LabArgs) -> anyhow::Result<u8> {
    if let Some(service) = args.serve {
        server::serve(service, |at| output::to_stdout(at).map_err(std::io::Error::other))?;
        return Ok(0);
    }
    if args.score {
        return score::score(args);
    }
    if !args.urls.is_empty() && args.name.as_deref() != Some(OF_URLS) {
        bail!("--url is for {OF_URLS}\ntry: dwell lab {OF_URLS} --url URL");
    }
    let Some(name) = &args.name else {
        let rows: Vec<Listed> = pairs::ALL.iter().map(|pair| listed(pair)).collect();
        output::to_stdout(report::lab::list(&rows, look(&args.look, OutputKind::Stdout)))?;
        return Ok(0);
    };
    let pair = named(name)?;
    match &args.run {
        Some(way) => run(pair, way, args),
        None => one(pair, args),
    }
}

fn listed(pair: &Pair) -> Listed {
    Listed {
        name: pair.name,
        title: pair.title,
        cause: pair.cause,
        size: pair.size.usual,
        unit: pair.size.unit,
        ways: pair.ways.iter().map(|way| way.name).collect(),
        writing: pair.writing.is_some(),
    }
}

/// Does the work one way, in this process.
fn run(pair: &Pair, way: &str, args: &LabArgs) -> anyhow::Result<u8> {
    let ways: Vec<_> = pair.ways.iter().map(|way| way.name).collect();
    let way = pair
        .way(way)
        .ok_or_else(|| anyhow!("{} has no way {way:?}\ntry: {}", pair.name, ways.join(" or ")))?;
    let setting =
        Setting { size: size(pair, args), host: args.host, port: args.port, urls: args.urls.clone() };
    if pair.service().is_some() && setting.port == 0 && setting.urls.is_empty() {
        bail!("{} needs a server\ntry: dwell lab {0}, which has one; or --port PORT", pair.name);
    }
    let done = |way: &Way| way.run(&setting).with_context(|| format!("{} {}", pair.name, way.name));
    if env::var_os(bench::IN_PLACE).is_some() {
        done(way)?;
        return Ok(0);
    }
    // What it makes goes with its directory.
    let directory = tempfile::Builder::new().prefix("dwell-lab-").tempdir_in(".");
    let directory = directory.context("cannot make a directory here\ntry: another current directory")?;
    if let pairs::Run::Foreign(source) = way.run {
        source.prepare(directory.path()).with_context(|| format!("cannot prepare {}", pair.name))?;
    }
    let before = env::current_dir().context("there is no current directory")?;
    env::set_current_dir(directory.path()).context("cannot enter the new directory")?;
    let done = done(way);
    env::set_current_dir(before).context("cannot go back to the directory")?;
    done.map(|()| 0)
}

/// How much: as many as there are URLs, as it was asked for, or the usual.
fn size(pair: &Pair, args: &LabArgs) -> u64 {
    match args.urls.len() {
        0 => args.size.unwrap_or(pair.size.usual),
        urls => urls as u64,
    }
}

/// Holds one pair once.
fn one(pair: &'static Pair, args: &LabArgs) -> anyhow::Result<u8> {
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    let page = if args.quiet { Page::None } else { Page::Stdout };
    let outputs = Outputs::open(&args.forms, page, None, &[])?;
    let (host, started_at) = (observe::this_host(), rfc3339(unix_s()));
    let stop = Stop::new(&mut signals);
    let line = ProgressLine::new(args.quiet);
    let bench = Bench::new(args.dir.as_deref(), &stop, &line)?;
    let asked = Asked {
        size: size(pair, args),
        beside: args.beside,
        pairs: args.pairs.unwrap_or(PAIRS),
        all_ways: true,
        urls: args.urls.clone(),
    };
    let sitting = bench.hold(pair, &asked, "");
    drop(bench);
    drop(line);
    let sitting = match (sitting?, stop.status()) {
        (Some(sitting), _) => sitting,
        (None, status) => return Ok(status.unwrap_or(exit::DWELL_FAILED)),
    };
    let run = LabRun {
        schema: SCHEMA_LAB.to_owned(),
        dwell: env!("CARGO_PKG_VERSION").to_owned(),
        host,
        started_at,
        pair: described(pair),
        change: change(pair),
        sitting,
    };
    let lesson = Lesson { text: pair.lesson };
    let failed = outputs.write(&LabResult::One(Box::new(run), lesson), &args.look).complain();
    Ok(if failed { exit::DWELL_FAILED } else { stop.status().unwrap_or(0) })
}

/// What makes the slow way fast, as lines of a diff.
fn change(pair: &Pair) -> Vec<String> {
    let [slow, fast, ..] = pair.ways else { return Vec::new() };
    let (slow, fast) = (pair.text(slow), pair.text(fast));
    let diff = TextDiff::from_lines(slow, fast);
    let hunks = diff.unified_diff().context_radius(1).to_string();
    hunks
        .lines()
        .filter(|line| !line.starts_with("@@") && !line.starts_with('\\'))
        .map(str::to_owned)
        .collect()
}

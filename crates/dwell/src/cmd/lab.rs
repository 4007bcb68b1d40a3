//! `dwell lab`: programs that are slow in one known way, and whether dwell finds it.
//!
//! The programs are those of `pairs`. They run as dwell itself, in processes of their own, below
//! `dwell run` and `dwell compare` as a user would type them; what comes out is judged by
//! `analyse::lab`.

mod bench;
mod pair;
mod quiz;
mod score;
mod served;
mod words;
mod work_dir;

use crate::child;
use crate::cli::LabArgs;
use crate::cmd::compare::ALPHA;
use crate::exit;
use crate::keep::ResultStore;
use crate::look::{OutputKind, look};
use crate::output;
use crate::progress::ProgressLine;
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use bench::{Asked, Bench};
use model::lab::{LabRun, SCHEMA_LAB};
use pair::{described, missing, named};
use pairs::{Need, Pair, Served, Setting, server};
use report::lab::Listed;
use similar::TextDiff;
use std::net::SocketAddrV4;
use std::process::Command;
use std::{env, io};
use sys::clock::{rfc3339, unix_s};
use sys::signals::Signals;
use work_dir::WorkDir;

/// The pair that takes the user's URLs.
const OF_URLS: &str = "downloads";
/// Those whose server may take as long to answer as the user chooses, and send as fast.
const OF_LATENCY: &[&str] = &[OF_URLS, "log-resolver"];
const OF_RATE: &[&str] = &[OF_URLS];
/// Pairs that do a part of a job, with the size of all of it.
const WHOLE_JOBS: &[(&str, u64)] = &[("log-resolver", 10_000_000)];
/// How many times the largest of its sizes a pair may be asked for.
const SIZES: u64 = 10;
/// Pairs of runs by default.
const PAIRS: u32 = 10;

/// Lists, runs or scores; returns the exit status.
pub(crate) fn lab(args: &LabArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    if let Some(service) = args.serve {
        let how = Served { latency_ms: args.latency, rate: args.rate };
        let at = (args.port > 0).then(|| SocketAddrV4::new(args.host, args.port));
        server::serve(service, how, at, |at| output::to_stdout(at).map_err(std::io::Error::other))?;
        return Ok(0);
    }
    if args.port > 0 && args.run.is_none() {
        bail!("--port is for --run and --serve\ntry: dwell lab {}", args.name.as_deref().unwrap_or("NAME"));
    }
    if args.score {
        return score::score(args, keeper);
    }
    if args.quiz {
        return quiz::quiz(args, keeper);
    }
    if args.seed.is_some() {
        bail!("--seed is for --score and --quiz\ntry: dwell lab --quiz --seed 7");
    }
    if !args.urls.is_empty() && args.name.as_deref() != Some(OF_URLS) {
        bail!("--url is for {OF_URLS}\ntry: dwell lab {OF_URLS} --url URL");
    }
    for (option, given, pairs) in
        [("--latency", args.latency.is_some(), OF_LATENCY), ("--rate", args.rate.is_some(), OF_RATE)]
    {
        if given && !args.name.as_ref().is_some_and(|name| pairs.contains(&&**name)) {
            bail!("{option} is for {}\ntry: dwell lab {} {option} N", pairs.join(" and "), pairs[0]);
        }
    }
    let Some(name) = &args.name else {
        let rows: Vec<Listed> = pairs::ALL.iter().map(|pair| listed(pair)).collect();
        let look = look(&args.outputs.look, OutputKind::Stdout);
        let list = if args.outputs.look.verbose { report::lab::list } else { report::lab::short_list };
        output::to_stdout(list(&rows, look))?;
        return Ok(0);
    };
    let pair = named(name)?;
    enough_pairs(args.pairs, pair.ways.len())?;
    bounded(pair, args.size)?;
    match &args.run {
        Some(way) => run(pair, way, args),
        None => one(pair, args, keeper),
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

/// # Errors
/// This many pairs of runs decide nothing, whatever they show.
fn enough_pairs(asked: Option<u32>, ways: usize) -> anyhow::Result<()> {
    let Some(asked) = asked else { return Ok(()) };
    let comparisons = ways.saturating_sub(1).max(1);
    let least = stats::paired::pairs_min(ALPHA / comparisons as f64) as u32;
    if asked < least {
        bail!(
            "{asked} pairs of runs can decide nothing here: each of {comparisons} comparisons with the slow way has a part \
             of the error that is allowed\ntry: --pairs {least}"
        );
    }
    Ok(())
}

/// Does the work one way: in a process of its own and a directory of its own.
fn run(pair: &Pair, way: &str, args: &LabArgs) -> anyhow::Result<u8> {
    let ways: Vec<_> = pair.ways.iter().map(|way| way.name).collect();
    let way = pair
        .way(way)
        .ok_or_else(|| anyhow!("{} has no way {way:?}\ntry: {}", pair.name, ways.join(" or ")))?;
    let setting = Setting {
        size: size(pair, args),
        host: args.host,
        port: args.port,
        urls: args.urls.clone(),
        server: Served { latency_ms: args.latency, rate: args.rate },
    };
    if pair.service().is_some() && setting.port == 0 && setting.urls.is_empty() {
        bail!("{} needs a server\ntry: dwell lab {0}, which has one and says how to start it", pair.name);
    }
    if env::var_os(bench::IN_PLACE).is_some() {
        sys::signals::unblock();
        if args.apart {
            let parts = pair.parts(way).map_err(room)?;
            let lines = parts.iter().map(|part| format!("{} {}\n", part.ns, part.what));
            output::to_stdout(lines.collect::<String>())?;
            return Ok(0);
        }
        way.run(&setting).map_err(room).with_context(|| format!("{} {}", pair.name, way.name))?;
        return Ok(0);
    }
    if let Some(why) = missing(pair) {
        bail!("{} cannot be run here: {why}", pair.name);
    }
    // What it makes goes with its directory, however it ends.
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    let stop = Stop::new(&mut signals);
    let here = env::current_dir().context("there is no current directory")?;
    let place = WorkDir::new(&here, "the current directory")?;
    if let pairs::Run::Foreign(source) = way.run {
        source
            .prepare(place.path())
            .map_err(room)
            .with_context(|| format!("cannot prepare {}", pair.name))?;
    }
    if pair.needs.contains(&Need::Root) && pair.service().is_none() {
        // What bounds the process that dwell started is what dwell run looks for: a control group.
        drop(signals);
        env::set_current_dir(place.path()).context("cannot enter the new directory")?;
        let done = way.run(&setting).map_err(room);
        pairs::group::leave();
        env::set_current_dir(here).context("cannot go back to the directory")?;
        return done.map(|()| 0).with_context(|| format!("{} {}", pair.name, way.name));
    }
    let mut program = Command::new(env::current_exe().context("cannot find dwell itself")?);
    program.args(env::args_os().skip(1)).env(bench::IN_PLACE, "1").current_dir(place.path());
    let status = child::wait(&stop, program.spawn().context("cannot start the program")?, None)?;
    drop(place);
    pairs::group::remove_left();
    Ok(match (stop.status(), status) {
        (Some(status), _) => status,
        (None, Some(status)) => u8::try_from(status).unwrap_or(exit::DWELL_FAILED),
        (None, None) => exit::DWELL_FAILED,
    })
}

/// The same error, with what to do where it is one of room.
fn room(error: io::Error) -> anyhow::Error {
    let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    let remedy = if is_full { "\ntry: another directory, with 256 MiB of room (--dir DIR)" } else { "" };
    anyhow!("{error}{remedy}")
}

/// # Errors
/// It would take the memory or the disk of the machine.
fn bounded(pair: &Pair, asked: Option<u64>) -> anyhow::Result<()> {
    let whole = WHOLE_JOBS.iter().find(|(name, _)| *name == pair.name).map_or(0, |(_, size)| *size);
    let most = SIZES * pair.size.most.max(whole);
    if let Some(asked) = asked.filter(|asked| *asked > most) {
        bail!("{} {} are more than {} can do\ntry: --size {most} at most", asked, pair.size.unit, pair.name);
    }
    Ok(())
}

/// How much: as many as there are URLs, as it was asked for, or the usual.
fn size(pair: &Pair, args: &LabArgs) -> u64 {
    match args.urls.len() {
        0 => args.size.unwrap_or(pair.size.usual),
        urls => urls as u64,
    }
}

/// Holds one pair once.
fn one(pair: &'static Pair, args: &LabArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    // Opening waits for the reader of a pipe: a signal ends that.
    let outputs = args.outputs.open(&[])?;
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    let (host, started_at) = (observe::this_host(), rfc3339(unix_s()));
    let stop = Stop::new(&mut signals);
    let line = ProgressLine::new(args.outputs.quiet);
    let bench = Bench::new(args.dir.as_deref(), &stop, &line)?;
    let asked = Asked {
        size: size(pair, args),
        beside: args.beside,
        pairs: args.pairs.unwrap_or(PAIRS),
        all_ways: true,
        apart: true,
        urls: args.urls.clone(),
        server: Served { latency_ms: args.latency, rate: args.rate },
        hidden: false,
    };
    let held = bench.hold(pair, &asked, None);
    drop(bench);
    drop(line);
    let ended_by = stop.status();
    // Writing may wait: for the reader of a pipe, for a disk.
    signals.outlast_one();
    let held = match (held?, ended_by) {
        (Some(held), _) => held,
        (None, status) => return Ok(status.unwrap_or(exit::DWELL_FAILED)),
    };
    let run = LabRun {
        schema: SCHEMA_LAB.to_owned(),
        dwell: env!("CARGO_PKG_VERSION").to_owned(),
        host,
        started_at,
        pair: described(pair),
        change: change(pair),
        sitting: held.sitting,
        profiles: held.profiles,
        apart: held.apart,
        whole_size: WHOLE_JOBS.iter().find(|(name, _)| *name == pair.name).map(|(_, size)| *size),
        ended_early: held.ended_early,
    };
    let failed = outputs.write(&run, &args.outputs.look).complain();
    keeper.offer(&run, None);
    Ok(if failed { exit::DWELL_FAILED } else { ended_by.unwrap_or(0) })
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

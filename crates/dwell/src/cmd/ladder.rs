//! `dwell ladder`: the latency of each level of this machine.

use crate::cli::LadderArgs;
use crate::cmd::{named, results};
use crate::exit;
use crate::keep::ResultStore;
use crate::last_ladder;
use crate::look::{OutputKind, look};
use crate::out::{LadderResult, Outputs};
use crate::output;
use crate::progress::{self, ProgressLine};
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use model::ladder::beside::Reference;
use model::ladder::{LadderRequest, Rung, RungGroup};
use model::{Costs, Ladder, Seen};
use rungs::Listener;
use std::path::Path;
use std::time::Instant;
use sys::policy::RtBoost;
use sys::signals::Signals;

/// Measures and reports; returns the exit status.
pub(crate) fn ladder(args: &LadderArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    let asked = LadderRequest {
        quick: args.quick,
        only: args.only.clone(),
        dir: args.dir.as_ref().map(|dir| dir.to_string_lossy().into_owned()),
        hosts: args.host.clone(),
    };
    if args.list {
        output::to_stdout(report::ladder::list(
            &rungs::list(&asked),
            look(&args.outputs.look, OutputKind::Stdout),
        ))?;
        return Ok(0);
    }
    if args.kept {
        let ladder = last_ladder::last(keeper).map_err(|missing| anyhow!("{missing}\ntry: dwell ladder"))?;
        let others = others(&args.beside, keeper)?;
        let outputs = open(args)?;
        let failed = outputs.write(&LadderResult { ladder, others }, &args.outputs.look).complain();
        return Ok(if failed { exit::DWELL_FAILED } else { 0 });
    }
    let others = others(&args.beside, keeper)?;
    // Opening waits for the reader of a pipe: a signal ends that.
    let outputs = open(args)?;
    // Before the check, which makes a directory: a signal must not leave it.
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    check(&asked)?;
    let measured = measure(&asked, &mut signals, args.outputs.quiet);
    signals.outlast_one();
    let result = LadderResult { ladder: measured.ladder, others };
    match (args.no_keep, measured.whole) {
        (true, _) => {}
        (false, true) => keeper.offer_ladder(&result),
        (false, false) => keeper.offer(&result, None),
    }
    if outputs.write(&result, &args.outputs.look).complain() {
        return Ok(exit::DWELL_FAILED);
    }
    // The results so far were written; the exit status says that a signal cut them short.
    if let Some(status) = measured.ended_by {
        return Ok(status);
    }
    if nothing(&result.ladder) {
        bail!(
            "none of the requested rungs could be measured\n\
             try: the reason of each rung, on the page or in the JSON"
        );
    }
    Ok(0)
}

/// The costs of operations from a quick ladder, after the program has ended. The ladder is kept if
/// it is whole.
pub(super) fn after_a_run(signals: &mut Signals, quiet: bool, keeper: &mut ResultStore) -> Seen<Costs> {
    let asked = LadderRequest { quick: true, ..LadderRequest::default() };
    let measured = measure(&asked, signals, quiet);
    if !measured.whole {
        return Seen::unseen("the ladder after the run was ended early");
    }
    let result = LadderResult { ladder: measured.ladder, others: Vec::new() };
    keeper.offer_ladder(&result);
    Seen::Value(analyse::ladder::costs(&result.ladder, "quick ladder right after the run"))
}

/// A ladder that was measured just now.
struct Measured {
    ladder: Ladder,
    /// Everything there is was measured.
    whole: bool,
    /// The exit status of the signal that ended it early.
    ended_by: Option<u8>,
}

/// Measures until it is done or a signal ends it.
fn measure(asked: &LadderRequest, signals: &mut Signals, quiet: bool) -> Measured {
    let stop = Stop::new(signals);
    let mut progress = RungProgress { line: ProgressLine::new(quiet), begun: Instant::now() };
    let mut measured = rungs::measure(asked, observe::this_host(), &mut progress, &|| stop.asked());
    measured.machine_number = Some(observe::machine_number());
    measured.dwell = Some(env!("CARGO_PKG_VERSION").to_owned());
    drop(progress);
    let _hurry = measured.interrupted.then(RtBoost::begin);
    Measured {
        ladder: analyse::ladder::ladder(&measured),
        whole: asked.only.is_empty() && !measured.interrupted,
        ended_by: stop.status(),
    }
}

/// Whether no rung could be measured. An absent level of the machine counts as measured.
fn nothing(ladder: &Ladder) -> bool {
    let unseen = |rung: &Rung| matches!(rung.ns, Seen::Unseen(_));
    ladder.rungs.iter().all(unseen) && matches!(ladder.curve, Seen::Unseen(_))
}

/// Opens the outputs. The files of --beside are inputs and must not be overwritten.
fn open(args: &LadderArgs) -> anyhow::Result<Outputs<LadderResult>> {
    let read: Vec<&Path> = args.beside.iter().filter(|name| !is_machine(name)).map(Path::new).collect();
    args.outputs.open(&read)
}

fn is_machine(name: &str) -> bool {
    analyse::ladder::beside::machine(name).is_some()
}

/// The ladders to show beside this one: the named machines and files, or else textbook figures.
fn others(given: &[String], keeper: &ResultStore) -> anyhow::Result<Vec<Reference>> {
    if given.is_empty() {
        return Ok(vec![analyse::ladder::beside::textbook()]);
    }
    let other = |name: &String| {
        if let Some(found) = analyse::ladder::beside::machine(name) {
            return Ok(found);
        }
        let kept = named::find(Path::new(name), keeper)?;
        if kept.is_none() && !Path::new(name).exists() {
            let machines: Vec<_> = analyse::ladder::beside::machines().collect();
            bail!(
                "no reference machine and no file is called {name:?}\n\
                 try: one of {}, or a file written by --json",
                machines.join(", ")
            );
        }
        let kept = results::one(Path::new(name), results::all(Path::new(name), keeper)?)?;
        if !kept.is::<LadderResult>() {
            bail!(
                "{name:?} is a {:?}, not a ladder\ntry: a file written by dwell ladder --json",
                kept.schema
            );
        }
        let LadderResult { ladder, .. } = kept.read()?;
        Ok(analyse::ladder::beside::ladder(name, &ladder))
    };
    given.iter().map(other).collect()
}

/// Refuses unknown names, and directories in which no file can be created: nothing would be
/// measured, with an exit status of success.
fn check(asked: &LadderRequest) -> anyhow::Result<()> {
    let abouts = rungs::list(asked);
    if asked.dir.is_some() && !abouts.iter().any(|about| about.group == RungGroup::Files) {
        bail!("no rung of this version measures files\ntry: without --dir");
    }
    if let Some(dir) = &asked.dir {
        rungs::can_make_files(dir).map_err(|why| anyhow!("{}", output::clean_lines(&why)))?;
    }
    if !asked.hosts.is_empty() && !abouts.iter().any(|about| about.id.contains('@')) {
        bail!("no rung of this version measures hosts\ntry: without --host");
    }
    for name in &asked.only {
        let one = LadderRequest { only: vec![name.clone()], ..asked.clone() };
        let is_group = RungGroup::ALL.iter().any(|group| group.name() == name);
        if !is_group && !abouts.iter().any(|about| rungs::wanted(about, &one)) {
            bail!("no rung or group is called {name:?}\ntry: dwell ladder --list");
        }
    }
    Ok(())
}

/// Shows the rung in progress, and how long all will take.
struct RungProgress {
    line: ProgressLine,
    begun: Instant,
}

impl Listener for RungProgress {
    fn begins(&mut self, id: &str, turn: usize, turns: usize) {
        let rung = report::clean(id, false);
        let left = progress::left(self.begun.elapsed(), turn.saturating_sub(1) as f64 / turns as f64);
        self.line.put(|| format!("measuring {turn} of {turns}: {rung}{left}; Ctrl-C to stop"));
    }
}

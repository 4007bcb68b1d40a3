//! `dwell ladder`: what each level of latency costs on this machine.

use crate::cli::LadderArgs;
use crate::cmd::results;
use crate::exit;
use crate::kept;
use crate::look::{Onto, look};
use crate::out::{LadderResult, Outputs, Page};
use crate::output;
use crate::progress::Line;
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use model::ladder::beside::Beside;
use model::ladder::{Asked, Group, Rung, SCHEMA_LADDER};
use model::{Costs, Ladder, Seen};
use rungs::Listener;
use std::path::Path;
use sys::signals::Signals;

/// Measures and shows; gives the exit status.
pub(crate) fn ladder(args: &LadderArgs) -> anyhow::Result<u8> {
    let asked = Asked {
        quick: args.quick,
        only: args.only.clone(),
        dir: args.dir.as_ref().map(|dir| dir.to_string_lossy().into_owned()),
        hosts: args.host.clone(),
    };
    if args.list {
        output::to_stdout(report::ladder::list(&rungs::list(&asked), look(&args.look, Onto::Stdout)))?;
        return Ok(0);
    }
    if args.kept {
        let ladder = kept::last().map_err(|missing| anyhow!("{missing}\ntry: dwell ladder"))?;
        let others = others(&args.beside)?;
        let outputs = open(args)?;
        let failed = outputs.write(&LadderResult { ladder, others }, &args.look).complain();
        return Ok(if failed { exit::DWELL_FAILED } else { 0 });
    }
    known(&asked)?;
    let others = others(&args.beside)?;
    let mut signals = Signals::take_over().context("cannot take signals")?;
    let outputs = open(args)?;
    let measured = measure(&asked, &mut signals, args.quiet);
    if measured.whole && !args.no_keep {
        kept::keep(&measured.ladder);
    }
    let result = LadderResult { ladder: measured.ladder, others };
    if outputs.write(&result, &args.look).complain() {
        return Ok(exit::DWELL_FAILED);
    }
    // What there is was written; whoever ended it early is told that it is not all, in the words of shells.
    if let Some(status) = measured.ended_by {
        return Ok(status);
    }
    if nothing(&result.ladder) {
        bail!(
            "nothing that was asked for could be measured\ntry: what each rung says, on the page or in the JSON"
        );
    }
    Ok(0)
}

/// What operations cost, by a quick ladder that is kept when it gets to its end; for a program that has ended.
pub(super) fn after_a_run(signals: &mut Signals, quiet: bool) -> Seen<Costs> {
    let asked = Asked { quick: true, ..Asked::default() };
    let measured = measure(&asked, signals, quiet);
    if !measured.whole {
        return Seen::unseen("the ladder after the run was ended early");
    }
    kept::keep(&measured.ladder);
    Seen::Value(analyse::ladder::costs(&measured.ladder, "quick ladder right after the run"))
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
fn measure(asked: &Asked, signals: &mut Signals, quiet: bool) -> Measured {
    let stop = Stop::new(signals);
    let mut turns = Turns(Line::new(quiet));
    let measured = rungs::measure(asked, observe::this_host(), &mut turns, &|| stop.asked());
    drop(turns);
    Measured {
        ladder: analyse::ladder::ladder(&measured),
        whole: asked.only.is_empty() && !measured.interrupted,
        ended_by: stop.status(),
    }
}

/// Whether no rung could be measured. That this machine has no such thing is an answer.
fn nothing(ladder: &Ladder) -> bool {
    let unseen = |rung: &Rung| matches!(rung.ns, Seen::Unseen(_));
    ladder.rungs.iter().all(unseen) && matches!(ladder.curve, Seen::Unseen(_))
}

/// Opens the outputs. A ladder that it is shown beside was read, and is not written over.
fn open(args: &LadderArgs) -> anyhow::Result<Outputs<LadderResult>> {
    let read: Vec<&Path> = args.beside.iter().filter(|name| !is_machine(name)).map(Path::new).collect();
    let page = if args.quiet { Page::None } else { Page::Stdout };
    Outputs::open(&args.forms, page, None, &read)
}

fn is_machine(name: &str) -> bool {
    analyse::ladder::beside::machine(name).is_some()
}

/// What it is shown beside: rules of thumb, unless machines are named or ladders that were kept.
fn others(named: &[String]) -> anyhow::Result<Vec<Beside>> {
    if named.is_empty() {
        return Ok(vec![analyse::ladder::beside::textbook()]);
    }
    let other = |name: &String| {
        if let Some(found) = analyse::ladder::beside::machine(name) {
            return Ok(found);
        }
        if !Path::new(name).exists() {
            let machines: Vec<_> = analyse::ladder::beside::machines().collect();
            bail!(
                "no reference machine and no file is called {name:?}\ntry: one of {}, or a file of --json",
                machines.join(", ")
            );
        }
        let (schema, value) = results::read(Path::new(name))?;
        if schema != SCHEMA_LADDER {
            bail!("{name:?} holds a {schema:?}, not a ladder\ntry: a file that dwell ladder --json wrote");
        }
        Ok(analyse::ladder::beside::ladder(name, &results::ladder(Path::new(name), value)?))
    };
    named.iter().map(other).collect()
}

/// Refuses names of nothing, and directories in which nothing can be made: they would measure nothing and look like success.
fn known(asked: &Asked) -> anyhow::Result<()> {
    let abouts = rungs::list(asked);
    if asked.dir.is_some() && !abouts.iter().any(|about| about.group == Group::Files) {
        bail!("no rung of this version measures files\ntry: without --dir");
    }
    if let Some(dir) = &asked.dir {
        rungs::can_make_files(dir).map_err(|why| anyhow!("{}", output::clean_lines(&why)))?;
    }
    if !asked.hosts.is_empty() && !abouts.iter().any(|about| about.id.contains('@')) {
        bail!("no rung of this version speaks to hosts\ntry: without --host");
    }
    for name in &asked.only {
        let one = Asked { only: vec![name.clone()], ..asked.clone() };
        let is_group = Group::ALL.iter().any(|group| group.name() == name);
        if !is_group && !abouts.iter().any(|about| rungs::wanted(about, &one)) {
            bail!("no rung or group is called {name:?}\ntry: dwell ladder --list");
        }
    }
    Ok(())
}

/// Says which rung it is at.
struct Turns(Line);

impl Listener for Turns {
    fn begins(&mut self, id: &str, turn: usize, turns: usize) {
        self.0.put(|| format!("measuring {turn} of {turns}: {}; Ctrl-C ends it", report::clean(id, false)));
    }
}

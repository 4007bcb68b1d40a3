//! `dwell ladder`: what each level of latency costs on this machine.

use crate::cli::{Colour, LadderArgs, Place};
use crate::exit;
use crate::kept;
use crate::look::{Onto, look_of};
use crate::output::{self, Target};
use anyhow::{Context, anyhow, bail};
use model::ladder::{Asked, Group};
use model::{Costs, Ladder, Seen};
use report::Look;
use rungs::Listener;
use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal};
use sys::signals::{Signals, stop_self};

/// What the terminal sends for Ctrl-Z, and for Ctrl-C and its like.
const SIGTSTP: i32 = 20;
const ENDING: [i32; 4] = [1, 2, 3, 15];

/// Measures and shows; gives the exit status.
pub(crate) fn ladder(args: &LadderArgs) -> anyhow::Result<u8> {
    let asked = Asked {
        quick: args.quick,
        only: args.only.clone(),
        dir: args.dir.as_ref().map(|dir| dir.to_string_lossy().into_owned()),
        hosts: args.host.clone(),
    };
    let look = look_of(args.width, args.color, Onto::Stdout);
    if args.list {
        output::to_stdout(report::ladder::list(&rungs::list(&asked), look))?;
        return Ok(0);
    }
    if args.kept {
        let ladder = kept::last().map_err(|missing| anyhow!("{missing}\ntry: dwell ladder"))?;
        return write(args, outputs(args)?, &ladder, look);
    }
    known(&asked)?;
    let mut signals = Signals::take_over().context("cannot take signals")?;
    let outputs = outputs(args)?;
    let (ladder, whole) = measure(&asked, &mut signals, args.quiet, look.width);
    if whole && !args.no_keep {
        kept::keep(&ladder);
    }
    write(args, outputs, &ladder, look)
}

/// What operations cost, by a quick ladder that is kept when it gets to its end; for a program that has ended.
pub(super) fn after_a_run(signals: &mut Signals, quiet: bool) -> Seen<Costs> {
    let asked = Asked { quick: true, ..Asked::default() };
    let width = look_of(None, Colour::Auto, Onto::Stderr).width;
    let (ladder, whole) = measure(&asked, signals, quiet, width);
    if !whole {
        return Seen::unseen("the ladder after the run was ended early");
    }
    kept::keep(&ladder);
    Seen::Value(analyse::ladder::costs(&ladder, "quick ladder right after the run"))
}

/// Measures until it is done or a signal ends it; and whether everything there is was measured.
fn measure(asked: &Asked, signals: &mut Signals, quiet: bool, width: u16) -> (Ladder, bool) {
    let stop = Stop { signals: RefCell::new(signals), stopped: Cell::new(false) };
    let mut progress = Progress { shown: !quiet && io::stderr().is_terminal(), width };
    let measured = rungs::measure(asked, observe::this_host(), &mut progress, &|| stop.asked());
    drop(progress);
    (analyse::ladder::ladder(&measured), asked.only.is_empty() && !measured.interrupted)
}

/// Writes what was asked for; gives the exit status.
fn write(
    args: &LadderArgs,
    outputs: Vec<(Form, Option<Target>)>,
    ladder: &Ladder,
    look: Look,
) -> anyhow::Result<u8> {
    let page = !args.quiet && !outputs.iter().any(|(_, target)| target.is_none());
    let mut failed = Vec::new();
    for (form, target) in outputs {
        let content = match form {
            Form::Json => report::ladder::json(ladder).into_bytes(),
            Form::Svg => report::ladder::svg(ladder).into_bytes(),
            Form::Png => report::ladder::png(ladder),
        };
        failed.extend(match target {
            Some(target) => target.write(content).err(),
            None => output::to_stdout(content).err(),
        });
    }
    if page {
        failed.extend(output::to_stdout(report::ladder::terminal(ladder, look)).err());
    }
    for error in &failed {
        output::complain(&format!("{error:#}"));
    }
    Ok(if failed.is_empty() { 0 } else { exit::DWELL_FAILED })
}

/// A result in another form than the page.
#[derive(Debug, Clone, Copy)]
enum Form {
    Json,
    Svg,
    Png,
}

/// What is written besides the page, open and not yet written; without a file it goes to standard output, instead of the
/// page.
fn outputs(args: &LadderArgs) -> anyhow::Result<Vec<(Form, Option<Target>)>> {
    let asked = [(Form::Json, &args.json), (Form::Svg, &args.svg), (Form::Png, &args.png)];
    let asked: Vec<_> = asked.into_iter().filter_map(|(form, place)| Some((form, place.as_ref()?))).collect();
    for (at, (_, place)) in asked.iter().enumerate() {
        // Two that go to the same device, `/dev/null` above all, do not spoil each other.
        let device = place.path().is_some_and(|path| path.exists() && !path.is_file());
        if !device && asked[..at].iter().any(|(_, other)| other == place) {
            bail!("two outputs cannot go to the same place\ntry: a file for each");
        }
    }
    let open = |place: &Place| place.path().map(Target::open).transpose();
    asked.into_iter().map(|(form, place)| Ok((form, open(place)?))).collect()
}

/// Refuses names of nothing: they would measure nothing and look like success.
fn known(asked: &Asked) -> anyhow::Result<()> {
    let abouts = rungs::list(asked);
    if asked.dir.is_some() && !abouts.iter().any(|about| about.group == Group::Files) {
        bail!("no rung of this version measures files\ntry: without --dir");
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

/// Whether somebody wants it to end.
struct Stop<'a> {
    signals: RefCell<&'a mut Signals>,
    stopped: Cell<bool>,
}

impl Stop<'_> {
    fn asked(&self) -> bool {
        while let Ok(Some(signal)) = self.signals.borrow_mut().take() {
            if ENDING.contains(&signal.number) {
                self.stopped.set(true);
            } else if signal.number == SIGTSTP {
                stop_self();
            }
        }
        self.stopped.get()
    }
}

/// A line on a terminal that says which rung it is at, and is gone when that is over.
struct Progress {
    shown: bool,
    width: u16,
}

impl Listener for Progress {
    fn begins(&mut self, id: &str, turn: usize, turns: usize) {
        if self.shown {
            let line = format!("measuring {turn} of {turns}: {}; Ctrl-C ends it", report::clean(id, false));
            let line: String = line.chars().take(usize::from(self.width).saturating_sub(1)).collect();
            output::to_stderr(&format!("\r\x1b[K{line}"));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            output::to_stderr("\r\x1b[K");
        }
    }
}

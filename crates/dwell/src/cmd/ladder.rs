//! `dwell ladder`: what each level of latency costs on this machine.

use crate::cli::{LadderArgs, Place};
use crate::look::{Onto, look_of};
use crate::output::{self, Target};
use anyhow::{Context, bail};
use model::ladder::{Asked, Group};
use rungs::Listener;
use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal};
use sys::signals::{Signals, stop_self};

/// What the terminal sends for Ctrl-Z, and for Ctrl-C and its like.
const SIGTSTP: i32 = 20;
const ENDING: [i32; 4] = [1, 2, 3, 15];

/// Measures and shows; gives the exit status.
pub(crate) fn ladder(args: &LadderArgs) -> anyhow::Result<u8> {
    let asked =
        Asked { quick: args.quick, only: args.only.clone(), dir: args.dir.clone(), hosts: args.host.clone() };
    let to_stdout = args.json == Some(Place::Stdout);
    let look = look_of(args.width, args.color, Onto::Stdout);
    if args.list {
        output::to_stdout(&report::ladder::list(&rungs::list(&asked), look))?;
        return Ok(0);
    }
    known(&asked)?;
    let signals = Signals::take_over().context("cannot take signals")?;
    let target = args.json.as_ref().and_then(Place::path).map(Target::open).transpose()?;
    let stop = Stop { signals: RefCell::new(signals), stopped: Cell::new(false) };
    let mut progress = Progress { shown: !args.quiet && io::stderr().is_terminal(), width: look.width };
    let measured = rungs::measure(&asked, observe::this_host(), &mut progress, &|| stop.asked());
    drop(progress);
    let ladder = analyse::ladder::ladder(&measured);
    if let Some(target) = target {
        target.write(&report::ladder::json(&ladder))?;
    }
    if to_stdout {
        output::to_stdout(&report::ladder::json(&ladder))?;
    } else if !args.quiet {
        output::to_stdout(&report::ladder::terminal(&ladder, look))?;
    }
    Ok(0)
}

/// Refuses names of nothing: they would measure nothing and look like success.
fn known(asked: &Asked) -> anyhow::Result<()> {
    let abouts = rungs::list(asked);
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
struct Stop {
    signals: RefCell<Signals>,
    stopped: Cell<bool>,
}

impl Stop {
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

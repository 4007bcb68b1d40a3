//! One sitting: the blocks of runs from the first, which does not count, to the last.

use super::expand::{ExpandedCommand, ExpandedCommands};
use super::first;
use super::pace::{Pace, SECOND_NS};
use crate::cli::CompareArgs;
use crate::output;
use crate::progress::ProgressLine;
use crate::stop::Stop;
use analyse::compare::commands::{CommandDescription, ComparedSitting, Comparer, pairs_min};
use anyhow::anyhow;
use model::Ns;
use model::compare::commands::{
    CompareEnd, CompareSettings, Comparison, EstimateInterval, WORDS, WORDS_OF_AMOUNTS,
};
use model::timing::TimedRun;
use report::units;
use std::ffi::OsString;
use sys::clock::{monotonic_ns, rfc3339_now};
use timings::{Block, BlockEnd, Doing, Go, Progress, Runner};

/// The exit status where a command is slower than it may be.
pub(super) const SLOWER: u8 = 1;
/// Runs of the empty program at most.
const EMPTY_MAX: usize = 200;
/// It may take this part of the time.
const EMPTY_SHARE: Ns = 20;

/// What a sitting needs to know.
#[derive(Clone, Copy)]
pub(super) struct Sitting<'a, 's> {
    pub(super) args: &'a CompareArgs,
    pub(super) made: &'a ExpandedCommands,
    pub(super) stop: &'a Stop<'s>,
    pub(super) line: &'a ProgressLine,
}

/// An error of the runner with its exit status: what failed shows its output.
pub(super) fn failed(error: timings::Error) -> anyhow::Error {
    if let Some(output) = error.output() {
        first::show(output);
    }
    anyhow::Error::from(error)
}

/// The exit status for an interval beside a share that B may be slower; none while it holds both.
pub(super) fn against(ratio: EstimateInterval, slower: f64) -> Option<u8> {
    match 1.0 + slower {
        most if ratio.hi <= most => Some(0),
        most if ratio.lo > most => Some(SLOWER),
        _ => None,
    }
}

/// The blocks that do not count.
struct WarmUp {
    /// The first, with its outputs.
    first: Block,
    /// How long that took.
    pair_ns: Ns,
    /// The runs of all.
    runs: Vec<TimedRun>,
}

/// The empty program, run now and then.
struct Empty {
    walls: Vec<Ns>,
    spent_ns: Ns,
    failed: Option<String>,
}

impl Empty {
    /// Runs it if it is due: it takes a small part of the time.
    fn run_if_due(&mut self, runner: &mut Runner, elapsed_ns: Ns, tell: &mut dyn FnMut(Progress) -> Go) {
        let due = self.walls.len() < EMPTY_MAX && self.spent_ns <= elapsed_ns / EMPTY_SHARE;
        if !due || self.failed.is_some() {
            return;
        }
        match runner.empty(tell) {
            Ok(Some(ns)) => {
                self.spent_ns += ns;
                self.walls.push(ns);
            }
            Ok(None) => {}
            Err(why) => self.failed = Some(why),
        }
    }

    fn found(self) -> Result<Vec<Ns>, String> {
        self.failed.map_or(Ok(self.walls), Err)
    }
}

impl Sitting<'_, '_> {
    /// Runs all of it. None if it was ended before there was a result.
    pub(super) fn hold(
        &self,
        runner: &mut Runner,
        asked: CompareSettings,
    ) -> anyhow::Result<Option<Comparison>> {
        let (started_at, begun_ns) = (rfc3339_now(), self.now_ns());
        for command in &self.made.setup {
            if self.once(runner, command)? == Go::Stop {
                return Ok(None);
            }
        }
        let Some(warm) = self.warm_up(runner, asked.warmup)? else { return Ok(None) };
        let commands = self.made.commands.len();
        let pair_ns = warm.pair_ns;
        let pace = Pace::of(self.args, pair_ns, commands < 2);
        let settings = CompareSettings { for_ns: pace.for_ns, ..asked };
        let needed = pairs_min(&settings, commands) as u32;
        // With a number of pairs it was said before.
        if let Some(said) = pace.too_few(pair_ns, needed).filter(|_| pace.for_ns.is_some()) {
            output::complain(&said);
        }
        let mut limits = first::differences(&warm.first, &self.made.commands);
        limits.extend(first::same_as_first(&self.made.commands).into_iter().map(|at| {
            format!("{:?} is the first command again: their difference is noise", self.made.commands[at].name)
        }));
        let mut comparer = Comparer::new(settings, commands);
        comparer.add(&warm.runs);
        let (ended, empty, lingering) = self.blocks(runner, &mut comparer, pace, pair_ns)?;
        limits.extend(lingering);
        limits.extend(self.was_stopped());
        if let Some(failing) = self.failing(&comparer) {
            output::complain(&format!(
                "{}\ntry: --prepare, if a run leaves behind what makes the next one fail; -i, if that is what \
                 it should do",
                output::clean_lines(&failing)
            ));
            limits.push(failing);
        }
        let describe = |made: &ExpandedCommand| CommandDescription {
            name: made.name.clone(),
            command: made.words.clone(),
            parameters: made.parameters.clone(),
            env: made.env.clone(),
        };
        Ok(Some(comparer.conclude(ComparedSitting {
            dwell: env!("CARGO_PKG_VERSION").to_owned(),
            host: observe::this_host(),
            started_at,
            machine: observe::machine_number(),
            commands: self.made.commands.iter().map(describe).collect(),
            empty_ns: empty.found(),
            took_ns: self.now_ns() - begun_ns,
            ended,
            limits,
        })))
    }

    /// Runs what was asked for after everything else, also if that failed.
    pub(super) fn clean_up(&self, runner: &mut Runner) -> anyhow::Result<()> {
        for command in &self.made.cleanup {
            let words: Vec<OsString> = command.iter().map(OsString::from).collect();
            // A signal has ended the comparison: what it leaves is still cleaned up.
            runner.once(&words, &mut |progress| self.show(progress, "")).map_err(failed)?;
        }
        Ok(())
    }

    fn once(&self, runner: &mut Runner, command: &[String]) -> anyhow::Result<Go> {
        let words: Vec<OsString> = command.iter().map(OsString::from).collect();
        runner.once(&words, &mut |progress| self.tell(progress, "")).map_err(failed)
    }

    /// The blocks that do not count.
    fn warm_up(&self, runner: &mut Runner, blocks: u32) -> anyhow::Result<Option<WarmUp>> {
        let stopped_ns = self.stop.stopped_ns();
        let before = |at: u32| match blocks {
            1 => "warm-up, ".to_owned(),
            _ => format!("warm-up {at} of {blocks}, "),
        };
        let Some(first) = self.first_block(runner, &before(1))? else { return Ok(None) };
        let pair_ns = length_ns(&first).saturating_sub(self.stop.stopped_ns() - stopped_ns);
        let mut runs = first.runs.clone();
        for at in 1..blocks {
            let left_ns = pair_ns.saturating_mul(Ns::from(blocks - at)).next_multiple_of(SECOND_NS);
            let before = format!("{}about {} left", before(at + 1), units::duration(left_ns));
            self.line.update(|| format!("{before}; Ctrl-C to stop"));
            let before = format!("{before}, ");
            let block = runner.block(&mut |progress| self.tell(progress, &before)).map_err(failed)?;
            if block.end != BlockEnd::Complete {
                return Ok(None);
            }
            runs.extend(block.runs);
        }
        for run in &mut runs {
            run.excluded.get_or_insert_with(|| "it warms up".to_owned());
        }
        Ok(Some(WarmUp { first, pair_ns, runs }))
    }

    /// The block whose outputs are caught. A command that fails in it, or prints no number, ends
    /// everything.
    fn first_block(&self, runner: &mut Runner, before: &str) -> anyhow::Result<Option<Block>> {
        let block = runner.block(&mut |progress| self.tell(progress, before)).map_err(failed)?;
        match block.end {
            BlockEnd::Stopped => Ok(None),
            // A terminal sends Ctrl-C to the command too, which may end with a status of its own.
            BlockEnd::Failed if self.stop.asked() => Ok(None),
            BlockEnd::Failed => Err(self.first_failed(&block, block.runs.len().saturating_sub(1))),
            BlockEnd::Complete => match block.runs.iter().position(|run| run.printed.is_empty()) {
                Some(at) if self.args.metric.is_some() => Err(self.first_failed(&block, at)),
                _ => Ok(Some(block)),
            },
        }
    }

    /// A command that failed in its first run.
    fn first_failed(&self, block: &Block, at: usize) -> anyhow::Error {
        let Some(run) = block.runs.get(at) else { return anyhow!("the first run failed") };
        if let Some(output) = block.outputs.get(at) {
            first::show(output);
        }
        let name = self.made.commands.get(run.command as usize).map_or("", |command| command.name.as_str());
        let why = match &run.excluded {
            Some(why) if run.succeeded() => format!("does not count: {why}"),
            _ => first::ended(run.ending),
        };
        let remedy = if run.succeeded() { "another --metric" } else { "-i, if that is what it should do" };
        anyhow!("{name:?} {why} in its first run, and nothing more was run\ntry: {remedy}")
    }

    /// The blocks that count. `first_ns`: how long the one before them took.
    fn blocks(
        &self,
        runner: &mut Runner,
        comparer: &mut Comparer,
        pace: Pace,
        first_ns: Ns,
    ) -> anyhow::Result<(CompareEnd, Empty, Vec<String>)> {
        let begun_ns = self.now_ns();
        let mut empty = Empty { walls: Vec::new(), spent_ns: 0, failed: None };
        let mut lingering = 0;
        let (mut pairs, mut look_at) = (0_u32, 1);
        let mut decided = false;
        let ended = loop {
            let elapsed_ns = self.now_ns() - begun_ns;
            if let Some(ended) = pace.end(pairs, elapsed_ns, decided) {
                break ended;
            }
            if self.stop.asked() {
                break CompareEnd::Signal;
            }
            empty.run_if_due(runner, elapsed_ns, &mut |progress| self.tell(progress, ""));
            let pair_ns = elapsed_ns.checked_div(Ns::from(pairs)).unwrap_or(first_ns);
            self.line.update(|| self.standing(comparer, pairs, pace.left_ns(pairs, elapsed_ns, pair_ns)));
            let before = format!("pair {}, ", pairs + 1);
            let block = runner.block(&mut |progress| self.tell(progress, &before)).map_err(failed)?;
            if block.end != BlockEnd::Complete {
                break CompareEnd::Signal;
            }
            lingering += block.lingering.len();
            comparer.add(&block.runs);
            pairs += 1;
            if comparer.failing().is_some() {
                break CompareEnd::Failed;
            }
            // Looking takes longer the more there are.
            if pairs >= look_at {
                look_at = pairs + pairs / 50 + 1;
                decided = self.is_decided(comparer);
            }
        };
        let said = match lingering {
            0 => Vec::new(),
            runs => vec![format!(
                "of {} processes still ran a second later, beside the next ones",
                units::counted(runs as u64, "run")
            )],
        };
        Ok((ended, empty, said))
    }

    /// Which command fails run after run, and how.
    fn failing(&self, comparer: &Comparer) -> Option<String> {
        let (command, runs) = comparer.failing()?;
        let name = self.made.commands.get(command as usize).map_or("", |made| made.name.as_str());
        let last = comparer.runs().iter().rev().find(|run| run.command == command)?;
        let why = last.excluded.as_deref().unwrap_or("it failed");
        Some(format!("{name:?} failed in each of its last {runs} runs ({why}), and nothing more was run"))
    }

    /// Whether nothing more is to be found out.
    fn is_decided(&self, comparer: &Comparer) -> bool {
        let Some(slower) = self.args.fail_if_slower else { return comparer.is_decided() };
        let standing = comparer.standing();
        let is_decided =
            |ratio: &Option<EstimateInterval>| ratio.is_some_and(|ratio| against(ratio, slower).is_some());
        !standing.is_empty() && standing.iter().all(|(ratio, _)| is_decided(ratio))
    }

    /// What is known so far, on one line.
    fn standing(&self, comparer: &Comparer, pairs: u32, left_ns: Option<Ns>) -> String {
        let is_time = self.args.metric.is_none() && model::timing::Figure::from(self.args.on).is_time();
        let words = if is_time { WORDS } else { WORDS_OF_AMOUNTS };
        let (names, several) = (report::compare::letters, self.made.commands.len() > 2);
        let of = |(at, (ratio, change)): (usize, (Option<EstimateInterval>, _))| {
            let name = if several { format!("{} ", names(at + 1)) } else { String::new() };
            let ratio = ratio.map_or_else(String::new, |ratio| {
                format!(" {:.3} ({:.3}-{:.3})", ratio.estimate, ratio.lo, ratio.hi)
            });
            format!("{name}{}{ratio}", words.of(change))
        };
        let standing: Vec<String> = comparer.standing().into_iter().enumerate().map(of).collect();
        let left = left_ns.map_or_else(String::new, |left| {
            format!("{} left at most: ", units::duration(left.next_multiple_of(SECOND_NS)))
        });
        format!("{left}{}, {}; Ctrl-C to stop", units::counted(u64::from(pairs), "pair"), standing.join(", "))
    }

    /// The clock, which does not go on while Ctrl-Z has stopped dwell.
    fn now_ns(&self) -> Ns {
        monotonic_ns() - self.stop.stopped_ns()
    }

    /// For how long Ctrl-Z stopped all of it, if it did.
    fn was_stopped(&self) -> Option<String> {
        let ns = self.stop.stopped_ns();
        let time = units::duration(ns);
        (ns > 0).then(|| format!("a signal stopped dwell for {time}: runs of that time do not count"))
    }

    /// Shows what is done now, and says whether to go on.
    fn tell(&self, progress: Progress, before: &str) -> Go {
        self.show(progress, before);
        let stopped_ns = self.stop.stopped_ns();
        match self.stop.asked() {
            true => Go::Stop,
            false if self.stop.stopped_ns() > stopped_ns => Go::OnAfterStop,
            false => Go::On,
        }
    }

    fn show(&self, progress: Progress, before: &str) -> Go {
        // A signal has it told earlier.
        if progress.so_far_ns >= SECOND_NS {
            let name = self.made.commands.get(progress.command).map_or("", |command| command.name.as_str());
            let doing = match progress.doing {
                Doing::Run => report::clean(name, false),
                Doing::Prepare => "--prepare".to_owned(),
                Doing::Conclude => "--conclude".to_owned(),
                Doing::Once => "--setup or --cleanup".to_owned(),
                Doing::Empty => "the empty program".to_owned(),
            };
            let so_far = units::duration(progress.so_far_ns / SECOND_NS * SECOND_NS);
            self.line.put(|| format!("{before}{doing}: {so_far}; Ctrl-C to stop"));
        }
        Go::On
    }
}

/// The time from the first run's begin to the last one's end.
fn length_ns(block: &Block) -> Ns {
    let begun = block.runs.iter().map(|run| run.began_ns).min().unwrap_or(0);
    block.runs.iter().map(|run| run.began_ns + run.wall_ns).max().unwrap_or(0).saturating_sub(begun)
}

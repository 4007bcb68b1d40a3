//! Commands that were run in alternation: what may be said of each, pair by pair and in the end.
//!
//! Each command is compared with the first, on the logarithm of the ratio of each pair. By default
//! it may be looked at after each pair; a number of pairs that was fixed beforehand has a narrower
//! interval. What is measured, and when to stop, is up to the caller.

mod needs;
mod percentiles;
mod summary;
mod watch;

use crate::identity;
use model::compare::Change;
use model::compare::commands::{
    CommandChange, CompareEnd, CompareSettings, Comparison, EstimateInterval, SCHEMA_COMPARE,
};
use model::recording::Host;
use model::timing::TimedRun;
use model::{Ns, Origin, Seen};
use watch::Watch;

/// Failures in a row after which a command is not run again: as many runs as could have decided.
const FAILURES_MAX: usize = 7;

/// Where the difference changed, and the interval holds what it was at first and over all.
const MOVED: &str = "the difference changed while it was measured: its interval holds what the first pairs \
                     have and what all of them have; it is narrower if measured again while the host is \
                     quiet, or with --warmup 20";

/// The fewest pairs that can decide, where it is looked at after each.
pub fn pairs_min(settings: &CompareSettings, commands: usize) -> usize {
    let alpha = alpha_of_each(settings, commands);
    match settings.pairs {
        Some(_) => stats::paired::pairs_min(alpha),
        None => stats::paired::Sequence::pairs_min(alpha),
    }
}

/// The error is divided among the comparisons.
fn alpha_of_each(settings: &CompareSettings, commands: usize) -> f64 {
    settings.alpha / commands.saturating_sub(1).max(1) as f64
}

/// Takes runs in and says what follows from them.
#[derive(Debug)]
pub struct Comparer {
    settings: CompareSettings,
    runs: Vec<TimedRun>,
    /// One for each command after the first.
    watches: Vec<Watch>,
}

/// What is known of a comparison beside its runs.
#[derive(Debug)]
pub struct ComparedSitting {
    /// The version of dwell.
    pub dwell: String,
    /// Where.
    pub host: Host,
    /// When it began: RFC 3339, UTC.
    pub started_at: String,
    /// The number of the machine: [`Origin::machine_number`].
    pub machine: String,
    /// Of each command its name, its words and the parameters that it was made with.
    pub commands: Vec<CommandDescription>,
    /// Walls of the empty program; or why there are none.
    pub empty_ns: Result<Vec<Ns>, String>,
    /// How long all of it took.
    pub took_ns: Ns,
    /// Why it ended.
    pub ended: CompareEnd,
    /// What the caller knows to qualify it: sentences without a full stop.
    pub limits: Vec<String>,
}

/// A command as it was given.
#[derive(Debug, Clone)]
pub struct CommandDescription {
    /// As it is called.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Names and values.
    pub parameters: Vec<(String, String)>,
    /// Variables that were asked for, in the same way.
    pub env: Vec<(String, String)>,
}

impl Comparer {
    /// None seen yet, of this many commands.
    pub fn new(settings: CompareSettings, commands: usize) -> Self {
        let alpha = alpha_of_each(&settings, commands);
        let watches = (1..commands).map(|b| Watch::new(b as u32, alpha, &settings)).collect();
        Self { settings, runs: Vec::new(), watches }
    }

    /// Adds the runs of a block.
    pub fn add(&mut self, block: &[TimedRun]) {
        self.watches.iter_mut().for_each(|watch| watch.add(block, &self.settings));
        self.runs.extend_from_slice(block);
    }

    /// The runs so far.
    pub fn runs(&self) -> &[TimedRun] {
        &self.runs
    }

    /// Whether each comparison has a verdict. One command alone, or a number of pairs that was
    /// fixed, never has.
    pub fn is_decided(&self) -> bool {
        self.settings.pairs.is_none()
            && !self.watches.is_empty()
            && self.standing().iter().all(|(_, change)| *change != Change::Undecided)
    }

    /// A command that fails run after run, so that no pair would count: its last runs failed, at
    /// least [`FAILURES_MAX`] and as many as ever succeeded. With their number.
    pub fn failing(&self) -> Option<(u32, usize)> {
        (0..=self.watches.len() as u32).find_map(|command| {
            let of = || self.runs.iter().rev().filter(move |run| run.command == command);
            let in_a_row = of().take_while(|run| self.settings.failed(run)).count();
            let fails = in_a_row >= FAILURES_MAX
                && of().filter(|run| self.settings.counts(run)).take(in_a_row + 1).count() <= in_a_row;
            fails.then_some((command, in_a_row))
        })
    }

    /// What may be said of each so far: B by A, where there is an interval, and the verdict.
    pub fn standing(&self) -> Vec<(Option<EstimateInterval>, Change)> {
        let of = |watch: &Watch| {
            let ratio = watch.ratio();
            (ratio, watch.judged(ratio))
        };
        self.watches.iter().map(of).collect()
    }

    /// All of it.
    pub fn conclude(self, sitting: ComparedSitting) -> Comparison {
        let summary = summary::Summary { settings: &self.settings, runs: &self.runs };
        let commands: Vec<_> =
            sitting.commands.iter().enumerate().map(|(at, of)| summary.command(at as u32, of)).collect();
        let floor_ns = summary::floor(sitting.empty_ns);
        let mut limits = sitting.limits;
        limits.extend(summary.limits(&commands, &floor_ns));
        let comparisons: Vec<_> = self.watches.iter().map(|watch| self.change(watch)).collect();
        if self.watches.iter().any(Watch::moved) {
            limits.push(MOVED.to_owned());
        }
        let mut comparison = Comparison {
            schema: SCHEMA_COMPARE.to_owned(),
            dwell: sitting.dwell,
            host: sitting.host,
            started_at: sitting.started_at,
            origin: Origin { id: None, machine_number: Some(sitting.machine) },
            commands,
            comparisons,
            floor_ns,
            took_ns: sitting.took_ns,
            ended: sitting.ended,
            limits,
            settings: self.settings,
            runs: self.runs,
        };
        comparison.origin.id = Some(identity::of_comparison(&comparison));
        comparison
    }

    fn change(&self, watch: &Watch) -> CommandChange {
        let ratio = watch.ratio();
        let no_verdict = watch.no_verdict(&self.runs, &self.settings);
        let verdict = if no_verdict.is_empty() { watch.judged(ratio) } else { Change::Undecided };
        let undecided = verdict == Change::Undecided && no_verdict.is_empty() && !watch.moved();
        let mut percentiles = percentiles::of(watch, &self.runs, &self.settings);
        if !no_verdict.is_empty() {
            percentiles.iter_mut().for_each(percentiles::withhold);
        }
        CommandChange {
            a: 0,
            b: watch.b,
            pairs: watch.pairs.clone(),
            ratio,
            difference: ratio.and_then(|ratio| watch.difference(ratio)),
            verdict,
            no_verdict,
            needs: if undecided { needs::pairs(watch, &self.runs, &self.settings) } else { None },
            percentiles,
            noise_floor: watch.noise_floor(),
            second_by_first: watch.second_by_first(),
            why: Seen::Absent,
            predicted: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;

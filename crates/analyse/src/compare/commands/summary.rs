//! What the runs of each command had, and what qualifies all of them.

use super::CommandDescription;
use model::compare::commands::{CompareSettings, ComparedCommand};
use model::ladder::MedianInterval;
use model::timing::{Figure, TimedRun};
use model::{Ns, Seen};
use stats::median::{median, median_of};

/// Above this share of a command's time, what starting and reaping takes is worth a warning.
const FLOOR_SHARE: f64 = 0.05;

pub(super) struct Summary<'a> {
    pub(super) settings: &'a CompareSettings,
    pub(super) runs: &'a [TimedRun],
}

impl Summary<'_> {
    pub(super) fn command(&self, command: u32, of: &CommandDescription) -> ComparedCommand {
        let all = || self.runs.iter().filter(move |run| run.command == command);
        let counted = || all().filter(|run| self.settings.counts(run));
        let middle =
            |figure: Figure| median_of(counted().filter_map(move |run| figure.of(run))).unwrap_or(0.0);
        let mut values: Vec<f64> = counted().filter_map(|run| self.settings.on.of(run)).collect();
        values.sort_unstable_by(f64::total_cmp);
        let found = median(&values);
        ComparedCommand {
            name: of.name.clone(),
            command: of.command.clone(),
            parameters: of.parameters.clone(),
            env: of.env.clone(),
            runs: counted().count() as u32,
            failed: all().filter(|run| self.settings.failed(run)).count() as u32,
            figure: found.map(|found| MedianInterval { median: found.value, lo: found.lo, hi: found.hi }),
            range: values.first().copied().zip(values.last().copied()),
            user_ns: middle(Figure::User) as Ns,
            kernel_ns: middle(Figure::Kernel) as Ns,
            memory_bytes: middle(Figure::Memory) as u64,
            memory_at_most: counted().any(|run| run.memory_at_most),
            faults: middle(Figure::Faults) as u64,
        }
    }

    pub(super) fn limits(&self, commands: &[ComparedCommand], floor: &Seen<MedianInterval>) -> Vec<String> {
        let mut limits = Vec::new();
        let shortest =
            (0..commands.len() as u32).filter_map(|command| self.wall_ns(command)).reduce(f64::min);
        if let (Seen::Value(floor), Some(shortest)) = (floor, shortest)
            && floor.median > shortest * FLOOR_SHARE
            && self.settings.on == Figure::Wall
        {
            limits.push(format!(
                "the start and end of a process take {:.1} % of the shortest command's time, and every time \
                 includes them: the ratio of the commands' own work is further from 1",
                floor.median / shortest * 100.0
            ));
        }
        let behind = self.runs.iter().filter(|run| run.left_behind > 0).count();
        if behind > 0 {
            limits.push(format!(
                "{behind} {} left processes behind, which may disturb the next",
                if behind == 1 { "run" } else { "runs" }
            ));
        }
        limits
    }

    fn wall_ns(&self, command: u32) -> Option<f64> {
        let counted = self.runs.iter().filter(|run| run.command == command && self.settings.counts(run));
        median_of(counted.map(|run| run.wall_ns as f64))
    }
}

/// The walls of the empty program as a median.
pub(super) fn floor(empty_ns: Result<Vec<Ns>, String>) -> Seen<MedianInterval> {
    let mut sorted: Vec<f64> = match empty_ns {
        Ok(walls) => walls.into_iter().map(|ns| ns as f64).collect(),
        Err(why) => return Seen::unseen(why),
    };
    sorted.sort_unstable_by(f64::total_cmp);
    match median(&sorted) {
        Some(found) => Seen::Value(MedianInterval { median: found.value, lo: found.lo, hi: found.hi }),
        None => Seen::unseen("it was not run"),
    }
}

//! The row of a run.

use crate::counters::Before;
use crate::error::by_what;
use crate::metric::Metric;
use crate::plan::IgnoredFailures;
use crate::streams::Streams;
use model::Ns;
use model::timing::TimedRun;
use sys::starter::CommandEnd;

/// Where a run belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunPosition {
    pub(crate) command: usize,
    pub(crate) block: u32,
    pub(crate) place: u32,
}

/// The row of a run that ended; `slack_bytes` are [`host::own::resident_slack_bytes`].
pub(crate) fn row(
    at: RunPosition,
    end: &CommandEnd,
    first_ns: Ns,
    before: Before,
    slack_bytes: u64,
) -> TimedRun {
    let usage = &end.end.rusage;
    let (steal_ns, others_cpu_ns) = before.since(end.wall_ns, usage.user_ns + usage.kernel_ns);
    TimedRun {
        command: at.command as u32,
        block: at.block,
        place: at.place,
        began_ns: end.started_ns.saturating_sub(first_ns),
        wall_ns: end.wall_ns,
        user_ns: usage.user_ns,
        kernel_ns: usage.kernel_ns,
        minor_faults: usage.minor_faults,
        major_faults: usage.major_faults,
        voluntary_switches: end.switches.voluntary,
        involuntary_switches: end.switches.involuntary,
        memory_bytes: usage.max_rss_bytes,
        memory_at_most: usage.max_rss_bytes <= end.starter_rss_bytes + slack_bytes,
        ending: end.end.ending,
        left_behind: end.left_behind,
        stopped: end.was_stopped,
        steal_ns,
        others_cpu_ns,
        printed: Vec::new(),
        excluded: end.was_stopped.then(|| "it was stopped by a signal for a while".to_owned()),
    }
}

/// Excludes it if it failed; whether it did.
pub(crate) fn exclude_failed(run: &mut TimedRun, ignored: &IgnoredFailures) -> bool {
    let fails = ignored.fails(&run.ending);
    if fails {
        run.excluded = Some(format!("it ended {}", by_what(&run.ending)));
    }
    fails
}

/// Takes the numbers that it printed; without one it is excluded.
pub(crate) fn take_printed(run: &mut TimedRun, metric: &Metric, streams: &Streams) {
    let Some([(out, out_is_whole), (err, err_is_whole)]) = streams.searched() else { return };
    if !out_is_whole || !err_is_whole {
        run.excluded = Some("it printed more than can be searched for a number: 64 MiB".to_owned());
        return;
    }
    match metric.numbers([out, err]) {
        Ok(numbers) => run.printed = numbers,
        // A failure is the better reason.
        Err(why) => run.excluded = Some(run.excluded.take().unwrap_or(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::recording::{Ending, Rusage};
    use sys::spawn::{ProgramEnd, Switches};

    fn end(max_rss_bytes: u64, was_stopped: bool) -> CommandEnd {
        let rusage = Rusage { max_rss_bytes, ..Rusage::default() };
        CommandEnd {
            started_ns: 1_500,
            wall_ns: 10,
            end: ProgramEnd { ending: Ending::Code(2), rusage },
            switches: Switches { voluntary: 0, involuntary: 0 },
            starter_rss_bytes: 1 << 20,
            was_stopped,
            left_behind: 0,
            left_earlier: 0,
        }
    }

    fn row_of(end: &CommandEnd) -> TimedRun {
        row(RunPosition { command: 1, block: 2, place: 0 }, end, 1_000, Before::read(Some(0)), 4096)
    }

    #[test]
    fn memory_of_the_starters_size_is_at_most() {
        let at_most = [1 << 20, (1 << 20) + 4096, (1 << 20) + 4097]
            .map(|bytes| row_of(&end(bytes, false)).memory_at_most);
        assert_eq!(at_most, [true, true, false]);
    }

    #[test]
    fn a_row_that_does_not_count_says_why() {
        let mut run = row_of(&end(0, true));
        assert_eq!(
            (run.began_ns, run.excluded.as_deref()),
            (500, Some("it was stopped by a signal for a while"))
        );
        assert!(!exclude_failed(&mut run, &IgnoredFailures::All));
        assert!(exclude_failed(&mut run, &IgnoredFailures::None));
        assert_eq!(run.excluded.as_deref(), Some("it ended with exit status 2"));
    }
}

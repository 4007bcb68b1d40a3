//! The row of a run.

use crate::counters::Before;
use crate::error::by_what;
use crate::metric::Metric;
use crate::plan::IgnoredFailures;
use crate::streams::Streams;
use model::Ns;
use model::timing::TimedRun;
use sys::starter::CommandEnd;

/// What a program of no memory can have beside the size of the process that started it: pages that
/// the child writes to between its reading and `execve(2)`.
const STARTER_SLACK_BYTES: u64 = 128 << 10;

/// Where a run belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) command: usize,
    pub(crate) block: u32,
    pub(crate) place: u32,
}

/// The row of a run that ended.
pub(crate) fn row(at: Place, end: &CommandEnd, first_ns: Ns, before: Before) -> TimedRun {
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
        memory_at_most: usage.max_rss_bytes <= end.starter_rss_bytes + STARTER_SLACK_BYTES,
        ending: end.end.ending,
        left_behind: end.left_behind,
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

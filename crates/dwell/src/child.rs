//! Other programs that a verb starts and waits for, until Ctrl-C.

use crate::stop::Stop;
use anyhow::Context;
use std::io;
use std::process::Child;
use std::time::{Duration, Instant};

/// The time that one has to end in order: as long as `dwell compare` gives the runs that it times.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often the progress of one is shown.
const TICK: Duration = Duration::from_secs(1);

/// Waits for a child; gives its exit status, none if a signal ended it. Its output is read and
/// thrown away. A signal to dwell ends it: in order, and what it started at once if that does not
/// come, and then the child itself. `tick` is called while it runs, each second at least.
pub(crate) fn wait(
    stop: &Stop<'_>,
    mut child: Child,
    tick: Option<&dyn Fn()>,
) -> anyhow::Result<Option<i32>> {
    if let Some(mut output) = child.stdout.take() {
        let read = move || io::copy(&mut output, &mut io::sink());
        std::thread::Builder::new().spawn(read).context("cannot start a thread")?;
    }
    let (mut told, mut killed) = (None::<Instant>, false);
    loop {
        // Signals first: that of an end after the look at the child is still pending then, and ends
        // the wait. Where no progress is shown, a limit of time would only be in the account of
        // whoever observes this.
        if stop.asked() && told.is_none() {
            told = Some(Instant::now());
            sys::signals::terminate(child.id());
        }
        if let Some(status) = child.try_wait().context("cannot wait for a program")? {
            return Ok(status.code());
        }
        let waited = told.map(|told| told.elapsed());
        if waited.is_some_and(|waited| waited >= PATIENCE) && !killed {
            killed = true;
            // A dwell that observes a program, or a shell, ends in order when that is gone.
            observe::targets::descendants(child.id()).into_iter().for_each(sys::signals::kill);
        }
        if waited.is_some_and(|waited| waited >= 2 * PATIENCE) {
            observe::targets::descendants(child.id()).into_iter().for_each(sys::signals::kill);
            child.kill().context("cannot end a program")?;
        }
        tick.inspect(|tick| tick());
        let due = if killed { 2 * PATIENCE } else { PATIENCE };
        let due = waited.map(|waited| due.saturating_sub(waited).max(Duration::from_millis(1)));
        stop.wait(due.or(tick.map(|_| TICK)));
    }
}

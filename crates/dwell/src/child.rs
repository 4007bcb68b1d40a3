//! Other programs that a verb starts and waits for, until Ctrl-C.

use crate::stop::Stop;
use anyhow::Context;
use std::io;
use std::process::Child;
use std::time::Duration;

/// How often a child is looked after where no signal says that it ended.
const TICK: Duration = Duration::from_secs(1);

/// Waits for a child; gives its exit status, none if a signal ended it. Its output is read and
/// thrown away. A signal to dwell ends it. `tick` is called while it runs, each second at least.
pub(crate) fn wait(stop: &Stop<'_>, mut child: Child, tick: &dyn Fn()) -> anyhow::Result<Option<i32>> {
    if let Some(mut output) = child.stdout.take() {
        let read = move || io::copy(&mut output, &mut io::sink());
        std::thread::Builder::new().spawn(read).context("cannot start a thread")?;
    }
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for a program")? {
            return Ok(status.code());
        }
        if stop.asked() && !told {
            told = true;
            sys::signals::terminate(child.id());
        }
        tick();
        stop.wait(TICK);
    }
}

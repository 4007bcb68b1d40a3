//! Other programs that a verb starts and waits for, until Ctrl-C.

use crate::stop::Stop;
use anyhow::Context;
use std::io;
use std::process::Child;

/// Waits for a child; gives its exit status, none if a signal ended it. Its output is read and
/// thrown away. A signal to dwell ends it.
pub(crate) fn wait(stop: &Stop<'_>, mut child: Child) -> anyhow::Result<Option<i32>> {
    if let Some(mut output) = child.stdout.take() {
        let read = move || io::copy(&mut output, &mut io::sink());
        std::thread::Builder::new().spawn(read).context("cannot start a thread")?;
    }
    let mut told = false;
    loop {
        // Signals first: that of an end after the look at the child is still pending then, and ends
        // the wait. A wait with a time limit would stand in the account of whoever observes this.
        if stop.asked() && !told {
            told = true;
            sys::signals::terminate(child.id());
        }
        if let Some(status) = child.try_wait().context("cannot wait for a program")? {
            return Ok(status.code());
        }
        stop.wait();
    }
}

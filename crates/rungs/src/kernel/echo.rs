//! A partner that gives back each byte it is sent, through two pipes.

use super::pinned;
use crate::Unmeasured;
use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

/// The near ends of the two pipes, and the thread at the far ends, which is gone when this is.
#[derive(Debug)]
pub(super) struct Echo {
    /// Closing it ends the partner.
    to: Option<PipeWriter>,
    from: PipeReader,
    partner: Option<JoinHandle<()>>,
}

impl Echo {
    /// Starts the partner on this CPU.
    pub(super) fn start(cpu: u32) -> Result<Self, Unmeasured> {
        let (far_from, to) = pipe().map_err(no_pipe)?;
        let (from, far_to) = pipe().map_err(no_pipe)?;
        let (tell, told) = mpsc::channel();
        let partner = Builder::new().name("dwell-echo".into()).spawn(move || {
            let pinned = pinned(cpu);
            let _ = tell.send(pinned.as_ref().map(|_| ()).map_err(Clone::clone));
            if pinned.is_ok() {
                answer(far_from, far_to);
            }
        });
        let partner =
            partner.map_err(|error| Unmeasured::Unseen(format!("a thread could not be started: {error}")))?;
        let echo = Self { to: Some(to), from, partner: Some(partner) };
        match told.recv() {
            Ok(Ok(())) => Ok(echo),
            Ok(Err(why)) => Err(why),
            Err(_) => Err(Unmeasured::Unseen("a thread ended before it started".into())),
        }
    }

    /// Sends a byte and waits for its return, `ops` times.
    pub(super) fn round_trips(&mut self, count: u64) -> Result<(), Unmeasured> {
        let Some(to) = &mut self.to else { return Ok(()) };
        let mut byte = [0];
        for _ in 0..count {
            to.write_all(&byte).and_then(|()| self.from.read_exact(&mut byte)).map_err(no_pipe)?;
        }
        Ok(())
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.to = None;
        if let Some(partner) = self.partner.take() {
            // It cannot have failed in a way that matters now.
            let _ = partner.join();
        }
    }
}

fn answer(mut from: PipeReader, mut to: PipeWriter) {
    let mut byte = [0];
    while from.read_exact(&mut byte).is_ok() && to.write_all(&byte).is_ok() {}
}

/// The calls of a round trip, all by one thread that never waits: two writes and two reads.
#[derive(Debug)]
pub(super) struct Alone(PipeReader, PipeWriter);

impl Alone {
    pub(super) fn new() -> Result<Self, Unmeasured> {
        pipe().map(|(from, to)| Self(from, to)).map_err(no_pipe)
    }

    /// The system calls of `ops` round trips.
    pub(super) fn round_trips(&mut self, count: u64) -> Result<(), Unmeasured> {
        let mut byte = [0];
        for _ in 0..count * 2 {
            self.1.write_all(&byte).and_then(|()| self.0.read_exact(&mut byte)).map_err(no_pipe)?;
        }
        Ok(())
    }
}

fn no_pipe(error: io::Error) -> Unmeasured {
    Unmeasured::Unseen(format!("a pipe could not be used: {error}"))
}

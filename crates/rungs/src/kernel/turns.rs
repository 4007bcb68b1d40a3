//! A partner that takes turns over a number in memory, waiting for its turn in the kernel: a futex.

use super::pinned;
use crate::Unmeasured;
use rustix::thread::futex::{Flags, wait, wake};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{Builder, JoinHandle};

const MINE: u32 = 0;
const PARTNERS: u32 = 1;
const OVER: u32 = 2;

/// The number, and the thread that takes turns with us, which is gone when this is.
#[derive(Debug)]
pub(super) struct Turns {
    whose: Arc<AtomicU32>,
    partner: Option<JoinHandle<()>>,
}

impl Turns {
    /// Starts the partner on this CPU.
    pub(super) fn start(cpu: u32) -> Result<Self, Unmeasured> {
        let whose = Arc::new(AtomicU32::new(MINE));
        let shared = Arc::clone(&whose);
        let (tell, told) = mpsc::channel();
        let partner = Builder::new().name("dwell-turns".into()).spawn(move || {
            let pinned = pinned(cpu);
            let _ = tell.send(pinned.as_ref().map(|_| ()).map_err(Clone::clone));
            while pinned.is_ok() && await_turn(&shared, MINE) != OVER {
                give(&shared, MINE);
            }
        });
        let partner =
            partner.map_err(|error| Unmeasured::Unseen(format!("a thread could not be started: {error}")))?;
        let turns = Self { whose, partner: Some(partner) };
        match told.recv() {
            Ok(Ok(())) => Ok(turns),
            Ok(Err(why)) => Err(why),
            Err(_) => Err(Unmeasured::Unseen("a thread ended before it started".into())),
        }
    }

    /// Passes the turn and waits for its return, `ops` times.
    pub(super) fn round_trips(&self, count: u64) {
        for _ in 0..count {
            give(&self.whose, PARTNERS);
            await_turn(&self.whose, PARTNERS);
        }
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        give(&self.whose, OVER);
        if let Some(partner) = self.partner.take() {
            // It cannot have failed in a way that matters now.
            let _ = partner.join();
        }
    }
}

fn give(whose: &AtomicU32, to: u32) {
    whose.store(to, Ordering::Release);
    // A wake-up without a waiter is no error.
    let _ = wake(whose, Flags::PRIVATE, 1);
}

/// Waits for as long as it is the other's turn; says whose it is then.
fn await_turn(whose: &AtomicU32, others: u32) -> u32 {
    loop {
        let now = whose.load(Ordering::Acquire);
        if now != others {
            return now;
        }
        // Returns at once if the word has changed, or after a signal: the loop checks the word.
        let _ = wait(whose, Flags::PRIVATE, others, None);
    }
}

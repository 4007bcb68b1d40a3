//! The loop that sends: takes the lease on a batch, sends it, settles what became of it, and makes
//! new batches as long as the far end takes them.
//!
//! The store is opened for each step and closed again, so that nobody who writes to it waits for
//! the network.

use super::make::Maker;
use crate::cmd::named::changed;
use crate::keep::ResultStore;
use send::{Answer, pause};
use std::collections::BTreeMap;
use std::time::Duration;
use store::results::{Batch, Destination, Item, Lease, NewBatch, Refusal, Sent};

/// A batch has no more results and, but for a single one, no more bytes than these.
const BATCH_RESULTS: usize = 100;
const BATCH_BYTES: usize = 1 << 20;
/// Batches that wait: while a far end is down, no more of the store is put into them.
const BATCHES: u64 = 8;
/// From how many failures on the results of a batch are sent one by one: one of them may be what
/// makes the far end fail.
const ALONE: u32 = 5;
/// How often a single result may fail at a far end that takes others.
const TRIES: u32 = 20;
/// The longest sleep: who has the lease that is waited for may be done earlier.
const NAP_MS: u64 = 1_000;

/// A far end.
pub(super) trait Far {
    /// Whether several results go in one request.
    fn takes_many(&self) -> bool;

    /// Sends a part of results, and says what became of it.
    fn send(&mut self, part: &str, items: &[Item], within: Duration) -> Answer;
}

/// The time, which tests have of their own.
pub(super) trait Clock {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;
    /// Passes time.
    fn sleep(&self, ms: u64);
}

/// The clock of the host.
pub(super) struct HostClock;

impl Clock for HostClock {
    fn now_ms(&self) -> u64 {
        now_ms()
    }

    fn sleep(&self, ms: u64) {
        std::thread::sleep(Duration::from_millis(ms));
    }
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let (s, ns) = sys::clock::unix_time();
    s * 1000 + u64::from(ns) / 1_000_000
}

/// What one push did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pushed {
    /// Results of which the last part was taken.
    pub(super) sent: u64,
    /// What was sent and taken.
    pub(super) bytes: u64,
    /// Results of which a part was refused.
    pub(super) refused: u64,
    /// What of accepted requests was refused.
    pub(super) rejected: u64,
}

/// A destination that is sent to.
pub(super) struct Pusher<'a> {
    keeper: &'a ResultStore,
    maker: &'a Maker<'a>,
    far: &'a mut dyn Far,
    clock: &'a dyn Clock,
    timeout: Duration,
    name: String,
    id: i64,
}

/// How to go on after a batch, or a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// With the next one.
    Goes,
    /// With another batch, after a pause.
    Pauses,
    /// Not at all.
    Ends,
}

impl<'a> Pusher<'a> {
    pub(super) fn new(
        keeper: &'a ResultStore,
        maker: &'a Maker<'a>,
        far: &'a mut dyn Far,
        clock: &'a dyn Clock,
        timeout: Duration,
        name: String,
    ) -> anyhow::Result<Self> {
        let id = changed(keeper, |store| Ok(store.destination(&name)?))?.id;
        Ok(Self { keeper, maker, far, clock, timeout, name, id })
    }

    /// Where it is now.
    pub(super) fn destination(&self) -> anyhow::Result<Destination> {
        let name = &self.name;
        changed(self.keeper, |store| Ok(store.destination(name)?))
    }

    /// Sends what is not there, for at most this time.
    ///
    /// # Errors
    /// The store fails.
    pub(super) fn push(&mut self, length: Duration) -> anyhow::Result<Pushed> {
        let before = self.destination()?;
        let until = self.clock.now_ms().saturating_add(in_ms(length));
        let mut bytes = 0;
        while self.clock.now_ms() < until {
            match self.next()? {
                Lease::Batch(batch) => {
                    if self.deliver(&batch, until, &mut bytes)? == Next::Ends {
                        break;
                    }
                }
                Lease::Wait(at) if at >= until => break,
                Lease::Wait(at) => {
                    let wait = at.saturating_sub(self.clock.now_ms());
                    self.clock.sleep(wait.clamp(1, NAP_MS));
                }
                Lease::Nothing => break,
            }
        }
        let after = self.destination()?;
        Ok(Pushed {
            sent: after.sent.saturating_sub(before.sent),
            bytes,
            refused: after.refused.saturating_sub(before.refused),
            rejected: after.rejected.saturating_sub(before.rejected),
        })
    }

    /// What to send next: what never failed, else what is in no batch yet, else what failed.
    fn next(&self) -> anyhow::Result<Lease> {
        loop {
            match self.lease(true)? {
                Lease::Nothing => {}
                lease => return Ok(lease),
            }
            let to = self.destination()?;
            if to.batches >= BATCHES || to.unsent == to.waiting {
                return self.lease(false);
            }
            self.seal(&to)?;
        }
    }

    fn lease(&self, fresh: bool) -> anyhow::Result<Lease> {
        let (now, lease) = (self.clock.now_ms(), self.lease_ms());
        let id = self.id;
        changed(self.keeper, |store| Ok(store.lease(id, fresh, now, lease)?))
    }

    /// Longer than any request.
    fn lease_ms(&self) -> u64 {
        in_ms(self.timeout).saturating_mul(2).saturating_add(200)
    }

    /// Puts the next results into batches, one for each part.
    fn seal(&self, to: &Destination) -> anyhow::Result<()> {
        let rows = changed(self.keeper, |store| Ok(store.unsealed(to.sealed_to, BATCH_RESULTS)?))?;
        let now = self.clock.now_ms();
        let (mut last, mut bytes) = (to.sealed_to, 0);
        let mut parts = BTreeMap::<&'static str, NewBatch>::new();
        let mut unfit = Vec::new();
        for row in &rows {
            match self.maker.make(row)? {
                Ok(items) => {
                    for (part, item) in items {
                        bytes += item.content.len();
                        let of_part = || NewBatch { part, items: Vec::new() };
                        parts.entry(part).or_insert_with(of_part).items.push(item);
                    }
                }
                Err(why) => {
                    let (result, part) = (row.id.clone(), String::new());
                    unfit.push(Refusal { at_ms: now, result, part, why });
                }
            }
            last = row.seq;
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        let order = self.maker.form.parts();
        let batches: Vec<NewBatch> = order.iter().filter_map(|part| parts.remove(part)).collect();
        changed(self.keeper, |store| Ok(store.seal(to, last, &batches, &unfit, now)?))?;
        Ok(())
    }

    /// Sends a batch.
    fn deliver(&mut self, batch: &Batch, until: u64, bytes: &mut u64) -> anyhow::Result<Next> {
        let at_once = if self.far.takes_many() && batch.tries < ALONE { batch.items.len() } else { 1 };
        for items in batch.items.chunks(at_once.max(1)) {
            match self.offer(batch, items, until, bytes)? {
                Next::Goes => {}
                next => return Ok(next),
            }
        }
        Ok(Next::Goes)
    }

    /// Sends items together, and halves of them where they are refused: one may be the reason.
    fn offer(&mut self, batch: &Batch, items: &[Item], until: u64, bytes: &mut u64) -> anyhow::Result<Next> {
        let left = Duration::from_millis(until.saturating_sub(self.clock.now_ms()));
        if left.is_zero() {
            return self.release(batch);
        }
        match self.far.send(&batch.part, items, self.timeout.min(left)) {
            Answer::Accepted { rejected, why } => {
                *bytes += items.iter().map(|item| item.content.len() as u64).sum::<u64>();
                self.settle(batch, items, Sent::Accepted(rejected, &why))?;
                Ok(Next::Goes)
            }
            Answer::Refused(_) if items.len() > 1 => {
                let (first, second) = items.split_at(items.len() / 2);
                match self.offer(batch, first, until, bytes)? {
                    Next::Goes => self.offer(batch, second, until, bytes),
                    next => Ok(next),
                }
            }
            Answer::Refused(why) => {
                self.settle(batch, items, Sent::Refused(&why))?;
                Ok(Next::Goes)
            }
            // The time that it had was not its own.
            Answer::Later { .. } if self.clock.now_ms() >= until => self.release(batch),
            Answer::Later { why, after } => {
                let to = self.destination()?;
                if let ([_], true) = (items, batch.tries >= TRIES && to.accepted_ms > batch.sealed_ms) {
                    let why = format!("given up after {} tries: {why}", batch.tries.saturating_add(1));
                    self.settle(batch, items, Sent::Refused(&why))?;
                }
                let pause = pause(to.failures.saturating_add(1), &batch.id, after);
                self.postpone(batch, pause, &why)?;
                Ok(Next::Pauses)
            }
            Answer::Stop(why) => {
                self.postpone(batch, Duration::ZERO, &why)?;
                Ok(Next::Ends)
            }
        }
    }

    /// Leaves a batch to others, at the end of the time.
    fn release(&self, batch: &Batch) -> anyhow::Result<Next> {
        changed(self.keeper, |store| Ok(store.release(batch)?))?;
        Ok(Next::Ends)
    }

    fn settle(&self, batch: &Batch, items: &[Item], sent: Sent<'_>) -> anyhow::Result<()> {
        let (id, now) = (self.id, self.clock.now_ms());
        let leased = now + self.lease_ms();
        changed(self.keeper, |store| Ok(store.settle(id, batch, items, sent, now, leased)?))
    }

    fn postpone(&self, batch: &Batch, pause: Duration, why: &str) -> anyhow::Result<()> {
        let (id, due) = (self.id, self.clock.now_ms() + in_ms(pause));
        changed(self.keeper, |store| Ok(store.postpone(id, batch, due, why)?))
    }
}

fn in_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;

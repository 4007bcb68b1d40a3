//! Who had what a thread waited for when a time limit ended its wait, and what that was.
//!
//! A thread that takes CPython's lock gives up after 5 ms, says that it wants the lock, and waits
//! again: who then wakes it had the lock all along. One that polls a pipe for 100 ms at a time,
//! comes back at once and is then woken by what was written to it waited for the pipe all along.

use super::limited::{LimitedWait, is_of_several};
use super::tree::Tree;
use crate::account::{CompletedWait, Ends, Slot};
use crate::keys::{CallKey, ReasonKey, TargetKey, WaitKey, WakerKey};
use model::wait::TargetKind;
use model::{Ns, State};

/// Futexes that are no farther apart are of one lock: a condition variable has two.
const APART: u64 = 64;

/// A thread that has had a CPU for longer than this has what it waited for.
const WORKED: Ns = 200_000;

/// One that has had a CPU for less than this did nothing but look, and wait again.
const AT_ONCE: Ns = 20_000;

impl Tree {
    /// A thread's wait ended; `running`: the thread of the tree that ended it.
    pub(super) fn limited(&mut self, slot: Slot, begin: Ns, ended: CompletedWait, running: Option<Slot>) {
        let ReasonKey::Wait(_, target) = ended.wait.1 else { return };
        let thread = self.get_mut(slot);
        let pid = thread.pid;
        let cpu_ns = thread.states.sum(State::on_cpu);
        // It got what it waited for if it has worked since.
        let ran_ns = cpu_ns.saturating_sub(thread.limited.cpu_ns);
        let worked = ran_ns > WORKED;
        let again = thread.limited.last.replace(ended.wait) == Some(ended.wait) && ran_ns < AT_ONCE;
        let polls =
            |wait: &LimitedWait| is_of_several(wait.wait) && call_of(wait.wait) == call_of(ended.wait);
        let goes_on = match target {
            TargetKey::TimedFutex(_) | TargetKey::Futex(_) => true,
            _ => thread.limited.waits.iter().any(polls),
        };
        if worked || !goes_on {
            thread.limited.waits.clear();
        }
        thread.limited.cpu_ns = cpu_ns;
        match target {
            TargetKey::TimedFutex(futex) => thread.limited.add(begin, futex, ended),
            TargetKey::TimeLimitOrTimer => thread.limited.add(begin, 0, ended),
            // Who wakes a loop of its own process tells it something, and is not what it waits for.
            _ if is_an_object(target) && !matches!(ended.by, WakerKey::Thread(who) if who.pid == pid) => {
                let waits = std::mem::take(&mut thread.limited.waits);
                for LimitedWait { wait, ns, .. } in waits.iter().filter(|wait| polls(wait)) {
                    self.ledgers.waits.turned_out(*wait, ended.thread, ended.wait, *ns);
                }
            }
            TargetKey::Futex(futex) if matches!(ended.by, WakerKey::Thread(_) | WakerKey::Outside(_)) => {
                let waits = std::mem::take(&mut thread.limited.waits);
                self.held(&waits, futex, begin, ended, running);
            }
            _ => {}
        }
        if again {
            self.ledgers.waits.again(ended.wait, ended.thread);
        }
    }

    /// What limits ended on this futex was for what this thread had, which has just given it away.
    fn held(
        &mut self,
        waits: &[LimitedWait],
        futex: u64,
        begin: Ns,
        ended: CompletedWait,
        holder: Option<Slot>,
    ) {
        let on_it = || waits.iter().filter(|wait| wait.futex.abs_diff(futex) <= APART);
        let all_ns: Ns = on_it().map(|wait| wait.ns).sum();
        let since = on_it().map(|wait| wait.since).min().unwrap_or(begin);
        // What it did since this last wait began counts with that.
        let did = holder.map(|holder| self.did_since(holder, since).without(self.did_since(holder, begin)));
        for LimitedWait { wait, times, ns, .. } in on_it() {
            let holder = did.map(|did| did.part(*ns, all_ns)).unwrap_or_default();
            let ends = Ends { times: *times, ns: *ns, holder };
            self.ledgers.waits.held(*wait, ended.thread, ended.by, ends);
        }
    }
}

/// Where such a wait was.
fn call_of((_, reason): WaitKey) -> Option<CallKey> {
    match reason {
        ReasonKey::Wait(call, _) => Some(call),
        _ => None,
    }
}

/// Whether it says which of several polled things became ready.
fn is_an_object(target: TargetKey) -> bool {
    matches!(
        target,
        TargetKey::Tcp(_)
            | TargetKey::Udp(_)
            | TargetKey::Answer(_)
            | TargetKey::Local(_)
            | TargetKey::Named(TargetKind::Pipe | TargetKind::Tty, _)
            | TargetKey::Nameless(TargetKind::Pipe | TargetKind::Tty | TargetKind::Unix)
    )
}

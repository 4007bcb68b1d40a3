//! Time that a thread let pass while others of the tree worked: on the path it is their work.
//!
//! A sleep, or a wait that its time limit ended, is booked as what others did meanwhile for as long
//! as any was under way (`cover`); what each did is not known when the sleep ends,
//! since a running thread's time is booked later. So the path has a placeholder for it, and at the
//! close the ledger of the whole tree says what went on in that slice of time.

use super::activity::{Activity, ActivityId, Slot};
use super::layers::Key;
use super::ledgers::Ledgers;
use super::path::Amount;
use super::progress_clock::{Progress, ProgressTimes};
use crate::keys::ReasonKey;
use model::run::TimedWaits;
use model::{Ns, State};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What one thread let pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Passed(TimedWaits);

impl Passed {
    pub(crate) fn add(&mut self, ns: Ns, covered: ProgressTimes) {
        self.0.times += 1;
        self.0.total_ns += ns;
        self.0.others_on_cpu_ns += covered.of(Progress::OnCpu);
        self.0.others_runnable_ns += covered.of(Progress::Runnable);
        self.0.others_waiting_ns += covered.of(Progress::Outside);
    }

    /// As a row of the table of threads has it.
    pub(super) fn row(self) -> Option<TimedWaits> {
        (self.0.times > 0).then_some(self.0)
    }
}

/// What stands on the path of a sleeping thread for what others did; `wait` is what it did.
pub(crate) fn placeholder(thread: Slot, progress: Progress, wait: ActivityId) -> Activity {
    let state = match progress {
        Progress::OnCpu => State::User,
        Progress::Runnable => State::Runqueue,
        Progress::Outside => State::Disk,
    };
    Activity::seen(thread, state, ReasonKey::Meanwhile(wait))
}

/// Whether a thread's activity is of this progress.
fn is_of(state: State, placeholder: State) -> bool {
    match placeholder {
        State::User => state.on_cpu(),
        State::Runqueue => matches!(state, State::Runqueue | State::Throttled),
        _ => matches!(state, State::Disk | State::Network),
    }
}

/// Activities of the tree in each slice, in the order of their numbers.
type Slices = BTreeMap<u32, Vec<(ActivityId, Amount)>>;

/// These entries with each placeholder replaced by what the other threads did in the time that the
/// thread let pass, in proportion. What none of them is known to have done was a sleep.
///
/// The path has a wait's placeholders spread over all of it; the others may have worked in a part
/// only. So each slice of the wait gets what they did there, within what they did in all.
pub(crate) fn resolved(entries: Vec<(Key, Amount)>, ledgers: &Ledgers) -> Vec<(Key, Amount)> {
    let reason = |key: &Key| ledgers.activities.get(key.activity).reason;
    let passed = |key: &Key| match reason(key) {
        ReasonKey::Meanwhile(wait) => Some(wait),
        _ => None,
    };
    let waits: BTreeSet<ActivityId> = entries.iter().filter_map(|(key, _)| passed(key)).collect();
    if waits.is_empty() {
        return entries;
    }
    let mut resolved = FxHashMap::default();
    let mut let_pass = BTreeMap::<ActivityId, LetPass>::new();
    for (key, amount) in entries {
        match passed(&key).or_else(|| waits.contains(&key.activity).then_some(key.activity)) {
            Some(wait) => let_pass.entry(wait).or_default().add(key, amount, wait),
            None => add(&mut resolved, key, amount),
        }
    }
    let slices = slices(ledgers);
    for (wait, let_pass) in let_pass {
        let_pass.resolve(wait, &slices, ledgers, &mut resolved);
    }
    resolved.into_iter().collect()
}

/// What one thread let pass in waits of one kind.
#[derive(Default)]
struct LetPass {
    /// All of it, by slice.
    whole: BTreeMap<u32, Amount>,
    /// The placeholders with their time in all.
    others: BTreeMap<ActivityId, Ns>,
}

impl LetPass {
    fn add(&mut self, key: Key, amount: Amount, wait: ActivityId) {
        *self.whole.entry(key.slice).or_default() += amount;
        if key.activity != wait {
            *self.others.entry(key.activity).or_default() += amount.ns;
        }
    }

    fn resolve(
        mut self,
        wait: ActivityId,
        slices: &Slices,
        ledgers: &Ledgers,
        resolved: &mut FxHashMap<Key, Amount>,
    ) {
        // The kinds of work in their order: what counts first takes its room first.
        let mut placeholders: Vec<_> = std::mem::take(&mut self.others).into_iter().collect();
        placeholders.sort_by_key(|(id, _)| order(ledgers.activities.get(*id).state));
        for (id, ns) in placeholders {
            let placeholder = ledgers.activities.get(id);
            let worked: Vec<_> = self
                .whole
                .iter()
                .map(|(slice, amount)| {
                    let others = others(slices, ledgers, &placeholder, *slice);
                    let did_ns = others.iter().map(|(_, amount)| amount.ns).sum::<Ns>().min(amount.ns);
                    (*slice, did_ns, others)
                })
                .collect();
            let mut left_ns: Ns = worked.iter().map(|(_, did_ns, _)| did_ns).sum();
            let mut ns = ns.min(left_ns);
            for (slice, did_ns, others) in worked {
                let part_ns = proportion(ns, did_ns, left_ns);
                (ns, left_ns) = (ns - part_ns, left_ns - did_ns);
                for (activity, part) in shares(part_ns, &others) {
                    add(resolved, Key { activity, slice }, part);
                }
                if let Some(whole) = self.whole.get_mut(&slice) {
                    whole.ns -= part_ns;
                }
            }
        }
        for (slice, rest) in self.whole {
            if rest.ns > 0 {
                add(resolved, Key { activity: wait, slice }, rest);
            }
        }
    }
}

/// The place of a placeholder's kind of work (`Progress`).
fn order(state: State) -> u8 {
    match state {
        State::User => 0,
        State::Runqueue => 1,
        _ => 2,
    }
}

/// `ns * part / whole`.
fn proportion(ns: Ns, part: Ns, whole: Ns) -> Ns {
    (u128::from(ns) * u128::from(part)).checked_div(u128::from(whole)).unwrap_or(0) as Ns
}

fn add(entries: &mut FxHashMap<Key, Amount>, key: Key, amount: Amount) {
    *entries.entry(key).or_default() += amount;
}

fn slices(ledgers: &Ledgers) -> Slices {
    let mut slices = Slices::new();
    for (key, amount) in ledgers.whole_tree.entries(ledgers.slicing) {
        slices.entry(key.slice).or_default().push((key.activity, amount));
    }
    slices.values_mut().for_each(|activities| activities.sort_unstable_by_key(|(id, _)| *id));
    slices
}

/// What other threads did in the slice that the placeholder can stand for.
fn others(
    slices: &Slices,
    ledgers: &Ledgers,
    placeholder: &Activity,
    slice: u32,
) -> Vec<(ActivityId, Amount)> {
    let fits = |(id, amount): &&(ActivityId, Amount)| {
        let activity = ledgers.activities.get(*id);
        amount.ns > 0 && activity.thread != placeholder.thread && is_of(activity.state, placeholder.state)
    };
    slices.get(&slice).into_iter().flatten().filter(fits).copied().collect()
}

/// `ns` divided in proportion to what each had; the sum is exact. Samples are divided with it, as
/// many as belong to the part.
fn shares(ns: Ns, others: &[(ActivityId, Amount)]) -> Vec<(ActivityId, Amount)> {
    let mut left: u128 = others.iter().map(|(_, amount)| u128::from(amount.ns)).sum();
    let mut rest = ns;
    let share = |(id, amount): &(ActivityId, Amount)| {
        let part = (u128::from(rest) * u128::from(amount.ns)).checked_div(left).unwrap_or(0) as Ns;
        (rest, left) = (rest - part, left - u128::from(amount.ns));
        let scaled = |of: u64| scaled(of, part, amount.ns);
        let samples = amount.samples.map(|samples| scaled(samples.into()) as u32);
        (*id, Amount { ns: part, count: scaled(amount.count), samples })
    };
    others.iter().map(share).filter(|(_, part)| part.ns > 0).collect()
}

/// As many of them as belong to a part of the time; one at least, if there are any.
fn scaled(of: u64, part: Ns, whole: Ns) -> u64 {
    proportion(of, part, whole).max(of.min(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{Interval, Path, Slicing};

    fn ledgers() -> Ledgers {
        let mut slicing = Slicing::fine(0);
        slicing.fit(1000);
        Ledgers::new(slicing)
    }

    fn on_cpu(ledgers: &mut Ledgers, thread: Slot, from: Ns, to: Ns) {
        let activity = Activity::seen(thread, State::User, ReasonKey::None);
        let id = ledgers.activities.id(activity);
        let slicing = ledgers.slicing;
        ledgers.whole_tree.add(slicing, from, to, &[], id, false);
    }

    const SLEEPER: Slot = 3;

    fn slept(ledgers: &mut Ledgers, progress: Progress, ns: Ns) -> Vec<(Key, Amount)> {
        let mut path = Path::default();
        let sleep = ledgers.activities.id(Activity::seen(SLEEPER, State::Sleep, ReasonKey::None));
        let activity = placeholder(SLEEPER, progress, sleep);
        ledgers.charge(&mut path, &Interval { activity, from: 0, to: ns }, true);
        path.entries(ledgers.slicing)
    }

    fn by_thread(entries: &[(Key, Amount)], ledgers: &Ledgers) -> BTreeMap<(Slot, State), Ns> {
        let mut sums = BTreeMap::new();
        for (key, amount) in entries {
            let activity = ledgers.activities.get(key.activity);
            *sums.entry((activity.thread, activity.state)).or_insert(0) += amount.ns;
        }
        sums
    }

    #[test]
    fn a_sleep_is_divided_by_what_the_others_did_and_not_by_its_own_thread() {
        let mut ledgers = ledgers();
        on_cpu(&mut ledgers, 1, 0, 600);
        on_cpu(&mut ledgers, 2, 0, 300);
        on_cpu(&mut ledgers, SLEEPER, 0, 900);
        let entries = slept(&mut ledgers, Progress::OnCpu, 91);
        let sums = by_thread(&resolved(entries, &ledgers), &ledgers);
        assert_eq!(sums.values().sum::<Ns>(), 91);
        assert_eq!((sums[&(1, State::User)], sums[&(2, State::User)]), (60, 31));
    }

    #[test]
    fn a_sleep_in_which_nobody_was_seen_to_do_that_is_a_sleep() {
        let mut ledgers = ledgers();
        on_cpu(&mut ledgers, 1, 0, 600);
        let entries = slept(&mut ledgers, Progress::Outside, 50);
        let sums = by_thread(&resolved(entries, &ledgers), &ledgers);
        assert_eq!(sums, BTreeMap::from([((SLEEPER, State::Sleep), 50)]));
    }

    #[test]
    fn others_do_no_more_than_they_did() {
        let mut ledgers = ledgers();
        on_cpu(&mut ledgers, 1, 0, 20);
        let entries = slept(&mut ledgers, Progress::OnCpu, 50);
        let sums = by_thread(&resolved(entries, &ledgers), &ledgers);
        assert_eq!(sums, BTreeMap::from([((1, State::User), 20), ((SLEEPER, State::Sleep), 30)]));
    }

    /// The first quarter of the wait is in slices of its own.
    #[test]
    fn work_in_a_part_of_a_wait_is_all_of_it_on_the_path() {
        let mut ledgers = ledgers();
        on_cpu(&mut ledgers, 1, 0, 250);
        let mut path = Path::default();
        let sleep = ledgers.activities.id(Activity::seen(SLEEPER, State::Sleep, ReasonKey::None));
        let worked = ledgers.activities.id(placeholder(SLEEPER, Progress::OnCpu, sleep));
        path.add(ledgers.slicing, 0, 1000, &[(worked, 250, 0)], sleep, true);
        let entries = resolved(path.entries(ledgers.slicing), &ledgers);
        let sums = by_thread(&entries, &ledgers);
        assert_eq!(sums, BTreeMap::from([((1, State::User), 250), ((SLEEPER, State::Sleep), 750)]));
        let early = |key: &Key| ledgers.activities.get(key.activity).thread == 1;
        let last = |which: &dyn Fn(&Key) -> bool| {
            entries.iter().filter(|(key, _)| which(key)).map(|(key, _)| key.slice).max().unwrap()
        };
        assert!(last(&early) <= last(&|_| true) / 4, "{entries:?}");
    }

    #[test]
    fn counts_and_samples_go_along_in_proportion() {
        let mut amount = Amount { ns: 100, count: 3, ..Amount::default() };
        amount.samples[0] = 10;
        let parts = shares(50, &[(7, amount)]);
        assert_eq!((parts[0].1.ns, parts[0].1.samples[0], parts[0].1.count), (50, 5, 1));
        assert_eq!((scaled(0, 50, 100), scaled(1, 1, 100)), (0, 1));
    }
}

//! What tracing calls may cost: all are traced until the cost passes the bound, then slices of
//! time.
//!
//! Between slices the two programs are really detached, since an attached one costs a call some 65
//! ns even if it does nothing. How long a pause must be follows from what the last slice cost, so
//! busy stretches are paused for longer than quiet ones, and slices are no even sample of the run.
//! So each pause is filled from the slice behind it, whose beginning does not depend on what it
//! will see; a slice that goes on from another without a pause stands for itself alone. What was
//! counted is kept as sums, from which the analysis estimates what there was in all.
//!
//! Tracing itself takes time within a slice, and the program does the less in it. That is taken
//! off, so its cost must be known: in the first slice, which counts for nothing else, the kernel
//! times the two programs.
//!
//! Switches and wake-ups are always traced: the account is made of them.

use crate::settings::MaxOverhead;
use model::recording::{Sliced, SlicedCall};
use model::{Call, CallStats, Ns};
use std::collections::BTreeMap;

/// Cost that no program is spared: below it everything is exact. 25,000 calls.
const FREE_NS: Ns = 5_000_000;
/// How long a slice is, of the tree's time on a CPU. Attaching and detaching takes some
/// milliseconds, of the reader and (two interrupts) of all CPUs.
const SLICE_NS: Ns = 5_000_000;
/// A slice in which the tree does little ends all the same.
const SLICE_NS_MAX: Ns = 50_000_000;
/// Between two checks whether a slice is over.
const LOOK_NS: Ns = 2_000_000;
/// The longest pause, so that a program that changes is noticed, and slices are many enough to tell
/// their spread.
const PAUSE_NS_MAX: Ns = 500_000_000;
/// Of the bound, what tracing calls may use: attaching and detaching have the rest.
const USED: f64 = 0.7;
/// What each instrument costs a time, within what [`super::Bpf::cost`] says; of a call towards the
/// upper end, so that the bound holds where calls are dear.
const CALL_NS: Ns = 200;
const SWITCH_NS: Ns = 150;
const WAKE_NS: Ns = 150;
const SAMPLE_NS: Ns = 2000;

/// Runs of each instrument, up to now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) calls: u64,
    pub(super) switches: u64,
    pub(super) wakes: u64,
    pub(super) samples: u64,
}

impl Ran {
    /// What is always paid.
    fn fixed_ns(self) -> Ns {
        self.switches * SWITCH_NS + self.wakes * WAKE_NS + self.samples * SAMPLE_NS
    }
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Detach the programs of calls.
    Off,
    /// Attach them.
    On,
    /// Attach them, and let the kernel time them until they are detached.
    OnTimed,
}

/// What tracing one call costs the program, in nanoseconds: about, at least and at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CallCost {
    pub(super) ns: f64,
    pub(super) lo_ns: f64,
    pub(super) hi_ns: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// All calls are traced.
    Exact,
    /// None are, until then.
    Off { until: Ns },
    /// They are, since then; the counts as they were at its beginning. To be checked next.
    On { since: Ns, next: Ns, from: Ran, busy_ns: Ns },
}

/// The sums over pauses that a ratio estimate needs, for one call. x is a pause's time on a CPU, in
/// milliseconds; y what the call was made in it, by the rate of the slice behind it.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    before: u64,
    /// What it had when the slice under way began.
    at_begin: u64,
    calls: u64,
    filled: f64,
    squares: f64,
    cross: f64,
}

/// Decides when calls are traced, and keeps the sums.
#[derive(Debug)]
pub(super) struct Slices {
    bound: MaxOverhead,
    state: State,
    /// The kernel times the programs in this slice.
    timing: bool,
    since: Ns,
    /// Known from the end of the first slice on.
    cost: Option<CallCost>,
    slices: u64,
    /// Time on a CPU in slices, with tracing and without.
    with_tracing_ns: Ns,
    own_ns: f64,
    /// Pauses with a slice behind them, their time on a CPU, and the same shortened or lengthened
    /// as the slices would be by the lowest and the highest cost.
    pauses: u64,
    paused_ns: [f64; 3],
    paused_squares: f64,
    /// The tree's time on a CPU when slicing began, and when the last slice ended that counts.
    busy_before_ns: Ns,
    ended_ns: Ns,
    calls: BTreeMap<Call, Sums>,
}

impl Slices {
    pub(super) fn new(bound: MaxOverhead) -> Self {
        Self {
            bound,
            state: State::Exact,
            timing: false,
            since: 0,
            cost: None,
            slices: 0,
            with_tracing_ns: 0,
            own_ns: 0.0,
            pauses: 0,
            paused_ns: [0.0; 3],
            paused_squares: 0.0,
            busy_before_ns: 0,
            ended_ns: 0,
            calls: BTreeMap::new(),
        }
    }

    /// Until when nothing is to be done, where that is known.
    pub(super) fn next(&self) -> Option<Ns> {
        match self.state {
            State::Exact => None,
            State::Off { until } => Some(until),
            State::On { next, .. } => Some(next),
        }
    }

    /// What the kernel timed in the first slice.
    pub(super) fn cost_is(&mut self, cost: CallCost) {
        self.cost = Some(cost);
    }

    /// Whether a slice has begun, or is about to.
    pub(super) fn in_slice(&self) -> bool {
        matches!(self.state, State::On { .. })
    }

    /// Whether all calls are traced.
    #[cfg(test)]
    fn exact(&self) -> bool {
        self.state == State::Exact
    }

    /// What is to be done, given how often instruments ran and how long the tree was on a CPU up to
    /// now. `counts` is asked when a slice ends.
    pub(super) fn turn(
        &mut self,
        now: Ns,
        ran: Ran,
        busy_ns: Ns,
        counts: impl FnOnce() -> Vec<CallStats>,
    ) -> Option<Turn> {
        let MaxOverhead::Share(most) = self.bound else { return None };
        match self.state {
            State::Exact => {
                let cost = ran.calls * CALL_NS;
                if cost < FREE_NS || (cost + ran.fixed_ns()) as f64 <= most * busy_ns as f64 {
                    return None;
                }
                for call in counts() {
                    let sums = self.calls.entry(call.call).or_default();
                    (sums.before, sums.at_begin) = (call.calls, call.calls);
                }
                (self.since, self.busy_before_ns, self.ended_ns) = (now, busy_ns, busy_ns);
                let share = cost as f64 / busy_ns.max(1) as f64;
                self.state = State::Off { until: now + self.pause(share, ran, busy_ns) };
                Some(Turn::Off)
            }
            State::Off { until } if now >= until => {
                // Until `begun` says from when on.
                self.state = State::On { since: now, next: Ns::MAX, from: ran, busy_ns };
                if self.cost.is_some() {
                    return Some(Turn::On);
                }
                // Should the kernel not time them, this is what is known of other machines.
                self.cost = Some(CallCost { ns: CALL_NS as f64, lo_ns: 90.0, hi_ns: 300.0 });
                self.timing = true;
                Some(Turn::OnTimed)
            }
            State::On { since, next, from, busy_ns: busy_then } if now >= next => {
                let traced_ns = busy_ns.saturating_sub(busy_then);
                if traced_ns < SLICE_NS && now < since + SLICE_NS_MAX {
                    self.state = State::On { since, next: now + LOOK_NS, from, busy_ns: busy_then };
                    return None;
                }
                let timed = std::mem::take(&mut self.timing);
                self.add((busy_then, busy_ns), ran.calls - from.calls, counts(), timed);
                let share = ((ran.calls - from.calls) * CALL_NS) as f64 / traced_ns.max(1) as f64;
                let pause = self.pause(share, ran, busy_ns);
                if pause < SLICE_NS && !timed {
                    // It has become quiet: another slice, without a pause.
                    self.begins(now, ran, busy_ns);
                    return None;
                }
                self.state = State::Off { until: now + pause };
                Some(Turn::Off)
            }
            State::Off { .. } | State::On { .. } => None,
        }
    }

    /// The programs are attached: the slice begins. Attaching takes some milliseconds in which
    /// calls are seen sooner or later; what is seen then, and while they are detached, stands for
    /// nothing else.
    pub(super) fn begun(&mut self, now: Ns, ran: Ran, busy_ns: Ns, counts: &[CallStats]) {
        for call in counts {
            self.calls.entry(call.call).or_default().at_begin = call.calls;
        }
        self.begins(now, ran, busy_ns);
    }

    fn begins(&mut self, now: Ns, ran: Ran, busy_ns: Ns) {
        self.state = State::On { since: now, next: now + SLICE_NS, from: ran, busy_ns };
    }

    /// How long to pause when tracing costs this share of the time that it is on.
    fn pause(&self, share: f64, ran: Ran, busy_ns: Ns) -> Ns {
        let MaxOverhead::Share(most) = self.bound else { return 0 };
        let fixed = ran.fixed_ns() as f64 / busy_ns.max(1) as f64;
        // Where the rest alone passes the bound, calls get a tenth of it all the same: no table at
        // all helps nobody.
        let allowed = (most - fixed).max(most / 10.0) * USED;
        let pause = SLICE_NS as f64 * (share / allowed.max(1e-6) - 1.0).max(0.0);
        (pause as Ns).min(PAUSE_NS_MAX)
    }

    /// A slice is over, which lasted between these times on a CPU. One in which tracing was timed
    /// was slower than others, and is a part of the pause.
    fn add(&mut self, (from_ns, to_ns): (Ns, Ns), traced: u64, counts: Vec<CallStats>, timed: bool) {
        let Some(cost) = self.cost.filter(|_| !timed) else { return };
        let traced_ns = to_ns.saturating_sub(from_ns);
        if traced as f64 * cost.lo_ns >= traced_ns as f64 {
            // Tracing alone would have taken longer: what was read of it cannot be right, and it
            // says nothing of a pause.
            return;
        }
        let own = |each: f64| (traced_ns as f64 - traced as f64 * each).max(traced_ns as f64 / 10.0).max(1.0);
        let pause_ns = from_ns.saturating_sub(self.ended_ns) as f64;
        let x = pause_ns / 1e6;
        self.ended_ns = to_ns;
        self.slices += 1;
        self.with_tracing_ns += traced_ns;
        self.own_ns += own(cost.ns);
        if pause_ns > 0.0 {
            self.pauses += 1;
            let costs = [cost.ns, cost.lo_ns, cost.hi_ns];
            let shares = costs.map(|each| own(each) / own(cost.ns));
            self.paused_ns.iter_mut().zip(shares).for_each(|(sum, share)| *sum += pause_ns * share);
            self.paused_squares += x * x;
        }
        for call in counts {
            let sums = self.calls.entry(call.call).or_default();
            let seen = call.calls.saturating_sub(sums.at_begin);
            sums.at_begin = call.calls;
            sums.calls += seen;
            let y = seen as f64 * pause_ns / own(cost.ns);
            sums.filled += y;
            sums.squares += y * y;
            sums.cross += x * y;
        }
    }

    /// The sums at the end of the recording; none when all calls were traced.
    pub(super) fn sums(&mut self, busy_ns: Ns, counts: impl FnOnce() -> Vec<CallStats>) -> Option<Sliced> {
        match self.state {
            State::Exact => return None,
            // Attached and not begun: nothing is known of it.
            State::On { next: Ns::MAX, .. } | State::Off { .. } => {}
            State::On { busy_ns: busy_then, from, .. } => {
                let counts = counts();
                let all: u64 = counts.iter().map(|call| call.calls).sum();
                let timed = self.timing;
                self.add((busy_then, busy_ns), all.saturating_sub(from.calls), counts, timed);
            }
        }
        let sliced_ns = busy_ns.saturating_sub(self.busy_before_ns);
        Some(Sliced {
            since: self.since,
            slices: self.slices,
            traced_ns: self.own_ns as Ns,
            pauses: self.pauses,
            paused_ns: self.paused_ns.map(|ns| ns as Ns),
            paused_squares: self.paused_squares,
            untraced_ns: sliced_ns.saturating_sub(self.with_tracing_ns),
            calls: self
                .calls
                .iter()
                .map(|(call, sums)| SlicedCall {
                    call: *call,
                    before: sums.before,
                    calls: sums.calls,
                    filled: sums.filled,
                    squares: sums.squares,
                    cross: sums.cross,
                })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    fn ran(calls: u64) -> Ran {
        Ran { calls, ..Ran::default() }
    }

    fn counts(calls: u64) -> Vec<CallStats> {
        let (total_ns, cpu_ns, max_ns) = (0, 0, 0);
        vec![CallStats { call: Call(0), calls, errors: 0, total_ns, cpu_ns, max_ns, histogram: Vec::new() }]
    }

    #[test]
    fn few_calls_and_calls_without_a_bound_stay_exact() {
        let mut slices = Slices::new(MaxOverhead::Share(0.05));
        assert_eq!(slices.turn(10 * MS, ran(20_000), 10 * MS, || counts(0)), None);
        // Many, and long ones.
        assert_eq!(slices.turn(1000 * MS, ran(100_000), 1000 * MS, || counts(0)), None);
        let mut unbound = Slices::new(MaxOverhead::Unbounded);
        assert_eq!(unbound.turn(10 * MS, ran(1_000_000), 10 * MS, || counts(0)), None);
        assert!(slices.exact() && unbound.exact());
    }

    #[test]
    fn many_short_ones_are_seen_in_slices_and_the_sums_add_up() {
        let mut slices = Slices::new(MaxOverhead::Share(0.05));
        // 2 million a second: 40 % of the time.
        assert_eq!(slices.turn(20 * MS, ran(40_000), 20 * MS, || counts(40_000)), Some(Turn::Off));
        let on = slices.next().unwrap();
        assert_eq!(on - 20 * MS, 52_142_857);
        assert_eq!(slices.turn(on - 1, ran(40_000), on - 1, || counts(40_000)), None);
        assert_eq!(slices.turn(on, ran(40_000), on, || counts(40_000)), Some(Turn::OnTimed));
        slices.begun(on, ran(40_000), on, &counts(40_000));
        slices.cost_is(CallCost { ns: 200.0, lo_ns: 100.0, hi_ns: 300.0 });
        let off = slices.next().unwrap();
        assert_eq!(off, on + SLICE_NS);
        assert_eq!(slices.turn(off, ran(50_000), off, || counts(50_000)), Some(Turn::Off));
        let on = slices.next().unwrap();
        assert_eq!(slices.turn(on, ran(50_000), on, || counts(50_000)), Some(Turn::On));
        // 1,000 while it was attached.
        slices.begun(on, ran(51_000), on, &counts(51_000));
        let off = slices.next().unwrap();
        assert_eq!(slices.turn(off, ran(61_000), off, || counts(61_000)), Some(Turn::Off));
        let sums = slices.sums(200 * MS, || unreachable!()).unwrap();
        assert_eq!((sums.slices, sums.untraced_ns), (1, 175 * MS));
        // Of 5 ms, 10,000 calls at 200, 100 and 300 ns are tracing: 3, 4 and 2 are left.
        assert_eq!(sums.traced_ns, 3 * MS);
        let pause_ns = on - 20 * MS;
        assert_eq!((sums.pauses, sums.paused_ns), (1, [pause_ns, pause_ns * 4 / 3, pause_ns * 2 / 3]));
        let [x, y] = [pause_ns as f64 / 1e6, 10_000.0 * pause_ns as f64 / 3e6];
        let call = &sums.calls[0];
        assert_eq!((call.before, call.calls), (40_000, 10_000));
        assert_eq!([call.filled, call.squares, call.cross], [y, y * y, x * y]);
    }

    #[test]
    fn a_slice_in_which_there_was_no_time_for_its_calls_says_nothing() {
        let mut slices = Slices::new(MaxOverhead::Share(0.05));
        assert_eq!(slices.turn(0, ran(1_000_000), 10 * MS, || counts(1_000_000)), Some(Turn::Off));
        slices.cost_is(CallCost { ns: 100.0, lo_ns: 90.0, hi_ns: 300.0 });
        let mut now = 1_000 * MS;
        assert_eq!(slices.turn(now, ran(1_000_000), 20 * MS, Vec::new), Some(Turn::On));
        slices.begun(now, ran(1_000_000), 20 * MS, &counts(1_000_000));
        // 10,000 calls and no time at all, as from a clock that was read too late at the beginning.
        now += 1_000 * MS;
        assert_eq!(slices.turn(now, ran(1_010_000), 20 * MS, || counts(1_010_000)), Some(Turn::Off));
        let sums = slices.sums(0, Vec::new).unwrap();
        assert_eq!((sums.slices, sums.pauses), (0, 0));
        assert!(sums.calls.iter().all(|call| call.filled == 0.0), "{:?}", sums.calls);
    }

    /// Quiet stretches are seen whole and busy ones in small parts: what is filled in must not be
    /// quiet.
    #[test]
    fn a_pause_is_filled_from_the_slice_behind_it_and_not_from_all() {
        let mut slices = Slices::new(MaxOverhead::Share(0.05));
        slices.cost = Some(CallCost { ns: 0.0, lo_ns: 0.0, hi_ns: 0.0 });
        slices.turn(20 * MS, ran(40_000), 20 * MS, || counts(40_000));
        let mut calls = 40_000;
        let mut slice = |slices: &mut Slices, from: Ns, more: u64| {
            calls += more;
            slices.add((from, from + 5 * MS), more, counts(calls), false);
        };
        // 100 ms at 2,000 calls a millisecond with a slice behind it, and 20 slices in a row with
        // none.
        slice(&mut slices, 120 * MS, 10_000);
        (0..20).for_each(|at| slice(&mut slices, (125 + 5 * at) * MS, 0));
        slices.state = State::Off { until: 0 };
        let sums = slices.sums(225 * MS, || unreachable!()).unwrap();
        assert_eq!((sums.pauses, sums.slices, sums.untraced_ns), (1, 21, 100 * MS));
        assert_eq!(sums.calls[0].filled / (sums.paused_ns[0] as f64 / 1e6), 2000.0);
    }

    #[test]
    fn a_slice_that_has_not_begun_when_the_recording_ends_counts_for_nothing() {
        let mut slices = Slices::new(MaxOverhead::Share(0.05));
        slices.cost_is(CallCost { ns: 100.0, lo_ns: 90.0, hi_ns: 300.0 });
        slices.turn(20 * MS, ran(40_000), 20 * MS, || counts(40_000));
        let on = slices.next().unwrap();
        assert_eq!(slices.turn(on, ran(40_000), on, Vec::new), Some(Turn::On));
        assert!(slices.in_slice());
        let sums = slices.sums(on + 10 * MS, || unreachable!()).unwrap();
        assert_eq!((sums.slices, sums.pauses, sums.calls[0].calls), (0, 0, 0));
    }

    #[test]
    fn when_it_becomes_quiet_there_is_no_pause() {
        let mut slices = Slices::new(MaxOverhead::Share(0.05));
        let on = |slices: &mut Slices| {
            let at = slices.next().unwrap();
            slices.turn(at, ran(40_000), at, || counts(40_000));
            slices.begun(at, ran(40_000), at, &counts(40_000));
            slices.next().unwrap()
        };
        slices.turn(20 * MS, ran(40_000), 20 * MS, || counts(40_000));
        let end = on(&mut slices);
        // The first slice, which is timed, ends in any case.
        assert_eq!(slices.turn(end, ran(40_010), end, || counts(40_010)), Some(Turn::Off));
        let end = on(&mut slices);
        assert_eq!(slices.turn(end, ran(40_010), end, || counts(40_010)), None);
        assert_eq!(slices.next(), Some(end + SLICE_NS));
    }
}

//! Tracing windows: all calls are traced until the overhead exceeds its bound, then only within
//! windows.
//!
//! Between windows the two programs are detached, since an attached one costs some 65 ns per call
//! even if it does nothing. The length of a pause follows from the overhead of the window before
//! it, so pauses after busy windows are longer, and windows are not a uniform sample of the run. So
//! each pause is estimated from the window after it, whose start does not depend on what it will
//! observe; a window that continues another without a pause represents only itself. Counts are kept
//! as sums, from which `analyse` estimates the totals.
//!
//! Tracing takes time within a window, in which the program does less. That is subtracted, so its
//! cost must be known: in the first window, which is used for nothing else, the kernel times the
//! two programs.
//!
//! Switches and wake-ups are always traced: the account is made of them.

use crate::settings::MaxOverhead;
use model::recording::{Sliced, SlicedCall};
use model::{Call, CallStats, Ns};
use std::collections::BTreeMap;

/// The overhead that is always allowed: below it everything is exact. 25,000 calls.
const FREE_NS: Ns = 5_000_000;
/// The length of a window, in CPU time of the tree. Attaching and detaching takes some
/// milliseconds, of the reader and (two interrupts) of all CPUs.
const SLICE_NS: Ns = 5_000_000;
/// The longest window, for a tree that does little.
const SLICE_NS_MAX: Ns = 50_000_000;
/// The time between two checks whether a window has ended.
const LOOK_NS: Ns = 2_000_000;
/// The longest pause, so that changes of a program are noticed, and there are enough windows to
/// estimate their variance.
const PAUSE_NS_MAX: Ns = 500_000_000;
/// The share of the bound for tracing calls: attaching and detaching have the rest.
const USED: f64 = 0.7;
/// The cost of one run of each instrument, within the ranges of [`super::Bpf::cost`]; for a call
/// near the upper end, so that the bound holds where calls are expensive.
const CALL_NS: Ns = 200;
const SWITCH_NS: Ns = 150;
const WAKE_NS: Ns = 150;
const SAMPLE_NS: Ns = 2000;

/// Runs of each instrument so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InstrumentRuns {
    pub(super) calls: u64,
    pub(super) switches: u64,
    pub(super) wakes: u64,
    pub(super) samples: u64,
}

impl InstrumentRuns {
    /// The overhead that cannot be avoided.
    fn fixed_ns(self) -> Ns {
        self.switches * SWITCH_NS + self.wakes * WAKE_NS + self.samples * SAMPLE_NS
    }
}

/// The action to take now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Detach the programs of calls.
    Off,
    /// Attach them.
    On,
    /// Attach them, and let the kernel time them until they are detached.
    OnTimed,
}

/// The overhead of tracing one call, in nanoseconds: estimate, low and high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CallCost {
    pub(super) ns: f64,
    pub(super) lo_ns: f64,
    pub(super) hi_ns: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum WindowState {
    /// All calls are traced.
    Exact,
    /// No calls are traced, until then.
    Off { until: Ns },
    /// A window, since then; the counts at its start. The time of the next check.
    On { since: Ns, next: Ns, from: InstrumentRuns, busy_ns: Ns },
}

/// The sums over pauses that a ratio estimate needs, for one call. x is a pause's CPU time, in
/// milliseconds; y is the number of calls in it, by the rate of the window after it.
#[derive(Debug, Clone, Copy, Default)]
struct CallSums {
    before: u64,
    /// Its count when the current window began.
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
    state: WindowState,
    /// The kernel times the programs in this window.
    timing: bool,
    since: Ns,
    /// Known from the end of the first window on.
    cost: Option<CallCost>,
    slices: u64,
    /// CPU time in windows, with and without tracing.
    with_tracing_ns: Ns,
    own_ns: f64,
    /// Pauses with a window after them, their CPU time, and the same scaled like the windows at the
    /// lowest and the highest cost.
    pauses: u64,
    paused_ns: [f64; 3],
    paused_squares: f64,
    /// The tree's CPU time when windows began, and when the last valid window ended.
    busy_before_ns: Ns,
    ended_ns: Ns,
    calls: BTreeMap<Call, CallSums>,
}

impl Slices {
    pub(super) fn new(bound: MaxOverhead) -> Self {
        Self {
            bound,
            state: WindowState::Exact,
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

    /// The time of the next action, where known.
    pub(super) fn next(&self) -> Option<Ns> {
        match self.state {
            WindowState::Exact => None,
            WindowState::Off { until } => Some(until),
            WindowState::On { next, .. } => Some(next),
        }
    }

    /// The cost that the kernel measured in the first window.
    pub(super) fn cost_is(&mut self, cost: CallCost) {
        self.cost = Some(cost);
    }

    /// Whether a window has begun, or is about to.
    pub(super) fn in_slice(&self) -> bool {
        matches!(self.state, WindowState::On { .. })
    }

    /// Whether all calls are traced.
    #[cfg(test)]
    fn exact(&self) -> bool {
        self.state == WindowState::Exact
    }

    /// The action to take, given the runs of instruments and the tree's CPU time so far. `counts`
    /// is called when a window ends.
    pub(super) fn turn(
        &mut self,
        now: Ns,
        ran: InstrumentRuns,
        busy_ns: Ns,
        counts: impl FnOnce() -> Vec<CallStats>,
    ) -> Option<Turn> {
        let MaxOverhead::Share(most) = self.bound else { return None };
        match self.state {
            WindowState::Exact => {
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
                self.state = WindowState::Off { until: now + self.pause(share, ran, busy_ns) };
                Some(Turn::Off)
            }
            WindowState::Off { until } if now >= until => {
                // Until `begun` gives the start.
                self.state = WindowState::On { since: now, next: Ns::MAX, from: ran, busy_ns };
                if self.cost.is_some() {
                    return Some(Turn::On);
                }
                // If the kernel does not time them, this is the range of other machines.
                self.cost = Some(CallCost { ns: CALL_NS as f64, lo_ns: 90.0, hi_ns: 300.0 });
                self.timing = true;
                Some(Turn::OnTimed)
            }
            WindowState::On { since, next, from, busy_ns: busy_then } if now >= next => {
                let traced_ns = busy_ns.saturating_sub(busy_then);
                if traced_ns < SLICE_NS && now < since + SLICE_NS_MAX {
                    self.state = WindowState::On { since, next: now + LOOK_NS, from, busy_ns: busy_then };
                    return None;
                }
                let timed = std::mem::take(&mut self.timing);
                self.add((busy_then, busy_ns), ran.calls - from.calls, counts(), timed);
                let share = ((ran.calls - from.calls) * CALL_NS) as f64 / traced_ns.max(1) as f64;
                let pause = self.pause(share, ran, busy_ns);
                if pause < SLICE_NS && !timed {
                    // It has become quiet: another window, without a pause.
                    self.begins(now, ran, busy_ns);
                    return None;
                }
                self.state = WindowState::Off { until: now + pause };
                Some(Turn::Off)
            }
            WindowState::Off { .. } | WindowState::On { .. } => None,
        }
    }

    /// The programs are attached: the window begins. Attaching takes some milliseconds; calls
    /// traced in that time, and while detaching, represent only themselves.
    pub(super) fn begun(&mut self, now: Ns, ran: InstrumentRuns, busy_ns: Ns, counts: &[CallStats]) {
        for call in counts {
            self.calls.entry(call.call).or_default().at_begin = call.calls;
        }
        self.begins(now, ran, busy_ns);
    }

    fn begins(&mut self, now: Ns, ran: InstrumentRuns, busy_ns: Ns) {
        self.state = WindowState::On { since: now, next: now + SLICE_NS, from: ran, busy_ns };
    }

    /// The length of a pause when tracing costs this share of a window.
    fn pause(&self, share: f64, ran: InstrumentRuns, busy_ns: Ns) -> Ns {
        let MaxOverhead::Share(most) = self.bound else { return 0 };
        let fixed = ran.fixed_ns() as f64 / busy_ns.max(1) as f64;
        // Where the other instruments alone exceed the bound, calls still get a tenth of it: an
        // empty table would be useless.
        let allowed = (most - fixed).max(most / 10.0) * USED;
        let pause = SLICE_NS as f64 * (share / allowed.max(1e-6) - 1.0).max(0.0);
        (pause as Ns).min(PAUSE_NS_MAX)
    }

    /// A window has ended, which lasted between these CPU times. One in which tracing was timed was
    /// slower than others, and counts as part of the pause.
    fn add(&mut self, (from_ns, to_ns): (Ns, Ns), traced: u64, counts: Vec<CallStats>, timed: bool) {
        let Some(cost) = self.cost.filter(|_| !timed) else { return };
        let traced_ns = to_ns.saturating_sub(from_ns);
        if traced as f64 * cost.lo_ns >= traced_ns as f64 {
            // Tracing alone would have taken longer: the readings are wrong, so the window is not
            // used.
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
            WindowState::Exact => return None,
            // Attached and not begun: there is nothing to count.
            WindowState::On { next: Ns::MAX, .. } | WindowState::Off { .. } => {}
            WindowState::On { busy_ns: busy_then, from, .. } => {
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

    fn ran(calls: u64) -> InstrumentRuns {
        InstrumentRuns { calls, ..InstrumentRuns::default() }
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

    /// Quiet phases are traced completely and busy ones in small parts: the estimate for pauses
    /// must not be that of quiet phases.
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
        // 100 ms at 2,000 calls per millisecond with a window after it, and 20 windows in a row
        // without calls.
        slice(&mut slices, 120 * MS, 10_000);
        (0..20).for_each(|at| slice(&mut slices, (125 + 5 * at) * MS, 0));
        slices.state = WindowState::Off { until: 0 };
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
        // The first window, which is timed, ends in any case.
        assert_eq!(slices.turn(end, ran(40_010), end, || counts(40_010)), Some(Turn::Off));
        let end = on(&mut slices);
        assert_eq!(slices.turn(end, ran(40_010), end, || counts(40_010)), None);
        assert_eq!(slices.next(), Some(end + SLICE_NS));
    }
}

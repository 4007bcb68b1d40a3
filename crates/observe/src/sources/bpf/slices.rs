//! Tracing windows: all calls are traced until the overhead exceeds its bound, then only within
//! windows.
//!
//! Between windows the two programs are detached, since an attached one costs some 65 ns per call
//! even if it does nothing. How long is left to `pauses`: chance decides, so that each window
//! stands for as much time as is skipped on average to come to it. Counts are kept as sums, from
//! which `analyse` estimates the totals.
//!
//! Tracing takes time within a window, in which the program does less. That is subtracted, so its
//! cost must be known: in the first window, which is used for nothing else, the kernel times the
//! two programs; and in the next ones where that had too few calls, or where a call took far longer
//! than on any machine that was measured. And a window is longer by it, so that all have as much of
//! the program.
//!
//! Switches and wake-ups are always traced: the account is made of them.

use super::pauses::Pauses;
use super::runs::InstrumentRuns;
use crate::settings::MaxOverhead;
use model::recording::{Sliced, SlicedCall};
use model::{Call, CallStats, Ns};
use std::collections::BTreeMap;

/// The overhead that is always allowed: below it everything is exact. 25,000 calls.
const FREE_NS: Ns = 5_000_000;
/// The length of a window, in CPU time of the tree without the overhead of tracing. Attaching and
/// detaching takes some milliseconds, of the reader and (two interrupts) of all CPUs.
const SLICE_NS: Ns = 3_000_000;
/// A window that has so much of it ends when it is next looked at.
const ENOUGH_NS: f64 = 0.95 * SLICE_NS as f64;
/// The longest window, for a tree that does little.
const SLICE_NS_MAX: Ns = 50_000_000;
/// The time between two checks whether a window has ended.
const LOOK_NS: Ns = 1_000_000;
/// The cost of tracing one call until it is known: within the range of [`super::cost`].
const CALL_NS: Ns = 200;
/// The same with that range, where the kernel does not time it.
const UNTIMED: CallCost = CallCost { ns: CALL_NS as f64, lo_ns: 90.0, hi_ns: 300.0 };
/// The highest cost that is taken at once: twice the highest of the machines that were measured.
/// Where it is more, something else had the CPU in between.
const LIKELY_NS: f64 = 600.0;
/// Windows in which it is timed, at most. Then the lowest of them is taken.
const TIMED_MAX: u32 = 4;

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

/// The sums over windows that a ratio estimate needs, for one call. x is the CPU time that a window
/// stands for, in milliseconds; y is the number of calls in it, by the window's own.
#[derive(Debug, Clone, Copy, Default)]
struct CallSums {
    before: u64,
    /// Its count when the current window began.
    at_begin: u64,
    calls: u64,
    filled: f64,
    squares: f64,
    cross: f64,
    worst: f64,
}

/// Decides when calls are traced, and keeps the sums.
#[derive(Debug)]
pub(super) struct Slices {
    /// None where there is no bound.
    pauses: Option<Pauses>,
    state: WindowState,
    /// The kernel times the programs in this window.
    timing: bool,
    /// In so many so far.
    timed: u32,
    /// The lowest that it gave.
    lowest: Option<CallCost>,
    since: Ns,
    /// Known from the end of the last of these on.
    cost: Option<CallCost>,
    slices: u64,
    /// CPU time in windows, with and without tracing.
    with_tracing_ns: Ns,
    own_ns: f64,
    /// What the next window stands for: the mean of the pause before it, and the windows before
    /// that which told nothing.
    skipped_ns: f64,
    /// Windows that stand for more than themselves, the CPU time for which they do, and the same at
    /// the lowest and the highest cost.
    stand: u64,
    stand_for_ns: [f64; 3],
    stand_for_squares: f64,
    /// The tree's CPU time when windows began.
    busy_before_ns: Ns,
    calls: BTreeMap<Call, CallSums>,
}

impl Slices {
    pub(super) fn new(bound: MaxOverhead) -> Self {
        Self {
            pauses: match bound {
                MaxOverhead::Share(most) => Some(Pauses::new(most)),
                MaxOverhead::Unbounded => None,
            },
            state: WindowState::Exact,
            timing: false,
            timed: 0,
            lowest: None,
            since: 0,
            cost: None,
            slices: 0,
            with_tracing_ns: 0,
            own_ns: 0.0,
            skipped_ns: 0.0,
            stand: 0,
            stand_for_ns: [0.0; 3],
            stand_for_squares: 0.0,
            busy_before_ns: 0,
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

    /// The cost that the kernel measured in a window; none where it had too few calls to tell.
    pub(super) fn timed(&mut self, cost: Option<CallCost>) {
        let all = self.lowest.into_iter().chain(cost);
        self.lowest = all.min_by(|one, other| one.ns.total_cmp(&other.ns));
        if self.timed >= TIMED_MAX || self.lowest.is_some_and(|cost| cost.ns <= LIKELY_NS) {
            self.cost = Some(self.lowest.unwrap_or(UNTIMED));
        }
    }

    /// The kernel does not time it.
    pub(super) fn cannot_be_timed(&mut self) {
        self.cost = Some(UNTIMED);
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
        let pauses = self.pauses.as_mut()?;
        match self.state {
            WindowState::Exact => {
                let cost = ran.calls * CALL_NS;
                if cost < FREE_NS || (cost + ran.fixed_ns()) as f64 <= pauses.most() * busy_ns as f64 {
                    return None;
                }
                for call in counts() {
                    let sums = self.calls.entry(call.call).or_default();
                    (sums.before, sums.at_begin) = (call.calls, call.calls);
                }
                (self.since, self.busy_before_ns) = (now, busy_ns);
                pauses.seed(now);
                let share = cost as f64 / busy_ns.max(1) as f64;
                self.skipped_ns = pauses.mean_ns(SLICE_NS, share, 0, ran, busy_ns);
                // The window after it only finds out what tracing costs: no need for chance.
                self.state = WindowState::Off { until: now + self.skipped_ns as Ns };
                Some(Turn::Off)
            }
            WindowState::Off { until } if now >= until => {
                // Until `begun` gives the start.
                self.state = WindowState::On { since: now, next: Ns::MAX, from: ran, busy_ns };
                if self.cost.is_some() {
                    return Some(Turn::On);
                }
                self.timing = true;
                self.timed += 1;
                Some(Turn::OnTimed)
            }
            WindowState::On { since, next, from, busy_ns: busy_then } if now >= next => {
                let window = Window {
                    wall_ns: now.saturating_sub(since),
                    traced_ns: busy_ns.saturating_sub(busy_then),
                    calls: ran.calls - from.calls,
                };
                let each = self.cost.map_or(CALL_NS as f64, |cost| cost.ns);
                if window.own_ns(each) < ENOUGH_NS && window.wall_ns < SLICE_NS_MAX {
                    self.state = WindowState::On { since, next: now + LOOK_NS, from, busy_ns: busy_then };
                    return None;
                }
                let share = window.calls as f64 * each / window.traced_ns.max(1) as f64;
                let mean = pauses.mean_ns(window.wall_ns, share, self.slices, ran, busy_ns);
                let pause = pauses.draw(mean, window.without_tracing_ns(each) as Ns);
                let timed = std::mem::take(&mut self.timing);
                self.add(window, counts(), timed);
                self.skipped_ns += mean;
                if pause == 0 && !timed {
                    // Another window, without a pause.
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

    /// A window has ended. One in which tracing was timed was slower than others, and tells
    /// nothing; the next one stands for it too.
    fn add(&mut self, window: Window, counts: Vec<CallStats>, timed: bool) {
        let Window { traced_ns, calls, .. } = window;
        // If tracing alone would have taken longer, the readings are wrong.
        let valid = |cost: &CallCost| !timed && (calls as f64 * cost.lo_ns) < traced_ns as f64;
        let Some(cost) = self.cost.filter(valid) else {
            self.skipped_ns += window.without_tracing_ns(CALL_NS as f64);
            return;
        };
        let own = |each: f64| window.own_ns(each);
        let stands_for = std::mem::take(&mut self.skipped_ns) / window.without_tracing_ns(cost.ns).max(1.0);
        let x = stands_for * own(cost.ns) / 1e6;
        self.slices += 1;
        self.with_tracing_ns += traced_ns;
        self.own_ns += own(cost.ns);
        if x > 0.0 {
            self.stand += 1;
            let costs = [cost.ns, cost.lo_ns, cost.hi_ns];
            self.stand_for_ns.iter_mut().zip(costs).for_each(|(sum, each)| *sum += stands_for * own(each));
            self.stand_for_squares += x * x;
        }
        let all_x = self.stand_for_ns[0] / 1e6;
        for call in counts {
            let sums = self.calls.entry(call.call).or_default();
            let seen = call.calls.saturating_sub(sums.at_begin);
            sums.at_begin = call.calls;
            sums.calls += seen;
            let y = stands_for * seen as f64;
            sums.filled += y;
            sums.squares += y * y;
            sums.cross += x * y;
            if all_x > 0.0 {
                sums.worst = sums.worst.max((y - sums.filled / all_x * x).abs());
            }
        }
    }

    /// The sums at the end of the recording; none when all calls were traced. A window that has not
    /// ended tells nothing.
    pub(super) fn sums(&self, busy_ns: Ns) -> Option<Sliced> {
        if self.state == WindowState::Exact {
            return None;
        }
        let sliced_ns = busy_ns.saturating_sub(self.busy_before_ns);
        Some(Sliced {
            since: self.since,
            slices: self.slices,
            traced_ns: self.own_ns as Ns,
            pauses: self.stand,
            paused_ns: self.stand_for_ns.map(|ns| ns as Ns),
            paused_squares: self.stand_for_squares,
            untraced_ns: sliced_ns.saturating_sub(self.with_tracing_ns),
            random: true,
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
                    worst: sums.worst,
                })
                .collect(),
        })
    }
}

/// A window at its end.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// How long it was.
    wall_ns: Ns,
    /// The tree's CPU time in it.
    traced_ns: Ns,
    /// Calls that were traced.
    calls: u64,
}

impl Window {
    /// The tree's CPU time without the overhead of tracing, at this cost of a call.
    fn own_ns(self, each: f64) -> f64 {
        let traced = self.traced_ns as f64;
        (traced - self.calls as f64 * each).max(traced / 10.0).max(1.0)
    }

    /// How long it would have been.
    fn without_tracing_ns(self, each: f64) -> f64 {
        self.wall_ns as f64 * self.own_ns(each) / self.traced_ns.max(1) as f64
    }
}

#[cfg(test)]
mod tests;

//! Tracing windows: all calls are traced until the overhead exceeds its bound, then only within
//! windows. Between windows they are counted, or, where that alone exceeds a bound on all of dwell,
//! nothing is attached.
//!
//! How long it is between two windows is left to `pauses`: chance decides, so that each window
//! stands for as much time as is skipped on average to come to it. Where calls are not counted in
//! between, counts are kept as sums, from which `analyse` estimates the totals. Those sums are of
//! windows in which calls are counted and not traced: while they are traced the program is slower
//! than what the two programs take, since they and the reader take caches and a CPU's sibling.
//! Such windows are cheap, so there are more of them; one of a few is preceded by a traced one.
//!
//! Tracing takes time within a window, in which the program does less. That is subtracted: the
//! kernel times the two programs in each window. And a window is longer by it, so that all have as
//! much of the program.
//!
//! Switches and wake-ups are always traced: the account is made of them.

use super::pauses::{LEFT_MIN, Pauses};
use super::runs::{AROUND_NS, AroundNs, EachNs, InstrumentRuns, Overhead};
use super::tracing::Depth;
use crate::settings::MaxOverhead;
use model::recording::{Sliced, SlicedCall};
use model::{Call, CallStats, Ns};
use std::collections::BTreeMap;

/// The overhead that is always allowed: below it everything is exact. 25,000 calls.
const FREE_NS: Ns = 5_000_000;
/// The length of a window, in CPU time of the tree without the overhead of tracing. Attaching and
/// detaching takes the reader some milliseconds, and interrupts all CPUs: `pauses`.
const SLICE_NS: Ns = 2_000_000;
/// A window that has so much of it ends when it is next looked at.
const ENOUGH_NS: f64 = 0.95 * SLICE_NS as f64;
/// The longest window, for a tree that does little.
const SLICE_NS_MAX: Ns = 50_000_000;
/// Of this many windows in which calls are counted one is preceded by one in which they are traced.
const COUNTED_FOR_TRACED: u64 = 4;
/// How far what counting a call takes may be from what dwell's own calls say.
const COUNT_LESS_NS: f64 = 25.0;
const COUNT_MORE_NS: f64 = 40.0;
/// The time between two checks whether a window has ended.
const LOOK_NS: Ns = 1_000_000;
/// The time after which attaching is tried again where it failed, as for want of descriptors.
const RETRY_NS: Ns = 100_000_000;
/// What attaching and detaching takes of each CPU before it is measured: some 40 interrupts, since
/// the kernel changes its own code.
const ATTACH_NS: f64 = 200e3;
/// The part that an interrupted CPU loses of the time in which the reader attaches: with a loop
/// that looks at the clock, 10 of 31 us for each interrupt.
const LOST_OF_ATTACHING: f64 = 1.0 / 3.0;
/// The newest measurement's part of the mean.
const NEWEST: f64 = 0.25;

/// Counting ends where it and the other instruments leave less than this part of the bound: that is
/// what windows get at least.
const LEFT_FOR_WINDOWS: f64 = LEFT_MIN;

/// Whether calls are counted between windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// Whatever it costs.
    Always,
    /// As long as it is within the bound.
    WithinBound,
    /// It was not.
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum WindowState {
    /// All calls are traced.
    Exact,
    /// No calls are traced, until then.
    Off { until: Ns },
    /// A window, since then; the counts at its start. The time of the next check.
    On { since: Ns, next: Ns, from: InstrumentRuns, busy_ns: Ns },
    /// The same of a window in which calls are counted, where they are not between windows.
    Counting { since: Ns, next: Ns, from: InstrumentRuns, busy_ns: Ns },
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
    counting: Counting,
    state: WindowState,
    /// What instruments cost.
    each: EachNs,
    /// What entering and leaving the programs of calls takes.
    around: AroundNs,
    /// What attaching and what detaching take of each CPU.
    attach_ns: [f64; 2],
    since: Ns,
    /// Calls that were traced before.
    exact: u64,
    slices: u64,
    /// How often the programs were attached: not where a window follows at once on another.
    attached: u64,
    /// CPU time in windows, with and without tracing.
    with_tracing_ns: Ns,
    own_ns: f64,
    /// Windows in which calls were counted, or are.
    counting_windows: u64,
    /// The traced window before the current one: its length, and what tracing took in it.
    before_counting: (Ns, f64),
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
            pauses: bound.share().map(Pauses::new),
            counting: match bound {
                MaxOverhead::All(_) => Counting::WithinBound,
                MaxOverhead::BesideCounting(_) | MaxOverhead::Unbounded => Counting::Always,
            },
            state: WindowState::Exact,
            each: EachNs::TYPICAL,
            around: AROUND_NS,
            attach_ns: [ATTACH_NS / 2.0; 2],
            since: 0,
            exact: 0,
            slices: 0,
            attached: 0,
            with_tracing_ns: 0,
            own_ns: 0.0,
            counting_windows: 0,
            before_counting: (0, 0.0),
            skipped_ns: 0.0,
            stand: 0,
            stand_for_ns: [0.0; 3],
            stand_for_squares: 0.0,
            busy_before_ns: 0,
            calls: BTreeMap::new(),
        }
    }

    /// Calls can neither be traced nor counted, since the start.
    pub(super) fn without_windows(since: Ns) -> Self {
        let state = WindowState::Off { until: Ns::MAX };
        Self { since, counting: Counting::Ended, state, ..Self::new(MaxOverhead::Unbounded) }
    }

    /// The time of the next action, where known.
    pub(super) fn next(&self) -> Option<Ns> {
        match self.state {
            WindowState::Exact => None,
            WindowState::Off { until } => Some(until),
            WindowState::On { next, .. } | WindowState::Counting { next, .. } => Some(next),
        }
    }

    /// Whether a window has begun, or is about to.
    pub(super) fn in_slice(&self) -> bool {
        matches!(self.state, WindowState::On { .. } | WindowState::Counting { .. })
    }

    /// Whether a window in which calls are counted has begun, or is about to.
    pub(super) fn counts_in_window(&self) -> bool {
        matches!(self.state, WindowState::Counting { .. })
    }

    /// What instruments cost is known better.
    pub(super) fn costs(&mut self, each: EachNs) {
        self.each = each;
    }

    /// What entering and leaving the programs of calls takes.
    pub(super) fn around(&mut self, around: AroundNs) {
        self.around = around;
    }

    /// What counting a call at its exit takes.
    pub(super) fn count_ns(&mut self, ns: f64) {
        self.each.count = ns;
    }

    /// What attaching and detaching takes of each CPU.
    pub(super) fn attach_ns(&self) -> f64 {
        self.attach_ns.iter().sum()
    }

    /// Attaching, or detaching, took the reader so long.
    pub(super) fn switched(&mut self, to: Depth, took_ns: Ns) {
        let mean = &mut self.attach_ns[usize::from(to == Depth::Everything)];
        *mean += NEWEST * (took_ns as f64 * LOST_OF_ATTACHING - *mean);
    }

    /// Whether all calls are traced.
    pub(super) fn exact(&self) -> bool {
        self.state == WindowState::Exact
    }

    /// What is attached between windows.
    fn between(&self) -> Depth {
        if self.counting == Counting::Ended { Depth::Nothing } else { Depth::Counts }
    }

    /// Whether counting all calls would leave windows too little of a bound on all of dwell.
    fn counting_is_too_dear(&self, most: f64, ran: InstrumentRuns, busy_ns: Ns) -> bool {
        let taken = ran.fixed_ns(&self.each) + ran.counted as f64 * self.each.count;
        self.counting == Counting::WithinBound && taken > (1.0 - LEFT_FOR_WINDOWS) * most * busy_ns as f64
    }

    /// From here on counts are estimates: of what comes after.
    fn counts_no_longer(&mut self, now: Ns, busy_ns: Ns, counts: Vec<CallStats>) {
        self.counting = Counting::Ended;
        (self.since, self.busy_before_ns) = (now, busy_ns);
        (self.slices, self.with_tracing_ns, self.own_ns) = (0, 0, 0.0);
        (self.stand, self.stand_for_ns, self.stand_for_squares) = (0, [0.0; 3], 0.0);
        self.calls.clear();
        for call in counts {
            let sums = self.calls.entry(call.call).or_default();
            (sums.before, sums.at_begin) = (call.calls, call.calls);
        }
    }

    /// The depth to change to, given the runs of instruments and the tree's CPU time so far.
    /// `counts` is called when a window ends or counting does.
    pub(super) fn turn(
        &mut self,
        now: Ns,
        ran: InstrumentRuns,
        busy_ns: Ns,
        counts: impl FnOnce() -> Vec<CallStats>,
    ) -> Option<Depth> {
        let attach_ns = self.attach_ns();
        let most = self.pauses.as_ref()?.most();
        let mut fixed_ns = ran.fixed_ns(&self.each);
        if self.counting == Counting::WithinBound {
            fixed_ns += ran.counting_ns(&self.each);
        }
        let fixed = fixed_ns / busy_ns.max(1) as f64;
        match self.state {
            WindowState::Exact => {
                let cost = ran.calls as f64 * self.each.call;
                if cost < FREE_NS as f64 || cost + fixed_ns <= most * busy_ns as f64 {
                    return None;
                }
                (self.since, self.busy_before_ns) = (now, busy_ns);
                self.exact = ran.calls;
                if self.counting_is_too_dear(most, ran, busy_ns) {
                    self.counts_no_longer(now, busy_ns, counts());
                }
                let pauses = self.pauses.as_mut()?;
                pauses.seed(now);
                let share = cost / busy_ns.max(1) as f64;
                self.skipped_ns = pauses.mean_ns(SLICE_NS, share, 0, attach_ns, fixed);
                let pause = pauses.draw(self.skipped_ns, SLICE_NS);
                self.state = WindowState::Off { until: now + pause };
                Some(self.between())
            }
            WindowState::Off { until } if now >= until => {
                if self.counting_is_too_dear(most, ran, busy_ns) {
                    // What is attached goes, so that the pause begins anew.
                    self.counts_no_longer(now, busy_ns, counts());
                    let pause = self.pauses.as_mut()?.draw(self.skipped_ns, SLICE_NS);
                    self.state = WindowState::Off { until: now + pause };
                    return Some(Depth::Nothing);
                }
                if self.counting == Counting::Ended {
                    self.before_counting = (0, 0.0);
                    if !self.counting_windows.is_multiple_of(COUNTED_FOR_TRACED) {
                        return Some(self.counts_next(now, ran, busy_ns));
                    }
                }
                // Until `begun` gives the start.
                self.state = WindowState::On { since: now, next: Ns::MAX, from: ran, busy_ns };
                Some(Depth::Everything)
            }
            WindowState::On { since, next, from, busy_ns: busy_then } if now >= next => {
                let window = Window {
                    wall_ns: now.saturating_sub(since),
                    traced_ns: busy_ns.saturating_sub(busy_then),
                    overhead: ran.overhead_since(from, self.around),
                };
                let Overhead { ns, .. } = window.overhead;
                if window.own_ns(ns) < ENOUGH_NS && window.wall_ns < SLICE_NS_MAX {
                    self.state = WindowState::On { since, next: now + LOOK_NS, from, busy_ns: busy_then };
                    return None;
                }
                if self.counting == Counting::Ended {
                    self.before_counting = (window.traced_ns, ns);
                    self.with_tracing_ns += window.traced_ns;
                    self.own_ns += window.own_ns(ns);
                    for call in counts() {
                        let sums = self.calls.entry(call.call).or_default();
                        sums.calls += call.calls.saturating_sub(sums.at_begin);
                    }
                    return Some(self.counts_next(now, ran, busy_ns));
                }
                let share = ns / window.traced_ns.max(1) as f64;
                let pauses = self.pauses.as_mut()?;
                let mean = pauses.mean_ns(window.wall_ns, share, self.stand, attach_ns, fixed);
                let pause = pauses.draw(mean, window.without_tracing_ns() as Ns);
                self.add(window, Vec::new());
                self.skipped_ns += mean;
                if pause == 0 {
                    // Another window, without a pause.
                    self.begins(now, ran, busy_ns);
                    return None;
                }
                self.state = WindowState::Off { until: now + pause };
                Some(self.between())
            }
            WindowState::Counting { since, next, from, busy_ns: busy_then } if now >= next => {
                let window = Window {
                    wall_ns: now.saturating_sub(since),
                    traced_ns: busy_ns.saturating_sub(busy_then),
                    overhead: counting(ran.counted.saturating_sub(from.counted), self.each.count),
                };
                let Overhead { ns, .. } = window.overhead;
                if window.own_ns(ns) < ENOUGH_NS && window.wall_ns < SLICE_NS_MAX {
                    self.state =
                        WindowState::Counting { since, next: now + LOOK_NS, from, busy_ns: busy_then };
                    return None;
                }
                let (traced_ns, tracing_ns) = std::mem::take(&mut self.before_counting);
                let both_ns = window.traced_ns + traced_ns;
                let share = (ns + tracing_ns) / both_ns.max(1) as f64;
                let pauses = self.pauses.as_mut()?;
                let mean = pauses.mean_ns(window.wall_ns + traced_ns, share, self.stand, attach_ns, fixed);
                let pause = pauses.draw(mean, window.without_tracing_ns() as Ns);
                self.add(window, counts());
                self.skipped_ns += mean;
                self.state = WindowState::Off { until: now + pause };
                Some(Depth::Nothing)
            }
            WindowState::Off { .. } | WindowState::On { .. } | WindowState::Counting { .. } => None,
        }
    }

    /// Calls are counted next, once `counting_begun` gives the start.
    fn counts_next(&mut self, now: Ns, ran: InstrumentRuns, busy_ns: Ns) -> Depth {
        self.counting_windows += 1;
        self.state = WindowState::Counting { since: now, next: Ns::MAX, from: ran, busy_ns };
        Depth::Counts
    }

    /// Calls are counted: a window of that begins.
    pub(super) fn counting_begun(&mut self, now: Ns, ran: InstrumentRuns, busy_ns: Ns, counts: &[CallStats]) {
        self.window_begins(counts);
        if self.before_counting == (0, 0.0) {
            self.attached += 1;
        }
        self.state = WindowState::Counting { since: now, next: now + SLICE_NS, from: ran, busy_ns };
    }

    /// Whether a window can have ended; else it is asked again after [`LOOK_NS`]. It has not while
    /// the tree used less CPU time than a window has, tracing included: that needs no counts.
    pub(super) fn may_have_ended(&mut self, now: Ns, busy_ns: Ns) -> bool {
        let (WindowState::On { since, next, busy_ns: busy_then, .. }
        | WindowState::Counting { since, next, busy_ns: busy_then, .. }) = &mut self.state
        else {
            return false;
        };
        let traced_ns = busy_ns.saturating_sub(*busy_then);
        let ended = traced_ns as f64 >= ENOUGH_NS || now.saturating_sub(*since) >= SLICE_NS_MAX;
        if !ended {
            *next = now + LOOK_NS;
        }
        ended
    }

    /// The programs could not be attached: the next window stands for this one too.
    pub(super) fn failed(&mut self, now: Ns) {
        self.skipped_ns += RETRY_NS as f64;
        self.state = WindowState::Off { until: now + RETRY_NS };
    }

    /// The programs are attached: the window begins. Attaching takes some milliseconds; calls
    /// traced in that time, and while detaching, represent only themselves.
    pub(super) fn begun(&mut self, now: Ns, ran: InstrumentRuns, busy_ns: Ns, counts: &[CallStats]) {
        self.window_begins(counts);
        self.attached += 1;
        self.begins(now, ran, busy_ns);
    }

    fn window_begins(&mut self, counts: &[CallStats]) {
        let estimated = if self.counting == Counting::Ended { counts } else { &[] };
        for call in estimated {
            self.calls.entry(call.call).or_default().at_begin = call.calls;
        }
    }

    fn begins(&mut self, now: Ns, ran: InstrumentRuns, busy_ns: Ns) {
        self.state = WindowState::On { since: now, next: now + SLICE_NS, from: ran, busy_ns };
    }

    /// A window has ended.
    fn add(&mut self, window: Window, counts: Vec<CallStats>) {
        let Window { traced_ns, overhead, .. } = window;
        if overhead.lo_ns > traced_ns as f64 {
            // If tracing alone would have taken longer, the readings are wrong.
            self.skipped_ns += window.wall_ns as f64;
            return;
        }
        let own = window.own_ns(overhead.ns);
        let stands_for = std::mem::take(&mut self.skipped_ns) / window.without_tracing_ns().max(1.0);
        let x = stands_for * own / 1e6;
        self.slices += 1;
        self.with_tracing_ns += traced_ns;
        self.own_ns += own;
        // One in which the tree slept stands for sleep.
        if x > 0.0 && traced_ns > 0 {
            self.stand += 1;
            let costs = [overhead.ns, overhead.lo_ns, overhead.hi_ns];
            let sums = self.stand_for_ns.iter_mut().zip(costs);
            sums.for_each(|(sum, cost)| *sum += stands_for * window.own_ns(cost));
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

    /// How often the programs were attached, and the calls that were traced before; none when all
    /// calls were traced.
    pub(super) fn attached(&self) -> Option<(u64, u64)> {
        (self.state != WindowState::Exact).then_some((self.attached, self.exact))
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
            counted: self.counting != Counting::Ended,
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

/// What counting this many calls took, where it takes so much for each.
fn counting(calls: u64, count_ns: f64) -> Overhead {
    let of = |ns: f64| calls as f64 * ns.max(0.0);
    Overhead { ns: of(count_ns), lo_ns: of(count_ns - COUNT_LESS_NS), hi_ns: of(count_ns + COUNT_MORE_NS) }
}

/// A window at its end.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// How long it was.
    wall_ns: Ns,
    /// The tree's CPU time in it.
    traced_ns: Ns,
    /// What tracing took of it.
    overhead: Overhead,
}

impl Window {
    /// The tree's CPU time without tracing, which took so much.
    fn own_ns(self, overhead_ns: f64) -> f64 {
        let traced = self.traced_ns as f64;
        (traced - overhead_ns).max(traced / 10.0).max(1.0)
    }

    /// How long it would have been.
    fn without_tracing_ns(self) -> f64 {
        self.wall_ns as f64 * self.own_ns(self.overhead.ns) / self.traced_ns.max(1) as f64
    }
}

#[cfg(test)]
mod tests;

//! Keeps the overhead of tracing calls within its bound: called between drains, it attaches and
//! detaches the programs of calls.
//!
//! `slices.rs` decides from the tree's CPU time at an exact moment, which only the stream gives. So
//! the moment at which a window ends or begins is noted first, with the counts at that time. When
//! the stream has been drained up to it, the note is processed. Nothing here waits, and nothing
//! here drains.

use super::calibration::Calibration;
use super::cost;
use super::decode::Seen;
use super::runs::{COUNT_NS, EachNs, InstrumentRuns, around};
use super::slices::Slices;
use super::tracing::{Depth, Tracing, own_call_ns};
use crate::settings::MaxOverhead;
use crate::threads::Threads;
use aya::Ebpf;
use model::recording::Sliced;
use model::{CallStats, Event, Ns};
use stats::median_of;
use sys::clock::{monotonic_ns, process_cpu_ns};

/// The tracing windows, and the programs that they switch.
pub(super) struct Controller {
    slices: Slices,
    tracing: Tracing,
    calibration: Calibration,
    /// What instruments cost, where the kernel timed them.
    each: Option<EachNs>,
    own_calls: OwnCalls,
    /// Since when calls are not traced, where they cannot be; until that is reported.
    never: Option<Ns>,
    noted: Option<Noted>,
}

/// What dwell's own calls took, in nanoseconds.
#[derive(Debug)]
struct OwnCalls {
    /// With nothing attached.
    bare: f64,
    /// What they took more at the beginning of windows.
    traced: Vec<f64>,
    /// The same between windows; none before the first pause.
    counted: Option<f64>,
}

/// They are timed at the beginning of this many windows.
const OWN_CALLS_TIMED: usize = 5;

/// A moment that the stream has not reached yet, and the counts at that time.
struct Noted {
    at: Ns,
    ran: InstrumentRuns,
    counts: Vec<CallStats>,
    edge: Edge,
}

/// The meaning of a moment for a window.
enum Edge {
    /// The programs have been attached or detached: `calls`.
    Begin { calls: bool },
    /// Calls are counted from here on, for a window, or could not be.
    Counting { done: bool },
    /// The window may end.
    End,
}

impl Controller {
    /// `bare_call_ns`: what a call of dwell's own took before anything was attached.
    pub(super) fn new(bound: MaxOverhead, tracing: Tracing, bare_call_ns: f64) -> Self {
        let never = (!tracing.may_trace()).then(monotonic_ns);
        let slices = match never {
            None => Slices::new(bound),
            Some(since) => Slices::without_windows(since),
        };
        let calibration = Calibration::new(bound);
        let own_calls = OwnCalls { bare: bare_call_ns, traced: Vec::new(), counted: None };
        Self { slices, tracing, calibration, each: None, own_calls, never, noted: None }
    }

    /// What is to be emitted before all else.
    pub(super) fn begins(&mut self) -> Option<Event> {
        self.never.take().map(|at| Event::Tracing { at, calls: false })
    }

    /// The moment up to which the stream is to be drained first, if any.
    pub(super) fn noted(&self) -> Option<Ns> {
        self.noted.as_ref().map(|noted| noted.at)
    }

    /// When it has to be called next, where known.
    pub(super) fn next(&self) -> Option<Ns> {
        self.slices.next()
    }

    /// The stream has reached the noted moment. `last` where the recording ends with it: then a
    /// window lasts to its end. The returned event is to be emitted at once.
    pub(super) fn work_off(
        &mut self,
        ebpf: &mut Ebpf,
        seen: Seen,
        threads: &Threads,
        last: bool,
    ) -> Option<Event> {
        let Noted { at, ran, counts, edge } = self.noted.take()?;
        let busy_ns = threads.busy_until(at);
        match edge {
            Edge::Begin { calls } => {
                if calls {
                    self.slices.begun(at, ran, busy_ns, &counts);
                } else {
                    self.slices.failed(at);
                }
                Some(Event::Tracing { at, calls })
            }
            Edge::Counting { done: true } => {
                self.slices.counting_begun(at, ran, busy_ns, &counts);
                None
            }
            Edge::Counting { done: false } => {
                self.slices.failed(at);
                None
            }
            Edge::End if last => None,
            Edge::End => {
                let turn = self.slices.turn(at, ran, busy_ns, || counts)?;
                self.switch(turn, ebpf, seen)
            }
        }
    }

    /// Call it after each drain. The returned event is to be emitted at once.
    pub(super) fn decide(&mut self, ebpf: &mut Ebpf, seen: Seen, threads: &Threads) -> Option<Event> {
        let now = monotonic_ns();
        if !self.tracing.may_trace() && self.tracing.depth() != Some(Depth::Nothing) {
            // The program has begun.
            self.tracing.set(ebpf, Depth::Nothing);
        }
        if self.noted.is_some() || self.slices.next().is_some_and(|next| now < next) {
            return None;
        }
        if self.slices.in_slice() {
            if !self.slices.may_have_ended(now, threads.busy_until(now)) {
                return None;
            }
            self.noted = Some(self.note(now, ebpf, seen, Edge::End));
            return None;
        }
        let ran = cost::ran(ebpf, seen);
        if self.slices.exact()
            && let Some(each) = self.calibration.step(now, ran, &mut self.tracing, ebpf)
        {
            self.each = Some(each);
            self.slices.costs(each);
        }
        // While all calls are traced this is computed each time: an approximation suffices.
        let turn = self.slices.turn(now, ran, threads.busy_until(now), || cost::calls(ebpf))?;
        self.switch(turn, ebpf, seen)
    }

    /// If it fails, calls stay traced or untraced: the event reports the actual state.
    fn switch(&mut self, to: Depth, ebpf: &mut Ebpf, seen: Seen) -> Option<Event> {
        let times_own = to == Depth::Everything && self.own_calls.traced.len() < OWN_CALLS_TIMED;
        if times_own && self.tracing.depth() == Some(Depth::Nothing) {
            self.own_calls.bare = own_call_ns();
        }
        // Less what others ran in its place.
        let (before, cpu_before) = (monotonic_ns(), process_cpu_ns());
        let done = self.tracing.set(ebpf, to);
        let at = monotonic_ns();
        let cpu_ns = process_cpu_ns().saturating_sub(cpu_before);
        self.slices.switched(to, at.saturating_sub(before).min(cpu_ns));
        if to == Depth::Everything {
            self.noted = Some(self.note(at, ebpf, seen, Edge::Begin { calls: done }));
            if times_own && done {
                self.own_calls.traced.push(own_call_ns() - self.own_calls.bare);
                let outside_ns = median_of(self.own_calls.traced.iter().copied());
                outside_ns.into_iter().for_each(|ns| self.slices.around(around(ns)));
            }
            return None;
        }
        if to == Depth::Counts && self.own_calls.counted.is_none() {
            let ns = (own_call_ns() - self.own_calls.bare + COUNTED_NS).clamp(COUNT_NS.0, COUNT_NS.2);
            self.own_calls.counted = Some(ns);
            self.slices.count_ns(ns);
        }
        if to == Depth::Counts && self.slices.counts_in_window() {
            self.noted = Some(self.note(at, ebpf, seen, Edge::Counting { done }));
        }
        // Where they could not be detached, calls are still traced.
        Some(Event::Tracing { at, calls: !done })
    }

    /// The counts at this moment, which is now.
    fn note(&self, at: Ns, ebpf: &mut Ebpf, seen: Seen, edge: Edge) -> Noted {
        let timed = self.tracing.timed(ebpf);
        Noted { at, ran: InstrumentRuns { timed, ..cost::ran(ebpf, seen) }, counts: cost::calls(ebpf), edge }
    }

    /// What instruments cost, where the kernel timed them, and what attaching and detaching takes
    /// of each CPU.
    pub(super) fn costs(&self) -> (Option<EachNs>, f64) {
        let each =
            self.each.map(|each| EachNs { count: self.own_calls.counted.unwrap_or(each.count), ..each });
        (each, self.slices.attach_ns())
    }

    /// How often the programs were attached for windows, and the calls that were traced before;
    /// none where all calls were.
    pub(super) fn attached(&self) -> Option<(u64, u64)> {
        self.slices.attached()
    }

    /// The sums for the estimate of all calls, where they were traced in windows. `busy_ns` is the
    /// tree's CPU time up to the end.
    pub(super) fn sums(&self, busy_ns: Ns) -> Option<Sliced> {
        self.slices.sums(busy_ns)
    }
}

/// What the program at the exit takes for a call of the tree more than for one of another's.
const COUNTED_NS: f64 = 12.0;

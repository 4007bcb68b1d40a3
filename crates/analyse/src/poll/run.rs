//! The account of a run from its start: the path, as far as it could be inferred.

use super::closed::Closed;
use super::division::Division;
use super::late::Unsure;
use super::mix::UserShare;
use super::path::PathLedger;
use super::thread::Thread;
use super::tree::Tree;
use crate::account::{
    Activity, Breakdown, NOBODY, Passed, Pieces, Seeing, StepThread, Sum, ThreadTotals, Times, Total,
    WaitTimes, by_activity, by_thread, phases, wait_rows,
};
use crate::counted::{CounterHit, Sampled};
use crate::names::Names;
use model::run::{Faults, ThreadLedger as ThreadRow};
use model::{Basis, Ns, Pid, Seen, State};
use rustc_hash::FxHashMap;
use stats::wilson;

/// All that is known of a run at its end.
#[derive(Debug)]
pub(super) struct RunAtEnd<'a> {
    pub(super) tree: Tree,
    pub(super) path: PathLedger,
    pub(super) names: &'a Names,
    pub(super) root: Pid,
    /// What is known of user and kernel mode, but for the time that the path was on a CPU.
    pub(super) user: UserShare<'a>,
    /// There is nothing but snapshots.
    pub(super) by_looks: bool,
    /// Snapshots that fell into it.
    pub(super) looks: u64,
    pub(super) unsure: Unsure,
    pub(super) on_path: Vec<(CounterHit, Sampled)>,
}

/// The account of such a run.
pub(super) fn close(run: RunAtEnd<'_>) -> Closed {
    let RunAtEnd { mut tree, path, names, root, mut user, by_looks, looks, unsure, on_path } = run;
    let (start, end) = (path.start(), path.now());
    let order = tree.close(end);
    let Tree { threads, ledgers, .. } = tree;
    let entries = path.ledger.entries(ledgers.slicing);
    let totals = by_activity(entries.iter().copied(), &ledgers.activities);
    let on_cpu_ns = by_thread(&totals, |activity| activity.state == State::User);
    user.on_cpu_ns = on_cpu_ns.values().sum();
    let division = Division { threads: &threads, user, by_looks, mix: |thread| thread.path_mix, on_cpu_ns };
    let mut breakdown = Breakdown::new(&totals, &division, names);
    let entries = entries.into_iter();
    let phases = phases(ledgers.slicing, end, entries, &ledgers.activities, &division, &mut breakdown);
    let (wall_ns, looks_only) = (end - start, by_looks.then_some(looks));
    let known = FigureBasis { user, looks: looks_only, wall_ns, breakdown: &breakdown, unsure: &unsure };
    let parts = breakdown.parts(|state, sum| known.of(state, sum));
    let waited = totals.iter().filter(|(activity, _)| activity.state.blocked());
    let mut path_ns = FxHashMap::default();
    for (Activity { state, reason, .. }, total) in waited {
        *path_ns.entry(((*state, *reason), NOBODY)).or_insert(0) += total.ns;
    }
    let times = WaitTimes { path_ns, total_ns: None };
    let ordered = || order.iter().map(|slot| &threads[*slot as usize]);
    let of_threads = |thread: &Thread| {
        let totals = by_activity(thread.ledger.entries(ledgers.slicing).into_iter(), &ledgers.activities);
        thread_row(thread, &totals, &division, root)
    };
    let pieces = Pieces {
        start,
        wall_ns: end - start,
        parts,
        steps: breakdown.steps(|slot| threads.get(slot as usize).map(step_thread).unwrap_or_default()),
        phases,
        covered: None,
        threads: ordered().map(of_threads).collect(),
        waits: wait_rows(ledgers.waits, &times, names, Seeing::Polled),
        window: None,
    };
    let counted = |of: fn(&Faults) -> u64| ordered().filter_map(faults).map(|faults| of(&faults)).sum();
    let faults = Faults { minor: counted(|faults| faults.minor), major: counted(|faults| faults.major) };
    Closed { pieces, faults, cpu: None, on_path: Some(on_path), notes: notes(by_looks, looks, end - start) }
}

/// What a step says of its thread.
pub(super) fn step_thread(thread: &Thread) -> StepThread {
    StepThread { pid: thread.pid, tid: thread.tid, process: thread.name }
}

fn faults(thread: &Thread) -> Option<Faults> {
    let looked = thread.looked.as_ref()?;
    Some(Faults { minor: looked.minor_faults, major: looked.major_faults })
}

/// Why a thread's faults are not known.
pub(super) const UNCOUNTED: &str = "the thread exited before its first snapshot";

fn thread_row(thread: &Thread, totals: &[(Activity, Total)], of_path: &Division<'_>, root: Pid) -> ThreadRow {
    let on_cpu_ns = by_thread(totals, |activity| activity.state == State::User);
    let division = Division { mix: |thread| thread.mix, on_cpu_ns, ..*of_path };
    let mut states = Times::default();
    states.add_divided(totals, &division);
    let row = ThreadTotals {
        passed: Passed::default(),
        pid: thread.pid,
        tid: thread.tid,
        name: thread.name,
        command: None,
        life_ns: states.sum(|_| true),
        outlived: thread.died.is_none() && thread.pid != root,
        idle: false,
        states,
        faults: faults(thread).map_or_else(|| Seen::unseen(UNCOUNTED), Seen::Value),
    };
    row.row()
}

/// What a figure of the account is based on.
struct FigureBasis<'a> {
    user: UserShare<'a>,
    /// Snapshots, where there is nothing else.
    looks: Option<u64>,
    wall_ns: Ns,
    breakdown: &'a Breakdown,
    unsure: &'a Unsure,
}

impl FigureBasis<'_> {
    fn of(&self, state: State, sum: &Sum) -> (Basis, (Ns, Ns)) {
        if state == State::Unexplained {
            return (Basis::Derived, (sum.ns, sum.ns));
        }
        let user = self.user.pooled();
        let of_cpu = match state {
            State::User => Some((user.lo, user.hi)),
            State::Kernel => Some((1.0 - user.hi, 1.0 - user.lo)),
            _ => None,
        };
        match self.looks {
            Some(looks) => (Basis::Sampled, self.by_looks(looks, sum.ns, of_cpu)),
            None => self.by_switches(state, sum, of_cpu),
        }
    }

    fn on_cpu_ns(&self) -> Ns {
        self.breakdown.of(State::User).ns + self.breakdown.of(State::Kernel).ns
    }

    /// Nothing but snapshots: each says of one moment which state it was.
    fn by_looks(&self, looks: u64, ns: Ns, of_cpu: Option<(f64, f64)>) -> (Ns, Ns) {
        let of = |ns: Ns| wilson((ns as f64 / self.wall_ns as f64 * looks as f64).round() as u64, looks);
        let (lo, hi) = match of_cpu {
            Some((lo, hi)) => {
                let on_cpu = of(self.on_cpu_ns());
                (on_cpu.lo * lo, on_cpu.hi * hi)
            }
            None => (of(ns).lo, of(ns).hi),
        };
        (scaled(lo, self.wall_ns), scaled(hi, self.wall_ns))
    }

    /// Switches bound it; what is unsure is which of the states it was.
    fn by_switches(&self, state: State, sum: &Sum, of_cpu: Option<(f64, f64)>) -> (Basis, (Ns, Ns)) {
        let inferred = self.breakdown.inferred_ns();
        match of_cpu {
            Some((lo, hi)) => {
                let on_cpu = self.on_cpu_ns();
                let guessed = on_cpu.min(inferred);
                (Basis::Sampled, (scaled(lo, on_cpu - guessed), scaled(hi, on_cpu) + inferred))
            }
            None if state == State::Runqueue => {
                let late_ns = self.unsure.late_ns;
                let measured = sum.own_ns == sum.ns && inferred == 0 && late_ns == 0;
                let basis = if measured { Basis::Measured } else { Basis::Derived };
                (basis, (sum.seen_ns.saturating_sub(late_ns), sum.seen_ns + inferred))
            }
            None => {
                let (more, less) = self.unsure.more_and_less(state);
                (Basis::Derived, (sum.seen_ns.saturating_sub(less), sum.seen_ns + inferred + more))
            }
        }
    }
}

/// A share of a duration; more than all of it where what is beyond is cut off later.
pub(super) fn scaled(share: f64, of: Ns) -> Ns {
    (of as f64 * share) as Ns
}

/// `based on 12 snapshots of /proc, one every 4.0 ms`.
pub(super) fn based_on(looks: u64, wall_ns: Ns) -> String {
    let every_ms = wall_ns as f64 / 1e6 / looks.max(1) as f64;
    let s = if looks == 1 { "" } else { "s" };
    format!("based on {looks} snapshot{s} of /proc, one every {every_ms:.1} ms")
}

/// What this tier's account is based on, in words.
fn notes(by_looks: bool, looks: u64, wall_ns: Ns) -> Vec<String> {
    let basis = match by_looks {
        true => "the account is",
        false => "what was waited for is",
    };
    vec![
        format!("{basis} {}", based_on(looks, wall_ns)),
        "the waker of each wait is inferred from the states of other threads".to_owned(),
    ]
}

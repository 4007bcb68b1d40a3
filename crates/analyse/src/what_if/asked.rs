//! What edits are about in a run as it was recorded: how often that was, how much time of all
//! threads and of the path it has, and what of that nothing else can take the place of.

use super::edit::{Change, Edit, SiteName};
use super::lengths::Lengths;
use super::own::Own;
use super::path::{Piece, path};
use super::program::{Step, ThreadId};
use super::refused::Refused;
use super::result::Given;
use super::sites::{Concerns, Sites};
use super::solo_clock::SoloClock;
use super::times::Times;
use model::what_if::EditTimes;
use model::{Ns, Seen, State};

/// What the edits are about.
pub(super) struct Asked {
    pub(super) edits: Vec<EditTimes>,
    /// What they remove of the recorded path while no other thread was under way.
    pub(super) alone_ns: Ns,
}

impl Given<'_> {
    /// What each edit is about, and what they surely remove.
    pub(super) fn asked(
        &self,
        sites: &Sites,
        own: &Own<'_>,
        lengths: &Lengths,
        times: &Times,
    ) -> Result<Asked, Refused> {
        let Self { program, edits, .. } = *self;
        let mut sums = vec![Sum::default(); edits.len()];
        for (thread, id) in program.threads.iter().zip(0..) {
            for at in 0..thread.steps.len() as u32 {
                self.each_concerned(sites, own, (id, at), |edit, times, ns| {
                    sums[edit].times += times;
                    sums[edit].total_ns += ns;
                });
            }
        }
        for (edit, sum) in edits.iter().zip(&sums) {
            if !matches!(edit.change, Change::Cpus(_)) && sum.times == 0 && sum.total_ns < 1.0 {
                return Err(self.no_such_site(edit));
            }
        }
        let of_lock = |thread: ThreadId, step: u32| {
            let at = program.thread(thread).steps[step as usize];
            matches!(at, Step::Await { .. }) && lengths.of(thread, step, at) < at.ns()
        };
        let path = path(program, &Lengths::Recorded, times, of_lock);
        let alone = SoloClock::new(program, times);
        let mut alone_ns = 0.0;
        for piece in &path {
            let step = program.thread(piece.thread).steps[piece.step as usize];
            let part = piece.ns() as f64 / step.ns().max(1) as f64;
            self.each_concerned(sites, own, (piece.thread, piece.step), |edit, _, ns| {
                sums[edit].path_ns += ns.min(piece.ns() as f64);
            });
            let under_way = step.time().is_some_and(|(kind, _)| program.kind(kind).under_way);
            let alone = alone.within(piece.from, piece.to, under_way) as f64 / piece.ns() as f64;
            alone_ns += self.removed(lengths, *piece, part) * alone;
        }
        let told = |(at, (edit, sum)): (u8, (&Edit, Sum))| sum.edit_times(edit, at, own);
        Ok(Asked { edits: (0..).zip(edits.iter().zip(sums)).map(told).collect(), alone_ns: alone_ns as Ns })
    }

    /// Tells which edits concern a step: the edit, how often that is, and how much of its time.
    fn each_concerned(
        &self,
        sites: &Sites,
        own: &Own<'_>,
        (thread, at): (ThreadId, u32),
        mut tell: impl FnMut(usize, u64, f64),
    ) {
        let step = self.program.thread(thread).steps[at as usize];
        let Some((kind, ns)) = step.time() else { return };
        for (edit, concerns) in sites.of(kind, self.program.thread(thread).executes(at)) {
            let in_call = matches!(&self.edits[edit as usize].change, Change::Time(SiteName::Call(_), _));
            let (times, ns) = match step {
                Step::Run { returned, .. } => (u64::from(returned), ns),
                Step::Await { .. } if concerns == Concerns::Lock => (1, ns),
                Step::Await { edge, .. } => {
                    let (_, lag_ns) = self.program.source(edge);
                    (u64::from(lag_ns > 0), ns.min(lag_ns))
                }
                _ => (1, ns),
            };
            // A wait in a call is a part of the call.
            let is_wait = !matches!(step, Step::Run { .. });
            tell(edit.into(), if in_call && is_wait { 0 } else { times }, ns as f64);
        }
        if self.program.kind(kind).is_own() {
            for edit in (0..self.edits.len() as u8).filter(|edit| is_sampled(&self.edits[*edit as usize])) {
                tell(edit.into(), 0, ns as f64 * own.concerned(thread, at, edit));
            }
        }
    }

    /// What the edits remove of a piece of the recorded path, which is this part of its step.
    fn removed(&self, lengths: &Lengths, piece: Piece, part: f64) -> f64 {
        let step = self.program.thread(piece.thread).steps[piece.step as usize];
        let edited = lengths.of(piece.thread, piece.step, step);
        let removed = match step {
            // Of a lock that is edited away all that it takes longer than it may.
            Step::Await { ns, .. } if edited < ns => ns.saturating_sub(edited) as f64 * part,
            Step::Await { edge, .. } => {
                let (_, lag_ns) = self.program.source(edge);
                let left = lengths.lag(self.program, edge);
                piece.ns() as f64 * lag_ns.saturating_sub(left) as f64 / lag_ns.max(1) as f64
            }
            _ => step.ns().saturating_sub(edited) as f64 * part,
        };
        removed.min(piece.ns() as f64)
    }
}

/// Whether samples tell what an edit is about.
fn is_sampled(edit: &Edit) -> bool {
    matches!(
        edit.change,
        Change::Time(SiteName::Function(_) | SiteName::Call(_) | SiteName::State(State::Fault), _)
    )
}

/// The time of a site.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    times: u64,
    total_ns: f64,
    path_ns: f64,
}

impl Sum {
    fn edit_times(self, edit: &Edit, at: u8, own: &Own<'_>) -> EditTimes {
        let times = match &edit.change {
            Change::Time(SiteName::Function(_), _) => Seen::Value(own.count(at)),
            Change::Time(SiteName::Program(_), _) | Change::Cpus(_) => Seen::Absent,
            _ => Seen::Value(self.times),
        };
        let time = |ns: f64| match edit.change {
            Change::Cpus(_) => Seen::Absent,
            _ => Seen::Value(ns.round() as Ns),
        };
        EditTimes {
            edit: edit.text.clone(),
            times,
            total_ns: time(self.total_ns),
            path_ns: time(self.path_ns),
        }
    }
}

//! The replays put together: what the wall clock would have been, between which ends, and what that
//! rests on.

use super::account::Replayed;
use super::chance;
use super::edit::{Change, Edit, SiteName};
use super::lengths::Lengths;
use super::others_share::{Computing, Host};
use super::own::Own;
use super::path::{Piece, path};
use super::program::{Kind, Program, Queued, Step};
use super::refused::Refused;
use super::replay::{Machine, Others, replay};
use super::sites::{Sites, is_lock};
use super::times::recorded;
use super::walls::Walls;
use crate::keys::ReasonKey;
use crate::names::Names;
use model::recording::{Comm, Trailer};
use model::what_if::{Replay, ReplayAssumption, SCHEMA_WHAT_IF, WhatIf};
use model::{Ns, Run, Seen, State};

/// What threads of dwell are named, whatever its file is.
const DWELL: &str = "dwell";

/// A recording and what is asked of it.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) program: &'a Program,
    pub(super) names: &'a Names,
    pub(super) run: &'a Run,
    pub(super) edits: &'a [Edit],
}

impl Given<'_> {
    /// The result.
    pub(super) fn result(&self, events: u64, trailer: &Trailer) -> Result<WhatIf, Refused> {
        let Self { program, names, run, edits } = *self;
        let whole = program.threads.iter().filter(|thread| thread.pid == program.root);
        if program.threads.is_empty() || (program.cut.is_none() && !whole.clone().all(|thread| thread.ended))
        {
            return Err(Refused::Unfinished);
        }
        let (sites, own) = (Sites::new(edits, program, names), Own::new(program, edits, names));
        let lengths = Lengths::edited(program, edits, &sites, &own);
        let as_recorded = recorded(program);
        let asked = self.asked(&sites, &own, &lengths, &as_recorded)?;
        let rest_ns = run.wall_ns.saturating_sub(as_recorded.end);
        drop(as_recorded);
        let (cpus_recorded, cpus) = self.cpus();
        let replayed = |lengths: &Lengths, cpus, edited| {
            let times = replay(program, lengths, Machine { cpus, others: Others::Share });
            let path = path(program, lengths, &times, |_, _| false);
            let own = &own;
            let replayed =
                Replayed { program, names, lengths, own, edited, times: &times, path: &path, cpus };
            let path_account = replayed.account(run)?;
            Ok::<_, Refused>((times.end + rest_ns, path_account, path))
        };
        let (unedited_ns, path_before, _) = replayed(&Lengths::Recorded, cpus_recorded, false)?;
        let (edited_ns, path_after, path) = replayed(&lengths, cpus, true)?;
        let chance_ns = chance::half_interval_ns(program, &path).round() as Ns;
        // What waited behind dwell is no longer in the replay without others.
        let without_dwell_ns = edited_ns.saturating_sub(behind_dwell(program, &path));
        drop(path);
        // On another number of CPUs others need not be on the same ones.
        let others = if cpus == cpus_recorded { Others::Go } else { Others::Elsewhere };
        let least = replay(program, &lengths, Machine { cpus, others });
        let least_path = super::path::path(program, &lengths, &least, |_, _| false);
        let least_ns = (least.end + rest_ns).saturating_sub(behind_dwell(program, &least_path));
        drop((least, least_path));
        let host = Host { cpus: run.host.cpus.max(cpus), others: run.coverage.host_busy.value().copied() };
        let [before, after] = [(&Lengths::Recorded, &path_before), (&lengths, &path_after)]
            .map(|(lengths, path)| Computing::new(program, lengths, path));
        let most_ns = edited_ns + host.others_share_ns(before, after);
        drop(lengths);
        let instruments_ns = run.coverage.overhead_ns.value().map_or(0, |cost| cost.hi);
        let walls = Walls {
            recorded_ns: run.wall_ns,
            unedited_ns,
            edited_ns,
            least_ns: least_ns.min(without_dwell_ns),
            most_ns,
            dwell_ns: instruments_ns,
            chance_ns,
        };
        let scheduling_ns = self.scheduling(cpus_recorded, cpus, edited_ns, rest_ns);
        let (after, saving, all_sure) = walls.estimate(asked.alone_ns, scheduling_ns);
        let threads = program.threads.len() as u64;
        let since_ns = program.cut.map(|cut| cut.saturating_sub(program.threads[0].start));
        let until_ns = since_ns.map_or(Seen::Absent, Seen::Value);
        let steps = program.steps;
        Ok(WhatIf {
            schema: SCHEMA_WHAT_IF.to_owned(),
            command: run.command.clone(),
            started_at: run.started_at.clone(),
            host: run.host.clone(),
            edits: asked.edits,
            wall_ns: run.wall_ns,
            after,
            saving,
            replay: Replay {
                unedited_ns,
                edited_ns,
                rest_ns,
                cpus_recorded,
                cpus,
                threads,
                events,
                steps,
                until_ns,
            },
            path_before,
            path_after,
            assumptions: self.assumptions(trailer, !all_sure),
        })
    }

    /// CPUs that the program could use, and those of the replay.
    fn cpus(&self) -> (u32, u32) {
        let recorded = self.program.cpus;
        let asked = self.edits.iter().rev().find_map(|edit| match edit.change {
            Change::Cpus(cpus) => Some(cpus),
            _ => None,
        });
        (recorded, asked.unwrap_or(recorded))
    }

    /// The wall clock with those edits alone that let threads run earlier and change nothing of
    /// what they do.
    fn scheduling(&self, cpus_recorded: u32, cpus: u32, edited_ns: Ns, rest_ns: Ns) -> Option<Ns> {
        let some: Vec<Edit> = self.edits.iter().filter(|edit| is_scheduling(edit)).cloned().collect();
        match some.len() {
            0 => None,
            all if all == self.edits.len() => Some(edited_ns),
            _ => {
                let Self { program, names, .. } = *self;
                let (sites, own) = (Sites::new(&some, program, names), Own::new(program, &some, names));
                let lengths = Lengths::edited(program, &some, &sites, &own);
                let cpus = if some.iter().any(|edit| matches!(edit.change, Change::Cpus(_))) {
                    cpus
                } else {
                    cpus_recorded
                };
                Some(replay(program, &lengths, Machine { cpus, others: Others::Share }).end + rest_ns)
            }
        }
    }

    fn assumptions(&self, trailer: &Trailer, some_unsure: bool) -> Vec<ReplayAssumption> {
        let Self { program, edits, .. } = *self;
        let any = |is: &dyn Fn(&Change) -> bool| edits.iter().any(|edit| is(&edit.change));
        let of_kind = |is: &dyn Fn(&Kind) -> bool| program.kinds.iter().any(is);
        let queued = |kind: &Kind| kind.queued == Queued::BehindOthers;
        let is_runqueue =
            |change: &Change| matches!(change, Change::Time(SiteName::State(State::Runqueue), _));
        let is_function = |change: &Change| matches!(change, Change::Time(SiteName::Function(_), _));
        let is_fault = |change: &Change| matches!(change, Change::Time(SiteName::State(State::Fault), _));
        let is_call = |change: &Change| matches!(change, Change::Time(SiteName::Call(_), _));
        let is_locks = |change: &Change| matches!(change, Change::Time(SiteName::Locks, _));
        let lost = trailer.lost_events.value().is_none_or(|lost| *lost > 0);
        let when = |holds: bool, assumption| holds.then_some(assumption);
        [
            Some(ReplayAssumption::SameOrder),
            when(some_unsure, ReplayAssumption::UnseenDependencies),
            Some(ReplayAssumption::DevicesAsRecorded),
            when(any(&|change| matches!(change, Change::Cpus(_))), ReplayAssumption::EqualCpus),
            when(!any(&is_runqueue) && of_kind(&queued), ReplayAssumption::OthersAsRecorded),
            when(
                !any(&|change| *change == Change::NoQuota) && of_kind(&|kind| kind.state == State::Throttled),
                ReplayAssumption::QuotaAsRecorded,
            ),
            when(
                any(&is_locks) && of_kind(&|kind| is_lock(kind) && kind.is_lock.is_none()),
                ReplayAssumption::FutexesAreLocks,
            ),
            when(any(&is_function), ReplayAssumption::FunctionBySamples),
            when(any(&is_fault), ReplayAssumption::FaultsBySamples),
            when(any(&is_call) && trailer.sliced.is_some(), ReplayAssumption::CallsBySamples),
            when(lost, ReplayAssumption::LostEvents),
            when(program.cut.is_some(), ReplayAssumption::RestAsRecorded),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// For how long threads on the path waited for a CPU that dwell had.
fn behind_dwell(program: &Program, path: &[Piece]) -> Ns {
    let dwell = ReasonKey::Preempted(Comm::from(DWELL));
    let is = |piece: &&Piece| {
        let step = program.thread(piece.thread).steps[piece.step as usize];
        matches!(step, Step::Queue { kind, .. } if program.kind(kind).reason == dwell)
    };
    path.iter().filter(is).map(|piece| piece.ns()).sum()
}

/// Whether an edit lets threads run earlier and changes nothing of what they do.
fn is_scheduling(edit: &Edit) -> bool {
    matches!(
        edit.change,
        Change::Cpus(_) | Change::NoQuota | Change::Time(SiteName::State(State::Runqueue), _)
    )
}

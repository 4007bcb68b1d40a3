//! Programs that have the disk confirm each of many small writes.

use super::{Cause, Imposed, Manual, Outcome};
use crate::grid::Grid;
use crate::judge::Evidence;
use crate::judge::file_calls::{RemovedCalls, SYNCS, WRITES};
use crate::judge::held_writes::HeldWrites;
use crate::judge::imposed;
use crate::judge::predict::{Kind, Part, Removal};
use crate::judge::results::{hedge, hedge_time, moved};
use crate::judge::signs::{By, Sign};
use model::coverage::Interval;
use model::files::{DurableRow, FileRow};
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::run::WaitRow;
use model::sentence::Piece::{Bytes, Count, Name, Ns as Time, Number};
use model::syscall_rows::CallRow;
use model::wait::WaitTarget;
use model::{Ns, Probe, RuledOut, Seen, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("sync-writes", "writes synced one by one"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program calls `fsync`, `fdatasync`, `msync` or `sync` after each of many small writes, or writes to a file \
               that it opened with `O_SYNC`, `O_DSYNC` or `O_DIRECT`.",
        why: "Each such call waits until the disk has confirmed everything before it: the disk \
              flushes its cache, and mostly the file system commits its journal. That takes as \
              long for one record as for a thousand.",
        rule: "Such calls returned 10 times or more, and what they wait for is on the critical \
               path. Fewer than 10 confirm the end of a piece of work, which is what these calls \
               are for. Of writes to a file that was opened with `O_SYNC` or `O_DSYNC`, each one \
               that waited counts. Other writes, and those whose file is not known, count if at \
               least every other one waits for the disk. Waits that a timer ends do not count, \
               since there the kernel lets the disk catch up. No more than 256 KiB are written for \
               each call: any disk writes that faster than it confirms it.",
        else_it_could_be: "Another program may sync to the same disk, which makes each call \
                           longer: the disk's own figures on the page are of all programs.",
        change: "Confirm several records with one call: one transaction around many statements, \
                 group commit, a flush at intervals. If the data can be made again, do not sync at \
                 all.",
        part: "Counted: if g records share one call, N - N/g of N calls are saved, with g from 10 \
               records to all of them: between nine tenths and all but one.",
        assumes: "The records need not be durable one by one; that is for the program's owner to \
                  say. One call for many records takes no longer than the average call that was \
                  seen.",
    },
    explains: &["disk-latency", "small-io"],
    signs: &[Sign {
        by: By::Waits(is_in_a_sync, CALLS_MIN, "the disk to confirm what was written"),
        although: false,
        change: "sync once for many records: one transaction, a group commit",
    }],
    probe: Some(Imposed { probe: Probe::SkipFlushes, fits: imposed::flushes }),
    check,
};

/// With fewer there is nothing to put together.
const CALLS_MIN: u64 = 10;
/// The least number of records that could share a call.
const GROUP: f64 = 10.0;
/// A slow disk moves so much in less time than it takes to confirm it.
const BYTES_MAX: u64 = 256 << 10;
/// Writes for each wait for the disk, at most.
const WRITES_A_WAIT: u64 = 2;

fn check(evidence: &Evidence<'_>) -> Outcome {
    if let Seen::Unseen(why) = &evidence.run.tables.syscalls {
        return Outcome::Unavailable(why.clone());
    }
    let synced = evidence.calls_named(SYNCS).into_iter().map(Confirms::all);
    let calls: Vec<Confirms<'_>> = synced.chain(durable_writes(evidence)).collect();
    let times: u64 = calls.iter().map(|one| one.calls).sum();
    if times < CALLS_MIN {
        let calls = Count(times, "sync call".into());
        return Outcome::RuledOut(RuledOut::below(calls, say!("made"), Number(CALLS_MIN)));
    }
    match written(evidence, &calls) {
        Some(bytes) if bytes / times > BYTES_MAX => {
            let what = say!("written per sync");
            Outcome::RuledOut(RuledOut::above(Bytes(bytes / times), what, Bytes(BYTES_MAX)))
        }
        _ => Outcome::Found(vec![finding(evidence, &calls, times)]),
    }
}

fn is_in_a_sync(wait: &WaitRow) -> bool {
    wait.call.syscall().is_some_and(|call| SYNCS.contains(&&*call.name))
}

/// Calls of a row that wait for the disk to confirm what was written.
#[derive(Debug, Clone)]
struct Confirms<'a> {
    index: usize,
    row: &'a CallRow,
    /// How many of them do.
    calls: u64,
    /// Their time.
    total_ns: Ns,
    /// The files, where only writes to these do: those with most time first, by their rows.
    files: Vec<(usize, &'a FileRow, &'a DurableRow)>,
}

impl<'a> Confirms<'a> {
    fn all((index, row): (usize, &'a CallRow)) -> Self {
        Self { index, row, calls: row.calls, total_ns: row.total_ns, files: Vec::new() }
    }

    /// What these calls have of the row's time.
    fn of_row(&self) -> f64 {
        (self.total_ns as f64 / self.row.total_ns.max(1) as f64).min(1.0)
    }

    /// Such a part of these calls.
    fn gone(&self, part: Part) -> RemovedCalls<'a> {
        let of_row = self.of_row();
        RemovedCalls { row: self.row, calls: self.calls, part: (part.0 * of_row, part.1 * of_row) }
    }

    /// Whether such a wait is one of these.
    fn waits(&self, wait: &WaitRow) -> bool {
        let is_of =
            |file: &FileRow| matches!(&wait.on, WaitTarget::File(Seen::Value(path)) if *path == file.path);
        self.files.is_empty() || self.files.iter().any(|(_, file, _)| is_of(file))
    }
}

/// Calls that write, and wait for the disk to confirm it.
fn durable_writes<'a>(evidence: &Evidence<'a>) -> Vec<Confirms<'a>> {
    let confirms = |row: &CallRow| {
        let waits = evidence.waits_in(State::Disk, &[&row.name.name]);
        waits.iter().map(|(_, wait)| confirmed(wait)).sum::<u64>() * WRITES_A_WAIT >= row.calls
    };
    let writes = evidence.calls_named(WRITES).into_iter().filter(|(_, row)| row.calls >= CALLS_MIN);
    let of_row = |(index, row): (usize, &'a CallRow)| {
        let files = durable_files(evidence, row);
        let calls: u64 = files.iter().map(|(_, _, durable)| durable.calls).sum();
        if calls < CALLS_MIN || confirms(row) {
            return confirms(row).then(|| Confirms::all((index, row)));
        }
        let total_ns: Ns = files.iter().map(|(_, _, durable)| durable.total_ns).sum();
        Some(Confirms {
            index,
            row,
            calls: calls.min(row.calls),
            total_ns: total_ns.min(row.total_ns),
            files,
        })
    };
    writes.filter_map(of_row).collect()
}

/// The files that such a call wrote to, each write waiting to be durable.
fn durable_files<'a>(evidence: &Evidence<'a>, row: &CallRow) -> Vec<(usize, &'a FileRow, &'a DurableRow)> {
    let rows = evidence.run.tables.files.value().map_or(&[][..], |files| files.rows.as_slice());
    let all = rows.iter().enumerate().filter_map(|(index, file)| Some((index, file, file.durable.value()?)));
    let mut all: Vec<_> = all.filter(|(_, _, durable)| *durable.call == *row.name.name).collect();
    all.sort_by_key(|(index, _, durable)| (std::cmp::Reverse(durable.total_ns), *index));
    all
}

/// Waits that no timer ended: it ends those of a writer that the kernel slows down.
fn confirmed(wait: &WaitRow) -> u64 {
    wait.calls.saturating_sub(HeldWrites::of([wait]).times)
}

/// What was written: to files that sync each write, else by the program's calls, or to all disks.
fn written(evidence: &Evidence<'_>, confirm: &[Confirms<'_>]) -> Option<u64> {
    if confirm.iter().all(|one| !one.files.is_empty()) {
        let files = confirm.iter().flat_map(|one| &one.files);
        return Some(files.map(|(_, _, durable)| durable.bytes).sum());
    }
    let calls = evidence.calls_named(WRITES);
    let moved = |(_, row): &(usize, &CallRow)| moved(row).value().map(|moved| moved.bytes);
    let by_calls: Option<u64> = calls.iter().map(moved).sum();
    let by_disks = evidence.run.series.value().and_then(|series| {
        let (disks, grid) = (series.disks.value()?, Grid::of(series, evidence.run.wall_ns));
        let rate: f64 = disks.iter().map(|disk| grid.mean(&disk.written_bytes_per_s)).sum();
        Some((rate * evidence.run.wall_ns as f64 / 1e9) as u64)
    });
    // What is mapped is written without a call, and others write to the disk as well.
    let mapped = !evidence.calls_named(&["msync", "sync", "syncfs"]).is_empty();
    by_calls.filter(|_| !mapped && !calls.is_empty()).or(by_disks)
}

fn finding(evidence: &Evidence<'_>, calls: &[Confirms<'_>], times: u64) -> Finding {
    let total_ns: Ns = calls.iter().map(|one| one.total_ns).sum();
    let waits_of = |one: &Confirms<'_>| {
        let waits = evidence.waits_in(State::Disk, &[&one.row.name.name]);
        waits.into_iter().filter(|(_, wait)| one.waits(wait)).collect::<Vec<_>>()
    };
    let waits: Vec<_> = calls.iter().flat_map(waits_of).collect();
    let path_ns: Ns = waits.iter().map(|(_, wait)| wait.path_ns).sum();
    let most = calls.iter().max_by_key(|one| one.total_ns).expect("there are some");
    let (row, call) = (most.index, most.row);
    let longest = waits.iter().max_by_key(|(_, wait)| wait.path_ns);
    let durable = most.files.first();
    let by_file = durable.map(|(row, _, _)| RowRef::File(*row));
    let place = by_file.or(longest.map(|(row, _)| RowRef::Wait(*row))).unwrap_or(RowRef::Call(row));
    let share_ns = Interval { lo: path_ns, hi: total_ns.min(evidence.run.whole_ns()).max(path_ns) };
    let held = HeldWrites::of(waits.iter().map(|(_, wait)| *wait));
    let part = (1.0 - 1.0 / GROUP, 1.0 - 1.0 / times as f64);
    let gone: Vec<_> = calls.iter().map(|one| one.gone(part)).collect();
    let goes = evidence.without(&gone, Kind::Waiting);
    let writes = WRITES.contains(&&*call.name.name);
    let named = match durable {
        Some((_, named, _)) => say!(" of ", Name(named.path.clone())),
        None => file(longest.map(|(_, wait)| *wait)),
    };
    let flags = durable.map(|(_, opened, durable)| {
        let opened = opened.flags.join(", ");
        say!(
            "opened with ",
            Name(opened),
            ": ",
            Count(durable.calls, "write".into()),
            " of ",
            Bytes(durable.bytes),
            " in all"
        )
    });
    Finding {
        cause: CAUSE.name.clone(),
        place,
        what: say!(Name(call.name.to_string())).and(evidence.caller(&[&call.name])).and(named).and(say!(
            if writes { " waits for the disk in each of " } else { " is called " },
            hedge(call),
            Count(times, if writes { "call" } else { "time" }.into()),
            ", and takes ",
            hedge_time(call),
            Time(total_ns)
        )),
        change: if writes {
            say!("write many records at once, or open the file without O_SYNC and sync once for many records")
        } else {
            say!("sync once for many records")
        },
        share_ns,
        saving: evidence.saving(&Removal::Parts(goes), part, SavingBasis::Counted),
        evidence: [
            Some(say!(Count(times, "call".into()), ", each ", Time(total_ns / times), " on average")),
            flags,
        ]
        .into_iter()
        .chain([held.said()])
        .flatten()
        .collect(),
        assumes: vec![say!("the records need not be durable one by one")],
        verify: vec![say!("measure both versions: dwell compare --predicted ID BEFORE AFTER")],
        explains: Vec::new(),
        belief: None,
    }
}

fn file(wait: Option<&WaitRow>) -> Sentence {
    match wait.map(|wait| &wait.on) {
        Some(WaitTarget::File(Seen::Value(path))) => say!(" of ", Name(path.clone())),
        _ => Sentence::default(),
    }
}

#[cfg(test)]
mod tests;

//! Programs that have the disk confirm each of many small writes.

use super::{Cause, Manual, Outcome};
use crate::grid::Grid;
use crate::judge::Evidence;
use crate::judge::along::Along;
use crate::judge::file_calls::{Gone, SYNCS, WRITES};
use crate::judge::predict::{Goes, Kind};
use crate::judge::results::moved;
use model::coverage::Interval;
use model::finding::{CauseName, Finding, Known, Place};
use model::recording::Tier;
use model::run::{CallRow, WaitRow};
use model::sentence::Piece::{Bytes, Count, Name, Ns as Time};
use model::wait::{WaitTarget, WakerKind};
use model::{Ns, Seen, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName { id: "sync-writes", title: "writes synced one by one" },
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program calls `fsync`, `fdatasync`, `msync` or `sync` after each of many small writes, or writes to a file \
               that it opened with `O_SYNC`, `O_DSYNC` or `O_DIRECT`.",
        why: "Each such call waits until the disk has confirmed everything before it: a flush of the disk's cache, and mostly \
              a commit of the file system's journal. That takes as long for one record as for a thousand.",
        rule: "Such calls returned 10 times or more, and what they wait for is on the path. Fewer are one confirmation \
               at the end of a piece of work, which is what these calls are for. Writes count where at least every other one \
               waits for the disk, and not to let it catch up, which a timer ends. No more than 256 KiB are written for each: \
               that takes any disk less than its confirmation.",
        else_it_could_be: "Another program that syncs to the same disk makes each call longer: the disk's own figures \
                           on the page are of all programs.",
        change: "Confirm several records with one call: one transaction around many statements, group commit, a flush by \
                 time. Where the data can be made again, do not sync at all.",
        part: "Of N calls those that g records share go, N - N/g. Counted: with g from 10 records to all of them, \
               between nine tenths and all but one. At most entering and leaving the kernel goes along, and the \
               time that the thread waited for a CPU after those waits.",
        assumes: "The records need not be durable one by one; that is for the program's owner to say. One call for many \
                  records takes no longer than the mean of those that were seen.",
    },
    explains: &["disk-latency", "small-io"],
    check,
};

/// With fewer there is nothing to put together.
const CALLS_MIN: u64 = 10;
/// The least number of records that could share a call.
const GROUP: f64 = 10.0;
/// A slow disk moves so much in less time than it takes to confirm it.
const BYTES_MAX: u64 = 256 << 10;
/// One of so many writes waits for the disk, at least.
const WRITES_A_WAIT: u64 = 2;

fn check(evidence: &Evidence<'_>) -> Outcome {
    if let Seen::Unseen(why) = evidence.syscalls {
        return Outcome::Unavailable(why.clone());
    }
    let synced = evidence.calls_named(SYNCS);
    let calls = [synced, durable_writes(evidence)].concat();
    let times: u64 = calls.iter().map(|(_, row)| row.calls).sum();
    if times < CALLS_MIN {
        return Outcome::RuledOut(say!("the program synced ", Count(times, "time")));
    }
    match written(evidence) {
        Some(bytes) if bytes / times > BYTES_MAX => Outcome::RuledOut(say!(
            "the program synced ",
            Count(times, "time"),
            ", for ",
            Bytes(bytes / times),
            " each"
        )),
        _ => Outcome::Found(vec![finding(evidence, &calls, times)]),
    }
}

/// Calls that write, and wait for the disk to confirm it.
fn durable_writes<'a>(evidence: &Evidence<'a>) -> Vec<(usize, &'a CallRow)> {
    let confirms = |row: &CallRow| {
        let waits = evidence.waits_in(State::Disk, &[&row.name.name]);
        waits.iter().map(|(_, wait)| confirmed(wait)).sum::<u64>() * WRITES_A_WAIT >= row.calls
    };
    evidence
        .calls_named(WRITES)
        .into_iter()
        .filter(|(_, row)| row.calls >= CALLS_MIN && confirms(row))
        .collect()
}

/// Waits that no timer ended: it ends those of a writer that the kernel slows down.
fn confirmed(wait: &WaitRow) -> u64 {
    let timed: u64 =
        wait.by.iter().filter(|waker| waker.kind == WakerKind::Timer).map(|waker| waker.times).sum();
    wait.calls.saturating_sub(timed)
}

/// What was written: by the program's calls, or to all disks.
fn written(evidence: &Evidence<'_>) -> Option<u64> {
    let calls = evidence.calls_named(WRITES);
    let moved = |(_, row): &(usize, &CallRow)| moved(row).value().map(|moved| moved.bytes);
    let by_calls: Option<u64> = calls.iter().map(moved).sum();
    let disks = || evidence.series.value()?.disks.value();
    let grid = Grid::new(0, evidence.wall_ns);
    let by_disks = disks().map(|disks| {
        let rate: f64 = disks.iter().map(|disk| grid.mean(&disk.written_bytes_per_s)).sum();
        (rate * evidence.wall_ns as f64 / 1e9) as u64
    });
    // What is mapped is written without a call, and others write to the disk as well.
    let mapped = !evidence.calls_named(&["msync", "sync", "syncfs"]).is_empty();
    by_calls.filter(|_| !mapped && !calls.is_empty()).or(by_disks)
}

fn finding(evidence: &Evidence<'_>, calls: &[(usize, &CallRow)], times: u64) -> Finding {
    let total_ns: Ns = calls.iter().map(|(_, row)| row.total_ns).sum();
    let names: Vec<&str> = calls.iter().map(|(_, row)| &*row.name.name).collect();
    let waits = evidence.waits_in(State::Disk, &names);
    let path_ns: Ns = waits.iter().map(|(_, wait)| wait.path_ns).sum();
    let (most, call) = calls.iter().max_by_key(|(_, row)| row.total_ns).copied().expect("there are some");
    let longest = waits.iter().max_by_key(|(_, wait)| wait.path_ns);
    let place = longest.map_or(Place::Call(most), |(row, _)| Place::Wait(*row));
    let share_ns = Interval { lo: path_ns, hi: total_ns.min(evidence.whole_ns).max(path_ns) };
    let part = (1.0 - 1.0 / GROUP, 1.0 - 1.0 / times as f64);
    let queued_ns = evidence.queued_after(waits.iter().map(|(_, wait)| wait.calls).sum());
    let gone: Vec<_> = calls.iter().map(|(_, row)| Gone { row, calls: row.calls, part }).collect();
    let goes = evidence.without(&gone, Along::Wrappers, Kind::Waiting).and_beside(queued_ns);
    let writes = WRITES.contains(&&*call.name.name);
    Finding {
        cause: CAUSE.name,
        place,
        what: say!(Name(call.name.to_string()))
            .and(evidence.caller(&[&call.name]))
            .and(file(longest.map(|(_, wait)| *wait)))
            .and(say!(
                if writes { " waits for the disk in each of " } else { " is called " },
                Count(times, if writes { "call" } else { "time" }),
                ", and takes ",
                Time(total_ns)
            )),
        change: if writes {
            say!("write many records at once, or open the file without O_SYNC and sync once for many")
        } else {
            say!("sync once for many records")
        },
        share_ns,
        saving: evidence.saving(&Goes::Parts(goes), part, Known::Counted),
        evidence: vec![say!(Count(times, "call"), ", each ", Time(total_ns / times), " on average")],
        assumes: vec![say!("the records need not be durable one by one")],
        verify: vec![say!("dwell compare --predicted of this run's --json, with both versions")],
        explains: Vec::new(),
    }
}

fn file(wait: Option<&WaitRow>) -> Sentence {
    match wait.map(|wait| &wait.on) {
        Some(WaitTarget::File(Seen::Value(path))) => say!(" of ", Name(path.clone())),
        _ => Sentence::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{call, disk, series, step, wait};
    use crate::judge::samples::{found, judged, run, saves, sites};
    use model::prediction::Site;
    use model::{Diagnosis, Reason, Run};

    const MS: Ns = 1_000_000;

    /// A second, of which 900 ms are in this call.
    fn of(name: &'static str, calls: u64) -> Run {
        let mut run = run(&[(State::User, 100 * MS), (State::Disk, 900 * MS)]);
        run.syscalls = Seen::Value(vec![call(name, calls, 0, 900 * MS)]);
        run.path = vec![step(State::Kernel, Reason::Syscall(name.into()), 900 * MS)];
        run
    }

    fn diagnosis(run: &Run, name: &'static str) -> Diagnosis {
        judged(run, &sites(run, &[(Site::Call(name.into()), [900 * MS; 3])]))
    }

    #[test]
    fn nine_tenths_of_many_syncs_go_or_all_but_one() {
        let run = of("fsync", 100);
        let diagnosis = diagnosis(&run, "fsync");
        assert_eq!(saves(found(&diagnosis, "sync-writes").expect("it is there")), (810 * MS, 891 * MS));
    }

    #[test]
    fn the_same_without_clocks() {
        let run = of("fsync", 100);
        let diagnosis = judged(&run, &Seen::unseen("no clocks"));
        assert_eq!(saves(found(&diagnosis, "sync-writes").expect("it is there")), (810 * MS, 891 * MS));
    }

    #[test]
    fn a_few_syncs_are_no_cause() {
        let run = of("fsync", 9);
        let diagnosis = diagnosis(&run, "fsync");
        assert!(found(&diagnosis, "sync-writes").is_none());
        assert!(diagnosis.ruled_out.iter().any(|(cause, _)| cause.id == "sync-writes"));
    }

    fn written(calls: u64, waits: u64, by: WakerKind) -> Diagnosis {
        let mut run = of("write", calls);
        let file = WaitTarget::File(Seen::Value("/db".into()));
        run.waits = vec![wait(State::Disk, "write", file, waits, 890 * MS, by)];
        diagnosis(&run, "write")
    }

    #[test]
    fn writes_that_wait_for_the_disk_each_time_are_the_same() {
        assert!(found(&written(100, 300, WakerKind::Device), "sync-writes").is_some());
        assert!(found(&written(100, 50, WakerKind::Device), "sync-writes").is_some());
        assert!(found(&written(100, 49, WakerKind::Device), "sync-writes").is_none());
    }

    #[test]
    fn a_writer_that_the_kernel_slows_down_is_none() {
        assert!(found(&written(100, 100, WakerKind::Timer), "sync-writes").is_none());
    }

    #[test]
    fn each_confirmation_of_much_data_is_worth_its_time() {
        let mut run = of("fsync", 100);
        let with = |run: &mut Run, bytes: u64| {
            let disk = disk("vda", 100, bytes, 0.0);
            run.series = Seen::Value(series(run, disk));
            found(&diagnosis(run, "fsync"), "sync-writes").is_some()
        };
        assert!(with(&mut run, 100 * BYTES_MAX));
        assert!(!with(&mut run, 101 * BYTES_MAX));
    }
}

//! Programs that wait for a disk that can do no more.

use super::{Cause, Imposed, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::file_calls::{READS, WRITES};
use crate::judge::held_writes::HeldWrites;
use crate::judge::imposed;
use crate::judge::limits::SHARE_OF_WALL_MIN;
use crate::judge::predict::{Kind, Parts, Removal, faster};
use crate::judge::results::moved;
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::run::WaitRow;
use model::sentence::Piece::{Bytes, Name, Ns as Time, Share};
use model::series::{DiskSeries, SeriesVerdict};
use model::wait::SyscallName;
use model::{Ns, Probe, RuledOut, Seen, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("disk-throughput", "a disk at its limit"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program waits for a disk that already has as many requests as it can serve.",
        why: "The limit is what the disk moves in a second. More requests at once, or a faster \
              program, only make each wait longer. Writes go to memory first; once much of it is \
              used, the kernel makes the writers sleep until the disk has caught up (dirty \
              throttling).",
        rule: "A disk is at its limit in a step of the host's metrics if it was busy for nine \
               tenths of the step, as far as the kernel's samples tell, with one and a half \
               requests under way or more on average. A busy disk alone is not at its limit: many \
               serve several requests at once. The disk was at its limit for a tenth of the wall \
               clock or more, and for a third or more of the time for which the program waited for \
               it. At least half of the bytes that the disk moved are the program's: by its calls, \
               or by the requests that it waited for. Requests of `sync` and `syncfs` do not \
               count, since these wait for what anybody wrote.",
        else_it_could_be: "Another program may use the disk as well: the disk's figures are of all \
                           programs. A hypervisor may hold requests back.",
        change: "Move fewer bytes: compress them, leave out what is not needed, write temporary \
                 files to memory (`tmpfs`), keep in memory what is read again. Or use a faster \
                 disk.",
        part: "Assumed: with s times fewer bytes, 1 - 1/s of the waits are saved. The factor s is \
               from 1.5, which most data can be compressed to, to all bytes gone.",
        assumes: "The requests of this program fill the disk. With fewer bytes, the time falls in \
                  proportion.",
    },
    explains: &["disk-latency"],
    signs: &[],
    probe: Some(Imposed { probe: Probe::WarmFiles, fits: imposed::reads_files }),
    check,
};

/// It is at its limit for this part of the time for which the program waits. While a disk stands
/// still it is not known to be.
const LIMIT_PART: Ns = 3;
/// How many times fewer bytes at least.
const FEWER: f64 = 1.5;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let series = match &evidence.run.series {
        Seen::Value(series) => series,
        Seen::Absent => return Outcome::RuledOut(say!("no disk activity").into()),
        Seen::Unseen(why) => return Outcome::Unavailable(why.clone()),
    };
    let disks = match &series.disks {
        Seen::Value(disks) => disks,
        Seen::Absent => return Outcome::RuledOut(say!("no disk activity").into()),
        Seen::Unseen(why) => return Outcome::Unavailable(why.clone()),
    };
    let limited = |disk: &&DiskSeries| {
        let says = |verdict: &SeriesVerdict| matches!(verdict, SeriesVerdict::DiskAtLimit { name, .. } if *name == disk.name);
        series.verdicts.iter().any(says)
    };
    let busiest = disks.iter().map(|disk| disk.at_limit_share).fold(0.0, f64::max);
    let limited: Vec<&DiskSeries> = disks.iter().filter(limited).collect();
    if limited.is_empty() {
        let what = say!("of the time with the busiest disk at its limit");
        return Outcome::RuledOut(RuledOut::below(Share(busiest), what, Share(SHARE_OF_WALL_MIN)));
    }
    let findings = limited.into_iter().filter_map(|disk| finding(evidence, disk, disks.len() == 1));
    Outcome::of(findings, say!("a disk was at its limit, but not mainly by this program").into())
}

/// Calls that wait for whatever anybody wrote to a filesystem.
const OF_ALL: [&str; 2] = ["sync", "syncfs"];

/// Bytes that the program moved of what the disk did: by its calls, unless they moved so many that
/// most were in memory; at least by the requests that it waited for, but for those that may be of
/// what others wrote.
fn own_bytes(evidence: &Evidence<'_>, disk: &DiskSeries, waits: &[(usize, &WaitRow)]) -> u64 {
    let rows = [READS, WRITES].into_iter().flat_map(|names| evidence.calls_named(names));
    let by_calls: u64 = rows.filter_map(|(_, row)| moved(row).value().map(|moved| moved.bytes)).sum();
    let of_all = |wait: &WaitRow| wait.call.syscall().is_some_and(|call| OF_ALL.contains(&&*call.name));
    let own = waits.iter().filter(|(_, wait)| !of_all(wait));
    let requests: u64 = own.filter_map(|(_, wait)| wait.requests.value()).sum();
    let by_calls = if by_calls / 2 > disk.bytes { 0 } else { by_calls };
    by_calls.max(disk.bytes / disk.requests.max(1) * requests)
}

/// `only`: there is no other disk, so that waits on one that has no name are on this one.
fn finding(evidence: &Evidence<'_>, disk: &DiskSeries, only: bool) -> Option<Finding> {
    let is_on = |wait: &WaitRow| match &wait.device {
        Seen::Value(name) => *name == disk.name,
        _ => only,
    };
    let of_disk = || evidence.run.waits.iter().enumerate().filter(|(_, wait)| wait.reason == State::Disk);
    let here: Vec<_> = of_disk().filter(|(_, wait)| is_on(wait)).collect();
    let (row, most) = here.iter().max_by_key(|(_, wait)| wait.path_ns).copied()?;
    let path_ns: Ns = here.iter().map(|(_, wait)| wait.path_ns).sum();
    let at_limit_ns = (disk.at_limit_share * evidence.run.wall_ns as f64) as Ns;
    if own_bytes(evidence, disk, &here) < disk.bytes / 2 || at_limit_ns * LIMIT_PART < path_ns {
        return None;
    }
    let total_ns: Ns = here.iter().map(|(_, wait)| wait.total_ns).sum();
    let goes = Parts {
        cpu_ns: 0,
        account_ns: Interval { lo: (path_ns as f64 * faster(FEWER)) as Ns, hi: path_ns },
        kind: Kind::Waiting,
    };
    let rate = disk.bytes as f64 * 1e9 / evidence.run.wall_ns.max(1) as f64;
    let held = HeldWrites::of(here.iter().map(|(_, wait)| *wait));
    let call = most.call.syscall().map_or("a page fault".to_owned(), ToString::to_string);
    Some(Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Wait(row),
        what: say!(
            "the disk ",
            Name(disk.name.clone()),
            " is at its limit for ",
            Share(disk.at_limit_share),
            " of the time, and the program waits ",
            Time(total_ns),
            " for it, most of it in ",
            Name(call)
        ),
        change: say!("move fewer bytes: compress them, keep them in memory"),
        share_ns: Interval { lo: path_ns, hi: path_ns },
        saving: evidence.saving(&Removal::Parts(goes), (faster(FEWER), 1.0), SavingBasis::Assumed),
        evidence: [Some(say!(Bytes(rate as u64), " per second on average, by all programs")), held.said()]
            .into_iter()
            .chain([by_ladder(evidence, most)])
            .flatten()
            .collect(),
        assumes: vec![
            say!("the requests of this program fill the disk"),
            say!("its data can be made at least 1.5 times smaller"),
        ],
        verify: vec![say!("`series.disks` in --json has the disk's figures over time")],
        explains: Vec::new(),
        belief: None,
    })
}

/// What the host's ladder measured of a disk that is read or written in order.
fn by_ladder(evidence: &Evidence<'_>, most: &WaitRow) -> Option<Sentence> {
    let costs = evidence.run.costs.value()?;
    let writes = most.call.syscall().is_some_and(SyscallName::writes);
    let (cost, doing) = match writes {
        true => (&costs.sequential_write_ns, "a disk of this host writes in order "),
        false => (&costs.sequential_read_ns, "a disk of this host reads in order "),
    };
    let ns = cost.value()?.median;
    let rate = (f64::from(1 << 20) * 1e9 / ns) as u64;
    (ns > 0.0).then(|| say!(doing, Bytes(rate), " per second (", Name(costs.from.clone()), ")"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{disk, series, wait};
    use crate::judge::samples::{found, judged, run, saves, sites};
    use model::prediction::Site;
    use model::wait::{WaitTarget, WakerKind};
    use model::{Diagnosis, Run};

    const MS: Ns = 1_000_000;

    fn diagnosis(own: u64, at_limit_share: f64) -> Diagnosis {
        in_call("read", own, at_limit_share)
    }

    /// A second, 900 ms of which are waits for requests to a disk that did 1000 in all.
    fn in_call(call: &'static str, own: u64, at_limit_share: f64) -> Diagnosis {
        let mut run: Run = run(&[(State::User, 100 * MS), (State::Disk, 900 * MS)]);
        let file = WaitTarget::File(Seen::Value("/data".into()));
        run.waits = vec![wait(State::Disk, call, file, own, 900 * MS, WakerKind::Device)];
        run.series = Seen::Value(series(&run, disk("vda", 1000, 256_000_000, at_limit_share)));
        judged(&run, &sites(&run, &[(Site::State(State::Disk), [900 * MS; 3])]))
    }

    #[test]
    fn a_third_of_the_waits_goes_with_half_as_much_again_of_room() {
        let diagnosis = diagnosis(900, 0.8);
        assert_eq!(saves(found(&diagnosis, "disk-throughput").expect("it is there")), (300 * MS, 900 * MS));
    }

    #[test]
    fn how_long_writers_were_held_is_part_of_the_evidence() {
        let said = |waker: WakerKind| {
            let mut run: Run = run(&[(State::User, 100 * MS), (State::Disk, 900 * MS)]);
            let file = WaitTarget::File(Seen::Value("/data".into()));
            let times = 40;
            run.waits = vec![
                wait(State::Disk, "write", file.clone(), 900, 500 * MS, WakerKind::Device),
                wait(State::Disk, "write", file, times, 400 * MS, waker),
            ];
            run.series = Seen::Value(series(&run, disk("vda", 1000, 256_000_000, 0.8)));
            let diagnosis = judged(&run, &sites(&run, &[(Site::State(State::Disk), [900 * MS; 3])]));
            found(&diagnosis, "disk-throughput").expect("it is there").evidence.len()
        };
        assert_eq!((said(WakerKind::Timer), said(WakerKind::Device)), (2, 1));
    }

    #[test]
    fn a_disk_with_room_and_one_that_others_fill_are_no_cause() {
        assert!(found(&diagnosis(900, 0.3), "disk-throughput").is_some());
        assert!(
            found(&diagnosis(900, 0.29), "disk-throughput").is_none(),
            "for less than a third of the waits"
        );
        assert!(found(&diagnosis(500, 0.8), "disk-throughput").is_some());
        assert!(found(&diagnosis(499, 0.8), "disk-throughput").is_none());
    }

    #[test]
    fn what_waits_for_all_that_anybody_wrote_does_not_tell_whose_it_is() {
        let is_found = |call| found(&in_call(call, 900, 0.8), "disk-throughput").is_some();
        assert_eq!(["fsync", "syncfs", "sync"].map(is_found), [true, false, false]);
    }
}

//! Programs that have the disk confirm each of many small writes.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::predict::Goes;
use model::coverage::Interval;
use model::finding::{CauseName, Finding, Known, Place};
use model::prediction::Site;
use model::recording::Tier;
use model::run::{CallRow, WaitRow};
use model::sentence::Piece::{Count, Name, Ns as Time};
use model::wait::{WaitCall, WaitTarget};
use model::{Ns, Seen, Sentence, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName { id: "sync-writes", title: "writes synced one by one" },
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program calls `fsync`, `fdatasync`, `msync` or `sync` after each of many small writes.",
        why: "Each call waits until the disk has confirmed everything before it: a flush of the disk's cache, and mostly \
              a commit of the file system's journal. That takes as long for one record as for a thousand.",
        rule: "Such calls returned 10 times or more, and what they wait for is on the path. Fewer are one confirmation \
               at the end of a piece of work, which is what these calls are for.",
        else_it_could_be: "Another program that syncs to the same disk makes each call longer: the disk's own figures \
                           on the page are of all programs.",
        change: "Confirm several records with one call: one transaction around many statements, group commit, a flush by \
                 time. Where the data can be made again, do not sync at all.",
        part: "Of N calls those that g records share go, N - N/g. Counted: with g from 10 records to all of them, \
               between nine tenths and all but one.",
        assumes: "The records need not be durable one by one; that is for the program's owner to say. One call for many \
                  records takes no longer than the mean of those that were seen.",
    },
    explains: &["disk-latency", "small-io"],
    check,
};

const CALLS: &[&str] = &["fsync", "fdatasync", "msync", "sync", "syncfs", "sync_file_range"];

/// With fewer there is nothing to put together.
const CALLS_MIN: u64 = 10;
/// The least number of records that could share a call.
const GROUP: f64 = 10.0;

fn check(evidence: &Evidence<'_>) -> Outcome {
    if let Seen::Unseen(why) = evidence.syscalls {
        return Outcome::Unavailable(why.clone());
    }
    let calls = evidence.calls_named(CALLS);
    let times: u64 = calls.iter().map(|(_, row)| row.calls).sum();
    if times < CALLS_MIN {
        return Outcome::RuledOut(say!("the program synced ", Count(times, "time")));
    }
    Outcome::Found(vec![finding(evidence, &calls, times)])
}

fn finding(evidence: &Evidence<'_>, calls: &[(usize, &CallRow)], times: u64) -> Finding {
    let total_ns: Ns = calls.iter().map(|(_, row)| row.total_ns).sum();
    let waits: Vec<(usize, &WaitRow)> =
        evidence.waits.iter().enumerate().filter(|(_, wait)| is_sync(wait)).collect();
    let path_ns: Ns = waits.iter().map(|(_, wait)| wait.path_ns).sum();
    let (most, call) = calls.iter().max_by_key(|(_, row)| row.total_ns).copied().expect("there are some");
    let longest = waits.iter().max_by_key(|(_, wait)| wait.path_ns);
    let place = longest.map_or(Place::Call(most), |(row, _)| Place::Wait(*row));
    let share_ns = Interval { lo: path_ns, hi: total_ns.min(evidence.whole_ns).max(path_ns) };
    let sites = calls.iter().map(|(_, row)| Site::Call(row.name.clone())).collect();
    let part = (1.0 - 1.0 / GROUP, 1.0 - 1.0 / times as f64);
    Finding {
        cause: CAUSE.name,
        place,
        what: say!(Name(call.name.to_string())).and(file(longest.map(|(_, wait)| *wait))).and(say!(
            " is called ",
            Count(times, "time"),
            " and takes ",
            Time(total_ns)
        )),
        change: say!("sync once for many records"),
        share_ns,
        saving: evidence.saving(&Goes::Sites(sites, share_ns), part, Known::Counted),
        evidence: vec![say!(Count(times, "call"), ", each ", Time(total_ns / times), " on average")],
        assumes: vec![say!("the records need not be durable one by one")],
        verify: Vec::new(),
        explains: Vec::new(),
    }
}

fn is_sync(wait: &WaitRow) -> bool {
    matches!(&wait.call, WaitCall::Syscall(name) if CALLS.contains(&&*name.name))
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
    use crate::judge::samples::{call, found, judged, run, saves, sites};
    use model::State;

    const MS: Ns = 1_000_000;

    fn of(calls: u64) -> model::Run {
        let mut run = run(&[(State::User, 100 * MS), (State::Disk, 900 * MS)]);
        run.syscalls = Seen::Value(vec![CallRow { total_ns: 900 * MS, ..call("fsync", calls, 0) }]);
        run
    }

    #[test]
    fn nine_tenths_of_many_syncs_go_or_all_but_one() {
        let run = of(100);
        let clocks = sites(&run, &[(Site::Call("fsync".into()), [900 * MS; 3])]);
        let diagnosis = judged(&run, &clocks);
        let finding = found(&diagnosis, "sync-writes").expect("it is there");
        assert_eq!(saves(finding), (810 * MS, 891 * MS));
    }

    #[test]
    fn a_few_syncs_are_no_cause() {
        let run = of(9);
        let clocks = sites(&run, &[(Site::Call("fsync".into()), [900 * MS; 3])]);
        let diagnosis = judged(&run, &clocks);
        assert!(found(&diagnosis, "sync-writes").is_none());
        assert!(diagnosis.ruled_out.iter().any(|(cause, _)| cause.id == "sync-writes"));
    }
}

//! Programs that read from a disk a little at a time, one request after the other.

use super::{Cause, Imposed, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::disk_reads::DiskReads;
use crate::judge::file_calls::{ASKS, LISTS, OPENS, READS, SYNCS};
use crate::judge::imposed;
use crate::judge::predict::{Kind, Parts, Removal, faster};
use crate::judge::results::moved;
use crate::judge::signs::{By, Sign};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::run::{ThreadLedger, WaitRow};
use model::sentence::Piece::{Bytes, Count, Name, Ns as Time, Number, Share, Times};
use model::series::SeriesVerdict;
use model::wait::{SyscallName, WaitCall, WaitTarget};
use model::{Ns, Probe, RuledOut, Seen, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("disk-latency", "small disk requests one after another"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program reads small pieces from a disk one at a time: it asks for the next \
               piece when it has the one before.",
        why: "Each request takes the full latency of the disk, however little it moves, though the \
              disk could serve many requests at the same time.",
        rule: "All of this holds. 100 waits or more in reads, page faults and lookups ended with \
               a disk request; an ordinary program reads a hundred times when it starts for the \
               first time. At least three quarters of the requests to read were issued with no \
               other request of the program under way (not all, since the kernel reads some \
               ahead). Most requests are smaller than 64 KiB, since a disk takes longer to move a \
               larger one than to find it. And the disk is not at its limit. If requests were not \
               observed, the rule needs two other signs: one thread alone waited for a disk in \
               nine tenths of the time with such waits, and reads are of 32 KiB or less. Pages of \
               programs and libraries do not count: the kernel reads them as they are executed.",
        else_it_could_be: "This may be a first run: the next one finds the bytes in memory. Memory \
                           may be too short to keep what was read. The data may be a chain, where \
                           each piece says where the next one is. A file opened with `O_DIRECT` \
                           comes from the disk in every run: the page cache keeps nothing of it.",
        change: "Ask for several pieces at once (`io_uring`, `posix_fadvise` with \
                 `POSIX_FADV_WILLNEED`, several threads), read larger pieces in the order in which \
                 they lie on the disk, or keep them in memory. With `O_DIRECT` the kernel does not \
                 read ahead: the program must do so, or open the file without `O_DIRECT`.",
        part: "Bounded. The low end takes at least half of the waits for requests that were alone: \
               any disk with a queue serves two requests in little more time than one. The high end \
               takes all time of the calls, as if all bytes were in memory. It includes kernel time, since a \
               request may end before its thread sleeps.",
        assumes: "What is read next does not depend on the bytes read before.",
    },
    explains: &["small-io"],
    signs: &[Sign {
        by: By::Waits(is_for_the_disk, SIGNS_MIN, "the disk, a few pages at a time"),
        although: false,
        change: "ask for much at a time and early: readahead, larger reads, several at once",
    }],
    probe: Some(Imposed { probe: Probe::WarmFiles, fits: imposed::reads_files }),
    check,
};

/// Fewer waits are an ordinary start.
const WAITS_MIN: u64 = 100;
/// Up to this size a request takes a disk longer to find than to move.
const BYTES_MAX: u64 = 32 << 10;
/// Requests that are alone: this part, since the kernel reads some ahead.
const ALONE_SHARE: f64 = 0.75;
/// Where that is not known, what may be waited for at the same time as something else: this part.
const AT_ONCE_PART: Ns = 10;
/// Requests at once, at least.
const AT_ONCE: f64 = 2.0;

/// Reads of links, which are small.
const LINKS: &[&str] = &["readlink", "readlinkat"];

/// Fewer waits are those of any program that starts.
const SIGNS_MIN: u64 = 50;

fn is_for_the_disk(wait: &WaitRow) -> bool {
    let syncs = |call: &SyscallName| SYNCS.contains(&&*call.name);
    wait.reason == State::Disk && !wait.call.syscall().is_some_and(syncs)
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let waits: Vec<(usize, &WaitRow)> =
        evidence.run.waits.iter().enumerate().filter(|(_, wait)| is_read(evidence, wait)).collect();
    let requests: u64 = waits.iter().map(|(_, wait)| requests(wait)).sum();
    if requests < WAITS_MIN {
        let reads = Count(requests, "disk read".into());
        return Outcome::RuledOut(RuledOut::below(
            reads,
            say!("that the program waited for"),
            Number(WAITS_MIN),
        ));
    }
    let sum = |of: fn(&WaitRow) -> Ns| waits.iter().map(|(_, wait)| of(wait)).sum::<Ns>();
    let (total_ns, path_ns) = (sum(|wait| wait.total_ns), sum(|wait| wait.path_ns));
    let one_ns = if evidence.run.window.is_some() { most_of_a_thread(&waits) } else { path_ns };
    let reads = evidence.disk_reads(&waits);
    if let Some(reads) = reads.as_ref().filter(|reads| reads.alone_share() < ALONE_SHARE) {
        let what = say!("of its disk reads were issued with no other under way");
        return Outcome::RuledOut(RuledOut::below(Share(reads.alone_share()), what, Share(ALONE_SHARE)));
    }
    let few_at_once = match alone_share(evidence) {
        Some(alone) => alone >= 1.0 - 1.0 / AT_ONCE_PART as f64,
        None => one_ns + total_ns / AT_ONCE_PART >= total_ns,
    };
    if reads.is_none() && !few_at_once {
        return Outcome::RuledOut(say!("several threads waited for a disk at once").into());
    }
    if let Some(disk) = at_limit(evidence, &waits) {
        return Outcome::RuledOut(say!("the disk ", Name(disk.to_owned()), " was at its limit").into());
    }
    if let Some(bytes) = reads.as_ref().map(DiskReads::typical_bytes) {
        return if bytes > BYTES_MAX {
            let what = say!("or more in most disk reads");
            Outcome::RuledOut(RuledOut::above(Bytes(bytes), what, Bytes(BYTES_MAX)))
        } else {
            let each = bytes_each(evidence, &waits).value().copied();
            Outcome::Found(vec![finding(evidence, &waits, requests, each, reads.as_ref())])
        };
    }
    match bytes_each(evidence, &waits) {
        Seen::Value(bytes) if bytes > BYTES_MAX => {
            Outcome::RuledOut(RuledOut::above(Bytes(bytes), say!("per disk read"), Bytes(BYTES_MAX)))
        }
        Seen::Unseen(why) => Outcome::Unavailable(why),
        size => Outcome::Found(vec![finding(evidence, &waits, requests, size.value().copied(), None)]),
    }
}

fn is_read(evidence: &Evidence<'_>, wait: &WaitRow) -> bool {
    let reads = match &wait.call {
        WaitCall::Syscall(name) => {
            [READS, OPENS, ASKS, LISTS, LINKS].iter().any(|names| names.contains(&&*name.name))
        }
        WaitCall::Fault => wait.on != WaitTarget::Swap && !is_code(evidence, &wait.on),
        WaitCall::Unseen => false,
    };
    wait.reason == State::Disk && reads
}

/// Whether it is a file that is executed, or a library: its pages come when they are needed, and
/// the first time only.
fn is_code(evidence: &Evidence<'_>, on: &WaitTarget) -> bool {
    let WaitTarget::File(Seen::Value(path)) = on else { return false };
    let name = path.rsplit('/').next().unwrap_or(path);
    // A process is called by the first 15 bytes of its program's name.
    let runs = |thread: &ThreadLedger| thread.name == name.get(..15).unwrap_or(name);
    name.contains(".so") || evidence.run.threads.iter().any(runs)
}

fn requests(wait: &WaitRow) -> u64 {
    wait.requests.value().copied().unwrap_or(0)
}

/// What the thread that waited most has of it.
fn most_of_a_thread(waits: &[(usize, &WaitRow)]) -> Ns {
    let of = |tid| {
        waits
            .iter()
            .flat_map(|(_, wait)| &wait.threads)
            .filter(|thread| thread.tid == tid)
            .map(|thread| thread.ns)
            .sum()
    };
    waits.iter().flat_map(|(_, wait)| &wait.threads).map(|thread| of(thread.tid)).max().unwrap_or(0)
}

/// The part of the time with waits for a disk in which one thread waited: where nearly all of them
/// are told.
fn alone_share(evidence: &Evidence<'_>) -> Option<f64> {
    let disk = evidence.run.tables.waits_at_once.value()?.disk;
    disk.one_share().filter(|_| disk.untold_ns <= disk.any_ns / AT_ONCE_PART)
}

/// The disk at its limit among the disks that it waits for; among all where some are not known.
fn at_limit<'a>(evidence: &Evidence<'a>, waits: &[(usize, &WaitRow)]) -> Option<&'a str> {
    let may_be = |disk: &str| {
        waits.iter().any(|(_, wait)| wait.device.value().is_none_or(|device| device.as_str() == disk))
    };
    evidence.run.series.value()?.verdicts.iter().find_map(|verdict| match verdict {
        SeriesVerdict::DiskAtLimit { name, .. } if may_be(name) => Some(name.as_str()),
        _ => None,
    })
}

/// Bytes of a request on average, by the calls that waited, else by all that the disk did. Absent
/// where most of the time is waited for pages and directories, which are small.
fn bytes_each(evidence: &Evidence<'_>, waits: &[(usize, &WaitRow)]) -> Seen<u64> {
    let is_plain = |wait: &WaitRow| wait.call.syscall().is_some_and(|call| READS.contains(&&*call.name));
    let all_ns: Ns = waits.iter().map(|(_, wait)| wait.total_ns).sum();
    let plain = || waits.iter().filter(|(_, wait)| is_plain(wait));
    if plain().map(|(_, wait)| wait.total_ns).sum::<Ns>() * 2 < all_ns {
        return Seen::Absent;
    }
    let Some((_, most)) = plain().max_by_key(|(_, wait)| wait.total_ns) else { return Seen::Absent };
    let name = most.call.syscall().map_or("", |call| &*call.name);
    let row = evidence.calls_named(&[name]);
    if let Some((bytes, calls)) =
        row.first().and_then(|(_, row)| Some((moved(row).value()?.bytes, row.calls)))
    {
        return Seen::Value(bytes / calls.max(1));
    }
    let disks = evidence.run.series.as_ref().and_then(|series| series.disks.as_ref());
    let disk = disks
        .value()
        .and_then(|disks| disks.iter().find(|disk| most.device == Seen::Value(disk.name.clone())));
    match disk {
        Some(disk) if disk.requests > 0 => Seen::Value(disk.bytes / disk.requests),
        _ => Seen::unseen("sizes of disk requests are unknown"),
    }
}

fn finding(
    evidence: &Evidence<'_>,
    waits: &[(usize, &WaitRow)],
    requests: u64,
    size: Option<u64>,
    reads: Option<&DiskReads>,
) -> Finding {
    let sum = |of: fn(&WaitRow) -> Ns| waits.iter().map(|(_, wait)| of(wait)).sum::<Ns>();
    let (total_ns, path_ns) = (sum(|wait| wait.total_ns), sum(|wait| wait.path_ns));
    let (place, most) = *waits.iter().max_by_key(|(_, wait)| wait.path_ns).expect("there are some");
    let call = most.call.syscall();
    let half = faster(AT_ONCE) * reads.map_or(1.0, DiskReads::alone_share);
    let made = reads.map_or(0, |reads| reads.requests);
    let goes = goes(evidence, waits, path_ns, half, made);
    let caller = evidence.caller_waiting(most);
    let direct = is_direct(evidence, most);
    let past_cache = if direct { say!(" past the page cache (O_DIRECT)") } else { Sentence::default() };
    let each = size.map(|bytes| say!(" for ", Bytes(bytes), " each")).unwrap_or_default();
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Wait(place),
        what: say!(Name(call.map_or("a page fault".to_owned(), ToString::to_string)))
            .and(caller)
            .and(file(waits, most, path_ns))
            .and(past_cache)
            .and(say!(" waits for the disk, one request at a time, ", Count(requests, "time".into())))
            .and(each)
            .and(say!(", ", Time(total_ns), " in all")),
        change: match (direct, reads.is_some_and(DiskReads::follow_on)) {
            (true, true) => say!(
                "read larger pieces, since the pieces are adjacent, or read through the page cache, without O_DIRECT"
            ),
            (true, false) => say!(
                "read several pieces at once (io_uring) or larger ones, or read through the page cache, without O_DIRECT"
            ),
            (false, true) => {
                say!("read larger pieces, since the pieces are adjacent, or keep them in memory")
            }
            (false, false) => say!("read several pieces at once or larger ones, or keep them in memory"),
        },
        share_ns: Interval { lo: path_ns, hi: path_ns },
        saving: evidence.saving(&Removal::Parts(goes), (half, 1.0), SavingBasis::Bounded),
        evidence: [say!(
            Count(requests, "request".into()),
            ", each waited for ",
            Time(total_ns / requests.max(1)),
            " on average"
        )]
        .into_iter()
        .chain(reads.map(DiskReads::words).unwrap_or_default())
        .chain(by_ladder(evidence))
        .collect(),
        assumes: vec![say!("what is read next does not depend on what was read before")],
        verify: vec![if direct {
            say!(
                "run it again without O_DIRECT: the second run shows the saving if the bytes are in memory by then"
            )
        } else {
            say!("run it again: the second run shows the saving if the bytes are in memory by then")
        }],
        explains: Vec::new(),
        belief: None,
    }
}

/// What the host's ladder measured of reads at once.
fn by_ladder(evidence: &Evidence<'_>) -> Option<Sentence> {
    let costs = evidence.run.costs.value()?;
    Some(say!(
        "a disk of this host serves ",
        Times(costs.reads_at_once()?),
        " as many reads with 32 at once as with one (",
        Name(costs.from.clone()),
        ")"
    ))
}

/// Whether what it waited for most was read past the page cache.
fn is_direct(evidence: &Evidence<'_>, most: &WaitRow) -> bool {
    match (&most.on, most.call.syscall()) {
        (WaitTarget::File(Seen::Value(path)), _) => evidence.is_direct(path),
        (_, Some(call)) => evidence.is_mostly_direct(&call.to_string()),
        _ => false,
    }
}

/// Where nearly each call waits, the calls go where the bytes are in memory; else the waits.
fn goes(evidence: &Evidence<'_>, waits: &[(usize, &WaitRow)], path_ns: Ns, half: f64, made: u64) -> Parts {
    let names: Vec<_> = waits.iter().filter_map(|(_, wait)| wait.call.syscall()).collect();
    let of_call = |name| waits.iter().filter(move |(_, wait)| wait.call.syscall() == Some(name));
    let main = names.into_iter().max_by_key(|name| of_call(*name).map(|(_, wait)| wait.path_ns).sum::<Ns>());
    if let Some(name) = main {
        let own_ns: Ns = of_call(name).map(|(_, wait)| wait.path_ns).sum();
        let own: u64 = of_call(name).map(|(_, wait)| wait.calls).sum();
        let calls: u64 = evidence.calls_named(&[&name.name]).iter().map(|(_, row)| row.calls).sum();
        let in_call_ns = evidence.path_ns_in(name);
        if own.max(made) * 2 >= calls && own_ns * 2 >= path_ns && in_call_ns > 0 {
            let waited = (own_ns as f64 / in_call_ns as f64).min(1.0);
            return evidence.parts_of(&[(name, (half * waited, 1.0))], Kind::Waiting);
        }
    }
    Parts {
        cpu_ns: 0,
        account_ns: Interval { lo: (path_ns as f64 * half) as Ns, hi: path_ns },
        kind: Kind::Waiting,
    }
}

/// The file, if most of the time is for one.
fn file(waits: &[(usize, &WaitRow)], most: &WaitRow, path_ns: Ns) -> Sentence {
    let own_ns: Ns = waits.iter().filter(|(_, wait)| wait.on == most.on).map(|(_, wait)| wait.path_ns).sum();
    match &most.on {
        WaitTarget::File(Seen::Value(path)) if own_ns * 2 >= path_ns => say!(" of ", Name(path.clone())),
        _ => Sentence::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::disk_reads::tests::jumping;
    use crate::judge::file_samples::{call, disk, series, step, wait};
    use crate::judge::samples::{found, is_assumed, judged, run, saves, sites};
    use model::ladder::MedianInterval;
    use model::prediction::Site;
    use model::wait::WakerKind;
    use model::waits_at_once::{AtOnce, WaitsAtOnce};
    use model::{Diagnosis, Reason, Run};

    const MS: Ns = 1_000_000;

    /// A second, of which 800 ms are in reads: 600 of them wait for the disk.
    fn of(reads: u64, waits: u64, bytes: u64) -> Run {
        let mut run = run(&[(State::User, 200 * MS), (State::Kernel, 200 * MS), (State::Disk, 600 * MS)]);
        let file = WaitTarget::File(Seen::Value("/index".into()));
        run.waits = vec![wait(State::Disk, "pread64", file, waits, 600 * MS, WakerKind::Device)];
        run.tables.syscalls = Seen::Value(vec![call("pread64", reads, 0, 800 * MS)]);
        run.path = vec![step(State::Kernel, Reason::Syscall("pread64".into()), 800 * MS)];
        let disk = disk("vda", waits, waits * bytes, 0.0);
        run.series = Seen::Value(series(&run, disk));
        run
    }

    fn diagnosis(run: &Run) -> Diagnosis {
        let clocks =
            [(Site::Call("pread64".into()), [800 * MS; 3]), (Site::State(State::Disk), [600 * MS; 3])];
        judged(run, &sites(run, &clocks))
    }

    #[test]
    fn half_of_the_waits_go_or_all_that_the_reads_take() {
        let diagnosis = diagnosis(&of(1000, 1000, 4096));
        assert_eq!(saves(found(&diagnosis, "disk-latency").expect("it is there")), (300 * MS, 800 * MS));
    }

    #[test]
    fn where_most_reads_find_their_bytes_in_memory_only_waits_go() {
        let diagnosis = diagnosis(&of(10_000, 1000, 4096));
        assert_eq!(saves(found(&diagnosis, "disk-latency").expect("it is there")), (300 * MS, 600 * MS));
    }

    #[test]
    fn requests_that_end_before_their_thread_slept_are_calls_too() {
        let mut run = of(1000, 142, 4096);
        let hi = |run: &Run| saves(found(&diagnosis(run), "disk-latency").expect("it is there")).1;
        assert_eq!(hi(&run), 600 * MS);
        run.tables.disk_requests = jumping(1000, 1000);
        run.waits[0].device = Seen::Value("vda".into());
        if let Seen::Value(all) = &mut run.tables.disk_requests {
            all.rows[0].device = Seen::Value("vda".into());
        }
        assert_eq!(hi(&run), 800 * MS, "each read made one");
    }

    #[test]
    fn the_ladder_says_how_many_reads_a_disk_serves_at_once() {
        let by = |of_32_ns: f64| {
            let mut costs = crate::judge::load_costs::tests::costs();
            let each = |median| Seen::Value(MedianInterval { median, lo: median, hi: median });
            (costs.disk_read_ns, costs.disk_read_32_ns) = (each(100_000.0), each(of_32_ns));
            let diagnosis = diagnosis(&Run { costs: Seen::Value(costs), ..of(10_000, 1000, 4096) });
            let found = found(&diagnosis, "disk-latency").expect("it is there");
            (saves(found), format!("{:?}", found.evidence))
        };
        let (saving, said) = by(2_560_000.0);
        assert_eq!(saving, (300 * MS, 600 * MS));
        assert!(said.contains("Times(1.25)"), "{said}");
    }

    #[test]
    fn a_few_waits_or_large_reads_are_no_cause() {
        let is = |run: Run| found(&diagnosis(&run), "disk-latency").is_some();
        assert!(is(of(100, 100, BYTES_MAX)));
        assert!(!is(of(99, 99, BYTES_MAX)));
        assert!(!is(of(100, 100, BYTES_MAX + 1)));
    }

    #[test]
    fn how_large_reads_are_must_be_known() {
        let run = Run { series: Seen::unseen("no"), ..of(1000, 1000, 4096) };
        assert!(is_assumed(&diagnosis(&run), "disk-latency"), "its waits alone are a sign");
    }

    #[test]
    fn waits_at_the_same_time_and_a_disk_at_its_limit_are_no_cause() {
        let mut run = of(1000, 1000, 4096);
        run.waits[0].total_ns = 667 * MS;
        assert!(found(&diagnosis(&run), "disk-latency").is_none());
        run.waits[0].total_ns = 666 * MS;
        assert!(found(&diagnosis(&run), "disk-latency").is_some());
        run.series = Seen::Value(series(&run, disk("vda", 1000, 4_096_000, 0.5)));
        assert!(found(&diagnosis(&run), "disk-latency").is_none());
        run.waits[0].device = Seen::Value("vdb".into());
        run.tables.disk_requests = jumping(1000, 1000);
        if let Seen::Value(all) = &mut run.tables.disk_requests {
            all.rows[0].device = Seen::Value("vdb".into());
        }
        assert!(found(&diagnosis(&run), "disk-latency").is_some(), "it waits for another disk");
    }

    #[test]
    fn without_requests_it_is_told_by_the_waits_that_are_under_way_at_once() {
        let of_waits = |one_ms: u64, untold_ms: u64| {
            let mut run = of(1000, 1000, 4096);
            // By the path alone several would have waited at the same time.
            run.waits[0].total_ns = 700 * MS;
            let disk = AtOnce {
                any_ns: 600 * MS,
                one_ns: one_ms * MS,
                untold_ns: untold_ms * MS,
                ..AtOnce::default()
            };
            run.tables.waits_at_once = Seen::Value(WaitsAtOnce { disk, ..WaitsAtOnce::default() });
            found(&diagnosis(&run), "disk-latency").is_some()
        };
        assert!(of_waits(540, 0) && of_waits(540, 60));
        assert!(!of_waits(539, 0));
        assert!(!of_waits(600, 61), "they tell little, so the path does");
    }

    #[test]
    fn requests_that_are_alone_tell_that_it_is_one_at_a_time_and_else_how_much_waited_on_the_path() {
        let of_requests = |alone| {
            let mut run = of(1000, 1000, 4096);
            run.tables.disk_requests = jumping(1000, alone);
            run
        };
        assert!(found(&diagnosis(&of_requests(749)), "disk-latency").is_none());
        let diagnosed = diagnosis(&of_requests(750));
        let finding = found(&diagnosed, "disk-latency").expect("it is there");
        assert_eq!(saves(finding).0, 225 * MS, "half of three quarters");
        assert_eq!(finding.evidence.len(), 3);
        // Waits at the same time are told by the requests, not by the path.
        let mut run = of_requests(1000);
        run.waits[0].total_ns = 1200 * MS;
        assert!(found(&diagnosis(&run), "disk-latency").is_some());
    }

    #[test]
    fn requests_that_others_made_tell_nothing_and_large_ones_are_no_cause() {
        let mut run = of(1000, 1000, BYTES_MAX + 1);
        run.tables.disk_requests = jumping(400, 400);
        assert!(found(&diagnosis(&run), "disk-latency").is_none(), "by the calls");
        run.tables.disk_requests = jumping(600, 600);
        assert!(found(&diagnosis(&run), "disk-latency").is_some());
        if let Seen::Value(all) = &mut run.tables.disk_requests {
            all.rows[0].sizes = vec![(BYTES_MAX * 2, 600)];
        }
        assert!(found(&diagnosis(&run), "disk-latency").is_none());
    }

    #[test]
    fn pages_of_programs_are_none_and_pages_of_data_are() {
        let of_pages = |path: &str| {
            let mut run = of(1000, 1000, 4096);
            (run.waits[0].call, run.waits[0].on) =
                (WaitCall::Fault, WaitTarget::File(Seen::Value(path.into())));
            found(&diagnosis(&run), "disk-latency").is_some()
        };
        assert!(of_pages("/data/index"));
        assert!(!of_pages("/usr/bin/program") && !of_pages("/usr/lib/libc.so.6"));
    }
}

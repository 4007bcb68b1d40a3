//! Programs that read or write a few bytes with each call.

use super::{Cause, Manual, Outcome};
use crate::calls::waits_for_events;
use crate::judge::Evidence;
use crate::judge::file_calls::{OPENS, READS, RemovedCalls, TRANSFERS, WRITES, part_of_all};
use crate::judge::predict::{Kind, Removal};
use crate::judge::results::{BytesMoved, SMALL, hedge, hedge_all, hedge_time, moved, would_block};
use crate::judge::signs::{By, Sign};
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::run::WaitRow;
use model::sentence::Piece::{Bytes, Count, Name, Ns as Time, Number};
use model::syscall_rows::CallRow;
use model::wait::TargetKind;
use model::{Ns, RuledOut, Seen, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("small-io", "reads and writes of few bytes"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program reads or writes few bytes with each system call: a byte, a field or a \
               line at a time.",
        why: "Entering the kernel, finding the file and leaving again take as long for one byte as \
              for a page. With a buffer of 64 KiB one call does the work of thousands.",
        rule: "There are calls that move less than 1 KiB, 100 or more beyond those that a buffer \
               of 64 KiB needs. The reason: copying 1 KiB takes a tenth of what entering and \
               leaving the kernel does. Four kinds of calls do not count: two reads (the bytes \
               and the end) and one write for each file that is opened; calls that waited for what \
               another program gives or takes; reads of timers and eventfds, late ones too; and as \
               many writes as there were waits to read something, since each of them may have \
               asked for it. A read that would block \
               (`EAGAIN`) is such a wait, whatever its thread does until there is something: what \
               comes then could not have been read together with the piece before.",
        else_it_could_be: "The calls may be questions and answers on a pipe or a socket, where \
                           each needs the one before. Or a device may give its data in small \
                           pieces.",
        change: "Use a buffer: `fread` and `fwrite`, `BufReader` and `BufWriter`, `bufio`, \
                 `open(…, buffering=65536)`; read whole blocks and split them in memory. For \
                 several small pieces at hand use `writev`. A file that was opened with `O_DIRECT` \
                 has no page cache behind it either: each piece is a request to the disk, and the \
                 buffer must be aligned.",
        part: "Counted: of N calls, those beyond bytes/64 KiB are saved, each for at least as long \
               as the median call.",
        assumes: "The bytes are there when the program asks for them, and nobody waits for each \
                  piece that it writes.",
    },
    explains: &[],
    signs: &[Sign {
        by: By::Calls(TRANSFERS, MOVING),
        although: false,
        change: "move more at a time: a buffer",
    }],
    probe: None,
    check,
};

/// What one call of a program with a buffer moves.
const BUFFER: u64 = 65_536;
/// Kernel functions that move or clear bytes, that take the memory for them, and that wake whoever
/// waits for them.
const MOVING: &[&str] = &[
    "copy_user",
    "rep_movs",
    "_copy_",
    "copy_page",
    "copy_folio",
    "clear_page",
    "memcpy",
    "csum_",
    "copyin",
    "copyout",
    "alloc_pages",
    "__alloc_pages",
    "schedule",
    "__wake_up",
];
/// Fewer calls are no habit.
const GONE_MIN: u64 = 100;

fn check(evidence: &Evidence<'_>) -> Outcome {
    if let Seen::Unseen(why) = &evidence.run.tables.syscalls {
        return Outcome::Unavailable(why.clone());
    }
    let rows: Vec<_> = [(READS, 2), (WRITES, 1)]
        .into_iter()
        .flat_map(|(names, each)| {
            evidence.calls_named(names).into_iter().map(move |(place, row)| (place, row, each))
        })
        .collect();
    let opened: u64 =
        evidence.calls_named(OPENS).iter().map(|(_, row)| row.calls.saturating_sub(row.errors)).sum();
    let mut gone: Vec<(usize, RemovedCalls<'_>, BytesMoved)> = Vec::new();
    let mut most_calls = 0;
    for (place, row, needed_by_file) in rows {
        let moved = match moved(row) {
            Seen::Value(moved) => moved,
            Seen::Absent => continue,
            Seen::Unseen(why) => return Outcome::Unavailable(why),
        };
        let waited = waited_for(evidence, row);
        let needed = (moved.small * SMALL).min(moved.bytes) / BUFFER + opened * needed_by_file;
        let calls = moved.small.saturating_sub(needed + waited);
        most_calls = most_calls.max(calls);
        if calls >= GONE_MIN {
            gone.push((place, RemovedCalls::of(row, calls), moved));
        }
    }
    match gone.iter().max_by_key(|(_, gone, _)| gone.row.total_ns) {
        Some(most) => Outcome::Found(vec![finding(evidence, *most, &gone)]),
        None => Outcome::RuledOut(RuledOut::below(
            Count(most_calls, "small call".into()),
            say!("that a 64 KiB buffer would save"),
            Number(GONE_MIN),
        )),
    }
}

/// How often such a call waited for what another program gives or takes; for a write, how often
/// anybody waited for a piece. A call that would block counts as a wait, even where an event loop
/// (Go's, for one) had other work until there was something, so that no thread waited.
fn waited_for(evidence: &Evidence<'_>, row: &CallRow) -> u64 {
    let written = WRITES.contains(&&*row.name.name);
    let takes = |wait: &WaitRow| match wait.call.syscall() {
        Some(call) if *call == row.name => true,
        Some(call) => written && (READS.contains(&&*call.name) || waits_for_events(&call.name)),
        None => false,
    };
    // A timer's descriptor sleeps, and a pool without work is idle.
    let of_others = |state: State| state == State::Idle || (state.waits() && !matches!(state, State::Disk));
    let waits = evidence.run.waits.iter().filter(|wait| of_others(wait.reason) && takes(wait));
    let would_block = match written {
        true => evidence.calls_named(READS).iter().map(|(_, read)| would_block(read)).sum(),
        false => would_block(row),
    };
    // One that is late does not wait for its timer, and has one piece all the same.
    let counters = [TargetKind::Timer, TargetKind::EventFd];
    let on_counter = waits.clone().filter(|wait| !written && counters.contains(&wait.on.kind()));
    let on_counter: u64 = on_counter.map(|wait| wait.calls).sum();
    // Not where it reads small records, and a counter now and then.
    let of_eight = Some(calls_of(row, 8)).filter(|calls| on_counter * 2 >= *calls).unwrap_or(0);
    waits.map(|wait| wait.calls).sum::<u64>().max(would_block).max(of_eight)
}

/// Calls that moved this number of bytes, or less than twice as many.
fn calls_of(row: &CallRow, bytes: u64) -> u64 {
    let sizes = row.results.value().map_or(&[][..], |results| &results.sizes);
    sizes.iter().filter(|(least, _)| *least == bytes).map(|(_, calls)| calls).sum()
}

fn finding(
    evidence: &Evidence<'_>,
    most: (usize, RemovedCalls<'_>, BytesMoved),
    all: &[(usize, RemovedCalls<'_>, BytesMoved)],
) -> Finding {
    let (place, RemovedCalls { row, .. }, of_most) = most;
    let gone: Vec<RemovedCalls<'_>> = all.iter().map(|(_, gone, _)| *gone).collect();
    let part = part_of_all(&gone);
    let goes = evidence.without(&gone, Kind::Cpu);
    let names: Vec<_> = gone.iter().map(|gone| &gone.row.name).collect();
    let calls: u64 = gone.iter().map(|gone| gone.row.calls).sum();
    let total_ns: Ns = gone.iter().map(|gone| gone.row.total_ns).sum();
    let each = |(_, gone, moved): &(usize, RemovedCalls<'_>, BytesMoved)| {
        say!(
            hedge(gone.row),
            Count(gone.row.calls, "call".into()),
            " of ",
            Name(gone.row.name.to_string()),
            " for ",
            Bytes(moved.bytes)
        )
        .and(gone.row.p50_ns.value().map_or_else(|| say!(""), |ns| say!(", each ", Time(*ns))))
    };
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Call(place),
        what: say!(Name(row.name.to_string())).and(evidence.caller(&[&row.name])).and(say!(
            " moves ",
            Bytes(of_most.bytes / row.calls.max(1)),
            " per call; ",
            hedge_all(gone.iter().map(|gone| gone.row), hedge),
            Count(calls, "call".into()),
            " take ",
            hedge_all(gone.iter().map(|gone| gone.row), hedge_time),
            Time(total_ns)
        )),
        change: if evidence.is_mostly_direct(&row.name.to_string()) {
            say!(
                "move 64 KiB or more at once, in an aligned buffer: with O_DIRECT each call is a request to the disk"
            )
        } else {
            say!("read and write through a buffer of 64 KiB")
        },
        share_ns: evidence.has(&names),
        saving: evidence.saving(&Removal::Parts(goes), part, SavingBasis::Counted),
        evidence: all.iter().map(each).collect(),
        assumes: vec![say!("no program waits for each piece")],
        verify: vec![say!("measure both versions: dwell compare --predicted ID BEFORE AFTER")],
        explains: Vec::new(),
        belief: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{call, moving, step, wait};
    use crate::judge::samples::{found, judged, run, saves, sites};
    use model::prediction::Site;
    use model::syscall_rows::ErrorRow;
    use model::wait::{WaitTarget, WakerKind};
    use model::{Diagnosis, Reason, Run};

    const US: Ns = 1000;

    /// 2 ms, one of which is in 1,000 reads that move this much in all; this many files are opened.
    fn of(bytes: u64, sizes: &[(u64, u64)], files: u64) -> Run {
        let mut run = run(&[(State::User, 1000 * US), (State::Kernel, 1000 * US)]);
        run.tables.syscalls =
            Seen::Value(vec![moving("read", bytes, sizes), call("openat", files + 3, 3, US)]);
        run.path = vec![step(State::Kernel, Reason::Syscall("read".into()), 1000 * US)];
        run
    }

    fn diagnosis(run: &Run) -> Diagnosis {
        let times = ["read", "write"].map(|call| (Site::Call(call.into()), [1000 * US; 3]));
        judged(run, &sites(run, &times))
    }

    fn is_found(run: &Run) -> bool {
        found(&diagnosis(run), "small-io").is_some()
    }

    #[test]
    fn calls_beyond_those_that_a_buffer_needs_go() {
        let diagnosis = diagnosis(&of(131_072, &[(64, 1000)], 3));
        let finding = found(&diagnosis, "small-io").expect("it is there");
        assert_eq!(saves(finding), (992 * US, 992 * US), "but for two buffers and two reads of each file");
    }

    #[test]
    fn reads_that_files_need_and_large_ones_are_no_cause() {
        assert!(is_found(&of(1000, &[(1, 1000)], 450)));
        assert!(!is_found(&of(1000, &[(1, 1000)], 451)), "each file is read to its end");
        assert!(!is_found(&of(1 << 20, &[(1024, 1000)], 3)), "copying matters");
        assert!(is_found(&of(1 << 20, &[(1, 105), (1024, 895)], 1)), "100 are too many");
        assert!(!is_found(&of(1 << 20, &[(1, 100), (1024, 900)], 1)));
    }

    #[test]
    fn who_waits_for_each_piece_cannot_have_more_at_once() {
        let mut run = of(1000, &[(1, 1000)], 0);
        let row =
            |calls| wait(State::Pipe, "read", WaitTarget::Pipe(Seen::Absent), calls, US, WakerKind::Outside);
        run.waits = vec![row(900)];
        assert!(is_found(&run));
        run.waits = vec![row(901)];
        assert!(!is_found(&run));
        run.waits[0].reason = State::Idle;
        assert!(!is_found(&run), "a pool that has no work");
    }

    #[test]
    fn a_read_of_a_timer_has_one_piece_whether_it_waits_or_is_late() {
        let mut run = of(8000, &[(8, 1000)], 0);
        let row = |on| wait(State::Sleep, "read", on, 700, US, WakerKind::Timer);
        run.waits = vec![row(WaitTarget::Pipe(Seen::Absent))];
        assert!(is_found(&run));
        run.waits = vec![row(WaitTarget::Timer(Seen::Absent))];
        assert!(!is_found(&run));
        run.waits[0].calls = 400;
        assert!(is_found(&run), "most of them are of something else");
    }

    #[test]
    fn what_somebody_waits_for_is_a_message() {
        let mut run = of(1000, &[(1, 1000)], 0);
        run.tables.syscalls = Seen::Value(vec![moving("write", 1000, &[(1, 1000)])]);
        run.path = vec![step(State::Kernel, Reason::Syscall("write".into()), 1000 * US)];
        let waits =
            |call| wait(State::Pipe, call, WaitTarget::Pipe(Seen::Absent), 901, US, WakerKind::Thread);
        assert!(is_found(&run));
        run.waits = vec![wait(State::Sleep, "write", WaitTarget::TimeLimit, 901, US, WakerKind::Timer)];
        assert!(!is_found(&run), "it waited itself");
        for (call, message) in [("read", true), ("epoll_wait", true), ("flock", false)] {
            run.waits = vec![waits(call)];
            assert_eq!(!is_found(&run), message, "{call}");
        }
    }

    /// As of `hey`, a client in Go with 8 connections: 30,000 requests in 10,000 waits of its event
    /// loop, and a read that found nothing yet for each.
    #[test]
    fn what_was_not_there_when_it_was_asked_for_is_a_message() {
        let rows = |would_block: u64| {
            let mut read = moving("read", 100_000, &[(64, 1000)]);
            let Seen::Value(results) = &mut read.results else { panic!("they are there") };
            let error = ErrorRow { errno: 11, name: Some("EAGAIN".into()), calls: would_block };
            results.errors = vec![error];
            (read.calls, read.errors) = (read.calls + would_block, would_block);
            vec![read, moving("write", 50_000, &[(32, 1000)])]
        };
        let mut run = of(1000, &[(1, 1000)], 0);
        for (would_block, is_cause) in [(0, true), (800, true), (901, false), (1000, false)] {
            run.tables.syscalls = Seen::Value(rows(would_block));
            assert_eq!(is_found(&run), is_cause, "{would_block}");
        }
    }

    #[test]
    fn without_bytes_it_cannot_be_looked_for() {
        let mut run = of(1000, &[(1, 1000)], 0);
        run.tables.syscalls = Seen::Value(vec![call("read", 1000, 0, 1000 * US)]);
        assert!(diagnosis(&run).unavailable.iter().any(|(cause, _)| cause.id == "small-io"));
    }
}

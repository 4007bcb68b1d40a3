//! Programs that ask for what they do not need of files: for names that are not there, for more
//! than the names that they list, or for what they have asked before.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::file_calls::{ASKS, LISTS, LOOKUPS, OPENS, RemovedCalls, part_of_all};
use crate::judge::predict::{Kind, Removal};
use crate::judge::results::{
    asked_again, asked_again_max, hedge, hedge_again, hedge_all, hedge_time, moved, not_there, traced_part,
};
use crate::judge::signs::{By, Sign};
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::sentence::Piece::{Count, Name, Ns as Time, Number, Share};
use model::syscall_rows::{CallRow, PathRow};
use model::{Ns, RuledOut, Seen, say};
use std::cmp::Reverse;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("metadata-calls", "file lookups that could be avoided"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program does one of four things. It opens files or asks for their metadata \
               (`stat`, `access`) by names that mostly do not exist. It lists directories, and \
               asks for the metadata of each file in them. It asks for the same paths again and \
               again. Or it lists the same directories again and again.",
        why: "Each lookup enters the kernel and goes through the directories of the path. A \
              search along many directories does so in each, for every file that it looks for. A \
              long listing makes three calls for each file, while one call that lists a directory \
              gives hundreds of names.",
        rule: "There are four signs. Missing names: at least half of the calls of a kind fail, \
               and 100 or more. A search that finds its file in the second place fails every \
               other time; fewer than 100 are the start of an ordinary program, whose interpreter \
               and linker look for their files in the same way. A listing: 1,000 questions for \
               metadata or more are answered, or for attributes. They are no more than the names \
               that may have been listed (at least 24 bytes each), at least a quarter of these, \
               and twice as many as files were opened: a program that reads the files needs to \
               look at them. Repeated questions for a path do not count, since a listing has each \
               name once. Paths again: three quarters of the calls of a kind, and 1,000 or more, \
               are answered for a path that the same process had given to the same call before. \
               So each path is asked for four times or more; a program that writes files and \
               reads them later opens each twice. The number of repeats is estimated from a \
               sample, which finds no more than there were. Calls that make files do not count. \
               Listings again: three quarters of the listings, and 100 or more, are of a directory \
               that the same process had opened before, and one directory is listed 100 times or \
               more: a tree that is listed a second time has each a few times.",
        else_it_could_be: "The program may wait for a file to appear or to change. It may have to \
                           know that a name is free before it uses it. The purpose of a listing \
                           may be sizes or times.",
        change: "List the directory once and look there, and keep its names. Put the directory that has most of the \
                 files first in the search path (`PATH`, `LD_LIBRARY_PATH`, `PYTHONPATH`, include \
                 directories), and leave out those that have none. Remember which names were \
                 missing. Take the type of a file from the listing: `d_type` of `readdir`, \
                 `os.scandir`, `FTS_NOSTAT`, `find -type`, `ls` without `-l`, `-F` and colours. \
                 Keep a file open that is needed again (`pread` reads it from the start), or keep \
                 what was learnt from it. Set `TZ`, or libc asks for `/etc/localtime` at each \
                 `localtime`. In a web server, use its cache of open files.",
        part: "Missing names: counted. The calls that fail are saved, each for at least as long as \
               the median call. The high end takes all questions of the kind, since a program that \
               has listed the directory needs none. A listing: assumed. From none to all of the \
               questions are saved. Paths again: all questions but the first for each path are saved, \
               with the closing of what was opened. The low end takes as many as a sample of the \
               calls shows. The high end takes all but one for each path in that sample, since an \
               earlier call need not be in it; or all questions, if the files were listed with \
               their names and kinds. Listings again: all but the first of each directory, as with \
               paths, with the opening and closing of the directory.",
        assumes: "Missing names: the program need not find out each time that these files are \
                  missing. A listing: names and types are enough. Paths again: the files do not \
                  change, or the program is told when they do.",
    },
    explains: &[],
    signs: &[
        Sign {
            by: By::Calls(LOOKUPS, MAKING),
            although: false,
            change: "ask once and keep the answer; search fewer places",
        },
        Sign {
            by: By::Calls(LISTS, &[]),
            although: false,
            change: "list each directory once and keep its names",
        },
    ],
    probe: None,
    check,
};

/// Kernel functions that make a file, which has to be opened.
const MAKING: &[&str] = &["*_create"];
/// Fewer failures are an ordinary start.
const FAILED_MIN: u64 = 100;
/// Fewer questions are no listing's; fewer for a path again, those of an ordinary start.
const ASKED_MIN: u64 = 1000;
/// Calls for one path from which on all but one of each go.
const TIMES_MIN: u64 = 4;
/// `struct linux_dirent64` with a name of up to four bytes (getdents(2)).
const ENTRY_BYTES_MIN: u64 = 24;
/// The least part of the listed names that is asked for: one in this many.
const LISTED_PART: u64 = 4;
/// Ask for attributes of a file.
const ATTRIBUTES: &[&str] = &["getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr"];

fn check(evidence: &Evidence<'_>) -> Outcome {
    if let Seen::Unseen(why) = &evidence.run.tables.syscalls {
        return Outcome::Unavailable(why.clone());
    }
    let rows: Vec<_> = [ASKS, OPENS].iter().flat_map(|names| evidence.calls_named(names)).collect();
    let all: u64 = rows.iter().map(|(_, row)| row.calls).sum();
    let hedge_rows = hedge_all(rows.iter().map(|(_, row)| *row), hedge);
    let missed: u64 = rows.iter().map(|(_, row)| not_there(row)).sum();
    let failing: Vec<_> =
        rows.into_iter().filter(|(_, row)| not_there(row) * 2 >= row.calls.max(1)).collect();
    let failed: u64 = failing.iter().map(|(_, row)| not_there(row)).sum();
    let again = again(evidence, &failing);
    let most = failing.iter().max_by_key(|(_, row)| row.total_ns).filter(|_| failed >= FAILED_MIN);
    let missing = most.map(|(place, most)| {
        let rows: Vec<&CallRow> = failing.iter().map(|(_, row)| *row).collect();
        finding(evidence, *place, most, &rows)
    });
    // Who asks again for what was listed is told both with one finding.
    let place = again.as_ref().map(|again| again.place);
    let listing = listing(evidence).filter(|listing| Some(listing.place) != place);
    let listed_again = listed_again(evidence);
    let why_not = if missed < FAILED_MIN {
        let what = say!("of ", hedge_rows, Count(all, "lookup".into()), " found nothing");
        RuledOut::below(Number(missed), what, Number(FAILED_MIN))
    } else if missed * 2 < all {
        let what = say!("of ", hedge_rows, Count(all, "lookup".into()), " found nothing");
        RuledOut::below(Share(missed as f64 / all as f64), what, Share(0.5))
    } else {
        let what = say!("by calls that mostly find nothing");
        RuledOut::below(Count(failed, "lookup".into()), what, Number(FAILED_MIN))
    };
    Outcome::of(missing.into_iter().chain(listing).chain(again).chain(listed_again), why_not)
}

/// Questions that are answered for a path that was asked for before, of calls that mostly find
/// something.
fn again(evidence: &Evidence<'_>, failing: &[(usize, &CallRow)]) -> Option<Finding> {
    // These are another sign.
    let lists = listings(evidence);
    let but_lists = |row: &CallRow, calls: u64| match &*row.name.name {
        name if OPENS.contains(&name) => calls.saturating_sub(lists),
        _ => calls,
    };
    let asked_again = |row: &CallRow| but_lists(row, asked_again(row));
    let asked_again_max = |row: &CallRow| but_lists(row, asked_again_max(row));
    let rows = [ASKS, OPENS].into_iter().flat_map(|names| evidence.calls_named(names));
    let is_again = |(place, row): &(usize, &CallRow)| {
        let again = asked_again(row);
        again >= ASKED_MIN
            && again >= row.calls - row.calls / TIMES_MIN
            && failing.iter().all(|(failing, _)| failing != place)
    };
    let mut rows: Vec<(usize, &CallRow)> = rows.filter(is_again).collect();
    rows.sort_by_key(|(place, row)| (Reverse(row.total_ns), *place));
    let (place, most) = *rows.first()?;
    let listed = questions_of_listed(evidence, |row| row.calls).unwrap_or_default();
    let is_listed = |place: usize| listed.iter().any(|(listed, _)| *listed == place);
    let mut gone: Vec<RemovedCalls<'_>> = rows
        .iter()
        .map(|(place, row)| {
            let again = RemovedCalls::between(row, asked_again(row), asked_again_max(row));
            match is_listed(*place) {
                // Who makes do with names and kinds asks for nothing, again or not.
                true => RemovedCalls { part: (again.part.0, 1.0), ..RemovedCalls::of(row, row.calls) },
                false => again,
            }
        })
        .collect();
    let opens = rows.iter().filter(|(_, row)| OPENS.contains(&&*row.name.name));
    let (opened, opened_max) =
        opens.fold((0, 0), |(least, most), (_, row)| (least + asked_again(row), most + asked_again_max(row)));
    if opened_max > 0 {
        let closes = evidence.calls_named(&["close"]).into_iter();
        gone.extend(closes.map(|(_, row)| RemovedCalls::between(row, opened, opened_max)));
    }
    let part = part_of_all(&gone);
    let of_listed: Vec<_> = rows.iter().copied().filter(|(place, _)| is_listed(*place)).collect();
    let goes = evidence.without(&gone, Kind::Cpu);
    let names: Vec<_> = gone.iter().map(|gone| &gone.row.name).collect();
    let asked: Vec<_> = rows.iter().map(|(_, row)| &row.name).collect();
    let closed = gone[rows.len()..].iter().map(|gone| (gone.row, opened));
    let seen = rows.iter().map(|(_, row)| (*row, asked_again(row))).chain(closed);
    let total_ns: Ns =
        seen.map(|(row, calls)| (RemovedCalls::of(row, calls).part.1 * row.total_ns as f64) as Ns).sum();
    let of_all = |(_, row): &(usize, &CallRow)| {
        say!(
            Name(row.name.to_string()),
            ": ",
            hedge_again(row),
            Number(asked_again(row)),
            " of ",
            Count(row.calls, "call".into()),
            " with a path that was asked for before"
        )
    };
    let results = most.results.value();
    let named = results.and_then(|results| results.paths.as_ref()?.most.first());
    let of_path = |path: &PathRow| {
        say!(
            ", most often ",
            Name(path.path.clone()),
            ", ",
            hedge_again(most),
            Count(path.again.max(1), "time".into())
        )
    };
    Some(Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Call(place),
        what: say!(Name(most.name.to_string()))
            .and(evidence.caller(&asked))
            .and(say!(
                " asks ",
                hedge_again(most),
                Count(asked_again(most), "time".into()),
                " for a path that it has asked for before"
            ))
            .and(named.map(of_path).unwrap_or_default())
            .and(say!("; this takes ", hedge_time(most), Time(total_ns))),
        change: if of_listed.is_empty() {
            say!("keep the file open, or keep the result")
        } else {
            say!(
                "keep the result; where names and types are enough, skip these calls: ls without -l, \
                 find -type, os.scandir, d_type"
            )
        },
        share_ns: evidence.has(&names),
        saving: evidence.saving(&Removal::Parts(goes), part, SavingBasis::Counted),
        evidence: rows
            .iter()
            .map(of_all)
            .chain((!of_listed.is_empty()).then(|| {
                say!("the files were listed with names and types: where these are enough, no call is needed")
            }))
            .collect(),
        assumes: vec![say!("the files do not change, or the program is told when they do")],
        verify: vec![say!(
            "strace -f -e trace=",
            Name(most.name.name.to_string()),
            " … shows the paths that are asked for again"
        )],
        explains: Vec::new(),
        belief: None,
    })
}

/// How many times a directory was listed: each listing ends with nothing.
fn listings(evidence: &Evidence<'_>) -> u64 {
    evidence.calls_named(LISTS).iter().filter_map(|(_, row)| Some(row.results.value()?.zeros)).sum()
}

/// Directories that are listed again and again.
fn listed_again(evidence: &Evidence<'_>) -> Option<Finding> {
    let lists = listings(evidence);
    let opens = evidence.calls_named(OPENS);
    let sum = |of: &dyn Fn(&CallRow) -> u64| -> u64 { opens.iter().map(|(_, row)| of(row)).sum() };
    // Other files than directories may have been opened again: at least the rest were directories.
    let others = sum(&|row| row.calls.saturating_sub(row.errors)).saturating_sub(lists);
    let again = sum(&asked_again).saturating_sub(others).min(lists);
    let again_max = sum(&asked_again_max).min(lists).max(again);
    if again < FAILED_MIN || again < lists - lists / TIMES_MIN {
        return None;
    }
    // A tree that is listed a second time has each directory a few times.
    let paths = opens.iter().filter_map(|(_, row)| row.results.value()?.paths.as_ref());
    let dirs = paths.flat_map(|paths| &paths.most).filter(|path| path.again <= lists);
    let dir = dirs.max_by_key(|path| path.again)?;
    // So often it was a directory, even if all other files that were opened had this name.
    if dir.again.saturating_sub(others) < FAILED_MIN {
        return None;
    }
    let rows = evidence.calls_named(LISTS);
    let (place, most) = rows.iter().copied().max_by_key(|(_, row)| row.total_ns)?;
    let of_lists = |row: &CallRow, lists_of: u64| {
        (u128::from(row.calls) * u128::from(lists_of) / u128::from(lists.max(1))) as u64
    };
    let with_each = || opens.iter().copied().chain(evidence.calls_named(&["close"]));
    let listing = rows
        .iter()
        .map(|(_, row)| RemovedCalls::between(row, of_lists(row, again), of_lists(row, again_max)));
    let opens_of = |row: &CallRow, of: fn(&CallRow) -> u64, most: u64| match &*row.name.name {
        "close" => most,
        _ => most.min(of(row)),
    };
    let opening = with_each().map(|(_, row)| {
        let least = opens_of(row, asked_again, again);
        RemovedCalls::between(row, least, opens_of(row, asked_again_max, again_max))
    });
    let gone: Vec<_> = listing.chain(opening).collect();
    let names: Vec<_> = gone.iter().map(|gone| &gone.row.name).collect();
    let part = part_of_all(&gone);
    let listings: Vec<_> = rows.iter().map(|(_, row)| &row.name).collect();
    Some(Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Call(place),
        what: say!(Name(most.name.to_string()))
            .and(evidence.caller(&listings))
            .and(say!(" lists a directory again at least ", Count(again, "time".into())))
            .and(say!(", most often ", Name(dir.path.clone())))
            .and(say!(
                "; listing takes ",
                hedge_time(most),
                Time(rows.iter().map(|(_, row)| row.total_ns).sum())
            )),
        change: say!("list each directory once and keep the names, or ask for the one file (stat)"),
        share_ns: evidence.has(&names),
        saving: evidence.saving(
            &Removal::Parts(evidence.without(&gone, Kind::Cpu)),
            part,
            SavingBasis::Counted,
        ),
        evidence: vec![say!(
            "at least ",
            Number(again),
            " of ",
            Count(lists, "listing".into()),
            " are of a directory that was listed before"
        )],
        assumes: vec![say!("the directories do not change, or the program is told when they do")],
        verify: vec![say!("strace -f -y -e trace=getdents64 … shows the directories that are listed")],
        explains: Vec::new(),
        belief: None,
    })
}

/// Calls that ask for each of the files that were listed, where the program does not open these:
/// those with most time first. `count` tells how many calls of a row ask.
fn questions_of_listed<'a>(
    evidence: &Evidence<'a>,
    count: fn(&CallRow) -> u64,
) -> Option<Vec<(usize, &'a CallRow)>> {
    let traced = |row: &CallRow, of: fn(&CallRow) -> u64| (of(row) as f64 * traced_part(row)).round() as u64;
    let sum = |names: &[&str], of: fn(&CallRow) -> u64| -> u64 {
        evidence.calls_named(names).iter().map(|(_, row)| traced(row, of)).sum()
    };
    let names_max = sum(LISTS, |row| moved(row).value().map_or(0, |moved| moved.bytes)) / ENTRY_BYTES_MIN;
    let asks = evidence.calls_named(ASKS).into_iter().filter(|(_, row)| row.errors * 2 < row.calls);
    let asks = asks.chain(evidence.calls_named(ATTRIBUTES)).filter(|(_, row)| count(row) >= ASKED_MIN);
    let mut asks: Vec<(usize, &CallRow)> = asks.collect();
    asks.sort_by_key(|(place, row)| (Reverse(row.total_ns), *place));
    let asked = asks.iter().map(|(_, row)| traced(row, count)).max()?;
    let opened = sum(OPENS, |row| row.calls - row.errors.min(row.calls));
    (asked <= names_max && asked * LISTED_PART >= names_max && asked >= opened * 2).then_some(asks)
}

/// Questions for each of the files that were listed. Who looks for a module in one directory after
/// the other, as Python does, lists these as well, and asks for the directories again each time.
fn listing(evidence: &Evidence<'_>) -> Option<Finding> {
    let asks = questions_of_listed(evidence, |row| row.calls.saturating_sub(asked_again(row)))?;
    let gone: Vec<RemovedCalls<'_>> = asks
        .iter()
        .map(|(_, row)| RemovedCalls { part: (0.0, 1.0), ..RemovedCalls::of(row, row.calls) })
        .collect();
    let questions: u64 = asks.iter().map(|(_, row)| row.calls).sum();
    let goes = evidence.without(&gone, Kind::Cpu);
    let names: Vec<_> = asks.iter().map(|(_, row)| &row.name).collect();
    let (place, most) = asks[0];
    let others = match &asks[1..] {
        [] => say!(),
        [(_, one)] => say!(" and ", Name(one.name.to_string())),
        [(_, one), (_, other), ..] => {
            say!(", ", Name(one.name.to_string()), " and ", Name(other.name.to_string()))
        }
    };
    let of_all = |(_, row): &(usize, &CallRow)| {
        say!(
            Name(row.name.to_string()),
            ": ",
            hedge(row),
            Count(row.calls, "call".into()),
            ", ",
            Number(row.errors),
            " failed"
        )
    };
    let (share_ns, part) = (evidence.has(&names), part_of_all(&gone));
    let saving = evidence.saving(&Removal::Parts(goes), part, SavingBasis::Assumed);
    // With little time it has no clock, and nothing is lost by leaving it.
    saving.value()?;
    Some(Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Call(place),
        what: say!(Name(most.name.to_string())).and(others).and(evidence.caller(&names)).and(say!(
            if asks.len() == 1 { " asks " } else { " ask " },
            hedge_all(asks.iter().map(|(_, row)| *row), hedge),
            Count(questions, "time".into()),
            " for metadata of files that were already listed with names and types; this takes ",
            hedge_all(asks.iter().map(|(_, row)| *row), hedge_time),
            Time(asks.iter().map(|(_, row)| row.total_ns).sum())
        )),
        change: say!(
            "where names and types are enough, skip these calls: ls without -l, find -type, os.scandir, d_type"
        ),
        share_ns,
        saving,
        evidence: asks.iter().map(of_all).collect(),
        assumes: vec![say!("the program needs only names and types")],
        verify: vec![say!("measure both versions: dwell compare --predicted ID BEFORE AFTER")],
        explains: Vec::new(),
        belief: None,
    })
}

fn finding(evidence: &Evidence<'_>, place: usize, most: &CallRow, rows: &[&CallRow]) -> Finding {
    let gone: Vec<RemovedCalls<'_>> = rows.iter().copied().map(without).collect();
    let part = part_of_all(&gone);
    let goes = evidence.without(&gone, Kind::Cpu);
    let total_ns: Ns = rows.iter().map(|row| row.total_ns).sum();
    let names: Vec<_> = rows.iter().map(|row| &row.name).collect();
    let of_all = |row: &&CallRow| {
        say!(
            Name(row.name.to_string()),
            ": ",
            hedge(row),
            Number(not_there(row)),
            " of ",
            Count(row.calls, "call".into()),
            " found nothing"
        )
    };
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Call(place),
        what: say!(Name(most.name.to_string())).and(evidence.caller(&names)).and(say!(
            " asks ",
            hedge(most),
            Count(most.calls, "time".into()),
            " for files, ",
            Number(not_there(most)),
            " times for one that does not exist; this takes ",
            hedge_all(rows.iter().copied(), hedge_time),
            Time(total_ns)
        )),
        change: say!("list the directory once, or search first where the files are"),
        share_ns: evidence.has(&names),
        saving: evidence.saving(&Removal::Parts(goes), part, SavingBasis::Counted),
        evidence: rows.iter().map(of_all).collect(),
        assumes: vec![say!("the program need not check each time that these files are missing")],
        verify: vec![say!(
            "strace -f -Z -e trace=",
            Name(most.name.name.to_string()),
            " … shows the names that do not exist"
        )],
        explains: Vec::new(),
        belief: None,
    }
}

/// What goes of a call that mostly finds nothing.
fn without(row: &CallRow) -> RemovedCalls<'_> {
    let missed = RemovedCalls::of(row, not_there(row));
    match ASKS.contains(&&*row.name.name) {
        // Who has listed the directory asks for nothing more.
        true => RemovedCalls { part: (missed.part.0, 1.0), ..RemovedCalls::of(row, row.calls) },
        false => missed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{call, moving};
    use crate::judge::samples::{found, judged, run, saves, sites};
    use model::prediction::Site;
    use model::syscall_rows::{Estimate, PathsRow, ResultsRow};
    use model::{Diagnosis, State};

    const MS: Ns = 1_000_000;

    /// 200 ms, of which 100 are in `newfstatat`.
    fn diagnosis(calls: u64, errors: u64) -> Diagnosis {
        let mut run = run(&[(State::User, 60 * MS), (State::Kernel, 140 * MS)]);
        run.tables.syscalls =
            Seen::Value(vec![call("newfstatat", calls, errors, 100 * MS), call("getpid", calls, 0, MS)]);
        judged(&run, &sites(&run, &[(Site::Call("newfstatat".into()), [100 * MS; 3])]))
    }

    /// 400 listings with two calls each; `again` of the 450 opened files were opened before.
    #[test]
    fn directories_that_are_listed_again_go_but_for_once() {
        let of = |again: u64, most: u64| {
            let mut run = run(&[(State::User, 60 * MS), (State::Kernel, 140 * MS)]);
            let dir = PathRow { path: "names".into(), pid: 100, again: most, again_failed: 0 };
            let paths = PathsRow { sample: 450, again, again_failed: 0, most: vec![dir] };
            let results = |zeros, paths| Seen::Value(ResultsRow { zeros, paths, ..ResultsRow::default() });
            let lists = CallRow { results: results(400, None), ..call("getdents64", 800, 0, 80 * MS) };
            let opens = CallRow { results: results(0, Some(paths)), ..call("openat", 450, 0, 10 * MS) };
            run.tables.syscalls = Seen::Value(vec![lists, opens]);
            judged(&run, &sites(&run, &[(Site::Call("getdents64".into()), [80 * MS; 3])]))
        };
        let diagnosis = of(449, 398);
        let finding = found(&diagnosis, "metadata-calls").expect("it is there");
        assert_eq!(finding.place, RowRef::Call(0));
        let again = Count(399, "time".into());
        assert!(finding.what.0.contains(&again), "{:?}", finding.what);
        assert!(found(&of(349, 299), "metadata-calls").is_none(), "299 may be of directories");
        assert!(found(&of(449, 99), "metadata-calls").is_none(), "a tree is listed some times");
    }

    #[test]
    fn those_that_fail_go_or_all_questions() {
        let diagnosis = diagnosis(1000, 900);
        let finding = found(&diagnosis, "metadata-calls").expect("it is there");
        assert_eq!(saves(finding), (90 * MS, 100 * MS));
    }

    #[test]
    fn questions_for_what_was_listed_may_all_go() {
        let saved = |asked: u64, listed_bytes: u64, opened: u64| {
            let mut run = run(&[(State::User, 60 * MS), (State::Kernel, 140 * MS)]);
            let list = moving("getdents64", listed_bytes, &[(4096, 100)]);
            let none = call("lgetxattr", asked, asked, 20 * MS);
            run.tables.syscalls = Seen::Value(vec![
                call("statx", asked, 0, 100 * MS),
                none,
                call("openat", opened, 0, MS),
                list,
            ]);
            let of = |call: &'static str, ns| (Site::Call(call.into()), [ns; 3]);
            let clocks = sites(&run, &[of("statx", 100 * MS), of("lgetxattr", 20 * MS)]);
            found(&judged(&run, &clocks), "metadata-calls").map(saves)
        };
        assert_eq!(saved(1000, 24_000, 500), Some((0, 120 * MS)));
        for (asked, bytes, opened, why) in [
            (999, 24_000, 0, "few"),
            (1001, 24_000, 0, "more than were listed"),
            (1000, 96_024, 0, "a few of the listed ones"),
            (1000, 24_000, 501, "they are read"),
        ] {
            assert_eq!(saved(asked, bytes, opened), None, "{why}");
        }
    }

    #[test]
    fn what_was_estimated_is_not_held_against_what_was_not() {
        let is_found = |estimate: Option<Estimate>| {
            let mut run = run(&[(State::User, 60 * MS), (State::Kernel, 140 * MS)]);
            // 40,000 bytes of 100 calls were traced: 1,666 names at most.
            let list = CallRow { estimate, ..moving("getdents64", 240_000, &[(4096, 600)]) };
            run.tables.syscalls = Seen::Value(vec![call("statx", 1000, 0, 100 * MS), list]);
            let clocks = sites(&run, &[(Site::Call("statx".into()), [100 * MS; 3])]);
            found(&judged(&run, &clocks), "metadata-calls").is_some()
        };
        assert!(is_found(Some(Estimate { seen: 100, calls: 600, lo: 500, hi: Some(700) })));
        assert!(!is_found(None), "a tenth of what was listed");
    }

    /// As of `black`, a program in Python that imports 250 modules: 1,321 questions, most of them
    /// for directories along its path, which it lists.
    #[test]
    fn questions_for_a_path_again_are_not_those_of_a_listing() {
        let is = |again: u64, again_failed: u64| {
            let mut run = run(&[(State::User, 160 * MS), (State::Kernel, 40 * MS)]);
            let mut ask = moving("newfstatat", 0, &[(1, 1321)]);
            (ask.total_ns, ask.cpu_ns, ask.p50_ns) = (20 * MS, 20 * MS, Seen::Value(15_000));
            let Seen::Value(results) = &mut ask.results else { panic!("they are there") };
            let most = Vec::new();
            results.paths = Some(PathsRow { sample: 921, again, again_failed, most });
            let list = moving("getdents64", 34_280, &[(4096, 54)]);
            run.tables.syscalls = Seen::Value(vec![ask, call("openat", 294, 37, MS), list]);
            let clocks = sites(&run, &[(Site::Call("newfstatat".into()), [20 * MS; 3])]);
            found(&judged(&run, &clocks), "metadata-calls").is_some()
        };
        assert!(!is(841, 38), "518 are left");
        assert!(is(321, 0) && !is(322, 0), "a listing asks a thousand times");
        assert!(is(322, 1), "what failed is no answer");
    }

    /// Opens and closes of 100 ms together, this many of them with a path again.
    fn opens(calls: u64, again: u64, again_failed: u64) -> Diagnosis {
        opens_and_lists(calls, again, again_failed, 0)
    }

    /// The same of a program that lists this many directories to their end.
    fn opens_and_lists(calls: u64, again: u64, again_failed: u64, lists: u64) -> Diagnosis {
        let mut run = run(&[(State::User, 60 * MS), (State::Kernel, 140 * MS)]);
        let most = vec![PathRow { path: "/etc/localtime".into(), pid: 100, again, again_failed }];
        let mut open = moving("openat", 0, &[(1, calls)]);
        (open.total_ns, open.cpu_ns, open.p50_ns) = (80 * MS, 80 * MS, Seen::Value(80 * MS / calls));
        let Seen::Value(results) = &mut open.results else { panic!("they are there") };
        results.paths = Some(PathsRow { sample: calls, again, again_failed, most });
        let mut list = moving("getdents64", 4096, &[(4096, lists)]);
        let Seen::Value(results) = &mut list.results else { panic!("they are there") };
        results.zeros = lists;
        run.tables.syscalls = Seen::Value(vec![open, call("close", calls, 0, 20 * MS), list]);
        let of = |call: &'static str, ns| (Site::Call(call.into()), [ns; 3]);
        judged(&run, &sites(&run, &[of("openat", 80 * MS), of("close", 20 * MS)]))
    }

    #[test]
    fn paths_that_are_asked_for_again_go_with_their_closes_but_the_first_of_each() {
        let diagnosis = opens(2000, 1990, 0);
        let finding = found(&diagnosis, "metadata-calls").expect("it is there");
        assert_eq!(saves(finding), (99_500_000, 99_500_000));
        assert!(finding.what.0.contains(&Name("/etc/localtime".into())), "{:?}", finding.what);
    }

    #[test]
    fn questions_again_for_what_was_listed_may_all_go() {
        let saved = |listed_bytes: u64| {
            let mut run = run(&[(State::User, 60 * MS), (State::Kernel, 140 * MS)]);
            let mut ask = moving("lstat", 0, &[(1, 2000)]);
            (ask.total_ns, ask.cpu_ns, ask.p50_ns) = (100 * MS, 100 * MS, Seen::Value(50_000));
            let Seen::Value(results) = &mut ask.results else { panic!("they are there") };
            results.paths = Some(PathsRow { sample: 2000, again: 1600, again_failed: 0, most: Vec::new() });
            let list = moving("getdents64", listed_bytes, &[(4096, 400)]);
            run.tables.syscalls = Seen::Value(vec![ask, list]);
            let diagnosis = judged(&run, &sites(&run, &[(Site::Call("lstat".into()), [100 * MS; 3])]));
            let times = diagnosis.findings.iter().filter(|finding| finding.cause == CAUSE.name).count();
            assert_eq!(times, 1, "it is not claimed twice of one call");
            let finding = found(&diagnosis, "metadata-calls").expect("it is there");
            (saves(finding), finding.evidence.len())
        };
        assert_eq!(saved(24), ((80 * MS, 80 * MS), 1), "no directory has that many names");
        assert_eq!(saved(2000 * 24), ((80 * MS, 100 * MS), 2));
    }

    #[test]
    fn directories_that_are_listed_again_may_have_other_entries() {
        let is = |lists| found(&opens_and_lists(2000, 1990, 0, lists), "metadata-calls").is_some();
        assert!(is(490) && !is(491), "three quarters are 1,500");
    }

    #[test]
    fn a_path_that_is_asked_for_twice_or_is_not_there_is_none_again() {
        let is = |calls, again, failed| found(&opens(calls, again, failed), "metadata-calls").is_some();
        assert!(is(1334, 1001, 0));
        for (calls, again, failed, why) in [
            (1000, 999, 0, "few"),
            (2000, 1499, 0, "less than four times each"),
            (2000, 1990, 600, "they fail"),
        ] {
            assert!(!is(calls, again, failed), "{why}");
        }
    }

    #[test]
    fn where_less_than_half_fail_or_few_do_there_is_none() {
        assert!(found(&diagnosis(1000, 500), "metadata-calls").is_some());
        for (calls, errors) in [(1000, 499), (99, 99), (1000, 0)] {
            let diagnosis = diagnosis(calls, errors);
            assert!(found(&diagnosis, "metadata-calls").is_none(), "{errors} of {calls}");
            assert!(diagnosis.ruled_out.iter().any(|(cause, _)| cause.id == "metadata-calls"));
        }
        assert!(found(&diagnosis(100, 100), "metadata-calls").is_some());
    }
}

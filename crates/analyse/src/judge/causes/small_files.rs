//! Programs whose data is in many small files.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::file_calls::{LISTS, OF_EACH, OPENS, READS, RemovedCalls, SYNCS, WRITES, part_of_all};
use crate::judge::predict::{Kind, Removal};
use crate::judge::results::{asked_again, hedge, hedge_all, hedge_time, moved};
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::sentence::Piece::{Bytes, Count, Name, Ns as Time, Number};
use model::syscall_rows::CallRow;
use model::{Ns, RuledOut, Seen, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("small-files", "data in many small files"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program opens many files, and reads or writes little in each.",
        why: "Opening a file, asking for its size and closing it take longer than reading a few \
              pages from memory. On a disk, each file is at least one request of its own. Making \
              and removing a file takes longer still.",
        rule: "1,000 files or more are opened (a file that a process opens again does not count), \
               and 32 KiB or less are read and written for each on average. The reasons: copying \
               that much from memory takes about as long as opening and closing, and an \
               interpreter, a compiler or a linker opens some hundreds. A program that lists a \
               directory for every 100 files or fewer is no finding. It goes through a tree that \
               it was given, and how the files are laid out is not up to it.",
        else_it_could_be: "The task of the program may be to look at all files whose names it is \
                           given.",
        change: "Keep in one file what is read together: an archive that is read in order, SQLite, \
                 a format with an index. Scripts in thousands of modules can be bundled.",
        part: "Counted: all opens but one are saved, with the closes, the removals and the \
               questions for sizes. The high end also takes two things: reads and writes beyond \
               bytes/64 KiB, each as long as the median, and the other files' share of what makes \
               them durable, since each has an inode, a name and a place on the disk.",
        assumes: "The program may choose how its data is laid out. Finding a record in the one \
                  file takes little time.",
    },
    explains: &["small-io", "disk-latency", "metadata-calls"],
    signs: &[],
    probe: None,
    check,
};

/// Fewer files are opened when an ordinary program starts.
const FILES_MIN: u64 = 1000;
/// With more in each, reading takes longer than opening.
const BYTES_MAX: u64 = 32 << 10;
/// With fewer files for each directory that is listed the program goes through a tree.
const IN_DIRECTORY_MIN: u64 = 100;
/// A directory takes as many calls to list: the last finds its end.
const CALLS_OF_LIST: u64 = 2;
const BUFFER: u64 = 65_536;

/// Calls that remove or rename files.
const REMOVALS: &[&str] = &["unlink", "unlinkat", "rename", "renameat", "renameat2"];
/// A file that is written and read is opened as often.
const OPENS_A_FILE: u64 = 2;

fn check(evidence: &Evidence<'_>) -> Outcome {
    if let Seen::Unseen(why) = &evidence.run.tables.syscalls {
        return Outcome::Unavailable(why.clone());
    }
    let opens = evidence.calls_named(OPENS);
    let files: u64 = opens.iter().map(|(_, row)| succeeded(row)).sum();
    let again: u64 = opens.iter().map(|(_, row)| asked_again(row)).sum();
    if files >= FILES_MIN && files - again.min(files) < FILES_MIN {
        let different = Count(files - again.min(files), "different file".into());
        let what = say!("opened, some of them again: ", Count(files, "open".into()));
        return Outcome::RuledOut(RuledOut::below(different, what, Number(FILES_MIN)));
    }
    let lists: u64 = evidence.calls_named(LISTS).iter().map(|(_, row)| row.calls).sum();
    let moves = [evidence.calls_named(READS), evidence.calls_named(WRITES)].concat();
    if files < FILES_MIN {
        return Outcome::RuledOut(RuledOut::below(
            Count(files, "file".into()),
            say!("opened"),
            Number(FILES_MIN),
        ));
    }
    if lists / CALLS_OF_LIST * IN_DIRECTORY_MIN > files {
        let files = Count(files / (lists / CALLS_OF_LIST), "file".into());
        let what = say!("opened per listed directory");
        return Outcome::RuledOut(RuledOut::below(files, what, Number(IN_DIRECTORY_MIN)));
    }
    let reads_and_writes = moves.iter().map(|(_, row)| row.calls).sum::<u64>();
    if reads_and_writes < files {
        let what = say!("reads and writes for ", Count(files, "opened file".into()));
        return Outcome::RuledOut(RuledOut::below(Number(reads_and_writes), what, Number(files)));
    }
    let mut bytes = 0;
    for (_, row) in &moves {
        match moved(row) {
            Seen::Value(moved) => bytes += moved.bytes,
            Seen::Absent => {}
            Seen::Unseen(why) => return Outcome::Unavailable(why),
        }
    }
    if bytes / files > BYTES_MAX {
        let what = say!("read and written per file");
        return Outcome::RuledOut(RuledOut::above(Bytes(bytes / files), what, Bytes(BYTES_MAX)));
    }
    Outcome::Found(vec![finding(evidence, files, bytes)])
}

fn succeeded(row: &CallRow) -> u64 {
    row.calls.saturating_sub(row.errors)
}

fn finding(evidence: &Evidence<'_>, files: u64, bytes: u64) -> Finding {
    let opens = evidence.calls_named(OPENS);
    let (place, most) = opens.iter().max_by_key(|(_, row)| row.total_ns).copied().expect("files were opened");
    let mut gone: Vec<RemovedCalls<'_>> =
        opens.iter().map(|(_, row)| RemovedCalls::of(row, succeeded(row).saturating_sub(1))).collect();
    let others = [evidence.calls_named(OF_EACH), evidence.calls_named(REMOVALS)].concat();
    // Only what is called for each of them is of them.
    let each = files / OPENS_A_FILE;
    let others = others.into_iter().filter(|(_, row)| succeeded(row) >= each - each / 10);
    gone.extend(others.map(|(_, row)| RemovedCalls::of(row, (files - 1).min(succeeded(row)))));
    let handling_ns: Ns = gone.iter().map(|gone| (gone.part.1 * gone.row.total_ns as f64) as Ns).sum();
    let moves = [evidence.calls_named(READS), evidence.calls_named(WRITES)].concat();
    gone.extend(moves.into_iter().map(|(_, row)| {
        let moved = moved(row).value().map_or(0, |moved| moved.bytes);
        let gone = RemovedCalls::of(row, row.calls.saturating_sub(moved / BUFFER + 1));
        // Those that wait for the disk may all go: of one file it reads ahead, and writes later.
        // Where none was timed, none is known to stay.
        let stays_ns = (row.calls - gone.calls) * row.p50_ns.value().copied().unwrap_or(0);
        let most = 1.0 - (stays_ns as f64 / row.total_ns.max(1) as f64).min(1.0);
        RemovedCalls { part: (0.0, most.max(gone.part.1)), ..gone }
    }));
    if !evidence.calls_named(WRITES).is_empty() {
        let others = (files - 1) as f64 / files as f64;
        let syncs = evidence.calls_named(SYNCS);
        gone.extend(
            syncs
                .into_iter()
                .map(|(_, row)| RemovedCalls { part: (0.0, others), ..RemovedCalls::of(row, row.calls) }),
        );
    }
    let part = part_of_all(&gone);
    let goes = evidence.without(&gone, Kind::Waiting);
    let names: Vec<_> = opens.iter().map(|(_, row)| &row.name).collect();
    let of_files: Vec<_> = gone.iter().map(|gone| &gone.row.name).collect();
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Call(place),
        what: say!(Name(most.name.to_string())).and(evidence.caller(&names)).and(say!(
            " opens ",
            hedge_all(opens.iter().map(|(_, row)| *row), hedge),
            Count(files, "file".into()),
            " of ",
            Bytes(bytes / files),
            " on average; opening them, closing them and the other calls for each take ",
            hedge_all(gone.iter().map(|gone| gone.row), hedge_time),
            Time(handling_ns)
        )),
        change: say!("keep data that is read together in one file: an archive, SQLite"),
        share_ns: evidence.has(&of_files),
        saving: evidence.saving(&Removal::Parts(goes), part, SavingBasis::Counted),
        evidence: vec![say!(Count(files, "file".into()), ", ", Bytes(bytes), " read and written")],
        assumes: vec![say!("the program may choose how its data is laid out")],
        verify: vec![say!("measure both versions: dwell compare --predicted ID BEFORE AFTER")],
        explains: Vec::new(),
        belief: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{call, moving, step};
    use crate::judge::samples::{found, judged, run, saves, sites};
    use model::prediction::Site;
    use model::syscall_rows::{PathsRow, ResultsRow};
    use model::wait::SyscallName;
    use model::{Diagnosis, Reason, Run, State};

    const MS: Ns = 1_000_000;

    /// Files that are opened, read with one call each and closed, in a call of 1 us each.
    fn of(files: u64, bytes: u64, lists: u64) -> Run {
        let mut run = run(&[(State::Kernel, 3 * files * 1000)]);
        let ns = files * 1000;
        run.tables.syscalls = Seen::Value(vec![
            call("openat", files, 0, ns),
            moving("read", bytes, &[(1024, files)]),
            call("close", files, 0, ns),
            call("getdents64", lists * 2, 0, 0),
            call("newfstatat", 10, 0, 0),
        ]);
        let on_path = |name: &str| step(State::Kernel, Reason::Syscall(name.into()), ns);
        run.path = ["openat", "read", "close"].map(on_path).into();
        run
    }

    fn diagnosis(run: &Run) -> Diagnosis {
        let ns = run.wall_ns / 3;
        let of_call = |name: &str| (Site::Call(name.into()), [ns; 3]);
        judged(run, &sites(run, &["openat", "read", "close"].map(of_call)))
    }

    fn is_found(run: &Run) -> bool {
        found(&diagnosis(run), "small-files").is_some()
    }

    #[test]
    fn opens_and_closes_go_but_one_and_reads_at_most() {
        let run = of(10_000, 10_000 * 2048, 0);
        let diagnosis = diagnosis(&run);
        let finding = found(&diagnosis, "small-files").expect("it is there");
        let reads_ns = (10_000 - 312 - 1) * 1000;
        assert_eq!(saves(finding), (2 * 9999 * 1000, 2 * 9999 * 1000 + reads_ns));
        assert!(finding.share_ns.hi >= 29 * MS, "{:?}", finding.share_ns);
    }

    #[test]
    fn reads_that_wait_for_the_disk_may_all_go_but_what_copies_the_bytes() {
        let mut run = of(10_000, 10_000 * 10_000, 0);
        let Seen::Value(rows) = &mut run.tables.syscalls else { panic!("there are rows") };
        // 1,526 of them hold as much, each 1 us; half of them wait for the disk.
        (rows[1].total_ns, rows[1].p50_ns) = (50 * MS, Seen::Value(1000));
        run.wall_ns += 40 * MS;
        run.account.push(model::run::measured(State::Disk, 40 * MS));
        run.path.push(step(State::Disk, Reason::Syscall("read".into()), 40 * MS));
        let of_call = |name: &str, ns| (Site::Call(name.into()), [ns; 3]);
        let clocks = [of_call("openat", 10 * MS), of_call("read", 50 * MS), of_call("close", 10 * MS)];
        let diagnosis = judged(&run, &sites(&run, &clocks));
        let (lo, hi) = saves(found(&diagnosis, "small-files").expect("it is there"));
        assert_eq!(lo, 2 * 9999 * 1000);
        assert!((hi - lo).abs_diff(50 * MS - 1526 * 1000) <= MS / 100, "{lo} to {hi}");
    }

    #[test]
    fn what_is_made_for_each_file_and_written_to_it_goes_as_well() {
        let mut run = of(10_000, 10_000 * 2048, 0);
        let Seen::Value(rows) = &mut run.tables.syscalls else { panic!("there are rows") };
        rows.extend([
            moving("write", 5_000 * 2048, &[(1024, 5_000)]),
            call("unlink", 5_000, 0, 5_000_000),
            call("rename", 4_000, 0, 4_000_000),
        ]);
        let on_path = |name: &str| step(State::Kernel, Reason::Syscall(name.into()), 5 * MS);
        run.path.push(on_path("unlink"));
        let ns = run.wall_ns / 3;
        let of_call = |name: &str| (Site::Call(name.into()), [ns; 3]);
        let of = |name| (Site::Call(SyscallName::from(name)), [5 * MS; 3]);
        let mut all: Vec<_> = ["openat", "read", "close"].map(of_call).into();
        all.push(of("unlink"));
        let diagnosis = judged(&run, &sites(&run, &all));
        let finding = found(&diagnosis, "small-files").expect("it is there");
        assert_eq!(saves(finding).0, 2 * 9999 * 1000 + 5 * MS, "each of 5,000 is removed once");
    }

    #[test]
    fn what_makes_many_files_durable_may_go_with_them() {
        let hi = |written: bool| {
            let mut run = of(10_000, 10_000 * 2048, 0);
            run.wall_ns += 50 * MS;
            run.account.push(model::run::measured(State::Disk, 50 * MS));
            run.path.push(step(State::Disk, Reason::Syscall("syncfs".into()), 50 * MS));
            let Seen::Value(rows) = &mut run.tables.syscalls else { panic!("there are rows") };
            rows.push(call("syncfs", 1, 0, 50 * MS));
            if written {
                rows.push(moving("write", 10_000 * 2048, &[(1024, 10_000)]));
            }
            let of_call = |name: &str| (Site::Call(name.into()), [10 * MS; 3]);
            let mut all: Vec<_> = ["openat", "read", "close"].map(of_call).into();
            all.push((Site::Call("syncfs".into()), [50 * MS; 3]));
            let diagnosis = judged(&run, &sites(&run, &all));
            saves(found(&diagnosis, "small-files").expect("it is there"))
        };
        let (with, without) = (hi(true), hi(false));
        assert_eq!(with.0, without.0, "it may be as long for one file");
        assert!(with.1 >= without.1 + 49 * MS, "{with:?} {without:?}");
    }

    #[test]
    fn a_few_files_and_large_ones_are_no_cause() {
        assert!(is_found(&of(1000, 1000 * BYTES_MAX, 0)));
        assert!(!is_found(&of(999, 999 * BYTES_MAX, 0)));
        assert!(!is_found(&of(1000, 1000 * (BYTES_MAX + 1), 0)));
    }

    #[test]
    fn files_that_are_opened_again_are_the_same_files() {
        let of_again = |again| {
            let mut run = of(3000, 3000 * 1024, 0);
            let Seen::Value(rows) = &mut run.tables.syscalls else { panic!("there are rows") };
            let paths = Some(PathsRow { sample: 3000, again, ..PathsRow::default() });
            rows[0].results = Seen::Value(ResultsRow { paths, ..ResultsRow::default() });
            is_found(&run)
        };
        assert!(of_again(2000), "each is opened three times");
        assert!(!of_again(2001));
    }

    #[test]
    fn who_goes_through_a_tree_has_no_choice() {
        assert!(is_found(&of(1000, 1000, 10)));
        assert!(!is_found(&of(1000, 1000, 11)));
    }
}

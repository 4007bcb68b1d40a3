//! Records that are confirmed one by one, and those that need not be.

use super::*;
use crate::judge::file_samples::{call, disk, series, step, wait};
use crate::judge::samples::{found, judged, run, saves, sites};
use model::files::{FileTable, TransferRow};
use model::prediction::Site;
use model::wait::WakerKind;
use model::{Diagnosis, Reason, Run};

const MS: Ns = 1_000_000;

/// A second, of which 900 ms are in this call.
fn of(name: &'static str, calls: u64) -> Run {
    let mut run = run(&[(State::User, 100 * MS), (State::Disk, 900 * MS)]);
    run.tables.syscalls = Seen::Value(vec![call(name, calls, 0, 900 * MS)]);
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

/// 10,000 writes of which this many are to a file that syncs each, and have half of the time.
fn among_others(durable: u64, bytes: u64) -> Run {
    let mut run = of("write", 10_000);
    let path = WaitTarget::File(Seen::Value("/journal".into()));
    run.waits = vec![wait(State::Disk, "write", path, durable, 450 * MS, WakerKind::Device)];
    let row = DurableRow { call: "write".into(), calls: durable, bytes, total_ns: 450 * MS };
    let moved = || TransferRow { call: "write".into(), ..TransferRow::default() };
    let file = FileRow {
        path: "/journal".into(),
        device: Seen::Absent,
        inode: 1,
        generation: 0,
        pid: 100,
        program: Seen::Absent,
        size_bytes: bytes,
        read: TransferRow::default(),
        written: moved(),
        flags: vec!["O_DSYNC".into()],
        durable: Seen::Value(row),
        disk: Seen::Absent,
    };
    run.tables.files = Seen::Value(FileTable { rows: vec![file], ..FileTable::default() });
    run
}

#[test]
fn of_many_writes_those_count_whose_file_syncs_each() {
    let run = among_others(100, 10_000);
    let diagnosis = diagnosis(&run, "write");
    let finding = found(&diagnosis, "sync-writes").expect("it is there");
    assert_eq!(saves(finding), (405 * MS, 445_500_000));
    assert_eq!(finding.place, model::finding::RowRef::File(0));
    let of = |durable, bytes| found(&diagnosis_of(&among_others(durable, bytes)), "sync-writes").is_some();
    assert!(of(10, 10 * BYTES_MAX) && !of(9, 900), "fewer are one confirmation at the end");
    assert!(!of(10, 11 * BYTES_MAX), "they are worth their time");
}

fn diagnosis_of(run: &Run) -> Diagnosis {
    diagnosis(run, "write")
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

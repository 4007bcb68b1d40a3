//! Causes of files, pipes and sleeps, each in a program that has it, in the same work without it,
//! beside a busy loop on each CPU, and where dwell may not see them.
//!
//! Needs root, BPF, and a scratch directory on a disk. Which finding comes first is a matter of
//! figures that a busy machine changes, so what is claimed is asked for again where it does not
//! hold at once.

use crate::support::{Told, dwell, fresh, hold_coarse, python, run, scratch};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use tempfile::{TempDir, tempdir};

/// `programs/causes_files.c`, built once.
fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/causes_files.c");
        let program = scratch().join(format!("causes-files-{}", std::process::id()));
        let status = Command::new("cc").args(["-g", "-O1", "-pthread", source, "-o"]).arg(&program).status();
        assert!(status.is_ok_and(|status| status.success()), "cc cannot compile {source}");
        program
    })
}

/// What the programs work on, in a directory on a disk: 1,500 small files and one with all of them,
/// a small file and a large one. Gone with the tests.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let place = fresh("causes");
        fs::create_dir_all(&place).expect("a directory in the scratch directory");
        let made = Command::new(program()).arg("make").arg(&place).arg("1500").status();
        assert!(made.is_ok_and(|status| status.success()), "no files could be made");
        let place = Self(place);
        place.writes("mid", 200_000);
        place.writes("big", 16 << 20);
        place
    }

    fn writes(&self, name: &str, count: u32) {
        let random: Vec<u8> = (0..count).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let path = self.0.join(name);
        fs::write(&path, random).expect("the disk has room");
        // A file that is not on its disk yet is read from memory.
        fs::File::open(&path).and_then(|file| file.sync_all()).expect("the disk takes it");
    }

    /// The program with these arguments; `@` is the directory.
    fn command(&self, arguments: &str) -> Vec<String> {
        let place = self.0.to_str().expect("plain characters");
        let program = program().to_str().expect("plain characters").to_owned();
        std::iter::once(program).chain(arguments.split(' ').map(|word| word.replace('@', place))).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A busy loop on each CPU, gone with it.
struct BusyLoops(Vec<Child>);

impl BusyLoops {
    fn new() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let start = |cpu: usize| {
            let mut command = Command::new("taskset");
            command.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
            command.stdin(Stdio::null()).spawn().expect("taskset starts")
        };
        Self((0..cpus).map(start).collect())
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn told(command: &[String]) -> Told {
    run(&command.iter().map(String::as_str).collect::<Vec<_>>())
}

fn beside_busy_loops(command: &[String]) -> Told {
    let _busy = BusyLoops::new();
    told(command)
}

/// A copy of dwell that an ordinary user may run, and that user's run.
fn as_nobody(command: &[String]) -> Told {
    let place: TempDir = tempdir().expect("a directory");
    let all = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o777)).expect("it is ours");
    all(place.path());
    for (from, name) in [(Path::new(dwell()), "dwell"), (program(), "program")] {
        fs::copy(from, place.path().join(name)).expect("a copy");
        all(&place.path().join(name));
    }
    let mut launcher = Command::new("setpriv");
    launcher.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(place.path().join("dwell"));
    launcher.args(["run", "-v", "--json"]).arg(place.path().join("run.json")).arg("--");
    launcher.arg(place.path().join("program")).args(&command[1..]).current_dir("/");
    let output = launcher.output().expect("setpriv starts");
    let page = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = fs::read_to_string(place.path().join("run.json")).unwrap_or_default();
    let run = serde_json::from_str(&text).unwrap_or_else(|error| panic!("no account: {error}\n{page}"));
    Told { run, page, out: String::new(), code: output.status.code() }
}

/// The cause is the first one in the program `with`, whose finding says this; it is not in the
/// program `without`; it is there beside busy loops; and it is not claimed where its signs cannot
/// be seen.
fn is_found(cause: &str, says: &str, with: &str, without: &str) {
    is_found_in(&Place::new(), cause, says, with, without);
}

fn is_found_in(place: &Place, cause: &str, says: &str, with: &str, without: &str) {
    let (with, without) = (place.command(with), place.command(without));
    hold_coarse(|| told(&with), |told, claims| claims.first(told, cause, says));
    hold_coarse(|| told(&without), |told, claims| claims.not_found(told, cause));
    hold_coarse(|| beside_busy_loops(&with), |told, claims| claims.among_first(told, cause));
    hold_coarse(|| as_nobody(&with), |told, claims| claims.found_or_not_looked_for(told, cause));
}

#[test]
fn a_sync_for_each_record() {
    let says = "fsync in records (causes_files.c:";
    is_found("sync-writes", says, "each-synced @/records 300", "synced-once @/records 300");
}

#[test]
fn a_file_that_syncs_each_write() {
    let says = "write in records (causes_files.c:";
    is_found("sync-writes", says, "each-durable @/records 300", "synced-once @/records 300");
}

#[test]
fn a_file_that_syncs_each_write_among_others() {
    let says = "records waits for the disk in each of 300 calls";
    is_found("sync-writes", says, "journal @/records 300", "journal-once @/records 300");
}

#[test]
fn names_that_are_not_there() {
    is_found("metadata-calls", "in missing (causes_files.c:", "missing @ 100000", "listed @ 100000");
}

#[test]
fn a_path_that_is_asked_for_again_and_again() {
    is_found(
        "metadata-calls",
        "times for a path that it has asked for before",
        "again @/mid 200000",
        "kept @/mid 200000",
    );
}

#[test]
fn a_byte_a_call() {
    is_found("small-io", "in copied (causes_files.c:", "by-bytes @/mid", "by-blocks @/mid");
}

#[test]
fn sixty_four_bytes_a_call() {
    is_found("small-io", "moves 64 B per call", "by-64 @/big", "by-blocks @/big");
}

#[test]
fn many_small_files() {
    let says = "opens 15,00";
    is_found("small-files", says, "files @ 1500", "packed @/packed");
}

#[test]
fn pages_one_after_the_other() {
    let says = "pread64 in scattered (causes_files.c:";
    is_found("disk-latency", says, "random @/big 4000", "ahead @/big 4000");
}

#[test]
fn a_disk_that_can_do_no_more() {
    // So large that it need not be read again.
    let place = Place::new();
    place.writes("large", 1 << 30);
    is_found_in(&place, "disk-throughput", "is at its limit", "stream @/large 1", "cached @/mid 1");
}

#[test]
fn looks_for_a_child_now_and_then() {
    let place = Place::new();
    let (polls, waits) = (place.command("polls @ 6"), place.command("waits @ 6"));
    let cause = "sleep-polling";
    hold_coarse(|| told(&polls), |told, claims| claims.first(told, cause, "between checks for a process"));
    hold_coarse(|| told(&waits), |told, claims| claims.not_found(told, cause));
    // Beside loops the children are most of the time, and run one after another.
    let also = ["cpu-contention", "single-thread"];
    hold_coarse(|| beside_busy_loops(&polls), |told, claims| claims.after_none_but(told, cause, &also));
    hold_coarse(|| as_nobody(&polls), |told, claims| claims.found_or_not_looked_for(told, cause));
}

#[test]
fn looks_for_a_thread_now_and_then() {
    let says = "while other threads of the program work";
    is_found("sleep-polling", says, "polls-thread @ 6", "joins @ 6");
}

#[test]
fn a_pace_is_no_look() {
    let place = Place::new();
    let paces = place.command("paces @ 15");
    hold_coarse(|| told(&paces), |told, claims| claims.not_found(told, "sleep-polling"));
}

#[test]
fn a_program_that_writes_slowly() {
    // To open the pipe waits for who reads.
    const SLOW: &str = "import os, sys, time; pipe = os.open(sys.argv[1], os.O_WRONLY)\n\
                        for i in range(20): time.sleep(.02); os.write(pipe, b'x')";
    let place = Place::new();
    let pipe = place.0.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "no pipe could be made");
    let from = |path: &Path| {
        let reads = format!("exec {} reads < {}", program().display(), path.display());
        ["sh", "-c", &reads].map(str::to_owned)
    };
    let slowly = |run: fn(&[String]) -> Told| {
        let mut writer =
            Command::new(python()).args(["-IS", "-c", SLOW]).arg(&pipe).spawn().expect("it starts");
        let told = run(&from(&pipe));
        let _ = writer.wait();
        told
    };
    hold_coarse(|| slowly(told), |told, claims| claims.first(told, "pipe-peer", "for python3"));
    hold_coarse(|| told(&from(&place.0.join("mid"))), |told, claims| claims.not_found(told, "pipe-peer"));
    hold_coarse(|| slowly(beside_busy_loops), |told, claims| claims.among_first(told, "pipe-peer"));
    let reads = place.command("reads");
    hold_coarse(|| as_nobody(&reads), |told, claims| claims.found_or_not_looked_for(told, "pipe-peer"));
}

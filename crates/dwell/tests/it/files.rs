//! Waits on disks by file: each way to wait, each way to be called, and the time of requests
//! against what the kernel counted itself.
//!
//! Needs root, BPF, and a scratch directory on a disk.

use crate::support::{Claims, Told, fresh, hold, hold_with, run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory that goes away.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = fresh(name);
        fs::create_dir_all(&dir).expect("a directory in the scratch directory");
        Self(dir)
    }

    /// A file of random bytes (a disk may know zeros without looking) that is on its disk.
    fn file(&self, name: &str, len: u64) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("directories can be made");
        let mut file = fs::File::create(&path).expect("a file in the scratch directory");
        let mut random = std::io::Read::take(fs::File::open("/dev/urandom").expect("it is there"), len);
        std::io::copy(&mut random, &mut file).expect("the disk has room");
        file.sync_all().expect("the disk takes it");
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What the programs below begin with.
const PRELUDE: &str = "
import os, sys, mmap
path = sys.argv[1]
def cold(fd):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
";

fn python(script: &str, path: &Path) -> Vec<String> {
    let script = format!("{PRELUDE}{script}");
    [interpreter(), "-c", &script, path.to_str().expect("plain")].map(str::to_owned).to_vec()
}

/// Python itself: what is called so may be a script of many processes that finds it.
fn interpreter() -> &'static str {
    static FOUND: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    FOUND.get_or_init(|| {
        let told = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        String::from_utf8(told.expect("python3 starts").stdout).expect("plain").trim().to_owned()
    })
}

fn words(command: &[String]) -> Vec<&str> {
    command.iter().map(String::as_str).collect()
}

/// The row of waits in `call` (empty: a fault) on a file of this name.
fn row<'a>(told: &'a Told, call: &str, name: &str) -> Option<&'a Value> {
    let waits = told.run["waits"].as_array().expect("waits are a list");
    waits.iter().find(|row| row["call"] == call && row["on"]["kind"] == "file" && row["on"]["name"] == name)
}

fn number(row: &Value, field: &str) -> u64 {
    row[field].as_u64().unwrap_or_else(|| panic!("no {field} in {row}"))
}

/// There were at least this many waits on the disk in `call` on this file (a busy machine may
/// finish a request before the thread is off its CPU: no wait), and requests ended most of them.
fn waited<'a>(claims: &mut Claims, told: &'a Told, call: &str, name: &Path, least: u64) -> Option<&'a Value> {
    let name = name.to_str().expect("plain");
    let found = row(told, call, name).filter(|row| row["reason"] == "disk");
    let Some(row) = found else {
        let rows = &told.run["waits"].as_array().expect("waits are a list");
        let seen: Vec<_> = rows.iter().map(|row| format!("{} {}", row["call"], row["on"])).take(30).collect();
        claims.that(false, format!("no wait in {call:?} on {name:?} but\n      {}", seen.join("\n      ")));
        return None;
    };
    claims.that(number(row, "calls") >= least, format!("{call}: few waits: {row}"));
    claims.that(row["device"].is_string(), format!("{call}: no device: {row}"));
    let requests = row["requests"].as_u64().unwrap_or(0);
    claims.that(requests * 2 >= number(row, "calls"), format!("{call}: few requests: {row}"));
    let times = row["queue_ns"].as_u64().unwrap_or(0) + row["device_ns"].as_u64().unwrap_or(0);
    claims.that(times > 0 && times < told.wall() * 4, format!("{call}: requests took {times} ns: {row}"));
    Some(row)
}

#[test]
fn cold_reads_are_on_their_file_and_their_disk() {
    let dir = Dir::new("cold");
    let path = dir.file("data", 8 << 20);
    let script = "
fd = os.open(path, os.O_RDONLY); cold(fd)
for i in range(1000): os.pread(fd, 4096, i * 7919 * 4096 % (8 << 20))
";
    hold(&words(&python(script, &path)), |told, claims| {
        let Some(row) = waited(claims, told, "pread64", &path, 20) else { return };
        // Each of these reads makes its request and waits for it: the wait is within the request's
        // time, and much shorter where others took the CPU meanwhile.
        let request = number(row, "queue_ns") + number(row, "device_ns");
        claims.that(request >= number(row, "total_ns") / 2, format!("requests of {request} ns: {row}"));
        let named = format!("pread64, file {}", path.display());
        claims
            .that(told.steps(|step| step["reason"] == named.as_str()) > 0, "the path does not name the file");
        // The table of waits stands on the page when waiting is much of the time.
        let page = !told.page.contains("\nwaits  ") || told.page.contains("requests ended these waits");
        claims.that(page, format!("the page has no line for the disk:\n{}", told.page));
    });
}

#[test]
fn reads_past_the_cache_are_named_and_take_what_the_disk_counted() {
    let dir = Dir::new("direct");
    let path = dir.file("data", 8 << 20);
    let script = "
fd = os.open(path, os.O_RDONLY | os.O_DIRECT); block = mmap.mmap(-1, 65536)
for turn in range(4):
    for i in range(128): os.preadv(fd, [block], i * 65536)
";
    let (disk, command) = (disk_under(&dir.0), python(script, &path));
    let before = std::cell::Cell::new((0, 0));
    let counted = || {
        before.set(reads(&disk));
        run(&words(&command))
    };
    hold_with(counted, |told, claims| {
        let after = reads(&disk);
        let Some(row) = waited(claims, told, "preadv2", &path, 400) else { return };
        claims.equal("device", row["device"].as_str().unwrap_or_default(), disk.as_str());
        let ours = number(row, "requests");
        let (requests, ms) = (after.0 - before.get().0, after.1 - before.get().1);
        claims.that(ours <= requests, format!("{ours} requests, and the disk counted {requests}"));
        // The disk counts in ms, everybody's requests.
        let took = number(row, "queue_ns") + number(row, "device_ns");
        claims.that(
            took <= (ms + requests / 10 + 20) * 1_000_000,
            format!("{took} ns, counted {ms} ms: {row}"),
        );
    });
}

/// Requests to read that are done, and the ms that they took: the 4th and 7th field of
/// /proc/diskstats.
fn reads(disk: &str) -> (u64, u64) {
    let text = fs::read_to_string("/proc/diskstats").expect("it is there");
    let line = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = line.into_iter().find(|fields| fields.get(2) == Some(&disk)).expect("the disk is listed");
    (line[3].parse().expect("a number"), line[6].parse().expect("a number"))
}

/// The whole disk under a directory.
fn disk_under(dir: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    let dev = fs::metadata(dir).expect("it is there").dev();
    let entry = format!("/sys/dev/block/{}:{}", dev >> 8 & 0xfff, dev & 0xff | dev >> 12 & 0xfff00);
    let target = fs::canonicalize(&entry).expect("the scratch directory is on a disk");
    let whole = if target.join("partition").exists() { target.parent().expect("its disk") } else { &target };
    whole.file_name().expect("it has a name").to_str().expect("plain").to_owned()
}

#[test]
fn faults_are_on_the_file_that_is_mapped() {
    let dir = Dir::new("mapped");
    let path = dir.file("data", 8 << 20);
    let script = "
fd = os.open(path, os.O_RDONLY); cold(fd)
pages = mmap.mmap(fd, 0, prot=mmap.PROT_READ); pages.madvise(mmap.MADV_RANDOM)
for i in range(1000): pages[i * 7919 * 4096 % (8 << 20)]
";
    hold(&words(&python(script, &path)), |told, claims| {
        waited(claims, told, "", &path, 20);
    });
}

#[test]
fn a_sync_is_a_wait_on_the_disk_for_the_file_that_is_synced_whatever_the_waker() {
    let dir = Dir::new("synced");
    let path = dir.0.join("log");
    let script = "
fd = os.open(path, os.O_CREAT | os.O_WRONLY)
for i in range(40): os.write(fd, b'x' * 100); os.fsync(fd)
";
    hold(&words(&python(script, &path)), |told, claims| {
        waited(claims, told, "fsync", &path, 40);
        let strange =
            |step: &Value| step["reason"].as_str().is_some_and(|reason| reason.contains("external"));
        claims.little(
            "waits in fsync that are not the disk's",
            told.steps(|step| {
                strange(step) && step["reason"].as_str().is_some_and(|reason| reason.starts_with("fsync"))
            }),
        );
    });
}

#[test]
fn a_cold_walk_waits_on_directories_and_on_the_paths_that_it_gives() {
    let dir = Dir::new("walked");
    for number in 0..100 {
        dir.file(&format!("{}/sub{number}/below/file", if number < 50 { "walked" } else { "opened" }), 5000);
    }
    let script = "
for at, dirs, files in os.walk(path + '/walked'):
    for name in files: os.stat(at + '/' + name)
os.chdir(path + '/opened')
for number in range(50, 100): open(f'sub{number}/below/file', 'rb').read()
";
    let command = python(script, &dir.0);
    let cold = || {
        // Only what is clean and unused goes.
        assert!(Command::new("sync").status().is_ok_and(|done| done.success()));
        fs::write("/proc/sys/vm/drop_caches", "3").expect("the tests are run by root");
        run(&words(&command))
    };
    hold_with(cold, |told, claims| {
        let root = dir.0.to_str().expect("plain");
        let waits = told.run["waits"].as_array().expect("waits are a list");
        let on_ours = |row: &&Value| row["on"]["name"].as_str().is_some_and(|name| name.starts_with(root));
        let ours: Vec<_> = waits.iter().filter(on_ours).collect();
        let in_call = |call: &str| ours.iter().filter(|row| row["call"] == call).count();
        claims.that(in_call("getdents64") >= 20, format!("{} directories are named", in_call("getdents64")));
        claims.that(in_call("read") >= 10, format!("{} files that are read are named", in_call("read")));
        // These were given relative to the directory of the process.
        let opened = |row: &&&Value| {
            row["call"] == "openat"
                && row["on"]["name"].as_str().is_some_and(|name| {
                    name.starts_with(&format!("{root}/opened/sub")) && name.ends_with("/below/file")
                })
        };
        let opened = ours.iter().filter(opened).count();
        claims.that(opened >= 10, format!("{opened} paths that are opened are named"));
        // Many small waits are one step of the path, not hundreds.
        let steps = told.run["path"].as_array().map_or(0, Vec::len);
        claims.that(steps < 200, format!("the path has {steps} steps"));
    });
}

/// Reads `path` cold, after `before` was done to it in the program itself.
fn reads_cold(path: &Path, before: &str, name: &str) {
    let script = format!(
        "
fd = os.open(path, os.O_RDONLY)
{before}
cold(fd)
for i in range(1000): os.pread(fd, 4096, i * 7919 * 4096 % (4 << 20))
"
    );
    let command = python(&script, path);
    let bytes = fs::read(path).expect("it is there");
    let again = || {
        // The one before may have removed it.
        fs::write(path, &bytes).expect("it can be written");
        fs::File::open(path).and_then(|file| file.sync_all()).expect("the disk takes it");
        run(&words(&command))
    };
    hold_with(again, |told, claims| {
        waited(claims, told, "pread64", Path::new(name), 5);
        claims.that(!told.page.contains('\u{1b}'), "the page obeys a name");
    });
}

#[test]
fn a_deleted_file_keeps_its_name_and_is_marked() {
    let dir = Dir::new("deleted");
    let path = dir.file("gone", 4 << 20);
    reads_cold(&path, "os.unlink(path)", &format!("{} (deleted)", path.display()));
}

#[test]
fn a_hostile_name_stays_as_it_is_in_the_json_and_is_no_command_on_the_page() {
    let dir = Dir::new("hostile");
    let path = dir.file("line\nbreak \u{1b}[31mred\u{1b}]0;title\u{7}", 4 << 20);
    reads_cold(&path, "", path.to_str().expect("plain"));
}

#[test]
fn a_path_that_is_too_long_keeps_its_end() {
    let dir = Dir::new("long");
    let part = "d".repeat(120);
    let path = dir.file(&format!("{part}/{part}/{part}/{part}/last"), 4 << 20);
    reads_cold(&path, "", &format!("…/{part}/{part}/{part}/last"));
}

#[test]
fn in_another_mount_namespace_a_file_is_called_as_it_is_there() {
    let dir = Dir::new("bound");
    let path = dir.file("inside/data", 4 << 20);
    let mount = format!("/mnt/dwell-test-{}", std::process::id());
    fs::create_dir_all(&mount).expect("/mnt is there");
    let script = "
fd = os.open(path, os.O_RDONLY); cold(fd)
for i in range(500): os.pread(fd, 4096, i * 7919 * 4096 % (4 << 20))
pages = mmap.mmap(fd, 0, prot=mmap.PROT_READ); pages.madvise(mmap.MADV_RANDOM); cold(fd)
for i in range(500, 1000): pages[i * 7919 * 4096 % (4 << 20)]
import time; time.sleep(0.05)
";
    let there = PathBuf::from(&mount).join("data");
    let shell = "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\"";
    let mut command: Vec<String> =
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", shell, "sh"]
            .map(str::to_owned)
            .to_vec();
    command.push(path.parent().expect("it has one").to_str().expect("plain").to_owned());
    command.push(mount.clone());
    command.extend(python(script, &there));
    hold(&words(&command), |told, claims| {
        waited(claims, told, "pread64", &there, 5);
        // A fault finds its file by the thread's mounts, or keeps the name that the read has told.
        waited(claims, told, "", &there, 5);
    });
    let _ = fs::remove_dir(&mount);
}

#[test]
fn the_block_layer_seen_by_bpftrace_agrees() {
    let dir = Dir::new("bpftrace");
    // Requests that are large enough to sleep for: a fast device has completed a small one before.
    let path = dir.file("data", 32 << 20);
    let script = "
fd = os.open(path, os.O_RDONLY | os.O_DIRECT); block = mmap.mmap(-1, 262144)
for turn in range(4):
    for i in range(128): os.preadv(fd, [block], i * 262144)
";
    let command = python(script, &path);
    let traced = || {
        let seen = fresh("bpftrace.txt");
        // From the driver's having a request of just this size to its end.
        let program = "tracepoint:block:block_rq_issue /args->bytes == 262144/ { @at[args->sector] = nsecs; } \
            tracepoint:block:block_rq_complete /@at[args->sector]/ \
            { @ns = sum(nsecs - @at[args->sector]); @requests = count(); delete(@at[args->sector]); } \
            END { clear(@at); }";
        let mut bpftrace = Command::new("bpftrace");
        let out = fs::File::create(&seen).expect("a file in the scratch directory");
        let mut bpftrace = bpftrace.args(["-e", program]).stdout(out).spawn().expect("bpftrace starts");
        while !fs::read_to_string(&seen).unwrap_or_default().contains("Attaching") {
            assert!(bpftrace.try_wait().is_ok_and(|ended| ended.is_none()), "bpftrace has ended");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        std::thread::sleep(std::time::Duration::from_secs(2));
        let mut told = run(&words(&command));
        let interrupt = Command::new("kill").args(["-INT", &bpftrace.id().to_string()]).status();
        assert!(interrupt.is_ok_and(|status| status.success()));
        bpftrace.wait().expect("it was started");
        told.out = fs::read_to_string(&seen).expect("bpftrace wrote it");
        let _ = fs::remove_file(&seen);
        told
    };
    hold_with(traced, |told, claims| {
        let Some(row) = waited(claims, told, "preadv2", &path, 400) else { return };
        let figure = |name: &str| {
            let line = told.out.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.and_then(|figure| figure.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        let (requests, ns) = (figure("@requests"), figure("@ns"));
        claims.that(requests >= 500, format!("bpftrace saw {requests} requests:\n{}", told.out));
        let theirs = ns / requests.max(1);
        let ours = number(row, "device_ns") / number(row, "requests").max(1);
        claims.that(
            ours.abs_diff(theirs) <= theirs / 4 + 10_000,
            format!("{ours} ns a request, bpftrace {theirs}"),
        );
    });
}

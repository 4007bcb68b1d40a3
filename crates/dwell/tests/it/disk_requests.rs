//! What was asked of a disk, by programs that ask a known thing: sizes, order and depth.
//!
//! Needs root, BPF, and a scratch directory on a disk.

use crate::support::kit::python;
use crate::support::{Claims, Told, fresh, hold};
use serde_json::Value;
use std::fs;

/// Direct reads of 4 KiB by this many threads, in order or at random; then a few of 64 KiB.
const READS: &str = "
import os, sys, mmap, random, threading
path, threads, order = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with open(path, 'wb') as f:
    for i in range(16): f.write(os.urandom(1 << 20))
    os.fsync(f.fileno())
fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
def read(places):
    block = mmap.mmap(-1, 4096)
    for place in places: os.preadv(fd, [block], place * 4096)
places = list(range(2000))
if order == 'random': random.Random(1).shuffle(places)
threads = [threading.Thread(target=read, args=(places[i::threads],)) for i in range(threads)]
for thread in threads: thread.start()
for thread in threads: thread.join()
block = mmap.mmap(-1, 65536)
for i in range(100): os.preadv(fd, [block], i * 65536)
os.unlink(path)
";

/// The reads of the program.
fn reads(told: &Told) -> Option<&Value> {
    let rows = told.run["disk_requests"]["rows"].as_array()?;
    rows.iter().find(|row| row["write"] == false && row["program"].as_str().is_some())
}

/// The row of a file; null where there is none.
fn file<'a>(told: &'a Told, path: &str) -> &'a Value {
    let rows = told.run["files"]["rows"].as_array().map_or(&[][..], Vec::as_slice);
    rows.iter()
        .find(|row| row["path"].as_str().is_some_and(|found| found.starts_with(path)))
        .unwrap_or(&Value::Null)
}

fn number(row: &Value, field: &str) -> u64 {
    row[field].as_u64().unwrap_or_else(|| panic!("no {field} in {row}"))
}

/// A program that reads so gives a row of which this is true.
fn hold_reads(threads: &str, order: &str, claim: impl Fn(&Value, &mut Claims)) {
    let path = fresh("disk-requests");
    let path = path.to_str().expect("plain");
    hold(&[&*python(), "-c", READS, path, threads, order], |told, claims| {
        let Some(row) = reads(told) else {
            claims.that(false, format!("no reads: {}", told.run["disk_requests"]));
            return;
        };
        let of = |octave: u64| {
            let sizes = row["sizes"].as_array().expect("a list");
            sizes.iter().find(|size| size[0] == octave).and_then(|size| size[1].as_u64()).unwrap_or(0)
        };
        claims.that(number(row, "requests") >= 2100, format!("few requests: {row}"));
        claims.that(of(4096) >= 2000 && of(65536) >= 100, format!("other sizes: {row}"));
        claims.that(row["device"].is_string(), format!("no device: {row}"));
        let disk = &file(told, path)["disk"];
        claims.that(number(disk, "reads") >= 2100, format!("few requests for the file: {disk}"));
        let bytes = number(disk, "read_bytes");
        claims.that((2000 * 4096 + (100 << 16)..64 << 20).contains(&bytes), format!("other bytes: {disk}"));
        claim(row, claims);
    });
    let _ = fs::remove_file(path);
}

#[test]
fn reads_in_order_follow_on_and_are_one_at_a_time() {
    hold_reads("1", "order", |row, claims| {
        let (requests, follow_on) = (number(row, "requests"), number(row, "follow_on"));
        claims.that(follow_on >= 1900 && follow_on < requests, format!("they jump: {row}"));
        // A completion that the kernel hides makes those after it seem to be not alone.
        claims.that(number(row, "alone") * 5 >= requests * 4, format!("several at once: {row}"));
    });
}

#[test]
fn reads_at_random_jump_and_those_of_four_threads_are_at_once() {
    hold_reads("4", "random", |row, claims| {
        let (requests, follow_on) = (number(row, "requests"), number(row, "follow_on"));
        let jumps = row["jumps"].as_array().expect("a list");
        let jumped: u64 = jumps.iter().filter_map(|jump| jump[1].as_u64()).sum();
        claims.that(follow_on * 5 <= requests, format!("they follow on: {row}"));
        claims.that(follow_on + jumped + 1 == requests, format!("one has no distance: {row}"));
        claims.that(number(row, "alone") * 4 <= requests * 3, format!("one at a time: {row}"));
        let mean = row["depth_mean"].as_f64().unwrap_or(0.0);
        let most = number(row, "depth_max");
        claims.that(mean > 1.25 && mean <= most as f64 && most >= 3, format!("not deep: {row}"));
    });
}

/// Two files from the disk, one by its pages and one by calls; a third is written and synced.
const FILES: &str = "
import os, sys, mmap
names = [sys.argv[1] + end for end in ('.mapped', '.read', '.written')]
for name in names[:2]:
    with open(name, 'wb') as f:
        f.write(os.urandom(1 << 20))
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
mapped, read, written = [os.open(name, os.O_RDWR | os.O_CREAT) for name in names]
data = mmap.mmap(mapped, 1 << 20, prot=mmap.PROT_READ)
data.madvise(mmap.MADV_RANDOM)
for at in range(0, 1 << 20, 4096): data[at]
os.posix_fadvise(read, 0, 0, os.POSIX_FADV_RANDOM)
for at in range(0, 1 << 20, 8192): os.pread(read, 4096, at)
os.write(written, os.urandom(1 << 20))
os.fsync(written)
for name in names: os.unlink(name)
";

#[test]
fn requests_have_the_file_that_they_were_made_for() {
    let path = fresh("disk-files");
    let path = path.to_str().expect("plain");
    hold(&[&*python(), "-c", FILES, path], |told, claims| {
        for (end, field, least, most) in [
            (".mapped", "read_bytes", 3 << 18, 2 << 20),
            (".read", "read_bytes", 3 << 17, 2 << 20),
            (".written", "written_bytes", 3 << 18, 2 << 20),
        ] {
            let row = file(told, &format!("{path}{end}"));
            let bytes = row["disk"][field].as_u64().unwrap_or(0);
            claims.that((least..=most).contains(&bytes), format!("{end}: {bytes} bytes by requests: {row}"));
        }
    });
}

//! What each process read and wrote of each file, from the table of the kernel half (`files.h`).

use super::decode::objects::{REGULAR, file_kind};
use super::wire::{self, FILE_DIRECT, FILE_DSYNC, FILE_SYNC, POINT_BYTES};
use super::{cost, maps};
use aya::Ebpf;
use aya::maps::HashMap;
use model::coverage::{Extent, Source};
use model::files::{DurableWrites, FileRequests, FileUse, FileUses, Transfers};
use model::recording::{Comm, FileKind};
use model::{Call, Seen};
use std::cmp::Reverse;
use zerocopy::transmute;

/// More are not recorded: the sample says little of files that moved less.
const FILES: usize = 256;
/// Of these, files whose writes waited to be durable, though they moved little.
const DURABLE: usize = 32;
/// The same for files that most requests to disks were for.
const ON_DISK: usize = 32;
/// A call in the kernel half's sum.
const CALL: u64 = 1024;

type KeyWords = [u64; size_of::<wire::FileKey>() / 8];
type CountsWords = [u64; size_of::<wire::FileCounts>() / 8];

/// All files, those that moved most first. This many bytes were counted before they were forgotten.
pub(super) fn uses(ebpf: &Ebpf, before: u64, sources: &[Source]) -> Seen<FileUses> {
    let map = ebpf.map("files").map(HashMap::<_, KeyWords, CountsWords>::try_from);
    let (Some(Ok(map)), Some(counted)) = (map, bytes_counted(ebpf)) else {
        return Seen::unseen("the kernel half's counts of files cannot be read");
    };
    let all = map.iter().filter_map(Result::ok);
    let all = all.map(|(key, counts)| (transmute!(key), transmute!(counts)));
    let mut uses = sorted(all, counted.saturating_sub(before));
    if let Some(source) = sources.iter().find(|source| source.name == "disks" && source.seen != Extent::Full)
    {
        uses.files.iter_mut().for_each(|file| file.disk = Seen::unseen(&source.why));
    }
    Seen::Value(uses)
}

/// Of all files so far, those that were forgotten too.
fn bytes_counted(ebpf: &Ebpf) -> Option<u64> {
    Some(cost::of_cpus(ebpf)?.iter().map(|cpu| cpu.file_bytes).sum())
}

fn sorted(counted: impl Iterator<Item = (wire::FileKey, wire::FileCounts)>, file_bytes: u64) -> FileUses {
    let (mut files, mut of_kernel) = (Vec::new(), 0);
    for (key, counts) in counted {
        let file = of_file(&key, &counts);
        match file_kind(REGULAR, key.dev, counts.magic, Comm(counts.name)) {
            // Each time it is read the kernel makes its content anew.
            FileKind::Kernel => of_kernel += bytes(&file),
            _ => files.push(file),
        }
    }
    // Writes that wait are few bytes, and worth a row all the same; so is what the disk was asked
    // for.
    let waits = |file: &FileUse| file.durable.value().map_or(0, |durable| durable.calls);
    let requests = |file: &FileUse| file.disk.value().map_or(0, |disk| disk.reads + disk.writes);
    let (mut kept, rest) = first(files, DURABLE, waits);
    let (on_disk, rest) = first(rest, ON_DISK, requests);
    kept.extend(on_disk);
    kept.extend(first(rest, FILES - kept.len(), bytes).0);
    let files = first(kept, FILES, bytes).0;
    let kept: u64 = files.iter().map(bytes).sum();
    let other_bytes = file_bytes.saturating_sub(kept + of_kernel);
    FileUses { point_bytes: POINT_BYTES.into(), files, other_bytes }
}

/// The files that have most of something, and the others.
fn first(mut files: Vec<FileUse>, number: usize, of: fn(&FileUse) -> u64) -> (Vec<FileUse>, Vec<FileUse>) {
    files.sort_by_key(|file| {
        (Reverse(of(file)), Reverse(bytes(file)), file.dev, file.ino, file.generation, file.pid)
    });
    let rest = files.split_off(files.len().min(number));
    (files, rest)
}

fn bytes(file: &FileUse) -> u64 {
    file.read.bytes + file.written.bytes
}

fn of_file(key: &wire::FileKey, counts: &wire::FileCounts) -> FileUse {
    let has = |flag: u32| counts.flags & flag != 0;
    FileUse {
        pid: key.pid,
        dev: key.dev,
        ino: key.ino,
        generation: key.generation,
        name: Comm(counts.name).to_text(),
        size_bytes: counts.size,
        read: transfers(&counts.read),
        written: transfers(&counts.written),
        sync: has(FILE_SYNC),
        dsync: has(FILE_DSYNC),
        direct: has(FILE_DIRECT),
        durable: Seen::Value(DurableWrites {
            calls: counts.durable_calls,
            bytes: counts.durable_bytes,
            ns: counts.durable_ns,
            call: (counts.durable_calls > 0).then_some(Call(counts.durable_call as u16)),
        }),
        disk: Seen::Value(FileRequests {
            reads: counts.disk_reads,
            read_bytes: counts.disk_read_bytes,
            writes: counts.disk_writes,
            written_bytes: counts.disk_written_bytes,
        }),
    }
}

fn transfers(sum: &wire::Transfers) -> Transfers {
    Transfers {
        bytes: sum.bytes,
        calls: sum.calls / CALL,
        cpu_ns: sum.ns,
        points: sum.points.into(),
        call: (sum.bytes > 0).then_some(Call(sum.call as u16)),
    }
}

/// Resets the counts: they are not part of a window that begins. Returns the bytes that were
/// counted.
pub(super) fn forget(ebpf: &mut Ebpf) -> u64 {
    let counted = bytes_counted(ebpf).unwrap_or(0);
    maps::clear::<KeyWords, CountsWords>(ebpf, "files");
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    fn counted(ino: u64, bytes: u64, magic: u64) -> (wire::FileKey, wire::FileCounts) {
        let mut key = wire::FileKey::new_zeroed();
        let mut counts = wire::FileCounts::new_zeroed();
        (key.ino, key.pid, counts.magic, counts.size) = (ino, 7, magic, 4096);
        (counts.read.bytes, counts.read.calls, counts.read.points) = (bytes, 64 * CALL, 1);
        counts.flags = FILE_DSYNC;
        counts.name = Comm::from("data").0;
        (key, counts)
    }

    #[test]
    fn those_that_moved_most_are_kept_and_the_kernels_own_are_none() {
        const PROC: u64 = 0x9fa0;
        let few = (0..FILES as u64).map(|ino| counted(ino, 10, 0));
        let all = few.chain([counted(900, 50, 0), counted(901, 1000, PROC)]);
        // 100 bytes were of files that the table has forgotten.
        let uses = sorted(all, FILES as u64 * 10 + 50 + 1000 + 100);
        assert_eq!(uses.files.len(), FILES);
        assert_eq!(uses.other_bytes, 110);
        let first = &uses.files[0];
        assert_eq!((first.ino, first.pid, &*first.name, first.size_bytes), (900, 7, "data", 4096));
        let read = Transfers { bytes: 50, calls: 64, cpu_ns: 0, points: 1, call: Some(Call(0)) };
        assert_eq!((first.read, first.written), (read, Transfers::default()));
        assert_eq!((first.sync, first.dsync, first.direct), (false, true, false));
    }

    #[test]
    fn a_file_of_which_little_was_moved_is_kept_where_the_disk_was_asked_for_it() {
        let mut on_disk = counted(900, 0, 0);
        (on_disk.1.disk_reads, on_disk.1.disk_read_bytes) = (7, 7 * 4096);
        let many = (0..2 * FILES as u64).map(|ino| counted(ino, 10, 0));
        let uses = sorted(many.chain([on_disk]), FILES as u64 * 20);
        assert_eq!(uses.files.len(), FILES);
        let last = uses.files.last().expect("there are files");
        let disk = FileRequests { reads: 7, read_bytes: 7 * 4096, ..FileRequests::default() };
        assert_eq!((last.ino, &last.disk), (900, &Seen::Value(disk)));
    }
}

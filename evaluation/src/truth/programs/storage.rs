//! Disks: fio with four engines, synchronous writes, copies of many files, and sqlite3.

use super::super::needs::{FIO, RSYNC, SQLITE};
use super::super::program::{Also, Class, PLAIN, Program, Watch};

/// What fio is asked for but the engine: two seconds of random blocks, past the page cache.
macro_rules! fio {
    ($($word:literal),*) => {
        Watch::Run(&["fio", "--name=truth", "--directory={dir}", "--size=64M", "--bs=4k", "--output={dir}/fio",
                     $($word),*])
    };
}

/// A disk bounds direct reads if it is slow. A virtual one that answers from the host's memory
/// takes no longer than the kernel does to submit them: here fio's own clock has 41 to 44 % of the
/// time in the kernel and 5 to 8 % in its own code. Then neither leads, or the kernel does where
/// the run queue takes a part of the waiting.
const DIRECT_READS: &[Class] = &[Class::Io, Class::Mixed, Class::Kernel];

/// The file, written before, so that a run only reads it.
const LAID_OUT: &[&str] =
    &["fio --name=truth --directory={dir} --size=64M --bs=4k --rw=randread --create_only=1 > /dev/null"];

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "fio-psync",
        needs: &[&FIO],
        prepare: LAID_OUT,
        watch: fio!("--ioengine=psync", "--direct=1", "--rw=randread", "--runtime=2", "--time_based"),
        class: DIRECT_READS,
        why: "one direct read after the other, which the disk or the kernel takes, as the disk is fast; \
              fio's main thread only looks now and then",
        ..PLAIN
    },
    Program {
        name: "fio-libaio",
        needs: &[&FIO],
        prepare: LAID_OUT,
        watch: fio!(
            "--ioengine=libaio",
            "--iodepth=4",
            "--direct=1",
            "--rw=randread",
            "--runtime=2",
            "--time_based"
        ),
        class: DIRECT_READS,
        why: "waits for completions of direct reads, or submits them, as the disk is fast",
        ..PLAIN
    },
    Program {
        name: "fio-io_uring",
        needs: &[&FIO],
        prepare: LAID_OUT,
        watch: fio!(
            "--ioengine=io_uring",
            "--iodepth=4",
            "--direct=1",
            "--rw=randread",
            "--runtime=2",
            "--time_based"
        ),
        class: DIRECT_READS,
        why: "waits for completions of direct reads, or submits them, as the disk is fast",
        ..PLAIN
    },
    Program {
        name: "fio-mmap",
        needs: &[&FIO],
        prepare: LAID_OUT,
        watch: fio!("--ioengine=mmap", "--rw=randread", "--io_size=48M"),
        class: &[Class::Io],
        why: "each block is read once, by a fault that waits for the disk",
        ..PLAIN
    },
    Program {
        name: "dd-dsync",
        watch: Watch::Run(&["dd", "if=/dev/zero", "of={dir}/file", "bs=4k", "count=2000", "oflag=dsync"]),
        class: &[Class::Io],
        why: "each write waits until it is on the disk",
        also: &[Also::Calls(&["write"])],
        ..PLAIN
    },
    Program {
        name: "rsync",
        needs: &[&RSYNC],
        prepare: &["rm -rf copy"],
        watch: Watch::Run(&["rsync", "-a", "{inputs}/tree", "{inputs}/pages", "{dir}/copy"]),
        class: &[Class::Kernel, Class::Mixed],
        why: "thousands of small files are opened, written and renamed in the page cache",
        ..PLAIN
    },
    Program {
        name: "cp-r",
        prepare: &["rm -rf copy"],
        watch: Watch::Run(&[
            "sh",
            "-c",
            "for i in 1 2 3 4 5; do cp -r {inputs}/tree {dir}/copy; rm -r {dir}/copy; done",
        ]),
        class: &[Class::Kernel],
        why: "files are made and removed in the page cache",
        ..PLAIN
    },
    Program {
        name: "sqlite3-autocommits",
        needs: &[&SQLITE],
        prepare: &["rm -f db"],
        watch: Watch::Run(&["sqlite3", "{dir}/db", ".read {inputs}/inserts.sql"]),
        class: &[Class::Io],
        why: "each row is a transaction that waits for the disk four times",
        also: &[Also::Calls(&["fdatasync"])],
        ..PLAIN
    },
    Program {
        name: "sqlite3-query",
        needs: &[&SQLITE],
        watch: Watch::Run(&[
            "sqlite3",
            ":memory:",
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000000) \
             select sum(i * i % 7) from n;",
        ]),
        class: &[Class::Cpu],
        why: "a query on nothing but the CPU",
        ..PLAIN
    },
];

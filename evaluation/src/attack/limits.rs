//! Limits, full disks and closed descriptors: one a case.

use super::restricted_env::Case;

const KILL: i32 = 9;
const SEGV: i32 = 11;
const XFSZ: i32 = 25;

pub(super) const LIMITS: &[Case] = &[
    plain("3 open files", "exec prlimit --nofile=3 \"$@\""),
    plain("5 open files", "exec prlimit --nofile=5 \"$@\""),
    plain("10 open files", "exec prlimit --nofile=10 \"$@\""),
    plain("20 open files", "exec prlimit --nofile=20 \"$@\""),
    plain("40 open files", "exec prlimit --nofile=40 \"$@\""),
    plain("80 open files", "exec prlimit --nofile=80 \"$@\""),
    plain("160 open files", "exec prlimit --nofile=160 \"$@\""),
    // The program ends so by itself, and dwell as the program. What it says goes to a file.
    Case { name: "files of 0 bytes", shell: "exec prlimit --fsize=0 \"$@\"", deadly: &[XFSZ], mute: true },
    mute("files of 100 bytes", "exec prlimit --fsize=100 \"$@\""),
    plain("files of 10 kB", "exec prlimit --fsize=10000 \"$@\""),
    // The kernel cannot map the binary, and ends what executes it.
    deadly("16 MiB of addresses", "exec prlimit --as=16777216 \"$@\"", &[KILL, SEGV]),
    plain("128 MiB of addresses", "exec prlimit --as=134217728 \"$@\""),
    plain("256 MiB of addresses", "exec prlimit --as=268435456 \"$@\""),
    plain("1 GiB of addresses", "exec prlimit --as=1073741824 \"$@\""),
    // The kernel maps the binary of the tests, and not much more.
    plain("64 MiB of addresses", "exec prlimit --as=67108864 \"$@\""),
    plain("8 MiB of data", "exec prlimit --data=8388608 \"$@\""),
    plain("16 MiB of data", "exec prlimit --data=16777216 \"$@\""),
    plain("32 MiB of data", "exec prlimit --data=33554432 \"$@\""),
    plain("128 MiB of data", "exec prlimit --data=134217728 \"$@\""),
    // Less than the main thread's frames.
    deadly("stack of 128 kB", "exec prlimit --stack=131072 \"$@\"", &[SEGV]),
    plain("stack of 512 kB", "exec prlimit --stack=524288 \"$@\""),
    plain("stack of 1 MiB", "exec prlimit --stack=1048576 \"$@\""),
    plain("stack without limit", "exec prlimit --stack=unlimited \"$@\""),
    plain("no locked memory", "exec prlimit --memlock=0 \"$@\""),
    plain("64 kB of locked memory", "exec prlimit --memlock=65536 \"$@\""),
    plain("no pending signals", "exec prlimit --sigpending=0 \"$@\""),
    plain("no message queues", "exec prlimit --msgqueue=0 \"$@\""),
    plain("no core files", "exec prlimit --core=0 \"$@\""),
    plain("no real-time priority", "exec prlimit --rtprio=0 \"$@\""),
    plain("1 us of real time", "exec prlimit --rttime=1 \"$@\""),
    plain(
        "nobody, 1 process",
        "exec setpriv --reuid 65534 --regid 65534 --clear-groups prlimit --nproc=1 \"$@\"",
    ),
    plain(
        "nobody, 4 processes",
        "exec setpriv --reuid 65534 --regid 65534 --clear-groups prlimit --nproc=4 \"$@\"",
    ),
    plain("group of 1 process", "group pids 1 pids.max; exec \"$@\""),
    plain("group of 2 processes", "group pids 2 pids.max; exec \"$@\""),
    plain("group of 3 processes", "group pids 3 pids.max; exec \"$@\""),
    plain("group of 4 processes", "group pids 4 pids.max; exec \"$@\""),
    plain("group of 8 processes", "group pids 8 pids.max; exec \"$@\""),
    plain("group of 16 processes", "group pids 16 pids.max; exec \"$@\""),
    // The kernel kills what takes more.
    deadly("group of 8 MiB", "group memory 8388608 memory.limit_in_bytes memory.max; exec \"$@\"", &[KILL]),
    deadly("group of 32 MiB", "group memory 33554432 memory.limit_in_bytes memory.max; exec \"$@\"", &[KILL]),
    deadly(
        "group of 128 MiB",
        "group memory 134217728 memory.limit_in_bytes memory.max; exec \"$@\"",
        &[KILL],
    ),
    plain(
        "a tenth of a CPU",
        "[ -e /sys/fs/cgroup/cpu.max ] && group cpu '10000 100000' cpu.max || group cpu 10000 cpu.cfs_quota_us; \
         exec \"$@\"",
    ),
    plain("one CPU of the set", "group cpuset 0 cpuset.cpus; exec \"$@\""),
    plain("results on a disk of 4 kB", "on_disk size=4k \"$@\""),
    plain("results on a disk of 64 kB", "on_disk size=64k \"$@\""),
    plain("results where no file can be made", "on_disk nr_inodes=1 \"$@\""),
    plain("TMPDIR of 4 kB", "mount -t tmpfs -o size=4k none \"$TMPDIR\" || cannot; exec \"$@\""),
    plain("TMPDIR without inodes", "mount -t tmpfs -o nr_inodes=1 none \"$TMPDIR\" || cannot; exec \"$@\""),
    plain("cache of 4 kB", "mount -t tmpfs -o size=4k none \"$XDG_CACHE_HOME\" || cannot; exec \"$@\""),
    plain("results into a read-only directory", "on_disk ro \"$@\""),
    plain("TMPDIR read-only", "mount -t tmpfs -o ro none \"$TMPDIR\" || cannot; exec \"$@\""),
    plain("TMPDIR that is not there", "TMPDIR=/not/there exec \"$@\""),
    plain("a directory that was removed", "mkdir gone; cd gone; rmdir ../gone; exec \"$@\""),
    mute("standard output full", "exec \"$@\" > /dev/full"),
    mute("standard error full", "exec \"$@\" 2> /dev/full"),
    mute("both full", "exec \"$@\" > /dev/full 2>&1"),
    plain("0 closed", "exec \"$@\" <&-"),
    plain("1 closed", "exec \"$@\" >&-"),
    mute("2 closed", "exec \"$@\" 2>&-"),
    plain("0 and 1 closed", "exec \"$@\" <&- >&-"),
    mute("0 and 2 closed", "exec \"$@\" <&- 2>&-"),
    mute("1 and 2 closed", "exec \"$@\" >&- 2>&-"),
    mute("0, 1 and 2 closed", "exec \"$@\" <&- >&- 2>&-"),
];

const fn plain(name: &'static str, shell: &'static str) -> Case {
    Case { name, shell, deadly: &[], mute: false }
}

const fn mute(name: &'static str, shell: &'static str) -> Case {
    Case { name, shell, deadly: &[], mute: true }
}

const fn deadly(name: &'static str, shell: &'static str, signals: &'static [i32]) -> Case {
    Case { name, shell, deadly: signals, mute: false }
}

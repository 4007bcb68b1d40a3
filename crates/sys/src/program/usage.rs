//! What a process that ended had used, as wait4(2) says it, in dwell's units.

use libc::c_long;
use model::recording::Rusage;

/// A count of the kernel's; none is negative.
pub(crate) fn count(value: c_long) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// In nanoseconds and bytes.
pub(crate) fn in_our_units(rusage: &libc::rusage) -> Rusage {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Rusage {
        user_ns: ns(rusage.ru_utime),
        kernel_ns: ns(rusage.ru_stime),
        // The kernel counts memory in KiB and transfers in blocks of 512 bytes.
        max_rss_bytes: count(rusage.ru_maxrss) * 1024,
        minor_faults: count(rusage.ru_minflt),
        major_faults: count(rusage.ru_majflt),
        read_bytes: count(rusage.ru_inblock) * 512,
        written_bytes: count(rusage.ru_oublock) * 512,
    }
}

//! The clocks that dwell reads, and its format of dates.
#![allow(unsafe_code)]

use model::Ns;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::SystemTime;

/// `CLOCK_MONOTONIC`, the clock of every time stamp in a recording. Nanoseconds since some point
/// before boot.
pub fn monotonic_ns() -> Ns {
    ns(clock_gettime(ClockId::Monotonic))
}

/// CPU time that this process has used, in all its threads. Nanoseconds.
pub fn process_cpu_ns() -> Ns {
    ns(clock_gettime(ClockId::ProcessCPUTime))
}

/// CPU time that the calling thread has used. Nanoseconds.
pub fn thread_cpu_ns() -> Ns {
    ns(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time of all children that have ended and were waited for, and of their children.
/// Nanoseconds, with the resolution of a microsecond: getrusage(2).
pub fn children_cpu_ns() -> Ns {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the place is valid for writes; all bits zero are a valid `rusage`, in case the kernel
    // writes none.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let of = |time: libc::timeval| time.tv_sec as Ns * 1_000_000_000 + time.tv_usec as Ns * 1_000;
    of(usage.ru_utime) + of(usage.ru_stime)
}

/// The time of day, seconds since 1970.
pub fn unix_s() -> u64 {
    u64::try_from(clock_gettime(ClockId::Realtime).tv_sec).unwrap_or(0)
}

/// The time of day: seconds since 1970, and the nanoseconds since that second.
pub fn unix_time() -> (u64, u32) {
    let now = clock_gettime(ClockId::Realtime);
    (u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// The time of day as RFC 3339 has it, in UTC and to the nanosecond:
/// `2026-03-01T12:00:00.000000001Z`.
pub fn rfc3339_now() -> String {
    let (second, ns) = unix_time();
    format!("{}.{ns:09}Z", rfc3339(second).trim_end_matches('Z'))
}

/// A time that is written so; none where it is not.
pub fn read_rfc3339(text: &str) -> Option<SystemTime> {
    text.parse::<jiff::Timestamp>().ok().map(SystemTime::from)
}

/// Seconds since 1970 as RFC 3339 has it, in UTC: `2026-03-01T12:00:00Z`. Beyond the year 9999, the
/// last second of that year.
pub fn rfc3339(unix_s: u64) -> String {
    let second = i64::try_from(unix_s).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(second)
        .unwrap_or(jiff::Timestamp::MAX)
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}

/// Seconds since 1970 at the beginning of a day in UTC: `2026-03-01`. None if it is no date.
pub fn of_date(text: &str) -> Option<u64> {
    let date = jiff::civil::Date::strptime("%Y-%m-%d", text).ok()?;
    let at = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second();
    u64::try_from(at).ok()
}

/// The clocks above are never negative on Linux.
fn ns(time: Timespec) -> Ns {
    time.tv_sec as Ns * 1_000_000_000 + time.tv_nsec as Ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_utc_with_a_z() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_767_225_599), "2025-12-31T23:59:59Z");
        assert!(rfc3339(u64::MAX).starts_with("9999-12-"));
        let now = rfc3339_now();
        assert_eq!(now.len(), "2026-03-01T12:00:00.000000001Z".len());
        assert!(now[..19].parse::<jiff::civil::DateTime>().is_ok(), "{now}");
    }

    #[test]
    fn a_sleep_passes_on_the_wall_clock_and_not_on_the_cpu_clock() {
        let (wall, cpu) = (monotonic_ns(), thread_cpu_ns());
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(monotonic_ns() - wall >= 50_000_000);
        assert!(thread_cpu_ns() - cpu < 40_000_000);
        assert!(process_cpu_ns() >= thread_cpu_ns());
    }
}

//! This machine: what measurements are printed with, and what they need of it.

use crate::shell::{output, program, run};
use anyhow::{Context, Result, bail};
use rustix::process::geteuid;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Where the kernel expects tracefs (Documentation/trace/ftrace.rst).
const TRACEFS: &str = "/sys/kernel/tracing";

/// One line on where this was measured.
pub fn conditions(load_before: &str) -> String {
    format!("{}, load {load_before} before and {} after", system(), load())
}

/// The kernel and the number of CPUs.
pub fn system() -> String {
    let ask = |name: &str, arguments: &[&str]| {
        output(&mut program(name, arguments))
            .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
    };
    let [system, cpus] = [ask("uname", &["-srm"]), ask("nproc", &[])];
    format!("{system}, {cpus} CPUs")
}

/// The load of the last minute: what else the machine did, and what the measuring itself did.
pub fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

/// Mounts tracefs, in which bpftrace and perf look up tracepoints, where the system did not; dwell
/// itself does without.
///
/// # Errors
/// When it cannot be mounted.
pub fn tracefs() -> Result<()> {
    let mounted = fs::read_dir(TRACEFS).is_ok_and(|mut entries| entries.next().is_some());
    if mounted || !geteuid().is_root() || !Path::new(TRACEFS).is_dir() {
        return Ok(());
    }
    run(&mut program("mount", &["-t", "tracefs", "nodev", TRACEFS]))
}

/// `90`, `90s`, `10m` or `1h`.
///
/// # Errors
/// When it is none of these, or nothing.
pub fn duration(text: &str) -> Result<Duration> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, "s"),
    };
    let number: u64 = number.parse().with_context(|| format!("{text:?} is no time: 60s, 10m, 1h"))?;
    if number == 0 {
        bail!("--for {text} measures nothing");
    }
    Ok(Duration::from_secs(
        number
            * match unit {
                "h" => 3600,
                "m" => 60,
                _ => 1,
            },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let seconds = |text| duration(text).map(|length| length.as_secs()).ok();
        let read = ["90", "90s", "10m", "1h", "0s", "soon", "h"].map(seconds);
        assert_eq!(read, [Some(90), Some(90), Some(600), Some(3600), None, None, None]);
    }
}

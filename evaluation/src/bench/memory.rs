//! `cargo xtask bench memory`: how much memory dwell has while it watches a program that does much
//! for a long time.
//!
//! The program is `bench/paced.c`, at 100,000 events a second: 50,000 calls, 25,000 wake-ups and as
//! many switches away. What was really reached is read from dwell's own JSON.

use super::install;
use super::program::compile;
use anyhow::{Context, Result, bail};
use clap::Args;
use model::Run;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use workshop::machine::duration;
use workshop::shell::program as shell_program;

/// Rounds a second, each of eight events: see `bench/paced.c`.
const ROUNDS: u64 = 12_500;
/// What dwell is to stay below.
const REACH_MIB: f64 = 200.0;

#[derive(Args)]
pub(super) struct Options {
    /// How long the program runs: 60s, 10m, 1h
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "60s")]
    length: Duration,
    /// Measure this dwell, and not what the sources give
    #[arg(long, value_name = "FILE")]
    dwell: Option<PathBuf>,
}

/// Measures, prints one table.
///
/// # Errors
/// When dwell or the program fails.
pub(super) fn run(options: &Options) -> Result<()> {
    let place = install(options.dwell.as_deref())?;
    compile(&place, "paced")?;
    let json = place.join("memory.json");
    // A leftover would be taken for a result.
    let _ = fs::remove_file(&json);
    let said = place.join("memory.stderr");
    let (rate, seconds) = (ROUNDS.to_string(), options.length.as_secs().to_string());
    let mut command = shell_program(place.join("dwell"), &["run", "--json"]);
    command.arg(&json).arg("--").arg(place.join("paced")).args([&rate, &seconds]);
    let mut dwell =
        command.stdout(Stdio::null()).stderr(File::create(&said)?).spawn().context("cannot start dwell")?;
    let peaks = watch(&mut dwell, options.length)?;
    let status = dwell.wait()?;
    if !status.success() {
        bail!("dwell ended with {status}: {}", fs::read_to_string(&said).unwrap_or_default());
    }
    let text = fs::read(&json).with_context(|| format!("cannot read {}", json.display()))?;
    println!("{}", table(&serde_json::from_slice(&text)?, &peaks));
    Ok(())
}

/// The process's most memory so far (`VmHWM`), in KiB; none when it has ended.
pub(super) fn peak_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok())
}

/// The most memory until each second of its life, in KiB. What the analysis at the end takes is in
/// the last.
fn watch(dwell: &mut Child, length: Duration) -> Result<Vec<u64>> {
    let begun = Instant::now();
    let mut peaks = Vec::new();
    let mut second = 1;
    loop {
        // Oftener than it is kept, so that little is missed of the end.
        sleep(Duration::from_millis(50));
        if let Some(kib) = peak_kib(dwell.id()) {
            peaks.truncate(second);
            peaks.push(kib);
        }
        if dwell.try_wait()?.is_some() {
            eprintln!();
            return Ok(peaks);
        }
        if begun.elapsed() >= Duration::from_secs(second as u64) {
            eprint!("\r{second} of {} s, {:.1} MiB   ", length.as_secs(), mib(peaks.last().copied()));
            second += 1;
        }
    }
}

pub(super) fn mib(kib: Option<u64>) -> f64 {
    kib.unwrap_or(0) as f64 / 1024.0
}

fn table(run: &Run, peaks: &[u64]) -> String {
    let wall_s = run.wall_ns as f64 / 1e9;
    let syscalls = || run.tables.syscalls.value().into_iter().flatten();
    let calls = syscalls().map(|row| row.calls).sum::<u64>() as f64 / wall_s;
    let waits = run.waits.iter().map(|row| row.calls).sum::<u64>() as f64 / wall_s;
    let sliced = syscalls().any(|row| row.estimate.is_some());
    let most = mib(peaks.iter().max().copied());
    let mut lines = vec![
        format!(
            "{wall_s:.0} s, {:.0} events a second: {calls:.0} calls{}, {waits:.0} waits with a wake-up and a switch each",
            calls + 2.0 * waits,
            if sliced { " (estimated from slices)" } else { "" }
        ),
        "time        peak so far".to_owned(),
    ];
    for tenth in 1..=10 {
        let at = (peaks.len() * tenth).div_ceil(10).saturating_sub(1);
        lines.push(format!(
            "{:>6.0} s  {:>8.1} MiB",
            wall_s * tenth as f64 / 10.0,
            mib(peaks.get(at).copied())
        ));
    }
    let lost = run.coverage.lost_events.value().map_or_else(|| "not known".to_owned(), u64::to_string);
    lines.push(format!("lost events: {lost}"));
    let verdict = if most <= REACH_MIB { "reached" } else { "NOT reached" };
    lines.push(format!("peak {most:.1} MiB, to be at most {REACH_MIB:.0} MiB: {verdict}"));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_calls_and_two_for_each_wait() {
        let mut run = crate::sample::run();
        run.wall_ns = 2_000_000_000;
        let syscalls = run.tables.syscalls.value_mut().unwrap();
        (syscalls[0].calls, syscalls[1].calls, syscalls[1].estimate) = (100_000, 4, None);
        run.waits[0].calls = 50_000;
        let text = table(&run, &[1024, 2048]);
        assert!(text.starts_with("2 s, 100002 events a second: 50002 calls, 25000 waits"), "{text}");
        assert!(text.ends_with("peak 2.0 MiB, to be at most 200 MiB: reached"), "{text}");
    }

    #[test]
    fn the_memory_of_a_process_is_found() {
        assert!(peak_kib(std::process::id()).is_some_and(|kib| kib > 100));
        assert_eq!(peak_kib(u32::MAX), None);
    }
}

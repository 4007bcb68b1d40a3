//! `cargo xtask bench bounds`: how large a result is, how much memory dwell has and how long it
//! takes beside the program's wall clock, where programs do very much of one thing.
//!
//! The program is `bench/many.c`; each run is of seconds.

use super::install;
use super::memory::{mib, peak_kib};
use super::program::compile;
use anyhow::{Context, Result, bail};
use clap::Args;
use model::Run;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use workshop::machine::{conditions, load};
use workshop::shell::program as shell_program;

/// What a result, and dwell, are to stay below.
const REACH_BYTES: u64 = 1_000_000;
const REACH_MIB: f64 = 200.0;
/// How long dwell may take from the end of a window to its own.
const REACH_END_S: f64 = 0.5;
/// How long a window is open, with dwell's start.
const WINDOW: Duration = Duration::from_millis(2500);

/// What is run.
const RUNS: &[&[&str]] = &[
    &["children", "1000"],
    &["children", "20000"],
    &["execs", "5000"],
    &["connections", "10000"],
    &["files", "50000"],
    &["argument", "100000"],
];
/// What is attached to: this many living threads.
const ATTACHED: &[&str] = &["1000", "10000"];

/// One row of the table.
struct Row {
    what: String,
    bytes: u64,
    peak_kib: u64,
    wall_s: f64,
    beside_s: f64,
    /// Of that what comes after the end of a window, which a signal ends.
    end_s: Option<f64>,
    folded: u64,
}

#[derive(Args)]
pub(super) struct Options {
    /// Measure this dwell, and not what the sources give
    #[arg(long, value_name = "FILE")]
    dwell: Option<PathBuf>,
}

/// Measures, prints one table.
///
/// # Errors
/// When dwell or a program fails.
pub(super) fn run(options: &Options) -> Result<()> {
    let place = install(options.dwell.as_deref())?;
    compile(&place, "many")?;
    let before = load();
    let mut rows = Vec::new();
    for arguments in RUNS {
        eprintln!("{}", arguments.join(" "));
        let mut command = shell_program(place.join("dwell"), &["run", "-q", "--json"]);
        command.arg(place.join("bounds.json")).arg("--").arg(place.join("many")).args(*arguments);
        rows.push(measured(&place, &mut command, arguments.join(" "), None)?);
    }
    for threads in ATTACHED {
        eprintln!("attach to {threads} threads");
        let mut program = living(&place, threads)?;
        let mut command = shell_program(place.join("dwell"), &["attach", "--json"]);
        command.arg(place.join("bounds.json")).arg(program.id().to_string());
        let row = measured(&place, &mut command, format!("attach to {threads} threads"), Some(WINDOW));
        program.kill().and_then(|()| program.wait()).context("cannot end the program")?;
        rows.push(row?);
    }
    println!("{}", table(&rows));
    println!("\n{}", conditions(&before));
    Ok(())
}

/// The program with this many threads, all of them alive. It ends by itself.
fn living(place: &Path, threads: &str) -> Result<Child> {
    let mut command = shell_program(place.join("many"), &["threads", threads, "60"]);
    let mut program = command.stdout(Stdio::piped()).spawn().context("cannot start the program")?;
    let said = program.stdout.take().context("it has no output")?;
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line).context("it says nothing")?;
    Ok(program)
}

/// Runs dwell to its end; a window is ended by a signal after so long.
fn measured(place: &Path, command: &mut Command, what: String, window: Option<Duration>) -> Result<Row> {
    let (json, within) = (place.join("bounds.json"), place.join("bounds.files"));
    // A leftover would be taken for a result.
    let _ = fs::remove_file(&json);
    fs::create_dir_all(&within)?;
    let begun = Instant::now();
    let command = command.current_dir(&within).stdout(Stdio::null()).stderr(Stdio::null());
    let mut dwell = command.spawn().context("cannot start dwell")?;
    let (mut peak, mut signalled) = (0, None);
    let status = loop {
        peak = peak.max(peak_kib(dwell.id()).unwrap_or(0));
        if signalled.is_none() && window.is_some_and(|window| begun.elapsed() >= window) {
            kill_process(Pid::from_child(&dwell), Signal::INT).context("cannot end the window")?;
            signalled = Some(Instant::now());
        }
        match dwell.try_wait()? {
            Some(status) => break status,
            None => sleep(Duration::from_millis(10)),
        }
    };
    let took = begun.elapsed().as_secs_f64();
    let end_s = signalled.map(|at| at.elapsed().as_secs_f64());
    if !status.success() {
        bail!("{what}: dwell ended with {status}");
    }
    let text = fs::read(&json).with_context(|| format!("cannot read {}", json.display()))?;
    let run: Run = serde_json::from_slice(&text)?;
    let wall_s = run.wall_ns as f64 / 1e9;
    let folded = run.folded.iter().map(|one| one.rows).sum();
    Ok(Row {
        what,
        bytes: text.len() as u64,
        peak_kib: peak,
        wall_s,
        beside_s: (took - wall_s).max(0.0),
        end_s,
        folded,
    })
}

fn table(rows: &[Row]) -> String {
    let mut lines = vec![
        "| program | JSON, bytes | rows put together | peak | wall | start and end | end |".to_owned(),
        "|---|---:|---:|---:|---:|---:|---:|".to_owned(),
    ];
    for row in rows {
        let mark = |reached: bool| if reached { "" } else { " (NOT reached)" };
        let peak = mib(Some(row.peak_kib));
        let end = row.end_s.map_or(String::new(), |end| format!("{end:.2} s{}", mark(end <= REACH_END_S)));
        lines.push(format!(
            "| {} | {}{} | {} | {peak:.0} MiB{} | {:.1} s | {:.2} s | {end} |",
            row.what,
            row.bytes,
            mark(row.bytes <= REACH_BYTES),
            row.folded,
            mark(peak <= REACH_MIB),
            row.wall_s,
            row.beside_s
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_marked() {
        let row = Row {
            what: "files 5".into(),
            bytes: 1_000_001,
            peak_kib: 201 << 10,
            wall_s: 1.0,
            beside_s: 0.75,
            end_s: Some(0.51),
            folded: 7,
        };
        let text = table(&[row]);
        let last = "| files 5 | 1000001 (NOT reached) | 7 | 201 MiB (NOT reached) | 1.0 s | 0.75 s | \
                    0.51 s (NOT reached) |";
        assert!(text.ends_with(last), "{text}");
    }
}

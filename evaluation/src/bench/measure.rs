//! One run of one program with one tool: started, bounded in time, its times read back.
//!
//! `bench/timed.c` stands around the tool and, within it, around the program; it does the timing.

use super::program::{Program, Timed};
use super::tool::Tool;
use anyhow::{Context, Result, bail};
use model::Run;
use model::run::FunctionRow;
use std::fs::{self, File};
use std::path::Path;
use workshop::shell::program;

/// No run takes longer: a tool that does is stopped, and said to have been.
const SECONDS_MAX: &str = "120";

/// What one run gave. All in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    /// What counts for this program: of one operation, of the program, or of everything.
    pub(crate) timed_ns: f64,
    /// What the program and its children had of CPUs, their kernel time with it: it says less of
    /// the tool than time does, but other programs on the machine disturb it less.
    pub(crate) cpu_ns: f64,
    /// From the tool's start to the program's.
    pub(crate) startup_ns: f64,
    /// From the program's end to the tool's.
    pub(crate) ending_ns: f64,
    /// Of dwell's samples, how many it took and how many have the name of a function.
    pub(crate) named: Option<(u64, u64)>,
    /// It lost events, and said so.
    pub(crate) lost: bool,
}

/// What `timed` wrote.
#[derive(Clone)]
struct Span {
    begun_ns: f64,
    ended_ns: f64,
    status: i64,
    peak_rss_kib: u64,
    cpu_ns: f64,
}

impl Span {
    fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).context("it did not run the program to its end")?;
        let numbers: Vec<i64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [begun, ended, status, peak, cpu_us] = numbers[..] else { bail!("timed wrote {text:?}") };
        Ok(Self {
            begun_ns: begun as f64,
            ended_ns: ended as f64,
            status,
            peak_rss_kib: u64::try_from(peak).unwrap_or(0),
            cpu_ns: cpu_us as f64 * 1e3,
        })
    }
}

/// Runs it once.
///
/// # Errors
/// When the tool, or the program with it, fails or takes too long.
pub(crate) fn once(program: &Program, tool: Tool, quick: bool, place: &Path) -> Result<Outcome> {
    let (outer, inner) = spans(program, tool, quick, place, false)?;
    let own = || -> Result<f64> {
        let text = fs::read_to_string(place.join("own")).context("the program did not say its time")?;
        text.trim().parse().with_context(|| format!("the program says {text:?} of its time"))
    };
    let timed_ns = match program.timed {
        Timed::Itself => own()?,
        Timed::Program => inner.ended_ns - inner.begun_ns,
        Timed::Whole => outer.ended_ns - outer.begun_ns,
    };
    let said = fs::read(place.join("stderr")).unwrap_or_default();
    let lost = tool == Tool::PerfTrace && String::from_utf8_lossy(&said).contains("LOST");
    Ok(Outcome {
        timed_ns,
        cpu_ns: inner.cpu_ns,
        startup_ns: inner.begun_ns - outer.begun_ns,
        ending_ns: outer.ended_ns - inner.ended_ns,
        named: named(place),
        lost,
    })
}

/// The most memory that the tool had while it watched the program, in KiB.
///
/// # Errors
/// As for [`once`].
pub(crate) fn rss_kib(program: &Program, tool: Tool, quick: bool, place: &Path) -> Result<u64> {
    Ok(spans(program, tool, quick, place, true)?.0.peak_rss_kib)
}

/// Samples and those of a named function, from dwell's JSON, where it was asked for.
fn named(place: &Path) -> Option<(u64, u64)> {
    let run: Run = serde_json::from_slice(&fs::read(place.join("json")).ok()?).ok()?;
    let rows = run.tables.functions.value()?;
    let samples = |row: &FunctionRow| row.samples;
    // Without a name it is the module and how far in.
    let is_named = |row: &&FunctionRow| !row.name.contains("+0x");
    Some((rows.iter().map(samples).sum(), rows.iter().filter(is_named).map(samples).sum()))
}

fn spans(measured: &Program, tool: Tool, quick: bool, place: &Path, rss: bool) -> Result<(Span, Span)> {
    let [outer, inner, own, json, errors] =
        ["outer", "inner", "own", "json", "stderr"].map(|name| place.join(name));
    for old in [&outer, &inner, &own, &json] {
        // Absent at first; a leftover would be taken for a result.
        let _ = fs::remove_file(old);
    }
    let timed = place.join("timed").to_string_lossy().into_owned();
    let mut within = measured.command(place, quick, tool.is_slow());
    if tool.follows() {
        within.splice(0..0, [timed.clone(), inner.to_string_lossy().into_owned()]);
    }
    let mut command = program("timeout", &["--foreground", "--kill-after=2", SECONDS_MAX, &timed]);
    command.arg(&outer).args(rss.then_some("--rss")).args(tool.around(within, place));
    command.env("BENCH_RESULT", &own).stdout(File::create("/dev/null")?).stderr(File::create(&errors)?);
    let status = command.status().context("cannot start timeout")?;
    if status.code() == Some(124) {
        bail!("stopped after {SECONDS_MAX} s");
    }
    if !status.success() {
        bail!("ended with {status}: {}", last_line(&errors));
    }
    let read = |path| Span::read(path).with_context(|| last_line(&errors));
    let outer = read(&outer)?;
    let inner = if tool.follows() { read(&inner)? } else { outer.clone() };
    if inner.status != 0 {
        bail!("the program ended with {} under it", inner.status);
    }
    Ok((outer, inner))
}

fn last_line(path: &Path) -> String {
    let said = fs::read(path).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim().to_owned()
}

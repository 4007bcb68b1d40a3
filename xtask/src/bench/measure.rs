//! One run of one program with one tool: started, bounded in time, its times read back.
//!
//! `bench/timed.c` stands around the tool and, within it, around the program; it does the timing.

use super::program::{Program, Timed};
use super::tool::Tool;
use crate::shell::program;
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::path::Path;

/// No run takes longer: a tool that does is stopped, and said to have been.
const SECONDS_MAX: &str = "120";

/// What one run gave. All in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    /// What counts for this program: of one operation, of the program, or of everything.
    pub(crate) timed_ns: f64,
    /// From the tool's start to the program's.
    pub(crate) startup_ns: f64,
    /// From the program's end to the tool's.
    pub(crate) ending_ns: f64,
    /// Something the reader should know of the tool.
    pub(crate) note: Option<String>,
}

/// What `timed` wrote.
struct Span {
    begun_ns: f64,
    ended_ns: f64,
    status: i64,
    peak_rss_kib: u64,
}

impl Span {
    fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).context("it did not run the program to its end")?;
        let numbers: Vec<i64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [begun, ended, status, peak] = numbers[..] else { bail!("timed wrote {text:?}") };
        Ok(Self {
            begun_ns: begun as f64,
            ended_ns: ended as f64,
            status,
            peak_rss_kib: u64::try_from(peak).unwrap_or(0),
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
        startup_ns: inner.begun_ns - outer.begun_ns,
        ending_ns: outer.ended_ns - inner.ended_ns,
        note: lost.then(|| format!("{}: {} lost events", program.name, tool.name())),
    })
}

/// The most memory that dwell had while it watched the program, in KiB.
///
/// # Errors
/// As for [`once`].
pub(crate) fn dwell_rss_kib(program: &Program, quick: bool, place: &Path) -> Result<u64> {
    Ok(spans(program, Tool::Dwell, quick, place, true)?.0.peak_rss_kib)
}

fn spans(measured: &Program, tool: Tool, quick: bool, place: &Path, rss: bool) -> Result<(Span, Span)> {
    let [outer, inner, own, errors] = ["outer", "inner", "own", "stderr"].map(|name| place.join(name));
    for old in [&outer, &inner, &own] {
        // Absent at first; a leftover would be taken for a result.
        let _ = fs::remove_file(old);
    }
    let timed = place.join("timed").to_string_lossy().into_owned();
    let within = vec![timed.clone(), inner.to_string_lossy().into_owned()];
    let within = [within, measured.command(place, quick, tool.is_slow())].concat();
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
    let (outer, inner) = (read(&outer)?, read(&inner)?);
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

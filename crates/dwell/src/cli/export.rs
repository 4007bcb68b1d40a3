//! The options of `dwell export`.

use crate::out::OutputPath;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Write a kept result in the format of another tool
///
/// Data that the format cannot represent is listed on standard error. Sums are those of the
/// result, to the nanosecond where the format can hold it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell export last --as markdown -o run.md\n  dwell export run.json --as csv --table waits -o waits.csv\n  dwell export run.dwell --as pprof -o run.pb.gz\n  dwell export run.dwell --as perfetto -o run.perfetto-trace\n  dwell export last --as hdr -o waits.hlog\n  dwell export last --as svg -o wake.svg\n  dwell export cmp.json --as hyperfine -o cmp.hyperfine.json"
)]
pub(crate) struct ExportArgs {
    /// A result written by --json of any verb, a recording written by --keep, a page of HTML, or a
    /// kept result: its ID in `dwell list`, `last`, `last-1`
    #[arg(value_name = "FILE|ID")]
    pub(crate) result: PathBuf,

    /// The format
    #[arg(long = "as", value_name = "FORMAT", value_enum)]
    pub(crate) format: ExportFormat,

    /// The table, for csv and markdown, by its name in the JSON (`account`, `waits`, `runs`).
    /// Without it, Markdown has all tables; csv needs one, and lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,

    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) output: OutputPath,
}

/// A format of other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Any result as dwell keeps it, on one line. That of a run has its stacks, which --json leaves
    /// out
    Json,
    /// A table of any result, for spreadsheets
    Csv,
    /// Tables of any result
    Markdown,
    /// The runs of dwell compare as JSON of hyperfine 2
    Hyperfine,
    /// The runs of dwell compare as JSON of hyperfine 1
    #[value(name = "hyperfine-1")]
    Hyperfine1,
    /// Functions on a CPU and waiting, for pprof; of a run with its stacks
    Pprof,
    /// Threads over time with hand-overs and the critical path, for ui.perfetto.dev; of a recording
    /// of dwell run
    Perfetto,
    /// The critical path as a trace of OpenTelemetry, in JSON; of a recording of dwell run
    Otlp,
    /// Lengths of waits by reason, or latencies of dwell wake by CPU, as a log of HdrHistogram
    Hdr,
    /// Functions over time, for profiler.firefox.com; of a run with its stacks
    Firefox,
    /// Functions over time, for speedscope.app; of a run with its stacks
    Speedscope,
    /// Stacks with their time, for flamegraph.pl and inferno; of a run with its stacks
    Folded,
    /// The picture of dwell wake, a sheet or a ladder
    Svg,
    /// That picture in pixels
    Png,
    /// The verdict of dwell wake --deadline
    Junit,
}

impl ExportFormat {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Markdown => "markdown",
            Self::Hyperfine => "hyperfine",
            Self::Hyperfine1 => "hyperfine-1",
            Self::Pprof => "pprof",
            Self::Perfetto => "perfetto",
            Self::Otlp => "otlp",
            Self::Hdr => "hdr",
            Self::Firefox => "firefox",
            Self::Speedscope => "speedscope",
            Self::Folded => "folded",
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Junit => "junit",
        }
    }
}

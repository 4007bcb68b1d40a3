//! The options of `dwell export`.

use crate::out::OutputPath;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use strum::IntoStaticStr;

/// Write a kept result in the format of another tool
///
/// Data that the format cannot represent is listed on standard error. Sums equal those of the
/// result, to the nanosecond if the format can hold it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell export last --as markdown -o run.md\n  dwell export run.json --as csv --table waits -o waits.csv\n  dwell export run.dwell --as pprof -o run.pb.gz\n  dwell export --as parquet lake\n  dwell export run.dwell --as perfetto -o run.perfetto-trace\n  dwell export last --as hdr -o waits.hlog\n  dwell export last --as svg -o wake.svg\n  dwell export cmp.json --as hyperfine -o cmp.hyperfine.json\n  dwell export last run.json --as rows lake --redact"
)]
pub(crate) struct ExportArgs {
    /// A result, a recording, a page, or the ID of a kept result. Results are written by --json of
    /// any verb, recordings by --keep, pages by --html. IDs are in `dwell list`; `last` and
    /// `last-1` work as well. For parquet and rows any number of them, none for all results of the
    /// store, and the directory at the end
    #[arg(value_name = "FILE|ID")]
    pub(crate) results: Vec<PathBuf>,

    /// The format
    #[arg(long = "as", value_name = "FORMAT", value_enum)]
    pub(crate) format: ExportFormat,

    /// The table, for csv and markdown, by its name in the JSON (`account`, `waits`, `runs`).
    /// Without it, markdown writes all tables; csv needs a name, and lists the tables
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,

    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) output: OutputPath,

    /// Write the large tables as well: path, functions, syscalls. For parquet and rows
    #[arg(long)]
    pub(crate) detail: bool,

    /// Leave out commands, paths and peers, and what may quote them. For parquet and rows
    #[arg(long)]
    pub(crate) redact: bool,
}

/// A format of other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum ExportFormat {
    /// Any result as dwell keeps it, on one line. For a run that includes its stacks, which --json
    /// leaves out
    Json,
    /// One table of any result, for spreadsheets
    Csv,
    /// One table of any result, or all
    Markdown,
    /// The runs of dwell compare, as JSON of hyperfine 2
    Hyperfine,
    /// The runs of dwell compare, as JSON of hyperfine 1
    #[value(name = "hyperfine-1")]
    #[strum(serialize = "hyperfine-1")]
    Hyperfine1,
    /// Functions on a CPU and waiting, for pprof. Needs a run with stacks
    Pprof,
    /// Threads over time with hand-overs and the critical path, for ui.perfetto.dev: needs a
    /// recording of dwell run. Slow requests of dwell attach
    Perfetto,
    /// The critical path as a trace of OpenTelemetry, in JSON: needs a recording of dwell run.
    /// Slow requests of dwell attach, a trace each
    Otlp,
    /// Lengths of waits by reason, or latencies of dwell wake by CPU, as a log of HdrHistogram
    Hdr,
    /// Functions over time, for profiler.firefox.com. Needs a run with stacks
    Firefox,
    /// Functions over time, for speedscope.app. Needs a run with stacks
    Speedscope,
    /// Stacks with their time, for flamegraph.pl and inferno. Needs a run with stacks
    Folded,
    /// The image of dwell wake, a sheet or a ladder, as SVG
    Svg,
    /// The same image, as PNG
    Png,
    /// The verdict of dwell wake --deadline, as JUnit XML
    Junit,
    /// Results of many hosts as tables for DuckDB, Trino and Spark, as Parquet below a directory
    Parquet,
    /// The same tables as lines of JSON, packed: smaller for single results
    Rows,
}

impl ExportFormat {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

//! The options of `dwell push`.

use crate::look::LookArgs;
use clap::{Args, ValueEnum};
use model::units;
use std::path::PathBuf;

/// Send kept results to a directory, a web server or OpenTelemetry
///
/// Sends the results of the store that are not there yet, and ends. What could not be sent is sent
/// next time. Nothing is sent by any other verb. Without a destination, it shows for each one what
/// is sent, not sent and refused.
///
/// The exit status is 0 if everything is there, 1 if results were refused or are left for the next
/// time, and 125 if dwell failed.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell push /mnt/lake\n  dwell push https://lake.example/dwell --token-file /etc/dwell/token\n  dwell push https://lake.example/dwell --redact --for 5m\n  dwell push --otlp http://localhost:4318\n  dwell push"
)]
pub(crate) struct PushArgs {
    /// A directory, or the URL of a web server that takes files by PUT. Both get the tables of
    /// `dwell export --as rows`
    #[arg(value_name = "DIR|URL", conflicts_with = "otlp")]
    pub(crate) to: Option<String>,

    /// Send to this endpoint of OpenTelemetry (OTLP over HTTP) [default:
    /// $OTEL_EXPORTER_OTLP_ENDPOINT]. Findings, verdicts and spikes go as logs, shares of the time
    /// and lengths of waits as metrics
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
    pub(crate) otlp: Option<String>,

    /// Give up after TIME, and leave the rest for the next time
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = units::seconds_ns)]
    pub(crate) length_ns: u64,

    /// Wait at most TIME for the answer to a request [default: $OTEL_EXPORTER_OTLP_TIMEOUT for
    /// --otlp, else 10s]
    #[arg(long, value_name = "TIME", value_parser = units::seconds_ns)]
    pub(crate) timeout: Option<u64>,

    /// Send the large tables as well: path, functions, syscalls
    #[arg(long, conflicts_with = "otlp")]
    pub(crate) detail: bool,

    /// Leave out commands, paths and peers, and what may quote them
    #[arg(long)]
    pub(crate) redact: bool,

    /// Send the token in FILE with each request (`Authorization: Bearer`). It is not sent on to
    /// another place if the server redirects
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// Trust the authorities in FILE (PEM), and no others [default:
    /// $OTEL_EXPORTER_OTLP_CERTIFICATE for --otlp, else those of the host]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,

    /// What a histogram counts from [default:
    /// $OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE, else cumulative]
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) temporality: Option<Temporality>,

    /// Also send slow requests as traces, and the critical path as one: that needs results of
    /// `dwell run` with their recordings (--keep)
    #[arg(long)]
    pub(crate) traces: bool,

    /// Send only this, where the endpoint takes nothing else: Prometheus takes metrics
    #[arg(long, value_name = "SIGNAL", value_enum, conflicts_with = "traces")]
    pub(crate) only: Option<Signal>,

    /// Send everything in the store once more
    #[arg(long)]
    pub(crate) again: bool,

    /// Send nothing, and forget the destination: what was sent, refused and waits
    #[arg(long, conflicts_with = "again")]
    pub(crate) forget: bool,

    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// What is sent to OpenTelemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Signal {
    /// Results, findings, comparisons and spikes
    Logs,
    /// Shares of the time, lengths of waits, latencies
    Metrics,
    /// The critical path
    Traces,
}

/// What a histogram of OpenTelemetry counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Temporality {
    /// The beginning of a stream; each result begins one
    Cumulative,
    /// The point before
    Delta,
}

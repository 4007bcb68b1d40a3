//! The options of the store of results, and of the verbs that are about it.

use crate::look::LookArgs;
use crate::out::OutputPath;
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use model::units;
use std::path::PathBuf;
use store::results::TAG_MAX;

/// The store that results are kept in, for every verb.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StoreArgs {
    /// Keep results in FILE, and look for them there [default: $DWELL_STORE, else
    /// $XDG_DATA_HOME/dwell/results.sqlite (~/.local/share/dwell); under sudo, that of the calling
    /// user]
    #[arg(
        long,
        value_name = "FILE",
        global = true,
        hide_short_help = true,
        help_heading = "Results",
        conflicts_with = "no_store"
    )]
    pub(crate) store: Option<PathBuf>,

    /// Neither keep results nor look for them (as DWELL_STORE=off does)
    #[arg(long, global = true, hide_short_help = true, help_heading = "Results")]
    pub(crate) no_store: bool,

    /// Write the ID under which the result is kept to FILE: how `dwell mcp` calls the verbs
    #[arg(long, value_name = "FILE", global = true, hide = true)]
    pub(crate) id_to: Option<PathBuf>,
}

/// List the results that were kept, the newest first
///
/// Each verb that measures keeps its result. A line shows the ID, when the result was kept, the
/// verb, the wall clock, the verdict or class, the first finding, tags, `+` if the recording is
/// kept as well, and the command. The list goes to standard output.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell list\n  dwell list --command make --since 7d\n  dwell list --verb compare --all\n  dwell list --tag baseline\n  dwell list --trend 'make -j2'"
)]
pub(crate) struct ListArgs {
    /// Only results of this verb (`run`, `compare`)
    #[arg(long, value_name = "VERB")]
    pub(crate) verb: Option<String>,

    /// Only results with TEXT in their command
    #[arg(long, value_name = "TEXT")]
    pub(crate) command: Option<String>,

    /// Only results of this host
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,

    /// Only results with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,

    /// Only results kept since TIME: an age (`90m`, `12h`, `7d`) or a UTC date (`2026-11-25`)
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub(crate) since: Option<Since>,

    /// Show the wall clock of COMMAND over time, the oldest first. It has each result of `dwell
    /// run`, and each side of `dwell compare` with its median and interval. Host and kernel are
    /// named where they change. Differences between days exceed most changes, so the exit status
    /// does not depend on the figures
    #[arg(long, value_name = "COMMAND", conflicts_with = "command")]
    pub(crate) trend: Option<String>,

    /// Write the list, or the trend, as JSON to FILE (`-`: standard output)
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().map(OutputPath::from))]
    pub(crate) json: Option<OutputPath>,

    /// List at most N results
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, conflicts_with = "all")]
    pub(crate) number: usize,

    /// List all results
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// Give a kept result tags
///
/// Tagged results are not deleted when the store reaches its limit.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell tag last baseline\n  dwell tag 3f2a91 v1.2 slow\n  dwell tag 3f2a91 --remove slow"
)]
pub(crate) struct TagArgs {
    /// The result: its ID or the beginning of it, `last`, `last-1`
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Tags to give it
    #[arg(value_name = "TAG", value_parser = tag, required_unless_present = "remove")]
    pub(crate) tags: Vec<String>,

    /// A tag to remove
    #[arg(long, value_name = "TAG")]
    pub(crate) remove: Vec<String>,
}

/// Write a note beside a kept result
///
/// Replaces the previous note.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  dwell note last 'with the cache cold'\n  dwell note 3f2a91 --remove")]
pub(crate) struct NoteArgs {
    /// The result: its ID or the beginning of it, `last`, `last-1`
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The note
    #[arg(value_name = "TEXT", required_unless_present = "remove", conflicts_with = "remove")]
    pub(crate) text: Vec<String>,

    /// Remove the note
    #[arg(long)]
    pub(crate) remove: bool,
}

/// Remove kept results, with their recordings
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell rm last\n  dwell rm 3f2a91 77c0de\n  dwell rm --force baseline-id"
)]
pub(crate) struct RmArgs {
    /// The results: their IDs or the beginnings of them, `last`, `last-1`
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,

    /// Also remove results with tags
    #[arg(short, long)]
    pub(crate) force: bool,
}

/// Show where results are kept, and how large the store is
///
/// If the store exceeds its limit, the oldest results without tags are deleted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  dwell store\n  dwell store --limit 5GB\n  dwell store --check")]
pub(crate) struct StoreVerbArgs {
    /// Set the size limit [default: 1GB]. Results beyond the limit are deleted at once
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    pub(crate) limit: Option<u64>,

    /// Check the store for damage. Recordings without a result are removed. The exit status is 1 if
    /// anything is damaged
    #[arg(long)]
    pub(crate) check: bool,

    #[command(flatten)]
    pub(crate) look: LookArgs,
}

/// Since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// Seconds before now.
    Ago(u64),
    /// Seconds since 1970.
    At(u64),
}

/// Parses `12h`, `7d`, `2026-11-25`.
fn since(text: &str) -> Result<Since, String> {
    const DAY_S: f64 = 86_400.0;
    if let Some(at) = sys::clock::of_date(text) {
        return Ok(Since::At(at));
    }
    if let Some(days) = text.strip_suffix('d').and_then(|days| days.parse::<f64>().ok())
        && (0.0..=1e6).contains(&days)
    {
        return Ok(Since::Ago((days * DAY_S) as u64));
    }
    let ago = units::seconds_ns(text).map(|ns| Since::Ago(ns / 1_000_000_000));
    ago.map_err(|_| "neither a time nor a date; try: 12h, 7d or 2026-11-25".to_owned())
}

/// Checks a tag.
fn tag(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.len() > TAG_MAX || text.chars().any(char::is_control) {
        return Err(format!("a tag has 1 to {TAG_MAX} bytes, and no control characters"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_time_before_now_or_a_date() {
        assert_eq!(since("90m"), Ok(Since::Ago(5400)));
        assert_eq!(since("7d"), Ok(Since::Ago(604_800)));
        assert_eq!(since("30"), Ok(Since::Ago(30)));
        assert_eq!(since("1970-01-02"), Ok(Since::At(86_400)));
        for wrong in ["", "yesterday", "-1d", "2026-13-01", "1e99d", "NaNd"] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_tag_is_a_short_text() {
        assert!(tag("größe 1").is_ok());
        for wrong in ["", "  ", "a\nb", "\x1b[31m", &"x".repeat(65)] {
            assert!(tag(wrong).is_err(), "{wrong:?}");
        }
    }
}

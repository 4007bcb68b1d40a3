//! `dwell list`: the results that were kept; with `--trend`, those of one command over time.

mod trend;

use super::named;
use crate::cli::{ListArgs, Since};
use crate::keep::ResultStore;
use crate::look::{OutputKind, look};
use crate::out::{Outputs, Page, Paths};
use crate::{exit, output};
use model::list::{Listed, ResultList, SCHEMA_LIST};
use report::results;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use store::results::{Filter, ResultRow};
use sys::clock::{rfc3339, unix_s};
use sys::poll::Blocking;

/// Lists; returns the exit status.
pub(crate) fn list(args: &ListArgs, keeper: &ResultStore) -> anyhow::Result<u8> {
    let filter = Filter {
        verb: args.verb.clone(),
        command: args.command.clone(),
        host: args.host.clone(),
        tag: args.tag.clone(),
        since_s: args.since.map(|since| match since {
            Since::Ago(seconds) => unix_s().saturating_sub(seconds),
            Since::At(at) => at,
        }),
    };
    let most = if args.all { usize::MAX } else { args.number };
    if let Some(command) = &args.trend {
        return trend::trend(args, command, &filter, most, keeper);
    }
    if args.json.is_some() {
        return whole(args, &filter, most, keeper);
    }
    let look = look(&args.look, OutputKind::Stdout);
    let here = observe::this_host().name;
    keeper.at_length(|place| {
        let store = named::read(place)?;
        // Line by line: there may be a million.
        let stdout = io::stdout();
        let mut out = BufWriter::with_capacity(1 << 16, Blocking(stdout.as_fd()));
        let mut shown = 0_u64;
        let mut written = Ok(());
        let more = store.each(&filter, most, |row| {
            if shown == 0 {
                written = out.write_all(results::head(look).as_bytes());
            }
            shown += 1;
            let line = results::line(&listed(row, &here), look);
            if written.is_ok() {
                written = out.write_all(line.as_bytes());
            }
            written.is_ok()
        })?;
        written = written.and_then(|()| match (shown, more) {
            (0, _) => writeln!(out, "no such result in {:?}; without filters: dwell list", place.path()),
            (_, true) => out.write_all(results::more(shown, look).as_bytes()),
            _ => Ok(()),
        });
        output::put(written.and_then(|()| out.flush()))?;
        Ok(0)
    })
}

/// The list as a result: all of it at once.
fn whole(args: &ListArgs, filter: &Filter, most: usize, keeper: &ResultStore) -> anyhow::Result<u8> {
    let json = args.json.iter().map(|path| ("json".to_owned(), path.clone()));
    let outputs = Outputs::open(&Paths::from_iter(json), Page::Stdout, None, &[])?;
    let here = observe::this_host().name;
    let (rows, more) = keeper.at_length(|place| Ok(named::read(place)?.list(filter, most)?))?;
    let results = rows.into_iter().map(|row| listed(row, &here)).collect();
    let list = ResultList { schema: SCHEMA_LIST.to_owned(), results, more };
    Ok(if outputs.write(&list, &args.look).complain() { exit::DWELL_FAILED } else { 0 })
}

/// A row as it is listed on the host `here`.
fn listed(row: ResultRow, here: &str) -> Listed {
    Listed {
        at: rfc3339(row.at_s),
        elsewhere: Some(row.host).filter(|host| host != here),
        has_recording: row.recording_bytes > 0,
        id: row.id,
        verb: row.verb,
        command: row.command,
        wall_ns: row.wall_ns,
        verdict: row.verdict,
        finding: row.finding,
        tags: row.tags,
        note: row.note,
    }
}

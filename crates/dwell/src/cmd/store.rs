//! `dwell store`: where results are kept, how large that is, whether it is whole, and its limit.

use super::named;
use crate::cli::StoreVerbArgs;
use crate::keep::{ResultStore, unsent};
use crate::look::{OutputKind, look};
use crate::output;
use report::results::{self, StoreFacts};
use std::time::{Duration, Instant};
use store::results::SCHEMA;

/// The exit status where something is damaged.
const DAMAGED: u8 = 1;
/// How long a limit may take to make room: of a store with millions of results that is long.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Shows, checks or limits the store; returns the exit status.
pub(crate) fn store(args: &StoreVerbArgs, keeper: &ResultStore) -> anyhow::Result<u8> {
    let look = look(&args.look, OutputKind::Stdout);
    keeper.at_length(|place| {
        if let Some(bytes) = args.limit {
            let removed = place.open(Instant::now() + PATIENCE)?.limit(bytes)?;
            if removed.results > 0 {
                output::to_stdout(format!(
                    "{} without tags, the oldest, went ({}){}\n",
                    report::units::counted(removed.results, "result"),
                    report::units::bytes(removed.bytes),
                    unsent(&removed)
                ))?;
            }
        }
        let store = named::read(place)?;
        let size = store.counted()?;
        let facts = StoreFacts {
            path: place.path().display().to_string(),
            version: (store.version(), SCHEMA),
            results: (size.results, size.tagged),
            used_bytes: size.used_bytes,
            recordings_bytes: size.recordings_bytes,
            limit_bytes: size.limit_bytes,
            destinations: store
                .destinations()?
                .iter()
                .map(|one| super::push::facts(one, Vec::new()))
                .collect(),
        };
        output::to_stdout(results::store(&facts, look))?;
        if !args.check {
            return Ok(0);
        }
        let wrong = store.check()?;
        let left = store.remove_left()?;
        if left > 0 {
            output::to_stdout(format!(
                "{} of no result removed\n",
                report::units::counted(left, "recording")
            ))?;
        }
        if wrong.is_empty() {
            output::to_stdout("everything in it is whole\n")?;
            return Ok(0);
        }
        wrong.iter().for_each(|line| output::complain(&report::clean(line, false)));
        Ok(DAMAGED)
    })
}

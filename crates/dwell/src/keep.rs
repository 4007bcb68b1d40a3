//! Keeping results in the store: each verb offers what it found, and it is written when the page is
//! out and the exit status known. Whatever becomes of that costs one line, and no more than ten
//! seconds: those of a disk that does not answer, or of many that write at once.

mod store_path;

use crate::cli::StoreArgs;
use crate::out::{Kind, LadderResult};
use crate::{ladder_file, output};
use anyhow::anyhow;
use model::Ladder;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use store::results::{NewResult, Put, Removed, Size};
pub(crate) use store_path::StorePath;
use store_path::{Choice, VARIABLE};

/// How long a store may take to be read, which a page waits for.
pub(crate) const READING: Duration = Duration::from_secs(2);
/// The same to keep a result. Where sixty write at once on two CPUs, the last wait three seconds.
const WRITING: Duration = Duration::from_secs(10);
/// Of that, for what comes after waiting for other writers.
const AFTER: Duration = Duration::from_millis(300);

/// The store, and what is to be kept there.
#[derive(Debug)]
pub(crate) struct ResultStore {
    choice: Choice,
    /// Where the IDs go, a line each.
    id_to: Option<PathBuf>,
    /// It did not answer: it is not read again. A result is offered to it all the same.
    gone: Cell<bool>,
    offered: Vec<NewResult>,
    /// Kept in a file where the store cannot be used.
    ladder: Option<Ladder>,
}

impl ResultStore {
    /// By the options and the environment. Nothing is opened yet.
    pub(crate) fn new(args: &StoreArgs) -> Self {
        let choice = Choice::of(args, std::env::var_os(VARIABLE));
        let id_to = args.id_to.clone();
        Self { choice, id_to, gone: Cell::new(false), offered: Vec::new(), ladder: None }
    }

    /// Whether there are results to be read, as far as that is known.
    pub(crate) fn is_read(&self) -> bool {
        self.choice != Choice::Off && !self.gone.get()
    }

    /// A result that is to be kept, and the file of its recording.
    pub(crate) fn offer(&mut self, result: &impl Kind, recording: Option<&Path>) {
        if self.choice != Choice::Off {
            let recording = recording.map(Path::to_owned);
            self.offered.extend(result.row().map(|row| NewResult { recording, ..row }));
        }
    }

    /// A whole ladder: that of this host from now on.
    pub(crate) fn offer_ladder(&mut self, result: &LadderResult) {
        if self.choice != Choice::Off {
            self.offer(result, None);
            self.ladder = Some(result.ladder.clone());
        } else {
            ladder_file::keep(&result.ladder);
        }
    }

    /// Writes what was offered. Failures are printed.
    pub(crate) fn write(mut self) {
        let offered = std::mem::take(&mut self.offered);
        if offered.is_empty() {
            return;
        }
        self.gone.set(false);
        let written = self.in_time(WRITING, move |place, until| {
            let mut store = place.open(until - AFTER)?;
            let puts: Result<Vec<Put>, _> = offered.iter().map(|result| store.put(result)).collect();
            Ok(puts?)
        });
        match written {
            Ok(puts) => {
                puts.iter().for_each(said);
                let ids: String = puts.iter().map(|put| format!("{}\n", put.id)).collect();
                // Whoever asked for it finds it missing.
                let _ = self.id_to.map(|path| output::Target::open(&path).and_then(|target| target.put(ids)));
            }
            Err(error) => {
                let why = output::told(&error).replace("\ntry: ", "; try: ");
                // What takes too long goes on meanwhile, and may end well.
                let is = if self.gone.get() { "may not be" } else { "is not" };
                output::complain(&output::clean_lines(&format!("the result {is} kept: {why}")));
                self.ladder.iter().for_each(ladder_file::keep);
            }
        }
    }

    /// Does something with the store, in a thread of its own: a file system that does not answer is
    /// left alone after a while.
    ///
    /// # Errors
    /// What it says, or that it takes too long.
    pub(crate) fn in_time<T: Send + 'static>(
        &self,
        within: Duration,
        what: impl FnOnce(&StorePath, Instant) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let (sender, receiver) = mpsc::channel();
        let choice = self.choice.clone();
        let until = Instant::now() + within;
        let thread = std::thread::Builder::new().name("dwell-store".into());
        // Nobody waits for what comes too late.
        thread.spawn(move || {
            let _ = sender.send(store_path::with(&choice, |place| what(place, until)));
        })?;
        receiver.recv_timeout(within).unwrap_or_else(|_| {
            self.gone.set(true);
            Err(anyhow!(
                "the store did not answer within {} s\ntry: dwell list shows what is kept",
                within.as_secs()
            ))
        })
    }

    /// Does something with the store for as long as it takes, as the user asked for it.
    ///
    /// # Errors
    /// What it says; that there is none.
    pub(crate) fn at_length<T: Send>(
        &self,
        what: impl FnOnce(&StorePath) -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        store_path::with(&self.choice, what)
    }
}

/// What of removed results some destination has not.
pub(crate) fn unsent(removed: &Removed) -> String {
    match removed.unsent {
        0 => String::new(),
        unsent => format!(", {} of them before they were sent", report::units::count(unsent)),
    }
}

/// Says what had to go, or could not be kept.
fn said(put: &Put) {
    let limit = |size: &Size| report::units::limit(size.limit_bytes);
    if let Some(removed) = &put.removed {
        output::complain(&format!(
            "the store is full: deleted the {} without tags that were oldest ({}){}; try: dwell store --limit SIZE",
            report::units::counted(removed.results, "result"),
            report::units::bytes(removed.bytes),
            unsent(removed)
        ));
    }
    if let Some(size) = &put.over {
        output::complain(&format!(
            "the store takes {}, its limit is {}, and all in it has tags; try: dwell store --limit SIZE",
            report::units::bytes(size.used_bytes),
            limit(size)
        ));
    }
    if let Some(error) = &put.without_recording {
        output::complain(&format!("the result is kept without its recording: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::StoreArgs;

    #[test]
    fn a_result_is_kept_also_where_the_store_could_not_be_read_in_time() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("results.sqlite");
        let mut keeper = ResultStore::new(&StoreArgs { store: Some(file.clone()), ..StoreArgs::default() });
        let late = keeper.in_time(Duration::ZERO, |_, _| {
            std::thread::sleep(Duration::from_millis(50));
            Ok(())
        });
        assert!(late.is_err() && !keeper.is_read());
        keeper.offered.push(NewResult {
            verb: "run".to_owned(),
            json: b"{}".to_vec(),
            ..NewResult::default()
        });
        keeper.write();
        let keeper = ResultStore::new(&StoreArgs { store: Some(file), ..StoreArgs::default() });
        let soon = Instant::now() + READING;
        let rows = keeper.at_length(|place| Ok(place.open(soon)?.counted()?.results)).unwrap();
        assert_eq!(rows, 1);
    }
}

//! Tags, notes, and results that go.

use super::error::StoreError;
use super::file::{Store, store_error};
use super::row::{ResultRow, TEXT_MAX, cut};
use rusqlite::{Transaction, params};
use std::fs;

/// Results that are gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// How many.
    pub results: u64,
    /// What they took, recordings included.
    pub bytes: u64,
    /// Results that the limit removed, and that a destination has not.
    pub unsent: u64,
}

impl Store {
    /// Gives a result tags, and takes others away. A result with a tag stays, however large the
    /// store is.
    ///
    /// # Errors
    /// What SQLite says; the store is newer.
    pub fn tag(&mut self, row: &ResultRow, add: &[String], remove: &[String]) -> Result<(), StoreError> {
        let path = self.path.clone();
        let refused = |error| store_error(&path, &error);
        let change = self.change()?;
        let is_there = "INSERT OR IGNORE INTO tags (seq, tag) SELECT seq, ?2 FROM results WHERE seq = ?1";
        for tag in add {
            change.execute(is_there, params![row.seq, tag]).map_err(refused)?;
        }
        for tag in remove {
            change
                .execute("DELETE FROM tags WHERE seq = ?1 AND tag = ?2", params![row.seq, tag])
                .map_err(refused)?;
        }
        change.commit().map_err(refused)
    }

    /// Writes a note beside a result, in place of the one before; without text there is none.
    ///
    /// # Errors
    /// What SQLite says; the store is newer.
    pub fn note(&mut self, row: &ResultRow, text: Option<&str>) -> Result<(), StoreError> {
        let path = self.path.clone();
        let refused = |error| store_error(&path, &error);
        let change = self.change()?;
        let text = text.map(|text| cut(text, TEXT_MAX));
        change
            .execute("UPDATE results SET note = ?2 WHERE seq = ?1", params![row.seq, text])
            .map_err(refused)?;
        change.commit().map_err(refused)
    }

    /// Removes results, all of them or, if that fails, none, and gives their room back to the disk.
    ///
    /// # Errors
    /// What SQLite says; the store is newer.
    pub fn remove(&mut self, rows: &[ResultRow]) -> Result<Removed, StoreError> {
        let path = self.path.clone();
        let refused = |error| store_error(&path, &error);
        let change = self.change()?;
        let mut removed = Removed::default();
        for row in rows {
            removed.add(delete(&change, row.seq).map_err(refused)?);
            // Who removes a result does not want it to be sent.
            change.execute("DELETE FROM outbox WHERE seq = ?1", [row.seq]).map_err(refused)?;
        }
        change.commit().map_err(refused)?;
        for row in rows.iter().filter(|row| row.recording_bytes > 0) {
            let _ = fs::remove_file(self.recording(&row.id));
        }
        self.shrink();
        Ok(removed)
    }

    /// Gives free pages back to the disk. What cannot be given back stays for later results.
    pub(super) fn shrink(&self) {
        let done = self.db.prepare("PRAGMA incremental_vacuum").and_then(|mut asked| {
            let mut rows = asked.query([])?;
            while rows.next()?.is_some() {}
            Ok(())
        });
        if done.is_ok() {
            let _ = self.db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        }
    }
}

impl Removed {
    pub(super) fn add(&mut self, other: Self) {
        self.results += other.results;
        self.bytes += other.bytes;
        self.unsent += other.unsent;
    }
}

/// Removes one result; what it took. It may be gone already.
pub(super) fn delete(change: &Transaction<'_>, seq: i64) -> rusqlite::Result<Removed> {
    let asked = "SELECT coalesce((SELECT length(packed) FROM contents WHERE seq = ?1), 0) + \
                 coalesce((SELECT recording_bytes FROM results WHERE seq = ?1), 0)";
    let bytes: i64 = change.query_row(asked, [seq], |row| row.get(0))?;
    let results = change.execute("DELETE FROM results WHERE seq = ?1", [seq])?;
    change.execute("DELETE FROM contents WHERE seq = ?1", [seq])?;
    change.execute("DELETE FROM tags WHERE seq = ?1", [seq])?;
    Ok(Removed { results: results as u64, bytes: u64::try_from(bytes).unwrap_or(0), unsent: 0 })
}

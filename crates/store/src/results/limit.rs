//! How large a store may be: the oldest results without tags go.

use super::change::{self, Removed};
use super::error::StoreError;
use super::file::{Store, store_error};
use super::outbox;
use rusqlite::params;
use std::fs;
use std::time::SystemTime;

/// The limit of a store for which no other was set.
pub const DEFAULT_LIMIT_BYTES: u64 = 1_000_000_000;

/// The setting of another one.
const LIMIT: &str = "limit_bytes";

/// Results that go in one transaction: others wait no longer than for these.
const AT_ONCE: i64 = 500;

/// Files that nobody names are taken away after this time: their result may be about to be written.
const LEFT_AFTER_S: u64 = 3600;

/// How large a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Results.
    pub results: u64,
    /// Results with tags.
    pub tagged: u64,
    /// What they take, recordings included.
    pub used_bytes: u64,
    /// Of that, recordings.
    pub recordings_bytes: u64,
    /// How much they may take.
    pub limit_bytes: u64,
}

impl Store {
    /// How large it is. Counts nothing but bytes, which is as fast for a million results as for
    /// one.
    ///
    /// # Errors
    /// What SQLite says.
    pub(super) fn size(&self) -> Result<Size, StoreError> {
        let asked = "SELECT (SELECT page_count FROM pragma_page_count), \
                     (SELECT freelist_count FROM pragma_freelist_count), \
                     (SELECT page_size FROM pragma_page_size), \
                     (SELECT coalesce(sum(recording_bytes), 0) FROM results WHERE recording_bytes > 0), \
                     (SELECT value FROM settings WHERE name = ?1)";
        let row = self.db.query_row(asked, [LIMIT], |row| {
            let numbers: [i64; 4] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
            Ok((numbers, row.get::<_, Option<i64>>(4)?))
        });
        let ([pages, free, page, recordings], limit) = row.map_err(|error| self.error(error))?;
        let unsigned = |value: i64| u64::try_from(value).unwrap_or(0);
        Ok(Size {
            results: 0,
            tagged: 0,
            used_bytes: unsigned((pages - free) * page + recordings),
            recordings_bytes: unsigned(recordings),
            limit_bytes: limit.map_or(DEFAULT_LIMIT_BYTES, unsigned),
        })
    }

    /// The size, with its results counted.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn counted(&self) -> Result<Size, StoreError> {
        let asked = "SELECT (SELECT count(*) FROM results), (SELECT count(DISTINCT seq) FROM tags)";
        let (results, tagged): (i64, i64) = self
            .db
            .query_row(asked, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(|error| self.error(error))?;
        Ok(Size { results: results as u64, tagged: tagged as u64, ..self.size()? })
    }

    /// Sets how large it may be, and removes what is too much; gives the room back to the disk.
    ///
    /// # Errors
    /// What SQLite says; the store is newer.
    pub fn limit(&mut self, bytes: u64) -> Result<Removed, StoreError> {
        let path = self.path.clone();
        let refused = |error| store_error(&path, &error);
        let change = self.change()?;
        let value = i64::try_from(bytes).unwrap_or(i64::MAX);
        change
            .execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)", params![LIMIT, value])
            .map_err(refused)?;
        change.commit().map_err(refused)?;
        let size = self.size()?;
        if size.used_bytes <= size.limit_bytes {
            return Ok(Removed::default());
        }
        let removed = self.make_room()?;
        self.shrink();
        Ok(removed)
    }

    /// Removes the oldest results without tags until there is room for some more, or no time. The
    /// newest stays.
    pub(super) fn make_room(&mut self) -> Result<Removed, StoreError> {
        let mut removed = Removed::default();
        loop {
            // Pages hold several results, or parts of one: what is free is known only afterwards.
            let now = self.size()?;
            // So that not every later result has to make room again.
            let target = now.limit_bytes - now.limit_bytes / 50;
            if now.used_bytes <= target || self.is_late() {
                return Ok(removed);
            }
            let gone = self.remove_oldest(now.used_bytes - target)?;
            if gone.results == 0 {
                return Ok(removed);
            }
            removed.add(gone);
        }
    }

    /// Removes as many of the oldest as have this many bytes together, and no more than may go at
    /// once.
    fn remove_oldest(&mut self, bytes: u64) -> Result<Removed, StoreError> {
        let path = self.path.clone();
        let refused = |error| store_error(&path, &error);
        let change = self.change()?;
        let asked = "SELECT seq, id, recording_bytes FROM results \
                     WHERE NOT EXISTS (SELECT 1 FROM tags WHERE tags.seq = results.seq) \
                     AND seq < (SELECT max(seq) FROM results) ORDER BY seq LIMIT ?1";
        let oldest = {
            let mut asked = change.prepare(asked).map_err(refused)?;
            let row = |row: &rusqlite::Row<'_>| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
            };
            let rows = asked.query_map([AT_ONCE], row).map_err(refused)?;
            rows.collect::<rusqlite::Result<Vec<_>>>().map_err(refused)?
        };
        let mut gone = Removed::default();
        let mut files = Vec::new();
        for (seq, id, recording) in oldest {
            if gone.bytes >= bytes {
                break;
            }
            gone.add(change::delete(&change, seq).map_err(refused)?);
            gone.unsent += outbox::evict(&change, seq).map_err(refused)?;
            files.extend((recording > 0).then_some(id));
        }
        change.commit().map_err(refused)?;
        for id in files {
            let _ = fs::remove_file(self.recording(&id));
        }
        Ok(gone)
    }

    /// Removes recordings beside the store that no result has: their writer was killed.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn remove_left(&self) -> Result<u64, StoreError> {
        let mut removed = 0;
        for entry in fs::read_dir(self.recordings()).into_iter().flatten().flatten() {
            let age = entry.metadata().and_then(|found| found.modified()).ok();
            let age = age.and_then(|at| SystemTime::now().duration_since(at).ok());
            if age.is_none_or(|age| age.as_secs() < LEFT_AFTER_S) {
                continue;
            }
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".dwell.gz")).unwrap_or_default();
            let asked = "SELECT EXISTS (SELECT 1 FROM results WHERE id = ?1 AND recording_bytes > 0)";
            let named: bool =
                self.db.query_row(asked, [id], |row| row.get(0)).map_err(|error| self.error(error))?;
            if !named && fs::remove_file(entry.path()).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }
}

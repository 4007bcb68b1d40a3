//! What is sent elsewhere: which results a destination has not, batches of them that are under way,
//! and what became of them.
//!
//! Results are put into batches in the order of their keys. A batch and what is in it never change,
//! so one that is sent again is the same. Who sends it has a lease on it, which ends by itself if
//! its holder is killed. What is settled leaves the outbox: sent results are counted, refused ones
//! have their reason in a table.
//!
//! Times are milliseconds since 1970 and given by the caller. A clock may be set back: a lease or a
//! pause that ends later than one that begins now would is over.

use super::error::StoreError;
use super::file::{Store, store_error};
use super::find::{COLUMNS, of_row};
use super::row::{ResultRow, TEXT_MAX, cut};
use rusqlite::{OptionalExtension, Row, Transaction, params};

/// A destination keeps this many refusals, the newest; all are counted.
const REFUSALS: i64 = 1000;

/// The longest pause before a destination is tried again.
pub(super) const PAUSE_MAX_MS: u64 = 3_600_000;

/// Where results are sent, and how far that is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Destination {
    /// Its key.
    pub id: i64,
    /// Its name: the directory or URL, and the form.
    pub name: String,
    /// The key of the last result that was put into a batch.
    pub sealed_to: i64,
    /// Results that it has not, in batches or not.
    pub unsent: u64,
    /// Of these: results in batches.
    pub waiting: u64,
    /// Batches.
    pub batches: u64,
    /// Results that it took.
    pub sent: u64,
    /// Results of which it refused all or a part.
    pub refused: u64,
    /// Records and points that it refused of what it took.
    pub rejected: u64,
    /// Results that the limit of the store removed before they were in a batch.
    pub evicted: u64,
    /// How often in a row it failed.
    pub failures: u32,
    /// When it may be tried again.
    pub due_ms: u64,
    /// When it took something last.
    pub accepted_ms: u64,
    /// What it said last, if it failed.
    pub said: Option<String>,
}

/// What is to be sent of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewItem {
    /// The number of the result, as in its JSON.
    pub result: String,
    /// Its key in the store.
    pub seq: i64,
    /// What is sent.
    pub content: Vec<u8>,
}

/// Parts of results that are sent together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBatch {
    /// Which part of the results: a word of the destination's form.
    pub part: &'static str,
    /// The results.
    pub items: Vec<NewItem>,
}

/// A lease that ends later than this was given by a clock that has been set back since: longer than
/// any that a caller asks for. It is not the caller's own lease: another may ask for a longer one, or
/// have taken one since the caller looked at the clock.
const LEASE_MAX_MS: u64 = 3_600_000;

/// A batch on which the caller has the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Its name: 32 hexadecimal digits.
    pub id: String,
    /// See [`NewBatch`].
    pub part: String,
    /// When it was made.
    pub sealed_ms: u64,
    /// How often it failed.
    pub tries: u32,
    /// What of it is not settled.
    pub items: Vec<Item>,
}

/// What is sent of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The number of the result.
    pub result: String,
    /// What is sent.
    pub content: Vec<u8>,
}

/// What there is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lease {
    /// This, until the time that was asked for.
    Batch(Batch),
    /// Nothing until then: the destination pauses, or others have the leases on all batches.
    Wait(u64),
    /// Nothing.
    Nothing,
}

/// What a destination does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// When.
    pub at_ms: u64,
    /// The number of the result; empty where it is one of several.
    pub result: String,
    /// Which part of it.
    pub part: String,
    /// What was said.
    pub why: String,
}

/// What became of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent<'a> {
    /// They are there; of what they hold this many were refused, for a reason.
    Accepted(u64, &'a str),
    /// They are not taken, for a reason.
    Refused(&'a str),
}

const DESTINATION: &str =
    "SELECT id, name, sealed_to, sent, refused, rejected, evicted, failures, due_ms, accepted_ms, said,
    (SELECT count(*) FROM results WHERE seq > sealed_to),
    (SELECT count(DISTINCT result) FROM outbox WHERE destination = destinations.id),
    (SELECT count(*) FROM batches WHERE destination = destinations.id) FROM destinations";

impl Store {
    /// The destination of this name; it is noted if it is new.
    ///
    /// # Errors
    /// What SQLite says; the store is newer.
    pub fn destination(&mut self, name: &str) -> Result<Destination, StoreError> {
        self.changed(|change| {
            change.execute("INSERT OR IGNORE INTO destinations (name) VALUES (?1)", [name])?;
            change.query_row(&format!("{DESTINATION} WHERE name = ?1"), [name], of_destination)
        })
    }

    /// All destinations, by name.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn destinations(&self) -> Result<Vec<Destination>, StoreError> {
        // An older dwell made the store, and nothing was sent yet.
        if self.version() < 2 {
            return Ok(Vec::new());
        }
        let error = |error| self.error(error);
        let mut asked = self.db.prepare(&format!("{DESTINATION} ORDER BY name")).map_err(error)?;
        let rows = asked.query_map([], of_destination).map_err(error)?;
        rows.collect::<rusqlite::Result<_>>().map_err(error)
    }

    /// The newest refusals of a destination.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn refusals(&self, destination: i64, most: usize) -> Result<Vec<Refusal>, StoreError> {
        let error = |error| self.error(error);
        let asked = "SELECT at_ms, result, part, why FROM refusals WHERE destination = ?1 \
                     ORDER BY rowid DESC LIMIT ?2";
        let mut asked = self.db.prepare(asked).map_err(error)?;
        let row = |row: &Row<'_>| {
            let at_ms = unsigned(row.get(0)?);
            Ok(Refusal { at_ms, result: row.get(1)?, part: row.get(2)?, why: row.get(3)? })
        };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = asked.query_map(params![destination, most], row).map_err(error)?;
        rows.collect::<rusqlite::Result<_>>().map_err(error)
    }

    /// The oldest results that are in no batch yet.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn unsealed(&self, sealed_to: i64, most: usize) -> Result<Vec<ResultRow>, StoreError> {
        let error = |error| self.error(error);
        let asked = format!("SELECT {COLUMNS} FROM results WHERE seq > ?1 ORDER BY seq LIMIT ?2");
        let mut asked = self.db.prepare(&asked).map_err(error)?;
        let mut tags = self.tags()?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = asked.query_map(params![sealed_to, most], of_row).map_err(error)?;
        rows.map(|row| row.and_then(|row| Ok(ResultRow { tags: tags.of(row.seq)?, ..row })))
            .collect::<rusqlite::Result<_>>()
            .map_err(error)
    }

    /// Makes batches of the results with the keys beyond `to_seal.sealed_to` up to `to`. What of
    /// them is no item is `unfit`, or has nothing to be sent. Returns whether it was done: not, if
    /// somebody else was faster.
    ///
    /// # Errors
    /// What SQLite says; the store is newer.
    pub fn seal(
        &mut self,
        to_seal: &Destination,
        to: i64,
        batches: &[NewBatch],
        unfit: &[Refusal],
        now_ms: u64,
    ) -> Result<bool, StoreError> {
        self.changed(|change| {
            let moved = "UPDATE destinations SET sealed_to = ?3, refused = refused + ?4 \
                         WHERE id = ?1 AND sealed_to = ?2";
            let unfit_results = unfit.len() as i64;
            if change.execute(moved, params![to_seal.id, to_seal.sealed_to, to, unfit_results])? == 0 {
                return Ok(false);
            }
            for refusal in unfit {
                refuse(change, to_seal.id, refusal)?;
            }
            for batch in batches.iter().filter(|batch| !batch.items.is_empty()) {
                let id: String = change.query_row(
                    "INSERT INTO batches (id, destination, part, sealed_ms) \
                     VALUES (lower(hex(randomblob(16))), ?1, ?2, ?3) RETURNING id",
                    params![to_seal.id, batch.part, signed(now_ms)],
                    |row| row.get(0),
                )?;
                let mut add = change.prepare(
                    // What waits already has the same content: both are of one number.
                    "INSERT OR IGNORE INTO outbox (destination, result, part, batch, seq, content) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?;
                for item in &batch.items {
                    add.execute(params![
                        to_seal.id,
                        item.result,
                        batch.part,
                        id,
                        item.seq,
                        item.content.as_slice()
                    ])?;
                }
            }
            Ok(true)
        })
    }

    /// Takes the lease on a batch that nobody has, the one that failed least, and of these the
    /// oldest. `fresh`: only one that never failed; others are not waited for.
    ///
    /// # Errors
    /// What SQLite says; the store is newer.
    pub fn lease(
        &mut self,
        destination: i64,
        fresh: bool,
        now_ms: u64,
        lease_ms: u64,
    ) -> Result<Lease, StoreError> {
        let now = signed(now_ms);
        self.changed(|change| {
            let due: i64 = change
                .query_row("SELECT due_ms FROM destinations WHERE id = ?1", [destination], |row| row.get(0))
                .optional()?
                .unwrap_or(0);
            if due > now && due <= now + signed(PAUSE_MAX_MS) {
                return Ok(Lease::Wait(unsigned(due)));
            }
            // Their results were removed.
            change.execute(
                "DELETE FROM batches WHERE destination = ?1 \
                 AND NOT EXISTS (SELECT 1 FROM outbox WHERE batch = batches.id)",
                [destination],
            )?;
            let taken = change
                .query_row(
                    "UPDATE batches SET leased_ms = ?3 WHERE id = ( \
                         SELECT id FROM batches WHERE destination = ?1 AND (tries = 0 OR NOT ?4) \
                         AND (leased_ms <= ?2 OR leased_ms > ?5) \
                         ORDER BY tries, rowid LIMIT 1) \
                     RETURNING id, part, sealed_ms, tries",
                    params![destination, now, now + signed(lease_ms), fresh, now + signed(LEASE_MAX_MS)],
                    |row| {
                        Ok(Batch {
                            id: row.get(0)?,
                            part: row.get(1)?,
                            sealed_ms: unsigned(row.get(2)?),
                            tries: row.get(3)?,
                            items: Vec::new(),
                        })
                    },
                )
                .optional()?;
            if let Some(batch) = taken {
                let asked = "SELECT result, content FROM outbox WHERE batch = ?1 ORDER BY seq, result";
                let mut asked = change.prepare(asked)?;
                let item = |row: &Row<'_>| Ok(Item { result: row.get(0)?, content: row.get(1)? });
                let items = asked.query_map([&batch.id], item)?.collect::<rusqlite::Result<_>>()?;
                return Ok(Lease::Batch(Batch { items, ..batch }));
            }
            let asked = "SELECT min(leased_ms) FROM batches WHERE destination = ?1 AND NOT ?2";
            let until: Option<i64> =
                change.query_row(asked, params![destination, fresh], |row| row.get(0))?;
            Ok(until.map_or(Lease::Nothing, |until| Lease::Wait(unsigned(until))))
        })
    }

    /// Takes items out of the outbox, whoever has their lease by now: they are there, or are not
    /// taken. The lease on the rest goes on until `leased_ms`.
    ///
    /// # Errors
    /// What SQLite says; the store is newer.
    pub fn settle(
        &mut self,
        destination: i64,
        batch: &Batch,
        items: &[Item],
        sent: Sent<'_>,
        now_ms: u64,
        leased_ms: u64,
    ) -> Result<(), StoreError> {
        let refusal = |result: &str, why: &str| Refusal {
            at_ms: now_ms,
            result: result.to_owned(),
            part: batch.part.clone(),
            why: why.to_owned(),
        };
        self.changed(|change| {
            for item in items {
                let gone = change.execute(
                    "DELETE FROM outbox WHERE destination = ?1 AND result = ?2 AND part = ?3",
                    params![destination, item.result, batch.part],
                )?;
                // Another one that had it settled it.
                if gone == 0 {
                    continue;
                }
                if let Sent::Refused(why) = sent {
                    refuse(change, destination, &refusal(&item.result, why))?;
                }
                change.execute(
                    "UPDATE destinations SET sent = sent + 1 - was, refused = refused + was \
                     FROM (SELECT EXISTS (SELECT 1 FROM refusals WHERE destination = ?1 AND result = ?2) AS was) \
                     WHERE id = ?1 \
                     AND NOT EXISTS (SELECT 1 FROM outbox WHERE destination = ?1 AND result = ?2)",
                    params![destination, item.result],
                )?;
            }
            if let Sent::Accepted(rejected, why) = sent {
                change.execute(
                    "UPDATE destinations SET rejected = rejected + ?2, accepted_ms = ?3, failures = 0, due_ms = 0, \
                     said = NULL WHERE id = ?1",
                    params![destination, signed(rejected), signed(now_ms)],
                )?;
                if rejected > 0 {
                    let why = format!("{rejected} refused of what it took: {why}");
                    let of_one = if let [one] = items { one.result.as_str() } else { "" };
                    // It is not the result that is refused.
                    refuse(change, destination, &Refusal { result: String::new(), ..refusal(of_one, &why) })?;
                }
            }
            change.execute(
                "DELETE FROM batches WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM outbox WHERE batch = ?1)",
                [&batch.id],
            )?;
            change.execute(
                "UPDATE batches SET leased_ms = ?2 WHERE id = ?1",
                params![batch.id, signed(leased_ms)],
            )?;
            Ok(())
        })
    }

    /// Gives the lease back, and says when the destination may be tried again and why not before.
    ///
    /// # Errors
    /// What SQLite says; the store is newer.
    pub fn postpone(
        &mut self,
        destination: i64,
        batch: &Batch,
        due_ms: u64,
        why: &str,
    ) -> Result<(), StoreError> {
        self.changed(|change| {
            change
                .execute("UPDATE batches SET tries = tries + 1, leased_ms = 0 WHERE id = ?1", [&batch.id])?;
            change.execute(
                "UPDATE destinations SET failures = failures + 1, due_ms = ?2, said = ?3 WHERE id = ?1",
                params![destination, signed(due_ms), cut(why, TEXT_MAX)],
            )?;
            Ok(())
        })
    }

    /// Gives the lease back: it was not tried, or not for long enough.
    ///
    /// # Errors
    /// What SQLite says; the store is newer.
    pub fn release(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.changed(|change| {
            change.execute("UPDATE batches SET leased_ms = 0 WHERE id = ?1", [&batch.id])?;
            Ok(())
        })
    }

    /// Forgets what a destination has; with `wholly`, also the destination. Returns whether it was
    /// known.
    ///
    /// # Errors
    /// What SQLite says; the store is newer.
    pub fn forget(&mut self, name: &str, wholly: bool) -> Result<bool, StoreError> {
        self.changed(|change| {
            let id = change
                .query_row("SELECT id FROM destinations WHERE name = ?1", [name], |row| row.get::<_, i64>(0))
                .optional()?;
            let Some(id) = id else { return Ok(false) };
            for table in ["outbox", "batches", "refusals"] {
                change.execute(&format!("DELETE FROM {table} WHERE destination = ?1"), [id])?;
            }
            change.execute("DELETE FROM destinations WHERE id = ?1", [id])?;
            if !wholly {
                change.execute("INSERT INTO destinations (name) VALUES (?1)", [name])?;
            }
            Ok(true)
        })
    }

    fn changed<T>(
        &mut self,
        what: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let path = self.path.clone();
        let refused = |error| store_error(&path, &error);
        let change = self.change()?;
        let done = what(&change).map_err(refused)?;
        change.commit().map_err(refused)?;
        self.empty_log();
        Ok(done)
    }
}

/// Counts a result that the limit removes for the destinations that have it in no batch; whether
/// there are any.
pub(super) fn evict(change: &Transaction<'_>, seq: i64) -> rusqlite::Result<u64> {
    let counted = "UPDATE destinations SET evicted = evicted + 1 WHERE sealed_to < ?1";
    Ok(u64::from(change.execute(counted, [seq])? > 0))
}

fn refuse(change: &Transaction<'_>, destination: i64, refusal: &Refusal) -> rusqlite::Result<()> {
    change.execute(
        "INSERT INTO refusals (destination, at_ms, result, part, why) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            destination,
            signed(refusal.at_ms),
            refusal.result,
            refusal.part,
            cut(&refusal.why, TEXT_MAX)
        ],
    )?;
    change.execute(
        "DELETE FROM refusals WHERE destination = ?1 AND rowid <= \
         (SELECT rowid FROM refusals WHERE destination = ?1 ORDER BY rowid DESC LIMIT 1 OFFSET ?2)",
        params![destination, REFUSALS],
    )?;
    Ok(())
}

fn of_destination(row: &Row<'_>) -> rusqlite::Result<Destination> {
    let count = |at: usize| row.get(at).map(unsigned);
    let unsealed = count(11)?;
    let waiting = count(12)?;
    Ok(Destination {
        id: row.get(0)?,
        name: row.get(1)?,
        sealed_to: row.get(2)?,
        sent: count(3)?,
        refused: count(4)?,
        rejected: count(5)?,
        evicted: count(6)?,
        failures: row.get(7)?,
        due_ms: count(8)?,
        accepted_ms: count(9)?,
        said: row.get(10)?,
        unsent: unsealed + waiting,
        waiting,
        batches: count(13)?,
    })
}

fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

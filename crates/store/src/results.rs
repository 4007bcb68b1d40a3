//! The store of results: one SQLite file with a row for each result that a verb gave, and the
//! result itself as packed JSON.
//!
//! A row is what a list shows and what is asked for; nothing here knows what a result means. What
//! is done to a store is a transaction: a process that is killed leaves all of it or nothing, and
//! many processes may write at once.
//!
//! On a local disk changes go to a write-ahead log first (`-wal` and `-shm` beside the file): a
//! result is written without waiting for the disk, and a loss of power may lose the last ones,
//! never damage the rest. A filesystem of a network has no memory that its hosts share, so the log
//! cannot be used there: changes are written in place, with a rollback journal.
//!
//! What is sent elsewhere waits in tables of the same file (`outbox`), so that a result and what is
//! known of its sending are never apart.
//!
//! A store is of the version in its header ([`SCHEMA`]). An older one is migrated when it is
//! written to; a newer one is read as far as its tables are known, and never written. What later
//! versions may do: add tables and columns.

mod change;
mod error;
mod file;
mod find;
mod limit;
mod outbox;
mod pack;
mod put;
mod row;
mod schema;

pub use change::Removed;
pub use error::StoreError;
pub use file::{Store, is_store};
pub use find::{Filter, Found, Named};
pub use limit::{DEFAULT_LIMIT_BYTES, Size};
pub use outbox::{Batch, Destination, Item, Lease, NewBatch, NewItem, Refusal, Sent};
pub(crate) use pack::json;
pub use pack::unpacked;
pub use put::Put;
pub use row::{NewResult, ResultRow, TAG_MAX, TEXT_MAX};
pub use schema::SCHEMA;

#[cfg(test)]
mod tests;

//! Results as rows of flat tables, for engines that read many hosts' results at once.
//!
//! `list` names every table and column, once, with what fills it. `of` walks a result and fills
//! them, `jsonl` and `parquet` write what was filled: both have the same columns of the same types,
//! `docs/fleet/schema.sql`. Pure: bytes come out, and nobody is told where they go.
//!
//! What engines do not agree on is left out: numbers are signed, times are microseconds in UTC,
//! every column may be NULL, no column is a list. A NULL that could not be observed has its reason
//! in the table `unseen`. A column never changes its type; columns and tables are added.

mod cell;
mod jsonl;
mod list;
mod of;
mod parquet;
mod rows;
mod sources;
mod sql;

pub use cell::{Type, Value};
pub use jsonl::jsonl;
pub use list::TABLES;
pub use of::{comparison, ladder, run, wakeups};
pub use parquet::parquet;
pub use rows::{Column, Kept, NoTime, Options, Record, ResultTables, Table, TableRows};
pub use sql::schema;

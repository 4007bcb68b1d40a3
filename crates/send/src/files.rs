//! The rows of a result as the files that they become, in one piece for the outbox.

use serde::{Deserialize, Serialize};
use std::io;
use tables::ResultTables;

/// The files of a result, one a table, as JSONL in gzip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// The number of the result.
    pub id: String,
    /// The day on which it began: `2026-11-29`.
    pub day: String,
    /// Names of tables with their files; `results` comes last.
    pub tables: Vec<(String, Vec<u8>)>,
}

impl Files {
    /// Those of a result.
    ///
    /// # Errors
    /// There is no memory.
    pub fn of(result: &ResultTables) -> io::Result<Self> {
        let file = |rows| Ok((rows_name(rows).to_owned(), tables::jsonl(rows)?));
        let files = result.tables.iter().map(file).collect::<io::Result<_>>()?;
        Ok(Self { id: result.id.clone(), day: result.day.clone(), tables: files })
    }

    /// In one piece.
    ///
    /// # Errors
    /// There is no memory.
    pub fn pack(&self) -> io::Result<Vec<u8>> {
        postcard::to_stdvec(self).map_err(io::Error::other)
    }

    /// What was one piece.
    ///
    /// # Errors
    /// It is something else.
    pub fn unpack(packed: &[u8]) -> io::Result<Self> {
        postcard::from_bytes(packed).map_err(io::Error::other)
    }
}

fn rows_name(rows: &tables::TableRows) -> &'static str {
    rows.table.name
}

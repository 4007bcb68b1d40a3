//! The rows of a result as the files that they become, in one piece for the outbox.

use serde::{Deserialize, Serialize};
use std::io;
use tables::{ResultTables, TableRows};

/// The files of a result, one a table, as JSONL in gzip. Packed ones wait in stores, also for later
/// versions of dwell: the fields stay as they are.
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
        let file = |rows: &TableRows| Ok((rows.table.name.to_owned(), tables::jsonl(rows)?));
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

    /// What was one piece. The store that it lay in may be of somebody else, who could name files
    /// anywhere.
    ///
    /// # Errors
    /// It is something else, or its names are none of dwell's.
    pub fn unpack(packed: &[u8]) -> io::Result<Self> {
        let files: Self = postcard::from_bytes(packed).map_err(io::Error::other)?;
        let is_id = files.id.len() == 32 && files.id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_day =
            files.day.len() == 10 && files.day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let is_table = |(name, _): &(String, Vec<u8>)| tables::TABLES.iter().any(|table| table.name == name);
        if is_id && is_day && files.tables.iter().all(is_table) {
            Ok(files)
        } else {
            Err(io::Error::other("it names files that no result has"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        let files = |id: &str, day: &str, table: &str| Files {
            id: id.to_owned(),
            day: day.to_owned(),
            tables: vec![(table.to_owned(), vec![1, 2])],
        };
        let again = |files: Files| Files::unpack(&files.pack().unwrap());
        let id = "0123456789abcdef0123456789abcdef";
        let fine = files(id, "2026-11-29", "account");
        assert_eq!(again(fine.clone()).unwrap(), fine);
        for wrong in [
            files("../../0123456789abcdef0123456789", "2026-11-29", "account"),
            files("", "2026-11-29", "account"),
            files(id, "/../../etc", "account"),
            files(id, "2026-11-29", "../account"),
            files(id, "2026-11-29", ""),
        ] {
            assert!(again(wrong.clone()).is_err(), "{wrong:?}");
        }
        let packed = fine.pack().unwrap();
        (0..packed.len()).for_each(|end| drop(Files::unpack(&packed[..end])));
        // Lengths that no memory has.
        assert!(Files::unpack(&[0xff; 99]).is_err());
    }
}

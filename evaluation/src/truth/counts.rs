//! An oracle for counts of system calls: `strace -c` of the same command in a run beside.

use anyhow::{Context, Result};
use std::collections::BTreeMap;

/// Calls by name, of the table that `strace -c -U calls,name` writes.
///
/// # Errors
/// When it is no such table.
pub(crate) fn read(text: &str) -> Result<BTreeMap<String, u64>> {
    let mut lines = text.lines();
    lines.find(|line| line.starts_with("---")).context("strace wrote no table")?;
    let rows = lines.take_while(|line| !line.starts_with("---"));
    let row = |line: &str| {
        let (calls, name) = line.trim().split_once(char::is_whitespace)?;
        Some((name.trim().to_owned(), calls.parse().ok()?))
    };
    Ok(rows.filter_map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_without_its_sum() {
        let text = "    calls syscall\n--------- ----------------\n     2000 fdatasync\n       17 read\n\
                    --------- ----------------\n     2017 total\n";
        let counts = read(text).unwrap();
        assert_eq!(counts, BTreeMap::from([("fdatasync".to_owned(), 2000), ("read".to_owned(), 17)]));
        assert!(read("strace: cannot find it\n").is_err());
    }
}

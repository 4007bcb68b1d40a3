//! The tables as text: the declarations that a test holds the code to.

use crate::list::TABLES;
use std::fmt::Write;

/// `CREATE TABLE` of each table, in SQL that DuckDB, Trino and Spark share. `day` is no column of
/// the files: it is in the name of their directory.
pub fn schema() -> String {
    let mut text = String::from(
        "-- Tables of results. Columns and tables are added; none is renamed, removed or of another type.\n\
         -- All columns may be NULL; `unseen` says why, where something could not be observed.\n",
    );
    for table in TABLES {
        let detail = if table.detail { " With --detail." } else { "" };
        let _ = write!(text, "\n-- {}{detail}\nCREATE TABLE {} (\n", table.doc, table.name);
        for column in table.columns() {
            let redacted = if column.named { ". Not with --redact." } else { "" };
            let _ = writeln!(text, "  {} {}, -- {}{redacted}", column.name, column.kind.sql(), column.doc);
        }
        text.push_str("  day DATE -- The directory: the day of started_at, UTC.\n);\n");
    }
    text
}

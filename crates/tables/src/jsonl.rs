//! Rows as lines of JSON, packed with gzip.

use crate::cell::{Type, Value};
use crate::rows::{Column, TableRows};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// One line a row: an object with the columns that are not NULL, in their order. Times are RFC 3339
/// with microseconds.
///
/// # Errors
/// There is no memory: nothing else fails.
pub fn jsonl(rows: &TableRows) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    for row in &rows.rows {
        packed.write_all(line(rows.table.columns().zip(row)).as_bytes())?;
    }
    packed.finish()
}

fn line<'a>(row: impl Iterator<Item = (&'static Column, &'a Value)>) -> String {
    let mut line = String::from("{");
    for (column, value) in row {
        let written = match value {
            Value::Null => continue,
            Value::Whole(us) if column.kind == Type::Time => format!("\"{}\"", time(*us)),
            Value::Whole(whole) => whole.to_string(),
            Value::Double(double) => serde_json::Value::from(*double).to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        };
        line.push_str(if line.len() > 1 { ",\"" } else { "\"" });
        line.push_str(column.name);
        line.push_str("\":");
        line.push_str(&written);
    }
    line.push_str("}\n");
    line
}

fn time(us: i64) -> String {
    let time = jiff::Timestamp::from_microsecond(us).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

//! Recordings as tables, and tables read back.

use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use analyse::identity;
use dwell_tables::{Kept, Options, ResultTables, TableRows};
use flate2::read::GzDecoder;
use golden::Case;
use model::RunResult;
use serde_json::{Map, Value};
use std::io::Read;
use std::path::PathBuf;

/// A row, by column; without those that are NULL.
pub(crate) type Row = Map<String, Value>;

/// The recordings that are goldens.
pub(crate) fn recordings() -> Vec<PathBuf> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../golden/recordings");
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "dwell")).collect();
    found.sort();
    assert!(found.len() > 50, "{}", found.len());
    found
}

pub(crate) fn recording(name: &str) -> RunResult {
    let path = recordings().into_iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
    Case::read(&path.unwrap()).unwrap().result().clone()
}

pub(crate) fn of(result: &RunResult, options: Options) -> ResultTables {
    let kept = Kept {
        id: identity::known(&result.run.origin, || identity::of_run(&result.run)),
        service: result.run.service.clone(),
        ..Kept::default()
    };
    dwell_tables::run(&result.run, &report::in_words(result), &kept, options).unwrap()
}

pub(crate) fn table<'a>(of: &'a ResultTables, name: &str) -> Option<&'a TableRows> {
    of.tables.iter().find(|table| table.table.name == name)
}

/// The rows of lines of JSON.
pub(crate) fn lines(rows: &TableRows) -> Vec<Row> {
    let mut text = String::new();
    GzDecoder::new(&*dwell_tables::jsonl(rows).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The rows of a Parquet file.
pub(crate) fn parquet(rows: &TableRows) -> Vec<Row> {
    let read = SerializedFileReader::new(bytes::Bytes::from(dwell_tables::parquet(rows).unwrap())).unwrap();
    let rows = read.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().get_column_iter().map(|(name, field)| (name.clone(), json(field))).collect())
        .collect()
}

fn json(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(flag) => Value::from(*flag),
        Field::Int(whole) => Value::from(*whole),
        Field::Long(whole) => Value::from(*whole),
        Field::Double(double) => Value::from(*double),
        Field::Str(text) => Value::from(text.as_str()),
        // As the other form has it.
        Field::TimestampMicros(us) => {
            let time = jiff::Timestamp::from_microsecond(*us).unwrap();
            Value::from(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())
        }
        other => panic!("{other:?} is of no type that a column has"),
    }
}

/// The whole numbers of a column.
pub(crate) fn sum(rows: &[Row], column: &str) -> u64 {
    rows.iter().filter_map(|row| row.get(column)?.as_u64()).sum()
}

//! The declaration of the tables is a contract: `docs/fleet/schema.sql`.
// Tests read and write files; the crate does not.
#![allow(clippy::disallowed_methods)]

use dwell_tables::{TABLES, TableRows, Type};
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeSet;
use std::path::Path;

/// A column that is renamed, removed, or of another type is a line that changes.
#[test]
fn the_declaration_is_that_of_the_document() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet/schema.sql");
    let declared = dwell_tables::schema();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &declared).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == declared, "{path:?} differs: a table may get columns, and loses none\ntry: BLESS=1");
}

#[test]
fn each_table_and_column_has_one_name_and_a_description() {
    let names: BTreeSet<_> = TABLES.iter().map(|table| table.name).collect();
    assert_eq!(names.len(), TABLES.len());
    for table in TABLES {
        let columns: Vec<_> = table.columns().collect();
        let names: BTreeSet<_> = columns.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), columns.len(), "{}", table.name);
        assert_eq!(columns[0].name, "result_id", "{}", table.name);
        for (name, doc) in
            columns.iter().map(|column| (column.name, column.doc)).chain([(table.name, table.doc)])
        {
            let is_plain =
                name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
            assert!(is_plain && name != "day" && doc.len() > 2, "{}.{name}: {doc:?}", table.name);
        }
    }
}

/// Trino reads unsigned columns as negative numbers and says nothing; Spark refuses nanoseconds.
#[test]
fn files_have_what_all_engines_read_alike() {
    for table in TABLES {
        let bytes = dwell_tables::parquet(&TableRows { table, rows: Vec::new() }).unwrap();
        let read = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let schema = read.metadata().file_metadata().schema_descr();
        assert_eq!(schema.num_columns(), table.columns().count());
        for (found, column) in schema.columns().iter().zip(table.columns()) {
            let logical = found.logical_type_ref();
            let as_declared = match column.kind {
                Type::Text => {
                    found.physical_type() == Physical::BYTE_ARRAY && logical == Some(&LogicalType::String)
                }
                Type::Int => found.physical_type() == Physical::INT32 && logical.is_none(),
                Type::Long => found.physical_type() == Physical::INT64 && logical.is_none(),
                Type::Double => found.physical_type() == Physical::DOUBLE && logical.is_none(),
                Type::Flag => found.physical_type() == Physical::BOOLEAN && logical.is_none(),
                Type::Time => {
                    found.physical_type() == Physical::INT64
                        && logical == Some(&LogicalType::timestamp(true, TimeUnit::MICROS))
                }
            };
            assert!(as_declared, "{}.{}: {:?}", table.name, column.name, found.self_type());
            assert_eq!(
                found.self_type().get_basic_info().repetition(),
                Repetition::OPTIONAL,
                "{}",
                column.name
            );
        }
    }
}

//! Rows as a Parquet file: each column is nullable and packed with gzip.

use crate::cell::{Type, Value};
use crate::rows::{Column, TableRows};
use parquet::basic::{Compression, GzipLevel, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type as SchemaType;
use std::sync::Arc;

/// A Parquet file with these rows.
///
/// # Errors
/// There is no memory: nothing else fails.
pub fn parquet(rows: &TableRows) -> Result<Vec<u8>> {
    let columns: Vec<&Column> = rows.table.columns().collect();
    let fields = columns.iter().map(|column| field(column).map(Arc::new)).collect::<Result<Vec<_>>>()?;
    let schema = SchemaType::group_type_builder(rows.table.name).with_fields(fields).build()?;
    let properties = WriterProperties::builder()
        // A file has few rows: what is known of its pages would be most of it.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_compression(Compression::GZIP(GzipLevel::default()))
        .set_created_by(concat!("dwell ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    let mut at = 0;
    while let Some(mut writer) = group.next_column()? {
        let values = rows.rows.iter().map(|row| &row[at]);
        match columns[at].kind {
            Type::Text => put::<ByteArrayType>(&mut writer, values, |value| match value {
                Value::Text(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            })?,
            Type::Int => put::<Int32Type>(&mut writer, values, |value| match value {
                Value::Whole(whole) => i32::try_from(*whole).ok(),
                _ => None,
            })?,
            Type::Long | Type::Time => put::<Int64Type>(&mut writer, values, |value| match value {
                Value::Whole(whole) => Some(*whole),
                _ => None,
            })?,
            Type::Double => put::<DoubleType>(&mut writer, values, |value| match value {
                Value::Double(double) => Some(*double),
                _ => None,
            })?,
            Type::Flag => put::<BoolType>(&mut writer, values, |value| match value {
                Value::Flag(flag) => Some(*flag),
                _ => None,
            })?,
        }
        writer.close()?;
        at += 1;
    }
    group.close()?;
    file.into_inner()
}

/// Signed, and no time but microseconds: unsigned columns are read as negative numbers by Trino,
/// and Spark refuses a file with nanoseconds.
fn field(column: &Column) -> Result<SchemaType> {
    let (physical, logical) = match column.kind {
        Type::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Type::Int => (Physical::INT32, None),
        Type::Long => (Physical::INT64, None),
        Type::Double => (Physical::DOUBLE, None),
        Type::Flag => (Physical::BOOLEAN, None),
        Type::Time => {
            let unit = TimeUnit::MICROS;
            (Physical::INT64, Some(LogicalType::timestamp(true, unit)))
        }
    };
    SchemaType::primitive_type_builder(column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

/// Writes a column: which rows have a value, and the values.
fn put<'a, T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = &'a Value>,
    of: impl Fn(&Value) -> Option<T::T>,
) -> Result<()> {
    let values: Vec<Option<T::T>> = values.map(of).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    writer.typed::<T>().write_batch(&values, Some(&levels), None)?;
    Ok(())
}

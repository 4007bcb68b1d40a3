//! Tables, and the rows of one result in them.

use crate::cell::{Cell, Type, Value};
use crate::list::{Key, Keys, TagRow, Tags, UnseenRow, Unseens};
use model::Seen;

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Its name: lower case, words joined by `_`.
    pub name: &'static str,
    /// What a row is.
    pub doc: &'static str,
    /// Whether it is written with `--detail` only.
    pub detail: bool,
    /// Which of [`crate::TABLES`]' common columns it begins with.
    pub keys: &'static [Column],
    /// Its own columns, after those.
    pub own: &'static [Column],
}

impl Table {
    /// All columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = &'static Column> + use<> {
        self.keys.iter().chain(self.own)
    }
}

/// A column.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Type,
    /// What it is, with its unit.
    pub doc: &'static str,
    /// Whether it is, or may quote, a command, a path or a peer: `--redact` takes it out.
    pub named: bool,
}

/// A table as it is filled.
pub(crate) trait Listed {
    type Row<'a>;
    const TABLE: Table;
    /// The values of [`Table::own`].
    fn fill(row: &Self::Row<'_>) -> Vec<Cell>;
}

/// What is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Also the tables that are large.
    pub detail: bool,
    /// Without commands, paths and peers.
    pub redact: bool,
}

/// What is known of a result beside its content.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// Its number, as [`model::Origin::id`].
    pub id: String,
    /// The program as a service.
    pub service: Option<String>,
    /// When it was kept in a store, in seconds since 1970.
    pub kept_at_s: Option<u64>,
    /// What was written beside it in the store.
    pub note: Option<String>,
    /// Its tags in the store.
    pub tags: Vec<String>,
}

/// A result whose start is no time, so that it belongs to no day.
#[derive(Debug, PartialEq, Eq)]
pub struct NoTime(
    /// What it says instead.
    pub String,
);

/// The rows of one result.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultTables {
    /// The number of the result.
    pub id: String,
    /// The day on which it started, in UTC: `2026-11-29`.
    pub day: String,
    /// Tables that have rows; `results` is the last one, so that a result that is there is whole.
    pub tables: Vec<TableRows>,
}

/// Rows of a table.
#[derive(Debug, Clone)]
pub struct TableRows {
    /// The table.
    pub table: &'static Table,
    /// Its rows: a value for each column.
    pub rows: Vec<Vec<Value>>,
}

impl PartialEq for TableRows {
    fn eq(&self, other: &Self) -> bool {
        (self.table.name, &self.rows) == (other.table.name, &other.rows)
    }
}

impl ResultTables {
    /// The rows of the table of this name; none where it has none.
    pub fn records(&self, table: &str) -> impl Iterator<Item = Record<'_>> {
        let found = self.tables.iter().find(|rows| rows.table.name == table);
        found.into_iter().flat_map(|of| of.rows.iter().map(|row| Record { table: of.table, row }))
    }
}

/// A row, whose values are known by the names of their columns.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    table: &'static Table,
    row: &'a [Value],
}

impl<'a> Record<'a> {
    fn value(&self, column: &str) -> Option<&'a Value> {
        self.table.columns().zip(self.row).find(|(found, _)| found.name == column).map(|(_, value)| value)
    }

    /// A text; none where it is NULL.
    pub fn text(&self, column: &str) -> Option<&'a str> {
        match self.value(column) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A whole number or a time; none where it is NULL.
    pub fn whole(&self, column: &str) -> Option<i64> {
        match self.value(column) {
            Some(Value::Whole(whole)) => Some(*whole),
            _ => None,
        }
    }

    /// A number with a fraction; none where it is NULL.
    pub fn double(&self, column: &str) -> Option<f64> {
        match self.value(column) {
            Some(Value::Double(double)) => Some(*double),
            _ => None,
        }
    }
}

/// The longest text of a column, in bytes: a name may have any length.
const TEXT_MAX: usize = 4096;
const REDACTED: &str = "taken out by --redact";

/// Fills the tables of one result.
pub(crate) struct Filler {
    options: Options,
    id: String,
    day: String,
    keys: Vec<Value>,
    tables: Vec<TableRows>,
    unseen: Vec<UnseenRow>,
}

impl Filler {
    /// For a result with these common columns; `started_at` is RFC 3339.
    pub(crate) fn new(mut key: Key, started_at: &str, options: Options) -> Result<Self, NoTime> {
        let no_time = || NoTime(started_at.to_owned());
        let time: jiff::Timestamp = started_at.parse().map_err(|_| no_time())?;
        key.started_at = time.as_microsecond();
        // The year has four digits, as engines expect of a partition.
        let day = time.strftime("%Y-%m-%d").to_string();
        if day.len() != 10 || !day.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(no_time());
        }
        let mut filler = Self {
            options,
            id: key.id.clone(),
            day,
            keys: Vec::new(),
            tables: Vec::new(),
            unseen: Vec::new(),
        };
        filler.keys = filler.values("results", Keys::TABLE.own, Keys::fill(&key), Some(0));
        Ok(filler)
    }

    /// Adds rows to a table.
    pub(crate) fn add<'a, L: Listed>(&mut self, rows: impl IntoIterator<Item = L::Row<'a>>) {
        let table: &'static Table = &const { L::TABLE };
        if table.detail && !self.options.detail {
            return;
        }
        let at = self.tables.iter().position(|rows| rows.table.name == table.name).unwrap_or_else(|| {
            self.tables.push(TableRows { table, rows: Vec::new() });
            self.tables.len() - 1
        });
        for row in rows {
            let number = self.tables[at].rows.len();
            let own = self.values(table.name, table.own, L::fill(&row), Some(number));
            let keys = self.keys[..table.keys.len()].iter().cloned();
            self.tables[at].rows.push(keys.chain(own).collect());
        }
    }

    /// Says why a table has no rows, where that is so.
    pub(crate) fn table_unseen<L: Listed, T>(&mut self, table: &Seen<T>) {
        if let Seen::Unseen(why) = table
            && (self.options.detail || !L::TABLE.detail)
        {
            let (table, why) = (L::TABLE.name, why.clone());
            self.unseen.push(UnseenRow { table, column: None, row: None, why });
        }
    }

    fn values(
        &mut self,
        table: &'static str,
        columns: &'static [Column],
        cells: Vec<Cell>,
        row: Option<usize>,
    ) -> Vec<Value> {
        columns
            .iter()
            .zip(cells)
            .map(|(column, cell)| match cell {
                Seen::Value(_) | Seen::Unseen(_) if column.named && self.options.redact => {
                    let of_column = |one: &UnseenRow| one.table == table && one.column == Some(column.name);
                    if !self.unseen.iter().any(of_column) {
                        let (column, why) = (Some(column.name), REDACTED.to_owned());
                        self.unseen.push(UnseenRow { table, column, row: None, why });
                    }
                    Value::Null
                }
                Seen::Value(Value::Text(text)) => Value::Text(plain(&text)),
                Seen::Value(value) => value,
                Seen::Absent => Value::Null,
                Seen::Unseen(why) => {
                    self.unseen.push(UnseenRow { table, column: Some(column.name), row, why });
                    Value::Null
                }
            })
            .collect()
    }

    /// The rows, with those of `last` at the end.
    pub(crate) fn finish<L: Listed>(mut self, last: L::Row<'_>, tags: &[String]) -> ResultTables {
        self.add::<Tags>(tags.iter().map(|tag| TagRow { tag: tag.clone() }));
        self.add::<L>([last]);
        let result = self.tables.pop();
        let mut unseen = std::mem::take(&mut self.unseen);
        if self.options.redact {
            // A reason quotes what it is about: a host without an address, a missing file.
            unseen.iter_mut().for_each(|one| REDACTED.clone_into(&mut one.why));
        }
        self.add::<Unseens>(unseen);
        self.tables.extend(result);
        self.tables.retain(|table| !table.rows.is_empty());
        ResultTables { id: self.id, day: self.day, tables: self.tables }
    }
}

/// Text as on a page, and not too long: names are those of other programs.
fn plain(text: &str) -> String {
    let end = (0..=TEXT_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let mut plain = report::clean(&text[..end], true);
    if end < text.len() {
        plain.push('…');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_nothing_that_a_terminal_obeys_and_is_bounded() {
        assert_eq!(plain("a\0\u{1b}[2J\u{202e}b"), "a\\x00\\x1b[2J\\u{202e}b");
        assert_eq!(plain(""), "");
        let long = plain(&"é".repeat(50_000));
        assert!(long.len() <= TEXT_MAX + '…'.len_utf8() && long.ends_with('…'));
    }
}

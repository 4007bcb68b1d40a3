//! Any result as tables, by the names of its JSON.
//!
//! Each list of objects is a table: `waits`, `threads`. What a row has a list of is a table of its
//! own, whose first column is the row, counted from 0 as in `points_to`: `waits.by`. A list called
//! `rows` has the name of what it is in. Fields of objects within a row are columns (`on.kind`).
//! Lists of numbers that belong together, as host metrics do, are a table with a row for each
//! moment. What is left is the table [`RESULT`].

use super::tree::Tree;
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// The table of what is in no other: a row for each field.
pub const RESULT: &str = "result";

/// A field of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Absent, or not observed.
    Empty,
    /// A number, as JSON writes it, or `true` and `false`.
    Plain(String),
    /// Text: untrusted.
    Text(String),
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

/// The tables of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// In the order of the JSON, after [`RESULT`].
    pub tables: Vec<Table>,
}

impl Tables {
    /// Those of a result.
    pub fn of<T: Serialize>(result: &T) -> Self {
        let mut maker = Maker::default();
        let summary = maker.table(RESULT);
        if let Tree::Object(fields) = Tree::of(result) {
            for (name, value) in &fields {
                maker.field_of_result(summary, name, value);
            }
        }
        Self { tables: maker.drafts.into_iter().map(Draft::finish).collect() }
    }

    /// The table of this name.
    pub fn named(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The names of tables with rows, in their order.
    pub fn names(&self) -> Vec<&str> {
        self.tables.iter().filter(|table| !table.rows.is_empty()).map(|table| table.name.as_str()).collect()
    }
}

impl Table {
    /// How many cells are empty.
    pub(super) fn empty_cells(&self) -> usize {
        self.rows.iter().flatten().filter(|cell| **cell == Cell::Empty).count()
    }
}

/// A table while it is made: columns come as rows have them.
#[derive(Default)]
struct Draft {
    name: String,
    columns: Vec<String>,
    places: HashMap<String, usize>,
    rows: Vec<Vec<(usize, Cell)>>,
}

impl Draft {
    fn put(&mut self, row: usize, column: &str, cell: Cell) {
        let place = match self.places.get(column) {
            Some(place) => *place,
            None => {
                self.columns.push(column.to_owned());
                self.places.insert(column.to_owned(), self.columns.len() - 1);
                self.columns.len() - 1
            }
        };
        self.rows[row].push((place, cell));
    }

    fn finish(self) -> Table {
        // A field that is an object in other rows has no column of its own.
        let objects: HashSet<&str> =
            self.columns.iter().filter_map(|name| name.rsplit_once('.')).map(|of| of.0).collect();
        let mut kept = vec![0; self.columns.len()];
        for (place, cell) in self.rows.iter().flatten() {
            kept[*place] += usize::from(*cell != Cell::Empty);
        }
        let keep: Vec<bool> = self
            .columns
            .iter()
            .zip(&kept)
            .map(|(name, cells)| *cells > 0 || !objects.contains(name.as_str()))
            .collect();
        let mut left = 0..;
        let places: Vec<Option<usize>> =
            keep.iter().map(|keep| if *keep { left.next() } else { None }).collect();
        let columns: Vec<String> =
            self.columns.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(name, _)| name.clone()).collect();
        let width = columns.len();
        let dense = |cells: Vec<(usize, Cell)>| {
            let mut row = vec![Cell::Empty; width];
            for (column, cell) in cells {
                if let Some(place) = places[column] {
                    row[place] = cell;
                }
            }
            row
        };
        Table { name: self.name, columns, rows: self.rows.into_iter().map(dense).collect() }
    }
}

/// The rows that a table is in: the name of the column, and the row.
type Within = [(String, usize)];

#[derive(Default)]
struct Maker {
    drafts: Vec<Draft>,
}

impl Maker {
    /// The place of the table of this name.
    fn table(&mut self, name: &str) -> usize {
        if let Some(at) = self.drafts.iter().position(|draft| draft.name == name) {
            return at;
        }
        self.drafts.push(Draft { name: name.to_owned(), ..Draft::default() });
        self.drafts.len() - 1
    }

    /// Begins a row.
    fn row(&mut self, table: usize, within: &Within) -> usize {
        let draft = &mut self.drafts[table];
        draft.rows.push(Vec::new());
        let row = draft.rows.len() - 1;
        for (column, at) in within {
            draft.put(row, column, Cell::Plain(at.to_string()));
        }
        row
    }

    fn field_of_result(&mut self, summary: usize, name: &str, value: &Tree) {
        match (value, value.unseen()) {
            (_, Some(why)) => {
                let row = self.row(summary, &[]);
                let draft = &mut self.drafts[summary];
                draft.put(row, "name", Cell::Text(name.to_owned()));
                draft.put(row, "value", Cell::Empty);
                draft.put(row, "unseen", Cell::Text(why.to_owned()));
            }
            (Tree::Object(fields), None) => {
                let moments = moments(fields);
                self.moments(name, &moments, &[]);
                for (field, value) in fields.iter().filter(|(field, _)| !is_among(&moments, field)) {
                    self.field_of_result(summary, &dotted(name, field), value);
                }
            }
            (Tree::List(items), None) if !items.is_empty() && !is_simple(items) => {
                self.list(name, items, &[]);
            }
            (value, None) => {
                let row = self.row(summary, &[]);
                let draft = &mut self.drafts[summary];
                draft.put(row, "name", Cell::Text(name.to_owned()));
                draft.put(row, "value", cell(value));
            }
        }
    }

    /// A table of a list of objects, or of lists.
    fn list(&mut self, name: &str, items: &[Tree], within: &Within) {
        let table = self.table(name);
        for item in items {
            let row = self.row(table, within);
            match item {
                Tree::Object(fields) => self.fields(table, row, "", fields, within),
                Tree::List(cells) => {
                    let heads = heads(name, cells.len());
                    for (at, value) in cells.iter().enumerate() {
                        let head =
                            heads.get(at).map_or_else(|| (at + 1).to_string(), |head| (*head).to_owned());
                        self.drafts[table].put(row, &head, cell(value));
                    }
                }
                other => self.drafts[table].put(row, "value", cell(other)),
            }
        }
    }

    /// Puts fields into a row. `prefix` is where in the row they are.
    fn fields(&mut self, table: usize, row: usize, prefix: &str, fields: &[(String, Tree)], within: &Within) {
        let below = |maker: &Self| {
            let own = (maker.drafts[table].name.clone(), row);
            within.iter().cloned().chain([own]).collect::<Vec<_>>()
        };
        let moments = moments(fields);
        if !moments.is_empty() {
            let (name, within) = (dotted(&self.drafts[table].name, prefix), below(self));
            self.moments(&name, &moments, &within);
        }
        for (field, value) in fields.iter().filter(|(field, _)| !is_among(&moments, field)) {
            let column = dotted(prefix, field);
            match (value, value.unseen()) {
                (_, Some(_)) => self.drafts[table].put(row, &column, Cell::Empty),
                (Tree::Object(inner), None) => self.fields(table, row, &column, inner, within),
                (Tree::List(items), None) if !items.is_empty() && !is_simple(items) => {
                    let (name, within) = (dotted(&self.drafts[table].name, &column), below(self));
                    self.list(&name, items, &within);
                }
                (value, None) => self.drafts[table].put(row, &column, cell(value)),
            }
        }
    }

    /// A table of lists of numbers of the same length.
    fn moments(&mut self, name: &str, lists: &[(&str, &[Tree])], within: &Within) {
        let Some((_, first)) = lists.first() else { return };
        let table = self.table(&dotted(name, "over_time"));
        for at in 0..first.len() {
            let row = self.row(table, within);
            self.drafts[table].put(row, "moment", Cell::Plain(at.to_string()));
            for (column, values) in lists {
                self.drafts[table].put(row, column, cell(&values[at]));
            }
        }
    }
}

/// The lists of numbers among an object's fields that belong together: several, all as long as the
/// first, and longer than a pair.
fn moments(fields: &[(String, Tree)]) -> Vec<(&str, &[Tree])> {
    let numbers = |value: &'_ Tree| match value {
        Tree::List(items) => {
            items.len() > 2 && items.iter().all(|item| matches!(item, Tree::Number(_) | Tree::Null))
        }
        _ => false,
    };
    let lists = fields.iter().filter_map(|(name, value)| match value {
        Tree::List(items) if numbers(value) => Some((name.as_str(), items.as_slice())),
        _ => None,
    });
    let lists: Vec<_> = lists.collect();
    let same = lists.iter().all(|(_, items)| items.len() == lists[0].1.len());
    if lists.len() > 1 && same { lists } else { Vec::new() }
}

fn is_among(moments: &[(&str, &[Tree])], field: &str) -> bool {
    moments.iter().any(|(name, _)| *name == field)
}

/// Whether a list fits a cell.
fn is_simple(items: &[Tree]) -> bool {
    items.iter().all(|item| !matches!(item, Tree::List(_) | Tree::Object(_)))
}

/// The heads of a table of lists, which have no names in JSON.
fn heads(name: &str, cells: usize) -> &'static [&'static str] {
    match (name.rsplit('.').next().unwrap_or(name), cells) {
        ("histogram", 3) => &["from_ns", "to_ns", "count"],
        ("histogram", 2) => &["to_ns", "count"],
        ("sizes", 2) => &["from_bytes", "count"],
        (_, 2) => &["name", "value"],
        _ => &[],
    }
}

fn dotted(before: &str, name: &str) -> String {
    match (before, name) {
        ("", name) => name.to_owned(),
        (before, "" | "rows") => before.to_owned(),
        (before, name) => format!("{before}.{name}"),
    }
}

/// A value that fits a cell. A list has blanks between its items, or ` | ` where they have blanks.
fn cell(value: &Tree) -> Cell {
    let text = |value: &Tree| match value {
        Tree::Null | Tree::Object(_) | Tree::List(_) => String::new(),
        Tree::Word(is) => is.to_string(),
        Tree::Number(text) | Tree::Text(text) => text.clone(),
    };
    match value {
        Tree::Null | Tree::Object(_) => Cell::Empty,
        Tree::Word(_) | Tree::Number(_) => Cell::Plain(text(value)),
        Tree::Text(_) => Cell::Text(text(value)),
        Tree::List(items) if items.is_empty() => Cell::Empty,
        Tree::List(items) => {
            let items: Vec<String> = items.iter().map(text).collect();
            let between = if items.iter().any(|item| item.contains(' ')) { " | " } else { " " };
            Cell::Text(items.join(between))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plain(text: &str) -> Cell {
        Cell::Plain(text.to_owned())
    }

    fn text(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }

    #[test]
    fn lists_are_tables_and_what_is_left_is_one_too() {
        let tables = Tables::of(&json!({
            "wall_ns": 5,
            "host": {"name": "vm", "memory": null},
            "series": {"unseen": "too short"},
            "waits": [
                {"on": {"kind": "file", "name": "a"}, "ns": 3, "by": [{"name": "x"}, {"name": "y"}]},
                {"on": {"kind": "pipe"}, "ns": 2, "device": {"unseen": "why"}, "by": [{"name": "z"}]},
                {"on": {"unseen": "why"}, "ns": 1, "by": []},
            ],
            "programs": {"rows": [{"name": "p"}]},
            "nothing": [],
        }));
        let names = tables.names();
        assert_eq!(names, ["result", "programs", "waits", "waits.by"], "in the order of this JSON");
        let waits = tables.named("waits").unwrap();
        let cells = |row: &[Cell]| {
            waits.columns.iter().cloned().zip(row.iter().cloned()).collect::<HashMap<String, Cell>>()
        };
        assert_eq!(waits.columns.len(), 5, "{:?}", waits.columns);
        assert!(!waits.columns.iter().any(|name| name == "on"), "what it is of others has columns");
        let [first, second] = [0, 1].map(|at| cells(&waits.rows[at]));
        assert_eq!((&first["on.name"], &first["ns"]), (&text("a"), &plain("3")));
        assert_eq!((&second["on.name"], &second["device"]), (&Cell::Empty, &Cell::Empty));
        let by = tables.named("waits.by").unwrap();
        assert_eq!(by.columns, ["waits", "name"]);
        assert_eq!(by.rows[2], [plain("1"), text("z")], "of the second row");
        let result = tables.named(RESULT).unwrap();
        assert_eq!(result.columns, ["name", "value", "unseen"]);
        assert!(result.rows.contains(&vec![text("series"), Cell::Empty, text("too short")]));
        assert!(result.rows.contains(&vec![text("host.name"), text("vm"), Cell::Empty]));
        assert!(result.rows.contains(&vec![text("nothing"), Cell::Empty, Cell::Empty]));
    }

    #[test]
    fn histograms_and_metrics_over_time_have_rows() {
        let tables = Tables::of(&json!({
            "all": {"histogram": [[1, 2, 3], [2, 4, 1]]},
            "series": {"disks": [{"name": "vda", "reads": [1, 2, null], "busy": [0.5, 0.25, 1.0]}]},
        }));
        let histogram = tables.named("all.histogram").unwrap();
        assert_eq!(histogram.columns, ["from_ns", "to_ns", "count"]);
        assert_eq!(histogram.rows[1], ["2", "4", "1"].map(plain));
        let metrics = tables.named("series.disks.over_time").unwrap();
        assert_eq!(metrics.columns, ["series.disks", "moment", "busy", "reads"]);
        assert_eq!(metrics.rows[0], ["0", "0", "0.5", "1"].map(plain));
        assert_eq!(metrics.rows[2], [plain("0"), plain("2"), plain("1.0"), Cell::Empty]);
    }
}

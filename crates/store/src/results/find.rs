//! Finding results again.

use super::error::StoreError;
use super::file::Store;
use super::pack;
use super::row::{ResultRow, TEXT_MAX, cut, plain_id};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, params_from_iter};

/// The columns of a row, in the order of [`of_row`].
pub(super) const COLUMNS: &str = "seq, id, verb, command, host, kernel, at_s, wall_ns, verdict, finding, schema, dwell, json_bytes, \
                       recording_bytes, note";

/// The fewest characters of an ID.
const SHORTEST: usize = 3;
/// Of several results that a short ID could mean, those that are named.
const NAMED: usize = 8;

/// Which results are wanted; all that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this verb.
    pub verb: Option<String>,
    /// With this in their command, in any case of ASCII letters.
    pub command: Option<String>,
    /// Results of the host of this name.
    pub host: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
    /// Not before: seconds since 1970.
    pub since_s: Option<u64>,
}

/// How a result is named on a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// `last`, `last-1`: this many before the last one.
    Last(u64),
    /// The beginning of an ID.
    Id(String),
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One result.
    One(Box<ResultRow>),
    /// No result.
    None,
    /// Several: the newest of them.
    Several(Vec<ResultRow>),
}

impl Named {
    /// Reads a name; none if it is none of a result.
    pub fn read(text: &str) -> Option<Self> {
        if text == "last" {
            return Some(Self::Last(0));
        }
        if let Some(before) = text.strip_prefix("last-") {
            let is_number = !before.is_empty() && before.bytes().all(|byte| byte.is_ascii_digit());
            return before.parse().ok().filter(|_| is_number).map(Self::Last);
        }
        let fits = (SHORTEST..=8).contains(&text.len());
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        (fits && is_hex).then(|| Self::Id(text.to_ascii_lowercase()))
    }
}

impl Store {
    /// Results, the newest first, at most this many, and whether there are more.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn list(&self, filter: &Filter, most: usize) -> Result<(Vec<ResultRow>, bool), StoreError> {
        let mut rows = Vec::new();
        let more = self.each(filter, most, |row| {
            rows.push(row);
            true
        })?;
        Ok((rows, more))
    }

    /// Gives the results one after another, for as long as `then` wants more: a million of them are
    /// not held in memory.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn each(
        &self,
        filter: &Filter,
        most: usize,
        mut then: impl FnMut(ResultRow) -> bool,
    ) -> Result<bool, StoreError> {
        let error = |error| self.error(error);
        let (condition, values) = condition(filter);
        let asked = format!("SELECT {COLUMNS} FROM results{condition} ORDER BY seq DESC LIMIT ?");
        let limit = i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1);
        let values = values.into_iter().chain([Value::Integer(limit)]);
        let mut tags = self.tags()?;
        let mut asked = self.db.prepare(&asked).map_err(error)?;
        let mut rows = asked.query(params_from_iter(values)).map_err(error)?;
        let mut given = 0;
        while let Some(row) = rows.next().map_err(error)? {
            if given == most {
                return Ok(true);
            }
            let row = of_row(row).map_err(error)?;
            let tags = tags.of(row.seq).map_err(error)?;
            given += 1;
            if !then(ResultRow { tags, ..row }) {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// The result of this name.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn find(&self, named: &Named) -> Result<Found, StoreError> {
        let error = |error| self.error(error);
        let rows = match named {
            Named::Last(before) => {
                let asked = format!("SELECT {COLUMNS} FROM results ORDER BY seq DESC LIMIT 1 OFFSET ?1");
                let before = i64::try_from(*before).unwrap_or(i64::MAX);
                self.db.query_row(&asked, [before], of_row).optional().map_err(error)?.into_iter().collect()
            }
            Named::Id(begin) => {
                let asked = format!(
                    "SELECT {COLUMNS} FROM results WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY seq DESC LIMIT {NAMED}"
                );
                let mut asked = self.db.prepare(&asked).map_err(error)?;
                let rows = asked.query_map([begin], of_row).map_err(error)?;
                rows.collect::<rusqlite::Result<Vec<_>>>().map_err(error)?
            }
        };
        let mut tags = self.tags()?;
        let with_tags = |row: ResultRow| Ok(ResultRow { tags: tags.of(row.seq)?, ..row });
        let mut rows =
            rows.into_iter().map(with_tags).collect::<rusqlite::Result<Vec<_>>>().map_err(error)?;
        Ok(match rows.len() {
            0 => Found::None,
            1 => rows.pop().map_or(Found::None, |row| Found::One(Box::new(row))),
            _ => Found::Several(rows),
        })
    }

    /// The JSON of a result.
    ///
    /// # Errors
    /// What SQLite says; it is damaged.
    pub fn json(&self, row: &ResultRow) -> Result<Vec<u8>, StoreError> {
        let asked = "SELECT packed FROM contents WHERE seq = ?1";
        let packed: Vec<u8> =
            self.db.query_row(asked, [row.seq], |row| row.get(0)).map_err(|error| self.error(error))?;
        pack::json(&packed).map_err(|said| StoreError::Damaged {
            path: self.path.clone(),
            said: format!("result {}: {said}", row.id),
        })
    }

    /// The last ladder of a machine with this verdict.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn ladder(&self, machine: &str, verdict: &str) -> Result<Option<ResultRow>, StoreError> {
        let asked = format!(
            "SELECT {COLUMNS} FROM results WHERE verb = 'ladder' AND machine = ?1 AND verdict = ?2 \
             ORDER BY seq DESC LIMIT 1"
        );
        let found = self.db.query_row(&asked, [machine, verdict], of_row).optional();
        found.map_err(|error| self.error(error))
    }

    pub(super) fn tags(&self) -> Result<Tags<'_>, StoreError> {
        let asked = self.db.prepare("SELECT tag FROM tags WHERE seq = ?1 ORDER BY tag");
        Ok(Tags(asked.map_err(|error| self.error(error))?))
    }
}

/// The tags of a result.
pub(super) struct Tags<'a>(rusqlite::Statement<'a>);

impl Tags<'_> {
    pub(super) fn of(&mut self, seq: i64) -> rusqlite::Result<Vec<String>> {
        self.0.query_map([seq], |row| row.get(0))?.collect()
    }
}

/// What SQL asks for a filter.
fn condition(filter: &Filter) -> (String, Vec<Value>) {
    let text = |of: &Option<String>| of.clone().map(Value::Text);
    let since = filter.since_s.map(|s| Value::Integer(i64::try_from(s).unwrap_or(i64::MAX)));
    let given = [
        ("verb = ?", text(&filter.verb)),
        ("instr(lower(command), lower(?)) > 0", text(&filter.command)),
        ("host = ?", text(&filter.host)),
        ("seq IN (SELECT seq FROM tags WHERE tag = ?)", text(&filter.tag)),
        ("at_s >= ?", since),
    ];
    let given: Vec<_> = given.into_iter().filter_map(|(sql, value)| Some((sql, value?))).collect();
    if given.is_empty() {
        return (String::new(), Vec::new());
    }
    let (sql, values): (Vec<_>, Vec<_>) = given.into_iter().unzip();
    (format!(" WHERE {}", sql.join(" AND ")), values)
}

pub(super) fn of_row(row: &Row<'_>) -> rusqlite::Result<ResultRow> {
    let unsigned = |value: i64| u64::try_from(value).unwrap_or(0);
    let text = |at: usize| -> rusqlite::Result<Option<String>> {
        let text = row.get_ref(at)?.as_str_or_null()?;
        // What dwell writes is no longer; the file may be of somebody else.
        Ok(text.map(|text| cut(text, TEXT_MAX)))
    };
    let given = |at: usize| Ok::<_, rusqlite::Error>(text(at)?.unwrap_or_default());
    Ok(ResultRow {
        seq: row.get(0)?,
        id: plain_id(&given(1)?),
        verb: given(2)?,
        command: given(3)?,
        host: given(4)?,
        kernel: given(5)?,
        at_s: unsigned(row.get(6)?),
        wall_ns: row.get::<_, Option<i64>>(7)?.map(unsigned),
        verdict: text(8)?,
        finding: text(9)?,
        schema: given(10)?,
        dwell: given(11)?,
        json_bytes: unsigned(row.get(12)?),
        recording_bytes: unsigned(row.get(13)?),
        note: text(14)?,
        tags: Vec::new(),
    })
}

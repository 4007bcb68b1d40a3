//! Rows of the table, kept as they are made: the whole takes longer than one may want to wait, so
//! it can be run in parts, and what was there is not lost when one is interrupted.

use super::table::Row;
use super::verdict::Verdict;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Where a row lies: quiet ones apart from those beside busy loops.
fn path(base: &Path, busy: bool, program: &str) -> PathBuf {
    base.join(if busy { "rows-busy" } else { "rows" }).join(format!("{program}.json"))
}

/// Keeps a row, with the machine's load before it.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(base: &Path, busy: bool, row: &Row, load: &str) -> Result<()> {
    let path = path(base, busy, &row.0);
    let parent = path.parent().unwrap_or(base);
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    fs::write(&path, to_json(row, load)?).with_context(|| format!("cannot write {}", path.display()))
}

/// The row of a program and the load before it, if there is one.
pub(crate) fn read(base: &Path, busy: bool, program: &str) -> Option<(Row, f64)> {
    from_json(program, &fs::read_to_string(path(base, busy, program)).ok()?)
}

/// A row as it lies there.
#[derive(Serialize, Deserialize)]
struct Kept {
    load: String,
    #[serde(flatten)]
    row: Outcome,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Outcome {
    NotRun { not_run: String },
    Ran(Verdict),
}

fn to_json((_, verdict): &Row, load: &str) -> Result<String> {
    let row = match verdict.clone() {
        Ok(verdict) => Outcome::Ran(verdict),
        Err(not_run) => Outcome::NotRun { not_run },
    };
    Ok(serde_json::to_string(&Kept { load: load.to_owned(), row })?)
}

fn from_json(program: &str, text: &str) -> Option<(Row, f64)> {
    let Kept { load, row } = serde_json::from_str(text).ok()?;
    let verdict = match row {
        Outcome::NotRun { not_run } => Err(not_run),
        Outcome::Ran(verdict) => Ok(Verdict { program: program.to_owned(), ..verdict }),
    };
    Some(((program.to_owned(), verdict), load.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::program::Class;
    use super::super::verdict::Check;
    use super::*;

    #[test]
    fn a_row_comes_back_as_it_was_kept() {
        let check = Check { what: "user".into(), dwell: "1".into(), oracle: "2".into(), agrees: false };
        let verdict = Verdict {
            program: "it".to_owned(),
            class: Class::Io,
            right: vec![Class::Cpu, Class::Starved],
            checks: vec![check],
            notes: vec!["a note".to_owned()],
        };
        for row in [Ok(verdict), Err("fio missing".to_owned())].map(|verdict| ("it".to_owned(), verdict)) {
            let kept = from_json("it", &to_json(&row, "1.25").unwrap()).unwrap();
            assert_eq!(kept, (row, 1.25));
        }
        assert_eq!(from_json("it", r#"{"load": "1.25"}"#), None);
    }
}

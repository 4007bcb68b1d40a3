//! Rows of the table, kept as they are made: the whole takes longer than one may want to wait, so
//! it can be run in parts, and what was there is not lost when one is interrupted.

use super::program::Class;
use super::table::Row;
use super::verdict::{Check, Verdict};
use anyhow::{Context, Result};
use serde_json::{Value, json};
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
    let path = path(base, busy, row.0);
    let parent = path.parent().unwrap_or(base);
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    fs::write(&path, to_json(row, load).to_string())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The row of a program and the load before it, if there is one.
pub(crate) fn read(base: &Path, busy: bool, program: &'static str) -> Option<(Row, f64)> {
    from_json(program, &serde_json::from_str(&fs::read_to_string(path(base, busy, program)).ok()?).ok()?)
}

fn to_json((_, verdict): &Row, load: &str) -> Value {
    let verdict = match verdict {
        Ok(verdict) => verdict,
        Err(why) => return json!({"load": load, "not_run": why}),
    };
    let check = |check: &Check| json!({"what": check.what, "dwell": check.dwell, "oracle": check.oracle, "agrees": check.agrees});
    json!({
        "load": load,
        "class": verdict.class,
        "right": verdict.right.iter().map(|class| class.name()).collect::<Vec<_>>(),
        "checks": verdict.checks.iter().map(check).collect::<Vec<_>>(),
        "notes": verdict.notes,
    })
}

fn from_json(program: &'static str, row: &Value) -> Option<(Row, f64)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let load = row["load"].as_str()?.parse().ok()?;
    if let Some(why) = text(&row["not_run"]) {
        return Some(((program, Err(why)), load));
    }
    let check = |row: &Value| {
        Some(Check {
            what: text(&row["what"])?,
            dwell: text(&row["dwell"])?,
            oracle: text(&row["oracle"])?,
            agrees: row["agrees"].as_bool()?,
        })
    };
    let verdict = Verdict {
        program,
        class: text(&row["class"])?,
        right: row["right"]
            .as_array()?
            .iter()
            .map(|name| Class::of(name.as_str()?))
            .collect::<Option<_>>()?,
        checks: row["checks"].as_array()?.iter().map(check).collect::<Option<_>>()?,
        notes: row["notes"].as_array()?.iter().map(text).collect::<Option<_>>()?,
    };
    Some(((program, Ok(verdict)), load))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_as_it_was_kept() {
        let check = Check { what: "user".into(), dwell: "1".into(), oracle: "2".into(), agrees: false };
        let verdict = Verdict {
            program: "it",
            class: "io".to_owned(),
            right: vec![Class::Cpu, Class::Starved],
            checks: vec![check],
            notes: vec!["a note".to_owned()],
        };
        for row in [("it", Ok(verdict)), ("it", Err("fio missing".to_owned()))] {
            let kept = from_json("it", &to_json(&row, "1.25")).unwrap();
            assert_eq!(kept, (row, 1.25));
        }
        assert_eq!(from_json("it", &json!({"load": "1.25"})), None);
    }
}

//! The cases of a sheet: the five of dwell, and the parser of files with others. Pure.

use model::wake::load::{Load, Transport, Workers};
use model::wake::sheet::{Case, SCHEMA_SHEET};
use serde_json::Value;
use store::unfinished::SCHEMA_UNFINISHED;

/// The name of the sheet with the five cases.
const OWN_NAME: &str = "five";
/// The most cases of a sheet, and characters of a name.
const CASES_MAX: usize = 100;
const NAME_MAX: usize = 40;
/// The size of the memory that is copied and verified.
const MEMORY_BYTES: u64 = 256 << 20;
/// The size of each file.
const FILE_BYTES: u64 = 16 << 20;
/// The size of each message: a page of stressapptest.
const MESSAGE_BYTES: u32 = 1 << 20;

/// Idle; the scheduler with messages of 128 bytes; memory with 2, 4 and 8 threads, the last
/// together with 4 threads on disks and 4 on the network.
pub(super) fn five() -> (String, Vec<Case>) {
    let memory = |threads| Load::Memory { threads, bytes: MEMORY_BYTES };
    let case = |name: &str, loads| Case { name: name.to_owned(), loads };
    let sched = Load::Sched {
        groups: 10,
        pairs: 20,
        message_bytes: 128,
        transport: Transport::Sockets,
        workers: Workers::Processes,
    };
    let all = vec![
        memory(8),
        Load::Disk { threads: 4, bytes: FILE_BYTES, dir: None },
        Load::Network { threads: 4, message_bytes: MESSAGE_BYTES },
    ];
    let cases = vec![
        case("idle", Vec::new()),
        case("sched", vec![sched]),
        case("memory-2", vec![memory(2)]),
        case("memory-4", vec![memory(4)]),
        case("memory-8-io", all),
    ];
    (OWN_NAME.to_owned(), cases)
}

/// Parses a sheet: its name and its cases. The text may also be the result of another sheet,
/// finished or not, whose cases are taken.
///
/// # Errors
/// A sentence without a full stop. It may quote the text, and has to be cleaned.
pub(super) fn read(
    text: &str,
    load: &dyn Fn(&str) -> Result<Load, String>,
) -> Result<(String, Vec<Case>), String> {
    let sheet: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let sheet = if sheet["schema"] == SCHEMA_UNFINISHED { &sheet["sheet"] } else { &sheet };
    let sheet = sheet.as_object().ok_or("it is not an object with \"name\" and \"cases\"")?;
    match sheet.get("schema").map(Value::as_str) {
        Some(Some(SCHEMA_SHEET)) => {}
        Some(other) => {
            return Err(format!("its schema is {:?}", other.unwrap_or("not a string")));
        }
        None => only(sheet, &["name", "cases"], "a sheet")?,
    }
    let name = named(sheet.get("name"), "the sheet")?;
    let cases = sheet.get("cases").and_then(Value::as_array).ok_or("it has no list of \"cases\"")?;
    if cases.is_empty() || cases.len() > CASES_MAX {
        return Err(format!("it has {} cases; 1 to {CASES_MAX} are possible", cases.len()));
    }
    let mut read: Vec<Case> = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let which = format!("case {}", at + 1);
        let case = case
            .as_object()
            .ok_or_else(|| format!("{which} is not an object with \"name\" and \"loads\""))?;
        only(case, &["name", "loads"], &which)?;
        let name = named(case.get("name"), &which)?;
        if read.iter().any(|other| other.name == name) {
            return Err(format!("two cases are called {name:?}"));
        }
        let loads = match case.get("loads") {
            None => &Vec::new(),
            Some(loads) => {
                loads.as_array().ok_or_else(|| format!("the loads of case {name:?} are not a list"))?
            }
        };
        let loads: Result<Vec<Load>, String> = loads.iter().map(|value| one_load(value, load)).collect();
        let loads = loads.map_err(|wrong| format!("case {name:?}: {wrong}"))?;
        read.push(Case { name, loads });
    }
    Ok((name, read))
}

/// A load in the form of the command line, or of a result.
fn one_load(value: &Value, load: &dyn Fn(&str) -> Result<Load, String>) -> Result<Load, String> {
    if let Some(text) = value.as_str() {
        return load(text);
    }
    let read: Load =
        serde_json::from_value(value.clone()).map_err(|error| format!("invalid load: {error}"))?;
    loads::spec::check(&read)?;
    Ok(read)
}

fn only(object: &serde_json::Map<String, Value>, known: &[&str], what: &str) -> Result<(), String> {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("{what} has an unknown key {key:?}; known: {}", known.join(", "))),
        None => Ok(()),
    }
}

fn named(value: Option<&Value>, what: &str) -> Result<String, String> {
    let name = value.and_then(Value::as_str).ok_or_else(|| format!("{what} has no \"name\""))?;
    if name.is_empty() || name.chars().count() > NAME_MAX {
        return Err(format!("the name of {what} must have 1 to {NAME_MAX} characters"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<(String, Vec<Case>), String> {
        read(text, &|text| loads::spec::parse(text, 2))
    }

    #[test]
    fn the_five_cases_are_valid_and_can_be_written_and_read() {
        let (name, cases) = five();
        assert_eq!(cases.len(), 5);
        assert!(cases.iter().flat_map(|case| &case.loads).all(|load| loads::spec::check(load).is_ok()));
        let text = serde_json::json!({"name": name, "cases": cases}).to_string();
        assert_eq!(of(&text), Ok((name.clone(), cases.clone())));
        let sheet = serde_json::json!({"schema": SCHEMA_SHEET, "name": name, "cases": cases});
        let unfinished = serde_json::json!({"schema": SCHEMA_UNFINISHED, "sheet": sheet}).to_string();
        assert_eq!(of(&unfinished), Ok((name, cases)));
    }

    #[test]
    fn loads_can_have_the_form_of_the_command_line() {
        let (name, cases) =
            of(r#"{"name": "mine", "cases": [{"name": "idle"}, {"name": "busy", "loads": ["cpu:threads=3", "sched"]}]}"#)
                .unwrap();
        assert_eq!((name.as_str(), cases[0].loads.len()), ("mine", 0));
        assert_eq!(cases[1].loads[0], Load::Cpu { threads: 3 });
    }

    #[test]
    fn errors_are_named() {
        for (text, said) in [
            ("tea", "not JSON"),
            ("[]", "not an object"),
            (r#"{"schema": "dwell.run/1"}"#, "its schema is \"dwell.run/1\""),
            (r#"{"name": "x", "case": []}"#, "unknown key \"case\"; known: name, cases"),
            (r#"{"name": "", "cases": []}"#, "1 to 40 characters"),
            (r#"{"cases": []}"#, "the sheet has no \"name\""),
            (r#"{"name": "x"}"#, "no list of \"cases\""),
            (r#"{"name": "x", "cases": []}"#, "0 cases"),
            (r#"{"name": "x", "cases": [1]}"#, "case 1 is not an object"),
            (r#"{"name": "x", "cases": [{}]}"#, "case 1 has no \"name\""),
            (r#"{"name": "x", "cases": [{"name": "a", "load": []}]}"#, "case 1 has an unknown key \"load\""),
            (r#"{"name": "x", "cases": [{"name": "a"}, {"name": "a"}]}"#, "two cases are called \"a\""),
            (r#"{"name": "x", "cases": [{"name": "a", "loads": "cpu"}]}"#, "not a list"),
            (
                r#"{"name": "x", "cases": [{"name": "a", "loads": ["tea"]}]}"#,
                "case \"a\": unknown load \"tea\"",
            ),
            (r#"{"name": "x", "cases": [{"name": "a", "loads": [{"kind": "cpu"}]}]}"#, "invalid load"),
            (
                r#"{"name": "x", "cases": [{"name": "a", "loads": [{"kind": "cpu", "threads": 0}]}]}"#,
                "expected 1 to 1024",
            ),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}

//! Names are those of other programs: they may be anything, and may be unwanted.
// Tests read files; the crate does not.
#![allow(clippy::disallowed_methods)]

use crate::support::{Row, lines, of, parquet, recording, table};
use dwell_tables::{Kept, Options};
use model::{KeptRun, Ladder, Seen};
use serde_json::{Value, json};
use std::path::Path;

/// What a name may be. A lone 0xFF is replaced where it is recorded, as JSON has no bytes.
fn odd() -> Vec<String> {
    let long = "x".repeat(100_000);
    [
        "a\0b",
        "\u{1b}[2J",
        "\u{202e}evil",
        "'; DROP TABLE results; --",
        "=cmd|' /C calc'!A0",
        "../../etc",
        "\u{fffd}",
        &long,
        "",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Puts a text in place of each name of a result: what is no word of dwell's own.
fn rename(value: &mut Value, name: &str) {
    const NAMES: [&str; 12] = [
        "command", "name", "process", "remote", "local", "function", "module", "device", "stack", "code",
        "reason", "file",
    ];
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                match value {
                    // The reason of a wait is its state.
                    Value::String(text)
                        if NAMES.contains(&field.as_str()) && !STATES.contains(&text.as_str()) =>
                    {
                        *text = name.to_owned();
                    }
                    Value::Array(texts) if NAMES.contains(&field.as_str()) => {
                        texts.iter_mut().filter(|text| text.is_string()).for_each(|text| *text = name.into());
                    }
                    value => rename(value, name),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, name)),
        _ => {}
    }
}

const STATES: [&str; 8] = ["disk", "network", "lock", "pipe", "sleep", "idle", "other-wait", "unexplained"];

fn renamed(of: &str, name: &str) -> model::RunResult {
    let mut json: Value = serde_json::from_str(&report::result::without_stacks(&recording(of))).unwrap();
    // Findings are sentences with these names in them; the rows of calls have names of the kernel.
    let calls = json["syscalls"].take();
    rename(&mut json, name);
    json["syscalls"] = calls;
    json["host"] = serde_json::to_value(recording(of).run.host).unwrap();
    json["coverage"] = serde_json::to_value(recording(of).run.coverage).unwrap();
    json["diagnosis"] = serde_json::to_value(recording(of).diagnosis).unwrap();
    analyse::whole(serde_json::from_value::<KeptRun>(json).unwrap()).unwrap()
}

#[test]
fn no_name_reaches_a_terminal_breaks_a_line_or_a_file() {
    for name in odd() {
        for of_what in ["fsync", "connection-churn"] {
            let tables = of(&renamed(of_what, &name), Options { detail: true, redact: false });
            for table in &tables.tables {
                let (lines, parquet) = (lines(table), parquet(table));
                assert_eq!((lines.len(), parquet.len()), (table.rows.len(), table.rows.len()));
                for value in lines.iter().chain(&parquet).flat_map(|row| row.values()) {
                    let text = value.as_str().unwrap_or_default();
                    assert!(text.len() <= 4_100, "{} bytes", text.len());
                    assert!(!text.chars().any(|char| char.is_control() || char == '\u{202e}'), "{text:?}");
                }
            }
            // Nothing that a program says is in the name of a file.
            assert!(tables.id.bytes().all(|byte| byte.is_ascii_hexdigit()) && tables.day.len() == 10);
        }
    }
}

#[test]
fn redacted_rows_have_no_command_path_or_peer() {
    for of_what in ["fsync", "connection-churn", "attach-busy", "python-gil"] {
        let result = recording(of_what);
        let json: Value = serde_json::from_str(&report::result::without_stacks(&result)).unwrap();
        let mut secrets = Vec::new();
        collect(&json, &mut secrets);
        // The name of one program is that of a call as well.
        secrets.extend(result.run.command.iter().filter(|word| word.len() > 4 && *word != "fsync").cloned());
        secrets.sort();
        secrets.dedup();
        let text = |redact| -> String {
            let tables = of(&result, Options { detail: true, redact });
            let rows = tables.tables.iter().flat_map(lines);
            rows.map(|row| serde_json::to_string(&row).unwrap() + "\n").collect()
        };
        let (whole, redacted) = (text(false), text(true));
        let told = |text: &str| secrets.iter().filter(|secret| text.contains(secret.as_str())).count();
        assert!(told(&whole) > 0, "{of_what}: {secrets:?}");
        let left: Vec<_> = secrets.iter().filter(|secret| redacted.contains(secret.as_str())).collect();
        assert!(left.is_empty(), "{of_what}: {left:?}");
        assert!(redacted.contains("taken out by --redact"));
        // Figures stay.
        assert!(redacted.contains(&result.run.account[0].ns.to_string()));
    }
}

/// Reasons quote hosts and directories.
#[test]
fn redacted_reasons_quote_nothing() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/samples/ladders/vm.json");
    let mut ladder: Ladder = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    ladder.rungs[0].about.id = "tcp-rtt@db.prod".to_owned();
    ladder.rungs[0].ns = Seen::unseen("cannot resolve db.prod: no such host");
    ladder.rungs[1].bytes_per_s = Seen::unseen("cannot make a file in /home/alice/x");
    let text = |redact| -> String {
        let kept = Kept { id: "0".repeat(32), ..Kept::default() };
        let tables = dwell_tables::ladder(&ladder, &kept, Options { detail: true, redact }).unwrap();
        let rows = tables.tables.iter().flat_map(lines);
        rows.map(|row| serde_json::to_string(&row).unwrap() + "\n").collect()
    };
    let (whole, redacted) = (text(false), text(true));
    for secret in ["db.prod", "/home/alice"] {
        assert!(whole.contains(secret) && !redacted.contains(secret), "{secret}");
    }
    assert!(redacted.contains("\"column_name\":\"median_ns\""));
}

#[test]
fn a_service_stays_if_all_of_it_was_named_by_who_runs_it() {
    for (target, service, stays) in [
        (":80 (nginx, PID 1)", ":80", true),
        (":80 (nginx, PID 1), :81 (nginx, PID 2)", ":80,:81", true),
        ("service db", "db.service", true),
        (":80 (nginx, PID 1), redis (PID 22)", ":80,redis", false),
        (":80 ((, PID 1), redis (PID 22)", ":80 ((, PID 1), redis", false),
        ("secret.py (python3, PID 22)", "secret.py", false),
    ] {
        let mut result = recording("attach-busy");
        result.run.window.as_mut().unwrap().target = target.to_owned();
        result.run.service = Some(service.to_owned());
        let tables = of(&result, Options { detail: false, redact: true });
        let row = &lines(table(&tables, "results").unwrap())[0];
        assert_eq!(row.get("service").map(|of| of == service), stays.then_some(true), "{target}");
    }
}

/// A NULL has its reason, also where the value was not observed.
#[test]
fn a_redacted_column_that_was_not_observed_is_said_once() {
    let tables = of(&recording("attach-proc"), Options { detail: true, redact: true });
    let unseen = lines(table(&tables, "unseen").unwrap());
    let device =
        |row: &&Row| row["table_name"] == "waits" && row.get("column_name") == Some(&json!("device"));
    assert_eq!(unseen.iter().filter(device).count(), 1, "{unseen:?}");
    assert!(unseen.iter().all(|row| row["why"] == "taken out by --redact"));
}

/// Paths, addresses and names of processes.
fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.values().for_each(|value| collect(value, into)),
        Value::Array(values) => values.iter().for_each(|value| collect(value, into)),
        Value::String(text) => {
            let is_path = text.starts_with('/') && text.len() > 3;
            let is_peer =
                text.parse::<std::net::SocketAddr>().is_ok() || text.parse::<std::net::IpAddr>().is_ok();
            if (is_path || is_peer) && !text.contains(' ') {
                into.push(text.clone());
            }
        }
        _ => {}
    }
}

//! Names are those of other programs: they may be anything, and may be unwanted.

use crate::support::{lines, of, parquet, recording};
use dwell_tables::Options;
use model::KeptRun;
use serde_json::Value;

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

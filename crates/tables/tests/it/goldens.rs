//! All kept recordings as tables.

use crate::support::{Row, lines, of, parquet, recording, recordings, sum, table};
use dwell_tables::{Options, TABLES};
use golden::Case;
use model::run::SCHEMA_ATTACH;
use model::together::PlacesTogether;
use model::wait::WaitCall;
use model::{Seen, State};
use serde_json::Value;

const ALL: Options = Options { detail: true, redact: false };

#[test]
fn accounts_places_and_paths_sum_to_the_time() {
    for path in recordings() {
        let case = Case::read(&path).unwrap();
        let run = &case.result().run;
        let tables = of(case.result(), ALL);
        let whole_ns = run.window.as_ref().map_or(run.wall_ns, |window| window.thread_ns);
        let rows = |name: &str| table(&tables, name).map(lines).unwrap_or_default();
        assert_eq!(sum(&rows("account"), "ns"), whole_ns, "{path:?}");
        assert_eq!(sum(&rows("path"), "ns"), whole_ns, "{path:?}");
        if let Some(places) = run.places.value() {
            assert_eq!(sum(&rows("places"), "ns"), whole_ns, "{path:?}");
            assert_eq!(rows("places").len(), places.len());
            let few = of(case.result(), Options::default());
            let few = table(&few, "places").map(lines).unwrap_or_default();
            assert_eq!(sum(&few, "ns"), whole_ns, "{path:?}");
            let stand_for = |row: &Row| row.get("together").and_then(Value::as_u64).unwrap_or(1);
            assert_eq!(few.iter().map(stand_for).sum::<u64>(), places.len() as u64, "{path:?}");
            assert!(few.len() <= 100 + State::ALL.len(), "{path:?}: {}", few.len());
        }
        let result = &rows("results")[0];
        let column = if run.schema == SCHEMA_ATTACH { "thread_ns" } else { "wall_ns" };
        assert_eq!(result[column], whole_ns, "{path:?}");
        assert!(run.started_at.starts_with(&tables.day), "{path:?}");
        // What is there is whole.
        assert_eq!(tables.tables.last().unwrap().table.name, "results");
    }
}

#[test]
fn bins_count_the_waits() {
    let mut counted = 0;
    for path in recordings() {
        let case = Case::read(&path).unwrap();
        let tables = of(case.result(), ALL);
        let bins = table(&tables, "wait_bins").map(lines).unwrap_or_default();
        for (wait, row) in case.result().run.waits.iter().enumerate() {
            if row.histogram.is_empty() {
                continue;
            }
            let own: Vec<Row> = bins.iter().filter(|bin| bin["wait"] == wait).cloned().collect();
            assert_eq!(sum(&own, "n"), row.calls, "{path:?} {wait}");
            for bin in &own {
                let (lo, hi) = (bin["lo_ns"].as_u64().unwrap(), bin["hi_ns"].as_u64().unwrap());
                // The result in that recording is older.
                let parts = if row.bins.is_empty() { 1 } else { 8 };
                assert!(lo < hi && (hi - lo) * parts <= lo.max(8), "{path:?}: {lo} to {hi}");
                counted += usize::from(!row.bins.is_empty());
            }
        }
    }
    assert!(counted > 300, "{counted}");
}

/// One row format: what is not text, a number or a flag in one is not so in the other.
#[test]
fn both_forms_have_the_same_rows() {
    for name in ["attach-busy", "fsync", "connection-churn", "attach-proc"] {
        for table in of(&recording(name), ALL).tables {
            let (lines, parquet) = (lines(&table), parquet(&table));
            assert_eq!(lines.len(), parquet.len());
            for (line, row) in lines.iter().zip(&parquet) {
                for column in table.table.columns() {
                    let (one, other) = (line.get(column.name), &row[column.name]);
                    let same = one.map_or(other.is_null(), |one| one == other);
                    assert!(same, "{name} {}.{}: {one:?} {other}", table.table.name, column.name);
                }
            }
        }
    }
}

/// What was not observed is no 0: it is NULL, with the reason.
#[test]
fn what_was_not_observed_has_its_reason() {
    let result = recording("attach-proc");
    let tables = of(&result, ALL);
    let unseen = lines(table(&tables, "unseen").unwrap());
    let why = |table: &str, column: Option<&str>, row: Option<u64>| {
        let of = |one: &&Row| {
            one["table_name"] == table
                && one.get("column_name").and_then(Value::as_str) == column
                && one.get("row_number").and_then(Value::as_u64) == row
        };
        unseen.iter().find(of).map(|one| one["why"].as_str().unwrap().to_owned())
    };
    assert_eq!(why("connections", None, None).as_deref(), Some("connections and name lookups need BPF"));
    assert!(table(&tables, "connections").is_none() && table(&tables, "syscalls").is_none());
    let waits = lines(table(&tables, "waits").unwrap());
    for (number, (row, wait)) in waits.iter().zip(&result.run.waits).enumerate() {
        let Seen::Unseen(reason) = &wait.device else { panic!("{:?}", wait.device) };
        assert!(!row.contains_key("device"));
        assert_eq!(why("waits", Some("device"), Some(number as u64)).as_ref(), Some(reason));
    }
    // Each reason is of a NULL that is there.
    for one in &unseen {
        let (of, row) = (one["table_name"].as_str().unwrap(), one.get("row_number").and_then(Value::as_u64));
        if let (Some(row), Some(column)) = (row, one.get("column_name").and_then(Value::as_str)) {
            assert!(!lines(table(&tables, of).unwrap())[row as usize].contains_key(column), "{one:?}");
        }
    }
}

/// A window of a service is sent often.
#[test]
fn the_rows_of_a_window_are_few_bytes() {
    for name in ["attach-busy", "attach-idle", "attach-python", "attach-perf", "attach-proc"] {
        let tables = of(&recording(name), Options::default());
        let bytes: usize = tables.tables.iter().map(|rows| dwell_tables::jsonl(rows).unwrap().len()).sum();
        assert!((500..5_000).contains(&bytes), "{name}: {bytes}");
    }
}

#[test]
fn large_tables_are_written_only_if_they_are_asked_for() {
    let result = recording("python-lines");
    let names = |options| of(&result, options).tables.iter().map(|rows| rows.table.name).collect::<Vec<_>>();
    let (few, all) = (names(Options::default()), names(ALL));
    for table in TABLES.iter().filter(|table| table.detail) {
        assert!(!few.contains(&table.name) && all.contains(&table.name), "{}", table.name);
    }
    assert!(few.contains(&"account") && few.contains(&"waits"));
}

/// The same result from a recording, and read back from either JSON, is one result.
#[test]
fn a_result_has_one_number_in_all_of_its_files() {
    for name in ["attach-busy", "fsync", "hand-overs"] {
        let path = recordings().into_iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
        let case = Case::read(&path.unwrap()).unwrap();
        let id = case.result().run.origin.id.clone().unwrap();
        assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        for with_stacks in [true, false] {
            let mut back = case.read_back(with_stacks).unwrap().result().clone();
            assert_eq!(back.run.origin.id.as_ref(), Some(&id));
            assert_eq!(of(&back, ALL), of(case.result(), ALL), "{name}");
            // As an older dwell wrote it.
            back.run.origin.id = None;
            assert_eq!(
                analyse::identity::known(&back.run.origin, || analyse::identity::of_run(&back.run)),
                id
            );
            back.run.wall_ns += 1;
            assert_ne!(analyse::identity::of_run(&back.run), id);
        }
    }
}

/// A row that stands for several says so, and why it has no call.
#[test]
fn rows_that_stand_for_several_say_so() {
    let mut result = recording("connection-churn");
    let wait = &mut result.run.waits[0];
    (wait.call, wait.together) = (WaitCall::Unseen, Some(7));
    result.run.tables.connections = result.run.tables.connections.map(|mut rows| {
        rows[0].together = Some(5);
        rows
    });
    result.run.path[0].together = Some(PlacesTogether { places: 3, threads: 2 });
    let tables = of(&result, ALL);
    for (name, together) in [("waits", 7), ("connections", 5), ("path", 3)] {
        let rows = lines(table(&tables, name).unwrap());
        assert_eq!(rows[0]["together"], together, "{name}");
        assert!(rows[1..].iter().all(|row| !row.contains_key("together")), "{name}");
    }
    let unseen = lines(table(&tables, "unseen").unwrap());
    assert!(unseen.iter().any(|one| one["why"] == "the row stands for several" && one["row_number"] == 0));
}

//! Against rows that are made here; real ones are read by OpenTelemetry's own library in the tests
//! of dwell.

use super::*;
use tables::{TABLES, TableRows, Value};

/// Rows of a table, by the names of their columns; others are NULL.
fn rows(table: &str, of: &[&[(&str, Value)]]) -> TableRows {
    let table = TABLES.iter().copied().find(|one| one.name == table).unwrap();
    let row = |values: &&[(&str, Value)]| {
        let known: Vec<_> = table.columns().map(|column| column.name).collect();
        assert!(values.iter().all(|(name, _)| known.contains(name)), "{values:?}");
        let value = |name: &str| values.iter().find(|(of, _)| *of == name).map(|(_, value)| value.clone());
        known.iter().map(|name| value(name).unwrap_or(Value::Null)).collect()
    };
    TableRows { table, rows: of.iter().map(row).collect() }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn result(mut tables: Vec<TableRows>, more: &[(&str, Value)]) -> ResultTables {
    let own = [
        ("result_id", text("ab")),
        ("started_at", Value::Whole(1_000_000)),
        ("host", text("h")),
        ("kernel", text("6.1")),
        ("verb", text("run")),
        ("wall_ns", Value::Whole(5)),
    ];
    let own: Vec<_> = own.iter().chain(more).cloned().collect();
    tables.push(rows("results", &[&own]));
    ResultTables { id: "ab".to_owned(), day: "1970-01-01".to_owned(), tables }
}

fn has(bytes: &[u8], what: &str) -> bool {
    bytes.windows(what.len()).any(|some| some == what.as_bytes())
}

#[test]
fn a_result_is_a_log_and_what_it_lacks_is_no_signal() {
    let signals = signals(&result(vec![], &[]), &Settings::default());
    assert_eq!(signals.iter().map(|(part, _)| *part).collect::<Vec<_>>(), ["logs"]);
    assert!(has(&signals[0].1, "run: measured") && has(&signals[0].1, "dwell-run"));
    let none = ResultTables { id: String::new(), day: String::new(), tables: vec![] };
    assert!(super::signals(&none, &Settings::default()).is_empty());
}

#[test]
fn what_is_asked_for_is_stronger_than_what_is_known() {
    let settings = Settings {
        service: Some("mine".to_owned()),
        resource: vec![("host.name".to_owned(), "other\x1b".to_owned()), ("x".to_owned(), "y".to_owned())],
        delta: false,
    };
    let of = result(vec![], &[("service", text("theirs")), ("machine", text("0f"))]);
    let logs = &signals(&of, &settings)[0].1;
    for there in ["mine", "other\\x1b", "h-0f"] {
        assert!(has(logs, there), "{there}");
    }
    assert!(!has(logs, "theirs"));
}

#[test]
fn parts_of_a_spike_are_one_record_the_longest_first() {
    let part = |cause: &str, ns| {
        [
            ("spike", Value::Whole(0)),
            ("cpu", Value::Whole(1)),
            ("at_ns", Value::Whole(7)),
            ("latency_ns", Value::Whole(3_000)),
            ("cause", text(cause)),
            ("ns", Value::Whole(ns)),
        ]
    };
    let (short, long) = (part("softirq", 1_000), part("steal", 2_000));
    let of = result(vec![rows("spike_parts", &[&short, &long])], &[]);
    let logs = &signals(&of, &Settings::default())[0].1;
    assert!(has(logs, "3.00 us late: steal 2.00 us, softirq 1.00 us"), "{}", String::from_utf8_lossy(logs));
}

#[test]
fn shares_sum_to_one_and_an_empty_account_has_none() {
    let part = |state: &str, ns| [("state", text(state)), ("ns", Value::Whole(ns))];
    let (user, disk) = (part("user", 1), part("disk", 3));
    let of = result(vec![rows("account", &[&user, &disk])], &[]);
    let all = signals(&of, &Settings::default());
    assert_eq!(all[1].0, "shares");
    assert!(
        has(&all[1].1, "dwell.time.share") && all[1].1.windows(8).any(|some| some == 0.25_f64.to_le_bytes())
    );
    let empty = part("user", 0);
    let of = result(vec![rows("account", &[&empty])], &[]);
    assert_eq!(signals(&of, &Settings::default()).len(), 1);
}

/// Percentiles of many values by bins as they are sent, beside those of the values.
#[test]
fn percentiles_keep_to_their_errors() {
    let mut random = 1_u64;
    let mut values: Vec<u64> = (0..200_000)
        .map(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // From 1 us to 100 ms, as many in each octave.
            (1_000.0 * 100_000_f64.powf((random >> 11) as f64 / (1_u64 << 53) as f64)) as u64
        })
        .collect();
    let mut bins = BTreeMap::<usize, u64>::new();
    values.iter().for_each(|value| *bins.entry(stats::fine::index(*value)).or_default() += 1);
    values.sort_unstable();
    for (scale, most) in [(3, 0.093), (WAITS, 0.025), (WAKEUPS, 0.0081)] {
        let mut histogram = Histogram::new(scale);
        let bin = |(index, count): (&usize, &u64)| {
            let (lo, beyond) = stats::fine::bounds(*index);
            let whole = |value: u64| Value::Whole(i64::try_from(value).unwrap());
            [("lo_ns", whole(lo)), ("hi_ns", whole(beyond)), ("n", whole(*count))]
        };
        let all: Vec<_> = bins.iter().map(bin).collect();
        let all: Vec<&[(&str, Value)]> = all.iter().map(|row| &row[..]).collect();
        let of = result(vec![rows("wake_bins", &all)], &[]);
        of.records("wake_bins").for_each(|bin| histogram.add(&bin));
        assert_eq!(histogram.count(), values.len() as u64);
        for part in [0.5, 0.9, 0.99, 0.999] {
            let rank = (values.len() as f64 * part) as usize;
            let error = histogram.percentile_s(rank as u64) / (values[rank] as f64 * 1e-9) - 1.0;
            assert!(error.abs() <= most, "scale {scale}, {part}: {error}");
        }
    }
}

#[test]
fn a_time_of_nothing_is_counted_apart() {
    let bin = [("lo_ns", Value::Whole(0)), ("hi_ns", Value::Whole(1)), ("n", Value::Whole(4))];
    let wait = [("state", text("lock")), ("target_kind", text("futex")), ("total_ns", Value::Whole(9))];
    let of = result(vec![rows("waits", &[&wait]), rows("wait_bins", &[&[&wait[..2], &bin].concat()])], &[]);
    let lengths = signals(&of, &Settings { delta: true, ..Settings::default() });
    assert_eq!(lengths[1].0, "lengths");
    let mut zero = Message::default();
    zero.fixed(7, 4);
    assert!(lengths[1].1.windows(9).any(|some| some == zero.clone().finish()), "zero_count is 4");
}

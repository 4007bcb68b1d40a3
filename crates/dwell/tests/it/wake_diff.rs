//! `dwell diff` of wake-ups, of dwell's own and of other tools: real results in, exit status, page
//! and JSON out.

use crate::support::{fresh, text};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

fn dwell(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dwell")).args(args).output().expect("dwell can be started")
}

/// A result of another tool.
fn sample(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../analyse/tests/data/wake").join(name);
    path.to_str().expect("the path is UTF-8").to_owned()
}

/// A short measurement of dwell's own, as anybody may make it.
fn measured(name: &str, interval: &str) -> PathBuf {
    let path = fresh(name);
    let output = dwell(&[
        "wake",
        "--for",
        "300ms",
        "--policy",
        "other",
        "--interval",
        interval,
        "--cpus",
        "0",
        "--no-spikes",
        "-q",
        "--json",
        path.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    path
}

#[test]
fn two_of_dwells_own_are_compared_and_their_other_settings_said() {
    let (a, b) = (measured("a.json", "1ms"), measured("b.json", "2ms"));
    let output = dwell(&["diff", a.to_str().unwrap(), b.to_str().unwrap(), "--json", "-"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let diff: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(diff["schema"], "dwell.wake-diff/1");
    let differences = diff["cases"][0]["differences"].as_array().unwrap();
    assert!(
        differences
            .iter()
            .any(|one| one["what"] == "interval" && one["a"] == "1.00 ms" && one["b"] == "2.00 ms"),
        "{differences:?}"
    );
    assert_eq!(diff["cases"][0]["quantiles"].as_array().unwrap().len(), 6);
    let page = text(&dwell(&["diff", "-v", a.to_str().unwrap(), b.to_str().unwrap()]).stdout);
    assert!(page.contains("differs: interval") && page.contains("p50"), "{page}");
    // Against what cyclictest measured.
    let output = dwell(&["diff", "-v", &sample("cyclictest.json"), b.to_str().unwrap()]);
    let page = text(&output.stdout);
    assert!(output.status.success() && page.contains("by cyclictest") && page.contains("by dwell"), "{page}");
    for path in [a, b] {
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn all_tools_results_can_be_compared_with_each_other() {
    let names = [
        "cyclictest.json",
        "cyclictest-unescaped.json",
        "cyclictest-plain.json",
        "cyclictest-quiet.txt",
        "cyclictest-histogram.txt",
        "cyclictest-histfile.txt",
        "jitterdebugger.json",
        "rtla-timerlat-hist.txt",
        "rtla-timerlat-top.txt",
        "rtla-osnoise-hist.txt",
    ];
    let svg = fresh("diff.svg");
    for pair in names.windows(2) {
        let output = dwell(&["diff", &sample(pair[0]), &sample(pair[1]), "--svg", svg.to_str().unwrap()]);
        assert!(output.status.success() && !output.stdout.is_empty(), "{pair:?}: {}", text(&output.stderr));
    }
    assert!(std::fs::read_to_string(&svg).unwrap().contains("</svg>"));
    std::fs::remove_file(&svg).unwrap();
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason() {
    let content = [
        ("cut.txt", "# Histogram\n000001 000005\n"),
        ("odd.txt", "# RTLA timerlat histogram\nIndex Thr-000\n1 x\n"),
        ("ladder.json", "{\"schema\": \"dwell.ladder/1\"}"),
        (
            "sheet.json",
            "{\"schema\": \"dwell.wake-sheet/1\", \"name\": \"s\", \"for_ns\": 1, \"cases\": [], \"results\": []}",
        ),
        ("wake.json", "{\"schema\": \"dwell.wake/1\", \"took_ns\": \"\\u001b[2J\"}"),
    ];
    let paths = content.map(|(name, content)| {
        let path = fresh(name);
        std::fs::write(&path, content).unwrap();
        path
    });
    for (path, said) in paths.iter().zip([
        "the summary below the histogram is missing: the text is cut off\ntry: a file written by",
        "line 3: \"x\" is not a whole number\ntry: a file written by",
        "is a \"dwell.ladder/1\" and",
        "a sheet without any measured case",
        "does not match its schema",
    ]) {
        let output = dwell(&["diff", path.to_str().unwrap(), &sample("cyclictest.json")]);
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(125) && error.contains(said), "{error}");
        assert!(output.stdout.is_empty() && !error.contains('\x1b'), "{error:?}");
    }
    paths.iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

#[test]
fn what_is_compared_is_not_written_over() {
    let a = fresh("read.txt");
    std::fs::copy(sample("cyclictest.json"), &a).unwrap();
    let before = std::fs::read(&a).unwrap();
    let linked = fresh("linked.svg");
    std::fs::hard_link(&a, &linked).unwrap();
    for (form, to) in [("--json", &a), ("--svg", &linked)] {
        let output =
            dwell(&["diff", &sample("cyclictest.json"), a.to_str().unwrap(), form, to.to_str().unwrap()]);
        let error = text(&output.stderr);
        assert!(
            output.status.code() == Some(125) && error.contains("is an input and would be overwritten"),
            "{error}"
        );
        assert!(output.stdout.is_empty());
    }
    assert_eq!(std::fs::read(&a).unwrap(), before);
    [a, linked].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

#[test]
fn a_verdict_is_told_by_status_and_junit() {
    let path = fresh("verdict.xml");
    let wake = |deadline: &str, one_in: &str| {
        let output = dwell(&[
            "wake",
            "--for",
            "300ms",
            "--policy",
            "other",
            "--interval",
            "1ms",
            "--cpus",
            "0",
            "--no-spikes",
            "--deadline",
            deadline,
            "--one-in",
            one_in,
            "--junit",
            path.to_str().unwrap(),
        ]);
        assert!(text(&output.stdout).contains("maximum latency"), "files do not take the page's place");
        (output.status.code(), std::fs::read_to_string(&path).unwrap_or_default(), text(&output.stderr))
    };
    // No wake-up of an ordinary thread is earlier than a microsecond; none is ten minutes late.
    let (status, xml, error) = wake("1us", "1us");
    assert!(status == Some(1) && xml.contains("<failure type=\"missed\""), "{status:?} {error} {xml}");
    let (status, xml, error) = wake("10min", "1us");
    assert!(status == Some(0) && xml.contains("failures=\"0\" errors=\"0\""), "{status:?} {error} {xml}");
    let (status, xml, error) = wake("10min", "1h");
    assert!(status == Some(2) && xml.contains("<error type=\"undecided\""), "{status:?} {error} {xml}");
    let args =
        ["wake", "--for", "100ms", "--policy", "other", "--no-spikes", "--deadline", "1h", "--junit", "-"];
    let xml = text(&dwell(&args).stdout);
    assert!(xml.starts_with("<?xml") && xml.trim_end().ends_with("</testsuites>"), "{xml}");
    std::fs::remove_file(&path).unwrap();
}

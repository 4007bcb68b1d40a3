//! Pages for a browser: against golden files, and against what must hold for every page, whatever
//! names programs have.
//!
//! `BLESS=1 cargo test -p dwell-report` writes the golden files anew; review them as a diff.

use crate::support::check_golden;
use crate::{commands, ladder, profiles, samples, wakes};
use dwell_report::html;
use dwell_report::lab::Lesson;
use model::lab::LabRun;
use model::{Profile, Run, Seen};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What a program may call itself, a file, a function or a peer.
const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=\"alert(2)\">'\u{202e}\u{7}\u{200b}";

fn run(run: &Run, profile: Option<&Profile>) -> String {
    html::runs(&[&samples::result(run, profile)])
}

/// The page without its style, its script and its JSON, which have tests of their own.
fn body(page: &str) -> &str {
    let from = page.find("<main>").expect("a page has a body");
    &page[from..page.find("</main>").expect("which ends")]
}

/// Pages of each kind, with names.
fn pages() -> Vec<(&'static str, String)> {
    let ladders = |ladder| html::ladders(&[(&ladder, &vec![ladder::textbook()])]);
    vec![
        ("ls", run(&samples::ls(), None)),
        ("attached", run(&samples::attached(), None)),
        ("served", run(&samples::served(), None)),
        ("parser", run(&samples::crunch(), Some(&profiles::parser()))),
        ("turns", run(&samples::turns(), Some(&profiles::turns("make")))),
        ("compare-few", html::comparisons(&[&commands::sample("compare-few")])),
        ("wake-gap", html::wakes(&[&wakes::gap()])),
        ("sheet", html::sheets(&[&wakes::sheet(2)])),
        ("ladder-odd", ladders(ladder::odd())),
        ("score", html::scores(&[&serde_json::from_value(score("sync-writes")).unwrap()])),
        ("plain", html::plain("load", "dwell load", "1 < 2\n", &json!({"schema": "x"}))),
        ("load", html::loads(&[&read(load("a loop is 100000 multiplications"))])),
        ("doctor", html::doctors(&[&read(doctor("the kernel has none"))])),
        ("run-diff", html::run_diffs(&[&analyse::compare::runs(&samples::ls(), &samples::server())])),
        ("timings-diff", html::timings_diffs(&[&read(timings("sleep 0.1"))])),
        ("lab-pair", pair("sync-writes")),
    ]
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a result")
}

/// A load that says this.
fn load(said: &str) -> Value {
    json!({
        "schema": "dwell.load/1", "host": samples::ls().host, "started_at": "2026-01-02T03:04:05Z",
        "result": {
            "load": {"kind": "cpu", "threads": 2}, "ran_ns": 65_288_225, "done": 177, "unit": "loops",
            "cpu_ns": 19_800_951, "mismatches": [], "mismatches_total": 0, "failures": [said], "limits": [said],
        },
        "interrupted": false,
    })
}

/// A host on which one thing does not work, which says this.
fn doctor(said: &str) -> Value {
    let check = |ability: &str, works: &str, why: &str, remedy: &str| json!({"ability": ability, "works": works, "why": why, "remedy": remedy});
    json!({
        "schema": "dwell.doctor/1", "version": said, "binary": said, "uid": 1000, "tier": "perf",
        "host": samples::ls().host,
        "checks": [check("bpf", "none", said, said), check("real-time", "full", "", "")],
    })
}

/// Two files with a command of this name.
fn timings(name: &str) -> Value {
    let median = json!({"median": 1e8, "lo": 0.9e8, "hi": 1.1e8});
    let command =
        json!({"name": name, "runs": 9, "failed": 1, "median_ns": median, "range_ns": [0.9e8, 1.3e8]});
    let origin = json!({"file": name, "tool": "hyperfine, JSON version 2"});
    json!({
        "schema": "dwell.timings-diff/1", "a": origin, "b": origin,
        "rows": [{"name": name, "a": command, "b": command, "ratio": 1.0}],
        "only_a": [name], "only_b": [],
    })
}

/// The page of a pair of the lab, with names and a change that are this.
fn pair(name: &str) -> String {
    let wall = json!([1_000_000_000, 400_000_000]);
    let saved = json!([{"estimate": 0.6, "lo": 0.55, "hi": 0.65}]);
    let finding = json!({
        "cause": "sync-writes", "where": name, "action": name, "saved": "wall", "known": "bounded",
        "share": {"lo": 0.5, "hi": 0.7}, "saving_ns": {"lo": 500_000_000, "hi": 700_000_000}, "part": null,
        "points_to": null, "evidence": [], "assumptions": [], "verify": [], "explains": [],
    });
    let observed = |findings: Value| json!({"wall_ns": 1_000_000_000, "class": "io", "findings": findings});
    let run: LabRun = read(json!({
        "schema": "dwell.lab/1", "dwell": "0.1.0", "host": samples::ls().host,
        "started_at": "2026-01-02T03:04:05Z",
        "pair": {"name": name, "title": name, "cause": "sync-writes", "writing": null},
        "change": [format!("-    {name}"), format!("+    {name}")],
        "sitting": {
            "commands": [["slow", name], ["fast", name]], "ways": ["slow", "fast"], "size": 10, "unit": "files",
            "pairs": 5, "wall_ns": wall, "saved": saved, "slow": observed(json!([finding])),
            "fast": observed(json!([])),
            "beside": false,
            "outcome": {"cause_first": true, "first_again": false, "held": true, "predicted": null,
                "score": null, "rule_score": null},
        },
    }));
    html::pairs(&[(&run, Lesson { text: "What it teaches." })])
}

/// Pages of what programs with such names gave.
fn hostile_pages() -> Vec<(&'static str, String)> {
    let long = "x<b>".repeat(2_500);
    let changed = |run: Run, name: &str| -> Run {
        let mut value = serde_json::to_value(&run).unwrap();
        rename(&mut value, name);
        serde_json::from_value(value).unwrap()
    };
    let mut comparison = commands::sample("compare-odd");
    comparison.commands.iter_mut().for_each(|command| command.name = HOSTILE.to_owned());
    comparison.limits.push(HOSTILE.to_owned());
    let mut wakeups = wakes::odd();
    wakeups.limits.push(HOSTILE.to_owned());
    wakeups.host.name = HOSTILE.to_owned();
    let mut sheet = wakes::sheet(2);
    sheet.cases.iter_mut().for_each(|case| case.name = HOSTILE.to_owned());
    sheet.results.iter_mut().for_each(|wakeups| wakeups.limits.push(HOSTILE.to_owned()));
    let mut score = score(HOSTILE);
    score["not_held"] = json!([[HOSTILE, HOSTILE]]);
    let hostile = changed(samples::server(), HOSTILE);
    let run_diff = analyse::compare::runs(&hostile, &changed(samples::crawler(), HOSTILE));
    vec![
        ("hostile", run(&samples::hostile(), Some(&profiles::hostile()))),
        ("hostile-turns", run(&samples::turns(), Some(&profiles::turns(HOSTILE)))),
        ("server", run(&changed(samples::server(), HOSTILE), None)),
        ("crawler", run(&changed(samples::crawler(), HOSTILE), None)),
        ("attached", run(&changed(samples::attached(), HOSTILE), None)),
        ("long", run(&changed(samples::server(), &long), None)),
        ("compare", html::comparisons(&[&comparison])),
        ("wake", html::wakes(&[&wakeups])),
        ("sheet", html::sheets(&[&sheet])),
        ("ladder", html::ladders(&[(&ladder::odd(), &ladder::machines())])),
        ("score", html::scores(&[&serde_json::from_value(score).unwrap()])),
        ("plain", html::plain("load", HOSTILE, HOSTILE, &json!({"name": HOSTILE}))),
        ("load", html::loads(&[&read(load(HOSTILE))])),
        ("doctor", html::doctors(&[&read(doctor(HOSTILE))])),
        ("run-diff", html::run_diffs(&[&run_diff])),
        ("timings-diff", html::timings_diffs(&[&read(timings(HOSTILE))])),
        ("lab-pair", pair(HOSTILE)),
    ]
}

/// Gives whatever a program names this name.
fn rename(value: &mut Value, to: &str) {
    const NAMES: [&str; 10] =
        ["name", "process", "function", "file", "module", "remote", "local", "target", "service", "server"];
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match value {
                    Value::String(text) if NAMES.contains(&key.as_str()) => *text = to.to_owned(),
                    Value::Array(words) if key == "command" => {
                        words.iter_mut().for_each(|word| *word = Value::String(to.to_owned()));
                    }
                    value => rename(value, to),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, to)),
        _ => {}
    }
}

/// A score of one pair of this name.
fn score(name: &str) -> Value {
    json!({
        "schema": "dwell.lab-score/1", "dwell": "0.1.0", "host": samples::ls().host,
        "started_at": "2026-01-02T03:04:05Z", "rounds": 1, "seed": 7, "rows": [{
            "pair": {"name": name, "title": "", "cause": "sync-writes", "writing": null},
            "sittings": [],
        }],
        "not_held": [], "ended_early": null,
        "total": {
            "sittings": 1, "cause_first": 1, "first_again": 0, "measured": 1, "held": 1, "healthy": 0,
            "healthy_right": 0, "score": 0.5, "rule_score": 1.0, "counted": 0, "counted_narrow": 0,
        },
    })
}

#[test]
fn pages_are_as_they_were() {
    for (name, page) in pages() {
        check_golden(&format!("html-{name}.html"), body(&page));
    }
}

#[test]
fn a_result_comes_out_of_its_page_as_it_was() {
    let server = samples::server();
    let result = samples::result(&server, None);
    let page = html::runs(&[&result]);
    let [out] = html::results(&page)[..] else { panic!("one result") };
    let whole = dwell_report::result::whole(&result);
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(json(out), json(&whole));
    assert_eq!(html::results(&html::runs(&[&result, &result])).len(), 2);
}

/// The tags of a text: each with its name and the names of its attributes.
fn tags(html: &str) -> Vec<(String, Vec<String>)> {
    let mut tags = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        // `>` within quotes does not end it; dwell has none outside of quotes that does not.
        let mut quoted = false;
        let end = rest.find(|char| {
            quoted ^= char == '"';
            char == '>' && !quoted
        });
        let tag = &rest[..end.expect("a tag ends")];
        let outside: String = tag.split('"').step_by(2).collect();
        let mut words = outside.split_whitespace();
        let name = words.next().unwrap_or_default().trim_matches('/').to_owned();
        tags.push((name, words.map(|word| word.trim_matches(['=', '/']).to_owned()).collect()));
        rest = &rest[tag.len()..];
    }
    tags
}

#[test]
fn nothing_that_a_program_names_is_markup() {
    const TAGS: [&str; 46] = [
        "main", "article", "header", "section", "h1", "h2", "h3", "p", "b", "strong", "span", "small", "div",
        "ol", "li", "dl", "dt", "dd", "details", "summary", "table", "thead", "tbody", "tfoot", "tr", "th",
        "td", "svg", "rect", "path", "polyline", "circle", "text", "title", "br", "pre", "script",
        "!doctype", "html", "head", "meta", "style", "body", "caption", "nav", "a",
    ];
    for (name, page) in hostile_pages().into_iter().chain(pages()) {
        let body = body(&page);
        for (tag, attributes) in tags(body) {
            assert!(TAGS.contains(&tag.as_str()), "{name}: <{tag}>");
            let runs = |attribute: &&String| {
                attribute.starts_with("on")
                    || ["src", "href", "style", "srcdoc"].contains(&attribute.as_str())
            };
            assert_eq!(attributes.iter().find(runs), None, "{name}: <{tag}>");
        }
        // The results, what the flame graph is drawn from, and the one script.
        let scripts: Vec<_> = page.match_indices("<script").map(|(at, _)| &page[at..at + 40]).collect();
        let running = scripts.iter().filter(|script| !script.contains("application/json")).count();
        assert_eq!(running, 1, "{name}: {scripts:?}");
        for char in ['\u{202e}', '\u{200b}', '\u{7}', '\u{1b}', '\u{2028}'] {
            assert!(!page.contains(char), "{name}: {char:?}");
        }
        assert!(!body.contains(&"x".repeat(700)), "{name}");
    }
}

#[test]
fn a_page_reaches_for_nothing_and_is_small() {
    for (name, page) in pages().into_iter().chain(hostile_pages()) {
        assert!(page.contains("default-src 'none'"), "{name}");
        for outside in ["http://", "https://", "url(", "@import", "import(", "fetch(", "innerHTML"] {
            // The names of XML are no addresses that anything is fetched from.
            let page = page.replace("\"http://www.w3.org/2000/svg\"", "");
            let head = page.split("<main>").next().unwrap_or_default();
            let ours = head.to_owned() + page.rsplit("<script>").next().unwrap_or_default();
            assert!(!ours.contains(outside), "{name}: {outside}");
        }
        // A megabyte of an ordinary result; one of many CPUs has its JSON beside.
        assert!(body(&page).len() < 1 << 20 && page.len() < 5 << 20, "{name}: {} bytes", page.len());
    }
}

#[test]
fn a_page_begins_with_the_requests_and_says_what_makes_it_doubtful() {
    let mut served = samples::served();
    served.coverage.host_busy = Seen::Value(0.9);
    let page = run(&served, None);
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(at("a busy host") < at("<h2>Requests</h2>"));
    assert!(at("<h2>Requests</h2>") < at("<h2>Slow requests</h2>"));
    assert!(at("<h2>Slow requests</h2>") < at("<h2>What to change</h2>"));
    assert_eq!(page.matches("typical: mean of").count(), 1);
}

#[test]
fn titles_say_of_what_a_page_is() {
    let title =
        |page: &str| page.split("<title>").nth(1).unwrap().split("</title>").next().unwrap().to_owned();
    for (name, page) in pages() {
        let general = ["wake-up latency", "latency ladder", "two runs", "stress load", "a pair of the lab"];
        assert!(!general.contains(&title(&page).trim_end_matches(" - dwell")), "{name}");
    }
}

//! Every kept recording still gives the same account, diagnosis and page, and some the same JSON.
//!
//! `BLESS=1 cargo test -p dwell-golden` updates the files; review the diff.

use analyse::judge::causes::{self, Cause};
use dwell_golden::Case;
use model::ExplainedBy;
use report::Look;
use serde_json::Value;
use similar::TextDiff;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Recordings whose JSON is kept as well: of each tier, a window, waits of each kind. What the
/// others have is in their accounts, diagnoses and pages.
const JSON: &[&str] = &[
    "attach-busy",
    "counted-threads",
    "fsync",
    "hand-overs",
    "mutex",
    "page-faults",
    "perf-mutex",
    "proc-mutex",
    "serial-requests",
    "shell-pipeline",
];
/// Recordings with stacks, whose forms of code are compared as well, each with a function whose
/// lines are shown.
const CODE: &[(&str, &str)] = &[("stacks-c", "spin"), ("python-lines", "work"), ("attach-busy", "spin")];
/// Recordings whose pages are looked at over time: of each tier, of windows, of waits for each
/// reason.
const OVER_TIME: &[&str] = &[
    "attach-busy",
    "attach-perf",
    "cold-reads",
    "condvar",
    "fsync",
    "links",
    "locked-sleep",
    "looks",
    "mutex",
    "pages-again",
    "perf-mutex",
    "proc-mutex",
    "python-asyncio",
    "python-gil",
    "python-lines",
    "serial-requests",
    "shell-pipeline",
    "sleeps",
    "stacks-c",
    "tcp-loopback",
    "unix-sockets",
];
/// Lines of a diff that are shown of one file.
const DIFF_LINES: usize = 30;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings")
}

/// The files beside each other there.
fn files() -> BTreeSet<String> {
    let entries = fs::read_dir(directory()).expect("the recordings");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name")).collect()
}

/// The names of all recordings, in order.
fn names() -> BTreeSet<String> {
    files().iter().filter_map(|file| file.strip_suffix(".dwell").map(str::to_owned)).collect()
}

/// All forms of a recording, each with the name of its file.
fn forms(name: &str) -> Vec<(String, String)> {
    let path = directory().join(format!("{name}.dwell"));
    let case = Case::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut forms = case.forms();
    forms.retain(|(form, _)| *form != "json" || JSON.contains(&name));
    if let Some((_, function)) = CODE.iter().find(|(of, _)| *of == name) {
        forms.extend(case.code_forms(function));
    }
    forms.into_iter().map(|(form, text)| (format!("{name}.{form}"), text)).collect()
}

/// The diff between a file and its new text.
fn difference(file: &str, text: &str) -> Option<String> {
    let path = directory().join(file);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, text).expect("a golden file can be written");
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    if golden == text {
        return None;
    }
    let diff = TextDiff::from_lines(golden.as_str(), text).unified_diff().context_radius(1).to_string();
    let shown: Vec<&str> = diff.lines().take(DIFF_LINES).collect();
    Some(format!("{file} ({} lines of diff)\n{}", diff.lines().count(), shown.join("\n")))
}

#[test]
fn every_recording_gives_what_it_gave() {
    let names = names();
    assert!(names.len() >= 30, "{} recordings", names.len());
    let mut expected = BTreeSet::from(["README.md".to_owned()]);
    let mut differ = Vec::new();
    for name in &names {
        let forms = forms(name);
        assert!(forms == self::forms(name), "{name}: the same recording gives other bytes the second time");
        expected.insert(format!("{name}.dwell"));
        for (file, text) in forms {
            differ.extend(difference(&file, &text));
            expected.insert(file);
        }
    }
    assert!(
        differ.is_empty(),
        "{} files differ; BLESS=1 updates them\n{}",
        differ.len(),
        differ.join("\n\n")
    );
    assert_eq!(files(), expected, "each file is of a recording");
}

/// Each nanosecond of each recording has one explanation, and no finding has more than its share.
#[test]
fn what_explains_the_time_of_a_recording_sums_to_it() {
    let mut with_questions = 0;
    for name in names() {
        let case = Case::read(&directory().join(format!("{name}.dwell"))).expect("a recording");
        let (run, diagnosis) = (&case.result().run, &case.result().diagnosis);
        let Some(explained) = diagnosis.explained.value() else {
            assert!(
                run.coverage.notes.iter().any(|note| note.contains("older")),
                "{name}: nothing explains it"
            );
            continue;
        };
        let sum: u64 = explained.rows().iter().map(|row| row.ns).sum();
        assert_eq!(sum, run.whole_ns(), "{name}");
        let of = |by: &ExplainedBy| explained.rows().iter().filter(|row| row.by == *by).count();
        assert!(explained.rows().iter().all(|row| row.ns > 0 && of(&row.by) == 1), "{name}: a row twice");
        for (at, finding) in diagnosis.findings.iter().enumerate() {
            assert!(explained.of_finding(at) <= finding.share_ns.hi, "{name}: finding {at}");
        }
        with_questions += u32::from(explained.open_question.is_some());
    }
    assert!(with_questions > 0);
}

/// The sums of the rows of a table over time, each row slice, time, slice, time ….
fn sums(table: &Value) -> Vec<u64> {
    let rows = table["rows"].as_array().expect("rows");
    let sum = |row: &Value| -> u64 {
        let numbers = row.as_array().expect("a row");
        numbers.chunks(2).map(|pair| pair[1].as_u64().expect("a time")).sum()
    };
    rows.iter().map(sum).collect()
}

/// What a page restricts to a stretch of time is, of the whole run, no more than the whole run has;
/// and waits, functions and lines have times.
#[test]
fn what_pages_have_over_time_is_what_runs_have() {
    let (mut with_times, mut known_ns, mut whole_ns) = (0, 0, 0);
    let (mut with_functions, mut with_lines) = (0, 0);
    for name in OVER_TIME {
        let case = Case::read(&directory().join(format!("{name}.dwell"))).expect("a recording");
        let page = case.html();
        let data = page.split("class=\"times\" data-of=\"0\">").nth(1);
        let data = data.and_then(|rest| rest.split("</script>").next()).expect("times");
        let times: Value = serde_json::from_str(data).expect("JSON");
        let [out] = report::html::results(&page)[..] else { panic!("{name}: one result") };
        let run: Value = serde_json::from_str(out).expect("JSON");
        if times["waits"].is_object() {
            let sums = sums(&times["waits"]);
            let whole = run["waits"].as_array().expect("waits").iter();
            let whole: u64 = whole.map(|row| row["path_ns"].as_u64().expect("a time")).sum();
            let sum: u64 = sums.iter().sum();
            // Slices of a window are rounded.
            assert!(sum <= whole + whole / 1000, "{name}: waits on the path {sum} of {whole} ns");
            with_times += sums.iter().filter(|ns| **ns > 0).count();
            (known_ns, whole_ns) = (known_ns + sum, whole_ns + whole);
        }
        for (of, with) in [("functions", &mut with_functions), ("lines", &mut with_lines)] {
            if times[of].is_null() {
                continue;
            }
            *with += 1;
            let (total, all) = (sums(&times[of]["total"]), sums(&times[of]["all"])[0]);
            assert!(total.iter().all(|ns| *ns <= all), "{name}: {of} {total:?} of {all}");
            if times[of]["own"].is_object() {
                let own = sums(&times[of]["own"]);
                assert!(own.iter().sum::<u64>() <= all, "{name}: {of} themselves {own:?} of {all}");
                assert!(own.iter().zip(&total).all(|(own, total)| own <= total), "{name}: {of}");
            }
        }
    }
    // Small files of which there are many are one place of the path, and have none.
    assert!(with_times >= 20, "{with_times} rows of waits have times");
    assert!(known_ns > whole_ns / 5 * 4, "{known_ns} ns of {whole_ns} on the path have times");
    assert!(
        with_functions >= 8 && with_lines >= 5,
        "{with_functions} with functions, {with_lines} with lines"
    );
}

#[test]
fn a_kept_result_shows_what_its_run_showed() {
    let mut differ = Vec::new();
    for (name, with_stacks) in names().into_iter().flat_map(|name| [(name.clone(), true), (name, false)]) {
        let live = Case::read(&directory().join(format!("{name}.dwell"))).expect("it was read before");
        let kept = live.read_back(with_stacks).unwrap_or_else(|error| panic!("{name}: {error}"));
        let forms = live.forms().into_iter().zip(kept.forms());
        let code = [(&live, ""), (&kept, "")].map(|(case, function)| case.code_forms(function));
        let [live_code, kept_code] = code;
        let of_code = live_code.into_iter().zip(kept_code).filter(|_| with_stacks);
        for ((form, live), (_, stored)) in forms.chain(of_code) {
            let diff =
                TextDiff::from_lines(live.as_str(), &stored).unified_diff().context_radius(0).to_string();
            if !diff.is_empty() {
                differ.push(format!("{name}.{form}\n{diff}"));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn the_page_of_every_recording_fits_a_screen() {
    let mut too_large = Vec::new();
    for name in names() {
        let case = Case::read(&directory().join(format!("{name}.dwell"))).expect("it was read before");
        for (width, height) in [(80, 24), (80, 30), (100, 30), (120, 30), (200, 30), (140, 50)] {
            let page = case.screen(Look { width, colour: false, unicode: true, height });
            let lines = page.lines().count();
            let columns = page.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            if lines + 1 > usize::from(height) || columns > usize::from(width) {
                too_large.push(format!("{name} at {width}x{height}: {lines} lines of {columns}\n{page}"));
            }
        }
    }
    assert!(too_large.is_empty(), "{}", too_large.join("\n"));
}

#[test]
fn the_page_in_the_readme_is_that_of_a_recording() {
    let page = fs::read_to_string(directory().join("serial-requests.screen.txt")).expect("its page");
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).expect("the README");
    assert!(readme.contains(&page), "README.md has another page than\n{page}");
}

#[test]
fn the_index_names_every_recording_and_no_other() {
    let index = fs::read_to_string(directory().join("README.md")).expect("the index");
    let rows = index.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    assert_eq!(rows.map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>(), names());
}

/// Causes that no recording here shows: those of the corpus do.
const WITHOUT_RECORDING: [&str; 3] = ["blocked-event-loop", "pool-wait", "thread-spawning"];

/// The list of causes in the method, and the rows of its table.
const CAUSES: &str = "../../docs/method/causes.md";

/// A row for each cause in the registry, with the recordings that show it.
fn cause_rows() -> Vec<String> {
    let mut shown = BTreeMap::<String, Vec<String>>::new();
    for name in names() {
        let case = Case::read(&directory().join(format!("{name}.dwell"))).expect("it was read before");
        let ids: BTreeSet<_> =
            case.result().diagnosis.findings.iter().map(|finding| finding.cause.id.to_string()).collect();
        ids.into_iter().for_each(|id| shown.entry(id).or_default().push(format!("`{name}`")));
    }
    let row = |cause: &&Cause| {
        let tiers: Vec<_> = cause.tiers.iter().map(|tier| tier.name()).collect();
        let recordings = shown.get(&*cause.name.id).map(|names| names.join(", ")).unwrap_or_default();
        format!("| `{}` | {} | {} | {recordings} |", cause.name.id, tiers.join(", "), cause.manual.rule)
    };
    causes::ALL.iter().map(row).collect()
}

#[test]
fn the_list_of_causes_is_the_registry_and_each_has_a_recording() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(CAUSES);
    let page = fs::read_to_string(&path).expect("the list");
    let rows = cause_rows();
    let without: BTreeSet<_> =
        rows.iter().filter(|row| row.ends_with("|  |")).filter_map(|row| row.split('`').nth(1)).collect();
    assert_eq!(without, BTreeSet::from(WITHOUT_RECORDING), "causes that no recording shows");
    let (table, others): (Vec<_>, Vec<_>) = page.lines().partition(|line| line.starts_with("| `"));
    if table != rows && std::env::var_os("BLESS").is_some() {
        let head = others.iter().position(|line| line.starts_with("|---")).expect("the head of the table");
        let lines: Vec<&str> =
            [&others[..=head], &rows.iter().map(String::as_str).collect::<Vec<_>>(), &others[head + 1..]]
                .concat();
        fs::write(&path, lines.join("\n") + "\n").expect("the list can be written");
        return;
    }
    assert_eq!(table, rows, "BLESS=1 renews {CAUSES}");
}

/// The manual of all causes.
const MANUAL: &str = "../../docs/causes.md";

/// What `dwell explain` says, as a page.
fn manual() -> String {
    let mut page = "# The causes\n\nWhat `dwell run` looks for, and what `dwell explain CAUSE` prints. How \
                    findings are made and what\ntheir savings mean: [causes](method/causes.md), \
                    [predicted savings](method/prediction.md).\n"
        .to_owned();
    let mut causes: Vec<_> = causes::ALL.iter().collect();
    causes.sort_by_key(|cause| &cause.name);
    for cause in causes {
        page.push_str(&format!("\n## {}\n\n{}.\n", cause.name.id, capital(&cause.name.title)));
        for (heading, text) in cause.manual.paragraphs() {
            page.push_str(&format!("\n{}\n", wrapped(&format!("**{heading}.** {text}"))));
        }
        if !cause.explains.is_empty() {
            let others: Vec<_> = cause.explains.iter().map(|id| format!("`{id}`")).collect();
            page.push_str(&format!("\n{}\n", wrapped(&format!("**It explains** {}.", others.join(", ")))));
        }
    }
    page
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// In lines of a hundred columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 100 {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[test]
fn the_manual_of_causes_is_what_dwell_explains() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(MANUAL);
    let page = manual();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &page).expect("the manual can be written");
    }
    assert_eq!(fs::read_to_string(&path).expect("the manual"), page, "BLESS=1 renews {MANUAL}");
}

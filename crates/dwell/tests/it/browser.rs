//! Pages in a browser: Chromium opens them from the disk, without a network, and
//! `tests/browser/check.js` does what people do with them, and runs axe-core over them. And
//! speedscope, which is a page too, opens what is exported for it.
//!
//! `cargo xtask test` installs the browser, and the driver, axe-core and speedscope below
//! `target/browser`.

use crate::support::{dwell, fresh, scratch};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a program may call itself, its functions, its files and its peers.
const HOSTILE: &str =
    "</script><script>window.hacked=1</script><img src=x onerror=\"window.hacked=1\">\u{202e}'";

/// A directory of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A page of a kept result.
fn page(of: &Path) -> PathBuf {
    let page = fresh("page.html");
    let output =
        Command::new(dwell()).arg("report").arg(of).arg("-o").arg(&page).output().expect("dwell runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    page
}

/// The result, or that of a page, with all that a program names called so.
fn renamed(path: &Path) -> PathBuf {
    fn rename(value: &mut Value) {
        const NAMES: [&str; 9] =
            ["name", "process", "function", "file", "module", "remote", "local", "server", "title"];
        match value {
            Value::Object(object) => {
                for (key, value) in object.iter_mut() {
                    match value {
                        Value::String(text) if NAMES.contains(&key.as_str()) => HOSTILE.clone_into(text),
                        Value::Array(words) if ["command", "change"].contains(&key.as_str()) => {
                            words.fill(json!(HOSTILE));
                        }
                        value => rename(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(rename),
            _ => {}
        }
    }
    let text = fs::read_to_string(path).expect("a result");
    let inside = text.split("class=\"result\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let mut value = serde_json::from_str(inside.unwrap_or(&text)).expect("JSON");
    rename(&mut value);
    let renamed = fresh("renamed.json");
    fs::write(&renamed, value.to_string()).expect("written");
    renamed
}

/// The page that `--html` writes.
fn made(words: &[&str]) -> PathBuf {
    let page = fresh("made.html");
    let output = Command::new(dwell()).args(words).arg("--html").arg(&page).output().expect("dwell runs");
    assert!(output.status.success(), "{output:?}");
    page
}

/// Two commands that were compared.
fn compared() -> PathBuf {
    made(&["compare", "--pairs", "8", "--quiet", "true", "sleep 0.002"])
}

#[test]
fn pages_are_read_searched_zoomed_and_sorted_and_run_nothing_of_a_program() {
    let golden = repository("crates/golden/recordings");
    let samples = repository("crates/report/tests/samples");
    let vm = samples.join("wakes/vm.json");
    let vm = vm.to_str().expect("a plain path");
    let requests = golden.join("serial-requests.json");
    let hostile = renamed(&requests);
    let [plain, hostile_path] = [&requests, &hostile].map(|path| path.to_str().expect("a plain path"));
    let pages = [
        ("run", page(&golden.join("python-pipe.dwell")), "no known cause"),
        ("hostile", page(&hostile), "onerror"),
        ("lab pair", page(&renamed(&repository("docs/pages/lab-pair.html"))), "onerror"),
        ("run diff", made(&["diff", "--quiet", plain, hostile_path]), "onerror"),
        ("compare", compared(), "by 8 pairs"),
        ("wake", page(&samples.join("wakes/vm.json")), "maximum latency"),
        ("sheet", page(&repository("docs/pages/sheet.html")), "maximum latency"),
        ("ladder", page(&samples.join("ladders/vm.json")), "tlb-miss"),
        ("doctor", made(&["doctor"]), "for dwell wake"),
        ("diff", made(&["diff", "--quiet", vm, vm]), "B against A"),
        ("load", made(&["load", "cpu", "--for", "50ms", "--quiet"]), "CPU time"),
    ];
    let pages: Vec<Value> = pages
        .iter()
        .map(|(kind, file, says)| {
            let file = fs::canonicalize(file).expect("a page");
            json!({"kind": kind, "file": file.to_str().expect("a plain path"), "says": says})
        })
        .collect();
    let list = fresh("pages.json");
    fs::write(&list, json!(pages).to_string()).expect("written");
    let output = in_browser("check.js", &[&list]);
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
}

/// Runs a script of `tests/browser`.
fn in_browser(script: &str, arguments: &[&Path]) -> Output {
    let mut modules = scratch().ancestors().map(|above| above.join("browser/node_modules"));
    let modules = modules.find(|path| path.exists()).expect("cargo xtask test installs the driver");
    Command::new("timeout")
        .args(["-k", "5", "300", "node"])
        .arg(repository("crates/dwell/tests/browser").join(script))
        .arg("/usr/bin/chromium")
        .args(arguments)
        .env("NODE_PATH", &modules)
        .output()
        .expect("node runs")
}

/// A duration as speedscope shows it, `76.00ms (75%)`, in nanoseconds.
fn shown_ns(text: &str) -> f64 {
    let time = text.split(' ').next().unwrap_or_default();
    let end = time.find(|letter: char| letter.is_alphabetic()).expect("a unit");
    let (figure, unit) = time.split_at(end);
    let unit_ns = match unit {
        "ns" => 1.0,
        "\u{b5}s" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => panic!("{text}"),
    };
    figure.parse::<f64>().expect("a figure") * unit_ns
}

#[test]
fn speedscope_opens_an_export_and_has_all_of_its_time() {
    let recording = repository("crates/golden/recordings/python-pipe.dwell");
    let [file, script] = ["profile.json", "profile.js"].map(|name| scratch().join(name));
    let (export, out) = (Path::new("export"), Path::new("-o"));
    let format = [Path::new("--as"), Path::new("speedscope")];
    assert_eq!(said(&[export, &recording, format[0], format[1], out, &file]).0, Some(0));
    let written: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let profiles = written["profiles"].as_array().expect("profiles");
    let weights = profiles[0]["weights"].as_array().expect("weights");
    let whole_ns: f64 = weights.iter().map(|weight| weight.as_f64().expect("a number")).sum();

    let output = in_browser("speedscope.js", &[&file, &script]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let shown: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(shown["errors"], json!([]));
    assert_eq!(shown["title"], json!(format!("{} - speedscope", written["name"].as_str().expect("a name"))));
    assert_eq!(shown["chosen"], json!(format!("all threads (1/{})", profiles.len())));
    let rows = shown["rows"].as_array().expect("rows");
    let own_ns: f64 = rows.iter().map(|row| shown_ns(row[1].as_str().expect("text"))).sum();
    // It shows four figures or more of each.
    assert!((own_ns / whole_ns - 1.0).abs() < 1e-3, "{own_ns} ns of {whole_ns}");
    assert!(
        rows.iter().any(|row| row[2].as_str().is_some_and(|name| name.starts_with("[waiting: "))),
        "{text}"
    );
}

/// What dwell says and writes: its exit status, standard output and standard error.
fn said(arguments: &[&Path]) -> (Option<i32>, String, String) {
    let output = Command::new(dwell()).args(arguments).output().expect("dwell runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_page_gives_its_results_back() {
    let golden = repository("crates/golden/recordings");
    let json = golden.join("serial-requests.json");
    let (show, report, out) = (Path::new("show"), Path::new("report"), Path::new("-o"));
    let one = page(&json);
    let (status, text, errors) = said(&[show, &one]);
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    assert_eq!(text, said(&[show, &json]).1, "the page says what its JSON says");
    let by_show = fresh("by-show.html");
    assert_eq!(said(&[show, &json, Path::new("--html"), &by_show]).0, Some(0));
    assert_eq!(fs::read_to_string(by_show).unwrap(), fs::read_to_string(&one).unwrap());
    // A page of a page is the same page.
    assert_eq!(said(&[report, &one]).1, fs::read_to_string(&one).unwrap());
    // One of a recording has the JSON of that recording.
    let of_recording = fs::read_to_string(page(&golden.join("serial-requests.dwell"))).unwrap();
    let kept: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let inside =
        of_recording.split("class=\"result\">").nth(1).and_then(|rest| rest.split("</script>").next());
    assert_eq!(serde_json::from_str::<Value>(inside.expect("a result")).unwrap()["path"], kept["path"]);
    let both = fresh("both.html");
    let (status, ..) = said(&[report, &json, &golden.join("mutex.json"), out, &both]);
    assert_eq!(status, Some(0));
    let (status, text, _) = said(&[show, &both]);
    assert!(
        status == Some(0) && text.contains("causes_net.py") && text.matches("wall ").count() >= 2,
        "{text}"
    );
}

/// Each page of the documentation is named there with its size, and has a result in it.
#[test]
fn the_documentation_has_a_page_of_each_kind() {
    let pages = repository("docs/pages");
    let table = fs::read_to_string(pages.join("README.md")).expect("the list of pages");
    let mut names: Vec<String> = fs::read_dir(&pages)
        .expect("the pages")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .filter(|name| name.ends_with(".html"))
        .collect();
    names.sort_unstable();
    for kind in ["run", "compare", "wake", "sheet", "ladder", "lab", "lab-pair", "diff", "load", "doctor"] {
        assert!(names.contains(&format!("{kind}.html")), "no page of a {kind}");
    }
    for name in names {
        let file = pages.join(&name);
        let bytes = fs::metadata(&file).expect("a page").len().to_string();
        let thousands = format!("{},{}", &bytes[..bytes.len() - 3], &bytes[bytes.len() - 3..]);
        let row = table.lines().find(|line| line.contains(&format!("({name})")));
        assert!(
            row.is_some_and(|row| row.contains(&format!("| {thousands} |"))),
            "{name}: {thousands} bytes"
        );
        let (status, text, errors) = said(&[Path::new("show"), &file]);
        assert!(status == Some(0) && errors.is_empty() && !text.is_empty(), "{name}: {errors}");
    }
}

/// A page that dwell wrote on the day on which it began to write pages: its script is another one,
/// and fields that results have today are missing.
#[test]
fn a_page_of_an_older_dwell_is_shown_and_made_anew() {
    let old = repository("crates/report/tests/samples/first-page.html");
    let (status, text, errors) = said(&[Path::new("show"), &old]);
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    assert!(text.starts_with("$ ls /nowhere\nwall 1.677 ms"), "{text}");
    let anew = fs::read_to_string(page(&old)).unwrap();
    assert!(anew.contains("may sum to less than the stretch"), "the script is of this dwell");
    // Its figures are those of the old one.
    assert_eq!(said(&[Path::new("show"), &page(&old)]).1, text);
    let csv = |of: &Path| {
        said(
            &["export", "--as", "csv", "--table", "account"]
                .map(Path::new)
                .into_iter()
                .chain([of])
                .collect::<Vec<_>>(),
        )
    };
    let (status, account, _) = csv(&old);
    assert!(status == Some(0) && account.starts_with("state,ns,basis"), "{account}");
    assert_eq!(csv(&page(&old)).1, account);
}

#[test]
fn what_has_no_page_is_said() {
    let golden = repository("crates/golden/recordings");
    let (report, out) = (Path::new("report"), Path::new("-o"));
    let json = golden.join("serial-requests.json");
    let page = page(&json);
    let cut = fresh("cut.html");
    fs::write(&cut, &fs::read(&page).unwrap()[..60_000]).unwrap();
    let other = fresh("other.html");
    fs::write(&other, "<!DOCTYPE html><title>another page</title>").unwrap();
    let empty = fresh("empty.html");
    fs::write(&empty, "").unwrap();
    // 2 GiB of holes behind the head of a page.
    let huge = fresh("huge.html");
    fs::write(&huge, &fs::read(&page).unwrap()[..1000]).unwrap();
    fs::OpenOptions::new().write(true).open(&huge).unwrap().set_len(2 << 30).unwrap();
    let ladder = repository("crates/report/tests/samples/ladders/vm.json");
    let target = fresh("target.html");
    for (arguments, expected) in [
        (vec![report, Path::new("/no/such/file")], "there is no such file"),
        (vec![report, &cut], "a page without a result of dwell"),
        (vec![report, &other], "a page without a result of dwell"),
        (vec![report, &empty], "cannot read"),
        (vec![report, &huge], "it holds more than 256 MiB"),
        (vec![Path::new("show"), &huge], "it holds more than 256 MiB"),
        (vec![report, &json, &ladder, out, &target], "they cannot share a page"),
        (vec![report, &page, out, &page], "would be overwritten"),
    ] {
        let (status, text, errors) = said(&arguments);
        assert!(status == Some(125) && errors.contains(expected), "{arguments:?}: {errors}");
        assert_eq!(text, "", "{arguments:?}");
    }
    let _ = fs::remove_file(huge);
    assert!(!target.exists(), "nothing is left half written");
    assert!(fs::read(&page).unwrap().len() > 60_000, "the input is as it was");
}

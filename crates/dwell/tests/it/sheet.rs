//! `dwell wake --sheet` from outside: its cases in order, what is kept of them, and that it goes on
//! where it was killed.

use crate::support::{self, read_json, text};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Ordinary threads, seldom: what is tested is not how late they are.
const GENTLE: [&str; 5] = ["--policy", "other", "--interval", "2ms", "--no-spikes"];

fn wake(args: &[&str]) -> Command {
    let mut command = Command::new(support::dwell());
    command.arg("wake").args(args).stdin(Stdio::null());
    command.env("XDG_CACHE_HOME", support::scratch().join("no-cache"));
    command
}

/// A place of its own with a sheet of three short cases.
struct Place {
    dir: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let dir = support::fresh(name);
        fs::create_dir(&dir).unwrap();
        let sheet = json!({"name": "short", "cases": [
            {"name": "idle"},
            {"name": "cpu", "loads": ["cpu:threads=1"]},
            {"name": "sched", "loads": ["sched:groups=1,pairs=2", "irq:threads=1"]},
        ]});
        fs::write(dir.join("sheet"), sheet.to_string()).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).to_str().unwrap().to_owned()
    }

    fn begin(&self, length: &str) -> Command {
        let (sheet, result) = (self.path("sheet"), self.path("result"));
        let mut command = wake(&GENTLE);
        command.args(["--sheet", &sheet, "--for", length, "--json", &result, "--svg", "drawn", "--quiet"]);
        command.current_dir(&self.dir);
        command
    }

    /// Begins, and waits until this number of cases is kept.
    fn begun_and_kept(&self, cases: usize) -> Child {
        let child = self.begin("1s").stderr(Stdio::piped()).spawn().unwrap();
        let kept = self.dir.join("result.unfinished");
        let until = Instant::now() + Duration::from_secs(60);
        while !kept.exists() || read_json(&kept)["sheet"]["results"].as_array().unwrap().len() < cases {
            assert!(Instant::now() < until, "{cases} cases are kept");
            sleep(Duration::from_millis(10));
        }
        child
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Cases, and when each was measured.
fn results(sheet: &Value) -> Vec<(String, String)> {
    let cases = sheet["cases"].as_array().unwrap().iter();
    let results = sheet["results"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    cases.zip(results).map(|(case, result)| (text(&case["name"]), text(&result["started_at"]))).collect()
}

fn names(sheet: &Value) -> Vec<String> {
    results(sheet).into_iter().map(|(name, _)| name).collect()
}

fn refused(command: &mut Command, said: &str) {
    let output = command.output().unwrap();
    let error = text(&output.stderr);
    assert!(output.status.code() == Some(125) && error.contains(said), "{said:?} is not in {error:?}");
    assert!(output.stdout.is_empty() && !error.contains('\x1b'), "{error:?}");
}

#[test]
fn ones_own_cases_are_not_written_over() {
    let place = Place::new("own-cases");
    let sheet = place.path("sheet");
    let before = fs::read(&sheet).unwrap();
    refused(&mut wake(&["--sheet", &sheet, "--json", &sheet]), "is an input and would be overwritten");
    assert_eq!(fs::read(&sheet).unwrap(), before);
}

#[test]
fn all_cases_are_measured_in_order_each_under_its_loads() {
    let _alone = support::alone();
    let place = Place::new("sheet");
    let output: Output = place.begin("1s").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let sheet = read_json(&place.dir.join("result"));
    let errors = support::errors(&support::schema("dwell.wake-sheet/1"), &sheet);
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(names(&sheet), ["idle", "cpu", "sched"]);
    let loads = |at: usize| sheet["results"][at]["loads"].as_array().unwrap().len();
    assert_eq!([loads(0), loads(1), loads(2)], [0, 1, 2]);
    for result in sheet["results"].as_array().unwrap() {
        assert_eq!(result["interrupted"], false);
        assert!(result["all"]["cycles"].as_u64().unwrap() > 100, "{result}");
    }
    assert!(!place.dir.join("result.unfinished").exists());
}

#[test]
fn a_sheet_that_was_killed_goes_on_where_it_was() {
    let _alone = support::alone();
    let place = Place::new("killed");
    let mut child = place.begun_and_kept(1);
    let kept = place.path("result.unfinished");
    // Nobody else begins or goes on meanwhile; it is stopped, so that it is not done before they
    // have tried.
    assert!(Command::new("kill").args(["-STOP", &child.id().to_string()]).status().unwrap().success());
    let busy = format!("{kept:?} is being measured by process {}", child.id());
    refused(&mut wake(&["--resume", &kept]), &busy);
    refused(&mut place.begin("1s"), &busy);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = results(&read_json(Path::new(&kept))["sheet"]);
    assert!((1..3).contains(&before.len()), "{before:?}");
    // Nobody begins another one over it by mistake.
    refused(&mut place.begin("1s"), "is an unfinished sheet\ntry: dwell wake --resume");
    refused(&mut wake(&["--resume", &kept, "--json", &kept]), "two outputs are the same file");
    refused(
        &mut wake(&["--resume", &kept, "--junit", "x"]),
        "--junit needs a deadline: it writes the verdict\ntry: without --junit",
    );
    // Its first words are the same from elsewhere, and the result goes where it was
    // to go.
    let output = wake(&["--resume", &kept]).current_dir("/").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = format!("each case is kept when done; to resume: dwell wake --resume {kept:?}\n");
    assert_eq!(text(&output.stderr), said);
    assert!(place.dir.join("drawn").metadata().unwrap().len() > 1000);
    let sheet = read_json(&place.dir.join("result"));
    assert_eq!(names(&sheet), ["idle", "cpu", "sched"]);
    assert_eq!(results(&sheet)[..before.len()], before, "what had been measured is not measured again");
    assert_eq!(sheet["results"][2]["settings"]["asked"]["interval_ns"], 2_000_000);
    assert!(!Path::new(&kept).exists());
}

#[test]
fn what_went_nowhere_is_kept_and_the_newest_is_found() {
    let _alone = support::alone();
    let place = Place::new("nowhere");
    fs::write(place.dir.join("sheet"), r#"{"name": "one", "cases": [{"name": "idle"}]}"#).unwrap();
    let with = |args: &[&str]| {
        let output =
            wake(args).env("XDG_CACHE_HOME", place.path("cache")).current_dir(&place.dir).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let (status, error) = with(&["--resume"]);
    assert!(status == Some(125) && error.contains("no unfinished sheet of this host in"), "{error}");
    let measure = [&GENTLE[..], &["--sheet", "sheet", "--for", "200ms", "--quiet"]].concat();
    let (status, error) = with(&measure);
    assert!(status == Some(0) && error.contains("are kept; to write them: dwell wake --resume"), "{error}");
    let kept = || fs::read_dir(place.dir.join("cache/dwell")).unwrap().count();
    assert_eq!(kept(), 1);
    let (status, error) = with(&["--resume", "--json", "result"]);
    assert!(status == Some(0) && error.contains("cache/dwell/sheet-"), "{error}");
    assert_eq!((names(&read_json(&place.dir.join("result"))), kept()), (vec!["idle".to_owned()], 0));
}

#[test]
fn a_sheet_ended_by_a_signal_shows_what_there_is_and_says_how_to_go_on() {
    let _alone = support::alone();
    let place = Place::new("ended");
    let child = place.begun_and_kept(1);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(error.contains("of 3 cases were completed; to resume: dwell wake --resume"), "{error}");
    let shown = read_json(&place.dir.join("result"));
    assert!((1..=3).contains(&shown["results"].as_array().unwrap().len()));
    // Of a case that was ended nothing is kept.
    let kept = read_json(&place.dir.join("result.unfinished"));
    assert!(kept["sheet"]["results"].as_array().unwrap().iter().all(|result| result["interrupted"] == false));
}

#[test]
fn another_host_other_settings_and_bad_sheets_are_refused_before_anything_is_measured() {
    let place = Place::new("refused");
    let (sheet, kept) = (place.path("sheet"), place.path("result.unfinished"));
    for (content, said) in [
        ("tea", "is not a sheet: it is not JSON: expected ident at line 1 column 2\ntry: the format shown"),
        (r#"{"name": "x", "cases": []}"#, "0 cases"),
        ("{\"name\": \"x\", \"cases\": [{\"name\": \"a\", \"loads\": [\"\\u001b[31m\"]}]}", "unknown load"),
        (r#"{"name": "x", "cases": [{"name": "a", "loads": ["disk:dir=/no/such"]}]}"#, "/no/such"),
    ] {
        fs::write(&sheet, content).unwrap();
        refused(&mut place.begin("1s"), said);
        assert!(!Path::new(&kept).exists() && !place.dir.join("result").exists(), "{content}");
    }
    refused(&mut wake(&["--sheet", &place.path("none")]), "cannot read");
    refused(&mut wake(&["--resume", &place.path("none")]), "cannot read");
    refused(&mut wake(&["--resume", &sheet]), "not a sheet that can be resumed");
    refused(&mut wake(&["--resume", &kept, "--interval", "1ms"]), "cannot be used with");
    refused(&mut wake(&["--sheet", &sheet, "--load", "cpu"]), "cannot be used with");
    refused(&mut wake(&["--sheet", "--cpus", "4000"]), "4000");
}

#[test]
fn what_was_begun_elsewhere_is_not_gone_on_with() {
    let _alone = support::alone();
    let place = Place::new("elsewhere");
    let mut child = place.begun_and_kept(1);
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = place.path("result.unfinished");
    let mut changed = read_json(Path::new(&kept));
    changed["host"]["kernel"] = json!("2.6.32\u{1b}[31m");
    fs::write(&kept, changed.to_string()).unwrap();
    refused(&mut wake(&["--resume", &kept]), "another kernel (2.6.32");
    // It says which files are written: nobody writes those of another.
    std::os::unix::fs::chown(&kept, Some(65534), None).unwrap();
    refused(&mut wake(&["--resume", &kept]), "is of another user (65534)");
    std::os::unix::fs::chown(&kept, Some(0), None).unwrap();
    // It is still there, and what was measured can be had.
    assert_eq!(read_json(Path::new(&kept)), changed);
    let diff = Command::new(support::dwell()).args(["diff", &kept, &kept]).output().unwrap();
    assert!(diff.status.success() && text(&diff.stdout).contains("idle"), "{}", text(&diff.stderr));
}

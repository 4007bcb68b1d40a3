//! The recipe for a CI in `docs/ci.md`: its script, as it stands there, in a repository with a fast
//! and a slow revision. Its exit statuses are those it promises, and its artefacts can be read.

use crate::support;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A block of the recipe in this language, the first one.
fn block(language: &str) -> String {
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci.md");
    let recipe = fs::read_to_string(recipe).expect("the recipe is there");
    let from = format!("```{language}\n");
    let (_, block) = recipe.split_once(&from).unwrap_or_else(|| panic!("no block of {language}"));
    block.split_once("```").expect("a block ends").0.to_owned()
}

/// The command of the job that runs the script.
fn job() -> String {
    let job = block("yaml");
    let runs = job.lines().filter_map(|line| line.trim().strip_prefix("- run: "));
    let runs: Vec<&str> = runs.collect();
    assert_eq!(runs.len(), 1, "{job}");
    runs[0].to_owned()
}

/// What the job keeps.
fn artefacts() -> Vec<String> {
    let job = block("yaml");
    let (_, paths) = job.split_once("path: |\n").expect("the job keeps files");
    paths.lines().map(|line| line.trim().to_owned()).collect()
}

/// A repository with the script, whose commits sleep for a shorter and a longer time.
struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        fs::create_dir(repository.tree()).unwrap();
        repository.git(&["init", "--quiet"]);
        fs::write(repository.tree().join(".gitignore"), "prog\nperf\n").unwrap();
        fs::write(repository.tree().join("perf.sh"), block("sh")).unwrap();
        for (tag, us) in [("fast", 10_000), ("slow", 30_000)] {
            let source = format!("#include <unistd.h>\nint main(void) {{ return usleep({us}); }}\n");
            fs::write(repository.tree().join("prog.c"), source).unwrap();
            repository.git(&["add", "."]);
            repository.git(&["commit", "--quiet", "--message", tag]);
            repository.git(&["tag", tag]);
        }
        repository
    }

    fn tree(&self) -> PathBuf {
        self.0.path().join("tree")
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]);
        support::kit::done(git.args(args).current_dir(self.tree()));
    }

    /// The job with these settings: its exit status, and what it said.
    fn runs(&self, settings: &[(&str, &str)]) -> (Option<i32>, String) {
        let perf = self.tree().join("perf");
        let _ = fs::remove_dir_all(&perf);
        let dwell = Path::new(support::dwell()).parent().expect("in a directory");
        let path = format!("{}:{}", dwell.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("timeout");
        shell.args(["-k", "5", "60", "sh", "-c", &job()]).current_dir(self.tree());
        shell.env("PATH", path).env("XDG_CACHE_HOME", self.0.path().join("cache"));
        shell.envs([("BUILD", "cc -o prog prog.c"), ("COMMAND", "./prog")]);
        let output = shell.envs(settings.iter().copied()).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), said)
    }

    fn json(&self, name: &str) -> Value {
        let path = self.tree().join("perf").join(format!("{name}.json"));
        let value = support::read_json(&path);
        let errors = support::errors(&support::schema(&format!("dwell.{name}/1")), &value);
        assert!(errors.is_empty(), "{errors:#?}");
        value
    }
}

/// Settings under which a machine of any load tells the two revisions apart, and meets a deadline.
const PLAIN: [(&str, &str); 5] =
    [("SLOWER", "30%"), ("AT_MOST", "20s"), ("DEADLINE", "1s"), ("ONE_IN", "100ms"), ("FOR", "600ms")];

/// The exit status of the job; the base, and settings beside the plain ones; the verdict of the
/// comparison, and the answer to the deadline.
type Case = (i32, &'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);

#[test]
fn the_job_passes_fails_and_leaves_it_undecided_with_its_artefacts() {
    let repository = Repository::new();
    // The tree is the slow one.
    let cases: [Case; 3] = [
        (0, "slow", &[], "same", "pass"),
        (1, "fast", &[("DEADLINE", "100ns")], "slower", "fail"),
        (2, "fast", &[("AT_MOST", "1ms"), ("ONE_IN", "1h")], "undecided", "undecided"),
    ];
    for (status, base, settings, compared, woken) in cases {
        let settings = [&PLAIN[..], &[("BASE", base)], settings].concat();
        let (ended, said) = repository.runs(&settings);
        assert_eq!(ended, Some(status), "{settings:?}: {said}");
        let perf = repository.tree().join("perf");
        let text = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        for path in artefacts() {
            let path = repository.tree().join(path);
            let text = text(&path);
            match path.extension().and_then(|name| name.to_str()) {
                Some("html") => assert!(text.starts_with("<!doctype html>"), "{path:?}"),
                Some("json") => drop(serde_json::from_str::<Value>(&text).unwrap()),
                Some("txt") => {
                    assert!(text.contains("./prog (rev=.)") || text.contains("oldest first"), "{text}")
                }
                Some("xml") => drop(roxmltree::Document::parse(&text).unwrap()),
                _ => panic!("{path:?} is of no kind that is checked"),
            }
        }
        let (compare, wake) = (repository.json("compare"), repository.json("wake"));
        // How far apart equal commands are does not decide within a time; that none is slower does.
        let verdict = compare["comparisons"][0]["verdict"].as_str().unwrap();
        assert!(verdict == compared || (compared == "same" && verdict != "slower"), "{verdict}: {said}");
        assert_eq!(compare["commands"][1]["parameters"], serde_json::json!([["rev", "."]]));
        assert_eq!(wake["verdict"]["answer"], woken, "{said}");
        // JUnit has a test for each CPU, with the same answer.
        let xml = text(&perf.join("wake.xml"));
        let xml = roxmltree::Document::parse(&xml).unwrap();
        let count = |name| xml.descendants().filter(|node| node.has_tag_name(name)).count();
        let [failures, errors] = ["failure", "error"].map(count);
        assert_eq!((failures > 0, errors > 0), (woken == "fail", woken == "undecided"), "{said}");
        assert!(count("testcase") > 0);
        // The page has the result in it.
        let mut show = Command::new(support::dwell());
        let shown = show.arg("show").arg(perf.join("compare.html")).args(["--json", "-"]).output().unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&shown.stdout).unwrap(), compare);
    }
    let (ended, said) = repository.runs(&[&PLAIN[..], &[("BASE", "no-such-revision")]].concat());
    assert!(ended == Some(125) && said.contains("is no revision of"), "{ended:?}: {said}");
    let (ended, said) = repository.runs(&[&PLAIN[..], &[("BASE", "fast"), ("BUILD", "exit 3")]].concat());
    assert!(ended == Some(125) && said.contains("the build of"), "{ended:?}: {said}");
}

#[test]
fn the_script_says_how_it_is_called() {
    let script = support::fresh("perf.sh");
    fs::write(&script, block("sh")).unwrap();
    let output = Command::new("sh").arg(&script).output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("usage: perf.sh BASE"), "{said}");
}

//! `dwell compare --rev` with real repositories: what is built and kept, who may write there, and
//! the message where it cannot work.

use crate::support::{self, text};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Notes each build in a file beside the repository.
const BUILD: &str = "echo built >> \"$NOTES\" && mkdir -p out && cp prog.sh out/prog && chmod +x out/prog";

/// A repository with two commits, tagged `fast` and `slow`, and a cache directory of its own.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.repository()).unwrap();
        place.git(&["init", "--quiet"]);
        fs::write(place.file("repository/.gitignore"), "out\n").unwrap();
        for (tag, sleep) in [("fast", "0.01"), ("slow", "0.02")] {
            place.program(sleep);
            place.git(&["add", "."]);
            place.git(&["commit", "--quiet", "--message", tag]);
            place.git(&["tag", tag]);
        }
        place
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn repository(&self) -> PathBuf {
        self.file("repository")
    }

    /// Writes the program, which is not committed.
    fn program(&self, sleep: &str) {
        fs::write(self.file("repository/prog.sh"), format!("#!/bin/sh\nsleep {sleep}\n")).unwrap();
    }

    fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]).args(args);
        let done = git.current_dir(self.repository()).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
        text(&done.stdout)
    }

    fn compare(&self, args: &[&str]) -> Command {
        let mut compare = Command::new(support::dwell());
        compare.args(["compare", "--no-why"]).args(args).stdin(Stdio::null());
        compare.current_dir(self.repository()).env("NOTES", self.file("notes"));
        compare.env("XDG_CACHE_HOME", self.file("cache"));
        compare
    }

    fn said(&self, args: &[&str]) -> Output {
        self.compare(args).output().unwrap()
    }

    /// The result of a comparison of `out/prog` in these revisions: this many pairs as tell one
    /// sleep from one twice as long also on a busy machine.
    fn json(&self, revisions: &[&str]) -> Value {
        let revisions = revisions.iter().flat_map(|revision| ["--rev", revision]);
        let rest = ["--pairs", "24", "--build", BUILD, "--json", "-", "out/prog"];
        let args: Vec<&str> = revisions.chain(rest).collect();
        let output = self.said(&args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let errors = support::errors(&support::schema("dwell.compare/1"), &value);
        assert!(errors.is_empty(), "{errors:#?}");
        value
    }

    /// How it fails.
    fn fails(&self, args: &[&str]) -> String {
        let output = self.said(args);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(125), ""), "{args:?}");
        text(&output.stderr)
    }

    fn builds(&self) -> usize {
        fs::read_to_string(self.file("notes")).unwrap_or_default().lines().count()
    }

    /// The tree of a revision.
    fn kept(&self, revision: &str) -> PathBuf {
        let commit = self.git(&["rev-parse", revision]);
        let below = self.file("cache/dwell/revisions");
        fs::read_dir(below).unwrap().next().unwrap().unwrap().path().join(commit.trim())
    }
}

fn verdict(said: &Value) -> &str {
    said["comparisons"][0]["verdict"].as_str().unwrap()
}

#[test]
fn the_slower_revision_is_found_and_builds_are_kept_by_commit() {
    let place = Place::new();
    let said = place.json(&["fast", "slow"]);
    assert_eq!(verdict(&said), "slower", "{said}");
    assert_eq!(said["commands"][0]["name"], "out/prog (rev=fast)");
    assert_eq!(said["commands"][1]["parameters"], serde_json::json!([["rev", "slow"]]));
    assert_eq!(place.builds(), 2);
    // By any name, and the other way round: nothing is built again.
    let said = place.json(&["HEAD", "HEAD~1"]);
    assert_eq!((verdict(&said), place.builds()), ("faster", 2), "{said}");
    // The repository is as it was, but for the trees that are kept.
    assert_eq!(place.git(&["status", "--porcelain", "--ignored"]), "");
    let listed = place.git(&["worktree", "list", "--porcelain"]);
    let listed: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix("worktree ")).collect();
    let [_, kept @ ..] = &listed[..] else { panic!("{listed:?}") };
    let mut expected = [place.kept("fast"), place.kept("slow")].map(|path| path.canonicalize().unwrap());
    expected.sort_unstable();
    let mut kept: Vec<PathBuf> = kept.iter().map(PathBuf::from).collect();
    kept.sort_unstable();
    assert_eq!(kept, expected);
}

#[test]
fn the_tree_as_it_is_has_what_is_not_committed_and_is_built_each_time() {
    let place = Place::new();
    // The last commit is the slow one.
    place.program("0.005");
    let said = place.json(&["fast", "."]);
    assert_eq!(verdict(&said), "faster", "{said}");
    assert_eq!(place.builds(), 2);
    place.program("0.03");
    let said = place.json(&["fast", "."]);
    assert_eq!((verdict(&said), place.builds()), ("slower", 3), "{said}");
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 2);
}

#[test]
fn a_tree_that_was_removed_or_not_made_whole_is_made_again() {
    let place = Place::new();
    let pairs = |build: &str| {
        let args = ["-q", "--pairs", "1", "--rev", "fast", "--rev", "slow", "--build", build, "./out/prog"];
        let output = place.said(&args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        place.builds()
    };
    assert_eq!(pairs(BUILD), 2);
    // By hand, with and without telling git.
    fs::remove_dir_all(place.kept("fast")).unwrap();
    assert_eq!(pairs(BUILD), 3);
    place.git(&["worktree", "remove", "--force", place.kept("slow").to_str().unwrap()]);
    assert_eq!(pairs(BUILD), 4);
    // As a checkout leaves it that was killed: in git's list, locked, without its files.
    let kept = place.kept("fast");
    fs::remove_file(kept.join("prog.sh")).unwrap();
    fs::remove_file(kept.with_extension("built")).unwrap();
    assert_eq!(pairs(BUILD), 5);
    place.git(&["worktree", "lock", kept.to_str().unwrap()]);
    fs::remove_dir_all(&kept).unwrap();
    assert_eq!(pairs(BUILD), 6);
    // A build by another command is another one.
    assert_eq!(pairs(&format!("{BUILD} && true")), 8);
}

#[test]
fn a_tree_is_not_built_again_while_another_comparison_runs_in_it() {
    let place = Place::new();
    let (begun, go_on) = (place.file("begun"), place.file("go-on"));
    let waits = format!(
        "sh -c 'touch {}; for i in $(seq 6000); do [ -e {} ] && exit; sleep 0.01; done' {{rev}}",
        begun.display(),
        go_on.display()
    );
    let args = |build| ["-q", "--pairs", "1", "--rev", "fast", "--rev", "slow", "--build", build];
    let within = |mut command: Command, words: &str| {
        command.arg(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut first = within(place.compare(&args(BUILD)), &waits);
    for _ in 0..3000 {
        if begun.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(place.builds(), 2);
    let other = format!("{BUILD} && true");
    let mut second = within(place.compare(&args(&other)), "./out/prog");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!((place.builds(), second.try_wait().unwrap()), (2, None));
    fs::write(&go_on, "").unwrap();
    assert!(first.wait().unwrap().success() && second.wait().unwrap().success());
    assert_eq!(place.builds(), 4);
}

#[test]
fn a_comparison_in_a_hook_leaves_the_index_of_the_commit_alone() {
    let place = Place::new();
    let args = [
        "-q",
        "--pairs",
        "1",
        "--rev",
        "fast",
        "--rev",
        "slow",
        "--build",
        "git status && cp prog.sh p && chmod +x p",
        "./p",
    ];
    let git = place.repository().join(".git");
    let mut compare = place.compare(&args);
    compare.env("GIT_DIR", &git).env("GIT_INDEX_FILE", git.join("index")).env("GIT_PREFIX", "");
    let index = fs::read(git.join("index")).unwrap();
    let output = compare.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(fs::read(git.join("index")).unwrap(), index);
    assert_eq!(place.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_cannot_be_built_is_named_with_a_remedy() {
    let place = Place::new();
    let revisions = ["--rev", "fast", "--rev", "slow"];
    let with = |more: &[&'static str]| [&revisions[..], more].concat();
    let said = place.fails(&with(&["--build", "echo why it failed >&2; exit 3", "out/prog"]));
    assert!(said.starts_with("why it failed\n") && said.contains("the build of \"fast\" failed"), "{said}");
    assert!(
        said.contains("exit status: 3") && said.contains("try: cd ") && said.contains(" && echo why"),
        "{said}"
    );
    // Nothing of it counts as built.
    assert_eq!(place.builds(), 0);
    place.json(&["fast", "slow"]);
    assert_eq!(place.builds(), 2);

    let said = place.fails(&["--rev", "fast", "--rev", "no-such-branch", "out/prog"]);
    assert!(
        said.contains("\"no-such-branch\" is no revision of") && said.contains("try: a branch"),
        "{said}"
    );
    let said = place.fails(&["--rev", "fast", "--rev=--help", "out/prog"]);
    assert!(said.contains("\"--help\" is no revision of"), "{said}");

    let outside = tempfile::tempdir().unwrap();
    let mut compare = place.compare(&with(&["out/prog"]));
    let output = compare.current_dir(outside.path()).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(125) && said.contains("needs a repository of git: "), "{said}");
    assert!(said.contains("not a git repository") && said.contains("\ntry: cd to one"), "{said}");

    let output = place.compare(&with(&["out/prog"])).env("PATH", outside.path()).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(125) && said.contains("cannot run git: "), "{said}");
    assert!(said.contains("\ntry: install git, or compare without --rev"), "{said}");
}

#[test]
fn a_build_is_not_kept_where_others_could_put_theirs() {
    let place = Place::new();
    let args = ["-q", "--pairs", "1", "--rev", "fast", "--rev", "slow", "--build", BUILD, "./out/prog"];
    assert_eq!(place.said(&args).status.code(), Some(0));
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    let kept = place.kept("fast");
    for (path, bits) in [(kept.parent().unwrap(), 0o775), (&place.file("cache"), 0o777)] {
        mode(path, bits);
        let said = place.fails(&args);
        assert!(said.contains(&format!("its mode is {bits:o}")), "{said}");
        assert!(said.contains("try: XDG_CACHE_HOME set to a directory that only you can write to"), "{said}");
        mode(path, 0o700);
    }
    assert_eq!((place.said(&args).status.code(), place.builds()), (Some(0), 2));
}

//! The store of results from outside: what is kept and found again, by whom, and what becomes of a
//! run whose result cannot be kept. Other tools make what dwell cannot make itself: a lock, a newer
//! store, a file system without locks.

use crate::support::{self, text};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const NOBODY: u32 = 65_534;

/// A home directory, and the store in it.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::set_permissions(home.0.path(), Permissions::from_mode(0o755)).unwrap();
        home
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn store(&self) -> PathBuf {
        self.at(".local/share/dwell/results.sqlite")
    }

    /// dwell of the user whose home this is, which keeps what it finds.
    fn dwell(&self, words: &[&str]) -> Command {
        self.within(&[], words)
    }

    /// The command, started by another one.
    fn within(&self, before: &[&str], words: &[&str]) -> Command {
        let all = [&["timeout", "-k", "5", "60"], before, &[support::dwell()], words].concat();
        let mut command = Command::new(all[0]);
        command.args(&all[1..]).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("HOME", self.0.path());
        for name in ["XDG_DATA_HOME", "DWELL_STORE", "SUDO_UID", "SUDO_GID"] {
            command.env_remove(name);
        }
        command
    }

    fn out(&self, words: &[&str]) -> String {
        let output = self.dwell(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The lines of `dwell list`, without the line of heads.
    fn list(&self, more: &[&str]) -> Vec<String> {
        let listed = self.out(&[&["list", "--width", "120"], more].concat());
        listed.lines().skip(1).map(str::to_owned).collect()
    }

    fn refused(&self, words: &[&str]) -> String {
        let output = self.dwell(words).output().unwrap();
        assert!(!output.status.success(), "{words:?}: {}", text(&output.stdout));
        text(&output.stderr)
    }
}

/// What is shown is what is kept: the page of a run is that of its result, with its stacks.
#[test]
fn the_last_result_is_shown_as_its_run_was() {
    let home = Home::new();
    let script = "import os\nfor n in range(300): open('f', 'w').write(str(sum(range(n * 50)))); os.sync()";
    for words in [&["python3", "-c", script][..], &["sh", "-c", "ls -lR /usr/lib > list; sort list | md5sum"]]
    {
        let live = home.dwell(&[&["run", "--width", "100", "--"], words].concat()).output().unwrap();
        assert!(live.status.success(), "{}", text(&live.stderr));
        let page = text(&live.stderr);
        assert_eq!(home.out(&["show", "last", "--width", "100"]), page);
        let json = home.at("last.json");
        home.out(&["show", "last", "--json", json.to_str().unwrap()]);
        assert_eq!(home.out(&["show", json.to_str().unwrap(), "--width", "100"]), page);
        assert!(home.out(&["show", "last", "--flame"]).contains("md5sum") || words[0] == "python3");
        assert!(home.out(&["export", "last", "--as", "folded"]).lines().count() > 3);
        let whole = home.at("whole.json");
        home.out(&["export", "last", "--as", "json", "-o", whole.to_str().unwrap()]);
        let with_stacks = ["--flame", "--width", "100"];
        let of = |name: &str| home.out(&[&["show", name][..], &with_stacks].concat());
        assert_eq!(of(whole.to_str().unwrap()), of("last"));
        let all = home.out(&["show", "last", "-v", "--causes", "--width", "100"]);
        let html = home.at("last.html");
        home.out(&["report", "last", "-o", html.to_str().unwrap()]);
        assert_eq!(home.out(&["show", html.to_str().unwrap(), "-v", "--causes", "--width", "100"]), all);
    }
}

/// The recording has what was found when it was made: rules of a later version say so where they
/// find something else.
#[test]
fn a_recording_that_is_judged_otherwise_says_so() {
    let home = Home::new();
    let (kept, other) = (home.at("kept.dwell"), home.at("other.dwell"));
    let program = ["sh", "-c", "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do sync; done"];
    let words = [&["run", "-q", "--keep", kept.to_str().unwrap(), "--"][..], &program].concat();
    assert!(home.dwell(&words).status().unwrap().success());
    let show = |path: &Path| {
        let shown = home.dwell(&["show", path.to_str().unwrap(), "-v"]).output().unwrap();
        (text(&shown.stdout), text(&shown.stderr))
    };
    let (page, said) = show(&kept);
    assert!(said.is_empty() && !page.contains("of this version"), "{said}{page}");
    let mut reader = store::Reader::open(&kept).unwrap();
    let mut writer = store::Writer::create(&other, reader.header(), u64::MAX).unwrap();
    reader.by_ref().for_each(|event| writer.event(&event));
    writer.end(&reader.end().trailer.unwrap());
    writer
        .finish(Some(r#"{"causes":[["busy-wait",{"lo":1000000,"hi":2000000}],["\u001b[31mred",null]]}"#))
        .unwrap();
    let (page, said) = show(&other);
    let words = "found busy-wait (saves 1.00–2.00 ms), ";
    assert!(
        said.contains(words) && said.contains("rules of this version") && !said.contains('\u{1b}'),
        "{said}"
    );
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("rules of this version"), "{page}");
}

/// The same of every other verb that keeps something.
#[test]
fn what_a_verb_found_is_shown_as_it_was_found() {
    let home = Home::new();
    let mut sleeps = Command::new("sleep").arg("60").spawn().unwrap();
    let asleep = sleeps.id().to_string();
    for words in [
        &["attach", &asleep, "--for", "200ms"][..],
        &["compare", "--runs", "3", "true", "sleep 0.01"],
        &["wake", "--for", "200ms"],
        &["load", "cpu", "--for", "100ms"],
        &["ladder", "--quick", "--only", "core"],
        &["lab", "small-files", "--size", "300"],
        &["doctor"],
    ] {
        for more in [&["--width", "100"][..], &["--width", "70", "-v"]] {
            let live = home.dwell(&[words, more].concat()).output().unwrap();
            assert!(live.status.success(), "{words:?}: {}", text(&live.stderr));
            let page = text(&live.stdout);
            assert!(page.lines().count() > 2, "{words:?}: {page}");
            assert_eq!(home.out(&[&["show", "last"], more].concat()), page, "{words:?}");
        }
    }
    sleeps.kill().unwrap();
    sleeps.wait().unwrap();
    let (json, html) = (home.at("trend.json"), home.at("trend.html"));
    let (json, html) = (json.to_str().unwrap(), html.to_str().unwrap());
    let page = home.out(&["list", "--trend", "true", "--width", "100"]);
    home.out(&["list", "--trend", "true", "--json", json]);
    assert_eq!(home.out(&["show", json, "--width", "100"]), page);
    home.out(&["report", json, "-o", html]);
    assert_eq!(home.out(&["show", html, "--width", "100"]), page);
    assert_eq!(home.out(&["export", json, "--as", "csv", "--table", "results"]).lines().count(), 1 + 2);
}

fn id(line: &str) -> &str {
    line.split(' ').next().unwrap()
}

/// Runs SQL, with the SQLite that Python has.
fn sql(path: &Path, lines: &str) {
    let script =
        "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.executescript(sys.argv[2])\nc.close()";
    support::kit::done(Command::new(support::python()).args(["-c", script]).arg(path).arg(lines));
}

/// The program's status is dwell's, and that its result is not kept is one line, with this in it.
fn costs_one_line(output: &Output, says: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.len() == 1 && lines[0].starts_with("dwell: the result is not kept: "), "{said}");
    assert!(lines[0].contains(says), "{says:?} is not in {said}");
}

/// A program that ends with 7, under a dwell that prints nothing of its own.
const SEVEN: &[&str] = &["run", "-q", "--", "sh", "-c", "exit 7"];

#[test]
fn what_verbs_find_is_kept_and_found_again() {
    let home = Home::new();
    assert!(home.refused(&["list"]).contains("no result was kept yet"));
    assert!(!home.store().exists(), "looking makes none");
    for words in [
        &["run", "-q", "--", "sh", "-c", "exit 0", "first one"][..],
        &["run", "-q", "--keep", "kept.dwell", "true"],
        &["load", "cpu", "--for", "100ms", "-q"],
        &["ladder", "--quick", "--only", "cycle", "-q"],
        &["compare", "-q", "--no-why", "--pairs", "2", "true", "true"],
    ] {
        home.dwell(words).output().unwrap();
    }
    let lines = home.list(&[]);
    let verbs: Vec<_> = lines.iter().map(|line| line[28..].split(' ').next().unwrap()).collect();
    assert_eq!(verbs, ["compare", "ladder", "load", "run", "run"], "{lines:#?}");
    assert!(lines[4].contains("sh -c 'exit 0' 'first one'"), "{lines:#?}");
    // Its columns are asked for.
    assert_eq!(home.list(&["--verb", "run", "--command", "FIRST"]), lines[4..]);
    assert_eq!(home.list(&["-n", "1"])[0], lines[0]);
    assert_eq!(home.list(&["--since", "1h"]), lines);
    assert!(home.out(&["list", "--since", "2999-01-01"]).contains("no such result"));
    // By each of its names, and as the JSON that --json would have written.
    let last = id(&lines[4]);
    for name in ["last-4", last, &last[..6], &last.to_uppercase()] {
        assert!(home.out(&["show", name]).contains("$ sh -c 'exit 0' 'first one'"), "{name}");
    }
    let json: serde_json::Value = serde_json::from_str(&home.out(&["show", last, "--json", "-"])).unwrap();
    assert_eq!(json["command"][3], "first one");
    assert!(home.out(&["show", "last-1"]).contains("cycle") && !home.out(&["show", "last-2"]).is_empty());
    let diff = home.out(&["diff", "last-4", "last-3"]);
    assert!(diff.contains("differs: command"), "{diff}");
    // The recording is there without its file, and so is all that can be made of it.
    fs::remove_file(home.at("kept.dwell")).unwrap();
    assert!(lines[3].contains(" + true"), "{lines:#?}");
    assert!(home.out(&["show", "last-3", "--flame"]).contains("call tree"));
    home.out(&["show", "last-3", "--what-if", "cpus=8"]);
    // A file of that name is that file.
    fs::write(home.at("last"), "{}").unwrap();
    assert!(home.refused(&["show", "last"]).contains("has no \"schema\""));
    for entry in fs::read_dir(home.store().parent().unwrap()).unwrap().flatten() {
        assert_eq!(entry.metadata().unwrap().mode() & 0o077, 0, "{:?}", entry.path());
    }
    assert!(home.out(&["store", "--check"]).contains("everything in it is whole"));
}

/// Counts a function, since a whole program is stepped for long. `hits.rs` has Pythons that can be
/// counted.
#[test]
fn exact_counts_and_what_works_here_are_kept_like_others() {
    let home = Home::new();
    fs::write(
        home.at("f.c"),
        "int f(int n) { int s = 0; while (n--) s += n; return s; } int main(void) { return f(9) - 36; }",
    )
    .unwrap();
    support::kit::done(Command::new("cc").args(["-O0", "-o", "f", "f.c"]).current_dir(home.0.path()));
    home.out(&["run", "--count-blocks=f", "-o", "f.txt", "--json", "f.json", "--", "./f"]);
    home.out(&["doctor", "-v"]);
    let lines = home.list(&[]);
    assert!(lines.len() == 2 && lines[0].contains("doctor"), "{lines:#?}");
    assert!(lines[1].contains(" run ") && lines[1].ends_with("--count-blocks=f ./f"), "{lines:#?}");
    let page = fs::read_to_string(home.at("f.txt")).unwrap();
    assert!(page.starts_with("f in ./f, "), "{page}");
    assert_eq!(home.out(&["show", "last-1"]), page);
    assert!(home.out(&["show", "last"]).contains("For dwell wake"));
    let json: serde_json::Value = serde_json::from_slice(&fs::read(home.at("f.json")).unwrap()).unwrap();
    let broken = support::errors(&support::schema("dwell.blocks/1"), &json);
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(json["listings"][0]["executed"], json["steps"], "{json:#}");
    let shown: serde_json::Value =
        serde_json::from_str(&home.out(&["show", "last-1", "--json", "-"])).unwrap();
    assert_eq!(shown, json);
    home.out(&["report", "last-1", "-o", "f.html"]);
    assert_eq!(home.out(&["show", "f.html"]), page);
    assert!(home.refused(&["diff", "last-1", "last-1"]).contains("cannot compare two results"));
    home.out(&["tag", "last", "host"]);
    home.out(&["rm", "last-1"]);
    assert_eq!(home.list(&[]).len(), 1);
    let _ = home.dwell(&["--no-store", "doctor"]).output().unwrap();
    assert!(home.list(&[]).len() == 1 && home.list(&["--tag", "host"]).len() == 1);
}

#[test]
fn tags_notes_and_names_that_are_none() {
    let home = Home::new();
    for word in ["one", "two", "three"] {
        home.dwell(&["run", "-q", "--", "sh", "-c", "", word]).output().unwrap();
    }
    home.out(&["tag", "last-1", "baseline", "v 1"]);
    home.out(&["note", "last-1", "before", "the change"]);
    let lines = home.list(&["--tag", "baseline"]);
    assert!(
        lines[0].contains("[baseline] [v 1] sh -c") && lines[1].contains("before the change"),
        "{lines:#?}"
    );
    let two = id(&lines[0]).to_owned();
    assert!(home.refused(&["rm", "last", &two]).contains("has the tag"));
    assert_eq!(home.list(&[]).len(), 4, "all of them or none");
    home.out(&["tag", &two, "--remove", "baseline", "--remove", "v 1"]);
    home.out(&["note", &two, "--remove"]);
    home.out(&["rm", "last", &two]);
    assert!(home.list(&[]).len() == 1 && home.list(&[])[0].contains("one"));
    for words in
        [&["rm", "last-7"][..], &["tag", "abc", "x"], &["show", "0123abcd"], &["note", "last-1", "x"]]
    {
        assert!(home.refused(words).contains("no result is called"), "{words:?}");
    }
    assert!(home.refused(&["rm", "x.json"]).contains("is no ID of a result"));
    assert!(home.refused(&["tag", "last", "\x1b[31m"]).contains("control characters"));
    // The beginning of several is that of none.
    let several = "UPDATE results SET id = '0badf00d'; \
                   INSERT INTO results SELECT 99, '0badcafe', at_s, verb, command, host, machine, kernel, wall_ns, \
                   verdict, finding, schema, dwell, json_bytes, recording_bytes, note FROM results";
    sql(&home.store(), several);
    let said = home.refused(&["show", "0bad"]);
    assert!(said.contains("0badf00d") && said.contains("0badcafe"), "{said}");
    // Its content is missing.
    let damaged = home.dwell(&["store", "--check"]).output().unwrap();
    assert_eq!(damaged.status.code(), Some(1));
    assert!(text(&damaged.stderr).contains("result 0badcafe: it has no content"));
}

#[test]
fn text_of_others_is_shown_harmless() {
    let home = Home::new();
    let hostile = "\x1b]0;x\x07<script>\u{202e}=1+1";
    home.dwell(&["run", "-q", "--", "sh", "-c", "", hostile, &"x".repeat(10_000)]).output().unwrap();
    home.out(&["note", "last", hostile]);
    home.out(&["tag", "last", "<b>\u{202e}"]);
    for words in [&["list"][..], &["show", "last"], &["list", "--command", hostile]] {
        let shown = home.out(words);
        assert!(shown.contains("<script>") && !shown.contains(['\x1b', '\x07', '\u{202e}']), "{shown:?}");
    }
}

#[test]
fn an_output_is_never_written_over_the_store() {
    let home = Home::new();
    home.out(&["run", "-q", "true"]);
    let store = home.store();
    let wal = store.with_extension("sqlite-wal");
    for path in [&store, &wal] {
        for option in ["--json", "--keep", "-o"] {
            let said = home.refused(&["run", "-q", option, path.to_str().unwrap(), "true"]);
            assert!(said.contains("would be overwritten"), "{said}");
        }
    }
    let said = home.refused(&["compare", "--output", store.to_str().unwrap(), "true", "true"]);
    assert!(said.contains("would be overwritten"), "{said}");
    assert_eq!(home.list(&[]).len(), 1);
    // A pipe that nobody reads to its end is no failure.
    let script = format!("HOME={0:?} {1} list | true", home.0.path(), support::dwell());
    let piped = Command::new("sh").args(["-c", &script]).env_remove("DWELL_STORE").output().unwrap();
    assert!(piped.status.success() && piped.stderr.is_empty(), "{}", text(&piped.stderr));
}

#[test]
fn a_store_that_cannot_be_used_costs_one_line() {
    let home = Home::new();
    home.out(&["run", "-q", "true"]);
    let run = |before: &[&str]| home.within(before, SEVEN).output().unwrap();
    // Without one there is no message.
    for off in [
        home.dwell(SEVEN).env("DWELL_STORE", "off").output(),
        home.dwell(&[&["--no-store"], SEVEN].concat()).output(),
    ] {
        let off = off.unwrap();
        assert!(off.status.code() == Some(7) && off.stderr.is_empty(), "{}", text(&off.stderr));
    }
    // Another process writes, for longer than dwell waits.
    let script = "import sqlite3, sys, time\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  c.execute('BEGIN IMMEDIATE')\nprint('locked', flush=True)\ntime.sleep(60)";
    let mut locked = Command::new(support::python());
    locked.args(["-c", script]).arg(home.store()).stdout(Stdio::piped());
    let mut locked = support::Gone(locked.spawn().unwrap());
    let mut said = String::new();
    let stdout = locked.0.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut said).unwrap();
    // On a machine that is busy it may be too late to say why.
    let output = run(&[]);
    let why = ["is locked by another process", "did not answer"];
    let why = why.into_iter().find(|why| text(&output.stderr).contains(why));
    costs_one_line(&output, why.unwrap_or("locked"));
    assert_eq!(home.list(&[]).len(), 1, "it can be read meanwhile");
    drop(locked);
    // A file system without locks: the kernel refuses each of them.
    let without = ["strace", "-f", "-o", "/dev/null", "-e", "trace=fcntl", "-e", "inject=fcntl:error=ENOLCK"];
    let output = home.within(&without, &["load", "cpu", "--for", "10ms", "-q"]).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success() && said.lines().count() == 1, "{said}");
    assert!(said.contains("the result is not kept"), "{said}");
    // No room at all, no right to write, and something else in its place.
    let mounted = |options: &str, then: &str| {
        let script = format!(
            "mount -t tmpfs -o {options} none .local/share && {then} && exec \"$0\" run -q -- sh -c 'exit 7'"
        );
        let words = ["unshare", "-m", "sh", "-c", &script];
        home.within(&words, &[]).output().unwrap()
    };
    costs_one_line(&mounted("size=64k", "head -c 60000 /dev/zero > .local/share/full"), "");
    costs_one_line(&mounted("size=64k", "mount -o remount,ro .local/share"), "Read-only file system");
    costs_one_line(
        &mounted("size=1m", "mkdir .local/share/dwell && chmod 777 .local/share/dwell"),
        "its mode is 777",
    );
    sql(&home.store(), "PRAGMA user_version = 9");
    costs_one_line(&run(&[]), "of a newer dwell (version 9");
    assert_eq!(home.list(&[]).len(), 1, "it is read");
    assert!(home.refused(&["tag", "last", "x"]).contains("never written"));
    assert!(home.out(&["store"]).contains("of a newer dwell"));
    for (content, says) in [(vec![b'x'; 9000], "is not a store of dwell"), (damaged(&home.store()), "")] {
        for beside in ["sqlite-wal", "sqlite-shm"] {
            let _ = fs::remove_file(home.store().with_extension(beside));
        }
        fs::write(home.store(), &content).unwrap();
        costs_one_line(&run(&[]), says);
        assert_eq!(fs::read(home.store()).unwrap(), content, "it is left as it is");
    }
}

#[test]
fn a_full_disk_loses_no_result_and_has_none_by_half() {
    let home = Home::new();
    // A disk of a megabyte, full after two results; then there is room again.
    let script = "mount -t tmpfs -o size=1m none \"$HOME\" && cd \"$HOME\" && mkdir kept || exit 90\n\
                  keep() { \"$0\" --store kept/x.sqlite run -q -- sh -c 'exit 7'; [ $? = 7 ] || exit 91; }\n\
                  all() { \"$0\" --store kept/x.sqlite list --all && \"$0\" --store kept/x.sqlite store --check; }\n\
                  keep; keep; cat /dev/zero > kept/full 2> /dev/null; keep; keep; all || exit 92\n\
                  rm kept/full; keep; all || exit 93";
    let output = home.within(&["unshare", "-m", "sh", "-c", script], &[]).output().unwrap();
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{shown}{said}");
    let kept = |shown: &str| shown.lines().filter(|line| line.contains("'exit 7'")).count();
    let (full, room) = shown.split_once("everything in it is whole").expect("it was checked twice");
    assert_eq!((kept(full), kept(room)), (2, 3), "{shown}");
    assert!(room.contains("everything in it is whole"), "{shown}");
    let refused: Vec<&str> = said.lines().collect();
    assert!(
        refused.len() == 2 && refused.iter().all(|line| line.contains("the result is not kept")),
        "{said}"
    );
}

/// A store whose tables are no tables.
fn damaged(path: &Path) -> Vec<u8> {
    let mut content = fs::read(path).unwrap();
    content[60..64].copy_from_slice(&1_u32.to_be_bytes());
    content[100..].fill(0xa5);
    content
}

#[test]
fn a_home_that_may_only_be_read_is_read() {
    let home = Home::new();
    home.out(&["run", "-q", "true"]);
    let script = "mount --bind . . && mount -o remount,ro,bind . && cd . && \"$0\" list && \"$0\" show last && \
                  \"$0\" store --check";
    let output = home.within(&["unshare", "-m", "sh", "-c", script], &[]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("everything in it is whole"), "{}", text(&output.stdout));
}

#[test]
fn under_sudo_it_is_the_callers_store_with_the_callers_rights() {
    let home = Home::new();
    let data = home.at("data");
    fs::create_dir(&data).unwrap();
    chown(&data, Some(NOBODY), Some(NOBODY)).unwrap();
    let sudo = |words: &[&str]| {
        let mut dwell = home.dwell(words);
        dwell
            .env("XDG_DATA_HOME", &data)
            .env("SUDO_UID", NOBODY.to_string())
            .env("SUDO_GID", NOBODY.to_string());
        dwell
    };
    let output = sudo(&["run", "-q", "true"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let store = data.join("dwell/results.sqlite");
    for path in [store.clone(), store.with_extension("sqlite-wal"), data.join("dwell")] {
        let found = path.metadata().unwrap();
        assert_eq!((found.uid(), found.mode() & 0o077), (NOBODY, 0), "{path:?}");
    }
    assert!(text(&sudo(&["list"]).output().unwrap().stdout).contains("true"));
    // That user may not write here: what is made of the results is root's.
    let output = sudo(&["export", "--as", "rows", "lake"]).output().unwrap();
    assert!(output.status.success() && home.at("lake/results").exists(), "{}", text(&output.stderr));
    assert!(!home.store().exists(), "root's own home has nothing of it");
    // What that user puts in place of it leads root nowhere.
    let victim = home.at("victim");
    fs::write(&victim, "root's").unwrap();
    for name in ["results.sqlite", "results.sqlite-wal", "results.sqlite-shm"] {
        let _ = fs::remove_file(data.join("dwell").join(name));
    }
    symlink(&victim, &store).unwrap();
    costs_one_line(&sudo(SEVEN).output().unwrap(), "no regular file");
    fs::remove_file(&store).unwrap();
    fs::remove_dir_all(data.join("dwell")).unwrap();
    symlink(home.0.path(), data.join("dwell")).unwrap();
    costs_one_line(&sudo(SEVEN).output().unwrap(), "it is no directory");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "root's");
    assert!(!home.at("results.sqlite").exists());
    // Who has no home has no store.
    let output = home.dwell(SEVEN).env("SUDO_UID", "54321").env("SUDO_GID", "54321").output().unwrap();
    costs_one_line(&output, "has no home directory");
    // Nor is a store believed that lies where others write.
    let common = home.at("common");
    fs::create_dir(&common).unwrap();
    fs::set_permissions(&common, Permissions::from_mode(0o1777)).unwrap();
    let file = common.join("x.sqlite");
    let words = [&["--store", file.to_str().unwrap()], SEVEN].concat();
    costs_one_line(&home.dwell(&words).output().unwrap(), "its mode is 1777");
}

/// `cargo xtask bench store` does the same a thousand times.
#[test]
fn what_is_killed_while_it_keeps_a_result_harms_no_other() {
    let home = Home::new();
    let mut surely = BTreeSet::new();
    let mut random = 88_172_645_463_325_252_u64;
    for round in 0..6 {
        let dwells: Vec<(String, Child)> = (0..4)
            .map(|number| {
                let name = format!("r{round}n{number}");
                let mut dwell = Command::new(support::dwell());
                dwell.args(["load", "cpu", "--for", "1ms", "-q", "--store"]).arg(home.at("kills.sqlite"));
                dwell.stdin(Stdio::null()).stderr(Stdio::null());
                (name, dwell.spawn().unwrap())
            })
            .collect();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(random % 60_000));
        for (at, (name, mut dwell)) in dwells.into_iter().enumerate() {
            if at % 2 == 0 {
                let _ = dwell.kill();
            }
            if dwell.wait().unwrap().success() {
                surely.insert(name);
            }
        }
    }
    let path = home.at("kills.sqlite");
    let with = |words: &[&str]| home.out(&[&["--store", path.to_str().unwrap()], words].concat());
    let there = with(&["list", "--all"]).lines().count() - 1;
    assert!(there >= surely.len() && there <= 24, "{there} of at least {}", surely.len());
    assert!(with(&["store", "--check"]).contains("everything in it is whole"));
}

#[test]
fn the_results_of_a_command_are_shown_over_time_and_fail_nothing() {
    let home = Home::new();
    for words in [
        &["run", "-q", "--", "sh", "-c", "sleep 0.01"][..],
        &["run", "-q", "--", "sh", "-c", "sleep 0.01", "another"],
        &["compare", "-q", "--no-why", "--pairs", "6", "sh -c 'sleep 0.01'", "true"],
        &["compare", "-q", "--no-why", "--pairs", "2", "--on", "memory", "sh -c 'sleep 0.01'"],
        // Slower by far, and on another host.
        &["run", "-q", "--", "sh", "-c", "sleep 0.05; sleep 0.05"],
    ] {
        home.dwell(words).output().unwrap();
    }
    sql(
        &home.store(),
        "UPDATE results SET command = (SELECT command FROM results ORDER BY seq LIMIT 1), \
         host = 'else' || char(27) || '[31mwhere' WHERE seq = (SELECT max(seq) FROM results)",
    );
    let json = home.out(&["list", "--trend", "sh -c \"sleep 0.01\"", "--json", "-"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let broken = support::errors(&support::schema("dwell.trend/1"), &json);
    assert!(broken.is_empty(), "{broken:#?}");
    let results = json["results"].as_array().unwrap();
    let verbs: Vec<_> = results.iter().map(|row| row["verb"].as_str().unwrap()).collect();
    assert_eq!(verbs, ["run", "compare", "run"], "{json:#}");
    assert_eq!((&json["left_out"]["other_figure"], &json["more"]), (&1.into(), &false.into()), "{json:#}");
    assert!(results.iter().all(|row| row["median_ns"].as_u64() >= Some(10_000_000)), "{json:#}");
    assert_eq!((&results[1]["runs"], &results[1]["side"]["place"]), (&6.into(), &0.into()), "{json:#}");
    let interval = &results[1]["interval_ns"];
    assert!(interval["lo"].as_u64() <= results[1]["median_ns"].as_u64(), "{json:#}");
    assert!(results[0]["interval_ns"].is_null() && results[2]["median_ns"].as_u64() >= Some(100_000_000));
    // The page, which says where the host is another one and why there is no verdict.
    let page = home.out(&["list", "--trend", "sh -c 'sleep 0.01'", "--width", "80"]);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        page.contains("now host else\\x1b[31mwhere") && words.contains("no reason to fail a build"),
        "{page}"
    );
    assert!(page.lines().all(|line| line.chars().count() <= 80) && page.contains('┼'), "{page}");
    let newest = home.out(&["list", "--trend", "sh -c 'sleep 0.01'", "-n", "1"]);
    assert!(newest.contains("the newest, oldest first: 1 figure") && newest.contains("--all"), "{newest}");
    assert!(home.out(&["list", "--trend", "sh -c 'sleep 0.02'"]).contains("kept: sh -c 'sleep 0.01'"));
    let listed = home.out(&["list", "--json", "-"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(support::errors(&support::schema("dwell.list/1"), &listed), [""; 0]);
    assert_eq!(listed["results"].as_array().unwrap().len(), home.list(&["--all"]).len());
}

#[test]
fn a_result_is_not_written_over_its_own_file() {
    let home = Home::new();
    home.dwell(&["load", "cpu", "--for", "50ms", "-q", "--json", "load.json"]).output().unwrap();
    home.out(&["report", "load.json", "-o", "load.html"]);
    fs::hard_link(home.at("load.json"), home.at("same.json")).unwrap();
    for words in [
        &["show", "load.json", "-o", "load.json"][..],
        &["show", "load.json", "--json", "same.json"],
        &["show", "load.html", "--html", "load.html"],
        &["show", "load.html", "-o", "a.txt", "--json", "a.txt"],
    ] {
        let before = ["load.json", "load.html"].map(|name| fs::read(home.at(name)).unwrap());
        let said = home.refused(words);
        assert!(said.contains("would be overwritten") || said.contains("the same file"), "{words:?}: {said}");
        assert_eq!(["load.json", "load.html"].map(|name| fs::read(home.at(name)).unwrap()), before);
    }
    // The page and the text are of the same result, whatever is kept meanwhile.
    let shown = home.out(&["show", "last", "--html", "page.html", "-o", "page.txt", "--json", "page.json"]);
    assert_eq!(shown, "");
    let value = |json: &[u8]| serde_json::from_slice::<serde_json::Value>(json).unwrap();
    let json = value(&fs::read(home.at("page.json")).unwrap());
    assert_eq!(value(home.out(&["show", "page.html", "--json", "-"]).as_bytes()), json);
    assert!(fs::read_to_string(home.at("page.txt")).unwrap().contains("CPU time"));
}

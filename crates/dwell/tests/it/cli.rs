//! The command line from outside: what goes where, what is left behind, and with which status it
//! ends.

use crate::support::read_json;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory that commands run in.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// dwell with these arguments, its environment settled.
    fn dwell(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LC_ALL", "LC_CTYPE", "LANG"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, args: &[&str]) -> Said {
        Said::of(self.dwell(args).output().unwrap())
    }

    fn executable(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
        fs::set_permissions(self.path(name), PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// What a command said, and how it ended.
#[derive(Debug)]
struct Said {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Said {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said {
            status: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

fn run(args: &[&str]) -> Said {
    Place::new().run(args)
}

/// Accounts know dwell's own threads by their name, and a release's file has another.
#[test]
fn dwell_is_called_so_whatever_its_file_is_called() {
    let place = Place::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dwell"), place.path("dwell-x86_64")).unwrap();
    let run = ["run", "--source", "proc", "--", "sh", "-c", "cat /proc/$PPID/comm"];
    let said = Command::new(place.path("dwell-x86_64")).args(run).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "dwell\n");
}

#[test]
fn the_status_is_the_programs_own() {
    for (script, status) in
        [("exit 0", 0), ("exit 1", 1), ("exit 200", 200), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
    {
        assert_eq!(run(&["run", "-q", "--", "sh", "-c", script]).status, status, "{script}");
    }
}

#[test]
fn a_program_that_cannot_start_is_126_or_127_and_said() {
    let place = Place::new();
    place.executable("foreign", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    fs::write(place.path("plain"), "#!/bin/sh\n").unwrap();
    for (program, status, said) in [
        ("no-such-program-anywhere", 127, "no such program in PATH"),
        ("./none", 127, "no such file"),
        ("plain", 127, "try: ./plain"),
        ("./", 126, "directory"),
        ("./plain", 126, "chmod +x"),
        ("/etc/passwd", 126, "it is no program"),
        ("./foreign", 126, "another kind of machine"),
    ] {
        let got = place.run(&["run", "--", program]);
        assert_eq!(got.status, status, "{program}: {got:?}");
        assert!(got.stderr.starts_with("dwell: cannot ") && got.stderr.contains(said), "{program}: {got:?}");
        assert_eq!(got.stdout, "");
    }
}

#[test]
fn a_wrong_command_line_is_125_and_help_is_0() {
    for args in [&["rn"][..], &["run"], &[], &["run", "--nope", "true"], &["run", "--color", "green", "true"]]
    {
        let got = run(args);
        assert_eq!((got.status, got.stdout.as_str()), (125, ""), "{args:?}");
        assert!(got.stderr.contains("--help"), "{args:?}: {got:?}");
    }
    for verb in [&[][..], &["run"], &["wake"]] {
        let help = run(&[verb, &["--help"]].concat()).stdout;
        assert_eq!(help, run(&[verb, &["-h"]].concat()).stdout);
        assert!(help.lines().count() <= 40 && help.contains("\nExamples:\n"), "{help}");
    }
    assert_eq!(run(&["help"]).stdout, run(&["-h"]).stdout);
    // All of it, with what is rare and what the statuses mean.
    let whole = run(&["help", "run"]).stdout;
    assert!(whole.contains("--keep-limit") && whole.contains("127 if it is not found"), "{whole}");
    assert!(!run(&["run", "--help"]).stdout.contains("--keep-limit"));
    for args in [&["--help"][..], &["run", "--help"], &["help"], &["--version"]] {
        let got = run(args);
        assert_eq!((got.status, got.stderr.as_str()), (0, ""), "{args:?}");
    }
}

/// The oldest ones that there are, of which much is not known.
#[test]
fn a_recording_of_the_first_format_is_shown_with_what_could_not_be_looked_for() {
    let place = Place::new();
    for name in ["format-1", "format-1-stacks"] {
        let path = format!("{}/../store/tests/data/{name}.dwell", env!("CARGO_MANIFEST_DIR"));
        let shown = place.run(&["show", "--causes", &path]);
        assert_eq!(shown.status, 0, "{name}: {shown:?}");
        assert!(shown.stdout.contains("\nnot looked for\n"), "{name}: {shown:?}");
    }
    let near = place.run(&["explain", "allocaton"]);
    assert_eq!(near.status, 125);
    assert!(near.stderr.contains("\ntry: dwell explain allocation, or "), "{near:?}");
}

#[test]
fn a_cause_is_explained_and_an_unknown_one_is_an_error_that_says_how_to_list_them() {
    let all = run(&["explain"]);
    assert_eq!(all.status, 0);
    let ids: Vec<&str> = all.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(ids.contains(&"hot-code") && ids.contains(&"sync-writes"), "{ids:?}");
    for id in ids {
        let one = run(&["explain", id]);
        assert!(one.stdout.starts_with(id) && one.stdout.contains("What to change"), "{id}: {}", one.stdout);
    }
    let none = run(&["explain", "cold-code"]);
    assert_eq!((none.status, none.stdout.as_str()), (125, ""));
    assert!(none.stderr.contains("cold-code") && none.stderr.contains("dwell explain"), "{}", none.stderr);
}

#[test]
fn what_goes_in_and_out_is_the_programs() {
    let place = Place::new();
    let mut child = place
        .dwell(&["run", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"through and through\n").unwrap();
    let got = Said::of(child.wait_with_output().unwrap());
    assert_eq!((got.status, got.stdout.as_str()), (0, "through and through\n"));
    assert!(got.stderr.contains("wall "), "{}", got.stderr);
}

#[test]
fn the_program_finds_itself_as_without_dwell() {
    // Descriptors, signal dispositions and mask, priority, limits, directory, environment.
    let script = "ls /proc/self/fd; grep -E '^(Sig(Blk|Ign|Cgt)|NoNewPrivs|Seccomp:|Cpus_allowed:|Uid|Groups)' \
                  /proc/self/status; nice; ulimit -a; pwd; env | grep -v '^_=' | sort; umask; id";
    let place = Place::new();
    let bare =
        Command::new("sh").args(["-c", script]).current_dir(place.0.path()).stdin(Stdio::null()).output();
    let bare = Said::of(bare.unwrap());
    let mut command = place.dwell(&["run", "-q", "sh", "-c", script]);
    for (name, value) in std::env::vars() {
        command.env(name, value);
    }
    assert_eq!(Said::of(command.output().unwrap()).stdout, bare.stdout);
}

#[test]
fn an_output_that_cannot_be_written_is_found_before_the_program_starts() {
    for option in ["--json", "-o", "--keep"] {
        for bad in ["no/such/directory/file", "."] {
            let place = Place::new();
            let got = place.run(&["run", option, bad, "touch", "started"]);
            assert_eq!((got.status, place.files().len()), (125, 0), "{option} {bad}: {got:?}");
            assert!(got.stderr.starts_with(&format!("dwell: cannot write {bad:?}: ")), "{got:?}");
        }
    }
}

#[test]
fn a_program_that_does_not_start_leaves_no_files_and_spoils_none() {
    let place = Place::new();
    place.executable("foreign", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    fs::write(place.path("old"), "what was there").unwrap();
    for program in ["./none", "./foreign"] {
        for (json, page, keep) in [("new1", "new2", "new3"), ("old", "new1", "new2"), ("new1", "new2", "old")]
        {
            let got = place.run(&["run", "--json", json, "-o", page, "--keep", keep, program]);
            assert!([126, 127].contains(&got.status), "{got:?}");
            assert_eq!(place.files(), ["foreign", "old"]);
            assert_eq!(fs::read_to_string(place.path("old")).unwrap(), "what was there");
        }
    }
}

#[test]
fn every_output_goes_where_it_is_sent() {
    let place = Place::new();
    fs::write(place.path("page"), "longer than the page ".repeat(10_000)).unwrap();
    let got = place.run(&["run", "--json", "-", "-o", "page", "echo", "hello"]);
    assert_eq!((got.status, got.stderr.as_str()), (0, ""));
    let json = got.stdout.strip_prefix("hello\n").unwrap();
    let run: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!((&run["schema"], &run["command"][1]), (&"dwell.run/1".into(), &"hello".into()));
    let page = fs::read_to_string(place.path("page")).unwrap();
    assert!(page.contains("echo hello") && !page.contains("longer than"), "{page}");

    let got = place.run(&["run", "-q", "--json", "file.json", "echo", "hello"]);
    assert_eq!((got.stdout.as_str(), got.stderr.as_str()), ("hello\n", ""));
    assert!(fs::read_to_string(place.path("file.json")).unwrap().starts_with("{\n"));
}

#[test]
fn two_outputs_to_one_file_are_refused() {
    for args in [["--json", "a", "-o", "a"], ["--json", "-", "-o", "-"], ["--json", "a", "--keep", "a"]] {
        let place = Place::new();
        let got = place.run(&[&["run"], &args[..], &["touch", "started"]].concat());
        assert_eq!((got.status, place.files().len()), (125, 0), "{got:?}");
    }
    let null = run(&["run", "-q", "--json", "/dev/null", "-o", "/dev/null", "--keep", "/dev/null", "true"]);
    assert_eq!((null.status, null.stderr.as_str()), (0, ""));
}

#[test]
fn a_result_that_cannot_be_written_is_no_success() {
    for option in ["--json", "-o", "--keep"] {
        let got = run(&["run", "-q", option, "/dev/full", "true"]);
        assert_eq!(got.status, 125, "{got:?}");
        assert!(got.stderr.contains("/dev/full") && got.stderr.contains("No space left"), "{got:?}");
        // The program's own failure says more.
        assert_eq!(run(&["run", "-q", option, "/dev/full", "false"]).status, 1);
    }
    // Nor is a page that had no room on standard error, where nobody can be told.
    for (program, status) in [("true", 125), ("false", 1)] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let place = Place::new();
        let mut dwell = place.dwell(&["run", "--source", "proc", program]);
        assert_eq!(dwell.stderr(full).status().unwrap().code(), Some(status), "{program}");
    }
}

#[test]
fn a_reader_who_has_left_is_no_error() {
    let place = Place::new();
    assert_eq!(place.run(&["run", "-q", "--keep", "kept", "true"]).status, 0);
    for args in [&["run", "--json", "-", "true"][..], &["run", "-o", "-", "true"], &["show", "kept"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let got = Said::of(place.dwell(args).stdout(writer).output().unwrap());
        assert_eq!(got.status, 0, "{args:?}: {got:?}");
        assert!(!got.stderr.contains("dwell:"), "{args:?}: {got:?}");
    }
}

#[test]
fn colour_and_width_are_as_asked() {
    let place = Place::new();
    assert!(!place.run(&["run", "true"]).stderr.contains('\x1b'));
    assert!(place.run(&["run", "--color", "always", "true"]).stderr.contains('\x1b'));
    let said = Said::of(place.dwell(&["run", "true"]).env("CLICOLOR_FORCE", "1").output().unwrap());
    assert!(said.stderr.contains('\x1b'));
    for width in [50, 110] {
        let page = place.run(&["run", "--width", &width.to_string(), "true"]).stderr;
        let longest = page.lines().map(|line| line.chars().count()).max().unwrap();
        assert!((width - 20..=width).contains(&longest), "{longest} for {width}:\n{page}");
    }
    let ascii = Said::of(place.dwell(&["run", "true"]).env("LC_ALL", "C").output().unwrap());
    assert!(ascii.stderr.is_ascii(), "{}", ascii.stderr);
}

#[test]
fn a_kept_recording_gives_the_same_report() {
    let place = Place::new();
    let got =
        place.run(&["run", "--json", "run.json", "--keep", "kept", "sh", "-c", "sleep 0.05; ls /; exit 3"]);
    assert_eq!(got.status, 3);
    let shown = place.run(&["show", "--json", "-", "kept"]);
    assert_eq!((shown.status, shown.stderr.as_str()), (0, ""));
    assert_eq!(shown.stdout, fs::read_to_string(place.path("run.json")).unwrap());
    let page = place.run(&["show", "kept"]);
    assert_eq!((page.status, page.stdout), (0, got.stderr));
}

#[test]
fn what_was_beyond_the_limit_is_in_the_report_all_the_same() {
    let place = Place::new();
    let script = "for i in 1 2 3 4 5 6 7 8; do sleep 0.01; done";
    let got =
        place.run(&["run", "--json", "run.json", "--keep", "kept", "--keep-limit", "1K", "sh", "-c", script]);
    assert_eq!(got.status, 0);
    let shown = place.run(&["show", "--json", "shown.json", "kept"]);
    assert_eq!((shown.status, shown.stderr.as_str()), (0, ""));
    let json = |name: &str| read_json(&place.path(name));
    assert_eq!(json("shown.json"), json("run.json"));
    assert_eq!(shown.stdout, got.stderr);
}

#[test]
fn half_a_recording_is_shown_and_said_to_be_half() {
    let place = Place::new();
    assert_eq!(place.run(&["run", "-q", "--keep", "kept", "sleep", "0.05"]).status, 0);
    let whole = fs::read(place.path("kept")).unwrap();
    for cut in [10, whole.len() / 20] {
        fs::write(place.path("half"), &whole[..whole.len() - cut]).unwrap();
        let got = place.run(&["show", "half"]);
        assert_eq!(got.status, 0, "{got:?}");
        assert!(got.stderr.starts_with("dwell: half: the recording has no end"), "{got:?}");
        assert!(got.stdout.contains("sleep 0.05"), "{got:?}");
    }
    fs::write(place.path("half"), &whole[..30]).unwrap();
    let got = place.run(&["show", "half"]);
    assert_eq!(got.status, 125);
    assert!(got.stderr.contains("its header is cut off"), "{got:?}");
}

#[test]
fn what_is_no_recording_is_refused() {
    for path in ["/bin/sh", "/dev/null", "/no/such/file", "/"] {
        let got = run(&["show", path]);
        assert_eq!((got.status, got.stdout.as_str()), (125, ""), "{path}");
        assert!(got.stderr.starts_with("dwell: cannot read ") && got.stderr.contains(path), "{got:?}");
    }
}

#[test]
fn another_user_can_be_had_by_root_only() {
    if rustix::process::geteuid().is_root() {
        let got = run(&["run", "-q", "--user", "nobody", "id", "-un"]);
        assert_eq!((got.status, got.stdout.as_str()), (0, "nobody\n"), "{got:?}");
        let by_number = run(&["run", "-q", "--user", "0", "sh", "-c", "echo $USER $HOME"]);
        assert_eq!(by_number.stdout.split(' ').next(), Some("root"));
    } else {
        let got = run(&["run", "-q", "--user", "root", "id", "-un"]);
        assert_eq!((got.status, got.stdout.as_str()), (125, ""));
        assert!(got.stderr.contains("only root"), "{got:?}");
    }
    let unknown = run(&["run", "--user", "no-such-user", "true"]);
    assert_eq!(unknown.status, 125);
    assert!(unknown.stderr.contains("/etc/passwd has no such user\ntry: "), "{unknown:?}");
}

#[test]
fn a_program_that_the_other_user_may_not_execute_is_126() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    let path = place.path("mine");
    place.executable("mine", b"#!/bin/sh\n");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
    let got = place.run(&["run", "--user", "nobody", path.to_str().unwrap()]);
    assert_eq!(got.status, 126, "{got:?}");
    assert!(got.stderr.contains("permission denied"), "{got:?}");
    assert!(Path::new(&path).exists());
}

#[test]
fn a_part_of_a_job_says_what_the_whole_takes() {
    let place = Place::new();
    let script = "i=0; while [ $i -lt 10 ]; do sleep 0.02; i=$((i + 1)); done";
    let got = place.run(&["run", "--work", "10", "--of", "10M", "--json", "run.json", "sh", "-c", script]);
    assert_eq!(got.status, 0);
    assert!(got.stderr.contains("whole job"), "{}", got.stderr);
    let run = read_json(&place.path("run.json"));
    let (wall, whole) = (run["wall_ns"].as_u64().unwrap(), &run["extrapolation"]);
    assert_eq!(whole["wall_ns"], wall * 1_000_000);
    let states: u64 =
        whole["states"].as_object().unwrap().values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(states, wall * 1_000_000);
    // Each turn forks a child that sleeps once.
    let by_call = place.run(&["run", "--work", "clock_nanosleep", "--of", "1000", "sh", "-c", script]);
    assert!(by_call.stderr.contains("for 1,000 clock_nanosleep (this run: 10)"), "{}", by_call.stderr);
    let lines = "echo one; echo two; printf three";
    let mut by_line =
        place.dwell(&["run", "--work", "lines", "--of", "9", "--json", "run.json", "sh", "-c", lines]);
    let written = fs::OpenOptions::new().append(true).create(true).open(place.path("lines")).unwrap();
    for _ in 0..2 {
        assert!(
            by_line.stdout(written.try_clone().unwrap()).stderr(Stdio::null()).status().unwrap().success()
        );
        let run = read_json(&place.path("run.json"));
        assert_eq!(
            [&run["extrapolation"]["done"], &run["extrapolation"]["unit"]],
            ["3".parse::<u64>().unwrap().into(), serde_json::Value::from("lines")].each_ref()
        );
    }
    assert_eq!(fs::read_to_string(place.path("lines")).unwrap(), "one\ntwo\nthreeone\ntwo\nthree");
    // A process that is left behind writes on, and nobody waits for it.
    let left = "(for i in $(seq 100); do echo; sleep 0.01; done) & echo; echo";
    let mut by_line = place.dwell(&["run", "-q", "--work", "lines", "--of", "999", "sh", "-c", left]);
    let written = fs::File::create(place.path("lines")).unwrap();
    assert!(by_line.stdout(written).stderr(Stdio::null()).status().unwrap().success());
    let none = place.run(&["run", "--work", "lines", "--of", "5", "touch", "started"]);
    assert_eq!(none.status, 125);
    assert!(
        none.stderr.contains("standard output is not a file\ntry: the same with > FILE"),
        "{}",
        none.stderr
    );
    let none = place.run(&["run", "--work", "nosuch", "--of", "1000", "true"]);
    assert_eq!(none.status, 125);
    assert!(none.stderr.contains("no nosuch call returned"), "{}", none.stderr);
    for wrong in [
        &["--work", "5"][..],
        &["--of", "5"],
        &["--work", "0", "--of", "5"],
        &["--work", "1.5", "--of", "5"],
        &["--work", "6", "--of", "5"],
    ] {
        assert_eq!(place.run(&[&["run"], wrong, &["touch", "started"]].concat()).status, 125, "{wrong:?}");
    }
    assert!(!place.path("started").exists());
}

#[test]
fn where_executions_are_counted_what_a_recording_has_is_refused() {
    let place = Place::new();
    for how in ["--count-blocks", "--hits"] {
        for option in [&["--folded", "f"][..], &["--speedscope", "f"], &["--keep", "f"]] {
            let got = place.run(&[&["run", how][..], option, &["--flame", "--", "touch", "ran"]].concat());
            let said = format!("{how} counts executions and records nothing, so there is nothing for ");
            assert!(got.status == 125 && got.stderr.contains(&said), "{got:?}");
            assert!(got.stderr.contains(option[0]) && got.stderr.contains("--flame"), "{got:?}");
            assert!(!place.path("ran").exists() && !place.path("f").exists(), "{option:?}");
        }
    }
}

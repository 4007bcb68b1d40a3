//! Exact hits of Python lines: against known truths, against sys.settrace, and a program that
//! notices nothing.
//!
//! Interpreters come from `$DWELL_PYTHONS` (separated by colons), `PATH` and pyenv. Where none has
//! sys.monitoring (3.12), only the refusals are tested, and the test prints that.
#![allow(clippy::print_stderr, reason = "what could not be tried here must be seen")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Loops of 1000 with a branch of a third, 7 calls, a generator, comprehensions, recursion, four
/// threads of 250, exceptions, loops within a line.
const TRUTH: &str = include_str!("hits/truth.py");
/// Counts lines as coverage tools do, by sys.settrace, in all threads.
const ORACLE: &str = include_str!("hits/oracle.py");

fn version(python: &Path) -> Option<(u32, u32)> {
    let script = "import sys; print('%d %d' % sys.version_info[:2])";
    let output = Command::new(python).args(["-c", script]).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// One interpreter of each version, those that can count or those that cannot.
fn pythons(counting: bool) -> Vec<PathBuf> {
    let named = std::env::var_os("DWELL_PYTHONS").unwrap_or_default();
    let mut candidates: Vec<PathBuf> = std::env::split_paths(&named).filter(|path| path.is_file()).collect();
    for directory in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        let names = ["python3", "python3.8", "python3.11", "python3.12", "python3.13", "python3.14"];
        candidates.extend(names.map(|name| directory.join(name)).into_iter().filter(|path| path.is_file()));
    }
    let pyenv = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv/versions"));
    let versions = pyenv.and_then(|versions| fs::read_dir(versions).ok()).into_iter().flatten().flatten();
    candidates
        .extend(versions.map(|version| version.path().join("bin/python3")).filter(|path| path.is_file()));
    let mut found = BTreeMap::new();
    for candidate in candidates {
        if let Some(version) = version(&candidate) {
            found.entry(version).or_insert(candidate);
        }
    }
    found.retain(|version, _| (*version >= (3, 12)) == counting);
    if counting && found.is_empty() {
        eprintln!(
            "EXACT COUNTS WERE NOT EXERCISED: no Python of 3.12 or later in $DWELL_PYTHONS, PATH or ~/.pyenv; only the refusals are tested"
        );
    }
    found.into_values().collect()
}

/// A directory that programs run in.
struct Place(tempfile::TempDir);

/// What came of a run.
#[derive(Debug)]
struct Said {
    status: i32,
    out: String,
    err: String,
    page: String,
}

impl Said {
    fn of(output: Output, page: &Path) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let page = fs::read_to_string(page).unwrap_or_default();
        Said {
            status: output.status.code().unwrap(),
            out: text(output.stdout),
            err: text(output.stderr),
            page,
        }
    }

    /// Hits by line number, of the function shown whole.
    fn hits(&self) -> BTreeMap<u32, u64> {
        let rows = self.page.lines().skip(2).take_while(|line| !line.is_empty());
        rows.filter_map(|row| {
            let mut words = row.split_whitespace();
            let line = words.next()?.parse().ok()?;
            let hits = words.next()?.replace(',', "").parse().ok()?;
            // A line without hits goes on with its source.
            words.next()?.parse::<u32>().ok().or_else(|| row.contains("<1 %").then_some(0))?;
            Some((line, hits))
        })
        .collect()
    }

    /// Hits of the line with this text.
    #[track_caller]
    fn of_line(&self, source: &str) -> u64 {
        let row = self.page.lines().find(|row| row.trim_end().ends_with(source) && row.contains(" %"));
        let row = row.unwrap_or_else(|| panic!("no {source:?} in\n{self:?}\n{}", self.page));
        row.split_whitespace().nth(1).unwrap().replace(',', "").parse().unwrap()
    }
}

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), PermissionsExt::from_mode(0o755)).unwrap();
        self.path(name)
    }

    fn run(&self, hits: &str, command: &[&str]) -> Said {
        self.run_with(hits, command, "", &[])
    }

    fn run_with(&self, hits: &str, command: &[&str], input: &str, environment: &[(&str, &str)]) -> Said {
        let page = self.path("page");
        let _ = fs::remove_file(&page);
        let mut dwell = Command::new(env!("CARGO_BIN_EXE_dwell"));
        dwell.args(["run", "-o", "page", "--width", "120", hits, "--"]).args(command);
        Said::of(self.output(&mut dwell, input, environment), &page)
    }

    fn bare(&self, command: &[&str], input: &str, environment: &[(&str, &str)]) -> Said {
        let mut bare = Command::new(command[0]);
        bare.args(&command[1..]);
        Said::of(self.output(&mut bare, input, environment), Path::new("/nowhere"))
    }

    fn output(&self, command: &mut Command, input: &str, environment: &[(&str, &str)]) -> Output {
        command.current_dir(self.0.path()).env("TMPDIR", self.0.path());
        command.env_remove("PYTHONPATH").env("PYTHONDONTWRITEBYTECODE", "1");
        command.envs(environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that does not read it is not at fault.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// Nothing of ours stays behind.
    fn is_clean(&self) -> bool {
        let entries = fs::read_dir(self.0.path()).unwrap();
        !entries.into_iter().any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with("dwell-"))
    }
}

#[test]
fn each_line_has_the_hits_that_settrace_counts() {
    for python in pythons(true) {
        let python = python.to_str().unwrap();
        let place = Place::new();
        let script = place.write("truth.py", TRUTH);
        let oracle = place.write("oracle.py", ORACLE);
        let told = place.bare(&[python, oracle.to_str().unwrap(), script.to_str().unwrap()], "", &[]);
        let mut functions: BTreeMap<&str, BTreeMap<u32, u64>> = BTreeMap::new();
        for row in told.out.lines() {
            let [function, line, hits] = row.split('\t').collect::<Vec<_>>().try_into().unwrap();
            let (line, hits) = (line.parse().unwrap(), hits.parse().unwrap());
            functions.entry(function).or_default().insert(line, hits);
        }
        assert!(functions.len() > 10, "{python}: {told:?}");
        for (function, expected) in functions.iter().filter(|(name, _)| !name.starts_with('<')) {
            let said = place.run(&format!("--hits={function}"), &[python, script.to_str().unwrap()]);
            assert_eq!(said.status, 0, "{python}: {said:?}");
            let mut hits = said.hits();
            hits.retain(|_, hits| *hits > 0);
            assert_eq!(hits, *expected, "{python}: {function}\n{}", said.page);
        }
    }
}

#[test]
fn hits_are_kept_and_shown_again_from_their_json() {
    let Some(python) = pythons(true).pop() else { return };
    let place = Place::new();
    place.write("truth.py", TRUTH);
    let dwell = |words: &[&str]| {
        let mut dwell = Command::new(env!("CARGO_BIN_EXE_dwell"));
        let said = place.output(dwell.args(words), "", &[("DWELL_STORE", "kept.sqlite")]);
        assert!(said.status.success(), "{words:?}: {said:?}");
        String::from_utf8(said.stdout).unwrap()
    };
    let python = python.to_str().unwrap();
    dwell(&["run", "--hits=seven", "-o", "page", "--json", "hits.json", "--", python, "truth.py"]);
    assert_eq!(dwell(&["show", "last"]), fs::read_to_string(place.path("page")).unwrap());
    assert!(dwell(&["list", "--width", "120"]).contains("--hits=seven "));
    let json = fs::read(place.path("hits.json")).unwrap();
    assert_eq!(dwell(&["show", "last", "--json", "-"]).as_bytes(), json);
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let broken = crate::support::errors(&crate::support::schema("dwell.hits/1"), &json);
    assert!(broken.is_empty(), "{broken:#?}");
    let hits =
        json["functions"][0]["lines"].as_array().unwrap().iter().filter_map(|line| line["hits"].as_u64());
    assert_eq!(hits.sum::<u64>(), 7, "{json:#}");
}

#[test]
fn known_truths_hold() {
    for python in pythons(true) {
        let python = python.to_str().unwrap();
        let place = Place::new();
        place.write("truth.py", TRUTH);
        for (function, line, hits) in [
            ("loop", "if i % 3 == 0:", 1000),
            ("loop", "odd += 1", 334),
            ("loop", "odd += 2", 666),
            ("seven", "def seven(): return 1", 7),
            ("generator", "yield i", 50),
            ("recursive", "return 1 if n == 0 else recursive(n - 1)", 31),
            ("quarter", "total += i", 1000),
            ("throws", "raise ValueError(n)", 5),
            ("never", "return 2", 0),
        ] {
            let said = place.run(&format!("--hits={function}"), &[python, "truth.py"]);
            assert_eq!(said.of_line(line), hits, "{python}: {function}\n{}", said.page);
            assert!(said.page.contains("counted exactly: "), "{}", said.page);
        }
        assert!(place.is_clean());
    }
}

/// Prints all that a program can easily see of how it was started.
const MIRROR: &str = "import sys, os
print(__name__, sys.argv, sys.path, sys.flags, sys.stdin.read(), sorted(sys.path_importer_cache))
print(sys.orig_argv, 'sitecustomize' in sys.modules, os.getcwd(), sys.exc_info(), __file__ if '__file__' in globals() else '')
try:
    import sitecustomize
    print('real', sitecustomize.__file__, sitecustomize.WHO)
except ImportError as error:
    print(error)
sys.stderr.write('to stderr')
sys.exit(37)
";

#[test]
fn the_program_sees_itself_started_as_always() {
    for python in pythons(true) {
        let python = python.to_str().unwrap();
        let place = Place::new();
        place.write("mirror.py", MIRROR);
        fs::create_dir(place.path("real")).unwrap();
        place.write("real/sitecustomize.py", "WHO = 'the real one'\n");
        let shebang = place.write("direct", &format!("#!/usr/bin/env {python}\n{MIRROR}"));
        let real = place.path("real");
        let real: &[(&str, &str)] = &[("PYTHONPATH", real.to_str().unwrap())];
        for environment in [&[][..], real] {
            for command in [
                &[python, "mirror.py", "a", "-I"][..],
                &[python, "-m", "mirror", "b"],
                &[python, "-X", "dev", "-c", MIRROR, "c"],
                &[python, "-"],
                &[shebang.to_str().unwrap(), "d"],
                &["sh", "-c", "exec \"$0\" mirror.py", python],
            ] {
                let bare = place.bare(command, "import sys; sys.exit(37)", environment);
                let said = place.run_with("--hits", command, "import sys; sys.exit(37)", environment);
                assert_eq!((&said.out, &said.err, said.status), (&bare.out, &bare.err, 37), "{command:?}");
                assert!(said.page.contains("counted exactly: "), "{command:?}: {}", said.page);
            }
        }
        assert!(place.is_clean());
    }
}

#[test]
fn hits_survive_whatever_ends_a_process_and_children_are_counted() {
    const POOL: &str = "import multiprocessing as m, sys
def work(n):
    for i in range(n):
        pass
    return n
if __name__ == '__main__':
    m.set_start_method(sys.argv[1])
    with m.Pool(2) as pool:
        assert pool.map(work, [100] * 8) == [100] * 8
";
    const ENDS: &str = "import os, signal, subprocess, sys
def work():
    for i in range(100):
        pass
how = sys.argv[1]
work()
if how == 'child':
    subprocess.run([sys.executable, __file__, 'exit'], check=True)
if how == 'fork' and os.fork() == 0:
    work()
    os._exit(0)
if how == 'fork':
    os.wait()
if how == 'exec':
    os.execv(sys.executable, [sys.executable, __file__, 'exit'])
if how == '_exit':
    os._exit(9)
if how == 'kill':
    os.kill(os.getpid(), signal.SIGKILL)
if how == 'raise':
    raise KeyError
";
    for python in pythons(true) {
        let python = python.to_str().unwrap();
        let place = Place::new();
        let itself = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)";
        if place.bare(&[python, "-c", itself], "", &[]).status != 0 {
            eprintln!("{python} cannot start itself: its children were not tried");
            continue;
        }
        place.write("pool.py", POOL);
        place.write("ends.py", ENDS);
        for method in ["fork", "spawn", "forkserver"] {
            let said = place.run("--hits=work", &[python, "pool.py", method]);
            assert_eq!(said.of_line("pass"), 800, "{python}: {method}\n{}", said.page);
            assert_eq!(said.of_line("return n"), 8, "{python}: {method}\n{}", said.page);
        }
        for (how, status, hits) in [
            ("exit", 0, 100),
            ("child", 0, 200),
            ("fork", 0, 200),
            ("exec", 0, 200),
            ("_exit", 9, 100),
            ("kill", 137, 100),
            ("raise", 1, 100),
        ] {
            let said = place.run("--hits=work", &[python, "ends.py", how]);
            assert_eq!((said.status, said.of_line("pass")), (status, hits), "{python}: {how}\n{}", said.page);
        }
        assert!(place.is_clean());
    }
}

#[test]
fn a_program_that_ignores_signals_is_counted_up_to_there_and_goes_on() {
    const SCRIPT: &str = "import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def work():
    return 1
for i in range(100):
    work()
os.close(os.open('begun', os.O_CREAT))
for i in range(600):
    if os.path.exists('end'):
        os.close(os.open('finished', os.O_CREAT))
        break
    time.sleep(0.1)
";
    let until = |what: &str, holds: &mut dyn FnMut() -> bool| {
        let patience = Instant::now() + Duration::from_secs(30);
        while !holds() {
            assert!(Instant::now() < patience, "waited in vain for {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let Some(python) = pythons(true).into_iter().next() else { return };
    for signal in ["-TERM", "-KILL"] {
        let place = Place::new();
        place.write("stubborn.py", SCRIPT);
        let mut command = Command::new("env");
        command.args(["--default-signal=TERM", env!("CARGO_BIN_EXE_dwell")]);
        command.args(["run", "-o", "page", "--width", "120", "--hits=work", "--"]).arg(&python);
        command.arg("stubborn.py").current_dir(place.0.path()).env("TMPDIR", place.0.path());
        let mut dwell = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("the program", &mut || place.path("begun").exists());
        assert!(Command::new("kill").args([signal, &dwell.id().to_string()]).status().unwrap().success());
        until("dwell to end", &mut || dwell.try_wait().unwrap().is_some());
        if signal == "-TERM" {
            let said = Said::of(dwell.wait_with_output().unwrap(), &place.path("page"));
            assert_eq!((said.status, said.of_line("return 1")), (143, 100), "{}", said.page);
            assert!(said.page.contains("the program went on"), "{}", said.page);
        } else {
            assert!(!place.is_clean(), "SIGKILL leaves it to the next start");
            place.run("--hits", &[python.to_str().unwrap(), "-c", ""]);
        }
        assert!(place.is_clean());
        place.write("end", "");
        until("the program to finish", &mut || place.path("finished").exists());
    }
}

#[test]
fn handlers_that_interrupt_the_counting_are_counted_themselves() {
    const SCRIPT: &str = "import gc, signal
handled = 0
deleted = 0
def handler(number, frame):
    global handled
    handled += 1
class Cyclic:
    def __init__(self):
        self.me = self
    def __del__(self):
        global deleted
        deleted += 1
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
while handled < 300:
    Cyclic()
signal.setitimer(signal.ITIMER_REAL, 0)
gc.collect()
print(handled, deleted)
";
    for python in pythons(true) {
        let python = python.to_str().unwrap();
        let place = Place::new();
        place.write("handler.py", SCRIPT);
        for (function, line, word) in [("handler", "handled += 1", 0), ("__del__", "deleted += 1", 1)] {
            let said = place.run(&format!("--hits={function}"), &[python, "handler.py"]);
            let told: u64 = said.out.split_whitespace().nth(word).unwrap().parse().unwrap();
            assert!(told >= 300, "{said:?}");
            assert_eq!(said.of_line(line), told, "{python}: {function}\n{}", said.page);
        }
    }
}

#[test]
fn names_of_the_program_are_shown_harmless() {
    for python in pythons(true) {
        let place = Place::new();
        let code = "exec(compile('def f():\\n  return 1\\nfor i in range(5): f()', 'e\\tv\\x1b[2J\\nil\\udc80', 'exec'))";
        let said = place.run("--hits=f", &[python.to_str().unwrap(), "-c", code]);
        assert_eq!(said.status, 0, "{said:?}");
        assert!(said.page.contains("f in e\\tv\\x1b[2J\\nil"), "{}", said.page);
        assert!(!said.page.contains('\x1b'), "{}", said.page);
        assert_eq!(said.hits()[&2], 5, "{}", said.page);
    }
}

#[test]
fn a_function_that_never_ran_is_no_success() {
    for python in pythons(true) {
        let said = Place::new().run("--hits=nowhere", &[python.to_str().unwrap(), "-c", "pass"]);
        assert_eq!(said.status, 125);
        assert!(said.err.contains("no function called \"nowhere\" was executed\ntry: "), "{}", said.err);
    }
}

#[test]
fn a_python_without_monitoring_is_refused_before_the_program_starts() {
    for python in pythons(false) {
        let python = python.to_str().unwrap();
        let place = Place::new();
        let shebang = place.write("direct", &format!("#!{python}\nopen('ran', 'w')\n"));
        for command in [&[python, "-c", "open('ran', 'w')"][..], &[shebang.to_str().unwrap()]] {
            let said = place.run("--hits", command);
            assert_eq!(said.status, 125, "{said:?}");
            assert!(said.err.contains(" is Python 3.") && said.err.contains("\ntry: "), "{}", said.err);
            assert!(!place.path("ran").exists() && place.is_clean());
        }
        // Below another program it is left alone, and said not to be counted.
        let said = place.run("--hits", &["sh", "-c", "\"$0\" -c 'open(\"ran\", \"w\")'; exit 3", python]);
        assert_eq!(said.status, 3, "{said:?}");
        assert!(place.path("ran").exists() && said.err.contains("nothing was counted: "), "{said:?}");
    }
}

#[test]
fn what_cannot_be_counted_is_said() {
    let place = Place::new();
    let said = place.run("--hits", &["true"]);
    assert_eq!(said.status, 125);
    assert!(said.err.contains("nothing was counted: no Python started"), "{}", said.err);
    assert_eq!(place.run("--hits", &["sh", "-c", "exit 4"]).status, 4);
    let said = place.run("--hits", &["python3", "-I", "-c", "open('ran', 'w')"]);
    assert_eq!(said.status, 125);
    assert!(said.err.contains("-I keeps Python from") && !place.path("ran").exists(), "{}", said.err);
    assert_eq!(place.run("--hits", &["/no/such/python"]).status, 127);
    assert!(place.is_clean());
}

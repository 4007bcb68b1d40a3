//! Frames of real interpreters, read while they are blocked.

use crate::support::{pythons, script};
use dwell_python::{Interpreter, Interpreters, ProcessMemory, Python, identify};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

/// A child that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended itself, which its test has noticed then.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a script, and waits until it has printed a line.
fn start(python: &Path, name: &str) -> Running {
    let mut child = Command::new(python)
        .arg(script(name))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {}: {error}", python.display()));
    let mut line = String::new();
    let stdout = child.stdout.take().expect("it is piped");
    let running = Running(child);
    BufReader::new(stdout).read_line(&mut line).expect("its output can be read");
    assert_eq!(line, "ready\n", "{}", python.display());
    running
}

/// The mapped file with CPython, and its load bias.
fn find(pid: u32) -> (Python, u64) {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("a living child");
    for line in maps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(range), Some(offset), Some(path)) = (words.first(), words.get(2), words.get(5)) else {
            continue;
        };
        if !path.starts_with('/') {
            continue;
        }
        match identify(Path::new(path), File::open(path).expect("a mapped file")) {
            Interpreter::Python(python) => {
                let hex = |text: &str| u64::from_str_radix(text, 16).expect("a number");
                let start = hex(range.split('-').next().expect("a range"));
                let bias = python.bias(start, hex(offset)).expect("a mapping of the file");
                return (*python, bias);
            }
            Interpreter::None => {}
            other => panic!("{path} is {other:?}"),
        }
    }
    panic!("no interpreter in\n{maps}");
}

/// The lines that are marked with a word and a number, by that number.
fn marked(word: &str) -> Vec<u32> {
    let text = fs::read_to_string(script("stand_still.py")).expect("the script");
    let mut lines: Vec<(u32, u32)> = (1..)
        .zip(text.lines())
        .filter_map(|(line, text)| Some((text.split_once(&format!("# {word} "))?.1.parse().ok()?, line)))
        .collect();
    lines.sort_unstable();
    lines.into_iter().map(|(_, line)| line).collect()
}

struct Seen {
    functions: Vec<String>,
    lines: Vec<u32>,
    entries: Vec<bool>,
}

/// The frames of the thread, as soon as its innermost line is as expected.
fn frames(python: &Python, bias: u64, pid: u32, tid: u32, innermost: u32) -> Seen {
    let memory = ProcessMemory::open(pid).expect("a child's memory");
    let interpreters =
        Interpreters { memory: &memory, layout: &python.layout, runtime: python.runtime.wrapping_add(bias) };
    let mut last = String::new();
    // It prints that it is ready just before it waits.
    for _ in 0..400 {
        let threads = interpreters.threads().expect("its threads");
        let state = interpreters.thread(&threads, tid).expect("the thread is among them");
        let (frames, end) = interpreters.frames(state);
        let codes: Vec<_> = frames.iter().map(|frame| interpreters.code(frame.code)).collect();
        last = format!("{end:?} {frames:?} {codes:?}");
        if codes.iter().all(Result::is_ok) && end == dwell_python::record::End::Whole {
            let codes: Vec<_> = codes.into_iter().flatten().collect();
            let lines: Vec<u32> =
                codes.iter().zip(&frames).map(|(code, frame)| code.line(frame.instruction)).collect();
            if lines.first() == Some(&innermost) {
                let own = codes.iter().filter(|code| code.file.ends_with("stand_still.py")).count();
                assert_eq!(
                    own,
                    codes.iter().take_while(|code| code.file.ends_with("stand_still.py")).count()
                );
                let functions = codes.into_iter().map(|code| code.function).collect();
                return Seen { functions, lines, entries: frames.iter().map(|frame| frame.entry).collect() };
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("the thread never came to line {innermost}; last seen: {last}");
}

fn threads_of(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("a living child");
    tasks
        .map(|task| task.expect("a thread").file_name().to_string_lossy().parse().expect("a number"))
        .collect()
}

fn check(version: &str, python: &Path) {
    let running = start(python, "stand_still.py");
    let pid = running.0.id();
    let (found, bias) = find(pid);
    assert_eq!(found.layout.version.to_string(), version.rsplit_once('.').expect("three numbers").0);
    assert!(
        found.evaluation.as_ref().is_some_and(|range| range.end - range.start > 1000),
        "{:?}",
        found.evaluation
    );

    let minor = found.layout.version.minor;
    let expected = marked("at");
    let seen = frames(&found, bias, pid, pid, expected[0]);
    assert_eq!(seen.lines, expected, "lines in {version}");
    let qualified = |name: &'static str, class: &'static str| if minor < 11 { name } else { class };
    let names = [
        qualified("méthode", "Café.méthode"),
        "generator",
        "key",
        "recursive",
        "recursive",
        "main",
        "<module>",
    ];
    assert_eq!(seen.functions, names, "functions in {version}");
    // Where C called Python: `sorted` its key, `for` its generator (not yet specialised, as it runs
    // for the first time), and the program as a whole.
    let entries = if minor <= 10 { [true; 7] } else { [false, true, true, false, false, false, true] };
    assert_eq!(seen.entries, entries, "entries in {version}");

    let other = threads_of(pid).into_iter().find(|tid| *tid != pid).expect("another thread");
    let seen = frames(&found, bias, pid, other, marked("thread")[0]);
    assert_eq!(seen.functions[0], "waits", "in {version}");
    assert!(seen.functions.len() > 2, "it began in the threading module: {:?}", seen.functions);
}

#[test]
fn frames_of_threads_that_stand_still_are_those_of_the_script() {
    for (version, python) in pythons() {
        check(&version, &python);
    }
}

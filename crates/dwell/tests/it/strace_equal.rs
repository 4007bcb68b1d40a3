//! dwell's table of system calls against strace's: the same calls, as often, with as many errors.
//!
//! Both count the calls that returned. What that means where it is not plain, in `strace -c -f`
//! (6.1) and so in dwell:
//! - The `execve` that starts the program is counted, as it returns into it; the calls before it,
//!   of the process that was to become the program, are not. A child's search along `PATH` counts
//!   each `execve`, failed or not.
//! - `exit`, `exit_group` and a call that a process dies in never return, and are not counted.
//! - `fork`, `vfork` and `clone` return twice, but count once: in the parent.
//! - A call that a signal interrupts counts with an error, though the program may not see one: the
//!   kernel then returns `ERESTARTSYS` or the like, and the call is counted again when it is made
//!   again. The handler's return is a call of its own, `rt_sigreturn`, and no error, whatever
//!   number it puts back.
//! - When a signal comes is a matter of chance, so how often calls are interrupted by one is too,
//!   and two that come at one time are one. A shell's children that end one after the other, while
//!   it waits for them, are the same each time and are tested here; those of a pipeline, which end
//!   together, are not.
//!
//! Addresses are kept from moving (`setarch -R`), as the number of `brk` and `mmap` may depend on
//! them; each command starts in the same directory, with the same files, environment and standard
//! streams.

use crate::support;
use crate::support::{alone, fresh, redirect, run_into, work};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Calls and errors by name.
pub(crate) type Counts = BTreeMap<String, (u64, u64)>;

/// A directory with a few files, made anew for each run.
fn tree() -> PathBuf {
    let root = support::scratch().join(format!("strace-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    for dir in ["t/a/deep", "t/b", "t/empty"] {
        std::fs::create_dir_all(root.join(dir)).expect("a directory in the scratch directory");
    }
    for index in 0..12 {
        let text = format!("file number {index} holds these words\n").repeat(index + 1);
        for dir in ["t/a", "t/a/deep", "t/b"] {
            std::fs::write(root.join(dir).join(index.to_string()), &text)
                .expect("a file in the scratch directory");
        }
    }
    let big: String = (0..60_000).map(|line| format!("{line} lines of text\n")).collect();
    std::fs::write(root.join("t/big"), big).expect("a file in the scratch directory");
    std::os::unix::fs::symlink("nowhere", root.join("t/link")).expect("a link in the scratch directory");
    root
}

/// The same surroundings for both.
fn launcher(root: &Path) -> Command {
    let mut command = Command::new("setarch");
    command.args(["-R", "timeout", "--foreground", "60"]).current_dir(root);
    command.env_clear().envs([("PATH", "/usr/bin:/bin"), ("HOME", "/nowhere"), ("LC_ALL", "C")]);
    command
}

fn by_strace(command: &[&str]) -> Counts {
    let root = tree();
    let (summary, out) = (fresh("strace"), root.join("out"));
    let mut strace = launcher(&root);
    strace
        .args(["strace", "-c", "-f", "-U", "name,calls,errors", "-o"])
        .arg(&summary)
        .arg("--")
        .args(command);
    redirect(&mut strace, &out, &root.join("errors")).status().expect("setarch starts");
    let text = std::fs::read_to_string(&summary).unwrap_or_else(|error| {
        panic!("no summary of {strace:?}: {error}\n{:?}", std::fs::read_to_string(root.join("errors")))
    });
    let _ = std::fs::remove_file(summary);
    parse(&text)
}

/// Reads `strace -c -U name,calls,errors`: one table, or one for each width of calls.
pub(crate) fn parse(text: &str) -> Counts {
    let mut prefix = "";
    let mut counts = Counts::new();
    for line in text.lines() {
        if line.starts_with("System call usage summary for") {
            prefix = if line.contains("32 bit") { "32:" } else { "" };
        }
        let mut fields = line.split_whitespace();
        let (Some(name), Some(Ok(calls))) = (fields.next(), fields.next().map(str::parse)) else { continue };
        let errors = fields.next().map_or(Ok(0), str::parse).expect("the third column is a number");
        if name != "total" {
            counts.insert(format!("{prefix}{name}"), (calls, errors));
        }
    }
    counts
}

fn by_dwell(command: &[&str]) -> Counts {
    let root = tree();
    let told = run_into(&mut launcher(&root), command, &root.join("out"));
    told.all_calls().into_iter().map(|(name, calls, errors)| (name, (calls, errors))).collect()
}

/// What differs, a line each.
fn difference(strace: &Counts, dwell: &Counts) -> String {
    let names = strace.keys().chain(dwell.keys()).collect::<std::collections::BTreeSet<_>>();
    let lines = names.into_iter().filter(|name| strace.get(*name) != dwell.get(*name)).map(|name| {
        format!("    {name}: strace {:?}, dwell {:?} (calls, errors)\n", strace.get(name), dwell.get(name))
    });
    lines.collect()
}

/// dwell counts what strace counts. A program that makes its calls otherwise from run to run, which
/// strace before and after tells, is asked again.
fn same(command: &[&str]) {
    let _alone = alone();
    let mut report = String::new();
    for _ in 0..4 {
        let (before, ours, after) = (by_strace(command), by_dwell(command), by_strace(command));
        assert!(
            before.contains_key("execve") && before.len() > 3,
            "strace counted nothing of {command:?}: {before:?}"
        );
        if ours == before || ours == after {
            return;
        }
        report = difference(&before, &ours);
        assert!(before != after, "{command:?}\n{report}");
        report.push_str("strace itself, before and after, differs\n");
        report.push_str(&difference(&before, &after));
    }
    panic!("{command:?} does not make the same calls each time\n{report}");
}

fn same_of_shell(script: &str) {
    same(&["sh", "-c", script]);
}

#[test]
fn the_summary_of_strace_is_read_right() {
    let text = "\
System call usage summary for 64 bit mode:
syscall              calls    errors
---------------- --------- ---------
read                   100         4
close                    2          
---------------- --------- ---------
total                  102         4
System call usage summary for 32 bit mode:
close                    9         9
";
    let want = [("read", (100, 4)), ("close", (2, 0)), ("32:close", (9, 9))];
    assert_eq!(parse(text), want.map(|(name, counts)| (name.to_owned(), counts)).into());
}

#[test]
fn a_long_listing() {
    same(&["ls", "-lR", "t"]);
}

#[test]
fn a_copy() {
    same(&["cp", "t/big", "copy"]);
    same(&["cp", "-r", "t/a", "copies"]);
}

#[test]
fn a_compression() {
    same(&["gzip", "-k", "t/big"]);
}

#[test]
fn a_concatenation_with_a_file_that_is_not_there() {
    same(&["cat", "t/big", "t/none", "t/a/3"]);
}

#[test]
fn a_search() {
    same(&["find", "t", "-name", "3", "-newer", "t/big"]);
    same(&["grep", "-rc", "words", "t"]);
}

#[test]
fn an_archive() {
    same(&["tar", "-cf", "archive", "t"]);
}

#[test]
fn a_python_program() {
    same(&["python3", "-c", "print(sum(len(line) for line in open('t/big')))"]);
}

#[test]
fn a_shell_and_its_children() {
    same_of_shell("ls t; cat t/big; true");
    same_of_shell("for i in 1 2 3; do cat t/a/$i; done");
    same_of_shell("/bin/true; (exit 3); cat none; nosuchprogram; exit 4");
    same_of_shell("cd t/a && exec find . -type f -exec grep -c words {} ;");
}

#[test]
fn a_program_that_searches_its_path() {
    same(&["env", "PATH=/nowhere:/usr/bin:/bin", "ls", "t"]);
}

#[test]
fn a_c_program() {
    let program = fresh("words");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/words.c");
    let status = Command::new("cc").arg("-O1").arg(source).arg("-o").arg(&program).arg("-lm").status();
    assert!(status.is_ok_and(|status| status.success()), "cc cannot compile words.c");
    same(&[program.to_str().expect("plain characters"), "t/big", "t/a/1", "t/none", "t"]);
    std::fs::remove_file(program).expect("the program can be removed");
}

#[test]
fn forks_and_spawns() {
    same(&[work(), "forks", "50"]);
    same(&[work(), "spawns", "20"]);
    same(&[work(), "child-sleep", "5"]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_through_the_32_bit_table() {
    same(&[work(), "calls-32", "100"]);
}

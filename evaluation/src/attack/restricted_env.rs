//! Restricted environments: dwell is started in each once a verb, and its end is judged.
//!
//! A case is a line of shell that changes one thing and executes `"$@"`, which is dwell. The
//! program of `run` is first run without dwell in the same environment: where it cannot work by
//! itself, that does not count against dwell.

use super::place::Workplace;
use super::verbs::{CASES as VERBS, Verb, bare};
use anyhow::{Context, Result, ensure};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// What is changed.
pub(super) struct Case {
    /// In the table.
    pub(super) name: &'static str,
    /// The shell's line. [`PRELUDE`] says what it can use; `$REFUSE` is the program that executes
    /// another with a system call refused.
    pub(super) shell: &'static str,
    /// Signals that end dwell there, and rightly.
    pub(super) deadly: &'static [i32],
    /// Whether what dwell says cannot be read there.
    pub(super) mute: bool,
}

/// After this time a process hangs.
const HANGS: Duration = Duration::from_secs(40);
/// The exit status of a case that this machine cannot make.
const NOT_TRIED: i32 = 99;
/// The exit status of dwell when it has no result.
const REFUSED: i32 = 125;

/// `group CONTROLLER VALUE FILE…`: a control group of the case with a value in the first of
/// the files that is there (they have other names in version 1). `hide DIRECTORY`, `nobody`,
/// `without CAPABILITIES`, `refuse CALL`, `on_disk OPTIONS` are for what they say; the last gives
/// the result away from its disk.
const PRELUDE: &str = r#"
cannot() { echo "not tried: $*" >&2; exit 99; }
group() {
    controller=$1 value=$2; shift 2
    for top in /sys/fs/cgroup/$controller /sys/fs/cgroup; do
        g=$top/$ATTACK_GROUP
        mkdir "$g" 2>/dev/null
        for file in "$@"; do
            if [ -e "$g/$file" ]; then
                [ "$controller" = cpuset ] && cat "$top/cpuset.mems" > "$g/cpuset.mems"
                echo "$value" > "$g/$file" && echo $$ > "$g/cgroup.procs" && return
            fi
        done
        rmdir "$g" 2>/dev/null
    done
    cannot "no control group $controller"
}
hide() { [ ! -d "$1" ] || mount -t tmpfs none "$1" || cannot "mount over $1"; }
nobody() { exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
without() { dropped=$1; shift; exec setpriv --bounding-set "$dropped" --inh-caps "$dropped" "$@"; }
refuse() { exec "$REFUSE" "$@"; }
on_disk() {
    mount -t tmpfs -o "$1" none disk || cannot "mount a disk"; shift
    cd disk; "$@"; status=$?
    [ -e out.json ] && cp out.json "$ATTACK_WORK"
    exit $status
}
"#;

/// What came of a case, for each of the verbs.
pub(super) struct Outcome {
    pub(super) name: &'static str,
    pub(super) cells: Vec<String>,
    /// What dwell said first where it gave no result.
    pub(super) said: String,
    /// What did not hold, in words.
    pub(super) wrong: Vec<String>,
}

/// Compiles what refuses system calls.
///
/// # Errors
/// When the C compiler is missing or fails.
pub(super) fn prepare(place: &Workplace) -> Result<()> {
    let source = workshop::shell::root().join("crates/dwell/tests/programs/refuse.c");
    let made = Command::new("cc").arg(source).arg("-o").arg(place.refuse()).status();
    ensure!(made.context("cannot start cc")?.success(), "cc cannot compile refuse.c");
    Ok(())
}

/// Tries a case with each of the verbs.
///
/// # Errors
/// When a process cannot be started.
pub(super) fn attempt(place: &Workplace, case: &Case) -> Result<Outcome> {
    let shell = format!("{PRELUDE}\n{}", case.shell);
    let mut outcome = Outcome { name: case.name, cells: Vec::new(), said: String::new(), wrong: Vec::new() };
    let begins = |place: &Workplace| {
        place.clear_program();
        place.clear_results();
        place.files()
    };
    begins(place);
    // What it leaves is its own affair. A shell has dwell's place, which is one process.
    let mut words: Vec<String> = ["/bin/sh", "-c", "\"$@\"; exit $?", "sh"].map(str::to_owned).to_vec();
    words.extend(bare(place));
    place.start_in(&shell, &words)?.end(HANGS);
    let works_by_itself = place.program_is_finished();
    place.wait_for_orphans(None, Duration::ZERO);
    place.leave_group();
    for verb in VERBS {
        let before = begins(place);
        let mut target = verb.target(place)?;
        let words = place.command(verb, target.as_ref());
        let status = place.start_in(&shell, &words)?.end(HANGS);
        let mut wrong = Vec::new();
        let left = place.wait_for_orphans(target.as_ref(), Duration::from_secs(5));
        place.leave_group();
        let said = place.said().replace(&place.path(""), "").replace(&place.path("tmp"), "TMPDIR");
        if left > 0 {
            wrong.push(format!("{left} processes left"));
        }
        if !place.groups().is_empty() {
            wrong.push("control groups left".to_owned());
        }
        // What was killed leaves files for the next start, which is tried among the kills.
        let was_killed = status.is_some_and(|status| status.signal().is_some());
        let files: Vec<_> = place.files().difference(&before).cloned().collect();
        if !files.is_empty() && !was_killed {
            wrong.push(format!("files left: {}", files.join(" ")));
        }
        if said.contains("panicked") {
            wrong.push("a panic".to_owned());
        }
        let harmed = place.program_is_unfinished() && works_by_itself && !was_killed;
        if harmed || target.as_mut().is_some_and(|target| !target.goes_on()) {
            wrong.push("the program was harmed".to_owned());
        }
        let (cell, fault) = judged(case, verb, status, &said, place.has_result());
        wrong.extend(fault);
        if outcome.said.is_empty() && cell != "result" {
            outcome.said = first_line(&said);
        }
        if !wrong.is_empty() {
            outcome.wrong.push(format!("{}: {} ({})", verb.name, wrong.join(", "), first_line(&said)));
        }
        outcome.cells.push(cell);
    }
    Ok(outcome)
}

/// How it ended, for the table, and what is wrong with that.
fn judged(
    case: &Case,
    verb: &Verb,
    status: Option<ExitStatus>,
    said: &str,
    has_result: bool,
) -> (String, Option<String>) {
    let Some(status) = status else { return ("hung".to_owned(), Some("it hung".to_owned())) };
    // A shell before dwell, or a namespace's first process, hands signals on as statuses.
    let signal = status.signal().or(status.code().filter(|code| *code > 128).map(|code| code - 128));
    match (status.code(), signal) {
        (_, Some(signal)) if case.deadly.contains(&signal) => (format!("signal {signal}"), None),
        (_, Some(signal)) => (format!("signal {signal}"), Some(format!("signal {signal}"))),
        (Some(0), _) if has_result => ("result".to_owned(), None),
        (Some(0), _) => ("no result".to_owned(), Some("status 0 without a result".to_owned())),
        (Some(NOT_TRIED), _) => ("not tried".to_owned(), None),
        (Some(REFUSED), _) if said.trim().is_empty() && !case.mute => {
            ("refused".to_owned(), Some("refused without a word".to_owned()))
        }
        (Some(REFUSED), _) => ("refused".to_owned(), None),
        // The program's own, where it fails without dwell as well.
        (Some(code), _) if verb.name == "run" && has_result => (format!("result, {code}"), None),
        (Some(code), _) if said.trim().is_empty() && !case.mute => {
            (format!("status {code}"), Some(format!("status {code} without a word")))
        }
        (Some(code), _) => (format!("status {code}"), None),
        (None, None) => ("unknown".to_owned(), Some("no status".to_owned())),
    }
}

/// The first line that says why, cut.
fn first_line(said: &str) -> String {
    const MOST: usize = 110;
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let why = lines.iter().find(|line| line.starts_with("dwell:")).or(lines.first());
    let line: String = why.copied().unwrap_or_default().chars().take(MOST).collect();
    line.replace('|', "/")
}

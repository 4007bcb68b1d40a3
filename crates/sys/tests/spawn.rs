//! Programs really started: how they begin, what they inherit, how they end.

use dwell_sys::spawn::{Command, Error, Flushes, HeldProgram, Imposed, ProgramEnd, RunningProgram};
use dwell_sys::user::User;
use model::recording::Ending;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{self, Stdio};
use std::time::{Duration, Instant};

fn command(words: &[&str]) -> Command {
    Command { program: words[0].into(), args: words[1..].iter().map(Into::into).collect(), user: None }
}

fn start(words: &[&str]) -> Result<RunningProgram, Error> {
    HeldProgram::spawn(&command(words))?.release()
}

fn run(words: &[&str]) -> ProgramEnd {
    start(words).unwrap().reap().unwrap()
}

/// Runs a script with its output in a file, and returns that.
fn output_of(script: &str, user: Option<User>) -> String {
    let top = tempfile::tempdir().unwrap();
    fs::set_permissions(top.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let out = top.path().join("out");
    let mut command = command(&["sh", "-c", &format!("({script}) > '{}' 2>&1", out.display())]);
    command.user = user;
    let ended = HeldProgram::spawn(&command).unwrap().release().unwrap().reap().unwrap();
    let text = fs::read_to_string(out).unwrap();
    assert_eq!(ended.ending, Ending::Code(0), "{text}");
    text
}

fn script(dir: &Path, name: &str, text: &[u8]) -> String {
    let path = dir.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_ending_is_the_programs_own() {
    assert_eq!(run(&["true"]).ending, Ending::Code(0));
    assert_eq!(run(&["false"]).ending, Ending::Code(1));
    assert_eq!(run(&["sh", "-c", "exit 255"]).ending, Ending::Code(255));
    assert_eq!(run(&["sh", "-c", "kill -KILL $$"]).ending, Ending::Signal(9));
    assert_eq!(run(&["sh", "-c", "kill -SEGV $$"]).ending, Ending::Signal(11));
}

#[test]
fn what_children_used_is_counted_when_they_are_waited_for() {
    let ended = run(&["sh", "-c", "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; true"]);
    assert!(ended.rusage.user_ns > 10_000_000, "{ended:?}");
    assert!(ended.rusage.max_rss_bytes > 100_000 && ended.rusage.minor_faults > 10, "{ended:?}");
}

#[test]
fn nothing_is_started_when_there_is_nothing_to_run() {
    let top = tempfile::tempdir().unwrap();
    let plain = top.path().join("plain");
    fs::write(&plain, "").unwrap();
    for (program, code) in [
        ("no-such-program-anywhere", 127),
        ("/no/such/program", 127),
        (top.path().to_str().unwrap(), 126),
        (plain.to_str().unwrap(), 126),
    ] {
        assert_eq!(HeldProgram::spawn(&command(&[program])).unwrap_err().exit_code(), code, "{program}");
    }
}

#[test]
fn what_only_the_kernel_can_refuse_is_126_with_a_reason() {
    let top = tempfile::tempdir().unwrap();
    let foreign = script(top.path(), "foreign", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let orphan = script(top.path(), "orphan", b"#!/no/such/interpreter\n");
    for (program, word) in [(foreign, "another kind of machine"), (orphan, "interpreter")] {
        let error = start(&[&program]).unwrap_err();
        assert_eq!(error.exit_code(), 126);
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_script_without_an_interpreter_runs_in_the_shell() {
    let top = tempfile::tempdir().unwrap();
    let bare = script(top.path(), "bare", b"exit $(($1 + $#))\n");
    assert_eq!(run(&[&bare, "40", "x"]).ending, Ending::Code(42));
}

#[test]
fn a_held_program_does_nothing_until_it_is_released() {
    let top = tempfile::tempdir().unwrap();
    let made = top.path().join("made");
    let held = HeldProgram::spawn(&command(&["mkdir", made.to_str().unwrap()])).unwrap();
    let pid = held.pid();
    std::thread::sleep(Duration::from_millis(50));
    assert!(!made.exists());
    let running = held.release().unwrap();
    assert_eq!(running.pid(), pid);
    assert_eq!(running.reap().unwrap().ending, Ending::Code(0));
    assert!(made.exists());
}

#[test]
fn a_held_program_that_is_not_wanted_leaves_nothing() {
    let held = HeldProgram::spawn(&command(&["true"])).unwrap();
    let process = format!("/proc/{}", held.pid());
    assert!(Path::new(&process).exists());
    drop(held);
    assert!(!Path::new(&process).exists());
}

#[test]
fn a_held_program_that_is_killed_did_not_start() {
    let held = HeldProgram::spawn(&command(&["true"])).unwrap();
    let killed = process::Command::new("kill").args(["-INT", &held.pid().to_string()]).status().unwrap();
    assert!(killed.success());
    let error = held.release().unwrap_err();
    assert!(matches!(error, Error::EndedEarly(Ending::Signal(2))), "{error}");
    assert_eq!(error.exit_code(), 130);
}

/// The part of the next test that runs in a separate process, to be killed. Alone it does nothing.
#[test]
fn hold_one_for_ever() {
    if std::env::var_os("HOLD_ONE_FOR_EVER").is_some() {
        let held = HeldProgram::spawn(&command(&["true"])).unwrap();
        // To the test that started this process.
        #[allow(clippy::print_stdout)]
        {
            println!("\nheld {}", held.pid());
        }
        std::thread::sleep(Duration::from_secs(60));
    }
}

#[test]
fn a_held_program_ends_when_dwell_is_killed() {
    let mut holder = process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hold_one_for_ever", "--nocapture"])
        .env("HOLD_ONE_FOR_EVER", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    let pid =
        lines.map_while(Result::ok).find_map(|line| line.strip_prefix("held ").map(str::to_owned)).unwrap();
    // The children file of /proc is optional; the parent is not.
    assert_eq!(parent_of(&pid).as_deref(), Some(holder.id().to_string().as_str()));
    holder.kill().unwrap();
    assert_eq!(holder.wait().unwrap().signal(), Some(9));
    let patience = Instant::now() + Duration::from_secs(10);
    // It has ended, or is a zombie that the new parent has not reaped yet.
    while parent_of(&pid).is_some() {
        assert!(Instant::now() < patience, "process {pid} is still held");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The parent of a living process.
fn parent_of(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let (state, parent) = (fields.next()?, fields.next()?);
    (state != "Z" && state != "X").then(|| parent.to_owned())
}

/// Descriptors that a child would inherit: those without close-on-exec.
fn handed_down() -> Vec<String> {
    let closes = |number: &str| {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or("02000000");
        u32::from_str_radix(flags.trim(), 8).unwrap() & 0o2_000_000 != 0
    };
    let mut numbers = numbers_in("/proc/self/fd");
    numbers.retain(|number| !closes(number));
    numbers
}

fn numbers_in(directory: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_program_has_the_callers_descriptors_and_none_of_ours() {
    let before = handed_down();
    let held = HeldProgram::spawn(&command(&["sleep", "60"])).unwrap();
    let pid = held.pid();
    assert_eq!(handed_down(), before);
    let running = held.release().unwrap();
    // Its loader has libraries open for a moment.
    let patience = Instant::now() + Duration::from_secs(10);
    let numbers = || numbers_in(&format!("/proc/{pid}/fd"));
    while numbers() != before && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(numbers(), before);
    process::Command::new("kill").arg(pid.to_string()).status().unwrap();
    assert_eq!(running.reap().unwrap().ending, Ending::Signal(15));
}

#[test]
fn signals_are_as_the_caller_had_them() {
    // Of this process: the state before `main`, since when only Rust has changed anything
    // (SIGPIPE).
    let status = |pid: &str, name: &str| {
        let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap()
    };
    const SIGPIPE: u64 = 1 << (13 - 1);
    assert_ne!(status("self", "SigIgn") & SIGPIPE, 0, "Rust no longer ignores SIGPIPE");
    let ours = output_of("cat /proc/self/status", None);
    let parse = |name: &str| {
        let line = ours.lines().find(|line| line.starts_with(name)).unwrap();
        u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap()
    };
    let wanted_ignored = std::env::var_os("SIGPIPE_IGNORED").is_some();
    assert_eq!(parse("SigIgn") & SIGPIPE != 0, wanted_ignored);
    assert_eq!(parse("SigBlk"), 0);
}

#[test]
fn a_caller_who_ignores_sigpipe_is_respected() {
    let again = "trap '' PIPE; exec \"$0\" --exact signals_are_as_the_caller_had_them";
    let status = process::Command::new("sh")
        .args(["-c", again])
        .arg(std::env::current_exe().unwrap())
        .env("SIGPIPE_IGNORED", "1")
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn another_user_is_another_user() {
    if !rustix::process::geteuid().is_root() {
        assert!(User::look_up("root").unwrap_err().to_string().contains("only root"));
        return;
    }
    let nobody = User::look_up("nobody").unwrap();
    let said = output_of("id -u; id -g; id -G; echo $HOME $USER $LOGNAME", Some(nobody.clone()));
    let groups: Vec<String> = nobody.groups.iter().map(u32::to_string).collect();
    let wanted =
        format!("{}\n{}\n{}\n{} nobody nobody\n", nobody.uid, nobody.gid, groups.join(" "), nobody.home);
    assert_eq!(said, wanted);
}

#[test]
fn it_starts_in_our_group_and_directory_with_our_environment() {
    let said = output_of("ps -o pgid= -p $$; pwd; echo $PATH", None);
    let pgid = rustix::process::getpgrp().as_raw_nonzero();
    let wanted = [
        pgid.to_string(),
        std::env::current_dir().unwrap().display().to_string(),
        std::env::var("PATH").unwrap(),
    ];
    assert_eq!(said.lines().map(str::trim).collect::<Vec<_>>(), wanted);
}

/// `sync FILE` calls fsync, which a device without a disk refuses.
#[test]
fn skipped_flushes_return_as_if_they_were_done_also_in_descendants() {
    let ends = |flushes, words: &[&str]| {
        let imposed = Imposed { flushes, silent: true, ..Imposed::default() };
        let held = HeldProgram::spawn_imposed(&command(words), &imposed).unwrap();
        held.release().unwrap().reap().unwrap().ending
    };
    for words in [&["sync", "/dev/null"][..], &["sh", "-c", "sync /dev/null"]] {
        assert_eq!(ends(None, words), Ending::Code(1));
        assert_eq!(ends(Some(Flushes::Done), words), Ending::Code(1));
        assert_eq!(ends(Some(Flushes::Skipped), words), Ending::Code(0));
    }
}

#[test]
fn a_silent_program_writes_nowhere_and_gets_its_variables() {
    let imposed =
        Imposed { variables: vec![("DWELL_SAID".into(), "so".into())], silent: true, flushes: None };
    let script = r#"[ "$DWELL_SAID" = so ] && [ "$(readlink /proc/$$/fd/1)$(readlink /proc/$$/fd/2)" = /dev/null/dev/null ]"#;
    let held = HeldProgram::spawn_imposed(&command(&["sh", "-c", script]), &imposed).unwrap();
    assert_eq!(held.release().unwrap().reap().unwrap().ending, Ending::Code(0));
}

//! Signals and job control, with a small dwell: this binary when called with `run`.

mod one_thread;

use dwell_sys::at_once::EndAtOnce;
use dwell_sys::signals::Signals;
use dwell_sys::spawn::{Command as Program, HeldProgram};
use model::recording::Ending;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const TESTS: [(&str, fn()); 11] = [
    (
        "a_signal_sent_to_dwell_alone_reaches_the_program_once",
        a_signal_sent_to_dwell_alone_reaches_the_program_once,
    ),
    (
        "a_program_that_dies_of_a_passed_on_signal_is_reported",
        a_program_that_dies_of_a_passed_on_signal_is_reported,
    ),
    (
        "what_the_program_sends_to_dwell_does_not_come_back",
        what_the_program_sends_to_dwell_does_not_come_back,
    ),
    ("a_parent_that_ignores_sigchld_changes_nothing", a_parent_that_ignores_sigchld_changes_nothing),
    ("a_program_stopped_alone_does_not_stop_dwell", a_program_stopped_alone_does_not_stop_dwell),
    ("ctrl_c_reaches_the_program_once_and_dwell_reports", ctrl_c_reaches_the_program_once_and_dwell_reports),
    ("ctrl_z_gives_the_prompt_back_and_fg_goes_on", ctrl_z_gives_the_prompt_back_and_fg_goes_on),
    (
        "a_sigcont_to_dwell_alone_continues_the_program_too",
        a_sigcont_to_dwell_alone_continues_the_program_too,
    ),
    ("a_program_may_refuse_to_stop", a_program_may_refuse_to_stop),
    (
        "while_there_is_nothing_to_lose_a_signal_ends_at_once",
        while_there_is_nothing_to_lose_a_signal_ends_at_once,
    ),
    ("afterwards_a_signal_is_read_and_ends_nothing", afterwards_a_signal_is_read_and_ends_nothing),
];

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if args.first().is_some_and(|first| first == "run") {
        return small_dwell(&args[1], &args[2..]);
    }
    if args.first().is_some_and(|first| first == "set-up") {
        return set_up(&args[1]);
    }
    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    one_thread::run(&TESTS, &words)
}

/// What [`remove_left`] removes.
const LEFT: &str = "LEFT";

/// `set-up STAGE`: is in it, or past it, for as long as standard input is open; then prints the
/// signal that it read.
fn set_up(stage: &OsString) -> ExitCode {
    let mut signals = Signals::take_over().unwrap();
    let at_once = EndAtOnce::begin(remove_left).unwrap();
    let at_once = (stage == "within").then_some(at_once);
    let mut out = std::io::stdout();
    writeln!(out, "there").unwrap();
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    drop(at_once);
    writeln!(out, "{:?}", signals.take().unwrap().map(|signal| signal.number)).unwrap();
    ExitCode::SUCCESS
}

fn remove_left() {
    let _ = fs::remove_file(std::env::var_os(LEFT).unwrap());
}

/// Starts such a process, and sends it a signal when it is there. Gives how it ended, what it
/// printed, and whether the file is left.
fn signalled(stage: &str, signal: &str) -> (ExitStatus, String, bool) {
    let directory = tempfile::tempdir().unwrap();
    let left = directory.path().join("left");
    fs::write(&left, "").unwrap();
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(std::env::current_exe().unwrap()).args(["set-up", stage]);
    command.env(LEFT, &left).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut there = [0; 6];
    out.read_exact(&mut there).unwrap();
    let _ = Command::new("kill").args([signal, &child.id().to_string()]).status();
    let status = if stage == "within" {
        // It ends although its input stays open; what does not is ended by the lane.
        let input = child.stdin.take();
        let status = child.wait().unwrap();
        drop(input);
        status
    } else {
        child.wait().unwrap()
    };
    let mut said = String::new();
    out.read_to_string(&mut said).unwrap();
    (status, said, left.exists())
}

fn while_there_is_nothing_to_lose_a_signal_ends_at_once() {
    for (signal, number) in [("-TERM", 15), ("-INT", 2), ("-HUP", 1)] {
        let (status, said, left) = signalled("within", signal);
        assert_eq!((status.signal(), said.as_str(), left), (Some(number), "", false), "{signal}");
    }
}

fn afterwards_a_signal_is_read_and_ends_nothing() {
    let (status, said, left) = signalled("past", "-TERM");
    assert_eq!((status.code(), said.as_str(), left), (Some(0), "Some(15)\n", true));
}

/// `run REPORT PROGRAM ARG…`: runs the program and writes how it ended.
fn small_dwell(report: &OsString, words: &[OsString]) -> ExitCode {
    let mut signals = Signals::take_over().unwrap();
    let program = Program { program: words[0].clone(), args: words[1..].to_vec(), user: None };
    let mut running = HeldProgram::spawn(&program).unwrap().release().unwrap();
    let ended = loop {
        dwell_sys::poll::wait(&[signals.as_fd()], None).unwrap();
        if let Some(ended) = running.attend(&mut signals).unwrap() {
            break ended;
        }
    };
    fs::write(report, format!("{:?}", ended.ending)).unwrap();
    ExitCode::SUCCESS
}

/// A directory for the notes of one test's processes.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Command line of the small dwell around a shell script, for a shell.
    fn line(&self, script: &str) -> String {
        let exe = std::env::current_exe().unwrap();
        fs::write(self.file("script"), script).unwrap();
        // The parent of the tests may ignore some of them (nohup does), and that is inherited.
        format!(
            "env --default-signal=HUP,INT,TERM,USR1,QUIT '{}' run '{}' sh '{}'",
            exe.display(),
            self.file("report").display(),
            self.file("script").display()
        )
    }

    fn start(&self, script: &str) -> Child {
        Command::new("sh")
            .args(["-c", &format!("exec {}", self.line(script))])
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// Waits until the file has this text.
    fn expect(&self, name: &str, text: &str) {
        until(&format!("{name} to say {text:?}"), || self.read(name) == text);
    }

    /// Makes the program end.
    fn end(&self) {
        fs::write(self.file("door"), "end\n").unwrap();
    }

    fn expect_report(&self, ending: Ending) {
        self.expect("report", &format!("{ending:?}"));
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < patience, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

/// `R`, `S`, `T` …; `-` for a process that has ended.
fn state(pid: &str) -> char {
    stat(pid, 0).chars().next().unwrap_or('-')
}

fn parent(pid: &str) -> String {
    stat(pid, 1)
}

/// A field of `/proc/PID/stat`, counted from behind the name.
fn stat(pid: &str, field: usize) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(") ").map(|(_, rest)| rest).unwrap_or_default();
    fields.split(' ').nth(field).unwrap_or_default().to_owned()
}

/// A script that notes each signal of this name and ends with 7 when asked to. It has no children:
/// a shell that is stopped while it starts one is in `vfork`, where it does not count as stopped.
fn counting(signal: &str) -> String {
    waiting(&format!("trap 'echo got >> got' {signal}"))
}

fn waiting(trap: &str) -> String {
    format!(
        "mkfifo door; exec 3<>door; {trap}\necho $$ > pid.new; mv pid.new pid\n\
         until read word <&3 && [ \"$word\" = end ]; do :; done\nexit 7\n"
    )
}

fn a_signal_sent_to_dwell_alone_reaches_the_program_once() {
    for signal in ["TERM", "HUP", "INT", "USR1", "QUIT"] {
        let place = Place::new();
        let mut dwell = place.start(&counting(signal));
        until("the program", || place.file("pid").exists());
        kill(&format!("-{signal}"), &dwell.id().to_string());
        place.expect("got", "got\n");
        std::thread::sleep(Duration::from_millis(100));
        place.end();
        place.expect_report(Ending::Code(7));
        assert_eq!(place.read("got"), "got\n", "{signal}");
        assert!(dwell.wait().unwrap().success());
    }
}

fn a_program_that_dies_of_a_passed_on_signal_is_reported() {
    let place = Place::new();
    let mut dwell = place.start("echo > pid; exec sleep 60");
    until("the program", || place.file("pid").exists());
    kill("-TERM", &dwell.id().to_string());
    place.expect_report(Ending::Signal(15));
    assert!(dwell.wait().unwrap().success());
}

fn what_the_program_sends_to_dwell_does_not_come_back() {
    let place = Place::new();
    let mut dwell = place.start("trap 'echo got >> got' USR1; kill -USR1 $PPID; sleep 0.2; exit 3");
    place.expect_report(Ending::Code(3));
    assert_eq!(place.read("got"), "");
    assert!(dwell.wait().unwrap().success());
}

fn a_parent_that_ignores_sigchld_changes_nothing() {
    let place = Place::new();
    let line = place.line("grep SigIgn /proc/self/status > ignored; exit 4");
    let script = format!("trap '' CHLD; {line}");
    // Not every shell can ignore SIGCHLD for its children; bash can.
    let shell = if Path::new("/bin/bash").exists() { "bash" } else { "sh" };
    let mut dwell = Command::new(shell).args(["-c", &script]).current_dir(place.0.path()).spawn().unwrap();
    place.expect_report(Ending::Code(4));
    dwell.wait().unwrap();
}

fn a_program_stopped_alone_does_not_stop_dwell() {
    let place = Place::new();
    let mut dwell = place.start(&counting("TERM"));
    until("the program", || place.file("pid").exists());
    let pid = place.read("pid").trim().to_owned();
    kill("-STOP", &pid);
    until("the program to stop", || state(&pid) == 'T');
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(state(&dwell.id().to_string()), 'S');
    kill("-CONT", &pid);
    place.end();
    place.expect_report(Ending::Code(7));
    assert!(dwell.wait().unwrap().success());
}

/// An interactive shell on its own terminal.
struct Terminal {
    pty: pty_process::blocking::Pty,
    shell: Child,
}

impl Terminal {
    fn open(directory: &Path) -> Self {
        let (pty, pts) = pty_process::blocking::open().unwrap();
        let shell = pty_process::blocking::Command::new("sh")
            .args(["-i"])
            .env("PS1", "$ ")
            .env("ENV", "")
            .current_dir(directory)
            .spawn(pts)
            .unwrap();
        // The terminal's output must be read, or the shell blocks in its prompt.
        let shown = pty.as_fd().try_clone_to_owned().unwrap();
        std::thread::spawn(move || fs::File::from(shown).read_to_end(&mut Vec::new()));
        Terminal { pty, shell }
    }

    fn type_in(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).unwrap();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

const CTRL_C: &str = "\x03";
const CTRL_Z: &str = "\x1a";

fn ctrl_c_reaches_the_program_once_and_dwell_reports() {
    let place = Place::new();
    let mut terminal = Terminal::open(place.0.path());
    terminal.type_in(&format!("{}\n", place.line(&counting("INT"))));
    until("the program", || place.file("pid").exists());
    terminal.type_in(CTRL_C);
    place.expect("got", "got\n");
    std::thread::sleep(Duration::from_millis(100));
    place.end();
    place.expect_report(Ending::Code(7));
    assert_eq!(place.read("got"), "got\n");
}

fn ctrl_z_gives_the_prompt_back_and_fg_goes_on() {
    let place = Place::new();
    let mut terminal = Terminal::open(place.0.path());
    terminal.type_in(&format!("{}\n", place.line(&counting("CONT"))));
    until("the program", || place.file("pid").exists());
    let pid = place.read("pid").trim().to_owned();
    for round in 1..=3 {
        terminal.type_in(CTRL_Z);
        until("the program to stop", || state(&pid) == 'T');
        // The shell takes commands again, which it does only with its foreground job stopped.
        terminal.type_in("echo prompt > prompt\n");
        place.expect("prompt", "prompt\n");
        fs::remove_file(place.file("prompt")).unwrap();
        terminal.type_in("fg\n");
        // One for each `fg`: dwell adds none.
        place.expect("got", &"got\n".repeat(round));
    }
    std::thread::sleep(Duration::from_millis(100));
    place.end();
    place.expect_report(Ending::Code(7));
    assert_eq!(place.read("got"), "got\n".repeat(3));
}

fn a_sigcont_to_dwell_alone_continues_the_program_too() {
    let place = Place::new();
    let mut terminal = Terminal::open(place.0.path());
    terminal.type_in(&format!("{}\n", place.line(&counting("CONT"))));
    until("the program", || place.file("pid").exists());
    let pid = place.read("pid").trim().to_owned();
    let dwell = parent(&pid);
    terminal.type_in(CTRL_Z);
    until("both to stop", || state(&pid) == 'T' && state(&dwell) == 'T');
    kill("-CONT", &dwell);
    place.expect("got", "got\n");
    place.end();
    place.expect_report(Ending::Code(7));
}

fn a_program_may_refuse_to_stop() {
    let place = Place::new();
    let mut terminal = Terminal::open(place.0.path());
    terminal.type_in(&format!("{}\n", place.line(&waiting("trap '' TSTP"))));
    until("the program", || place.file("pid").exists());
    let pid = place.read("pid").trim().to_owned();
    terminal.type_in(CTRL_Z);
    std::thread::sleep(Duration::from_millis(100));
    assert_ne!(state(&pid), 'T');
    assert_ne!(state(&parent(&pid)), 'T');
    place.end();
    place.expect_report(Ending::Code(7));
}

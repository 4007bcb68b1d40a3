//! Signals and terminals around the whole of dwell: the program gets what is meant for it, the
//! report still comes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const DWELL: &str = env!("CARGO_BIN_EXE_dwell");

/// A script that says it is there, notes each SIGINT, and ends with 7 when told to. It has no
/// children: a shell that is stopped while it starts one stands in `vfork`, where it does not count
/// as stopped.
const SCRIPT: &str = "mkfifo door; exec 3<>door; trap 'echo got >> got' INT
echo $$ > pid.new; mv pid.new pid
until read word <&3 && [ \"$word\" = end ]; do :; done
exit 7
";

/// A directory in which the script runs under dwell.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        fs::write(place.file("script"), SCRIPT).unwrap();
        place
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    fn expect(&self, name: &str, text: &str) {
        until(&format!("{name} to say {text:?}"), || self.read(name) == text);
    }

    /// The program's process id, once it runs.
    fn program(&self) -> String {
        until("the program to start", || self.file("pid").exists());
        self.read("pid").trim().to_owned()
    }

    fn end_program(&self) {
        fs::write(self.file("door"), "end\n").unwrap();
    }

    fn start(&self, words: &[&str]) -> Child {
        // The parent of the tests may ignore some of them (nohup does), and that is inherited.
        Command::new("env")
            .args(["--default-signal=HUP,INT,TERM,USR1", DWELL, "run", "-o", "page"])
            .args(words)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap()
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < patience, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

/// `R`, `S`, `T` …; `-` for a process that is gone.
fn state(pid: &str) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap_or('-')
}

#[test]
fn a_signal_to_dwell_ends_the_program_and_the_report_comes() {
    for (signal, status) in [("-TERM", 143), ("-HUP", 129), ("-USR1", 138)] {
        let place = Place::new();
        let mut dwell = place.start(&["sh", "script"]);
        place.program();
        kill(signal, &dwell.id().to_string());
        assert_eq!(dwell.wait().unwrap().code(), Some(status));
        assert!(place.read("page").contains("wall "), "{}", place.read("page"));
    }
}

#[test]
fn signals_that_mean_nothing_to_dwell_do_not_end_it() {
    let place = script_with("trap '' INT IO ALRM PROF 37 64");
    let mut dwell = place.start(&["sh", "script"]);
    place.program();
    for signal in ["-IO", "-ALRM", "-PROF", "-37", "-64"] {
        kill(signal, &dwell.id().to_string());
    }
    std::thread::sleep(Duration::from_millis(100));
    place.end_program();
    assert_eq!(dwell.wait().unwrap().code(), Some(7));
}

#[test]
fn a_program_that_handles_its_signal_gets_it_once() {
    let place = Place::new();
    let mut dwell = place.start(&["sh", "script"]);
    place.program();
    kill("-INT", &dwell.id().to_string());
    place.expect("got", "got\n");
    std::thread::sleep(Duration::from_millis(100));
    place.end_program();
    assert_eq!(dwell.wait().unwrap().code(), Some(7));
    assert_eq!(place.read("got"), "got\n");
}

/// The script, with another answer to signals.
fn script_with(trap: &str) -> Place {
    let place = Place::new();
    fs::write(place.file("script"), SCRIPT.replace("trap 'echo got >> got' INT", trap)).unwrap();
    place
}

fn is_left(place: &Place, dwell: &mut Child, status: i32, pid: &str) {
    assert_eq!(dwell.wait().unwrap().code(), Some(status));
    assert!(place.read("page").contains("the program kept running"), "{}", place.read("page"));
    let run: serde_json::Value = serde_json::from_str(&place.read("json")).unwrap();
    assert_eq!(run["exit"], serde_json::json!({"window": "signal"}));
    assert!(['S', 'R'].contains(&state(pid)), "it goes on: {:?}", state(pid));
    place.end_program();
    until("the program to end", || ['-', 'Z'].contains(&state(pid)));
}

#[test]
fn a_program_that_ignores_signals_is_recorded_up_to_there_and_goes_on() {
    for (signal, status, source) in [("-TERM", 143, "auto"), ("-INT", 130, "proc")] {
        let place = script_with("trap '' INT TERM");
        let mut dwell =
            place.start(&["--source", source, "--json", "json", "--keep", "kept", "sh", "script"]);
        let pid = place.program();
        kill(signal, &dwell.id().to_string());
        is_left(&place, &mut dwell, status, &pid);
        // What it was in when the recording ended is no gap.
        assert!(!place.read("page").contains("unexplained"), "{}", place.read("page"));
        let mut show = Command::new(DWELL);
        show.args(["show", "kept", "--json", "-"]).current_dir(place.0.path());
        assert!(show.output().unwrap().stdout == fs::read(place.file("json")).unwrap());
    }
}

#[test]
fn a_program_that_handles_sigterm_has_its_time_until_it_comes_again() {
    let place = script_with("trap 'echo got >> got' TERM");
    let mut dwell = place.start(&["--json", "json", "sh", "script"]);
    let pid = place.program();
    kill("-TERM", &dwell.id().to_string());
    place.expect("got", "got\n");
    // Longer than one that ignores it has.
    std::thread::sleep(Duration::from_millis(900));
    assert!(dwell.try_wait().unwrap().is_none(), "it may be ending in order");
    kill("-TERM", &dwell.id().to_string());
    is_left(&place, &mut dwell, 143, &pid);
    assert_eq!(place.read("got"), "got\ngot\n");
}

/// Whether this signal is in a set of `/proc/PID/status`.
fn is_in(set: &str, signal: u32, pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(set)).unwrap_or_default();
    u64::from_str_radix(line.trim(), 16).unwrap_or(0) & 1 << (signal - 1) != 0
}

#[test]
fn after_the_end_of_the_program_the_first_ctrl_c_loses_nothing() {
    const SIGNALS: [(&str, u32); 3] = [("-HUP", 1), ("-INT", 2), ("-TERM", 15)];
    let place = Place::new();
    // The page waits for room in a pipe: dwell is held between the end of the program and its own.
    let pipe = place.file("page");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = File::options().read(true).write(true).open(&pipe).unwrap();
    rustix::io::ioctl_fionbio(&reader, true).unwrap();
    let full = || while (&reader).write(&[b'x'; 4096]).is_ok() {};
    for again in [false, true] {
        full();
        let _ = fs::remove_file(place.file("pid"));
        let _ = fs::remove_file(place.file("door"));
        let mut dwell = place.start(&["--store", "store", "sh", "script"]);
        let id = dwell.id();
        place.program();
        place.end_program();
        for (signal, number) in SIGNALS {
            until("dwell to be at the page", || !is_in("SigBlk:", number, id));
            kill(signal, &id.to_string());
            until("the signal to be noted", || !is_in("SigCgt:", number, id));
            assert!(dwell.try_wait().unwrap().is_none(), "{signal}");
        }
        if again {
            kill("-INT", &id.to_string());
            assert_eq!(dwell.wait().unwrap().code(), None, "the second one ends it");
            continue;
        }
        let mut page = Vec::new();
        until("dwell to end", || {
            let _ = (&reader).read_to_end(&mut page);
            dwell.try_wait().unwrap().is_some()
        });
        let _ = (&reader).read_to_end(&mut page);
        assert_eq!(dwell.wait().unwrap().code(), Some(7));
        assert!(String::from_utf8_lossy(&page).contains("wall "));
        let list =
            Command::new(DWELL).args(["list", "--store", "store"]).current_dir(place.0.path()).output();
        assert!(String::from_utf8_lossy(&list.unwrap().stdout).contains(" run "), "the result is kept");
    }
}

/// Ignores what asks for its end. One thread calls `meet` again and again, one sleeps until it is
/// told to end; the file `finished` says that neither came to harm. Ends by itself.
const COUNTED: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static volatile int over, met;
__attribute__((noinline)) void meet(void) { met++; usleep(2000); met++; }
static void *meets(void *unused) { while (!over) meet(); return unused; }
int main(void) {
    char word[4];
    pthread_t thread;
    alarm(60);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    mkfifo("door", 0600);
    int door = open("door", O_RDWR);
    FILE *pid = fopen("pid.new", "w");
    fprintf(pid, "%d\n", getpid());
    fclose(pid);
    if (pthread_create(&thread, 0, meets, 0) || rename("pid.new", "pid")) return 1;
    if (read(door, word, 4) < 3) return 2;
    over = 1;
    pthread_join(thread, 0);
    return fclose(fopen("finished", "w"));
}
"#;

#[test]
fn a_counted_program_that_ignores_signals_is_counted_up_to_there_and_goes_on() {
    let place = Place::new();
    fs::write(place.file("counted.c"), COUNTED).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-pthread", "-static", "-o", "counted", "counted.c"]).current_dir(place.0.path());
    assert!(cc.status().unwrap().success());
    for (how, signal, status) in [
        ("--count-blocks=meet", "-TERM", 143),
        ("--count-blocks", "-INT", 130),
        ("--count-blocks", "-KILL", -1),
    ] {
        for name in ["pid", "door", "page", "finished"] {
            let _ = fs::remove_file(place.file(name));
        }
        let mut dwell = place.start(&[how, "./counted"]);
        let pid = place.program();
        kill(signal, &dwell.id().to_string());
        until("dwell to end", || dwell.try_wait().unwrap().is_some());
        if signal == "-KILL" {
            // As dwell said: with breakpoints in it, it could not go on.
            until("the program to end", || ['-', 'Z'].contains(&state(&pid)));
            continue;
        }
        assert_eq!(dwell.wait().unwrap().code(), Some(status));
        let page = place.read("page");
        assert!(page.contains("counted exactly: ") && page.contains("instructions stepped"), "{page}");
        assert!(page.trim_end().ends_with("and the program went on: counts are incomplete"), "{page}");
        assert!(['S', 'R'].contains(&state(&pid)), "it goes on: {:?}", state(&pid));
        place.end_program();
        until("the program to finish", || place.file("finished").exists());
    }
}

#[test]
fn a_program_outlives_a_dwell_that_is_killed() {
    let place = Place::new();
    let mut dwell = place.start(&["--keep", "kept", "sh", "script"]);
    let pid = place.program();
    dwell.kill().unwrap();
    dwell.wait().unwrap();
    kill("-INT", &pid);
    place.expect("got", "got\n");
    place.end_program();
    until("the program to end", || ['-', 'Z'].contains(&state(&pid)));
}

/// An interactive shell on a terminal of its own.
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
        // The terminal's output has to be read, or the shell blocks in its prompt.
        let shown = pty.as_fd().try_clone_to_owned().unwrap();
        std::thread::spawn(move || File::from(shown).read_to_end(&mut Vec::new()));
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

/// HTML on a terminal helps nobody.
#[test]
fn a_page_for_a_browser_is_not_written_to_a_terminal() {
    let place = Place::new();
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/recordings/fsync.json");
    let mut terminal = Terminal::open(place.0.path());
    terminal.type_in(&format!("'{DWELL}' report '{kept}' 2> said; echo $? > status\n"));
    place.expect("status", "125\n");
    assert!(place.read("said").contains("try: -o page.html"), "{}", place.read("said"));
}

const CTRL_C: &str = "\x03";
const CTRL_Z: &str = "\x1a";

#[test]
fn ctrl_c_ends_the_program_and_the_report_comes() {
    let place = Place::new();
    let mut terminal = Terminal::open(place.0.path());
    terminal.type_in(&format!("'{DWELL}' run -o page sh -c 'echo > pid; exec sleep 60'; echo $? > status\n"));
    place.program();
    terminal.type_in(CTRL_C);
    until("the report", || place.read("page").contains("wall "));
    // An interactive shell that sees its job killed by SIGINT drops the rest of the line; dwell
    // exits.
    place.expect("status", "130\n");
}

/// Such a program is in a session of its own, which the terminal's signals do not reach.
#[test]
fn ctrl_c_and_ctrl_z_reach_the_program_of_another_user() {
    use std::os::unix::fs::PermissionsExt;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    fs::set_permissions(place.0.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let mut terminal = Terminal::open(place.0.path());
    // Ends by itself where the test does not come to its end.
    let script = "echo $$ > pid; for i in $(seq 1200); do sleep 0.05; done";
    terminal.type_in(&format!("'{DWELL}' run -o page --user nobody sh -c '{script}'; echo $? > status\n"));
    let pid = place.program();
    terminal.type_in(CTRL_Z);
    until("the program to stop", || state(&pid) == 'T');
    std::thread::sleep(Duration::from_millis(100));
    terminal.type_in("fg\n");
    until("the program to go on", || state(&pid) != 'T');
    terminal.type_in(CTRL_C);
    until("the report", || place.read("page").contains("wall "));
}

#[test]
fn ctrl_z_stops_both_and_fg_continues_both() {
    let place = Place::new();
    let mut terminal = Terminal::open(place.0.path());
    terminal.type_in(&format!("'{DWELL}' run -o page --json json sh script\n"));
    let pid = place.program();
    for _ in 0..2 {
        terminal.type_in(CTRL_Z);
        until("the program to stop", || state(&pid) == 'T');
        terminal.type_in("echo prompt > prompt\n");
        place.expect("prompt", "prompt\n");
        fs::remove_file(place.file("prompt")).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        terminal.type_in("fg\n");
        until("the program to go on", || state(&pid) == 'S');
    }
    place.end_program();
    terminal.type_in("echo $? > status\n");
    place.expect("status", "7\n");
    // Where only looks from outside tell, there are none while dwell is stopped too.
    if rustix::process::geteuid().is_root() {
        let run: serde_json::Value = serde_json::from_str(&place.read("json")).unwrap();
        let account = run["account"].as_array().unwrap();
        let stopped = account.iter().find(|part| part["state"] == "stopped").unwrap();
        assert!(stopped["hi_ns"].as_u64().unwrap() > 200_000_000, "{stopped}");
    }
}

//! The starter, in a process of one thread: the usual harness has several, and that is refused.

mod one_thread;

use dwell_sys::signals::Signals;
use dwell_sys::spawn::Error;
use dwell_sys::starter::{CommandEnd, Order, Starter};
use model::recording::Ending;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Tests with their names.
macro_rules! tests {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name as fn())),*] };
}

const TESTS: &[(&str, fn())] = tests![
    a_sleep_is_as_long_as_it_says,
    exit_statuses_and_signals_are_told_apart,
    what_the_kernel_refuses_has_its_reason,
    a_command_gets_what_it_is_given,
    nothing_of_dwell_is_open_in_the_command_or_the_starter,
    what_is_left_behind_is_counted_until_it_ends,
    a_large_program_does_not_make_the_next_one_large,
    a_large_dwell_does_not_make_programs_large,
    a_signal_ends_the_command_and_nothing_else,
    a_stopped_command_is_told,
    a_command_outlives_dwell_and_the_starter_does_not,
    ctrl_c_ends_the_command_and_not_the_starter,
    nothing_is_left_open_by_many_runs,
];

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.first().and_then(|first| first.to_str()) {
        Some("die") => return die(&args[1]),
        Some("terminal") => return of_a_terminal(&args[1]),
        Some("touch") => return touch(&args[1]),
        _ => {}
    }
    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    one_thread::run(TESTS, &words)
}

/// `die FILE`: begins a command that writes the file after a moment, and is killed meanwhile.
fn die(file: &OsString) -> ExitCode {
    let mut starter = Starter::begin().unwrap();
    let script = format!("echo $$ > {0}.pid; sleep 0.5; echo done > {0}", file.display());
    start(&mut starter, &["sh", "-c", &script], &null());
    fs::write(Path::new(file).with_extension("starter"), starter.pid().to_string()).unwrap();
    std::thread::sleep(Duration::from_secs(60));
    ExitCode::FAILURE
}

/// `terminal FILE`: runs a command that the terminal's signals end, which this process itself
/// blocks as dwell does, and one after it; writes how they ended.
fn of_a_terminal(file: &OsString) -> ExitCode {
    let _signals = Signals::take_over().unwrap();
    let mut starter = Starter::begin().unwrap();
    start(&mut starter, &["sleep", "60"], &null());
    fs::write(Path::new(file).with_extension("begun"), "").unwrap();
    let end = starter.finish().unwrap();
    let next = run(&mut starter, &["true"]);
    fs::write(file, format!("{:?} {:?}", end.end.ending, next.end.ending)).unwrap();
    ExitCode::SUCCESS
}

/// `touch MIB`: has that much memory.
fn touch(mib: &OsString) -> ExitCode {
    let mib: usize = mib.to_str().unwrap().parse().unwrap();
    std::hint::black_box(vec![1_u8; mib << 20]);
    ExitCode::SUCCESS
}

fn null() -> File {
    File::options().read(true).write(true).open("/dev/null").unwrap()
}

fn environment() -> Vec<OsString> {
    vec!["PATH=/usr/local/bin:/usr/bin:/bin".into()]
}

fn order(words: &[&str]) -> Order {
    Order::new(&words.iter().map(OsString::from).collect::<Vec<_>>()).unwrap()
}

fn start(starter: &mut Starter, words: &[&str], output: &File) {
    let null = null();
    starter.start(&order(words), &environment(), [null.as_fd(), output.as_fd(), output.as_fd()]).unwrap();
}

fn run(starter: &mut Starter, words: &[&str]) -> CommandEnd {
    start(starter, words, &null());
    starter.finish().unwrap()
}

/// What a command prints.
fn printed(starter: &mut Starter, words: &[&str]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    start(starter, words, file.as_file());
    assert_eq!(starter.finish().unwrap().end.ending, Ending::Code(0));
    fs::read_to_string(file.path()).unwrap()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < patience, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn a_sleep_is_as_long_as_it_says() {
    let mut starter = Starter::begin().unwrap();
    let end = run(&mut starter, &["sleep", "0.2"]);
    assert_eq!(end.end.ending, Ending::Code(0));
    assert!(end.wall_ns >= 200_000_000, "{end:?}");
    assert!(end.end.rusage.user_ns + end.end.rusage.kernel_ns < 100_000_000, "{end:?}");
    assert!(end.switches.voluntary >= 1, "{end:?}");
    assert!(end.started_ns + end.wall_ns <= dwell_sys::clock::monotonic_ns());
}

fn exit_statuses_and_signals_are_told_apart() {
    let mut starter = Starter::begin().unwrap();
    assert_eq!(run(&mut starter, &["sh", "-c", "exit 3"]).end.ending, Ending::Code(3));
    assert_eq!(run(&mut starter, &["sh", "-c", "kill -9 $$"]).end.ending, Ending::Signal(9));
    assert_eq!(run(&mut starter, &["true"]).end.ending, Ending::Code(0));
}

fn what_the_kernel_refuses_has_its_reason() {
    let mut starter = Starter::begin().unwrap();
    let mut bad = order(&["true"]);
    bad.path = "/nowhere/at/all".into();
    let null = null();
    starter.start(&bad, &environment(), [null.as_fd(); 3]).unwrap();
    let error = starter.finish().unwrap_err();
    assert!(matches!(error, Error::Exec { errno: 2, .. }), "{error:?}");
    // A shell runs what has no interpreter line, and the next run is none the worse.
    let script = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    fs::write(&script, "exit $1\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(run(&mut starter, &[script.to_str().unwrap(), "5"]).end.ending, Ending::Code(5));
    let mut zero = order(&["true"]);
    zero.argv.push("a\0b".into());
    starter.start(&zero, &environment(), [null.as_fd(); 3]).unwrap();
    assert!(starter.finish().unwrap_err().to_string().contains("arguments"));
    assert_eq!(run(&mut starter, &["true"]).end.ending, Ending::Code(0));
}

fn a_command_gets_what_it_is_given() {
    let mut starter = Starter::begin().unwrap();
    assert_eq!(printed(&mut starter, &["printf", "%s|", "a b", "", "c"]), "a b||c|");
    assert_eq!(printed(&mut starter, &["env"]), "PATH=/usr/local/bin:/usr/bin:/bin\n");
    // Larger than a packet of any socket; a single one may have 128 KiB.
    let large: Vec<OsString> = (0..8).map(|i| format!("V{i}={}", "x".repeat(100_000)).into()).collect();
    let null = null();
    let file = tempfile::NamedTempFile::new().unwrap();
    let streams = [null.as_fd(), file.as_file().as_fd(), null.as_fd()];
    starter.start(&order(&["env"]), &large, streams).unwrap();
    assert_eq!(starter.finish().unwrap().end.ending, Ending::Code(0));
    assert_eq!(fs::metadata(file.path()).unwrap().len(), 8 * 100_004);
    // The mask is the one that this process got, though the starter blocks all signals.
    let of_signals = |status: &str| {
        let lines = status.lines().filter(|line| line.starts_with("SigBlk") || line.starts_with("SigIgn"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let plain = Command::new("cat").arg("/proc/self/status").output().unwrap();
    let plain = of_signals(&String::from_utf8(plain.stdout).unwrap());
    let theirs = of_signals(&printed(&mut starter, &["cat", "/proc/self/status"]));
    assert_eq!(theirs[0], plain[0]);
    let blocked = |pid: &str| of_signals(&fs::read_to_string(format!("/proc/{pid}/status")).unwrap());
    assert_ne!(blocked(&starter.pid().to_string())[0], plain[0]);
}

fn nothing_of_dwell_is_open_in_the_command_or_the_starter() {
    let before = tempfile::NamedTempFile::new().unwrap();
    let mut starter = Starter::begin().unwrap();
    let after = tempfile::NamedTempFile::new().unwrap();
    let open = printed(&mut starter, &["ls", "-l", "/proc/self/fd"]);
    let pid = starter.pid();
    let of_starter: Vec<String> = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .map(|path| path.display().to_string())
        .collect();
    for file in [&before, &after] {
        let name = file.path().display().to_string();
        assert!(!open.contains(&name), "{open}");
        assert!(!of_starter.contains(&name), "{of_starter:?}");
    }
    assert!(!open.contains("socket:"), "{open}");
    assert_eq!(of_starter.iter().filter(|path| path.starts_with("socket:")).count(), 1, "{of_starter:?}");
}

fn what_is_left_behind_is_counted_until_it_ends() {
    let mut starter = Starter::begin().unwrap();
    assert_eq!(run(&mut starter, &["true"]).left_behind, 0);
    let end = run(&mut starter, &["sh", "-c", "sleep 0.6 & sleep 0.6 &"]);
    assert_eq!((end.left_behind, end.left_earlier), (2, 0));
    let next = run(&mut starter, &["true"]);
    assert_eq!((next.left_behind, next.left_earlier), (0, 2));
    until("the sleeps to end", || starter.left_behind().unwrap() == 0);
    // One that ended before its command did is not left behind.
    assert_eq!(run(&mut starter, &["sh", "-c", "(true &); sleep 0.1"]).left_behind, 0);
}

fn a_large_program_does_not_make_the_next_one_large() {
    let mut starter = Starter::begin().unwrap();
    let own = std::env::current_exe().unwrap();
    let large = run(&mut starter, &[own.to_str().unwrap(), "touch", "80"]);
    assert!(large.end.rusage.max_rss_bytes >= 80 << 20, "{large:?}");
    let small = run(&mut starter, &["true"]);
    assert!(small.end.rusage.max_rss_bytes < 20 << 20, "{small:?}");
    assert!((1..20 << 20).contains(&small.starter_rss_bytes), "{small:?}");
}

fn a_large_dwell_does_not_make_programs_large() {
    let mut starter = Starter::begin().unwrap();
    let memory = std::hint::black_box(vec![1_u8; 80 << 20]);
    let small = run(&mut starter, &["true"]);
    assert!(small.end.rusage.max_rss_bytes < 20 << 20, "{small:?}");
    assert!(memory.iter().all(|byte| *byte == 1));
}

fn a_signal_ends_the_command_and_nothing_else() {
    let mut starter = Starter::begin().unwrap();
    assert!(!starter.signal(15), "there is no command");
    start(&mut starter, &["sleep", "60"], &null());
    until("the command to have a process", || starter.signal(15));
    assert_eq!(starter.finish().unwrap().end.ending, Ending::Signal(15));
    assert!(!starter.signal(15), "there is no command any more");
    assert_eq!(run(&mut starter, &["true"]).end.ending, Ending::Code(0));
}

fn a_stopped_command_is_told() {
    let mut starter = Starter::begin().unwrap();
    // A stop that is ended at once may go unnoticed.
    let script = "for i in 1 2 3 4 5 6 7 8 9 10; do kill -STOP $$; done; exit 4";
    start(&mut starter, &["sh", "-c", script], &null());
    until("the command to end", || {
        starter.signal(18);
        dwell_sys::poll::wait(&[starter.as_fd()], Some(Duration::ZERO)).unwrap()[0]
    });
    let end = starter.finish().unwrap();
    assert_eq!((end.end.ending, end.was_stopped), (Ending::Code(4), true));
    assert!(!run(&mut starter, &["true"]).was_stopped);
}

fn a_command_outlives_dwell_and_the_starter_does_not() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("note");
    let own = std::env::current_exe().unwrap();
    let mut dwell = Command::new(own).arg("die").arg(&file).stdin(Stdio::null()).spawn().unwrap();
    let read = |extension: &str| fs::read_to_string(file.with_extension(extension)).unwrap_or_default();
    until("the command to begin", || read("pid").ends_with('\n') && !read("starter").is_empty());
    dwell.kill().unwrap();
    dwell.wait().unwrap();
    until("the command to end", || fs::read_to_string(&file).is_ok_and(|text| text == "done\n"));
    let gone = || !Path::new(&format!("/proc/{}/exe", read("starter"))).exists();
    until("the starter to end", gone);
}

fn ctrl_c_ends_the_command_and_not_the_starter() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("note");
    let own = std::env::current_exe().unwrap();
    let (mut pty, pts) = pty_process::blocking::open().unwrap();
    let mut dwell = pty_process::blocking::Command::new("env")
        // The parent of the tests may ignore some of them (nohup does), and that is inherited.
        .arg("--default-signal=HUP,INT,QUIT")
        .args([own.as_os_str(), "terminal".as_ref(), file.as_os_str()])
        .spawn(pts)
        .unwrap();
    until("the command to begin", || file.with_extension("begun").exists());
    std::thread::sleep(Duration::from_millis(200));
    pty.write_all(b"\x03").unwrap();
    until("the note", || fs::read_to_string(&file).is_ok_and(|text| text == "Signal(2) Code(0)"));
    assert!(dwell.wait().unwrap().success());
}

fn nothing_is_left_open_by_many_runs() {
    let mut starter = Starter::begin().unwrap();
    let descriptors = |pid: &str| fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let pid = starter.pid().to_string();
    run(&mut starter, &["true"]);
    let before = (descriptors("self"), descriptors(&pid));
    for _ in 0..300 {
        run(&mut starter, &["true"]);
    }
    assert_eq!((descriptors("self"), descriptors(&pid)), before);
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    assert_eq!(children, "");
}

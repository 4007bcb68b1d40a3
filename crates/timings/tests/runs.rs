//! Runs of commands whose truth is known, in a process of one thread: the usual harness has
//! several, and then no starter can be forked.

#[path = "../../sys/tests/one_thread/mod.rs"]
mod one_thread;

use dwell_timings::{
    Block, BlockEnd, Doing, Error, Go, IgnoredFailures, Input, Metric, Output, Plan, Planned, Progress,
    Runner,
};
use model::Seen;
use model::recording::Ending;
use std::ffi::OsString;
use std::fs;
use std::io::{PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// Tests with their names.
macro_rules! tests {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name as fn())),*] };
}

const TESTS: &[(&str, fn())] = tests![
    a_sleep_is_as_long_as_it_says_and_the_host_is_seen,
    each_command_runs_once_a_block_in_an_order_of_the_seed,
    the_first_block_ends_with_a_failure_and_has_its_output,
    later_failures_are_rows_that_do_not_count,
    ignored_failures_count,
    output_goes_where_it_is_asked_to,
    what_a_lot_is_printed_is_caught_in_part_and_summed_whole,
    input_is_opened_anew_for_each_run,
    preparations_surround_each_run_and_may_not_fail,
    a_server_of_a_preparation_is_not_waited_for,
    what_is_left_behind_is_waited_for_and_then_named,
    a_number_is_taken_from_each_run_or_it_does_not_count,
    padding_changes_the_environment_and_nothing_else,
    variables_replace_inherited_ones,
    memory_is_of_the_program_and_not_of_the_one_before,
    the_empty_program_is_faster_than_true,
    a_program_that_is_missing_ends_it_before_anything_runs,
    a_setup_may_make_the_program,
    a_program_that_is_removed_ends_it,
    the_caller_can_stop_a_run,
    a_run_that_refuses_to_end_is_killed,
    progress_is_told_before_each_run_and_in_long_ones,
    many_short_runs_leave_nothing_behind,
];

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if args.first().is_some_and(|first| first == "touch") {
        let mib: usize = args[1].to_str().unwrap().parse().unwrap();
        std::hint::black_box(vec![1_u8; mib << 20]);
        return ExitCode::SUCCESS;
    }
    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    one_thread::run(TESTS, &words)
}

fn argv(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn sh(script: &str) -> Planned {
    Planned { argv: argv(&["sh", "-c", script]), ..Planned::default() }
}

fn plan(commands: Vec<Planned>) -> Plan {
    Plan {
        commands,
        input: Input::Null,
        output: Output::Null,
        metric: None,
        seed: 1,
        ignored: IgnoredFailures::None,
        padding: true,
        watch: None,
    }
}

fn on(_: Progress) -> Go {
    Go::On
}

fn block(runner: &mut Runner) -> Block {
    runner.block(&mut on).unwrap()
}

fn complete(runner: &mut Runner) -> Block {
    let block = block(runner);
    assert_eq!(block.end, BlockEnd::Complete, "{block:?}");
    block
}

fn a_sleep_is_as_long_as_it_says_and_the_host_is_seen() {
    let mut runner = Runner::begin(plan(vec![sh("sleep 0.25"), sh("exit 0")])).unwrap();
    let block = complete(&mut runner);
    let run = |command| block.runs.iter().find(|run| run.command == command).unwrap();
    let (long, short) = (run(0), run(1));
    assert!(long.wall_ns >= 250_000_000 && long.excluded.is_none(), "{long:?}");
    assert!(long.others_cpu_ns.value().is_some() && long.steal_ns.value().is_some(), "{long:?}");
    assert!(matches!(&short.steal_ns, Seen::Unseen(why) if why.contains("too short")), "{short:?}");
    assert!(long.voluntary_switches > 0 && long.minor_faults > 0, "{long:?}");
    let [first, second] = &block.runs[..] else { panic!("{block:?}") };
    assert_eq!(first.began_ns, 0);
    assert!(second.began_ns >= first.wall_ns, "{block:?}");
}

fn each_command_runs_once_a_block_in_an_order_of_the_seed() {
    let orders = |seed| {
        let mut runner = Runner::begin(Plan { seed, ..plan(vec![sh(""), sh(""), sh("")]) }).unwrap();
        (0..8)
            .map(|number| {
                let block = complete(&mut runner);
                assert_eq!(block.number, number);
                assert!(block.runs.iter().all(|run| run.block == number));
                assert!(block.runs.iter().map(|run| run.place).eq(0..3));
                assert_eq!(block.outputs.len(), if number == 0 { 3 } else { 0 });
                block.runs.iter().map(|run| run.command).collect::<Vec<_>>()
            })
            .collect::<Vec<_>>()
    };
    let first = orders(1);
    assert_eq!(first, orders(1));
    assert_ne!(first, orders(2));
    for mut order in first {
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2]);
    }
}

fn the_first_block_ends_with_a_failure_and_has_its_output() {
    let failing = "echo said; echo why >&2; exit 3";
    let mut runner = Runner::begin(plan(vec![sh(failing), sh(failing)])).unwrap();
    let block = block(&mut runner);
    assert_eq!((block.end, block.runs.len()), (BlockEnd::Failed, 1));
    let excluded = block.runs[0].excluded.as_deref();
    assert_eq!((block.runs[0].ending, excluded), (Ending::Code(3), Some("it ended with exit status 3")));
    let output = &block.outputs[0];
    assert_eq!((&output.stdout.head[..], &output.stderr.head[..]), (&b"said\n"[..], &b"why\n"[..]));
    assert_eq!(output.stdout.bytes, 5);
}

fn later_failures_are_rows_that_do_not_count() {
    let place = tempfile::tempdir().unwrap();
    let seen = place.path().join("seen");
    // Each second run kills itself.
    let script = format!("if [ -e {0} ]; then rm {0}; kill -9 $$; else touch {0}; fi", seen.display());
    let mut runner = Runner::begin(plan(vec![sh(&script)])).unwrap();
    assert_eq!(complete(&mut runner).runs[0].excluded, None);
    let failed = complete(&mut runner).runs.remove(0);
    assert_eq!(failed.ending, Ending::Signal(9));
    assert_eq!(failed.excluded.as_deref(), Some("it ended by signal 9"));
    assert_eq!(complete(&mut runner).runs[0].excluded, None);
}

fn ignored_failures_count() {
    let ignored = IgnoredFailures::Codes(vec![3]);
    let mut runner = Runner::begin(Plan { ignored, ..plan(vec![sh("exit 3")]) }).unwrap();
    let run = complete(&mut runner).runs.remove(0);
    assert_eq!((run.ending, run.excluded), (Ending::Code(3), None));
}

fn output_goes_where_it_is_asked_to() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("out");
    let output = Output::File(file.clone());
    let mut runner = Runner::begin(Plan { output, ..plan(vec![sh("echo text")]) }).unwrap();
    let first = complete(&mut runner);
    assert_eq!(first.outputs[0].stdout.head, b"text\n");
    complete(&mut runner);
    complete(&mut runner);
    assert_eq!(fs::read(&file).unwrap(), b"text\n");
    // More than a pipe holds: it would not end if nobody read it.
    let printing = "head -c 5000000 /dev/zero; readlink /proc/self/fd/1 >&2; [ -p /dev/stdout ]";
    let mut runner = Runner::begin(Plan {
        output: Output::Pipe,
        ignored: IgnoredFailures::Codes(vec![1]),
        ..plan(vec![sh(printing)])
    })
    .unwrap();
    assert_eq!(complete(&mut runner).runs[0].ending, Ending::Code(1));
    assert_eq!(complete(&mut runner).runs[0].ending, Ending::Code(0));
    let output = Output::File(place.path().join("no/such/place"));
    let error = Runner::begin(Plan { output, ..plan(vec![sh("")]) }).unwrap_err();
    assert!(error.to_string().contains("no/such/place"), "{error}");
}

fn what_a_lot_is_printed_is_caught_in_part_and_summed_whole() {
    let commands = vec![sh("head -c 30000000 /dev/zero"), sh("head -c 30000001 /dev/zero")];
    let mut runner = Runner::begin(plan(commands)).unwrap();
    let block = complete(&mut runner);
    let mut caught: Vec<_> = block.outputs.iter().map(|output| &output.stdout).collect();
    caught.sort_by_key(|caught| caught.bytes);
    assert_eq!([caught[0].bytes, caught[1].bytes], [30_000_000, 30_000_001]);
    assert_eq!(caught[0].head, caught[1].head);
    assert_ne!(caught[0].crc32, caught[1].crc32);
}

fn input_is_opened_anew_for_each_run() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("in");
    fs::write(&file, "question").unwrap();
    let metric = Some(Metric::new(r"(\d+)").unwrap());
    let input = Input::File(file.clone());
    let mut runner = Runner::begin(Plan { input, metric, ..plan(vec![sh("wc -c")]) }).unwrap();
    for _ in 0..3 {
        assert_eq!(complete(&mut runner).runs[0].printed, [8.0]);
    }
    let missing = Input::File(place.path().join("none"));
    assert_eq!(Runner::begin(Plan { input: missing, ..plan(vec![sh("")]) }).unwrap_err().exit_code(), 125);
}

fn preparations_surround_each_run_and_may_not_fail() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let note = |word: &str| argv(&["sh", "-c", &format!("echo {word} >> {}", log.display())]);
    let command = Planned {
        argv: note("run"),
        prepare: Some(note("prepare")),
        conclude: Some(note("conclude")),
        env: vec![],
    };
    let mut runner = Runner::begin(plan(vec![command])).unwrap();
    assert_eq!(runner.once(&note("setup"), &mut on).unwrap(), Go::On);
    complete(&mut runner);
    complete(&mut runner);
    let logged = fs::read_to_string(&log).unwrap();
    let words: Vec<&str> = logged.lines().collect();
    assert_eq!(words, ["setup", "prepare", "run", "conclude", "prepare", "run", "conclude"]);
    let bad = Planned { prepare: Some(argv(&["sh", "-c", "echo oh >&2; exit 4"])), ..sh("") };
    let error = Runner::begin(plan(vec![bad])).unwrap().block(&mut on).unwrap_err();
    assert!(
        matches!(&error, Error::Chore { doing: Doing::Prepare, ending: Ending::Code(4), .. }),
        "{error:?}"
    );
    assert_eq!(error.output().unwrap().stderr.head, b"oh\n");
    assert!(error.to_string().contains("exit 4"), "{error}");
}

fn a_server_of_a_preparation_is_not_waited_for() {
    let command = Planned { prepare: Some(argv(&["sh", "-c", "sleep 2 &"])), ..sh("exit 0") };
    let mut runner = Runner::begin(plan(vec![command])).unwrap();
    let began = Instant::now();
    let block = complete(&mut runner);
    assert_eq!((block.runs[0].left_behind, block.lingering), (0, vec![]));
    assert!(began.elapsed() < Duration::from_secs(2));
}

fn what_is_left_behind_is_waited_for_and_then_named() {
    let mut runner = Runner::begin(plan(vec![sh("sleep 0.3 &")])).unwrap();
    let began = Instant::now();
    let block = complete(&mut runner);
    assert!(began.elapsed() >= Duration::from_millis(290));
    assert_eq!((block.runs[0].left_behind, block.lingering), (1, vec![]));
    let mut runner = Runner::begin(plan(vec![sh("sleep 2 & sleep 2 &")])).unwrap();
    let block = complete(&mut runner);
    assert_eq!((block.runs[0].left_behind, block.lingering), (2, vec![(0, 2)]));
}

fn a_number_is_taken_from_each_run_or_it_does_not_count() {
    let metric = Some(Metric::new(r"p99=([\d.]+)").unwrap());
    let commands = vec![sh("echo p99=1.5; echo p99=2 >&2"), sh("echo nothing")];
    let mut runner = Runner::begin(Plan { metric, ..plan(commands) }).unwrap();
    for _ in 0..2 {
        let block = complete(&mut runner);
        let run = |command| block.runs.iter().find(|run| run.command == command).unwrap();
        assert_eq!((&run(0).printed[..], &run(0).excluded), (&[1.5, 2.0][..], &None));
        assert!(run(1).excluded.as_ref().unwrap().contains("nothing that matches"), "{:?}", run(1));
    }
}

fn padding_changes_the_environment_and_nothing_else() {
    let lengths = |padding| {
        let metric = Some(Metric::new(r"(\d+)").unwrap());
        let commands = vec![Planned { argv: argv(&["sh", "-c", "env | wc -c"]), ..Planned::default() }];
        let mut runner = Runner::begin(Plan { metric, padding, ..plan(commands) }).unwrap();
        (0..6).map(|_| complete(&mut runner).runs[0].printed[0] as u64).collect::<Vec<_>>()
    };
    let (padded, plain) = (lengths(true), lengths(false));
    assert!(plain.iter().all(|length| *length == plain[0]), "{plain:?}");
    let added = "DWELL_PADDING=\n".len() as u64;
    assert!(padded.iter().all(|length| (plain[0] + added..plain[0] + added + 4096).contains(length)));
    assert!(padded.iter().any(|length| *length != padded[0]), "{padded:?}");
}

fn variables_replace_inherited_ones() {
    let env = vec![("HOME".into(), "/nowhere".into()), ("DWELL_NEW".into(), "a b".into())];
    let command = Planned { env, ..sh("echo $HOME $DWELL_NEW") };
    let block = complete(&mut Runner::begin(plan(vec![command])).unwrap());
    assert_eq!(block.outputs[0].stdout.head, b"/nowhere a b\n");
}

fn memory_is_of_the_program_and_not_of_the_one_before() {
    let own = std::env::current_exe().unwrap();
    let large = Planned { argv: argv(&[own.to_str().unwrap(), "touch", "80"]), ..Planned::default() };
    let empty = Planned { argv: argv(&["true"]), ..Planned::default() };
    let mut runner = Runner::begin(plan(vec![large, empty])).unwrap();
    for _ in 0..4 {
        let block = complete(&mut runner);
        let of = |command| block.runs.iter().find(|run| run.command == command).unwrap();
        assert!(of(0).memory_bytes >= 80 << 20 && !of(0).memory_at_most, "{:?}", of(0));
        assert!(of(1).memory_bytes < 20 << 20, "{:?}", of(1));
    }
}

fn the_empty_program_is_faster_than_true() {
    let commands = vec![Planned { argv: argv(&["true"]), ..Planned::default() }];
    let mut runner = Runner::begin(plan(commands)).unwrap();
    let both: Vec<_> = (0..30)
        .map(|_| (runner.empty(&mut on).unwrap().unwrap(), complete(&mut runner).runs[0].wall_ns))
        .collect();
    let fastest = (both.iter().map(|(empty, _)| *empty).min(), both.iter().map(|(_, run)| *run).min());
    assert!(fastest.0 < fastest.1, "{both:?}");
}

fn a_program_that_is_missing_ends_it_before_anything_runs() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("ran");
    let touch = sh(&format!("touch {}", file.display()));
    let missing = Planned { argv: argv(&["no-such-program-at-all"]), ..Planned::default() };
    assert_eq!(Runner::begin(plan(vec![touch.clone(), missing])).unwrap_err().exit_code(), 127);
    let refused = Planned { prepare: Some(argv(&["/dev/null"])), ..touch };
    assert_eq!(Runner::begin(plan(vec![refused])).unwrap_err().exit_code(), 126);
    assert!(!file.exists());
}

fn a_setup_may_make_the_program() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("program");
    let command = || Planned { argv: vec![program.clone().into()], ..Planned::default() };
    let input = || Input::File(place.path().join("input"));
    let mut runner = Runner::begin_before_setup(Plan { input: input(), ..plan(vec![command()]) }).unwrap();
    let made = format!("cd {}; cp /bin/sh program; echo exit 5 > input", place.path().display());
    assert_eq!(runner.once(&argv(&["sh", "-c", &made]), &mut on).unwrap(), Go::On);
    assert_eq!(block(&mut runner).runs[0].ending, Ending::Code(5));
    let missing = Planned { argv: vec![place.path().join("none").into()], ..Planned::default() };
    let mut runner = Runner::begin_before_setup(plan(vec![missing])).unwrap();
    assert_eq!(runner.block(&mut on).unwrap_err().exit_code(), 127);
}

fn a_program_that_is_removed_ends_it() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("program");
    fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let command = Planned { argv: vec![program.clone().into()], ..Planned::default() };
    let mut runner = Runner::begin(plan(vec![command])).unwrap();
    complete(&mut runner);
    fs::remove_file(&program).unwrap();
    let error = runner.block(&mut on).unwrap_err();
    assert_eq!(error.exit_code(), 127, "{error}");
    fs::write(&program, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let error = runner.block(&mut on).unwrap_err();
    assert!(error.exit_code() == 126 && error.to_string().contains("interpreter"), "{error}");
}

/// A pipe that becomes readable after a moment, as a caller's signals would.
fn signal_after(seconds: &str) -> (PipeReader, std::process::Child) {
    let (reader, writer) = std::io::pipe().unwrap();
    let script = format!("sleep {seconds}; printf x");
    (reader, Command::new("sh").args(["-c", &script]).stdout(writer).spawn().unwrap())
}

/// Runs a block of one command whose caller stops it at its signal, and says how long that took.
fn stopped(script: &str) -> Duration {
    let (mut signals, mut sender) = signal_after("0.3");
    let watch = Some(signals.as_fd().try_clone_to_owned().unwrap());
    let mut runner = Runner::begin(Plan { watch, ..plan(vec![sh(script)]) }).unwrap();
    let began = Instant::now();
    let tell = &mut |progress: Progress| {
        if progress.so_far_ns == 0 {
            return Go::On;
        }
        // At its end where it is told again: the sender is gone.
        assert!(signals.read(&mut [0; 9]).unwrap() <= 1);
        Go::Stop
    };
    let block = runner.block(tell).unwrap();
    let took = began.elapsed();
    sender.wait().unwrap();
    assert_eq!((block.end, block.runs.len()), (BlockEnd::Stopped, 0));
    // The next command is none the worse.
    assert_eq!(runner.once(&argv(&["true"]), &mut on).unwrap(), Go::On);
    took
}

fn the_caller_can_stop_a_run() {
    let took = stopped("exec sleep 60");
    assert!((Duration::from_millis(290)..Duration::from_secs(30)).contains(&took), "{took:?}");
}

fn a_run_that_refuses_to_end_is_killed() {
    let took = stopped("trap '' TERM; exec sleep 60");
    assert!((Duration::from_millis(750)..Duration::from_secs(30)).contains(&took), "{took:?}");
}

fn progress_is_told_before_each_run_and_in_long_ones() {
    let mut runner = Runner::begin(plan(vec![sh("sleep 3.5"), sh("exit 0")])).unwrap();
    let mut told = Vec::new();
    runner
        .block(&mut |progress| {
            told.push(progress);
            Go::On
        })
        .unwrap();
    let of = |command| told.iter().filter(move |progress| progress.command == command);
    assert_eq!(of(1).count(), 1, "{told:?}");
    let long: Vec<u64> = of(0).map(|progress| progress.so_far_ns / 1_000_000).collect();
    assert!(long.len() >= 2 && long[0] == 0 && long[1] >= 2000, "{long:?}");
    assert!(long.windows(2).skip(1).all(|two| two[1] >= two[0] + 900), "{long:?}");
}

fn many_short_runs_leave_nothing_behind() {
    let commands = vec![sh("exit 0"), Planned { argv: argv(&["true"]), ..Planned::default() }];
    let mut runner = Runner::begin(Plan { output: Output::Pipe, ..plan(commands) }).unwrap();
    runner.empty(&mut on).unwrap();
    complete(&mut runner);
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    for _ in 0..150 {
        complete(&mut runner);
        runner.empty(&mut on).unwrap();
    }
    assert_eq!(descriptors(), before);
    let children = || fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    let starter = children();
    drop(runner);
    let pids: Vec<&str> = starter.split_whitespace().collect();
    assert!(pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()), "{starter}");
}

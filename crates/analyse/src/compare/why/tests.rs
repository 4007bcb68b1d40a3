//! Runs made by hand, of which all is known.

use super::*;
use crate::judge::samples;
use model::account::Basis;
use model::network::Endpoint;
use model::run::{FunctionRow, LineRow, Share, WaitEnd, WaitRow};
use model::tables::Tables;
use model::wait::{WaitCall, WaitTarget};
use model::{AccountPart, Ns, Reason, State, Step};

const MS: Ns = 1_000_000;

/// A place of the path.
type Place = (&'static str, State, Reason, Ns);

/// A run of `command` whose path has these places; its account is their sum.
fn run(command: &str, places: Vec<Place>) -> Run {
    let wall_ns = places.iter().map(|place| place.3).sum();
    let of = |state: State| places.iter().filter(|place| place.1 == state).map(|place| place.3).sum();
    let part = |state: State| {
        let ns: Ns = of(state);
        (ns > 0).then_some(AccountPart { state, ns, basis: Basis::Measured, lo_ns: ns, hi_ns: ns })
    };
    let account = State::ALL.into_iter().filter_map(part).collect();
    let cpu = |states: &[State]| Seen::Value(states.iter().map(|state| of(*state)).sum());
    let (user_ns, kernel_ns) = (cpu(&[State::User]), cpu(&[State::Kernel]));
    let path = places.into_iter().enumerate().map(|(at, (process, state, reason, ns))| Step {
        together: None,
        pid: 100 + at as u32,
        tid: 100 + at as u32,
        process: process.to_owned(),
        state,
        reason,
        ns,
        count: 1,
    });
    Run {
        command: vec![command.to_owned()],
        wall_ns,
        user_ns,
        kernel_ns,
        account,
        path: path.collect(),
        threads: Vec::new(),
        tables: Tables {
            syscalls: Seen::Value(Vec::new()),
            functions: Seen::Value(Vec::new()),
            ..Tables::unseen()
        },
        ..samples::run(&[])
    }
}

fn waits(call: &str, on: WaitTarget) -> Reason {
    Reason::Wait(WaitCall::Syscall(call.into()), on)
}

fn file(name: &str) -> WaitTarget {
    WaitTarget::File(Seen::Value(name.into()))
}

fn sums_to_the_wall(why: &Why) {
    let wall = why.wall;
    let all = |times: &mut dyn Iterator<Item = model::compare::why::TimeDifference>| {
        times.fold((0, 0, 0), |(a, b, ns), time| (a + time.a_ns, b + time.b_ns, ns + time.ns))
    };
    let expected = (wall.a_ns, wall.b_ns, wall.ns);
    assert_eq!(all(&mut why.states.iter().map(|row| row.time)), expected, "states");
    assert_eq!(all(&mut why.processes.iter().map(|row| row.time)), expected, "processes");
    let rest = why.steps_rest.iter().map(|rest| rest.time);
    assert_eq!(all(&mut why.steps.iter().map(|row| row.time).chain(rest)), expected, "steps");
}

#[test]
fn a_sleep_that_was_taken_away_is_the_largest_row_and_all_rows_sum() {
    let sleep = || waits("nanosleep", WaitTarget::Timer(Seen::Absent));
    let of = |sleep_ns: Ns, user_ns: Ns| {
        run(
            "./work",
            vec![
                ("work", State::Sleep, sleep(), sleep_ns),
                ("work", State::User, Reason::None, user_ns),
                ("work", State::Kernel, Reason::Syscall("write".into()), 3 * MS),
                ("helper", State::User, Reason::None, user_ns / 3),
            ],
        )
    };
    let (a, b) = (of(50 * MS + 1, 20 * MS), of(1, 21 * MS + 7));
    let why = why(&[(&a, &b)]);
    sums_to_the_wall(&why);
    assert_eq!(why.wall.ns, b.wall_ns as i64 - a.wall_ns as i64);
    assert_eq!((why.states[0].state, why.states[0].time.ns), (State::Sleep, -(50 * MS as i64)));
    assert_eq!((why.steps[0].state, &why.steps[0].reason), (State::Sleep, &sleep()));
    assert_eq!((why.steps[0].time.interval, why.ratio), (None, None), "one run has no spread");
    assert!(why.limits[0].contains("no spread"), "{:?}", why.limits);
}

#[test]
fn the_interval_over_pairs_holds_what_was_taken() {
    // The machine drifts by more than what was taken, and A and B alike.
    let drift: [Ns; 5] = [0, 40, 10, 70, 20];
    let noise: [Ns; 5] = [0, 1, 3, 0, 2];
    let of = |user: Ns, sleep: Ns| {
        run(
            "./work",
            vec![
                ("work", State::User, Reason::None, user * MS),
                ("work", State::Sleep, waits("poll", WaitTarget::TimeLimit), sleep * MS),
            ],
        )
    };
    let runs: Vec<(Run, Run)> = drift
        .iter()
        .zip(noise)
        .map(|(drift, noise)| (of(100 + drift, 30), of(100 + drift + noise, 5)))
        .collect();
    let pairs: Vec<(&Run, &Run)> = runs.iter().map(|(a, b)| (a, b)).collect();
    let why = why(&pairs);
    sums_to_the_wall(&why);
    let sleep = &why.states[0];
    let ends = sleep.time.interval.unwrap();
    assert!(sleep.state == State::Sleep && ends.lo <= -25_000_000 && ends.hi >= -25_000_000, "{sleep:?}");
    let user = why.states[1].time.interval.unwrap();
    assert!(user.lo < 0 && user.hi > 0, "chance is seen as such: {user:?}");
    let wall = why.wall.interval.unwrap();
    assert!(wall.lo < -22_000_000 && wall.hi > -26_000_000 && wall.hi < 0, "{wall:?}");
    assert!(why.ratio.is_some_and(|ratio| ratio.lo < ratio.estimate && ratio.hi < 1.0), "{:?}", why.ratio);
}

#[test]
fn names_that_a_run_makes_up_are_matched_and_others_are_not() {
    let of = |temporary: &str, input: &str, lock: u64, ms: Ns| {
        let mut run = run(
            "./sort",
            vec![
                ("sort", State::Disk, waits("fsync", file(temporary)), ms * MS),
                ("sort", State::Disk, waits("read", file(input)), 7 * MS),
                ("sort", State::Lock, waits("futex", WaitTarget::Futex(Seen::Value(lock))), 9 * MS),
            ],
        );
        run.waits = vec![wait(State::Disk, "fsync", file(temporary), ms * MS)];
        run
    };
    let a = of("/tmp/sortK3jfQ8", "/srv/old.csv", 0x7f00, 30);
    let b = of("/tmp/sortZz81ab", "/srv/new.csv", 0x5500, 10);
    let why = why(&[(&a, &b)]);
    sums_to_the_wall(&why);
    let top = &why.steps[0];
    assert_eq!((top.time.ns, top.names, &top.reason), (-20_000_000, 2, &waits("fsync", file("/tmp/*"))));
    let lock = why.steps.iter().find(|row| row.state == State::Lock).unwrap();
    assert_eq!((lock.time.ns, lock.names), (0, 1), "an address is no name");
    let inputs = why.steps.iter().filter(|row| row.time.ns.unsigned_abs() == 7 * MS);
    assert_eq!(inputs.count(), 2, "two inputs are two files");
    assert_eq!((why.waits.len(), why.waits[0].names, why.files[0].names), (1, 2, 2));
    assert!(why.limits.iter().any(|limit| limit.contains('*')), "{:?}", why.limits);
}

fn wait(reason: State, call: &str, on: WaitTarget, total_ns: Ns) -> WaitRow {
    WaitRow {
        ended: WaitEnd::default(),
        own_frame: None,
        together: None,
        reason,
        call: WaitCall::Syscall(call.into()),
        on,
        calls: 2,
        total_ns,
        path_ns: total_ns,
        p50_ns: 0,
        p99_ns: 0,
        max_ns: 0,
        stack: Seen::Absent,
        device: Seen::Absent,
        requests: Seen::Absent,
        queue_ns: Seen::Absent,
        device_ns: Seen::Absent,
        by: Vec::new(),
        histogram: Vec::new(),
        bins: Vec::new(),
        threads: Vec::new(),
        places: Vec::new(),
    }
}

#[test]
fn two_versions_of_a_program_may_have_different_names() {
    let of = |command: &str, process: &'static str, ms: Ns| {
        let on = WaitTarget::Tcp(Endpoint::read("127.0.0.1:5432").unwrap());
        let mut run = run(
            command,
            vec![
                (process, State::User, Reason::None, ms * MS),
                (process, State::Network, waits("read", on), 4 * MS),
            ],
        );
        let module = command.rsplit('/').next().unwrap().to_owned();
        run.tables.functions =
            Seen::Value(vec![function("parse", &module, 0.9), function("memcpy", "libc.so.6", 0.1)]);
        run
    };
    let (a, b) = (of("/a/parse-old", "parse-old", 80), of("/b/parse-new", "parse-new", 40));
    let why = why(&[(&a, &b)]);
    assert_eq!(why.steps.len(), 2, "{:?}", why.steps);
    assert_eq!(
        (&*why.steps[0].process, why.steps[0].process_in_b.as_deref()),
        ("parse-old", Some("parse-new"))
    );
    let Seen::Value(functions) = &why.functions else { panic!("{:?}", why.functions) };
    let parse = &functions[0];
    assert_eq!((&*parse.name, parse.module_in_b.as_deref()), ("parse", Some("parse-new")));
    assert_eq!(parse.time.ns, -36_000_000);
    let ends = parse.time.interval.unwrap();
    assert!(ends.lo < -36_000_000 && ends.hi > -36_000_000, "samples leave something open: {ends:?}");
}

fn function(name: &str, module: &str, share: f64) -> FunctionRow {
    let interval = stats::wilson_of(share, 100.0);
    FunctionRow {
        own: false,
        name: name.into(),
        module: module.into(),
        mode: "user".into(),
        share: Share { value: share, lo: interval.lo, hi: interval.hi },
        samples: (share * 100.0) as u64,
        total: None,
        unnamed: None,
    }
}

#[test]
fn a_function_that_one_side_lacks_may_be_one_that_no_sample_met() {
    let of = |rows: Vec<FunctionRow>| {
        let mut run = run("./a", vec![("a", State::User, Reason::None, 100 * MS)]);
        run.tables.functions = Seen::Value(rows);
        run
    };
    let a = of(vec![function("rare", "a", 0.02), function("f", "a", 0.98)]);
    let b = of(vec![function("f", "a", 1.0)]);
    let why = why(&[(&a, &b)]);
    let Seen::Value(functions) = &why.functions else { panic!("{:?}", why.functions) };
    let rare = functions.iter().find(|row| row.name == "rare").unwrap();
    let ends = rare.time.interval.unwrap();
    assert!(rare.time.ns == -2_000_000 && ends.hi > 0, "{rare:?}");
}

#[test]
fn lines_of_another_directory_are_the_same_lines() {
    let of = |file: &str, share: f64| {
        let mut run = run("./a", vec![("a", State::User, Reason::None, 100 * MS)]);
        let interval = stats::wilson_of(share, 100.0);
        run.tables.lines = Seen::Value(vec![LineRow {
            own: false,
            file: file.into(),
            line: 7,
            function: "f".into(),
            language: "native".into(),
            share: Share { value: share, lo: interval.lo, hi: interval.hi },
            samples: 50,
            total: None,
        }]);
        run
    };
    let (a, b) = (of("/tree/a/src/f.c", 0.6), of("/tree/b/src/f.c", 0.5));
    let why = why(&[(&a, &b)]);
    let Seen::Value(lines) = &why.lines else { panic!("{:?}", why.lines) };
    assert_eq!((lines.len(), &*lines[0].file, lines[0].time.ns), (1, "f.c", -10_000_000));
}

#[test]
fn a_table_that_one_run_lacks_is_unseen_and_the_sums_hold() {
    let a = run("./a", vec![("a", State::User, Reason::None, 5 * MS)]);
    let mut b = run("./a", vec![("a", State::User, Reason::None, 4 * MS)]);
    b.tables.syscalls = Seen::unseen("no BPF");
    b.tables.functions = Seen::unseen("no samples");
    b.coverage.lost_events = Seen::Value(3);
    let why = why(&[(&a, &b)]);
    sums_to_the_wall(&why);
    assert_eq!((why.calls, why.functions), (Seen::unseen("no BPF"), Seen::unseen("no samples")));
    assert!(why.limits.iter().any(|limit| limit.starts_with("B lost events")), "{:?}", why.limits);
}

#[test]
fn steps_beyond_the_table_are_one_row_and_nothing_is_lost() {
    let names: Vec<&'static str> =
        (0..250).map(|at| &*Box::leak(format!("process{at}x").into_boxed_str())).collect();
    let of = |by: Ns| {
        let places = names.iter().enumerate();
        run("./a", places.map(|(at, name)| (*name, State::User, Reason::None, at as Ns * by + 1)).collect())
    };
    let (a, b) = (of(1_000), of(1_003));
    let why = why(&[(&a, &b)]);
    sums_to_the_wall(&why);
    assert_eq!(why.steps_rest.as_ref().map(|rest| rest.rows), Some(150));
    assert_eq!(why.steps[0].process, "process249x");
}

#[test]
fn a_ratio_that_is_not_the_timed_one_is_said() {
    let of = |ms: Ns| run("./a", vec![("a", State::User, Reason::None, ms * MS)]);
    let runs = [(of(100), of(80)), (of(101), of(81)), (of(99), of(79))];
    let pairs: Vec<(&Run, &Run)> = runs.iter().map(|(a, b)| (a, b)).collect();
    let why = why(&pairs);
    let timed = |estimate: f64| EstimateInterval { estimate, lo: estimate - 0.01, hi: estimate + 0.01 };
    assert_eq!(not_as_timed(&why, &timed(0.8)), None);
    assert!(not_as_timed(&why, &timed(0.95)).unwrap().contains("0.8"), "{:?}", why.ratio);
}

//! Recordings of runs with counters, whose counts are known: from the instructions that the program
//! is written in (`programs/counted.c`).

use crate::Case;
use model::counters::{Counted, CountedCode, Counter, CounterTable};
use std::path::Path;

/// A sample stands for two millions, after the first second for twelve, and of each counter one is
/// under way at the end: of 450 millions up to 2.7 %.
const OFF: f64 = 0.04;
/// The interval of a function with 56 samples.
const OFF_OF_FUNCTION: f64 = 0.27;

fn table(name: &str) -> CounterTable {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("recordings/{name}.dwell"));
    let case = Case::read(&path).expect("a recording");
    case.result.run.tables.counters.value().cloned().expect("there were counters")
}

fn millions(counted: &Counted, of: Counter) -> f64 {
    let row = counted.counts.iter().find(|row| row.counter == of).expect("it was looked for");
    *row.count.value().expect("it counted") as f64 / 1e6
}

/// In user mode and in the kernel.
fn in_all(code: &CountedCode, of: Counter) -> f64 {
    millions(&code.user, of) + code.kernel.value().map_or(0.0, |kernel| millions(kernel, of))
}

#[track_caller]
fn about(told: f64, truth: f64, off: f64) {
    assert!((told - truth).abs() <= truth * off, "{told} of {truth}");
}

fn function<'a>(code: &'a CountedCode, name: &str) -> &'a Counted {
    let found = code.functions.iter().find(|row| row.function == name && row.mode == "user");
    &found.expect("it has a row").counted
}

/// 30,000 rounds of 15,001 instructions, 5,002 and 6; each takes two cycles.
#[test]
fn what_a_program_in_registers_retires_is_told_in_all_and_by_function() {
    let table = table("counted-registers");
    let user = &table.all.user;
    about(millions(user, Counter::Instructions), 600.3, OFF);
    about(millions(user, Counter::Cycles), 1200.5, OFF);
    about(user.instructions_per_cycle.value().expect("it is known").value, 0.5, OFF);
    about(table.all.clock_hz.value().expect("it is known") / 1e9, 1.0, OFF);
    for (name, truth) in [("alpha", 450.03), ("beta", 150.06)] {
        let of_it = function(&table.all, name);
        about(millions(of_it, Counter::Instructions), truth, OFF_OF_FUNCTION);
        let ratio = of_it.instructions_per_cycle.value().expect("it is known");
        assert!(ratio.lo <= 0.5 && ratio.hi >= 0.5, "{name}: {ratio:?}");
    }
    // One thread: it is the path.
    let path = table.path.value().expect("there is a path");
    assert_eq!((path.samples, &path.user), (table.all.samples, user));
    assert!(user.last_level_misses_per_1000.value().is_none(), "this processor does not count them");
}

/// 300,000 calls, each after 320 instructions of user code. Plain counters of the program's own had
/// 96.0 million instructions of user code and 242.1 of the kernel, with those of dwell. The
/// emulator notices an overflow where the mode changes (`docs/results/counters.md`), so only the
/// sum is right.
#[test]
fn what_a_program_with_many_calls_retires_is_told_in_all() {
    let table = table("counted-calls");
    about(in_all(&table.all, Counter::Instructions), 338.1, OFF);
    about(in_all(&table.all, Counter::Cycles), 676.1, 2.0 * OFF);
    let user = millions(&table.all.user, Counter::Instructions);
    assert!(user > 96.0 * 1.5, "the emulator has become right: {user} of 96.0 in user code");
}

/// The main thread waits for the other, which has 30,000 times 15,001 instructions, and before that
/// has 15,000 times as many of its own.
#[test]
fn the_path_has_the_counts_of_the_thread_that_the_end_waited_for() {
    let table = table("counted-threads");
    about(millions(&table.all.user, Counter::Instructions), 675.2, OFF);
    let path = table.path.value().expect("there is a path");
    about(millions(&path.user, Counter::Instructions), 450.2, OFF);
    assert!(path.samples < table.all.samples);
    let row = path.functions.iter().find(|row| row.function == "alpha");
    assert!(row.is_none(), "the main thread's function is not on the path: {row:?}");
    about(millions(function(path, "beta"), Counter::Instructions), 450.1, OFF);
}

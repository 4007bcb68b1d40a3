//! `--unit FUNCTION` and `--unit usdt:PROVIDER:NAME`: each call and each operation is counted, and
//! what was planted in a few of them is what these have more.

use crate::support::window::Alive;
use crate::support::{self, MS, fresh};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = fresh("units");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/units.c");
    let made = Command::new("cc").args(["-g", "-O2", source, "-o"]).arg(&program).status();
    assert!(made.is_ok_and(|made| made.success()), "cc cannot compile {source}");
    program
});

fn run(unit: &str, options: &[&str], program: &Path, json: Option<&Path>) -> Output {
    let mut command = Command::new(support::dwell());
    command.args(["run", "--width", "160", "--unit", unit]).args(options);
    command.args(json.into_iter().flat_map(|json| [Path::new("--json"), json]));
    command.arg("--").arg(program).output().expect("dwell starts")
}

/// The pieces of work of a run, and its page.
fn found(unit: &str, options: &[&str]) -> (Value, String) {
    let json = fresh("units.json");
    // What is counted here is to be whole, however dear a trap is on this machine.
    let options = [&["--max-overhead", "none"], options].concat();
    let output = run(unit, &options, &PROGRAM, Some(&json));
    let page = support::text(&output.stderr);
    assert!(output.status.success(), "{page}");
    let all = support::read_json(&json)["requests"].clone();
    assert!(all["times"].is_u64(), "{all}\n{page}");
    let mean: u64 = all["latency"]["mean_ns"].as_u64().unwrap();
    let parts = all["parts"].as_array().unwrap();
    let sum: u64 = parts.iter().filter_map(|part| part["mean_ns"].as_u64()).sum();
    assert!(sum.abs_diff(mean) <= parts.len() as u64, "the parts sum to the mean: {all}");
    (all, page)
}

#[test]
fn each_call_of_a_function_is_one_and_the_slow_ones_have_what_was_planted() {
    let (all, page) = found("handle", &["--slower-than", "15ms"]);
    assert_eq!((&all["unit"], &all["unit_of"]), (&"call".into(), &"handle".into()));
    assert_eq!((&all["times"], &all["abandoned"]), (&100.into(), &0.into()), "{all}");
    assert_eq!((&all["deadline"]["missed"], &all["slow"]), (&5.into(), &5.into()), "{all}");
    let sleep =
        all["parts"].as_array().unwrap().iter().find(|part| part["at"] == "sleep").expect("they sleep");
    assert!(sleep["slow_ns"].as_u64() >= Some(20 * MS) && sleep["typical_ns"] == 0, "{sleep}");
    assert!(sleep["place"].to_string().contains("units.c"), "where: {sleep}");
    assert!(page.contains("100 calls of handle, ") && page.contains("slow calls sleep "), "{page}");
}

#[test]
fn a_deadline_for_requests_that_there_are_not_is_told() {
    let output = run("request", &["--deadline", "5ms"], Path::new("true"), None);
    let said = support::text(&output.stderr);
    assert!(
        output.status.success() && said.contains("--slower-than (--deadline) counted nothing: "),
        "{said}"
    );
    assert!(said.contains("try: --unit cycle"), "{said}");
}

#[test]
fn a_call_that_ends_in_another_or_is_left_by_a_jump_is_told_apart() {
    let (all, _) = found("hands_on", &[]);
    assert_eq!((&all["times"], &all["abandoned"]), (&100.into(), &0.into()), "{all}");
    let (all, page) = found("fails", &[]);
    assert_eq!((&all["times"], &all["abandoned"]), (&75.into(), &25.into()), "{all}");
    assert!(page.contains("25 left without a return"), "{page}");
}

#[test]
fn only_calls_count_and_only_instructions_are_probed() {
    let (all, _) = found("counts", &[]);
    assert_eq!((&all["times"], &all["abandoned"]), (&100.into(), &0.into()), "a round is no call: {all}");
    let alone = Command::new(&*PROGRAM).output().unwrap();
    let alone = support::text(&alone.stdout).split_once("bytes ").unwrap().1.to_owned();
    let output = run("table", &[], &PROGRAM, None);
    let told = support::text(&output.stdout);
    assert!(told.contains(&alone), "what is no instruction is as it was: {told}");
    assert!(support::text(&output.stderr).contains("100 calls of table, "));
}

#[test]
fn a_call_that_its_window_did_not_see_begin_is_from_before() {
    let source = fresh("long.c");
    let program = fresh("long");
    let text = "#include <unistd.h>\n\
                __attribute__((noinline)) int once(void) { usleep(1500000); return 1; }\n\
                __attribute__((noinline)) int often(void) { usleep(1000); return 1; }\n\
                int main(void) { write(1, \"ready\\n\", 6); int sum = once(); while (1) sum += often(); }\n";
    std::fs::write(&source, text).unwrap();
    let made = Command::new("cc").args(["-g", "-O1"]).arg(&source).arg("-o").arg(&program).status();
    assert!(made.is_ok_and(|made| made.success()));
    let server = Alive::start(support::utf8(&program), &[]);
    let json = fresh("long.json");
    let mut command = Command::new(support::dwell());
    let pid = server.pid().to_string();
    command.args(["attach", &pid, "--unit", "once", "--for", "3s", "--json"]).arg(&json);
    let output = command.output().unwrap();
    let page = support::text(&output.stdout);
    let all = support::read_json(&json)["requests"].clone();
    assert_eq!((&all["times"], &all["began_before"]), (&0.into(), &1.into()), "{all}\n{page}");
    let mut command = Command::new(support::dwell());
    let file = program.file_name().unwrap().to_str().unwrap();
    let unit = format!("often@{file}");
    command.args(["attach", &pid, "--unit", &unit, "--for", "1s", "--json"]).arg(&json);
    assert!(command.output().unwrap().status.success());
    let all = support::read_json(&json)["requests"].clone();
    assert!(all["times"].as_u64() > Some(50) && all["unit_of"] == "often", "{all}");
}

#[test]
fn each_probe_that_is_come_past_counts_also_within_a_call() {
    let source = fresh("fib.c");
    let program = fresh("fib");
    let text = "__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n\
                int main(void) { volatile int sum = 0; for (int i = 0; i < 20; i++) sum += fib(32); }\n";
    std::fs::write(&source, text).unwrap();
    let made = Command::new("cc").arg("-O1").arg(&source).arg("-o").arg(&program).status();
    assert!(made.is_ok_and(|made| made.success()));
    let json = fresh("fib.json");
    let output = run("fib", &[], &program, Some(&json));
    let all = support::read_json(&json)["requests"].clone();
    assert!(all["followed_ns"].is_u64(), "it stops: {all}\n{}", support::text(&output.stderr));
}

#[test]
fn operations_are_between_two_probes_or_from_one_to_the_next() {
    let (all, page) = found("usdt:shop:order", &[]);
    assert_eq!(
        (&all["unit"], &all["times"]),
        (&"operation".into(), &100.into()),
        "its counter was raised: {all}"
    );
    assert!(page.contains("100 operations of usdt:shop:order, "), "{page}");
    let (all, _) = found("usdt:shop:frame", &[]);
    assert_eq!((&all["times"], &all["under_way"]), (&99.into(), &1.into()), "{all}");
    let sleeps = |part: &&Value| part["at"] == "sleep";
    assert!(
        all["parts"].as_array().unwrap().iter().any(|part| sleeps(&part)),
        "all is in one of them: {all}"
    );
}

#[test]
fn what_cannot_be_followed_is_an_error_before_the_program_starts() {
    let program = PROGRAM.as_path();
    for (unit, told) in [
        ("handel", format!("{program:?} has no function called \"handel\"")),
        ("usdt:shop:fram", "has no probe shop:fram; it has shop:frame, shop:order__done, ".to_owned()),
        ("usdt:libc", "a probe is written usdt:PROVIDER:NAME".to_owned()),
        ("cycle=", "the name of a thread has 1 to 15 bytes".to_owned()),
        ("handle@/etc/hostname", "it is not an ELF file".to_owned()),
        ("hand", format!("{program:?} has no function called \"hand\"")),
        ("choose", "ends in a conditional jump to another function".to_owned()),
    ] {
        let output = run(unit, &[], &PROGRAM, None);
        let errors = support::text(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{unit}: {errors}");
        assert!(errors.contains(&told), "{unit}: {errors}");
    }
    for other in [&["--source", "perf"][..], &["--count-blocks"]] {
        let output = run("handle", other, &PROGRAM, None);
        let errors = support::text(&output.stderr);
        assert!(!output.status.success() && errors.contains("--unit"), "{other:?}: {errors}");
    }
}

#[test]
fn where_following_takes_too_much_it_stops_and_says_when() {
    let source = fresh("hot.c");
    let program = fresh("hot");
    let text = "volatile int x; __attribute__((noinline)) int hot(int n) { x += n; return x; }\n\
                int main(void) { for (int i = 0; i < 300000000; i++) hot(i); }\n";
    std::fs::write(&source, text).unwrap();
    let made = Command::new("cc").arg("-O1").arg(&source).arg("-o").arg(&program).status();
    assert!(made.is_ok_and(|made| made.success()));
    let json = fresh("hot.json");
    let output = run("hot", &[], &program, Some(&json));
    let page = support::text(&output.stderr);
    let run = support::read_json(&json);
    let all = &run["requests"];
    let followed = all["followed_ns"].as_u64().unwrap_or_else(|| panic!("it stops: {all}\n{page}"));
    assert!(followed < run["wall_ns"].as_u64().unwrap(), "{followed}");
    assert!(all["times"].as_u64() > Some(100) && all["abandoned"] == 0, "{all}");
    assert!(page.contains(" only, as following them took too much: "), "{page}");
}

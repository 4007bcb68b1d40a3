//! A kernel that refuses some BPF programs: each takes with it what it would have told, and no
//! more. So does one that is attached and never runs. By really being refused:
//! `programs/refuse_bpf.c` answers in the kernel's place.

use crate::support;
use crate::support::{BLOCKED, MS, Told, read_json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

/// dwell, under the program that refuses.
struct Refusing {
    here: TempDir,
    program: PathBuf,
}

impl Refusing {
    fn new() -> Self {
        let here = tempfile::tempdir().unwrap();
        let program = here.path().join("refuse_bpf");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/refuse_bpf.c");
        let made = Command::new("cc").args([source, "-o"]).arg(&program).status();
        assert!(made.is_ok_and(|made| made.success()), "cc cannot compile refuse_bpf.c");
        Self { here, program }
    }

    fn run(&self, what: &str, command: &[&str]) -> Told {
        let json = self.here.path().join("run.json");
        let mut refusing = Command::new(&self.program);
        refusing.arg(what).arg(support::dwell()).args(["run", "-v", "--json"]).arg(&json).arg("--");
        let output = refusing.args(command).current_dir("/").output().unwrap();
        assert!(!said(&output).contains("panicked"), "{what}: {}", said(&output));
        assert_eq!(output.status.code(), Some(0), "{what}: {}", said(&output));
        let told = Told {
            run: read_json(&json),
            page: said(&output),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            code: output.status.code(),
        };
        std::fs::remove_file(&json).unwrap();
        for ledger in ["account", "path"] {
            let rows = told.run[ledger].as_array().unwrap();
            let sum: u64 = rows.iter().map(|row| row["ns"].as_u64().unwrap()).sum();
            assert_eq!(sum, told.wall(), "{what}: {ledger}\n{}", told.account());
        }
        told
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// How much of a source was seen, and why not all of it.
fn source(told: &Told, name: &str) -> (String, String) {
    let sources = told.run["coverage"]["sources"].as_array().unwrap();
    let found = sources.iter().find(|row| row["name"] == name);
    let text = |row: &serde_json::Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    found.map_or_else(Default::default, |row| (text(row, "seen"), text(row, "why")))
}

/// Each program, and the source that goes with it.
const PARTS: &[(&str, &str)] = &[
    ("softirq_entry", "interrupts"),
    ("softirq_exit", "interrupts"),
    ("irq_handler_entry", "interrupts"),
    ("irq_handler_exit", "interrupts"),
    ("hrtimer_expire_entry", "interrupts"),
    ("hrtimer_expire_exit", "interrupts"),
    ("task_rename", "thread names"),
    ("sk_data_ready", "sockets"),
    ("sock_send_length", "sockets"),
    ("sock_recv_length", "sockets"),
    ("block_rq_issue", "disks"),
    ("block_rq_complete", "disks"),
    ("block_io_start", "disks"),
    ("mm_filemap_fault", "pages"),
    ("mm_filemap_", "pages"),
    ("inet_sock_set_state", "network"),
    ("net_dev_queue", "network"),
    ("netif_receive_skb", "network"),
    ("sample", "faults"),
    ("sys_exit", "calls"),
    ("fault", "fault places"),
];

/// Without one of these there is no account by BPF.
const NEEDED: &[&str] = &[
    "sched_switch",
    "sched_waking",
    "sched_wakeup_new",
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
    "sys_enter",
];

/// These are of windows, of the processor's counters, or loaded where something asks for them.
const OTHERS: &[&str] = &[
    "call_begins",
    "call_ends",
    "counted",
    "find_alive",
    "look_here",
    "loop_begins",
    "mm_filemap_add_to_page_cache",
    "name_addresses",
    "operation_begins",
    "operation_ends",
    "operation_turns",
    "resolver_answered",
    "resolver_asked",
    "task_ends",
    "task_ready",
    "task_runs",
    "task_waits",
    "tell_open",
];

/// As the kernels' lane knows them.
#[test]
fn every_program_is_refused_here() {
    let lane = include_str!("../../../../xtask/src/kernels/verified.txt");
    let known = lane.lines().filter_map(|line| line.strip_prefix("dwell/")?.split_whitespace().next());
    let known: BTreeSet<&str> = known.filter(|name| *name != "*").collect();
    let parts = PARTS.iter().map(|(name, _)| *name).filter(|name| !name.ends_with('_'));
    let here: BTreeSet<&str> = parts.chain(NEEDED.iter().chain(OTHERS).copied()).collect();
    assert_eq!(here, known);
}

#[test]
fn a_program_that_is_refused_takes_its_own_evidence_and_the_account_stays() {
    let _alone = support::alone();
    let refusing = Refusing::new();
    for (program, lost) in PARTS {
        let told = refusing.run(program, &["sleep", "0.3"]);
        let (seen, why) = source(&told, lost);
        assert!(seen == "none" || seen == "partial", "{program}: {lost} is {seen:?}\n{}", told.page);
        assert!(why.ends_with(": Invalid argument (os error 22): R2 refused for a test"), "{program}: {why}");
        assert_eq!(source(&told, "switches").0, "full", "{program}");
        assert_eq!(told.run["syscalls"].is_array(), *lost != "calls", "{program}: {}", told.run["syscalls"]);
        // Waits are measured, so the sleep is as long as it was.
        assert!(told.parts(&["sleep"]) * 10 >= told.parts(BLOCKED) * 9, "{program}: {}", told.account());
        let slept = told.parts(&["sleep"]);
        assert!((290 * MS..400 * MS).contains(&slept), "{program}: {}", told.account());
    }
}

#[test]
fn without_a_program_that_the_account_needs_another_source_is_used_and_the_refusal_is_named() {
    let _alone = support::alone();
    let refusing = Refusing::new();
    for program in NEEDED {
        let told = refusing.run(program, &["sleep", "0.3"]);
        let (seen, why) = source(&told, "calls and wake-ups");
        // The kernel knows as much of a name: of an exec and an exit the same.
        let begin = format!("cannot load BPF program {}", &program[..program.len().min(15)]);
        let end = ": Invalid argument (os error 22): R2 refused for a test";
        assert_eq!(seen, "none", "{}", told.page);
        assert!(why.starts_with(&begin) && why.ends_with(end), "{program}: {why}");
    }
}

#[test]
fn without_a_program_that_nothing_asked_for_all_is_observed() {
    let _alone = support::alone();
    let refusing = Refusing::new();
    for program in OTHERS {
        let told = refusing.run(program, &["sleep", "0.3"]);
        for name in ["switches", "calls", "disks", "network", "faults"] {
            assert_eq!(source(&told, name).0, "full", "{program}: {}", told.page);
        }
    }
}

/// Who asks for calls of a function is told that none can be followed, not that none was made.
#[test]
fn without_a_program_of_what_was_asked_for_the_program_is_not_started() {
    let refusing = Refusing::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/units.c");
    let asked = support::fresh("units-refused");
    let made = Command::new("cc").args(["-O2", source, "-o"]).arg(&asked).status();
    assert!(made.is_ok_and(|made| made.success()), "cc cannot compile {source}");
    for program in ["call_begins", "call_ends"] {
        let mut run = Command::new(&refusing.program);
        run.arg(program).arg(support::dwell()).args(["run", "--unit", "handle", "--"]).arg(&asked);
        let output = run.output().unwrap();
        let told = said(&output);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(125), 0), "{told}");
        assert!(
            told.contains("cannot record from bpf: --unit: ") && told.contains("Invalid argument"),
            "{told}"
        );
    }
}

#[test]
fn a_window_without_the_programs_that_find_threads_is_of_another_source() {
    let _alone = support::alone();
    let refusing = Refusing::new();
    let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
    let process = sleeper.id().to_string();
    for program in ["find_alive", "look_here"] {
        let json = refusing.here.path().join("window.json");
        let mut attach = Command::new(&refusing.program);
        attach.arg(program).arg(support::dwell()).args(["attach", "-v", "--for", "300ms", "--json"]);
        let output = attach.arg(&json).arg(&process).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let told = Told {
            run: read_json(&json),
            page: String::from_utf8_lossy(&output.stdout).into_owned(),
            out: String::new(),
            code: output.status.code(),
        };
        let (seen, why) = source(&told, "calls and wake-ups");
        let begin = format!("cannot load BPF program {program}: ");
        assert!(seen == "none" && why.starts_with(&begin), "{why}\n{}", told.page);
    }
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}

/// They are loaded and attached, and the kernel never runs them.
#[test]
fn a_program_that_never_runs_is_as_one_that_is_refused() {
    let _alone = support::alone();
    let refusing = Refusing::new();
    for program in ["sched_switch", "sched_waking", "sys_enter"] {
        let told = refusing.run(&format!("mute:{program}"), &["sleep", "0.3"]);
        let expected = format!("BPF program {program} is attached, and the kernel does not run it");
        assert_eq!(source(&told, "calls and wake-ups"), ("none".to_owned(), expected), "{}", told.page);
        assert!(told.parts(&["sleep"]) >= 250 * MS, "{}", told.account());
    }
    let told = refusing.run("mute:sys_exit", &["sleep", "0.3"]);
    let (seen, why) = source(&told, "calls");
    assert!(seen == "none" && why.ends_with("the kernel does not run it"), "{why}");
    assert!(!told.page.contains("none completed"), "{}", told.page);
    assert!((290 * MS..400 * MS).contains(&told.parts(&["sleep"])), "{}", told.account());
}

#[test]
fn a_verifier_that_refuses_at_random_leaves_an_account() {
    let _alone = support::alone();
    let refusing = Refusing::new();
    for seed in 1..=8 {
        refusing.run(&format!("random:{seed}:4"), &["sh", "-c", "sleep 0.1 | cat"]);
    }
}

#[test]
fn bpf_that_is_denied_after_the_start_leaves_an_account() {
    let _alone = support::alone();
    let refusing = Refusing::new();
    let from = refusing.here.path().join("from-now-on");
    let script = format!(
        "sleep 0.1; touch {0}; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1",
        from.display()
    );
    let told = refusing.run(&format!("when:{}", from.display()), &["sh", "-c", &script]);
    // A part of the second may be beside a shell that waits for a CPU.
    assert!(told.parts(&["sleep"]) >= 100 * MS, "{}", told.account());
    assert_eq!(source(&told, "switches").0, "full", "{}", told.page);
    // The shell's calls were counted, and nobody could ask how many.
    assert!(told.run["syscalls"]["unseen"].is_string(), "{}", told.run["syscalls"]);
    assert!(told.run["coverage"]["lost_events"]["unseen"].is_string(), "{}", told.run["coverage"]);
    assert_eq!(source(&told, "calls").0, "none", "{}", told.page);
    assert!(!told.page.contains("none completed"), "{}", told.page);
}

#[test]
fn without_the_exit_of_calls_the_kernels_time_has_their_names_from_samples() {
    let _alone = support::alone();
    let refusing = Refusing::new();
    let told = refusing.run("sys_exit", &["find", "/usr/lib", "-name", "nothing"]);
    assert_eq!(source(&told, "calls").0, "none", "{}", told.page);
    let (kernel, user) = (told.parts(&["kernel"]), told.parts(&["user"]));
    assert!(kernel > 0 && user > 0 && (kernel + user) * 2 > told.wall(), "{}", told.account());
    let calls = ["newfstatat", "getdents64", "openat"];
    assert!(calls.iter().any(|call| told.page.contains(call)), "{}", told.page);
    assert!(told.run["syscalls"]["unseen"].is_string(), "{}", told.run["syscalls"]);
}

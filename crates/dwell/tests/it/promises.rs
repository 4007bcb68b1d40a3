//! What the outside is promised, on real output: the JSON is what its schema says, nothing from the
//! program reaches the terminal unescaped, and nothing stays in the kernel when dwell is killed.

use crate::support;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn real_output_of_every_source_is_what_the_schema_says() {
    let _alone = support::alone();
    let schema = support::schema("dwell.run/1");
    let programs: [&[&str]; 4] = [
        &["true"],
        &["sh", "-c", "ls -lR /usr/share | gzip | wc -c"],
        &["sleep", "0.1"],
        &["sh", "-c", "kill -9 $$"],
    ];
    for source in ["bpf", "perf", "proc"] {
        for program in programs {
            let output = Command::new(support::dwell())
                .args(["run", "-q", "--json", "-", "--source", source, "--"])
                .args(program)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            // The program's own output comes first, on the same stream.
            let json = &text[text.find("{\n").unwrap_or_else(|| panic!("no JSON in {text}"))..];
            let run: serde_json::Value = serde_json::from_str(json).unwrap();
            let errors: Vec<String> =
                schema.iter_errors(&run).map(|error| format!("{}: {error}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{source} {program:?}: {errors:#?}");
        }
    }
}

#[test]
fn names_of_the_programs_choosing_cannot_command_the_terminal() {
    let told = support::run(&[support::work(), "hostile"]);
    assert!(told.page.contains("\\x1b"), "the name is shown, escaped:\n{}", told.page);
    let commands: Vec<char> = told.page.chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert!(commands.is_empty(), "{commands:?} in\n{:?}", told.page);
}

/// BPF programs of dwell's that the kernel has loaded, by name.
fn loaded() -> usize {
    let output = Command::new("bpftool").args(["prog", "show"]).output().expect("bpftool starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter(|line| line.contains("tracing") && line.contains("name sched_waking")).count()
}

#[test]
fn a_dwell_that_is_killed_leaves_nothing_in_the_kernel_and_its_program_unharmed() {
    let _alone = support::alone();
    let mark = support::fresh("alive");
    // Somebody else's dwell may run here, too.
    let before = loaded();
    let started = support::fresh("started");
    let script = format!("echo > {}; sleep 1; echo done > {}", started.display(), mark.display());
    let mut dwell = Command::new(support::dwell())
        .args(["run", "-q", "--source", "bpf", "--", "sh", "-c", &script])
        .spawn()
        .unwrap();
    let within = |what: &str, holds: &dyn Fn() -> bool| {
        let until = Instant::now() + Duration::from_secs(20);
        while !holds() {
            assert!(Instant::now() < until, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // A program that has not begun ends with dwell.
    within("it is loaded, and the program has begun", &|| loaded() > before && started.exists());
    std::thread::sleep(Duration::from_millis(200));
    dwell.kill().unwrap();
    dwell.wait().unwrap();
    within("nothing of it is loaded", &|| loaded() <= before);
    within("the program goes on to its end", &|| mark.exists());
}

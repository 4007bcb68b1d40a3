//! Who had the CPUs instead: two busy loops of known shares beside a program on one CPU, a program
//! that has more threads than there are CPUs, and one with a memory limit.

use crate::support::{MS, Told, fresh, hold_coarse, hold_with, run, work};
use serde_json::Value;
use std::cell::Cell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A busy loop on CPU 0 under a name of its own, gone with the test.
struct Hog {
    name: &'static str,
    child: Child,
    shell: PathBuf,
}

impl Hog {
    fn new(name: &'static str, nice: &str) -> Self {
        let directory = fresh(name);
        fs::create_dir(&directory).expect("a directory in the scratch directory");
        let shell = directory.join(name);
        symlink("/bin/sh", &shell).expect("a link in the scratch directory");
        let mut command = Command::new("taskset");
        command.args(["-c", "0", "nice", "-n", nice]).arg(&shell).args(["-c", "while :; do :; done"]);
        let child = command.stdin(Stdio::null()).spawn().expect("taskset starts");
        Self { name, child, shell }
    }

    /// How long it has been on a CPU.
    fn cpu_ns(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", self.child.id()));
        let text = text.expect("the kernel counts scheduling");
        text.split(' ').next().and_then(|word| word.parse().ok()).expect("its first number is CPU time")
    }

    /// What of the path was behind it.
    fn had(&self, told: &Told) -> u64 {
        let reason = format!("{} ran", self.name);
        told.steps(|step| step["state"] == "runqueue" && step["reason"] == *reason)
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(self.shell.parent().expect("it is in a directory"));
    }
}

#[test]
fn each_of_two_others_has_what_it_had_of_the_cpu() {
    let (one, two) = (Hog::new("hog_one", "0"), Hog::new("hog_two", "4"));
    let theirs = Cell::new((0, 0));
    let run = || {
        let before = (one.cpu_ns(), two.cpu_ns());
        let told = run(&["taskset", "-c", "0", work(), "spin", "300"]);
        theirs.set((one.cpu_ns() - before.0, two.cpu_ns() - before.1));
        told
    };
    hold_with(run, |told, claims| {
        let ours = (one.had(told), two.had(told));
        let share = |(one, two): (u64, u64)| one as f64 / (one + two).max(1) as f64;
        let (got, truth) = (share(ours), share(theirs.get()));
        let so = (got - truth).abs() < 0.04;
        claims.that(so, format!("hog_one had {got:.3} of both by the path, {truth:.3} by its own counter"));
        claims.equal("class", told.class(), "starved");
        let others = told.run["run_queue"]["others"].as_array().cloned().unwrap_or_default();
        let hog = others.iter().find(|other| other["name"] == one.name);
        claims.equal("its PID", hog.map(|hog| &hog["pid"]), Some(&Value::from(one.child.id())));
        // Nothing else may run on that CPU, but on a busy host does.
        let first = others.first().cloned().unwrap_or_default();
        let named = format!("(most: {}, PID {})", first["name"].as_str().unwrap_or_default(), first["pid"]);
        let page = told.page.split_whitespace().collect::<Vec<_>>().join(" ");
        claims.that(page.contains("starved: ") && page.contains(&named), &told.page);
        let queue = &told.run["run_queue"];
        let parts = ["behind_own_ns", "behind_others_ns", "idle_cpu_ns", "unseen_ns"];
        let queued = told.parts(&["runqueue"]);
        let unseen = queue["unseen_ns"].as_u64().unwrap_or(queued);
        claims.that(unseen * 20 <= queued, format!("{unseen} of {queued} ns have no name"));
        claims.equal("run queue", parts.iter().filter_map(|part| queue[part].as_u64()).sum(), queued);
    });
}

#[test]
fn a_program_that_uses_up_the_cpus_is_bound_by_them() {
    let many = 2 * std::thread::available_parallelism().expect("there are CPUs").get();
    let script = format!("i=0; while [ $i -lt {many} ]; do \"$0\" spin 200 & i=$((i+1)); done; wait");
    hold_with(
        || run(&["sh", "-c", &script, work()]),
        |told, claims| {
            let queue = &told.run["run_queue"];
            let own = queue["behind_own_ns"].as_u64().unwrap_or(0);
            let queued = told.parts(&["runqueue"]);
            claims.that(own > 50 * MS, format!("{own} ns behind its own"));
            // Beside busy programs it waits behind them, too.
            if told.run["coverage"]["host_busy"].as_f64() < Some(0.1) {
                claims.that(own * 10 >= queued * 9, format!("{own} of {queued} ns behind its own"));
                claims.equal("class", told.class(), "cpu");
            }
            let wanted = queue["cpus_wanted"].as_f64().unwrap_or(0.0);
            claims.that(wanted > many as f64 * 0.75, format!("{wanted} CPUs wanted, by {many} processes"));
            claims.that(told.page.contains("its own"), &told.page);
        },
    );
}

/// A control group with a memory limit, gone with the test.
struct Narrow(PathBuf);

const LIMIT_BYTES: u64 = 64 << 20;

impl Narrow {
    fn new() -> Self {
        let name = format!("dwell-limit-{}", std::process::id());
        let first = Path::new("/sys/fs/cgroup/memory").join(&name);
        if fs::create_dir(&first).is_ok() {
            fs::write(first.join("memory.limit_in_bytes"), LIMIT_BYTES.to_string()).expect("a limit");
            return Self(first);
        }
        let second = Path::new("/sys/fs/cgroup").join(&name);
        fs::create_dir(&second).expect("the tests may make control groups");
        let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
        fs::write(second.join("memory.max"), LIMIT_BYTES.to_string()).expect("a limit");
        Self(second)
    }
}

impl Drop for Narrow {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_memory_limit_is_named_with_its_group() {
    let narrow = Narrow::new();
    // The last but one keeps all that it is given until there is no more.
    let script = format!(
        "echo $$ > {}/cgroup.procs; (head -c 60M /dev/zero; sleep 0.5) | tail -c 62M | wc -c",
        narrow.0.display()
    );
    // Joining a group is a wait for something else, and can be a hundredth of the wall.
    hold_coarse(
        || run(&["sh", "-c", &script]),
        |told, claims| {
            let memory = &told.run["limits"]["memory"];
            let name = narrow.0.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            claims.that(
                memory["group"].as_str().is_some_and(|group| group.ends_with(name)),
                memory.to_string(),
            );
            claims.equal("limit", &memory["limit_bytes"], &Value::from(LIMIT_BYTES));
            let used = memory["used_bytes"].as_u64().unwrap_or(0);
            claims.that(used > 58 << 20 && used <= LIMIT_BYTES, format!("{used} bytes in use"));
            let page = told.page.split_whitespace().collect::<Vec<_>>().join(" ");
            claims.that(page.contains("memory limit of control group") && page.contains(name), &told.page);
        },
    );
}

#[test]
fn a_program_without_limits_has_none() {
    let told = run(&["sleep", "0.1"]);
    let limits = &told.run["limits"];
    assert!(limits["group"].is_string(), "{limits}");
    let cpus = fs::read_to_string("/proc/self/status").expect("there is /proc/self/status");
    let allowed = limits["cpus_allowed"].as_u64().expect("it can be read");
    let list = cpus.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let list: model::CpuList = list.expect("it has a list").parse().expect("it is one of CPUs");
    assert_eq!(allowed, list.len() as u64, "{limits}");
    assert!(!told.page.contains("control group"), "{}", told.page);
}

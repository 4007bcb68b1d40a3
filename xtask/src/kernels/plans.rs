//! What is done in a machine: plans for its process 1 (`crates/guest/src/plan.rs`).

use super::which::Kernel;
use serde_json::{Value, json};

/// Programs of known truth (`crates/work`), run one after another under one dwell.
pub(crate) const PROGRAMS: &[&str] =
    &["sleep,200", "spin,300", "pipe-sleep,200", "lock-spin,200", "tcp-process-sleep,20,10", "forks,50"];
const ON_DISK: &[&str] = &["disk-write,/mnt,4", "disk-read,/mnt,4"];
/// Where only the tier and the account are in question.
const FEW: &[&str] = &["sleep,200", "spin,300", "pipe-sleep,200"];

/// Whoever is not root in there.
const USER: u32 = 1000;
/// The limit of the time in the machine. Loading the programs is half a minute of an emulated one.
const LIMIT_S: u64 = 300;
/// Of results, what is judged: the console is slow.
const FIELDS: &[&str] = &["wall_ns", "account", "coverage", "threads", "findings", "waits"];

/// A setting or a mount that is not as usual, and what it is called.
pub(crate) const VARIATIONS: &[&str] = &["perf_event_paranoid 2", "yama 2", "hidepid", "no BTF"];
/// The options that the second machine boots with.
pub(crate) const BOOTED_WITH: &str = "cgroup v1, PSI off, lockdown integrity";

fn dwell(name: &str, binary: &str, user: Option<u32>, programs: &[&str]) -> Value {
    let result = format!("/tmp/{name}.json");
    let argv = [binary, "run", "--quiet", "--json", &result, "--", "/bin/dwell-work", "series"];
    let argv: Vec<&str> = argv.into_iter().chain(programs.iter().copied()).collect();
    json!({"do": "run", "name": name, "argv": argv, "limit_s": LIMIT_S, "user": user, "result": result,
           "fields": FIELDS})
}

fn doctor(name: &str, binary: &str, user: Option<u32>) -> Value {
    json!({"do": "run", "name": name, "argv": [binary, "doctor"], "limit_s": LIMIT_S, "user": user})
}

fn write(path: &str, text: &str) -> Value {
    json!({"do": "write", "path": path, "text": text})
}

fn mount(kind: &str, at: &str, data: &str) -> Value {
    json!({"do": "mount", "kind": kind, "at": at, "data": data})
}

fn remount(at: &str, data: &str) -> Value {
    json!({"do": "mount", "kind": "proc", "at": at, "data": data, "remount": true})
}

/// The usual machine: every program loaded; known truth as root, with the capabilities that
/// `dwell doctor` recommends to a user, and as that user.
pub(crate) fn usual(kernel: &Kernel) -> Value {
    let mut programs = PROGRAMS.to_vec();
    let mut plan = vec![json!({"do": "verify"}), mount("cgroup2", "/sys/fs/cgroup", "")];
    // Larger kernels have their drivers in modules.
    if kernel.flavour == "cloud" {
        plan.push(json!({"do": "mount", "kind": "ext4", "from": "/dev/nvme0n1", "at": "/mnt"}));
        programs.extend(ON_DISK);
    }
    plan.extend([
        write("/proc/sys/kernel/perf_event_paranoid", "3"),
        dwell("root", "/bin/dwell", None, &programs),
        doctor(DOCTORS[0], "/bin/dwell", None),
        doctor(DOCTORS[1], "/bin/dwell", Some(USER)),
    ]);
    if kernel.takes_bpf() {
        plan.extend([
            capable(),
            // The other half of what doctor recommends.
            write("/proc/sys/kernel/perf_event_paranoid", "2"),
            dwell("capable", "/tmp/capable", Some(USER), PROGRAMS),
        ]);
    }
    plan.extend([
        write("/proc/sys/kernel/perf_event_paranoid", "3"),
        dwell("user", "/bin/dwell", Some(USER), PROGRAMS),
    ]);
    Value::Array(plan)
}

/// What doctor says, by the names of the steps of [`doctors`]: to root, to a user, and to a user
/// who did what it recommended.
pub(crate) const DOCTORS: [&str; 3] = ["root's doctor", "user's doctor", "capable's doctor"];

/// A copy that has the capabilities that doctor recommended to the user.
fn capable() -> Value {
    json!({"do": "capable", "from": "/bin/dwell", "to": "/tmp/capable", "said_by": DOCTORS[1]})
}

/// A machine that is only asked for what doctor says.
pub(crate) fn doctors(kernel: &Kernel) -> Value {
    let mut plan = vec![
        mount("cgroup2", "/sys/fs/cgroup", ""),
        write("/proc/sys/kernel/perf_event_paranoid", "3"),
        doctor(DOCTORS[0], "/bin/dwell", None),
        doctor(DOCTORS[1], "/bin/dwell", Some(USER)),
    ];
    if kernel.takes_bpf() {
        plan.push(capable());
    }
    plan.extend([
        write("/proc/sys/kernel/perf_event_paranoid", "2"),
        doctor(DOCTORS[2], if kernel.takes_bpf() { "/tmp/capable" } else { "/bin/dwell" }, Some(USER)),
    ]);
    Value::Array(plan)
}

/// Machines that are stricter than usual, one thing at a time.
pub(crate) fn stricter() -> Value {
    let paranoid = "/proc/sys/kernel/perf_event_paranoid";
    let yama = "/proc/sys/kernel/yama/ptrace_scope";
    Value::Array(vec![
        mount("cgroup2", "/sys/fs/cgroup", ""),
        write(paranoid, "2"),
        dwell("perf_event_paranoid 2", "/bin/dwell", Some(USER), FEW),
        write(paranoid, "3"),
        write(yama, "2"),
        dwell("yama 2", "/bin/dwell", Some(USER), FEW),
        remount("/proc", "hidepid=2"),
        dwell("hidepid", "/bin/dwell", Some(USER), FEW),
        remount("/proc", "hidepid=0"),
        mount("tmpfs", "/sys/kernel/btf", ""),
        dwell("no BTF", "/bin/dwell", None, FEW),
        doctor("doctor without BTF", "/bin/dwell", None),
    ])
}

/// A machine that boots with older or stricter things than usual.
pub(crate) fn older() -> Value {
    Value::Array(vec![
        mount("tmpfs", "/sys/fs/cgroup", ""),
        mount("cgroup", "/sys/fs/cgroup/cpu", "cpu,cpuacct"),
        mount("cgroup", "/sys/fs/cgroup/pids", "pids"),
        dwell(BOOTED_WITH, "/bin/dwell", None, FEW),
        doctor("doctor of the older", "/bin/dwell", None),
    ])
}

/// The kernel's command line of [`older`].
pub(crate) const OLDER: &str = "psi=0 lockdown=integrity";

/// Many CPUs on two nodes.
pub(crate) fn many() -> Value {
    let run = dwell(MANY, "/bin/dwell", None, &["sleep,1500", "spin,300", "pipe-sleep,200"]);
    Value::Array(vec![mount("cgroup2", "/sys/fs/cgroup", ""), run])
}

/// What the run of [`many`] is called.
pub(crate) const MANY: &str = "64 CPUs, two nodes";

/// The last of two CPUs is away when dwell starts, comes while two threads compute on the other,
/// goes, and comes again.
pub(crate) fn late() -> Value {
    let cpu = "/sys/devices/system/cpu/cpu1/online";
    let mut run = dwell(LATE, "/bin/dwell", None, &["sleep,200", "overlap,2000,2500"]);
    let at = |after_ms: u64, text: &str| json!({"after_ms": after_ms, "path": cpu, "text": text});
    // Until the programs are loaded 5 s pass.
    run["meanwhile"] = json!([at(6_000, "1"), at(7_000, "0"), at(7_400, "1")]);
    Value::Array(vec![mount("cgroup2", "/sys/fs/cgroup", ""), write(cpu, "0"), run])
}

/// What the run of [`late`] is called.
pub(crate) const LATE: &str = "a CPU comes late, goes, comes";

/// What differs most on another architecture, by the names of the steps of [`verbs`].
pub(crate) const VERBS: &[&str] = &["unwinding", "flame", "annotate", "ladder", "wake"];

/// Verbs that have code of their own for each architecture: they have to end well, and say the
/// words that go with them (`table.rs`).
pub(crate) fn verbs() -> Vec<Value> {
    let recording = "/tmp/spin.dwell";
    let argv: [&[&str]; 5] = [
        &["run", "--keep", recording, "--", "/bin/dwell-work", "spin", "500"],
        &["show", "--flame", recording],
        &["show", "--annotate", "spin", recording],
        &["ladder", "--quick", "--no-keep", "--only", "core"],
        &["wake", "--for", "2s"],
    ];
    let step = |(name, words): (&&str, &[&str])| {
        let argv: Vec<&str> = std::iter::once("/bin/dwell").chain(words.iter().copied()).collect();
        json!({"do": "run", "name": name, "argv": argv, "limit_s": LIMIT_S})
    };
    VERBS.iter().zip(argv).map(step).collect()
}

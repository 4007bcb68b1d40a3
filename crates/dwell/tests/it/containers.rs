//! What containers do to dwell, without a container: their filters of system calls, namespaces,
//! capabilities and marks. `dwell doctor` names who refuses, and the options of who started it.
//! With real runtimes: `bench/containers.sh`.

use crate::support;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// `programs/forbid.c`, compiled.
fn forbid() -> &'static str {
    static MADE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = MADE.get_or_init(|| {
        let here = tempfile::tempdir().unwrap();
        let program = here.path().join("forbid");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/forbid.c");
        let made = Command::new("cc").args([source, "-o"]).arg(&program).status();
        assert!(made.is_ok_and(|made| made.success()), "cc cannot compile forbid.c");
        (here, program)
    });
    program.to_str().unwrap()
}

fn started(launcher: &[&str], arguments: &[&str]) -> Output {
    let mut command = Command::new(launcher[0]);
    command.args(&launcher[1..]).arg(support::dwell()).args(arguments);
    command.stdin(Stdio::null()).current_dir("/").output().unwrap()
}

/// What the doctor says of an ability where it is started like this: `works`, `why`, `remedy`.
fn told(launcher: &[&str], ability: &str) -> [String; 3] {
    let output = started(launcher, &["doctor", "--json", "-"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    let doctor: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["ability"] == ability).unwrap();
    ["works", "why", "remedy"].map(|field| check[field].as_str().unwrap().to_owned())
}

/// Docker's answer, Podman's, and another.
const ERRORS: [&str; 3] = ["1", "38", "13"];

#[test]
fn a_filter_that_refuses_bpf_is_named_with_the_option_that_lifts_it() {
    for error in ERRORS {
        let [works, why, remedy] = told(&[forbid(), error], "bpf");
        assert_eq!(works, "none");
        assert!(why.ends_with("; a seccomp filter is in force"), "{error}: {why}");
        assert!(remedy.contains("--security-opt=seccomp=unconfined"), "{error}: {remedy}");
    }
}

#[test]
fn a_run_under_such_a_filter_has_an_account_and_the_same_remedy() {
    for error in ERRORS {
        let output = started(&[forbid(), error], &["run", "--", "sleep", "0.1"]);
        let page = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{page}");
        let whole = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(whole.contains("try: start the container with --cap-add=BPF"), "{error}: {page}");
        assert!(whole.contains("sleep"), "{page}");
    }
}

#[test]
fn a_capability_that_is_missing_is_named_and_not_the_map_that_was_refused() {
    let bereft = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"];
    let [_, why, _] = told(&bereft, "bpf");
    assert_eq!(why, "bpf(2) needs CAP_BPF and CAP_PERFMON, which this process does not have");
}

#[test]
fn in_a_pod_the_remedy_is_what_its_manifest_can_say() {
    let pod = ["env", "KUBERNETES_SERVICE_HOST=10.96.0.1", "setpriv", "--bounding-set", "-all"];
    let [_, _, remedy] = told(&pod, "bpf");
    let fields = "securityContext: {capabilities: {add: [BPF, PERFMON, SYS_PTRACE]}, \
                  seccompProfile: {type: Unconfined}}";
    assert!(remedy.contains(fields) && !remedy.contains("--cap-add"), "{remedy}");
}

#[test]
fn processes_of_a_pid_namespace_are_not_said_to_be_all() {
    let apart = ["unshare", "--pid", "--fork", "--mount-proc"];
    let [works, why, remedy] = told(&apart, "other-users");
    assert_eq!((works.as_str(), why.as_str()), ("partial", "only those of this PID namespace can be seen"));
    assert!(remedy.contains("outside of this PID namespace"), "{remedy}");
}

/// No option of the kernel's configuration is missing there, and nothing can be mounted.
#[test]
fn a_sandbox_that_hides_the_kernel_is_not_taken_for_a_kernel_without_types() {
    let script = "mount -t tmpfs none /sys && exec \"$@\"";
    let hidden = ["unshare", "--mount", "sh", "-c", script, "sh"];
    let [_, why, remedy] = told(&hidden, "bpf");
    assert!(why.starts_with("/sys is hidden"), "{why}");
    assert!(remedy.contains("hides the kernel") && !remedy.contains("CONFIG_"), "{remedy}");
}

/// By default a container may mount nothing.
#[test]
fn who_may_not_mount_is_not_told_to() {
    let script = "umount -R /sys/fs/cgroup; mount -t tmpfs none /sys/fs/cgroup && \
                  exec setpriv --bounding-set -all --inh-caps -all \"$@\"";
    let hidden = ["unshare", "--mount", "sh", "-c", script, "sh"];
    let [works, _, remedy] = told(&hidden, "cgroup");
    assert_eq!(works, "none");
    assert!(remedy.contains("--volume=/sys/fs/cgroup:") && !remedy.contains("mount -t"), "{remedy}");
}

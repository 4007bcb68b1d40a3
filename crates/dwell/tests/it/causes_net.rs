//! Causes of peers and of locks, each in a program that has it, in the same program without it,
//! beside a busy loop on each CPU, and where dwell may not see them.
//!
//! What a program talks to runs beside dwell in a network namespace that they share, as in
//! `network.rs`. Which finding comes first is a matter of figures that a busy machine changes, so
//! what is claimed is asked for again where it does not hold at once.

use crate::support::causes::{How, told_by_script};
use crate::support::{Told, dwell, hold_coarse, scratch};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::{TempDir, tempdir};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");
/// What the programs need around them, as shell: `$PY` is the interpreter with the script.
const NOTHING: &str = "touch ready";
const SERVER: &str = "$PY serve 5 & pids=$!";
const FAST_SERVER: &str = "$PY serve 0 & pids=$!";
const FAR_SERVER: &str = "$PY relay 5 & pids=$!; until [ -e linked ]; do sleep 0.01; done; \
                          $PY serve 0 & pids=\"$pids $!\"";
const SLOW_LINK: &str = "mount -t tmpfs none /run; ip netns add there; \
                         ip link add here type veth peer name theirs netns there; \
                         ip addr add 10.9.0.1/24 dev here; ip -n there addr add 10.9.0.2/24 dev theirs; \
                         ip link set here up; ip -n there link set theirs gso_max_segs 1 up; \
                         tc -n there qdisc add dev theirs root tbf rate 20mbit burst 5kb latency 50ms; \
                         ip netns exec there $PY serve 0 32000 & pids=$!";
const NAMES: &str = "echo nameserver 127.0.0.1 > resolv.conf; echo hosts: dns > nsswitch.conf; \
                     mount --bind resolv.conf /etc/resolv.conf; mount --bind nsswitch.conf /etc/nsswitch.conf; \
                     $NAMES serve_names 8 & pids=$!";

/// What is around a program, and the program, as shell.
type Around<'a> = (&'a str, &'a str);

/// An interpreter that anyone may execute, where there is one.
fn python() -> &'static str {
    if Path::new("/usr/bin/python3").exists() { "/usr/bin/python3" } else { crate::support::python() }
}

/// `programs/causes_net.c`, built once.
fn locks() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = scratch().join(format!("causes-net-{}", std::process::id()));
        let source = format!("{PROGRAMS}/causes_net.c");
        let status = Command::new("cc").args(["-g", "-O1", "-pthread", &source, "-o"]).arg(&program).status();
        assert!(status.is_ok_and(|status| status.success()), "cc cannot compile {source}");
        program
    })
}

/// A directory that anyone may use, with what runs in it.
fn place() -> TempDir {
    let place = tempdir().expect("a directory");
    let all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(place.path(), all).expect("it is ours");
    let files = [PathBuf::from(dwell()), locks().to_owned()].map(|path| (path, true));
    let scripts = ["causes_net.py", "network.py"].map(|name| (Path::new(PROGRAMS).join(name), false));
    for (path, executable) in files.iter().chain(&scripts) {
        let name =
            if *executable && path == locks() { "locks".as_ref() } else { path.file_name().expect("a name") };
        std::fs::copy(path, place.path().join(name)).expect("a copy");
        let mode = if *executable { 0o755 } else { 0o644 };
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path().join(name), mode).expect("it is ours");
    }
    place
}

/// What dwell says of `command` (shell) where this is around it.
fn told(how: How, around: &str, command: &str) -> Told {
    let place = place();
    let (who, busy) = how.words();
    let script = format!(
        "cd {place}; PY='{python} {place}/causes_net.py' NAMES='{python} {place}/network.py'; pids=\n\
         ip link set lo up; ip addr add 192.0.2.1/32 dev lo\n{around}\n\
         for try in $(seq 500); do [ -e ready ] && break; sleep 0.01; done\n{busy}\n\
         {who} ./dwell run --max-overhead none --json run.json -- {command} >out 2>page; code=$?\n\
         kill $pids 2>/dev/null; wait; exit $code",
        place = place.path().display(),
        python = python(),
    );
    told_by_script(place.path(), &["unshare", "--net", "--mount"], &script)
}

/// The cause is the first one in the program `with`, whose finding says this; it is not in the
/// program `without`; it is there beside busy loops; and it is not claimed where its signs cannot
/// be seen.
fn is_found(cause: &str, says: &str, (around, with): Around<'_>, without: Around<'_>) {
    hold_coarse(|| told(How::Alone, around, with), |told, claims| claims.first(told, cause, says));
    hold_coarse(|| told(How::Alone, without.0, without.1), |told, claims| claims.not_found(told, cause));
    hold_coarse(|| told(How::BesideBusyLoops, around, with), |told, claims| claims.among_first(told, cause));
    hold_coarse(
        || told(How::AsNobody, around, with),
        |told, claims| claims.found_or_not_looked_for(told, cause),
    );
}

#[test]
fn threads_that_sleep_under_one_lock() {
    let says = "the lock taken in work (causes_net.c:";
    let [inside, outside] = ["inside", "outside"].map(|how| format!("./locks {how} sleep 30"));
    is_found("lock-contention", says, (NOTHING, &inside), (NOTHING, &outside));
}

#[test]
fn threads_that_compute_under_one_lock() {
    hold_coarse(
        || told(How::Alone, NOTHING, "./locks inside work 60"),
        |told, claims| claims.first(told, "lock-contention", "while its holder was on a CPU"),
    );
    hold_coarse(
        || told(How::Alone, NOTHING, "./locks outside work 60"),
        |told, claims| claims.not_found(told, "lock-contention"),
    );
}

#[test]
fn python_threads_that_compute() {
    let [threads, processes] = ["threads", "processes"].map(|how| format!("$PY {how} 6000000 2"));
    is_found("interpreter-lock", "work (causes_net.py:", (NOTHING, &threads), (NOTHING, &processes));
}

#[test]
fn requests_one_after_the_other() {
    let says = "at 127.0.0.1:5000 were waited for one after another";
    is_found("serial-requests", says, (SERVER, "$PY turns 96 1"), (SERVER, "$PY turns 96 8"));
}

#[test]
fn requests_in_two_writes() {
    let says = "127.0.0.1:5000 wait for delayed acknowledgements";
    is_found("delayed-ack", says, (FAST_SERVER, "$PY pairs 16 2"), (FAST_SERVER, "$PY pairs 16 1"));
}

#[test]
fn one_name_asked_for_again_and_again() {
    is_found("dns-lookups", "peer.test 50 times", (NAMES, "$PY names 50 50"), (NAMES, "$PY names 50 1"));
}

#[test]
fn a_connection_for_each_request() {
    let says = "connections to 10.9.0.2:5000 were opened";
    is_found("connection-churn", says, (FAR_SERVER, "$PY fresh 25"), (FAR_SERVER, "$PY kept 25"));
}

#[test]
fn a_transfer_over_a_slow_link() {
    let fast_link = SLOW_LINK.replace("20mbit", "2gbit");
    // So long that it goes at a steady rate for half of the run, also where the CPUs are taken.
    let load = "$PY load 32000";
    is_found("network-throughput", "10.9.0.2:5000", (SLOW_LINK, load), (&fast_link, load));
}

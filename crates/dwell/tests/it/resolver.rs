//! Names that the C library is asked for: from a file, where no packet is ever sent, and over the
//! network.

use crate::support::{alone, dwell, fresh};
use serde_json::Value;
use std::process::{Command, Stdio};
use tempfile::tempdir;

/// Looks names up as programs do, one of them in a file, and says how long each call took.
const CLIENT: &str = r"
import json, socket, time
told = {}
for name in ['in-a-file.test', 'in-a-file.test', 'nowhere.test', '127.0.0.1']:
    began = time.monotonic_ns()
    try:
        socket.getaddrinfo(name, 80)
    except socket.gaierror:
        pass
    told.setdefault(name, []).append(time.monotonic_ns() - began)
print(json.dumps(told))
";

/// What dwell says with these options, and what the client says.
fn asked(options: &[&str]) -> (Value, Value) {
    let _alone = alone();
    let (place, json) = (tempdir().expect("a directory"), fresh("names.json"));
    std::fs::write(place.path().join("hosts"), "192.0.2.7 in-a-file.test\n")
        .expect("a file in the scratch directory");
    std::fs::write(place.path().join("nsswitch.conf"), "hosts: files\n")
        .expect("a file in the scratch directory");
    // On a copy of the directory: a small system may lack these files, and then has nothing to
    // mount them on.
    let script = format!(
        "cp -a /etc {0}/etc; cp {0}/hosts {0}/nsswitch.conf {0}/etc; mount --bind {0}/etc /etc; \"$@\"",
        place.path().display()
    );
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "100", "unshare", "--mount", "sh", "-ec", &script, "sh"]);
    command
        .arg(dwell())
        .arg("run")
        .args(options)
        .arg("--json")
        .arg(&json)
        .args(["--", "python3", "-c", CLIENT]);
    let done = command.stdin(Stdio::null()).output().expect("dwell starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = std::fs::read_to_string(&json).unwrap_or_default();
    (
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")),
        serde_json::from_slice(&done.stdout).expect("the client's own figures"),
    )
}

#[test]
fn names_from_a_file_are_seen_when_the_library_is_looked_at() {
    let (run, client) = asked(&["--names"]);
    let rows = run["lookups"].as_array().expect("name lookups were observed");
    let row = |name: &str| {
        rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {rows:#?}"))
    };
    let (known, unknown) = (row("in-a-file.test"), row("nowhere.test"));
    assert_eq!([&known["kind"], &known["server"]], ["getaddrinfo", "the C library"]);
    let counts = |row: &Value| ["times", "answered", "failed", "repeated"].map(|what| row[what].as_u64());
    assert_eq!(counts(known), [2, 2, 0, 1].map(Some));
    assert_eq!(counts(unknown), [1, 1, 1, 0].map(Some));
    assert_eq!(rows.len(), 2, "an address in digits is no question: {rows:#?}");
    // The call is within what Python measured around it.
    let theirs: u64 =
        client["in-a-file.test"].as_array().into_iter().flatten().filter_map(Value::as_u64).sum();
    let ours = known["answer"]["total_ns"].as_u64().expect("it was answered");
    assert!(ours > 0 && ours < theirs, "{ours} ns of {theirs}");
}

#[test]
fn nothing_stands_in_the_library_unless_it_is_asked_for() {
    let (run, _) = asked(&[]);
    assert_eq!(run["lookups"], Value::Array(Vec::new()));
}

/// Instruments on a function's return must not hide who called it.
#[test]
fn a_wait_in_the_library_still_has_its_whole_stack() {
    let _alone = alone();
    let (place, json) = (tempdir().expect("a directory"), fresh("stack.json"));
    std::fs::write(place.path().join("resolv.conf"), "nameserver 192.0.2.1\noptions timeout:1 attempts:1\n")
        .expect("a file");
    std::fs::write(place.path().join("nsswitch.conf"), "hosts: dns\n").expect("a file");
    // A name server that never answers: a blocking wait of a second, in the middle of the library.
    let script = format!(
        "ip link set lo up; ip addr add 192.0.2.1/32 dev lo; mount --bind {0}/resolv.conf /etc/resolv.conf; \
         mount --bind {0}/nsswitch.conf /etc/nsswitch.conf; \
         python3 -c 'import socket, time; s = socket.socket(type=socket.SOCK_DGRAM); s.bind((\"192.0.2.1\", 53)); time.sleep(60)' & \
         server=$!; sleep 0.5; \"$@\"; kill $server",
        place.path().display()
    );
    let client = "import socket\ndef asks():\n    try:\n        socket.getaddrinfo('slow.test', 80)\n    except socket.gaierror:\n        pass\nasks()";
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "100", "unshare", "--net", "--mount", "sh", "-ec", &script, "sh"]);
    command.arg(dwell()).args(["run", "--names", "--json"]).arg(&json).args(["--", "python3", "-c", client]);
    let done = command.stdin(Stdio::null()).output().expect("dwell starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let run: Value =
        serde_json::from_str(&std::fs::read_to_string(&json).unwrap_or_default()).expect("an account");
    let waits = run["waits"].as_array().expect("waits");
    // The library polls its socket, and nothing comes before its limit.
    let waited =
        waits.iter().filter(|row| row["reason"] == "network").max_by_key(|row| row["total_ns"].as_u64());
    let stack = waited.expect("a wait for the name server")["stack"].to_string();
    assert!(stack.contains("getaddrinfo") && stack.contains("asks"), "{stack}");
    let row = &run["lookups"].as_array().expect("names")[0];
    assert_eq!(
        [&row["name"], &row["kind"], &row["failed"]],
        [&Value::from("slow.test"), &"getaddrinfo".into(), &1.into()]
    );
}

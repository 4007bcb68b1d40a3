//! The surroundings on a real host: a slow link is rebuilt and named, a busy host is shown to have
//! been busy, a disk's series moves with its requests, and a program that goes to another network
//! is followed there.

use crate::support;
use crate::support::{Told, fresh, hold_with};
use serde_json::Value;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The program of the operating system, not whatever stands first in the path: it starts fast.
const PYTHON: &str = "/usr/bin/python3";

/// Runs a program under dwell with more options.
fn run(options: &[&str], command: &[&str]) -> Told {
    let (json, out, page) = (fresh("run.json"), fresh("out"), fresh("page.txt"));
    let mut launcher = Command::new("timeout");
    launcher.args(["-k", "5", "150"]).arg(support::dwell()).args(["run", "-v", "--json"]).arg(&json);
    launcher.args(options).arg("--").args(command);
    let status = support::redirect(&mut launcher, &out, &page).status().expect("dwell starts");
    let read = |path: &std::path::Path| {
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        let _ = std::fs::remove_file(path);
        text
    };
    let (page, text) = (read(&page), read(&json));
    let run = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("no account of {command:?}: {error}; dwell said:\n{page}"));
    Told { run, page, out: read(&out), code: status.code() }
}

fn must(command: &str) {
    let words: Vec<&str> = command.split(' ').collect();
    let status = Command::new(words[0]).args(&words[1..]).status().expect("it starts");
    assert!(status.success(), "{command}: {status}");
}

/// A network of two hosts: this one and another, in a namespace of its own, with a link between
/// them that carries 10 Mb/s from there to here. The other one sends 2.5 MB to each client.
struct SlowNetwork {
    name: String,
    server: Option<Child>,
    subnet: u32,
}

impl SlowNetwork {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Unique among all tests of this process, and nearly so among processes.
        let count = COUNT.fetch_add(1, Relaxed);
        let name = format!("dw{}x{count}", std::process::id() % 1_000_000);
        let subnet = (std::process::id() * 7 + count) % 250 + 1;
        let mut network = Self { name: name.clone(), server: None, subnet };
        must(&format!("ip netns add {name}"));
        must(&format!("ip link add {name}a type veth peer name {name}b netns {name}"));
        must(&format!("ip addr add {}/24 dev {name}a", network.here()));
        must(&format!("ip link set {name}a up"));
        must(&format!("ip -n {name} addr add {}/24 dev {name}b", network.there()));
        // Packets as they are on a wire, and the shaper counts what Ethernet adds to each.
        must(&format!("ip -n {name} link set {name}b gso_max_segs 1 up"));
        must(&format!(
            "tc -n {name} qdisc add dev {name}b root stab overhead 24 linklayer ethernet tbf rate 10mbit burst 5kb latency 50ms"
        ));
        let serve = format!(
            "import socket
listener = socket.create_server(('{}', 80))
print('ready', flush=True)
while True:
    peer, _ = listener.accept()
    peer.sendall(b'x' * 2500000)
    peer.close()",
            network.there()
        );
        let mut server = Command::new("ip")
            .args(["netns", "exec", &name, PYTHON, "-c", &serve])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("ip starts");
        let mut ready = [0; 5];
        let said = server.stdout.as_mut().expect("a pipe was asked for").read_exact(&mut ready);
        network.server = Some(server);
        said.expect("the server is ready");
        network
    }

    fn here(&self) -> String {
        format!("10.213.{}.1", self.subnet)
    }

    fn there(&self) -> String {
        format!("10.213.{}.2", self.subnet)
    }

    /// This host's end.
    fn link(&self) -> String {
        format!("{}a", self.name)
    }

    /// Reads all that the other host sends.
    fn download(&self, options: &[&str]) -> Told {
        let read = format!(
            "import socket
peer = socket.create_connection(('{}', 80))
while peer.recv(65536): pass",
            self.there()
        );
        run(options, &[PYTHON, "-c", &read])
    }
}

impl Drop for SlowNetwork {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
        // Its link goes with it.
        let _ = Command::new("ip").args(["link", "del", &self.link()]).status();
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

fn series<'a>(told: &'a Told, kind: &str, name: &str) -> &'a Value {
    let all = told.run["series"][kind].as_array().into_iter().flatten();
    all.into_iter().find(|one| one["name"] == name).unwrap_or(&Value::Null)
}

fn verdict<'a>(told: &'a Told, kind: &str) -> &'a Value {
    let all = told.run["series"]["verdicts"].as_array().into_iter().flatten();
    all.into_iter().find(|one| one["kind"] == kind).unwrap_or(&Value::Null)
}

/// The middle one of a series' points, in millions.
fn median_millions(points: &Value) -> f64 {
    let mut points: Vec<f64> = points.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    points.sort_by(f64::total_cmp);
    points.get(points.len() / 2).copied().unwrap_or(0.0) / 1e6
}

/// The page with its paragraphs on one line each.
fn unwrapped(told: &Told) -> String {
    told.page.replace("\n  ", " ")
}

#[test]
fn a_slow_link_is_named_as_what_bounds_the_program() {
    let network = SlowNetwork::new();
    let link = network.link();
    hold_with(
        || network.download(&["--link", &format!("{link}=10M")]),
        |told, claims| {
            claims.class(told, &["io"]);
            claims.resource(told, "network");
            let series = series(told, "links", &link);
            let carried = median_millions(&series["payload_bits_per_s"]);
            claims.that((9.0..9.6).contains(&carried), format!("it carried {carried} Mb/s: {series}"));
            let limit = verdict(told, "link-at-limit");
            claims.equal("the link at its limit", &limit["name"], &Value::from(link.as_str()));
            let share = limit["share_of_wall"].as_f64().unwrap_or(0.0);
            claims.that(share >= 0.7, format!("for {share} of the wall"));
            let said = format!("link {link} at its limit");
            claims.that(unwrapped(told).contains(&said), format!("{said:?} is not on\n{}", told.page));
        },
    );
    // Without the user's word nobody knows what the link can do, and nobody says so.
    hold_with(
        || network.download(&[]),
        |told, claims| {
            let series = series(told, "links", &link);
            let why = series["payload_limit_bits_per_s"]["unseen"].as_str().unwrap_or_default();
            claims.that(why.contains(&format!("--link {link}=10M")), format!("a limit: {series}"));
            claims.equal("a limit", verdict(told, "link-at-limit"), &Value::Null);
            let said = format!("link {link}: limit unknown, steady at 9.");
            claims.that(unwrapped(told).contains(&said), format!("{said:?} is not on\n{}", told.page));
        },
    );
}

#[test]
fn a_program_that_goes_to_another_network_is_followed_there() {
    let network = SlowNetwork::new();
    let there = format!("{}b", network.name);
    let send = format!(
        "import socket, time
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(20):
    peer.sendto(b'x' * 1000, ('{}', 9))
    time.sleep(0.05)",
        network.here()
    );
    hold_with(
        || run(&[], &["ip", "netns", "exec", &network.name, PYTHON, "-c", &send]),
        |told, claims| {
            let bytes = series(told, "links", &there)["bytes"].as_u64().unwrap_or(0);
            claims.that(
                bytes >= 10_000,
                format!("{bytes} bytes over {there}: {}", told.run["series"]["links"]),
            );
        },
    );
}

#[test]
fn a_host_that_is_busy_with_other_work_is_said_to_be() {
    struct Spinner(Child);
    impl Drop for Spinner {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh starts");
    let _spinners: Vec<Spinner> = (0..cpus).map(|_| Spinner(spin())).collect();
    hold_with(
        || run(&[], &["sleep", "1"]),
        |told, claims| {
            let busy = verdict(told, "host-busy");
            let taken = busy["cpus_taken"].as_f64().unwrap_or(0.0);
            claims.that(
                taken >= cpus as f64 * 0.6,
                format!("others had {taken} CPUs: {}", told.run["series"]["cpu"]),
            );
            claims.that(unwrapped(told).contains("host busy with other programs"), told.page.clone());
        },
    );
}

#[test]
fn a_disks_series_has_the_requests_that_the_program_made() {
    let file = fresh("direct");
    // Long enough to have a series also where the disk is fast: 16 MB take 70 ms here.
    let write = format!(
        "for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do dd if=/dev/zero of={} bs=16k count=1000 oflag=direct conv=notrunc; done",
        file.display()
    );
    hold_with(
        || run(&[], &["sh", "-c", &write]),
        |told, claims| {
            let disks = told.run["series"]["disks"].as_array().cloned().unwrap_or_default();
            let most =
                |figure: &str| disks.iter().filter_map(|disk| disk[figure].as_u64()).max().unwrap_or(0);
            // A disk may split or merge requests; bytes are bytes.
            claims.that(most("bytes") >= 4 * 16_384_000, format!("{} bytes: {disks:?}", most("bytes")));
            claims.that(most("requests") >= 1_000, format!("{} requests", most("requests")));
            let busy = disks.iter().any(|disk| median_millions(&disk["written_bytes_per_s"]) > 1.0);
            claims.that(busy, format!("no disk was written to most of the time: {disks:?}"));
        },
    );
    let _ = std::fs::remove_file(file);
}

#[test]
fn a_kept_recording_has_the_same_series() {
    let (kept, again) = (fresh("kept.dwell"), fresh("again.json"));
    let told = run(&["--keep", kept.to_str().expect("a plain path")], &["sleep", "0.5"]);
    let show = Command::new(support::dwell()).args(["show", "--json"]).arg(&again).arg(&kept).output();
    let show = show.expect("dwell starts");
    assert!(show.status.success(), "{}", String::from_utf8_lossy(&show.stderr));
    let shown: Value = support::read_json(&again);
    assert_eq!(shown["series"], told.run["series"]);
    assert!(
        told.run["series"]["memory"][0]["available_bytes"][0].as_u64() > Some(0),
        "{}",
        told.run["series"]
    );
    for path in [kept, again] {
        let _ = std::fs::remove_file(path);
    }
}

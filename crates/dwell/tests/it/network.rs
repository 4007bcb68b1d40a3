//! Connections and names, against what servers counted, what `ss` and tcpdump saw, and what the
//! client's own clock said.
//!
//! Each test has a network namespace of its own, made by `unshare` and gone with its processes: it
//! has a loopback interface and nothing else (with an address that is none of loopback's, or getent
//! asks for nothing), so ports are free, also 53. The server runs beside dwell, outside its tree.

use crate::support::{Claims, MS, Told, alone, fresh, hold_with, python, run_as};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/network.py");

/// A directory that goes away.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let path = fresh("network");
        std::fs::create_dir(&path).expect("a new directory");
        Place(path)
    }

    fn lines(&self, file: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.0.join(file)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `client` under dwell where `server` listens, after `setup` (shell) in a namespace of their
/// own.
fn beside(place: &Path, setup: &str, server: &str, client: &[&str]) -> Told {
    let mut launcher = Command::new("timeout");
    let script = format!(
        "set -e; cd {place}; rm -f ready full knocking; ip link set lo up; ip addr add 192.0.2.1/32 dev lo; {setup}\n\
         {python} {SCRIPT} {server} > facts.json & pids=\"$pids $!\"\n\
         for try in $(seq 500); do [ -e ready ] && break; sleep 0.01; done\n\
         set +e; \"$@\"; code=$?; sleep 0.3; kill $pids 2>/dev/null; wait; exit $code",
        place = place.display(),
        python = python(),
    );
    launcher.args(["-k", "5", "100", "unshare", "--net", "--mount", "sh", "-c", &script, "sh"]);
    let command: Vec<&str> = [python(), SCRIPT].iter().chain(client).copied().collect();
    run_as(&mut launcher, &command, Stdio::null(), |_| ())
}

/// The rows of connections that began so, whose either end has the port of the tests.
fn rows<'a>(told: &'a Told, began: &str) -> Vec<&'a Value> {
    let rows = told.run["connections"].as_array().unwrap_or_else(|| panic!("{}", told.run["connections"]));
    let ours = |row: &&Value| {
        row["began"] == began
            && ["local", "remote"].iter().any(|end| row[*end].as_str().unwrap_or_default().ends_with(":5000"))
    };
    rows.iter().filter(ours).collect()
}

fn row<'a>(told: &'a Told, claims: &mut Claims, began: &str) -> &'a Value {
    let rows = rows(told, began);
    claims.equal(&format!("rows of {began} connections"), rows.len(), 1);
    rows.first().copied().unwrap_or(&Value::Null)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(u64::MAX)
}

/// A field of `ss -ti`: `rtt:0.05/0.02`.
fn of_ss<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix(':'))
}

/// One connection, against `ss` while it is open and the server's count.
fn agrees_with_ss(setup: &str, lossy: bool) {
    const SENT: u64 = 1_000_003;
    const RECEIVED: u64 = 500_009;
    let place = Place::new();
    let (sent, received) = (SENT.to_string(), RECEIVED.to_string());
    let run = || beside(&place.0, setup, "serve_bulk 1", &["bulk", "1", &sent, &received, "1"]);
    hold_with(run, |told, claims| {
        let row = row(told, claims, "opened");
        let counted = place.lines("facts.json");
        claims.equal("connections", number(&row["times"]), 1);
        claims.equal("sent", number(&row["sent_bytes"]), SENT + 16);
        claims.equal("received", number(&row["received_bytes"]), RECEIVED);
        let of_server = counted.first().map(|facts| &facts["connections"][0]["received"]);
        claims.equal("the server's count", of_server.map(number), Some(SENT + 16));
        let ss = told.out.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
        let ss = ss.as_ref().and_then(|said| said["ss"].as_str()).unwrap_or_default();
        let retransmits = of_ss(ss, "retrans").and_then(|field| field.split('/').nth(1)?.parse::<u64>().ok());
        claims.equal("sent again, by ss", number(&row["retransmits"]), retransmits.unwrap_or(0));
        claims.that(!lossy || number(&row["retransmits"]) > 0, "nothing was lost on a lossy link");
        let ms = |field: Option<&str>| {
            field
                .and_then(|field| field.split('/').next()?.parse::<f64>().ok())
                .map_or(0, |ms| (ms * 1e6) as u64)
        };
        let rtt = ms(of_ss(ss, "rtt"));
        claims.that(rtt > 0, format!("no rtt in {ss:?}"));
        // The last segments, which close the connection, still count in: an eighth each.
        let ours = number(&row["round_trip_ns"]);
        claims.that(ours.abs_diff(rtt) <= (rtt / 3).max(MS), format!("round trip {ours} ns, {rtt} by ss"));
        let least = ms(of_ss(ss, "minrtt"));
        let ours = number(&row["round_trip_ns_min"]);
        claims.that(ours.abs_diff(least) <= 10_000, format!("smallest {ours} ns, {least} by ss"));
        claims.that(number(&row["waited_ns"]) > 0 && number(&row["open_ns"]) > 300 * MS, format!("{row}"));
        claims.equal("open", number(&row["open"]), 0);
    });
}

#[test]
fn a_connection_has_the_figures_of_ss_and_of_the_server() {
    agrees_with_ss("", false);
}

#[test]
fn what_a_lossy_link_made_it_send_again_is_what_ss_says() {
    // A bucket that overflows: this kernel has no netem.
    agrees_with_ss(
        "ip link set lo mtu 1500; tc qdisc add dev lo root tbf rate 60mbit burst 4k limit 12k",
        true,
    );
}

#[test]
fn a_connection_that_has_to_knock_twice_took_as_long_as_the_client_says() {
    let place = Place::new();
    let run = || beside(&place.0, "", "serve_late", &["late"]);
    hold_with(run, |told, claims| {
        let row = row(told, claims, "opened");
        let said = told.out.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
        let said = said.map_or(0, |said| number(&said["connect_ns"]));
        let ours = number(&row["connect"]["max_ns"]);
        claims.that(said > 900 * MS, format!("it took only {said} ns"));
        // Its own clock also has what it waited for a CPU afterwards.
        let late = said.saturating_sub(told.parts(&["runqueue"]));
        let so = ours < said + 5 * MS && late < ours + 5 * MS;
        claims.that(so, format!("connected in {ours} ns, {said} by its own clock"));
        claims.that(number(&row["retransmits"]) > 0, "it knocked once");
        let refused: Vec<_> = told.run["connections"].as_array().into_iter().flatten().collect();
        let refused = refused.iter().filter(|row| row["remote"] == "127.0.0.1:5001");
        claims.equal("refused", refused.map(|row| number(&row["failed"])).sum(), 1);
    });
}

#[test]
fn two_hundred_short_connections_are_one_row_that_says_so() {
    let place = Place::new();
    let run = || beside(&place.0, "", "serve_bulk 200", &["bulk", "200", "100", "1000", "0"]);
    hold_with(run, |told, claims| {
        let row = row(told, claims, "opened");
        let facts = place.lines("facts.json");
        let counted = facts.first().and_then(|facts| facts["connections"].as_array()).map_or(0, Vec::len);
        claims.equal("connections, by the server", number(&row["times"]), counted as u64);
        claims.equal("connections", counted, 200);
        claims.equal("sent", number(&row["sent_bytes"]), 200 * 116);
        claims.equal("received", number(&row["received_bytes"]), 200 * 1000);
        claims.equal("failed", number(&row["failed"]), 0);
    });
}

#[test]
fn a_server_of_the_tree_has_the_connections_that_it_accepted() {
    let place = Place::new();
    let client =
        format!("(while ! [ -e ready ]; do sleep 0.01; done; {} {SCRIPT} bulk 5 2000 300 0) &", python());
    // The server runs under dwell, and what stands for it beside dwell does nothing.
    let run = || beside(&place.0, &client, "say; touch ready", &["serve_bulk", "5"]);
    hold_with(run, |told, claims| {
        let row = row(told, claims, "accepted");
        claims.equal("connections", number(&row["times"]), 5);
        claims.equal("received", number(&row["received_bytes"]), 5 * 2016);
        claims.equal("sent", number(&row["sent_bytes"]), 5 * 300);
        claims.equal("connect", &row["connect"], &Value::Null);
    });
}

#[test]
fn delayed_acknowledgements_are_found_where_they_are_and_nowhere_else() {
    for (server, how, is_there) in [
        ("serve_pairs 0", "two", true),
        ("serve_pairs 0", "nodelay", false),
        ("serve_pairs 41", "one", false),
    ] {
        let place = Place::new();
        let run = || beside(&place.0, "", server, &["pairs", "25", how]);
        hold_with(run, |told, claims| {
            let row = row(told, claims, "opened");
            let found = &row["delayed_ack"];
            claims.that(found.is_object() == is_there, format!("{how}: {row}"));
            if is_there {
                claims.that(number(&found["waits"]) >= 10, format!("{found}"));
                claims.equal("a write", number(&found["write_bytes_mean"]), 50);
                claims.that(told.page.contains("TCP_NODELAY"), &told.page);
            }
        });
    }
}

/// Times from question to answer, by number and port, as tcpdump stamps them.
fn by_tcpdump(text: &str) -> BTreeMap<String, Vec<u64>> {
    let mut asked = BTreeMap::new();
    let mut names = BTreeMap::<String, Vec<u64>>::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [stamp, _, from, _, to, number, rest @ ..] = &words[..] else { continue };
        let Some((seconds, nanos)) = stamp.split_once('.') else { continue };
        let (Ok(seconds), Ok(nanos)) = (seconds.parse::<u64>(), nanos.parse::<u64>()) else { continue };
        let at = seconds * 1_000_000_000 + nanos;
        let id: String = number.chars().take_while(char::is_ascii_digit).collect();
        if to.trim_end_matches(':').ends_with(".53") {
            let name = rest.iter().skip_while(|word| !word.ends_with('?')).nth(1);
            let name = name.unwrap_or(&"").trim_end_matches('.').to_owned();
            asked.insert((id, (*from).to_owned()), (name, at));
        } else if let Some((name, since)) = asked.remove(&(id, to.trim_end_matches(':').to_owned())) {
            names.entry(name).or_default().push(at - since);
        }
    }
    names
}

#[test]
fn names_have_the_times_that_their_server_and_tcpdump_saw() {
    let place = Place::new();
    let path = place.0.display();
    std::fs::write(place.0.join("resolv.conf"), "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        .unwrap();
    std::fs::write(place.0.join("nsswitch.conf"), "hosts: dns\n").unwrap();
    let setup = format!(
        "mount --bind {path}/resolv.conf /etc/resolv.conf; mount --bind {path}/nsswitch.conf /etc/nsswitch.conf; \
         tcpdump -i lo -n -tt --time-stamp-precision=nano -l udp port 53 > packets.txt 2> tcpdump.txt & pids=$!; \
         for try in $(seq 500); do grep -q listening tcpdump.txt && break; sleep 0.01; done"
    );
    let run = || beside(&place.0, &setup, "serve_names 30", &["names"]);
    hold_with(run, |told, claims| {
        let lookups = told.run["lookups"].as_array().cloned().unwrap_or_default();
        let seen = by_tcpdump(&std::fs::read_to_string(place.0.join("packets.txt")).unwrap_or_default());
        let mut asked = BTreeMap::<String, Vec<Value>>::new();
        for line in place.lines("asked.json") {
            asked.entry(line["name"].as_str().unwrap_or_default().to_lowercase()).or_default().push(line);
        }
        let escaped = |name: &str| name.replace("hand.made", "hand\\.made").replace('\x1b', "\\027");
        claims.equal("names", lookups.len(), asked.len());
        for (name, asked) in &asked {
            let row = lookups.iter().find(|row| row["name"] == escaped(name).as_str());
            let Some(row) = row else {
                claims.that(false, format!("no {name:?} in {lookups:?}"));
                continue;
            };
            claims.equal(&format!("{name:?} asked"), number(&row["times"]), asked.len() as u64);
            claims.equal("server", row["server"].as_str(), Some("127.0.0.1:53"));
            claims.equal("type", row["kind"].as_str(), Some("A"));
            let answers: Vec<u64> = asked
                .iter()
                .filter_map(|line| Some(line["went"].as_u64()? - number(&line["came"])))
                .collect();
            claims.equal(&format!("{name:?} answered"), number(&row["answered"]), answers.len() as u64);
            claims.equal(
                &format!("{name:?} failed"),
                number(&row["failed"]),
                if name.starts_with("nope") { answers.len() as u64 } else { 0 },
            );
            let ours = row["answer"]["total_ns"].as_u64();
            let near =
                |theirs: u64| ours.unwrap_or(0).abs_diff(theirs) < 5 * MS * answers.len().max(1) as u64;
            let theirs = answers.iter().sum::<u64>();
            claims.that(near(theirs), format!("{name:?}: {ours:?} ns, {theirs} by its server"));
            if !answers.is_empty() && name.is_ascii() && !name.contains("made") {
                let theirs = seen.get(name).map(|times| times.iter().sum::<u64>());
                claims
                    .that(theirs.is_some_and(near), format!("{name:?}: {ours:?} ns, {theirs:?} by tcpdump"));
            }
        }
        let python = lookups.iter().find(|row| row["name"] == "python.test");
        claims.equal("repeated", python.map(|row| number(&row["repeated"])), Some(2));
        let getent = lookups.iter().find(|row| row["name"] == "getent.test");
        claims.equal("getent asked", getent.map(|row| number(&row["times"])), Some(1));
        let obeyed: Vec<char> = told.page.chars().filter(|c| c.is_control() && *c != '\n').collect();
        claims.that(obeyed.is_empty(), format!("{obeyed:?} in {:?}", told.page));
        claims.that(told.page.contains("python.test"), &told.page);
        // The waits for these answers have the names, in the resolver's poll and in a plain recv.
        for (name, times, calls) in [
            ("python.test", 3, &["poll"][..]),
            ("nope.test", 1, &["poll"]),
            ("hand\\.made.\\027[2j.test", 1, &["recvfrom"]),
        ] {
            let named = format!("127.0.0.1:53 for {name}");
            let waits = told.run["waits"].as_array().into_iter().flatten().filter(|row| {
                row["on"]["name"] == named.as_str() && calls.iter().any(|call| row["call"] == *call)
            });
            let sums = waits.fold((0, 0), |sums, row| {
                (sums.0 + number(&row["calls"]), sums.1 + number(&row["total_ns"]))
            });
            claims.equal(&format!("waits for {name}"), sums.0, times);
            let so = (times * 25 * MS..times * 60 * MS).contains(&sums.1);
            claims.that(so, format!("waited {} ns for {name}, which takes 30 ms each time", sums.1));
        }
    });
}

#[test]
fn what_is_not_asked_by_the_tree_is_not_told() {
    let _alone = alone();
    let place = Place::new();
    std::fs::write(place.0.join("resolv.conf"), "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        .unwrap();
    // Others ask and connect once the tree has begun, which lasts until they are done.
    let script = format!(
        "cd {path}; ip link set lo up; ip addr add 192.0.2.1/32 dev lo\n\
         mount --bind resolv.conf /etc/resolv.conf\n\
         {python} {SCRIPT} serve_names 1 & pids=$!\n\
         (until [ -e ready ] && [ -e begun ]; do sleep 0.01; done; getent ahostsv4 other.test\n\
          {python} {SCRIPT} serve_bulk 1 & {python} {SCRIPT} bulk 1 100 100 0; wait; touch asked) > other.txt 2>&1 &\n\
         \"$@\"; code=$?; kill $pids 2>/dev/null; wait; exit $code",
        path = place.0.display(),
        python = python(),
    );
    let mut launcher = Command::new("timeout");
    launcher.args(["-k", "5", "60", "unshare", "--net", "--mount", "sh", "-c", &script, "sh"]);
    let lasts = "touch begun; until [ -e asked ]; do sleep 0.02; done";
    let told = run_as(&mut launcher, &["sh", "-c", lasts], Stdio::null(), |_| ());
    let asked = place.lines("asked.json");
    assert!(asked.iter().any(|line| line["name"] == "other.test"), "{asked:?}");
    let served = place.lines("other.txt");
    let connected = |line: &Value| line["connections"][0]["received"] == 116;
    assert!(served.iter().any(connected), "{served:?}");
    assert_eq!(told.run["lookups"], Value::Array(Vec::new()));
    assert_eq!(told.run["connections"], Value::Array(Vec::new()));
}

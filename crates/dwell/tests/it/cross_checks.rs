//! dwell and another tool on one run: the same calls, as long; the same waits, as many.
//!
//! Here are strace and bpftrace. Who else is asked, and where:
//! - the calls' counts and errors by `strace -c -f`: `strace_equal.rs`;
//! - each thread's running, runnable and blocked time by `perf sched timehist` and its events:
//!   `peers.rs`;
//! - functions and lines by perf and others: `code.rs`;
//! - connections by `ss -ti`, names by tcpdump's time stamps: `network.rs`;
//! - requests to disks by bpftrace and `/proc/diskstats`: `files.rs`;
//! - counts of a sliced run by a counted one: `bounded.rs`.

use crate::support::{Claims, MS, Told, fresh, hold_with, luck, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The calls that `luck calls` waits in, and that no tracer around it makes as long.
const CALLS: [&str; 3] = ["clock_nanosleep", "poll", "futex"];

/// What another tool says of one call: how often, how long in all and at most.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    calls: u64,
    total_ns: u64,
    max_ns: u64,
}

fn row<'a>(told: &'a Told, name: &str) -> &'a Value {
    let rows = told.run["syscalls"].as_array().map_or(&[][..], Vec::as_slice);
    rows.iter().find(|row| row["name"] == name).unwrap_or(&Value::Null)
}

fn number(row: &Value, field: &str) -> u64 {
    row[field].as_u64().unwrap_or(0)
}

/// dwell's figures are at most `late_ns` a call below theirs, and not above: they look from further
/// outside.
fn agree(told: &Told, claims: &mut Claims, theirs: &BTreeMap<String, Seen>, late_ns: u64) {
    let truth = told.truth("calls");
    for name in CALLS {
        let Some(theirs) = theirs.get(name) else {
            claims.that(false, format!("{name} was not seen: {theirs:?}"));
            continue;
        };
        let ours = row(told, name);
        claims.equal(&format!("{name}: times"), theirs.calls, truth.count("each"));
        let (total, max) = (number(ours, "total_ns"), number(ours, "max_ns"));
        let least = theirs.total_ns.saturating_sub(theirs.calls * late_ns);
        claims.between(&format!("{name}: total"), total, least, theirs.total_ns);
        claims.between(
            &format!("{name}: longest"),
            max,
            theirs.max_ns.saturating_sub(late_ns),
            theirs.max_ns,
        );
        // Both are about the program's own clock.
        claims.between(
            &format!("{name}: its own clock"),
            total,
            truth.ns(name) - theirs.calls * late_ns,
            truth.ns(name),
        );
    }
}

/// Reads `strace -c -U name,calls,max-time,total-time`: seconds, with a point.
fn summary(text: &str) -> BTreeMap<String, Seen> {
    let ns = |field: &str| field.parse::<f64>().ok().map(|seconds| (seconds * 1e9).round() as u64);
    let line = |line: &str| {
        let mut fields = line.split_whitespace();
        let name = fields.next()?.to_owned();
        let calls = fields.next()?.parse().ok()?;
        let (max_ns, total_ns) = (ns(fields.next()?)?, ns(fields.next()?)?);
        Some((name, Seen { calls, total_ns, max_ns }))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn the_summary_of_strace_is_read_right() {
    let text = "\
syscall              calls    longest     seconds
---------------- --------- ---------- -----------
clock_nanosleep         10   0.024312    0.151000
---------------- --------- ---------- -----------
total                   10   0.024312    0.151000
";
    let want = Seen { calls: 10, total_ns: 151_000_000, max_ns: 24_312_000 };
    assert_eq!(summary(text)["clock_nanosleep"], want);
}

#[test]
fn calls_take_as_long_by_strace() {
    let said = fresh("strace.txt");
    let path = said.to_str().expect("plain characters");
    // strace within dwell, so that both see the same calls, and these are not strace's own.
    let columns = ["-U", "name,calls,max-time,total-time"];
    let traced = [&["strace", "-w", "-c", "-f"][..], &columns, &["-o", path, luck(), "calls"]].concat();
    hold_with(
        || run(&traced),
        |told, claims| {
            let theirs = summary(&std::fs::read_to_string(&said).unwrap_or_default());
            // A stop before the call and one after it, each with a switch to strace and back.
            agree(told, claims, &theirs, MS);
        },
    );
    let _ = std::fs::remove_file(said);
}

/// Runs the program under dwell while bpftrace looks at the whole host. What bpftrace said is the
/// second.
fn beside_bpftrace(script: &str, command: &[&str]) -> (Told, String) {
    let said = fresh("bpftrace.txt");
    let out = std::fs::File::create(&said).expect("a file in the scratch directory");
    // What comes last is attached last.
    let script = format!("{script} interval:ms:50 {{ printf(\"attached\\n\"); }}");
    let mut bpftrace = Command::new("bpftrace");
    let mut bpftrace = bpftrace
        .args(["-B", "line", "-e", &script])
        .stdout(out)
        .stdin(Stdio::null())
        .spawn()
        .expect("bpftrace starts");
    let until = Instant::now() + Duration::from_secs(60);
    let text = |said: &Path| std::fs::read_to_string(said).unwrap_or_default();
    while !text(&said).contains("attached") {
        assert!(
            bpftrace.try_wait().is_ok_and(|ended| ended.is_none()),
            "bpftrace has ended: {}",
            text(&said)
        );
        assert!(Instant::now() < until, "bpftrace attaches nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    let told = run(command);
    let interrupt = Command::new("kill").args(["-INT", &bpftrace.id().to_string()]).status();
    assert!(interrupt.is_ok_and(|status| status.success()));
    bpftrace.wait().expect("it was started");
    let text = text(&said);
    let _ = std::fs::remove_file(said);
    (told, text)
}

/// A map's entries: `@name[key]: 7`.
fn entries(text: &str, map: &str) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let (key, value) = line.strip_prefix(map)?.strip_prefix('[')?.split_once("]: ")?;
        Some((key.to_owned(), value.trim().parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// A map of histograms: by key, the buckets' lower ends (in its own units: `16M`) and counts.
fn histograms(text: &str, map: &str) -> BTreeMap<String, Vec<(u64, u64)>> {
    let mut all: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
    let mut key = None;
    for line in text.lines() {
        let named = line.strip_prefix(map).and_then(|rest| rest.strip_prefix('[')?.strip_suffix("]: "));
        if named.is_some() {
            key = named.map(str::to_owned);
        }
        let bucket = line.strip_prefix('[').and_then(|rest| {
            let (low, rest) = rest.split_once(", ")?;
            let count = rest.split_once(')')?.1.split_whitespace().next()?.parse().ok()?;
            let unit = match low.chars().last()? {
                'K' => 1 << 10,
                'M' => 1 << 20,
                'G' => 1 << 30,
                _ => 1,
            };
            Some((low.trim_end_matches(['K', 'M', 'G']).parse::<u64>().ok()? * unit, count))
        });
        match (bucket, &key) {
            (Some(bucket), Some(key)) => all.entry(key.clone()).or_default().push(bucket),
            (None, _) if named.is_none() => key = None,
            _ => {}
        }
    }
    all
}

#[test]
fn what_bpftrace_prints_is_read_right() {
    let text = "\
attached
@times[poll]: 10

@ns[poll]: 
[8M, 16M)              7 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[16M, 32M)             3 |@@@@@@@@@@@@@@                                      |

@other: 3
";
    assert_eq!(entries(text, "@times"), BTreeMap::from([("poll".to_owned(), 10)]));
    let want = vec![(8 << 20, 7), (16 << 20, 3)];
    assert_eq!(histograms(text, "@ns"), BTreeMap::from([("poll".to_owned(), want)]));
}

#[test]
fn calls_take_as_long_by_bpftrace_and_in_the_same_octaves() {
    let name = Path::new(luck()).file_name().and_then(|name| name.to_str()).expect("plain characters");
    let of_call = |call: &str| {
        format!(
            "tracepoint:syscalls:sys_enter_{call} /comm == \"{name}\"/ {{ @at[tid] = nsecs; }} \
             tracepoint:syscalls:sys_exit_{call} /@at[tid]/ {{ $ns = nsecs - @at[tid]; delete(@at[tid]); \
             @times[\"{call}\"] = count(); @total[\"{call}\"] = sum($ns); @most[\"{call}\"] = max($ns); \
             @ns[\"{call}\"] = hist($ns); }} "
        )
    };
    let script: String = CALLS.iter().map(|call| of_call(call)).collect::<String>() + "END { clear(@at); }";
    let said = std::cell::RefCell::new(String::new());
    let traced = || {
        let (told, text) = beside_bpftrace(&script, &[luck(), "calls"]);
        said.replace(text);
        told
    };
    hold_with(traced, |told, claims| {
        let text = said.borrow();
        let maps = ["@times", "@total", "@most"].map(|map| entries(&text, map));
        let seen = |call: &&str| {
            let of = |map: usize| maps[map].get(*call).copied();
            Some(((*call).to_owned(), Seen { calls: of(0)?, total_ns: of(1)?, max_ns: of(2)? }))
        };
        agree(told, claims, &CALLS.iter().filter_map(seen).collect(), MS / 5);
        let histograms = histograms(&text, "@ns");
        for call in CALLS {
            let buckets = histograms.get(call).map_or(&[][..], Vec::as_slice);
            let all: u64 = buckets.iter().map(|(_, count)| count).sum();
            let mut below = 0;
            let median = buckets.iter().find(|(_, count)| {
                below += count;
                below * 2 >= all
            });
            let ours = number(row(told, call), "p50_ns");
            // A bucket of dwell's is an eighth of an octave.
            let within = median.is_some_and(|(low, _)| ours * 9 / 8 >= *low && ours <= low * 2 * 9 / 8);
            claims.that(within, format!("{call}: p50 {ours} ns, by bpftrace in {median:?} of {buckets:?}"));
        }
    });
}

#[test]
fn threads_block_as_often_by_bpftrace() {
    // Blocked, not preempted, stopped or dead: TASK_INTERRUPTIBLE and TASK_UNINTERRUPTIBLE.
    let script =
        "tracepoint:sched:sched_switch /args->prev_state & 3/ { @blocked[args->prev_pid] = count(); }";
    let said = std::cell::RefCell::new(String::new());
    let traced = || {
        let (told, text) = beside_bpftrace(script, &[luck(), "crowd", "200"]);
        said.replace(text);
        told
    };
    hold_with(traced, |told, claims| {
        let by_tid = entries(&said.borrow(), "@blocked");
        let of_threads = told.run["threads"].as_array().map_or(&[][..], Vec::as_slice);
        let theirs: u64 =
            of_threads.iter().filter_map(|row| by_tid.get(&number(row, "tid").to_string())).sum();
        let waits = told.run["waits"].as_array().map_or(&[][..], Vec::as_slice);
        let ours: u64 = waits.iter().map(|row| number(row, "calls")).sum();
        claims.that(theirs >= 200, format!("bpftrace saw {theirs} blocks: {by_tid:?}"));
        // bpftrace's count has what came before the execve; a wake-up that comes first leaves no
        // wait to tell of.
        claims.that(
            ours <= theirs && ours + 10 + theirs / 20 >= theirs,
            format!("{ours} waits, {theirs} blocks by bpftrace"),
        );
    });
}

//! Whether what dwell said in a machine is right: the account closes, nothing was lost, the tier is
//! the one that there should be, and known truth comes back.

use super::qemu::Said;
use serde_json::Value;
use std::fmt;

/// Known truth comes back so well, in percent, or within so much: under icount nothing disturbs.
const OFF_PERCENT_MAX: f64 = 3.0;
const OFF_NS_MAX: u64 = 2_000_000;
/// By snapshots of `/proc` a thread is seen some time after its start, and last before its end.
const OFF_NS_BY_SNAPSHOTS_MAX: u64 = 20_000_000;
/// As much of the wall clock may be without evidence.
const UNEXPLAINED_PERCENT_MAX: f64 = 1.0;

/// States on a CPU; what is neither this nor runnable is blocked.
const ON_CPU: &[&str] = &["user", "kernel", "fault", "interrupt", "steal"];
const RUNNABLE: &[&str] = &["runqueue", "throttled"];

/// What dwell used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    Bpf,
    Perf,
    Proc,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bpf => "BPF",
            Self::Perf => "perf",
            Self::Proc => "/proc",
        })
    }
}

/// What a thread should have: by the exact state where every switch is traced, else by its kind.
struct Truth {
    /// The program, and the role of the thread in it.
    program: &'static str,
    role: &'static str,
    state: &'static str,
    /// Its name in the program's line.
    of: &'static str,
}

const fn truth(program: &'static str, role: &'static str, state: &'static str, of: &'static str) -> Truth {
    Truth { program, role, state, of }
}

const CPU: &str = "on CPU";

const TRUTHS: &[Truth] = &[
    truth("sleep", "main", "sleep", "slept"),
    truth("spin", "main", CPU, "cpu_ns"),
    truth("pipe-sleep", "main", "pipe", "waited"),
    truth("pipe-sleep", "feeder", "sleep", "passed"),
    truth("lock-spin", "main", "lock", "waited"),
    truth("lock-spin", "holder", CPU, "held_cpu"),
    truth("tcp-process-sleep", "main", "network", "waited"),
    truth("tcp-process-sleep", "server", "sleep", "served"),
];

/// The program and thread that only computes: it has no page faults but those of its start.
const COMPUTES: (&str, &str) = ("spin", "main");

/// What one run of dwell came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) tier: Option<Tier>,
    /// Of all truths, the one that is furthest off, in percent, and which.
    pub(crate) worst: Option<(f64, String)>,
    /// What is wrong.
    pub(crate) wrong: Vec<String>,
    /// What the coverage says is missing, with why.
    pub(crate) missing: Vec<String>,
}

impl Verdict {
    /// In a table: the tier, and how near the truth.
    pub(crate) fn cell(&self) -> String {
        let tier = self.tier.map_or("nothing".to_owned(), |tier| tier.to_string());
        let worst = self.worst.as_ref().map(|(percent, _)| format!(", {percent:.1} %"));
        let wrong = if self.wrong.is_empty() { "" } else { ", **no**" };
        format!("{tier}{}{wrong}", worst.unwrap_or_default())
    }
}

/// Judges the run of this name; none where it was not in the plan.
pub(crate) fn judge(said: &Said, name: &str) -> Option<Verdict> {
    let line = said.of(name).next()?;
    let mut verdict = Verdict { tier: None, worst: None, wrong: Vec::new(), missing: Vec::new() };
    let run = &line["result"];
    if let Some(error) = line["error"].as_str() {
        verdict.wrong.push(error.to_owned());
        return Some(verdict);
    }
    if run.is_null() {
        let text = line["said"].as_str().unwrap_or_default().trim();
        verdict.wrong.push(format!("no result, {}: {text}", line["ended"].as_str().unwrap_or_default()));
        return Some(verdict);
    }
    if line["status"] != 0 {
        verdict.wrong.push(format!("ended with {}", line["ended"].as_str().unwrap_or_default()));
    }
    let tier = tier(run);
    verdict.tier = Some(tier);
    verdict.missing = missing(run);
    verdict.wrong.extend(account(run));
    for (what, truth, dwell) in truths(line["said"].as_str().unwrap_or_default(), run, tier) {
        let Some(dwell) = dwell else {
            verdict.wrong.push(format!("{what}: its thread is not there"));
            continue;
        };
        let off_ns = if tier == Tier::Proc { OFF_NS_BY_SNAPSHOTS_MAX } else { OFF_NS_MAX };
        let nearest = dwell.clamp(truth.0, truth.1);
        let percent = 100.0 * (dwell as f64 - nearest as f64) / truth.1.max(off_ns) as f64;
        if percent.abs() > OFF_PERCENT_MAX && dwell.abs_diff(nearest) > off_ns {
            verdict.wrong.push(format!("{what}: {} of {} ms", ms(dwell), ms(nearest)));
        }
        if verdict.worst.as_ref().is_none_or(|(worst, _)| worst.abs() < percent.abs()) {
            verdict.worst = Some((percent, what));
        }
    }
    if tier == Tier::Bpf
        && let Some((of_ns, ns)) = faults_of_computing(line["said"].as_str().unwrap_or_default(), run)
        && ns > OFF_NS_MAX.max((of_ns as f64 * OFF_PERCENT_MAX / 100.0) as u64)
    {
        let (program, role) = COMPUTES;
        verdict.wrong.push(format!(
            "{program} {role} fault: {} of {} ms, and it only computes",
            ms(ns),
            ms(of_ns)
        ));
    }
    if verdict.worst.is_none() {
        verdict.wrong.push("the programs told no truth".to_owned());
    }
    Some(verdict)
}

fn ms(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e6)
}

/// Only the lower tiers have a source of objects: what threads wait for, by snapshots.
fn tier(run: &Value) -> Tier {
    let seen = |name: &str| {
        let sources = run["coverage"]["sources"].as_array();
        let source = sources.into_iter().flatten().find(|source| source["name"] == name);
        source.and_then(|source| source["seen"].as_str())
    };
    match (seen("objects"), seen("switches")) {
        (None, _) => Tier::Bpf,
        (Some(_), Some("none")) => Tier::Proc,
        (Some(_), _) => Tier::Perf,
    }
}

fn missing(run: &Value) -> Vec<String> {
    let sources = run["coverage"]["sources"].as_array();
    let lacking = sources.into_iter().flatten().filter(|source| source["seen"] != "full");
    let word = |source: &Value, name: &str| source[name].as_str().unwrap_or_default().to_owned();
    lacking.map(|source| format!("{}: {}", word(source, "name"), word(source, "why"))).collect()
}

fn account(run: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let wall = run["wall_ns"].as_u64().unwrap_or(0);
    let rows = run["account"].as_array();
    let sum: u64 = rows.into_iter().flatten().filter_map(|row| row["ns"].as_u64()).sum();
    if sum != wall || wall == 0 {
        wrong.push(format!("the account has {sum} of {wall} ns"));
    }
    let coverage = &run["coverage"];
    let unexplained = coverage["unexplained_ns"].as_u64().unwrap_or(wall);
    let percent = 100.0 * unexplained as f64 / wall.max(1) as f64;
    if percent > UNEXPLAINED_PERCENT_MAX {
        wrong.push(format!("{percent:.1} % is unexplained"));
    }
    if coverage["lost_events"] != 0 {
        wrong.push(format!("{} events were lost", coverage["lost_events"]));
    }
    let checks = coverage["checks"].as_array();
    for check in checks.into_iter().flatten().filter(|check| check["agrees"] != true) {
        let ns = |name: &str| check[name].as_u64().map_or_else(|| "unknown".to_owned(), ms);
        let what = check["what"].as_str().unwrap_or_default();
        wrong.push(format!("{what}: {} of {} ms", ns("ours_ns"), ns("theirs_ns")));
    }
    wrong
}

/// Each truth that a program told: what, how long at least and at most, and how long by dwell.
fn truths(said: &str, run: &Value, tier: Tier) -> Vec<(String, (u64, u64), Option<u64>)> {
    let lines: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let one = |truth: &Truth| {
        let line = lines.iter().find(|line| line["program"] == truth.program)?;
        let ns = line["ns"][truth.of].as_u64().or_else(|| line[truth.of].as_u64())?;
        let tid = line["ids"][truth.role].as_u64()?;
        let what = format!("{} {} {}", truth.program, truth.role, truth.state);
        // Until it goes on, a thread that waits may be on a CPU: a lock is first looked at in a
        // loop. And it may wait for a CPU: of the machine's, which are emulated in turn, each
        // stands still for some milliseconds. By the kernel's count, of the program's threads.
        let cpu_ns = line["ns"][format!("{}_cpu", truth.of)].as_u64().unwrap_or(0);
        let queued_ns = if truth.state == CPU { 0 } else { line["runqueue_ns"].as_u64().unwrap_or(0) };
        let most = ns.saturating_sub(cpu_ns);
        let range = (most.saturating_sub(queued_ns), most);
        Some((what, range, state(run, tid, truth.state, tier, most)))
    };
    TRUTHS.iter().filter_map(one).collect()
}

/// The CPU time of [`COMPUTES`], and what of it are page faults.
fn faults_of_computing(said: &str, run: &Value) -> Option<(u64, u64)> {
    let (program, role) = COMPUTES;
    let mut lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let tid = lines.find(|line| line["program"] == program)?["ids"][role].as_u64()?;
    Some((state(run, tid, CPU, Tier::Bpf, 0)?, state(run, tid, "fault", Tier::Bpf, 0)?))
}

/// How long that thread was in that state. In the lower tiers a wait may have a state of another
/// name: then it is all its blocked time, or that state's, whichever is nearer.
fn state(run: &Value, tid: u64, state: &str, tier: Tier, truth: u64) -> Option<u64> {
    let threads = run["threads"].as_array()?;
    let states = threads.iter().find(|thread| thread["tid"] == tid)?["states"].as_object()?;
    let sum = |is_it: &dyn Fn(&str) -> bool| -> u64 {
        states.iter().filter(|(name, _)| is_it(name)).filter_map(|(_, ns)| ns.as_u64()).sum()
    };
    if state == CPU {
        return Some(sum(&|name| ON_CPU.contains(&name)));
    }
    let exact = sum(&|name| name == state);
    let blocked = sum(&|name| !ON_CPU.contains(&name) && !RUNNABLE.contains(&name));
    let nearer = tier != Tier::Bpf && blocked.abs_diff(truth) < exact.abs_diff(truth);
    Some(if nearer { blocked } else { exact })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    fn of(states: &Value, sources: &Value, unexplained: u64) -> Verdict {
        let truth =
            json!({"program": "sleep", "ns": {"slept": 200_000_000}, "ids": {"main": 7}, "cpu_ns": 1});
        let run = json!({
            "wall_ns": 210_000_000, "account": [{"state": "sleep", "ns": 210_000_000}],
            "threads": [{"tid": 7, "states": states}],
            "coverage": {"sources": sources, "lost_events": 0, "unexplained_ns": unexplained, "checks": []},
        });
        let line = json!({"step": "root", "status": 0, "said": format!("x\n{truth}\n"), "result": run});
        judge(&Said { lines: vec![line], took: Duration::ZERO }, "root").unwrap()
    }

    #[test]
    fn the_truth_is_there_or_the_run_is_wrong() {
        let bpf = json!([{"name": "switches", "seen": "full"}]);
        let right = of(&json!({"sleep": 201_000_000, "user": 5}), &bpf, 0);
        assert_eq!((right.cell().as_str(), right.wrong.len()), ("BPF, 0.5 %", 0));
        let wrong = of(&json!({"sleep": 150_000_000}), &bpf, 0);
        assert_eq!(wrong.wrong, ["sleep main sleep: 150.0 of 200.0 ms"]);
        assert_eq!(wrong.cell(), "BPF, -25.0 %, **no**");
        assert_eq!(of(&json!({"sleep": 200_000_000}), &bpf, 30_000_000).wrong, ["14.3 % is unexplained"]);
    }

    #[test]
    fn a_wait_is_told_without_what_it_had_of_a_cpu_and_waited_for_one() {
        let told = json!({"program": "lock-spin", "ids": {"main": 7}, "runqueue_ns": 74_000_000,
            "ns": {"waited": 203_000_000, "waited_cpu": 84_000_000}});
        let lock = |ns: u64| {
            let run = json!({"threads": [{"tid": 7, "states": {"lock": ns}}]});
            let all = truths(&told.to_string(), &run, Tier::Bpf);
            let (_, (least, most), dwell) = all.into_iter().next().unwrap();
            (least, most, dwell.unwrap())
        };
        assert_eq!(lock(45_000_000), (45_000_000, 119_000_000, 45_000_000));
    }

    #[test]
    fn a_program_that_computes_has_no_faults() {
        let said = json!({"program": "spin", "ns": {}, "ids": {"main": 7}, "cpu_ns": 300_000_000});
        let of = |fault: u64| {
            let states = json!({"user": 300_000_000 - fault, "fault": fault});
            let run = json!({
                "wall_ns": 300_000_000, "account": [{"ns": 300_000_000}], "threads": [{"tid": 7, "states": states}],
                "coverage": {"sources": [], "lost_events": 0, "unexplained_ns": 0, "checks": []},
            });
            let line = json!({"step": "root", "status": 0, "said": said.to_string(), "result": run});
            judge(&Said { lines: vec![line], took: Duration::ZERO }, "root").unwrap().wrong
        };
        assert_eq!(of(3_000_000), Vec::<String>::new());
        assert_eq!(of(60_000_000), ["spin main fault: 60.0 of 300.0 ms, and it only computes"]);
    }

    #[test]
    fn lower_tiers_know_kinds_and_say_what_is_missing() {
        let proc = json!([
            {"name": "switches", "seen": "none", "why": "snapshots"}, {"name": "objects", "seen": "partial", "why": ""},
        ]);
        let verdict = of(&json!({"other-wait": 199_000_000}), &proc, 0);
        assert_eq!((verdict.tier, verdict.wrong.len()), (Some(Tier::Proc), 0));
        assert_eq!(verdict.missing[0], "switches: snapshots");
    }

    #[test]
    fn a_run_without_a_result_is_wrong() {
        let line = json!({"step": "root", "ended": "exit status: 1", "said": "refused", "result": null});
        let said = Said { lines: vec![line], took: Duration::ZERO };
        assert_eq!(judge(&said, "root").unwrap().wrong, ["no result, exit status: 1: refused"]);
        assert_eq!(judge(&said, "user"), None);
    }
}

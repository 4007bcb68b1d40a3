//! The cause of late wake-ups, on this kernel: a planted culprit is named.
//!
//! Most tests measure with a loop of their own (`programs/wakes.c`), so that what is tested is what
//! the kernel tells of a spike and what is concluded from it; the last ones go through `dwell
//! wake`. Needs root and BPF.

use crate::support;
use crate::support::MS;
use analyse::wake::spike;
use model::wake::environment::Environment;
use model::wake::spike::{Cause, Spike, SpikeSeen};
use model::{Ns, Seen};
use observe::spikes::Spikes;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// A machine that others use is sometimes late for reasons of its own; it is asked this often.
const TRIES: usize = 5;
/// On which everything happens.
const CPU: u32 = 1;
const FIFO: u32 = 80;

fn wakes() -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let program = BUILT.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/wakes.c");
        let program = support::scratch().join(format!("wakes-{}", std::process::id()));
        let status = Command::new("cc").args(["-O1", source, "-o"]).arg(&program).status();
        assert!(status.is_ok_and(|status| status.success()), "cc cannot compile wakes.c");
        program
    });
    Command::new(program)
}

/// In one of its modes, with its arguments.
fn start(words: &str, out: Stdio) -> Child {
    wakes().args(words.split(' ')).stdout(out).spawn().expect("wakes.c starts")
}

fn culprit(words: &str) -> Ends {
    Ends(start(words, Stdio::null()))
}

/// Ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures for a second at 1 kHz with what is planted at work; wake-ups that are `late_us` late
/// are reported.
fn seen(priority: u32, late_us: u64, plant: impl FnOnce(u32) -> Vec<Ends>) -> Vec<SpikeSeen> {
    let mut spikes = Spikes::open(&[CPU], Some(late_us * 1_000)).expect("root may use BPF");
    let mut measuring = start(&format!("loop {CPU} {priority} 1000 {late_us} 1000"), Stdio::piped());
    let out = measuring.stdout.take().expect("a pipe was asked for");
    let _measuring = Ends(measuring);
    let mut lines = BufReader::new(out).lines().map(|line| line.expect("plain text"));
    let tid = lines.next().and_then(|line| line.parse().ok()).expect("the loop says its number");
    spikes.begin(0, &[(CPU, tid)]);
    let _culprits = plant(tid);
    for line in lines {
        let (expected, awake) = line.split_once(' ').expect("two times");
        let ns = |text: &str| text.parse::<Ns>().expect("a time");
        spikes.late(CPU, ns(expected), ns(awake));
        spikes.look();
    }
    spikes.finish()
}

fn unknown() -> Environment {
    let why = || "not looked at".to_owned();
    Environment {
        preemption: Seen::Unseen(why()),
        command_line: Seen::Unseen(why()),
        clocksource: Seen::Unseen(why()),
        hypervisor: Seen::Unseen(why()),
        isolated: Seen::Unseen(why()),
        nohz_full: Seen::Unseen(why()),
        dma_latency_us: Seen::Unseen(why()),
        rt_runtime_us: Seen::Unseen(why()),
        cgroup_rt_runtime_us: Seen::Unseen(why()),
        smt: Seen::Unseen(why()),
        rt_priority_max: 99,
        housekeeping: None,
        cpus: Vec::new(),
    }
}

/// Measures until most of the spikes are as they should be, and returns those.
fn most(fits: impl Fn(&Spike) -> bool, measure: impl Fn() -> Vec<SpikeSeen>) -> Vec<(Spike, SpikeSeen)> {
    let _alone = support::alone();
    let mut said = String::new();
    for _ in 0..TRIES {
        let environment = unknown();
        let all: Vec<_> = measure().into_iter().map(|seen| (spike(&seen, &environment), seen)).collect();
        for (spike, _) in &all {
            assert_eq!(spike.shares.iter().map(|share| share.ns).sum::<Ns>(), spike.ns, "{spike:?}");
        }
        said = format!("{:#?}", all.iter().map(|(spike, _)| spike).collect::<Vec<_>>());
        let count = all.len();
        let found: Vec<_> = all.into_iter().filter(|(spike, _)| fits(spike)).collect();
        if found.len() * 2 > count {
            return found;
        }
    }
    panic!("most of these should be of what was planted:\n{said}");
}

/// Whose largest share is this.
fn is(cause: Cause, who: Option<&str>) -> impl Fn(&Spike) -> bool {
    move |spike| spike.cause == cause && spike.who.as_deref() == who
}

/// How long somebody made it late.
fn share_ns(spike: &Spike, cause: Cause, who: Option<&str>) -> Ns {
    let share = spike.shares.iter().find(|share| share.cause == cause && share.who.as_deref() == who);
    share.map_or(0, |share| share.ns)
}

#[test]
fn a_task_of_higher_priority_is_named() {
    let found = most(is(Cause::Task, Some("wakes-hog")), || {
        seen(FIFO, 5_000, |_| vec![culprit(&format!("hog {CPU} 90 20 5"))])
    });
    let (spike, seen) = &found[0];
    let hog_ns = share_ns(spike, Cause::Task, Some("wakes-hog"));
    assert!(hog_ns > 10 * MS && hog_ns * 10 > spike.ns * 9, "{spike:#?}");
    assert_eq!((seen.cpu, &seen.lost), (CPU, &None));
    assert!(seen.events.is_sorted_by_key(|event| event.at_ns));
}

#[test]
fn work_put_off_by_interrupts_is_named() {
    let found = most(is(Cause::Softirq, Some("net_rx")), || {
        seen(FIFO, 100, |_| vec![culprit(&format!("flood {CPU} 800 950"))])
    });
    // In the end the flooding task gives the CPU up: in a function of the kernel, which has a
    // name.
    let named = |seen: &SpikeSeen| seen.stack.value().is_some_and(|stack| stack[0].contains("schedule"));
    assert!(found.iter().any(|(_, seen)| named(seen)), "{:#?}", found[0].1.stack);
}

#[test]
fn a_stop_is_told_from_lateness() {
    let found = most(is(Cause::Stopped, None), || {
        seen(FIFO, 10_000, |tid| {
            let signal = |name: &str| Command::new("kill").args([name, &tid.to_string()]).status();
            thread::sleep(Duration::from_millis(300));
            signal("-STOP").expect("kill starts");
            thread::sleep(Duration::from_millis(200));
            signal("-CONT").expect("kill starts");
            Vec::new()
        })
    });
    let (spike, _) = &found[0];
    let stopped_ns = share_ns(spike, Cause::Stopped, None);
    assert!(stopped_ns > 150 * MS && stopped_ns * 100 > spike.ns * 95, "{spike:#?}");
}

/// Other tasks that want the CPU alternate with the planted ones, which have more weight.
#[test]
fn another_task_of_the_fair_class_is_named() {
    let busy = |spike: &Spike| share_ns(spike, Cause::Task, Some("wakes-busy"));
    let found = most(
        |spike| spike.cause == Cause::Task && busy(spike) * 4 > spike.ns,
        || seen(0, 1_500, |_| (0..3).map(|_| culprit(&format!("busy {CPU} 950"))).collect()),
    );
    // Its timer may wait for another 50 us, unless somebody set that; the kernel's own word for
    // when it was due says so.
    let slack = share_ns(&found[0].0, Cause::TimerSlack, None);
    assert!(slack <= 50_000, "{:#?}", found[0].0);
}

/// `dwell wake` on the CPU where everything happens, as JSON.
fn dwell_wake(launcher: &mut Command) -> serde_json::Value {
    launcher.arg(support::dwell()).args(["wake", "--quiet", "--json", "-", "--interval", "1ms"]);
    launcher.args(["--for", "1s", "--cpus", &CPU.to_string()]);
    let output = launcher.stdin(Stdio::null()).output().expect("dwell starts");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{output:?}"))
}

#[test]
fn dwell_wake_names_the_culprit() {
    let _alone = support::alone();
    let mut latest = serde_json::Value::Null;
    for _ in 0..TRIES {
        // It measures a moment after it starts; the bursts go on for longer than that.
        let _hog = culprit(&format!("hog {CPU} 90 20 20"));
        latest = dwell_wake(&mut Command::new("env"))["spikes"][0].clone();
        let shares = latest["shares"].as_array().expect("shares");
        let sum: u64 = shares.iter().map(|share| share["ns"].as_u64().expect("a time")).sum();
        assert_eq!(latest["ns"], sum, "{latest:#}");
        if latest["cause"] == "task" && latest["who"] == "wakes-hog" {
            return;
        }
    }
    panic!("{latest:#}");
}

/// And get the remedy.
#[test]
fn ordinary_users_are_told_why_no_cause_is_known() {
    let _alone = support::alone();
    let mut launcher = Command::new("setpriv");
    launcher.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]);
    let said = dwell_wake(&mut launcher);
    let why = said["spikes"]["unseen"].as_str().expect("a reason");
    assert!(why.contains("CAP_BPF") && why.contains("/dwell wake"), "{why}");
}

//! dwell's ledger of threads against perf, which hears of the same switches on another way.
//!
//! perf records the whole machine around dwell, and dwell records the program. Compared are threads
//! whose whole life both saw: the root's began before its `execve`, where dwell's account begins.
//! `perf sched timehist` (6.1) has two limits: its wait time holds preemption as well as blocking,
//! so blocked and runnable time can be compared as a sum only, and it passes over the switches of a
//! thread that has begun to exit. So the events that it reads are read here too, and tell blocked
//! from runnable time to the end.

use crate::support::{BLOCKED, CPU, Claims, Told, Truth, fresh, hold_with, run_as, work};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// What perf says of one thread, in ns.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct History {
    running: u64,
    runnable: u64,
    blocked: u64,
    /// Time that is one of these, but the switch that would tell which was not seen: some kernels
    /// keep the switches between a program and a task that they protect from every tracer.
    unsure: u64,
    /// When it was last heard of.
    last: u64,
}

type Histories = BTreeMap<u64, History>;

fn output(arguments: &[&str], data: &Path) -> String {
    let mut perf = Command::new("perf");
    let done = perf.args(arguments).arg("--input").arg(data).output().expect("perf starts");
    assert!(done.status.success(), "{perf:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Reads `perf sched timehist`: lines of `time [cpu] name[tid/pid] wait delay run`, times in ms.
/// What it calls waiting goes to `blocked`, and what follows a wake-up to `runnable`.
fn timehist(text: &str) -> Histories {
    let mut all = Histories::new();
    for line in text.lines() {
        let mut fields = line.split_whitespace().rev();
        let mut ns = || fields.next()?.parse::<f64>().ok().map(|ms| (ms * 1e6).round() as u64);
        let (Some(run), Some(delay), Some(wait)) = (ns(), ns(), ns()) else { continue };
        // A name may have spaces; what stands before its last bracket is not needed.
        let ids = fields.next().and_then(|task| task.rsplit_once('['));
        let tid = ids.and_then(|(_, ids)| ids.trim_end_matches(']').split('/').next()?.parse().ok());
        let at = line.split_whitespace().next().and_then(nanoseconds);
        if let (Some(tid), Some(at)) = (tid, at) {
            let of = all.entry(tid).or_default();
            of.last = at;
            // A wait lasts until the thread runs again: the delay after its wake-up is part of it.
            of.blocked += wait.saturating_sub(delay);
            of.runnable += delay;
            of.running += run;
        }
    }
    all
}

/// What a thread is in, and since when.
#[derive(Clone, Copy)]
enum Now {
    Running(u64),
    Runnable(u64),
    Blocked(u64),
    Gone,
}

/// One of the events that perf recorded, as far as it concerns one thread.
#[derive(Clone, Copy)]
enum Heard {
    Made,
    Woken,
    Came,
    /// Left its CPU for one of the other states.
    Left(fn(u64) -> Now),
}

impl History {
    /// Books the time since the last event, and says what the thread is in now.
    fn hear(&mut self, now: Now, heard: Heard, at: u64) -> Now {
        let (since, sum) = match now {
            Now::Gone => (at, &mut self.unsure),
            // It cannot leave or come twice: a switch in between was not seen.
            Now::Runnable(since) | Now::Blocked(since) if matches!(heard, Heard::Left(_)) => {
                (since, &mut self.unsure)
            }
            Now::Running(since) if matches!(heard, Heard::Came) => (since, &mut self.unsure),
            Now::Running(since) => (since, &mut self.running),
            Now::Runnable(since) => (since, &mut self.runnable),
            Now::Blocked(since) => (since, &mut self.blocked),
        };
        // A wake-up of what is not blocked changes nothing.
        if matches!(heard, Heard::Woken) && !matches!(now, Now::Blocked(_)) {
            return now;
        }
        *sum += at.saturating_sub(since);
        self.last = at;
        match heard {
            Heard::Made | Heard::Woken => Now::Runnable(at),
            Heard::Came => Now::Running(at),
            Heard::Left(next) => next(at),
        }
    }
}

/// Reads `perf script --ns --fields time,event,trace` of `perf sched record`.
fn events(text: &str) -> Histories {
    let mut all = BTreeMap::<u64, (History, Now)>::new();
    let mut hear = |tid: u64, heard: Heard, at: u64| {
        let (history, now) = all.entry(tid).or_insert((History::default(), Now::Gone));
        *now = history.hear(*now, heard, at);
    };
    for line in text.lines() {
        let Some((stamp, rest)) = line.trim_start().split_once(": ") else { continue };
        let Some((event, trace)) = rest.trim_start().split_once(": ") else { continue };
        let field = |name: &str| trace.split_whitespace().find_map(|field| field.strip_prefix(name));
        let tid = |name: &str| field(name).and_then(|tid| tid.parse::<u64>().ok());
        let Some(at) = nanoseconds(stamp) else { continue };
        match (event, tid("pid="), tid("prev_pid="), tid("next_pid=")) {
            ("sched:sched_switch", _, Some(left), Some(came)) => {
                let next = match field("prev_state=").and_then(|state| state.chars().next()) {
                    Some('R') => Now::Runnable,
                    Some('X' | 'Z') => |_| Now::Gone,
                    _ => Now::Blocked,
                };
                hear(left, Heard::Left(next), at);
                hear(came, Heard::Came, at);
            }
            ("sched:sched_wakeup_new", Some(woken), ..) => hear(woken, Heard::Made, at),
            ("sched:sched_waking" | "sched:sched_wakeup", Some(woken), ..) => hear(woken, Heard::Woken, at),
            _ => {}
        }
    }
    all.into_iter().map(|(tid, (history, _))| (tid, history)).collect()
}

/// `12.000000034` in seconds.
fn nanoseconds(stamp: &str) -> Option<u64> {
    let (seconds, rest) = stamp.split_once('.')?;
    let (seconds, rest): (u64, u64) = (seconds.parse().ok()?, format!("{rest:0<9}").parse().ok()?);
    Some(seconds * 1_000_000_000 + rest)
}

#[test]
fn a_time_history_is_read_right() {
    let text = "\
           time    cpu  task name                       wait time  sch delay   run time
                        [tid/pid]                          (msec)     (msec)     (msec)
--------------- ------  ------------------------------  ---------  ---------  ---------
    1096.847622 [0000]  a name[12/11]                       0.500      0.250      1.000
    1096.849231 [0001]  a name[12/11]                       0.000      0.004      0.002
    1096.849731 [0001]  <idle>                              0.000      0.000      0.498
";
    let last = 1_096_849_231_000;
    let want = History { running: 1_002_000, runnable: 254_000, blocked: 250_000, unsure: 0, last };
    assert_eq!(timehist(text), Histories::from([(12, want)]));
}

#[test]
fn the_events_of_a_thread_are_read_right() {
    // Runnable 10 when new, runs 20, preempted for 5, runs 7, blocked 30, runnable 3, runs 2, ends.
    let text = "\
 1.000000100: sched:sched_wakeup_new: comm=a pid=12 prio=120 target_cpu=001
 1.000000110: sched:sched_switch: prev_comm=s prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=12 next_prio=120
 1.000000115: sched:sched_waking: comm=a pid=12 prio=120 target_cpu=001
 1.000000130: sched:sched_switch: prev_comm=a prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=b next_pid=9 next_prio=120
 1.000000135: sched:sched_switch: prev_comm=b prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=a next_pid=12 next_prio=120
 1.000000142: sched:sched_switch: prev_comm=a prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=b next_pid=9 next_prio=120
 1.000000172: sched:sched_waking: comm=a pid=12 prio=120 target_cpu=001
 1.000000175: sched:sched_switch: prev_comm=b prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=a next_pid=12 next_prio=120
 1.000000177: sched:sched_switch: prev_comm=a prev_pid=12 prev_prio=120 prev_state=X ==> next_comm=b next_pid=9 next_prio=120
";
    let want = History { running: 29, runnable: 18, blocked: 30, unsure: 0, last: 1_000_000_177 };
    assert_eq!(events(text)[&12], want);
    // Without the second line it is not known when the thread came, and so for how long it ran.
    let hidden: String =
        text.lines().filter(|line| !line.contains("110")).flat_map(|line| [line, "\n"]).collect();
    assert_eq!(events(&hidden)[&12], History { running: 9, runnable: 8, blocked: 30, unsure: 30, ..want });
}

/// Runs a program of known truth under dwell under perf, and holds some of its threads, named as in
/// its line of truth, against perf's account of them.
fn agree(program: &str, threads: &[&str]) {
    let data = fresh("perf.data");
    let under_perf = || {
        let mut perf = Command::new("perf");
        perf.args(["sched", "record", "--quiet", "--output"]).arg(&data).arg("--");
        run_as(&mut perf, &[work(), program], Stdio::null(), |_| ())
    };
    let claim = |told: &Told, claims: &mut Claims| {
        let truth = told.truth(program);
        let events = events(&output(&["script", "--ns", "--fields", "time,event,trace"], &data));
        let timehist = timehist(&output(&["sched", "timehist"], &data));
        for name in threads {
            compare(told, &truth, claims, name, &events, &timehist);
        }
    };
    hold_with(under_perf, claim);
    let _ = std::fs::remove_file(data);
}

fn compare(
    told: &Told,
    truth: &Truth,
    claims: &mut Claims,
    name: &str,
    events: &Histories,
    timehist: &Histories,
) {
    let tid = truth.id(name);
    let (running, runnable) = (told.thread(tid, CPU), told.thread(tid, &["runqueue", "throttled"]));
    let blocked = told.thread(tid, BLOCKED) + told.thread(tid, &["stopped"]);
    let (Some(heard), Some(told)) = (events.get(&tid), timehist.get(&tid)) else {
        return claims.that(false, format!("perf has not seen {name} ({tid})"));
    };
    let unsure = heard.unsure;
    for (what, ours, theirs) in [
        ("running", running, heard.running),
        ("runnable", runnable, heard.runnable),
        ("blocked", blocked, heard.blocked),
    ] {
        claims.between(&format!("{name} {what}, by perf's events"), ours, theirs, theirs + unsure);
    }
    let tail = heard.last.saturating_sub(told.last);
    if unsure == 0 {
        let (off, off_told) = (blocked + runnable, told.blocked + told.runnable);
        claims.between(&format!("{name} off its CPU, by timehist"), off, off_told, off_told + tail);
        claims.between(&format!("{name} running, by timehist"), running, told.running, told.running + tail);
    }
}

#[test]
fn threads_that_share_a_cpu_wait_as_long_by_perf() {
    agree("crowd", &["thread_0", "thread_1", "thread_2", "thread_3"]);
}

#[test]
fn stages_of_a_pipeline_wait_as_long_by_perf() {
    agree("pipeline-2", &["first", "second", "third"]);
}

#[test]
fn a_server_and_a_holder_of_a_lock_wait_as_long_by_perf() {
    agree("tcp-process-sleep", &["server"]);
    agree("lock-sleep", &["holder"]);
}

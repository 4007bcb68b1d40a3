//! One program, watched by dwell and by the oracles in the same run.
//!
//! `perf record` stands around dwell, for the scheduler's events and for samples: it is on before
//! dwell starts and ends after it. Meanwhile the program's control group is read. `strace` is too
//! slow to be there at the same time, so it has a run of its own.

use super::account::{Account, Charged, Reading};
use super::counts;
use super::dwell_result::DwellResult;
use super::program::{Also, Attach, Program};
use super::programs::Programs;
use super::sched::{Ledger, Root, Tid, Trace};
use super::shares::{SAMPLES_HZ, Samples};
use super::stage::Stage;
use super::steal::Ticks;
use super::tree;
use super::verdict::{Named, Range, Truth, of_ledger, of_wall};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use workshop::shell::{forget_package, program as shell_program};

/// No run takes longer, in seconds.
const SECONDS_MAX: &str = "120";

/// A load is under way after this.
const LOAD_STARTS: Duration = Duration::from_millis(500);

/// Windows shorter than this are looked for at this many places.
const SHORT_NS: u64 = 500_000_000;
const PLACES: u64 = 20;

const EVENTS: &str = "sched:sched_switch,sched:sched_waking,sched:sched_wakeup,sched:sched_wakeup_new,\
                      sched:sched_migrate_task,sched:sched_process_fork,sched:sched_process_exec,\
                      sched:sched_stat_runtime";

/// What perf writes. Not two files by two perfs: of two the kernel (seen with 6.18) gives the
/// second one records of BPF programs whose length is too large.
const DATA: &str = "perf.data";

/// What is read of the trace, and of the samples.
const OF_TRACE: [&str; 2] = ["trace:pid,tid,cpu,time,event,trace", "sw:"];
const OF_SAMPLES: [&str; 2] = ["sw:pid,tid,time,ip", "trace:"];

/// What dwell writes for people, and for programs.
const PAGE: &str = "dwell.page";
const JSON: &str = "dwell.json";

/// Watches it once, and once more with `strace` where calls are to be compared.
///
/// # Errors
/// When it cannot be prepared, fails, or an oracle does.
pub(crate) fn observe(
    program: &Program,
    programs: &Programs,
    base: &Path,
    dwell: &Path,
) -> Result<(DwellResult, Truth)> {
    let stage = Stage::set(program, programs, base)?;
    let before = Ticks::now();
    let beside = match &program.attach {
        None => {
            let words = stage.words(&program.run);
            let words = stage.account.iter().fold(words, |words, account| account.entering(words));
            let charged = record(&stage, dwell, &["run"], &["--"], &words)?;
            Beside { threads: BTreeSet::new(), charged }
        }
        Some(attach) => attached(&stage, dwell, attach)?,
    };
    let stolen = before.stolen(&Ticks::now());
    let read = |name| fs::read_to_string(stage.dir.join(name));
    let json = read(JSON).context("dwell wrote no JSON")?;
    let page = read(PAGE).context("dwell wrote no page")?;
    let said = DwellResult::read(&json, page).with_context(|| last_line(&stage.dir.join("stderr")))?;
    let truth = truth(program, &stage, dwell, &said, beside);
    // Large, and of no use once read.
    let _ = fs::remove_file(stage.dir.join(DATA));
    let mut truth = truth?;
    truth.stolen_ns = stolen.ns;
    truth.notes.extend(stolen.note());
    Ok((said, truth))
}

/// What is known beside the trace.
struct Beside {
    /// Threads that were there before a window.
    threads: BTreeSet<Tid>,
    charged: Option<Charged>,
}

/// Watches a window.
fn attached(stage: &Stage, dwell: &Path, attach: &Attach) -> Result<Beside> {
    let target = stage.target(attach.pid_file.as_deref())?;
    // What it starts for its load is there from its begin on.
    stage.account.as_ref().map_or(Ok(()), |account| account.take(target))?;
    let load = attach.load.as_ref().map(|words| stage.beside(words, "load")).transpose()?;
    sleep(LOAD_STARTS);
    let threads = tree::threads(target);
    ensure!(!threads.is_empty(), "the process {target} is not there");
    let charged = record(stage, dwell, &["attach", "--for", &attach.window], &[], &[target.to_string()])?;
    drop(load);
    Ok(Beside { threads, charged })
}

/// Runs dwell, in this way and on this, with perf around it, and returns what was charged to the
/// program meanwhile.
fn record(stage: &Stage, dwell: &Path, way: &[&str], end: &[&str], on: &[String]) -> Result<Option<Charged>> {
    let dir = &stage.dir;
    let mut command = shell_program("timeout", &["--foreground", "--kill-after=10", SECONDS_MAX]);
    command.args(["perf", "record", "--quiet", "-a", "-N", "-B", "-k", "CLOCK_MONOTONIC", "-m", "16M"]);
    // Some switches of idle CPUs are not traced; perf's own records have them.
    let samples = format!("cpu-clock/freq={SAMPLES_HZ}/");
    command.args(["--switch-events", "-e", EVENTS, "-e", &samples, "-o", DATA, "--"]);
    command
        .arg(dwell)
        .args(way)
        .args(["--verbose", "--quiet", "-o", PAGE, "--json", JSON])
        .args(end)
        .args(on);
    command.current_dir(dir);
    forget_package(&mut command);
    command.stdout(File::create(dir.join("stdout"))?).stderr(File::create(dir.join("stderr"))?);
    let reading = stage.account.as_ref().map(Account::read);
    let status = command.status().context("cannot start timeout")?;
    let charged = reading.map(Reading::end);
    ensure!(status.success(), "ended with {status}: {}", last_line(&dir.join("stderr")));
    Ok(charged)
}

/// What the oracles say.
fn truth(
    program: &Program,
    stage: &Stage,
    dwell: &Path,
    said: &DwellResult,
    beside: Beside,
) -> Result<Truth> {
    let mut truth = Truth::default();
    let dir = &stage.dir;
    let trace = script(dir, OF_TRACE, &mut truth.notes, Trace::read)?;
    let dwell_ran = trace.program(&dwell.to_string_lossy()).context("the trace does not have dwell")?;
    let (tree, from, to) = if said.is_window() {
        // Its length is dwell's, and where it lies the trace's.
        let from = trace.quietest(&dwell_ran, said.run.wall_ns);
        (trace.tree(beside.threads, 0, from + said.run.wall_ns), from, from + said.run.wall_ns)
    } else {
        let root = trace.program_below(&dwell_ran).context("the trace does not have the program")?;
        let (wall, tree) = trace.wall(&root);
        (truth.kinds, truth.starved) = of_wall(&wall);
        truth.notes.extend(apart(&root, said.run.wall_ns));
        (tree, root.begun_ns, root.ended_ns)
    };
    let counted = said.counted_threads(&tree);
    // The time of all threads on CPUs, and all that those did whose time the account is.
    let seen = |from: u64, to: u64| {
        let ledgers = trace.ledgers(&tree, from, to);
        let counted = counted.iter().filter_map(|thread| ledgers.get(thread));
        // Of threads that are told together, those that did nothing are in no row, unless none did.
        let all_idle = ledgers.values().all(|ledger| ledger.on_ns == 0);
        let counted = counted.filter(|ledger| ledger.on_ns > 0 || all_idle || !said.tells_together());
        (ledgers.values().map(|ledger| ledger.on_ns).sum::<u64>(), counted.copied().sum::<Ledger>())
    };
    let wall_ns = (to - from).max(1);
    let used = |on_ns: u64| Range::exactly(on_ns as f64 / wall_ns as f64);
    let (on_ns, counted) = seen(from, to);
    truth.cpus_used = Some(used(on_ns));
    let mut whole_ns = wall_ns;
    if said.is_window() {
        whole_ns = counted.whole_ns();
        (truth.kinds, truth.starved) = of_ledger(&counted, wall_ns);
        // Dwell rests before and after a short window too: where it lies is not known.
        for from in elsewhere(&dwell_ran, said.run.wall_ns) {
            let (on_ns, counted) = seen(from, from + said.run.wall_ns);
            truth.widen(used(on_ns), of_ledger(&counted, wall_ns).0);
        }
    }
    if said.is_window() && said.mixes_threads() {
        (truth.kinds, truth.starved) = (None, None);
        truth.notes.push("which threads only wait for work is not told of each: no shares".to_owned());
    }
    match beside.charged {
        // Where it lies is not known.
        _ if said.is_window() && said.run.wall_ns < SHORT_NS => {}
        Some(charged) => {
            let ns = if said.is_window() { charged.between(from, to) } else { charged.until_end(to) };
            let ns = ns.context("the control group was not read at the ends")?;
            truth.account(ns, trace.overcharged_ns(&tree, from, to), on_ns, [wall_ns, whole_ns]);
        }
        None => truth.notes.push("no control group accounts for its CPU time".to_owned()),
    }
    forget_maps(&tree);
    let read = |text| Samples::read(text, &tree, from, to);
    let samples = script(dir, OF_SAMPLES, &mut truth.notes, read)?;
    truth.user_percent = samples.user_percent();
    truth.user_percent_min = truth.charged_ns.and_then(|charged| samples.user_percent_of(charged.lo));
    for also in &program.also {
        further(also, program, stage, &mut truth)?;
    }
    Ok(truth)
}

/// Where a short window may lie as well, within the life of dwell.
fn elsewhere(dwell: &Root, wall_ns: u64) -> impl Iterator<Item = u64> {
    let places = if wall_ns < SHORT_NS { PLACES } else { 0 };
    let (from, to) = (dwell.begun_ns, dwell.ended_ns.saturating_sub(wall_ns));
    (0..places).map(move |place| from + to.saturating_sub(from) / PLACES * place)
}

/// Says so where the two have different wall clocks: then all shares differ.
fn apart(root: &Root, wall_ns: u64) -> Option<String> {
    let ns = root.ended_ns - root.begun_ns;
    let apart = ns.abs_diff(wall_ns);
    let milliseconds = |ns: u64| ns as f64 / 1e6;
    (apart > ns / 100 && apart > 5_000_000).then(|| {
        format!("a wall clock of {:.1} ms, by the trace {:.1} ms", milliseconds(wall_ns), milliseconds(ns))
    })
}

/// Reads what perf recorded, as text.
fn script<T>(
    dir: &Path,
    fields: [&str; 2],
    notes: &mut Vec<String>,
    read: impl FnOnce(BufReader<std::process::ChildStdout>) -> Result<T>,
) -> Result<T> {
    let complaints = dir.join("perf.stderr");
    let mut perf = Command::new("perf");
    perf.args(["script", "--ns", "-i", DATA]);
    if fields == OF_TRACE {
        perf.arg("--show-switch-events");
    }
    perf.args(fields.iter().flat_map(|fields| ["-F", fields]));
    perf.current_dir(dir).stdin(Stdio::null());
    let mut child = perf.stdout(Stdio::piped()).stderr(File::create(&complaints)?).spawn()?;
    let text = child.stdout.take().context("perf script has no output")?;
    let done = read(BufReader::with_capacity(1 << 20, text));
    let status = child.wait()?;
    let said = fs::read_to_string(&complaints).unwrap_or_default();
    let last = said.lines().last().unwrap_or("it said nothing");
    ensure!(status.success(), "perf script ended with {status}: {last}");
    notes
        .extend(said.lines().find(|line| line.contains("lost")).map(|line| format!("perf: {}", line.trim())));
    done
}

/// Removes the perf maps that runtimes leave where others look for them.
fn forget_maps(tree: &BTreeSet<Tid>) {
    for tid in tree {
        let _ = fs::remove_file(format!("/tmp/perf-{tid}.map"));
    }
}

fn further(also: &Also, program: &Program, stage: &Stage, truth: &mut Truth) -> Result<()> {
    match also {
        Also::Calls(names) => {
            let made = counted(program, stage)?;
            let count = |name: &String| (name.clone(), made.get(name).copied().unwrap_or(0));
            truth.calls = names.iter().map(count).collect();
        }
        Also::Quota => {
            let quota = stage.quota.as_ref().context("it has no control group")?;
            truth.throttled_ns = Some(quota.throttled_ns()?);
            truth.named.push(Named { what: "group", word: quota.name() });
        }
        Also::LockWaits => {
            truth.lock_percent = Some(lock_percent(&sessions(stage)?).context("no session was seen")?);
        }
        Also::LockHolder => {
            let seen = sessions(stage)?;
            let holder = holder(&seen).context("no session holds the lock")?;
            truth.named.push(Named { what: "holder", word: holder.to_owned() });
        }
        Also::OwnClock => {
            let said = fs::read_to_string(stage.dir.join("stdout")).context("the program said nothing")?;
            truth.cpu_ns = Some(own_cpu_ns(&said).context("the program did not say its CPU time")?);
        }
        Also::Function(words) => truth.function = Some(words.clone()),
    }
    Ok(())
}

/// Runs it once more under `strace`, and returns its calls by name.
fn counted(program: &Program, stage: &Stage) -> Result<BTreeMap<String, u64>> {
    ensure!(program.attach.is_none(), "strace has no run of its own for a window");
    stage.prepare()?;
    let table = stage.dir.join("counts");
    let mut strace = shell_program("timeout", &["--foreground", "--kill-after=10", SECONDS_MAX]);
    strace.args(["strace", "-f", "-c", "-U", "calls,name", "-o"]).arg(&table).arg("--");
    strace
        .args(stage.words(&program.run))
        .current_dir(&stage.dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    forget_package(&mut strace);
    ensure!(strace.status()?.success(), "it fails under strace");
    counts::read(&fs::read_to_string(&table).context("strace wrote nothing")?)
}

/// What a session that looks at others has printed.
fn sessions(stage: &Stage) -> Result<String> {
    fs::read_to_string(stage.dir.join("load")).context("no sessions were looked at")
}

/// The sessions that waited for a lock, of the sessions that were looked at, a line each with `wait
/// TYPE`.
fn lock_percent(seen: &str) -> Option<f64> {
    let waits: Vec<&str> = seen.lines().filter_map(|line| line.trim().strip_prefix("wait ")).collect();
    let locks = waits.iter().filter(|wait| ["Lock", "LWLock"].contains(wait)).count();
    (!waits.is_empty()).then(|| locks as f64 / waits.len() as f64 * 100.0)
}

/// The process of the session that it waited for, in a line `holder PID`.
fn holder(seen: &str) -> Option<&str> {
    seen.lines().find_map(|line| line.trim().strip_prefix("holder ")).filter(|pid| !pid.is_empty())
}

fn own_cpu_ns(said: &str) -> Option<u64> {
    said.lines().rev().find_map(|line| line.strip_prefix("own cpu_ns ")?.trim().parse().ok())
}

fn last_line(path: &Path) -> String {
    let said = fs::read(path).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_clocks_that_differ_are_said() {
        let root = Root { tid: 1, begun_ns: 0, ended_ns: 1_000_000_000 };
        assert_eq!(apart(&root, 995_000_000), None);
        assert!(apart(&root, 900_000_000).is_some());
        let short = Root { tid: 1, begun_ns: 0, ended_ns: 10_000_000 };
        assert_eq!(apart(&short, 9_000_000), None);
    }

    #[test]
    fn only_a_short_window_may_lie_elsewhere() {
        let dwell = Root { tid: 1, begun_ns: 1_000, ended_ns: 3_000 };
        let places: Vec<u64> = elsewhere(&dwell, 1_000).collect();
        assert_eq!((places.len(), places[0], places[19]), (20, 1_000, 1_950));
        assert_eq!(elsewhere(&dwell, SHORT_NS).count(), 0);
    }

    #[test]
    fn sessions_and_the_programs_own_clock_are_read() {
        assert_eq!(
            lock_percent("Pager off\nwait Lock\n wait Lock\nwait Client\nwait LWLock\n\n"),
            Some(75.0)
        );
        assert_eq!(lock_percent("nothing"), None);
        assert_eq!(holder("wait Lock\n holder \n"), None);
        assert_eq!(holder("wait none\nholder \nwait Lock\n holder 12\n"), Some("12"));
        assert_eq!(own_cpu_ns("x\nown cpu_ns 12\nown cpu_ns 15\n"), Some(15));
        assert_eq!(own_cpu_ns("own cpu_ns many\n"), None);
    }
}

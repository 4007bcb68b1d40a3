//! `cargo xtask bench wake`: `dwell wake` against cyclictest, in alternation, on the same CPU with
//! the same settings, idle and under dwell's own loads.
//!
//! A round is cyclictest, dwell and cyclictest again, in an order that turns; each difference
//! is of one round, so that what drifts on the machine drifts for both. How far cyclictest is from
//! itself says how much of a difference is noise.
//!
//! What is rare comes to each of them at other times, so a difference of theirs at p99.99 is first
//! of all one of luck. So a round ends with all three at once, on the same CPU: what delays it for
//! longer than their own wake-ups take (some ten microseconds) delays all three, and what they say
//! of it can be compared. Percentiles are read from the two histograms in the same way, between the
//! ends of a bin in proportion. What a wake-up costs is asked of the kernel for both: run time of
//! the measuring thread (`schedstat`) in the middle of the run.

use super::install;
use crate::{Measuring, one_of};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, value_parser};
use model::Wakeups;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use workshop::machine::{conditions, load};
use workshop::shell::{find, program as shell_program};
use workshop::table::layout;

const ROUNDS: usize = 12;
const SECONDS: u64 = 5;
const INTERVAL_US: u64 = 200;
/// What cyclictest's histogram has room for: later ones are one bin up to its maximum.
const HISTOGRAM_US: u64 = 20_000;
/// p50 and p99.99 are the same within this, or within this part of cyclictest's.
const GOAL_NS: f64 = 1_000.0;
const GOAL_PART: f64 = 0.05;

/// What the machine does meanwhile: the name of a case, and a load of `dwell load`.
const CASES: &[(&str, Option<&str>)] = &[
    ("idle", None),
    ("sched", Some("sched:groups=2")),
    ("memory", Some("memory:threads=2,size=256M")),
    ("network", Some("network")),
];

/// From, to, count.
type Bin = (f64, f64, f64);

/// What one run gave.
#[derive(Debug, Clone)]
struct Run {
    bins: Vec<Bin>,
    max_ns: f64,
    cpu_per_cycle_ns: f64,
}

/// Three runs that are compared.
#[derive(Debug)]
struct Three {
    cyclictest: Run,
    dwell: Run,
    again: Run,
}

/// The runs of one round.
#[derive(Debug)]
struct Round {
    by_turns: Three,
    at_once: Three,
}

#[derive(Args)]
pub(super) struct Options {
    /// Rounds of each
    #[arg(long, value_name = "N", value_parser = crate::some(), default_value_t = ROUNDS)]
    rounds: usize,
    /// Seconds of each measurement
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(2..), default_value_t = SECONDS)]
    seconds: u64,
    #[command(flatten)]
    measuring: Measuring,
    /// The CPU of both [default: the last, which has the fewest of the machine's interrupts]
    #[arg(long, value_name = "N", default_value_t = last_cpu(), hide_default_value = true)]
    cpu: usize,
    /// Let dwell watch for spikes
    #[arg(long)]
    spikes: bool,
    /// Loads [default: all]
    #[arg(value_name = "LOAD", value_parser = one_of(CASES, |case| case.0))]
    cases: Vec<&'static (&'static str, Option<&'static str>)>,
}

fn last_cpu() -> usize {
    std::thread::available_parallelism().map_or(0, |count| count.get() - 1)
}

/// Measures and prints the table.
///
/// # Errors
/// When cyclictest is missing, and when one of the two fails.
pub(super) fn run(options: &Options) -> Result<()> {
    if find("cyclictest").is_none() {
        bail!("cyclictest is not installed; try: apt-get install rt-tests");
    }
    let dwell = install(options.measuring.dwell.as_deref())?.join("dwell");
    let (before, mut notes) = (load(), BTreeSet::new());
    let head =
        ["load", "figure", "cyclictest", "dwell", "dwell - cyclictest", "cyclictest twice", "goal", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let cases = if options.cases.is_empty() { CASES.iter().collect() } else { options.cases.clone() };
    for (name, spec) in cases {
        let mut rounds = Vec::new();
        for round in 0..options.rounds {
            eprint!("\r\x1b[K{name}: round {} of {}", round + 1, options.rounds);
            let length = Duration::from_secs(options.seconds * 4 + 15);
            let _busy = spec.map(|spec| Busy::start(&dwell, spec, length)).transpose()?;
            match one_round(&dwell, options, round) {
                Ok(one) => rounds.push(one),
                Err(error) => _ = notes.insert(format!("{name}, a round was left out: {error:#}")),
            }
        }
        if !rounds.is_empty() {
            rows.extend(of_case(name, &rounds));
        }
    }
    eprintln!();
    println!("{}", layout(&rows, options.measuring.markdown));
    println!(
        "Figures are of all rounds together; differences are of single rounds: median (its 95 % interval). CPU {}, \
         SCHED_FIFO 80,\nevery {INTERVAL_US} us, {} rounds of {} s each, {}. Measured on {}.",
        options.cpu,
        options.rounds,
        options.seconds,
        if options.spikes { "dwell watching for spikes" } else { "dwell with --no-spikes" },
        conditions(&before)
    );
    notes.iter().for_each(|note| println!("note: {note}"));
    Ok(())
}

/// A load in a process of its own, ended when this goes.
struct Busy(Child);

impl Busy {
    fn start(dwell: &Path, spec: &str, length: Duration) -> Result<Self> {
        let mut command =
            shell_program(dwell, &["load", "--quiet", "--for", &format!("{}s", length.as_secs()), spec]);
        command.stdout(Stdio::null()).stderr(Stdio::inherit());
        let busy = Self(command.spawn().context("cannot start dwell load")?);
        // Hundreds of processes to start, and memory to fill.
        sleep(Duration::from_secs(3));
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // It ends its own workers when asked to.
        let _ = shell_program("kill", &["-INT", &self.0.id().to_string()]).status();
        let _ = self.0.wait();
    }
}

fn one_round(dwell: &Path, options: &Options, round: usize) -> Result<Round> {
    let ask = |tool: usize| if tool == 1 { of_dwell(dwell, options) } else { of_cyclictest(options) };
    let order = [0, 1, 2].map(|turn| (turn + round) % 3);
    let by_turns = three(order.map(|tool| (tool, ask(tool))))?;
    let at_once = std::thread::scope(|runs| {
        let begun = order.map(|tool| (tool, runs.spawn(move || ask(tool))));
        begun.map(|(tool, run)| (tool, run.join().unwrap_or_else(|_| Err(anyhow!("a run was given up")))))
    });
    Ok(Round { by_turns, at_once: three(at_once)? })
}

/// In whichever order they come.
fn three(runs: [(usize, Result<Run>); 3]) -> Result<Three> {
    let mut sorted = runs;
    sorted.sort_by_key(|(tool, _)| *tool);
    let [cyclictest, dwell, again] = sorted.map(|(_, run)| run);
    Ok(Three { cyclictest: cyclictest?, dwell: dwell?, again: again? })
}

fn of_cyclictest(options: &Options) -> Result<Run> {
    let mut command = shell_program("cyclictest", &["-q", "-m", "-p", "80", "--policy=fifo", "-t", "1"]);
    command.args(["-a", &options.cpu.to_string(), "-i", &INTERVAL_US.to_string()]);
    command.args(["-D", &options.seconds.to_string(), "-h", &HISTOGRAM_US.to_string()]);
    let (said, cpu_per_cycle_ns) = watched(&mut command, options.seconds, |pid, tid, _| pid != tid)?;
    cyclictest_said(&said, cpu_per_cycle_ns)
}

/// `000012 000345` for each microsecond, and a summary in comments.
fn cyclictest_said(said: &str, cpu_per_cycle_ns: f64) -> Result<Run> {
    let mut bins = Vec::new();
    for line in said.lines().filter(|line| !line.starts_with(['#', '/'])) {
        let mut words = line.split_whitespace().map(str::parse::<f64>);
        if let (Some(Ok(us)), Some(Ok(count))) = (words.next(), words.next()) {
            bins.push((us * 1e3, (us + 1.0) * 1e3, count));
        }
    }
    let summary = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.trim().parse::<f64>().ok())
            .with_context(|| format!("cyclictest says no {name:?}"))
    };
    let max_ns = summary("# Max Latencies:")? * 1e3;
    let beyond = summary("# Histogram Overflows:")?;
    if beyond > 0.0 {
        bins.push((HISTOGRAM_US as f64 * 1e3, max_ns.max(HISTOGRAM_US as f64 * 1e3), beyond));
    }
    Ok(Run { bins, max_ns, cpu_per_cycle_ns })
}

fn of_dwell(dwell: &Path, options: &Options) -> Result<Run> {
    let mut command = shell_program(dwell, &["wake", "--quiet", "--json", "-", "--policy", "fifo:80"]);
    command.args(["--cpus", &options.cpu.to_string(), "--interval", &format!("{INTERVAL_US}us")]);
    command.args(["--for", &format!("{}s", options.seconds)]);
    if !options.spikes {
        command.arg("--no-spikes");
    }
    let (said, cpu_per_cycle_ns) =
        watched(&mut command, options.seconds, |_, _, name| name.starts_with("wake/"))?;
    let Wakeups { all, .. } = serde_json::from_str(&said).context("dwell's JSON cannot be read")?;
    let bins = all.histogram.iter().map(|bin| (bin.from_ns as f64, bin.to_ns as f64, bin.count as f64));
    let max_ns = *all.max_ns.value().context("dwell says no maximum")? as f64;
    Ok(Run { bins: bins.collect(), max_ns, cpu_per_cycle_ns })
}

/// Runs it, and asks the kernel meanwhile what its measuring thread costs; gives its output and ns
/// of CPU time a cycle.
fn watched(
    command: &mut Command,
    seconds: u64,
    measures: fn(u32, u32, &str) -> bool,
) -> Result<(String, f64)> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot be started")?;
    let pid = child.id();
    // Its start is not what is asked for, nor its end.
    let part = Duration::from_millis(seconds * 1_000 * 3 / 10);
    let given_up = Instant::now() + Duration::from_secs(30);
    // Under a load it takes its time to be there.
    while ran(pid, measures).is_none() && Instant::now() < given_up {
        sleep(Duration::from_millis(20));
    }
    sleep(part);
    let first = ran(pid, measures);
    sleep(part);
    let second = ran(pid, measures);
    let output = child.wait_with_output()?;
    // dwell's exit status also reports deadlines; none is given here.
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    let (Some(first), Some(second)) = (first, second) else { bail!("the measuring thread was not found") };
    let cycles = (second.1 - first.1).as_secs_f64() * 1e6 / INTERVAL_US as f64;
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), (second.0 - first.0) / cycles))
}

/// The run time in ns of the thread that measures, and when that was.
fn ran(pid: u32, measures: fn(u32, u32, &str) -> bool) -> Option<(f64, Instant)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    for task in tasks.flatten() {
        let tid: u32 = task.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if measures(pid, tid, name.trim()) {
            let told = fs::read_to_string(task.path().join("schedstat")).ok()?;
            return Some((told.split_whitespace().next()?.parse().ok()?, Instant::now()));
        }
    }
    None
}

/// The value that this share of all is not beyond.
fn percentile(bins: &[Bin], share: f64) -> Option<f64> {
    let all: f64 = bins.iter().map(|bin| bin.2).sum();
    let mut left = all * share;
    for (from, to, count) in bins {
        if *count > 0.0 && left <= *count {
            return Some(from + (to - from) * left / count);
        }
        left -= count;
    }
    None
}

/// Runs as if they were one.
fn together<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<Bin> {
    let mut bins: Vec<Bin> = runs.flat_map(|run| run.bins.iter().copied()).collect();
    bins.sort_by(|a, b| a.0.total_cmp(&b.0));
    bins
}

fn of_case(name: &str, rounds: &[Round]) -> Vec<Vec<String>> {
    let by_turns: Vec<&Three> = rounds.iter().map(|round| &round.by_turns).collect();
    let at_once: Vec<&Three> = rounds.iter().map(|round| &round.at_once).collect();
    vec![
        percentiles(name, "p50", 0.5, &by_turns, Some(Goal::Same)),
        percentiles(name, "p99", 0.99, &by_turns, None),
        percentiles(name, "p99.99", 0.9999, &by_turns, Some(Goal::Same)),
        percentiles(name, "p99.99, at once", 0.9999, &at_once, Some(Goal::Same)),
        maxima(name, "max", &by_turns),
        maxima(name, "max, at once", &at_once),
        costs(name, "CPU a cycle", &by_turns),
    ]
}

fn percentiles(name: &str, figure: &str, share: f64, runs: &[&Three], goal: Option<Goal>) -> Vec<String> {
    let of = |bins: &[Bin]| percentile(bins, share).unwrap_or(f64::NAN);
    row(name, figure, runs, |all| of(&together(all.iter().copied())), |run| of(&run.bins), goal)
}

fn maxima(name: &str, figure: &str, runs: &[&Three]) -> Vec<String> {
    let longest = |all: &[&Run]| all.iter().map(|run| run.max_ns).fold(0.0, f64::max);
    row(name, figure, runs, longest, |run| run.max_ns, None)
}

fn costs(name: &str, figure: &str, runs: &[&Three]) -> Vec<String> {
    let mean = |all: &[&Run]| all.iter().map(|run| run.cpu_per_cycle_ns).sum::<f64>() / all.len() as f64;
    row(name, figure, runs, mean, |run| run.cpu_per_cycle_ns, Some(Goal::NotMore))
}

#[derive(Debug, Clone, Copy)]
enum Goal {
    Same,
    NotMore,
}

/// `all` gives the figure of all runs of a tool, and `one` that of a single one.
fn row(
    name: &str,
    figure: &str,
    runs: &[&Three],
    all: impl Fn(&[&Run]) -> f64,
    one: impl Fn(&Run) -> f64,
    goal: Option<Goal>,
) -> Vec<String> {
    let of_all = |tool: fn(&Three) -> &Run| all(&runs.iter().map(|three| tool(three)).collect::<Vec<_>>());
    let [cyclictest, dwell] = [of_all(|three| &three.cyclictest), of_all(|three| &three.dwell)];
    let apart = |a: fn(&Three) -> &Run, b: fn(&Three) -> &Run| {
        let mut apart: Vec<f64> = runs.iter().map(|three| one(b(three)) - one(a(three))).collect();
        apart.sort_by(f64::total_cmp);
        apart
    };
    let differences = apart(|three| &three.cyclictest, |three| &three.dwell);
    let noise = apart(|three| &three.cyclictest, |three| &three.again);
    let (said, verdict) = match goal {
        None => ("", ""),
        Some(goal) => (
            match goal {
                Goal::Same => "1 us or 5 %",
                Goal::NotMore => "not more",
            },
            verdict(goal, cyclictest, &differences),
        ),
    };
    vec![
        name.to_owned(),
        figure.to_owned(),
        time(cyclictest),
        time(dwell),
        spread(&differences),
        spread(&noise),
        said.to_owned(),
        verdict.to_owned(),
    ]
}

/// The median of the differences counts. It misses only where its whole interval does: a machine
/// can be too noisy to tell.
fn verdict(goal: Goal, cyclictest: f64, differences: &[f64]) -> &'static str {
    let allowed = match goal {
        Goal::Same => GOAL_NS.max(cyclictest * GOAL_PART),
        // A fiftieth is what two runs of one differ by on a quiet machine.
        Goal::NotMore => cyclictest * 0.02,
    };
    let least = if matches!(goal, Goal::Same) { -allowed } else { f64::NEG_INFINITY };
    let (lo, hi) = interval(differences);
    if (least..=allowed).contains(&median(differences)) {
        "reached"
    } else if lo <= allowed && hi >= least {
        "too noisy to tell"
    } else {
        "NOT reached"
    }
}

/// The interval of the median of sorted values: it holds the median with 95 %, or is all of them
/// where they are fewer than six.
fn interval(sorted: &[f64]) -> (f64, f64) {
    stats::median(sorted).map_or((f64::NAN, f64::NAN), |median| (median.lo, median.hi))
}

fn median(values: &[f64]) -> f64 {
    stats::median_of(values.iter().copied()).unwrap_or(f64::NAN)
}

fn time(ns: f64) -> String {
    match ns.abs() {
        size if size < 1e6 => format!("{:.2} us", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}

fn spread(sorted: &[f64]) -> String {
    let (lo, hi) = interval(sorted);
    format!("{} ({} to {})", time(median(sorted)), time(lo), time(hi))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    const SAID: &str = "# /dev/cpu_dma_latency set to 0us\n# Histogram\n000010 000030\n000011 000060\n000012 000009\n# Total: 000000099\n\
                        # Max Latencies: 30000\n# Histogram Overflows: 00001\n# Histogram Overflow at cycle number:\n";

    #[test]
    fn cyclictests_histogram_is_read_with_what_overflowed() {
        let run = cyclictest_said(SAID, 1.0).unwrap();
        assert_eq!(run.bins.len(), 4);
        assert_eq!((run.bins[1], run.max_ns), ((11_000.0, 12_000.0, 60.0), 30_000_000.0));
        assert_eq!(percentile(&run.bins, 0.3), Some(11_000.0));
        assert_eq!(percentile(&run.bins, 0.6), Some(11_500.0));
        assert_eq!(percentile(&run.bins, 1.0), Some(30_000_000.0));
        assert!(cyclictest_said("000001 000001\n", 1.0).is_err());
    }

    #[test]
    fn a_goal_is_missed_only_where_the_whole_interval_misses_it() {
        let of = |goal, cyclictest, differences: &[f64]| verdict(goal, cyclictest, differences);
        assert_eq!(of(Goal::Same, 5_000.0, &[-3_000.0, -900.0, 4_000.0]), "reached");
        assert_eq!(of(Goal::Same, 100_000.0, &[4_900.0]), "reached");
        assert_eq!(of(Goal::Same, 5_000.0, &[900.0, 1_100.0, 1_200.0]), "too noisy to tell");
        assert_eq!(of(Goal::Same, 5_000.0, &[1_001.0, 1_100.0, 1_200.0]), "NOT reached");
        assert_eq!(of(Goal::Same, 5_000.0, &[-1_300.0, -1_200.0]), "NOT reached");
        assert_eq!(of(Goal::NotMore, 5_000.0, &[-2_000.0]), "reached");
        assert_eq!(of(Goal::NotMore, 5_000.0, &[101.0, 900.0]), "NOT reached");
        // Of six or more, the interval leaves out what is at the ends.
        let many: Vec<f64> = (0..12).map(f64::from).collect();
        assert_eq!(interval(&many), (2.0, 9.0));
    }

    #[test]
    fn loads_are_chosen_by_name_and_others_refused() {
        assert_eq!(read::<Options>(&["sched", "--rounds", "2"]).unwrap().cases[0].0, "sched");
        for wrong in [&["warp"][..], &["--rounds"], &["--rounds", "0"]] {
            assert!(read::<Options>(wrong).is_err());
        }
    }
}

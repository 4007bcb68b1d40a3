//! `dwell wake`: the wake-up latency of timers on this machine.

mod cases;
mod sheet;

use crate::cli::{Cpus, WakeArgs, bare_numbers};
use crate::exit;
use crate::keep::ResultStore;
use crate::out::junit_has_verdict;
use crate::output;
use crate::progress::ProgressLine;
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use loads::Running;
use model::wake::verdict::{Answer, Deadline};
use model::wake::{Policy, WakeMeasurements, WakeMode, WakeRequest};
use model::{Ns, Seen, Tid};
use observe::realtime::{MeasurementSettings, Realtime};
use observe::spikes::Spikes;
use std::io;
use std::time::Duration;
use sys::at_once::EndAtOnce;
use sys::clock::rfc3339_now;
use sys::policy::RtBoost;
use sys::signals::Signals;
use wakes::{DmaLatency, LateWakeup, Listener, Progress};

/// The default interval. A prime number of microseconds drifts through all phases of the kernel's
/// tick, which comes every 1, 4 or 10 ms.
const INTERVAL_NS: Ns = 199_000;
/// The default duration.
const LENGTH_NS: Ns = 10 * 1_000_000_000;
/// Loads are stopped after the measurement. If that fails, they end by themselves after this time.
const LOADS_LONGER: Duration = Duration::from_secs(60);
/// The remedy for `--junit` without a deadline.
const JUDGED: &str = "--deadline TIME, or without --junit";

/// Measures and reports; returns the exit status.
pub(crate) fn wake(args: &WakeArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    if !args.outputs.quiet {
        let words: Vec<String> =
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        bare_numbers(&words).iter().for_each(|note| output::complain(note));
    }
    if args.sheet.is_some() || args.resume.is_some() {
        return sheet::sheet(args, keeper);
    }
    let asked = asked(args)?;
    wakes::check(&asked, &wakes::usable_cpus(), wakes::resolution_ns()).map_err(refused)?;
    junit_has_verdict(&args.outputs.forms, asked.deadline.is_some(), JUDGED)?;
    let outputs = args.outputs.open(&[])?;
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    analyse::wake::too_short(&asked).iter().for_each(|note| output::complain(note));
    // Without it signals are looked for between the stages of the setup.
    let at_once = EndAtOnce::begin(output::remove_unwritten).ok();
    let setup = Setup { idle_states: args.idle_states, spikes: !args.no_spikes, at_once };
    let mut progress = WakeProgress::new(args.outputs.quiet, asked.for_ns);
    let stop = Stop::new(&mut signals);
    let measured = measure(&asked, setup, &mut progress, &|| stop.asked());
    drop(progress);
    let ended_by = stop.status();
    // Writing may wait: for the reader of a pipe, for a disk.
    signals.outlast_one();
    let measured = match (measured, ended_by) {
        (Err(error), Some(status)) if ended_before_start(&error) => return Ok(status),
        (measured, _) => measured?,
    };
    let result = analyse::wake::wakeups(&measured);
    let failed = outputs.write(&result, &args.outputs.look).complain();
    keeper.offer(&result, None);
    if failed {
        return Ok(exit::DWELL_FAILED);
    }
    if let Some(status) = ended_by {
        return Ok(status);
    }
    Ok(match result.verdict {
        Seen::Value(verdict) => status(verdict.answer),
        Seen::Absent => 0,
        Seen::Unseen(_) => status(Answer::Undecided),
    })
}

/// The exit status of a verdict.
pub(super) fn status(answer: Answer) -> u8 {
    match answer {
        Answer::Pass => 0,
        Answer::Fail => 1,
        Answer::Undecided => 2,
    }
}

fn refused(refused: wakes::Error) -> anyhow::Error {
    anyhow!("{refused}")
}

/// The measurement that the command line asks for, with defaults.
fn asked(args: &WakeArgs) -> anyhow::Result<WakeRequest> {
    let mode = WakeMode::from(args.mode);
    let policy = args.policy.unwrap_or(match mode {
        WakeMode::Timer => Policy::Fifo(80),
        WakeMode::Gap => Policy::Other(1),
    });
    let period_ns = match policy {
        Policy::Deadline { period_ns, .. } => Some(period_ns),
        _ => None,
    };
    let deadline = args.deadline.map(|deadline_ns| Deadline {
        deadline_ns,
        margin: args.margin,
        confidence: args.confidence,
        one_in_ns: args.one_in,
    });
    Ok(WakeRequest {
        mode,
        sleeper: args.sleeper.into(),
        cpus: cpus(&args.cpus)?,
        interval_ns: args.interval.or(args.rate).or(period_ns).unwrap_or(INTERVAL_NS),
        for_ns: args.length_ns.unwrap_or(LENGTH_NS),
        policy,
        loads: args.load.clone(),
        deadline,
        spike_ns: args.spike,
    })
}

fn cpus(cpus: &Cpus) -> anyhow::Result<Vec<u32>> {
    match cpus {
        Cpus::These(cpus) => Ok(cpus.as_slice().to_vec()),
        Cpus::All => Ok(wakes::allowed_cpus()),
        Cpus::Isolated => match observe::realtime::isolated() {
            Seen::Value(cpus) if !cpus.is_empty() => Ok(cpus),
            Seen::Unseen(why) => {
                bail!("cannot read the isolated CPUs: {why}\ntry: --cpus with numbers")
            }
            _ => bail!(
                "no CPU is isolated\ntry: isolcpus= on the kernel's command line, or --cpus with numbers"
            ),
        },
    }
}

/// The setup of a measurement other than its threads.
#[derive(Debug)]
pub(super) struct Setup {
    /// Leave idle states as they are.
    pub(super) idle_states: bool,
    /// Trace the kernel around spikes.
    pub(super) spikes: bool,
    /// Signals end dwell at once until the threads measure: there is nothing to lose.
    pub(super) at_once: Option<EndAtOnce>,
}

/// Whether the measurement was ended while its loads started: there are no results.
pub(super) fn ended_before_start(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::Interrupted)
}

/// Measures once. Each stage of the setup ends where `stop` is true.
pub(super) fn measure(
    asked: &WakeRequest,
    setup: Setup,
    progress: &mut dyn Listener,
    stop: &dyn Fn() -> bool,
) -> anyhow::Result<WakeMeasurements> {
    let started_at = rfc3339_now();
    let dma_latency = if setup.idle_states { DmaLatency::leave() } else { DmaLatency::hold() };
    // Before the loads, from which this thread would get little of a CPU for it.
    let spikes = spikes(asked, &setup);
    if stop() {
        return Err(io::Error::from(io::ErrorKind::Interrupted).into());
    }
    // Before this thread moves off the measured CPUs: loads inherit its affinity.
    let running = Running::start(&asked.loads, Duration::from_nanos(asked.for_ns) + LOADS_LONGER, stop)?;
    let real_time = !matches!(asked.policy, Policy::Other(_));
    let mut watch = SpikeListener { spikes, progress, setting_up: setup.at_once, real_time, hurry: None };
    let realtime = Realtime::begin(&asked.cpus);
    let measured = wakes::measure(asked, &mut watch, stop).map_err(refused)?;
    let _hurry = watch.hurry.take().or_else(|| measured.interrupted.then(RtBoost::begin));
    let environment = realtime.end(MeasurementSettings {
        dma_latency_us: dma_latency.held_us.clone(),
        rt_priority_max: wakes::rt_priority_max(),
        housekeeping: measured.housekeeping,
    });
    let stopped = running.stop(measured.interrupted);
    let mut limits = Vec::new();
    if measured.late_lost && watch.spikes.is_ok() {
        limits.push(
            "some spikes came too fast to be traced, so larger latencies than those below may have no \
             cause; try: --spike with a longer time"
                .to_owned(),
        );
    }
    let spikes = match watch.spikes {
        Ok(spikes) => {
            limits.extend_from_slice(spikes.limits());
            Seen::Value(spikes.finish())
        }
        Err(why) => Seen::Unseen(why),
    };
    for (load, why) in &stopped.failed {
        limits.push(format!("the rate of load {} is unknown: {why}", load.kind()));
    }
    Ok(WakeMeasurements {
        host: observe::this_host(),
        environment,
        started_at,
        machine_number: Some(observe::machine_number()),
        dwell: Some(env!("CARGO_PKG_VERSION").to_owned()),
        asked: asked.clone(),
        took_ns: measured.took_ns,
        resolution_ns: measured.resolution_ns,
        threads: measured.threads,
        loads: stopped.done,
        spikes,
        limits,
        interrupted: measured.interrupted,
    })
}

/// The tracing of spikes, or why there is none.
fn spikes(asked: &WakeRequest, setup: &Setup) -> Result<Spikes, String> {
    if !setup.spikes {
        return Err("disabled by --no-spikes".to_owned());
    }
    if asked.mode == WakeMode::Gap {
        return Err("only wake-ups by a timer are traced; --mode gap has none".to_owned());
    }
    if matches!(asked.policy, Policy::Deadline { .. }) {
        return Err("one CPU per thread is traced; SCHED_DEADLINE threads migrate".to_owned());
    }
    Spikes::open(&asked.cpus, asked.spike_ns).map_err(|wall| format!("{}; try: {}", wall.why, wall.remedy))
}

/// Passes wake-ups on to the tracing of spikes and to the progress line.
struct SpikeListener<'a> {
    spikes: Result<Spikes, String>,
    progress: &'a mut dyn Listener,
    setting_up: Option<EndAtOnce>,
    /// The measuring threads have a policy before which this thread never runs.
    real_time: bool,
    hurry: Option<RtBoost>,
}

impl Listener for SpikeListener<'_> {
    fn begins(&mut self, begun_ns: Ns, threads: &[(u32, Tid)]) {
        self.setting_up = None;
        // So that among hundreds of processes of a load this thread sees signals and spikes in
        // time. It does not come before real-time threads; others would be measured worse.
        self.hurry = self.real_time.then(RtBoost::begin);
        if let Ok(spikes) = &mut self.spikes {
            spikes.begin(begun_ns, threads);
        }
        self.progress.begins(begun_ns, threads);
    }

    fn progress(&mut self, progress: Progress) {
        if let Ok(spikes) = &mut self.spikes {
            spikes.look();
        }
        self.progress.progress(progress);
    }

    fn late(&mut self, late: LateWakeup) {
        if let Ok(spikes) = &mut self.spikes {
            spikes.late(late.cpu, late.expected_ns, late.awake_ns);
        }
        self.progress.late(late);
    }
}

/// Shows the time left, and percentiles and the maximum latency so far.
struct WakeProgress {
    line: ProgressLine,
    for_ns: Ns,
    /// The case of a sheet, as text in front.
    before: String,
    /// The duration of the cases after it.
    after_ns: Ns,
}

impl WakeProgress {
    /// For a single measurement.
    fn new(quiet: bool, for_ns: Ns) -> Self {
        Self { line: ProgressLine::new(quiet), for_ns, before: String::new(), after_ns: 0 }
    }
}

impl Listener for WakeProgress {
    fn progress(&mut self, progress: Progress) {
        self.line.update(|| {
            let left_ns = self.for_ns.saturating_sub(progress.elapsed_ns) + self.after_ns;
            let left = report::units::duration(left_ns.next_multiple_of(1_000_000_000));
            let missed =
                if progress.missed > 0 { format!(", {} missed", progress.missed) } else { String::new() };
            format!(
                "{}{left} left: {} wake-ups, p50 {:.1}, p99 {:.1}, max latency {:.1} us{missed}; Ctrl-C to stop",
                self.before,
                progress.cycles,
                progress.quantiles_ns.0 as f64 / 1e3,
                progress.quantiles_ns.1 as f64 / 1e3,
                progress.max_ns as f64 / 1e3
            )
        });
    }
}

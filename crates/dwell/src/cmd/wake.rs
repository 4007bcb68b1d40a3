//! `dwell wake`: how late timers wake threads up on this machine.

mod cases;
mod sheet;

use crate::cli::{Cpus, WakeArgs};
use crate::exit;
use crate::out::{Outputs, Page, WakeResult, junit_has_verdict};
use crate::output;
use crate::progress::Line;
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use loads::Running;
use model::wake::verdict::{Answer, Deadline};
use model::wake::{Asked, Measurements, Mode, Policy};
use model::{Ns, Seen, Tid};
use observe::realtime::{Own, Realtime};
use observe::spikes::Spikes;
use std::io;
use std::time::Duration;
use sys::clock::{rfc3339, unix_s};
use sys::signals::Signals;
use wakes::{Awake, Late, Listener, Progress, Refused};

/// A prime number of microseconds: wake-ups meet the kernel's tick, each 1, 4 or 10 ms, at every place in turn.
const INTERVAL_NS: Ns = 199_000;
/// How long, unless asked otherwise.
const LENGTH_NS: Ns = 10 * 1_000_000_000;
/// Loads are told to stop when the measurement is over; they end by themselves so much later, should nobody be left to tell.
const LOADS_LONGER: Duration = Duration::from_secs(60);
/// What gives JUnit something to say.
const JUDGED: &str = "--deadline TIME, or without --junit";

/// Measures and shows; gives the exit status.
pub(crate) fn wake(args: &WakeArgs) -> anyhow::Result<u8> {
    if args.sheet.is_some() || args.resume.is_some() {
        return sheet::sheet(args);
    }
    let asked = asked(args)?;
    wakes::sound(&asked, &wakes::usable_cpus(), wakes::resolution_ns()).map_err(refused)?;
    junit_has_verdict(&args.forms, asked.deadline.is_some(), JUDGED)?;
    let mut signals = Signals::take_over().context("cannot take signals")?;
    let page = if args.quiet { Page::None } else { Page::Stdout };
    let outputs = Outputs::open(&args.forms, page, None, &[])?;
    analyse::wake::too_short(&asked).iter().for_each(|note| output::complain(note));
    let how = How { idle_states: args.idle_states, spikes: !args.no_spikes };
    let mut progress = Left::new(args.quiet, asked.for_ns);
    let stop = Stop::new(&mut signals);
    let measured = measure(&asked, how, &mut progress, &|| stop.asked());
    drop(progress);
    let measured = match (measured, stop.status()) {
        (Err(error), Some(status)) if before_it_began(&error) => return Ok(status),
        (measured, _) => measured?,
    };
    let result = WakeResult(analyse::wake::wakeups(&measured));
    if outputs.write(&result, &args.look).complain() {
        return Ok(exit::DWELL_FAILED);
    }
    if let Some(status) = stop.status() {
        return Ok(status);
    }
    Ok(match result.0.verdict {
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

fn refused(refused: Refused) -> anyhow::Error {
    anyhow!("{refused}")
}

/// What the command line asks for, defaults filled in.
fn asked(args: &WakeArgs) -> anyhow::Result<Asked> {
    let mode = Mode::from(args.mode);
    let policy = args.policy.unwrap_or(match mode {
        Mode::Timer => Policy::Fifo(80),
        Mode::Gap => Policy::Other(1),
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
    Ok(Asked {
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
                bail!("the isolated processors are not known: {why}\ntry: --cpus with numbers")
            }
            _ => bail!(
                "no processor is isolated\ntry: isolcpus= on the kernel's command line, or --cpus with numbers"
            ),
        },
    }
}

/// What is done around a measurement.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    /// Idle states are left as they are.
    pub(super) idle_states: bool,
    /// The kernel is watched for what made wake-ups late.
    pub(super) spikes: bool,
}

/// Whether it was ended while its loads began: there is nothing to show.
pub(super) fn before_it_began(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::Interrupted)
}

/// Measures once.
pub(super) fn measure(
    asked: &Asked,
    how: How,
    progress: &mut dyn Listener,
    stop: &dyn Fn() -> bool,
) -> anyhow::Result<Measurements> {
    let started_at = rfc3339(unix_s());
    // Before this thread leaves the measured processors: loads have those that it has.
    let running = Running::start(&asked.loads, Duration::from_nanos(asked.for_ns) + LOADS_LONGER, stop)?;
    let awake = if how.idle_states { Awake::leave() } else { Awake::hold() };
    let mut watch = Watch { spikes: spikes(asked, how), progress };
    let realtime = Realtime::begin(&asked.cpus);
    let measured = wakes::measure(asked, &mut watch, stop).map_err(refused)?;
    let environment = realtime.end(Own {
        dma_latency_us: awake.dma_latency_us.clone(),
        rt_priority_max: wakes::rt_priority_max(),
        housekeeping: measured.housekeeping,
    });
    let stopped = running.stop();
    let mut limits = Vec::new();
    if measured.late_lost && watch.spikes.is_ok() {
        limits.push(
            "some late wake-ups came too fast to be looked at, so later ones than these may have no cause here; try: --spike with a longer \
             time"
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
        limits.push(format!("what load {} did is not known: {why}", load.kind()));
    }
    Ok(Measurements {
        host: observe::this_host(),
        environment,
        started_at,
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

/// What watches the kernel meanwhile, or why nothing does.
fn spikes(asked: &Asked, how: How) -> Result<Spikes, String> {
    if !how.spikes {
        return Err("nobody asked for it: --no-spikes".to_owned());
    }
    if asked.mode == Mode::Gap {
        return Err("it is told of threads that wait for a timer, and these do not wait".to_owned());
    }
    if matches!(asked.policy, Policy::Deadline { .. }) {
        return Err("threads of SCHED_DEADLINE move between processors, and it is told of one".to_owned());
    }
    Spikes::open(&asked.cpus, asked.spike_ns).map_err(|wall| format!("{}; try: {}", wall.why, wall.remedy))
}

/// Passes on what is told while it is measured.
struct Watch<'a> {
    spikes: Result<Spikes, String>,
    progress: &'a mut dyn Listener,
}

impl Listener for Watch<'_> {
    fn begins(&mut self, begun_ns: Ns, threads: &[(u32, Tid)]) {
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

    fn late(&mut self, late: Late) {
        if let Ok(spikes) = &mut self.spikes {
            spikes.late(late.cpu, late.expected_ns, late.awake_ns);
        }
        self.progress.late(late);
    }
}

/// Says how far it is.
struct Left {
    line: Line,
    for_ns: Ns,
    /// Which case of a sheet it is.
    before: String,
    /// What the cases after it will take.
    after_ns: Ns,
}

impl Left {
    /// Of one measurement.
    fn new(quiet: bool, for_ns: Ns) -> Self {
        Self { line: Line::new(quiet), for_ns, before: String::new(), after_ns: 0 }
    }
}

impl Listener for Left {
    fn progress(&mut self, progress: Progress) {
        self.line.say(|| {
            let left_ns = self.for_ns.saturating_sub(progress.elapsed_ns) + self.after_ns;
            let left = report::units::duration(left_ns.next_multiple_of(1_000_000_000));
            let missed =
                if progress.missed > 0 { format!(", {} missed", progress.missed) } else { String::new() };
            format!(
                "{}{left} left: {} wake-ups, the latest by {:.1} us{missed}; Ctrl-C ends it",
                self.before,
                progress.cycles,
                progress.max_ns as f64 / 1e3
            )
        });
    }
}

//! The run, put together: the pieces of the account, the tables from the trailer, and what it all
//! rests on.

use crate::account::{Pieces, Progress, ProgressTimes, run_queue};
use crate::bounds::bounded;
use crate::consumers::{Consumers, TierAnalysis};
use crate::counted::{CounterHit, Sampled};
use crate::counters::OnPath;
use crate::names::Names;
use crate::poll;
use crate::rivals::Rivals;
use crate::trace::Closed;
use crate::untraced::Untraced;
use crate::what_if::program::Program;
use crate::{code, identity, judge, kernel_faults, memory_peak, own_tasks, service, sliced, syscall_rows};
use model::account::DoesNotClose;
use model::coverage::{Check, Coverage, Extent, InstrumentOverhead, Interval, Source};
use model::profile::{Activity, Profile};
use model::recording::{Cost, HostCpu, Tier, Trailer};
use model::requests::Unit;
use model::run::{Run, ThreadLedger, Utilization};
use model::tables::Tables;
use model::{Account, Header, Ns, Origin, Prediction, RunResult, Seen, State};

/// Two figures for one thing may differ by this much and still agree: 2 %, or 10 ms; and by what
/// explains `more`.
fn agree(ours: Ns, theirs: Ns, more: Ns) -> bool {
    ours.abs_diff(theirs) <= (theirs / 50).max(10_000_000) + more
}

/// What the scheduler does in its own time at each switch: it counts that with the thread that
/// comes, and we with the wait before it. Up to 25 us where timers are set through a hypervisor; no
/// more than one part in `share` of the time on a CPU.
fn switching(switches: u64, cpu_ns: Ns, share: Ns) -> Ns {
    (switches * 25_000).min(cpu_ns / share)
}

/// A thread that is woken for another CPU is put into its run queue some microseconds later,
/// by an interrupt there. The scheduler counts from then on, and we from the wake-up.
fn underway(closed: &Closed) -> Ns {
    closed.switches * 10_000
}

/// What the scheduler counts otherwise than we where a thread waited until an idle CPU had woken
/// up. It reads its clock when it queues the thread there, and not again when that CPU comes to it:
/// a waker that queues it itself (PREEMPT_RT always does) has all of that wait counted as the
/// thread's time on the CPU (`rq_clock_skip_update` in `kernel/sched/core.c`); one that has the
/// idle CPU do so has it counted as neither. So the scheduler may have up to this much more on
/// CPUs, and as much less in run queues.
fn idled(closed: &Closed) -> Ns {
    closed.rivals.idle_ns()
}

/// From the end until the counters of threads that lived on were read.
fn counting(trailer: &Trailer) -> Ns {
    trailer.living_until.map_or(0, |until| until.saturating_sub(trailer.reaped_at))
}

/// Steal of all CPUs during the run, with a step of the kernel's count for each. The kernel leaves
/// it out of what it says that threads ran (CONFIG_PARAVIRT_TIME_ACCOUNTING in
/// `kernel/sched/core.c`), and a CPU that was taken puts a woken thread into its queue later;
/// no event tells a tracer of either.
fn stolen(trailer: &Trailer, cpus: u32) -> Ns {
    match &trailer.host_cpu {
        Seen::Value(host) if host.steal_ns > 0 => host.steal_ns + Ns::from(cpus) * 10_000_000,
        _ => 0,
    }
}

/// What a thread does in the kernel on a CPU.
const IN_KERNEL: &[State] = &[State::Kernel, State::Fault, State::Interrupt];

/// The whole run; and what its threads did step by step, where that was kept.
///
/// # Errors
/// The account does not close.
pub(crate) fn run(
    consumers: Consumers,
    trailer: &Trailer,
) -> Result<(RunResult, Option<(Program, Names)>), DoesNotClose> {
    let Consumers { header, how, code: stacks, surroundings, loads, counters, measured } = consumers;
    let (of_tier, mut profile) = of_tier_and_profile(how, &header, trailer, &stacks);
    let OfTier { pieces, beside, mut tables, rivals, prediction, recorded, on_path, follows_tasks } = of_tier;
    let Pieces { start, wall_ns, parts, steps, phases, covered, threads, waits, window } = pieces;
    let addresses = stacks.addresses(&counters.precise_cycles(trailer));
    profile.moments.iter_mut().for_each(|moment| moment.at_ns = moment.at_ns.saturating_sub(start));
    let whole_ns = window.as_ref().map_or(wall_ns, |window| window.thread_ns);
    let account = Account::new(whole_ns, parts, steps.times())?;
    let user_ns = time_in(&threads, &[State::User]);
    let kernel_ns = time_in(&threads, IN_KERNEL);
    let on_path = on_path.map_or(Seen::Absent, |counts| {
        let times = (account.ns(State::User), IN_KERNEL.iter().map(|state| account.ns(*state)).sum());
        Seen::Value(OnPath { counts, times })
    });
    tables.counters = counters.table(&stacks, trailer, (user_ns, kernel_ns), on_path);
    // Without a sample there is no share: a program of less than a sampling period, or no access.
    if profile.weights.iter().any(|weight| !matches!(weight.doing, Activity::Waiting(_))) {
        tables.functions = Seen::Value(code::functions(&profile));
        tables.lines = Seen::Value(code::lines(&profile));
        tables.loads = loads.table(&stacks, trailer);
    } else {
        let why = why_unsampled(&header, trailer);
        tables.functions = Seen::unseen(&why);
        tables.lines = Seen::unseen(&why);
        tables.loads = Seen::unseen(why);
    }
    let utilization = utilization(covered, wall_ns);
    let queue = run_queue(steps.iter(), &threads, wall_ns, rivals.as_ref());
    let mut coverage =
        coverage(&header, trailer, &account, start, user_ns + kernel_ns, beside.checks, beside.notes);
    let contention =
        judge::starved::Contention { queue: &queue, coverage: &coverage, cpus: header.host.cpus, wall_ns };
    let bound = judge::bound::bound(&account, contention);
    let mut series = surroundings.series(start, wall_ns);
    if let Seen::Value(series) = &mut series {
        series.verdicts = judge::limits::verdicts(series, wall_ns, &bound);
    }
    coverage.sources.extend(surroundings.source(&series));
    coverage.notes.extend(code::short_of(&profile, user_ns + kernel_ns));
    let answers = tables.requests.value().is_some_and(|requests| requests.times > 0);
    // It qualifies more than the others do: the time is there, and not seen.
    coverage.notes.splice(0..0, own_tasks::note(&waits, answers, follows_tasks));
    if judge::doubts::is_busy(&coverage) {
        coverage.notes.extend(kernel_faults::starving(&header.host.kernel));
    }
    let run = Run {
        schema: if window.is_some() { model::run::SCHEMA_ATTACH } else { model::run::SCHEMA_RUN },
        command: header.command.clone(),
        exit: trailer.ending,
        started_at: started_at(&header),
        origin: Origin { id: None, machine_number: header.machine.clone() },
        dwell: Some(header.recorder.clone()),
        service: service::name(header.attached.as_ref().map(|window| &*window.target), &header.command),
        wall_ns,
        user_ns: Seen::Value(user_ns),
        kernel_ns: Seen::Value(kernel_ns),
        bound,
        coverage,
        series,
        account: account.parts().to_vec(),
        path: Vec::new(),
        places: Seen::Absent,
        phases,
        window,
        utilization,
        threads,
        waits,
        tables,
        extrapolation: None,
        folded: Vec::new(),
        run_queue: Seen::Value(queue),
        limits: surroundings.limits(),
        costs: trailer.costs.clone(),
        host: header.host,
    };
    let mut run = bounded(run, steps.iter().collect());
    run.origin.id = Some(identity::of_run(&run));
    // Rows that stand for several are not those of the steps.
    let whole = run.path.len() == steps.iter().count() && run.path.iter().all(|row| row.together.is_none());
    let path_over_time = if whole { steps.over_time().to_vec() } else { Vec::new() };
    let diagnosis = judge::judge_by(measured, header.tier, &mut run, &mut profile, &prediction);
    let profile = Seen::Value(profile);
    Ok((RunResult { run, diagnosis, path_over_time, profile, addresses, prediction }, recorded))
}

/// How CPUs were used, from what any thread did.
fn utilization(covered: Option<ProgressTimes>, wall_ns: Ns) -> Seen<Utilization> {
    let Some(covered) = covered else { return Seen::unseen("when threads ran together needs BPF") };
    let covered = covered.within(wall_ns);
    let (on_cpu_ns, runnable_ns) = (covered.of(Progress::OnCpu), covered.of(Progress::Runnable));
    let off_cpu_ns = wall_ns - on_cpu_ns - runnable_ns;
    Seen::Value(Utilization { on_cpu_ns, runnable_ns, off_cpu_ns })
}

/// What the analysis of a tier gives.
struct OfTier {
    pieces: Pieces,
    beside: TierExtras,
    tables: Tables,
    /// None where it is not seen what ran instead.
    rivals: Option<Rivals>,
    prediction: Seen<Prediction>,
    recorded: Option<(Program, Names)>,
    /// What the processor's counters counted on the path; none in a window.
    on_path: Option<Vec<(CounterHit, Sampled)>>,
    /// Requests were followed from task to task, of programs that schedule these themselves.
    follows_tasks: bool,
}

/// Both, a large profile on another CPU meanwhile: the program has ended and no longer needs it.
fn of_tier_and_profile(
    how: TierAnalysis,
    header: &Header,
    trailer: &Trailer,
    stacks: &code::Code,
) -> (OfTier, Profile) {
    std::thread::scope(|scope| {
        let start = || std::thread::Builder::new().spawn_scoped(scope, || stacks.profile()).ok();
        let other = stacks.is_large().then(start).flatten();
        let of_tier = of_tier(how, header, trailer, stacks);
        let profile = other.map_or_else(
            || stacks.profile(),
            |other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        );
        (of_tier, profile)
    })
}

fn of_tier(how: TierAnalysis, header: &Header, trailer: &Trailer, stacks: &code::Code) -> OfTier {
    let stolen = stolen(trailer, header.host.cpus);
    match how {
        TierAnalysis::Trace(trace) => {
            let closed = trace.close(trailer, stacks);
            let beside = TierExtras::of_trace(&closed, trailer, header.host.cpus, stolen);
            let mut tables = closed.tables;
            if let Some(why) = why_none_of(header, "network") {
                tables.connections = Seen::unseen(&why);
                tables.lookups = Seen::unseen(why);
            }
            if let Some(why) = why_none_of(header, "fault places") {
                tables.fault_places = Seen::unseen(why);
            }
            tables.memory_peak = memory_peak::traced(closed.largest, header, trailer);
            tables.syscalls = syscall_rows::rows(header, trailer, &closed.untraced);
            OfTier {
                pieces: closed.pieces,
                beside,
                tables,
                rivals: Some(closed.rivals),
                prediction: closed.prediction,
                recorded: closed.recorded,
                on_path: closed.on_path,
                follows_tasks: closed.follows_tasks,
            }
        }
        TierAnalysis::Poll(poll) => {
            let closed = poll.close(trailer);
            let mut tables = Tables::unseen();
            tables.faults = Seen::Value(closed.faults);
            tables.memory_peak = memory_peak::polled(&closed.pieces.threads, header, trailer);
            tables.syscalls = syscall_rows::rows(header, trailer, &Untraced::default());
            OfTier {
                beside: TierExtras::of_poll(&closed, header.host.cpus, stolen),
                tables,
                rivals: None,
                prediction: Seen::unseen("which thread held up which needs BPF"),
                recorded: None,
                on_path: closed.on_path,
                follows_tasks: false,
                pieces: closed.pieces,
            }
        }
    }
}

/// Time of all threads in these states.
fn time_in(threads: &[ThreadLedger], states: &[State]) -> Ns {
    let all = threads.iter().flat_map(|thread| &thread.states);
    all.filter(|(state, _)| states.contains(state)).map(|(_, ns)| ns).sum()
}

/// Why nothing of a source was seen, where it was not.
fn why_none_of(header: &Header, name: &str) -> Option<String> {
    match header.sources.iter().find(|source| source.name == name) {
        Some(source) if source.seen == Extent::None => Some(source.why.clone()),
        Some(_) => None,
        None => Some("not in this recording".to_owned()),
    }
}

/// Why no stack of running code was seen.
fn why_unsampled(header: &Header, trailer: &Trailer) -> String {
    let told = trailer.sources.iter().chain(&header.sources).find(|source| source.name == "code");
    match told {
        Some(source) if source.seen == Extent::None => source.why.clone(),
        _ => "the program ran for less than a sampling period".to_owned(),
    }
}

fn started_at(header: &Header) -> String {
    let seconds = i64::try_from(header.started_at_unix_s).unwrap_or(i64::MAX);
    let second = jiff::Timestamp::from_second(seconds).map(|time| time.to_string()).unwrap_or_default();
    match header.started_at_ns {
        Some(ns) if ns < 1_000_000_000 => format!("{}.{ns:09}Z", second.trim_end_matches('Z')),
        // A recording of before, or of nobody's.
        _ => second,
    }
}

/// What a tier knows in addition to the account.
struct TierExtras {
    checks: Vec<Check>,
    notes: Vec<String>,
}

impl TierExtras {
    fn of_poll(closed: &poll::Closed, cpus: u32, stolen: Ns) -> Self {
        let check = |counted: poll::Counted| Check {
            what: "CPU time of all threads against the scheduler's".to_owned(),
            ours_ns: counted.ours_ns,
            theirs_ns: counted.theirs_ns,
            // The scheduler adds up what a thread that runs has had at each tick. The switching of
            // the perf events, with a timer each, falls between their records.
            agrees: agree(
                counted.ours_ns,
                counted.theirs_ns,
                switching(counted.switches, counted.theirs_ns, 2) + Ns::from(cpus) * 10_000_000 + stolen,
            ),
        };
        Self { checks: closed.cpu.map(check).into_iter().collect(), notes: closed.notes.clone() }
    }

    fn of_trace(closed: &Closed, trailer: &Trailer, cpus: u32, stolen: Ns) -> Self {
        let idled = idled(closed);
        let on_cpus = |(ours, theirs): (Ns, Ns), allowed| {
            agree(ours + theirs.saturating_sub(ours).min(idled), theirs, allowed)
        };
        let queued = |(ours, theirs): (Ns, Ns), allowed| {
            agree(ours - ours.saturating_sub(theirs).min(idled), theirs, allowed)
        };
        let made = |what: &str, (ours_ns, theirs_ns), agrees| Check {
            what: what.to_owned(),
            ours_ns,
            theirs_ns,
            agrees,
        };
        let switching = switching(closed.switches, closed.cpu.1, 4);
        // In a window the others were counted at both of its ends. They run on while they are: of
        // 10,000 threads that takes half a second.
        let (whose, meanwhile) = match closed.pieces.window {
            Some(_) => ("all threads", Ns::from(cpus) * counting(trailer)),
            None => ("exited threads", 0),
        };
        let what = format!("CPU time of {whose} against the scheduler's");
        let mut checks = vec![made(&what, closed.cpu, on_cpus(closed.cpu, switching + stolen + meanwhile))];
        // The scheduler adds an interval in the run queue when it ends, so the edges of a window
        // are not in its sum as they are in ours.
        if closed.pieces.window.is_none() {
            let agrees = queued(closed.runqueue, switching.max(underway(closed)) + stolen);
            let what = format!("run-queue time of {whose} against the scheduler's");
            checks.push(made(&what, closed.runqueue, agrees));
        }
        if let (Seen::Value(rusage), true) = (&trailer.rusage, trailer.living.is_empty()) {
            let of_tree = closed.pieces.threads.iter().flat_map(|thread| &thread.states);
            let ours: Ns = of_tree.filter(|(state, _)| state.on_cpu()).map(|(_, ns)| ns).sum();
            let theirs = rusage.user_ns + rusage.kernel_ns;
            // It knows only children that were waited for: less than ours is no contradiction, and
            // says nothing.
            let agrees = on_cpus((ours, theirs), switching + stolen);
            if ours <= theirs || agrees {
                checks.push(made("CPU time of the tree against getrusage", (ours, theirs), agrees));
            }
        }
        Self { checks, notes: Vec::new() }
    }
}

fn coverage(
    header: &Header,
    trailer: &Trailer,
    account: &Account,
    start: Ns,
    tree_cpu_ns: Ns,
    checks: Vec<Check>,
    mut notes: Vec<String>,
) -> Coverage {
    let mut sources = header.sources.clone();
    for worse in &trailer.sources {
        match sources.iter_mut().find(|source| source.name == worse.name) {
            Some(source) => source.clone_from(worse),
            None => sources.push(worse.clone()),
        }
    }
    if let Some(sliced) = &trailer.sliced
        // Where the kernel refuses the programs of calls, windows change nothing.
        && let Some(calls) = sources.iter_mut().find(|source| source.name == "calls" && source.seen == Extent::Full)
    {
        calls.seen = Extent::Partial;
        calls.why = sliced::why(sliced);
        calls.remedy = sliced::remedy(sliced).into();
    }
    if !sources.iter().any(|source| source.name == "code") {
        sources.push(Source::none("code", "no stacks in this recording", ""));
    }
    if let Some(until) = trailer.kept_until {
        let after = until.saturating_sub(start);
        notes.push(format!("the recording has the events of the first {:.1} s only", after as f64 / 1e9));
    }
    if header.units.unit != Unit::Request && header.tier != Tier::Bpf {
        notes.push(format!("{}s are not followed without BPF", header.units.unit.name()));
    }
    if trailer.cost.is_empty() {
        notes.push("dwell's overhead was not measured".to_owned());
    }
    let overhead_by = overhead_by(trailer);
    notes.extend(overhead_by.iter().find_map(|one| counting_is_dear(one, tree_cpu_ns)));
    let host_cpu = trailer.host_cpu.as_ref();
    let host = host_cpu.clone().and_then(|host| match host.span_ns {
        ..HOST_SPAN_NS_MIN => {
            Seen::unseen("the run is too short for the host's CPU counters (steps of 10 ms)")
        }
        _ => Seen::Value(host),
    });
    Coverage {
        sources,
        lost_events: trailer.lost_events.clone(),
        unexplained_ns: account.ns(State::Unexplained),
        overhead_ns: if trailer.cost.is_empty() {
            Seen::unseen("this source does not measure its overhead")
        } else {
            let sum = |end: fn(&InstrumentOverhead) -> Ns| overhead_by.iter().map(end).sum();
            Seen::Value(Interval { lo: sum(|one| one.lo_ns), hi: sum(|one| one.hi_ns) })
        },
        overhead_by,
        reader_cpu_ns: host_cpu.map(|host| host.dwell_ns),
        host_busy: host.as_ref().map(|host| others_share(host, header.host.cpus, tree_cpu_ns)),
        steal_ns: host.map(|host| host.steal_ns),
        checks,
        notes,
    }
}

/// What each instrument cost the program. Those that never ran are left out.
fn overhead_by(trailer: &Trailer) -> Vec<InstrumentOverhead> {
    let one = |cost: &Cost| InstrumentOverhead {
        what: cost.what.clone(),
        times: cost.times,
        lo_ns: cost.times * cost.each_ns.0,
        hi_ns: cost.times * cost.each_ns.1,
    };
    trailer.cost.iter().filter(|cost| cost.times > 0).map(one).collect()
}

/// Counting calls is outside the bound of `dwell run`: past this many per cent the page says so.
const COUNTING_PER_CENT_MAX: f64 = 5.0;

fn counting_is_dear(counting: &InstrumentOverhead, tree_cpu_ns: Ns) -> Option<String> {
    let per_cent = |ns: Ns| 100.0 * ns as f64 / tree_cpu_ns.max(1) as f64;
    let (lo, hi) = (per_cent(counting.lo_ns), per_cent(counting.hi_ns));
    let is_dear = counting.what == model::recording::COUNTING && lo > COUNTING_PER_CENT_MAX;
    is_dear.then(|| {
        format!(
            "counting {} system calls took {lo:.0} to {hi:.0} % of the program's CPU time; \
             --max-overhead 5% limits that, and makes the counts estimates",
            counting.times
        )
    })
}

/// The host's counters move in ticks; over less than ten of them they tell nothing.
const HOST_SPAN_NS_MIN: Ns = 100_000_000;

/// What other programs took of all CPUs, over a span that is long enough.
fn others_share(host: &HostCpu, cpus: u32, tree_cpu_ns: Ns) -> f64 {
    let others = host.busy_ns.saturating_sub(tree_cpu_ns + host.dwell_ns);
    let all = host.span_ns * u64::from(cpus.max(1));
    (others as f64 / all as f64).min(1.0)
}

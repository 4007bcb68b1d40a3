//! The comparable part of dwell's own results: settings as words, and the figures.

use super::words::{duration, list};
use model::compare::wake::{CaseName, Comparable, ComparableCase, MeasurementOrigin, SettingText};
use model::wake::environment::{CpuSettings, Environment};
use model::wake::load::Load;
use model::wake::sheet::Sheet;
use model::wake::{Policy, Sleeper, WakeMode, Wakeups};
use model::{Ns, Seen};

/// The comparable part of one result.
pub fn comparable(wakeups: &Wakeups) -> Comparable {
    Comparable {
        origin: origin(wakeups),
        settings: of_machine(wakeups),
        cases: vec![case(CaseName::Plain, wakeups)],
        limits: wakeups.limits.clone(),
    }
}

/// The comparable part of a sheet, as far as it was measured; none without cases. The machine's
/// settings come from the first case.
pub fn comparable_sheet(sheet: &Sheet) -> Option<Comparable> {
    let first = sheet.results.first()?;
    let cases = sheet.cases.iter().zip(&sheet.results);
    let mut limits: Vec<String> = Vec::new();
    for limit in sheet.results.iter().flat_map(|result| &result.limits) {
        if !limits.contains(limit) {
            limits.push(limit.clone());
        }
    }
    Some(Comparable {
        origin: origin(first),
        settings: of_machine(first),
        cases: cases.map(|(about, result)| case(CaseName::OfSheet(about.name.clone()), result)).collect(),
        limits,
    })
}

fn origin(wakeups: &Wakeups) -> MeasurementOrigin {
    MeasurementOrigin {
        host: wakeups.host.name.clone(),
        kernel: wakeups.host.kernel.clone(),
        started_at: wakeups.started_at.clone(),
        tool: "dwell".to_owned(),
    }
}

fn case(name: CaseName, wakeups: &Wakeups) -> ComparableCase {
    ComparableCase {
        name,
        settings: of_case(wakeups),
        loads: Some(wakeups.settings.asked.loads.clone()),
        all: wakeups.all.clone(),
        threads: wakeups.threads.clone(),
    }
}

/// One setting.
pub(super) fn setting(what: &str, value: impl Into<String>) -> SettingText {
    SettingText { what: what.to_owned(), value: value.into() }
}

/// A policy with its parameters, short enough for a table.
pub(super) fn policy(policy: Policy) -> String {
    match policy {
        Policy::Fifo(priority) => format!("fifo:{priority}"),
        Policy::Rr(priority) => format!("rr:{priority}"),
        Policy::Other(slack_ns) => format!("other, timer slack {}", duration(slack_ns)),
        Policy::Deadline { runtime_ns, deadline_ns, period_ns } => {
            format!("deadline:{}/{}/{}", duration(runtime_ns), duration(deadline_ns), duration(period_ns))
        }
    }
}

/// The interval, named alike for dwell's results and those of other tools.
pub(super) fn interval(ns: Ns) -> SettingText {
    setting("interval", duration(ns))
}

fn of_machine(wakeups: &Wakeups) -> Vec<SettingText> {
    let Environment { preemption, clocksource, hypervisor, dma_latency_us, smt, isolated, nohz_full, .. } =
        &wakeups.environment;
    let mut known = vec![
        setting("host", &*wakeups.host.name),
        setting("kernel", &*wakeups.host.kernel),
        setting("architecture", &*wakeups.host.arch),
        setting("CPUs", wakeups.host.cpus.to_string()),
    ];
    let mut add = |what: &str, value: Option<String>| known.extend(value.map(|value| setting(what, value)));
    add("preemption", preemption.value().cloned());
    add("clock source", clocksource.value().cloned());
    add("hypervisor", or_none(hypervisor, Clone::clone));
    add("/dev/cpu_dma_latency", or_none(dma_latency_us, |us| format!("{us} us")));
    add("SMT", smt.value().map(|on| if *on { "on" } else { "off" }.to_owned()));
    add("isolcpus", or_none(isolated, |cpus| list(cpus)));
    add("nohz_full", or_none(nohz_full, |cpus| list(cpus)));
    add("governor", governors(&wakeups.environment.cpus));
    known
}

/// The value, or `none`; nothing where it could not be observed.
fn or_none<T>(seen: &Seen<T>, show: impl Fn(&T) -> String) -> Option<String> {
    match seen {
        Seen::Value(value) => Some(show(value)).filter(|text| !text.is_empty()).or(Some("none".to_owned())),
        Seen::Absent => Some("none".to_owned()),
        Seen::Unseen(_) => None,
    }
}

fn governors(cpus: &[CpuSettings]) -> Option<String> {
    let mut all: Vec<&str> = cpus.iter().filter_map(|cpu| Some(cpu.governor.value()?.as_str())).collect();
    all.sort_unstable();
    all.dedup();
    (!all.is_empty()).then(|| all.join(", "))
}

fn of_case(wakeups: &Wakeups) -> Vec<SettingText> {
    let asked = &wakeups.settings.asked;
    let mut policies: Vec<String> = wakeups.settings.in_force.iter().map(|one| policy(one.policy)).collect();
    policies.dedup();
    let mode = match asked.mode {
        WakeMode::Timer => match asked.sleeper {
            Sleeper::ClockNanosleep => "clock_nanosleep",
            Sleeper::Timerfd => "timerfd",
            Sleeper::PosixTimer => "POSIX timer",
        },
        WakeMode::Gap => "busy loop",
    };
    let mut known = vec![
        setting("measured by", mode),
        setting("policy", policies.join(", ")),
        setting("measured CPUs", list(&asked.cpus)),
        setting("load", loads(&asked.loads)),
    ];
    if asked.mode == WakeMode::Timer {
        known.insert(1, interval(asked.interval_ns));
    }
    known
}

fn loads(loads: &[Load]) -> String {
    if loads.is_empty() {
        return "none".to_owned();
    }
    loads.iter().map(Load::spec).collect::<Vec<_>>().join(", ")
}

//! The limits of the program's control group that it came up against, a sentence each.

use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::units::{bytes, count, counted, duration, share_of_one};
use model::Run;
use model::diagnosis::Limit;
use model::limits::{CpuQuota, Limits, MemoryLimit};

pub(super) fn lines(run: &Run, limits: &[Limit], look: Look) -> Vec<Line> {
    let Some(of) = run.limits.value() else { return Vec::new() };
    limits.iter().flat_map(|limit| line(*limit, of, run, look)).flat_map(|line| line.wrap(2)).collect()
}

fn line(limit: Limit, of: &Limits, run: &Run, look: Look) -> Option<Line> {
    match limit {
        Limit::Quota => of.cpu.value().map(|quota| quota_line(quota, look)),
        Limit::Memory => of.memory.value().map(|memory| memory_line(memory, look)),
        Limit::Cpus => of.cpus_allowed.value().map(|allowed| cpus_line(*allowed, run, look)),
    }
}

/// `control group /a: 20 ms of each 100 ms, 20 % of a CPU`.
pub(super) fn quota(line: Line, ink: Ink, of: &CpuQuota, look: Look) -> Line {
    let line = line
        .add(ink, &format!("control group {}: ", clean(&of.group, look.unicode)))
        .glued(ink, &duration(of.quota_ns))
        .add(ink, " of each ")
        .glued(ink, &duration(of.period_ns))
        .add(ink, ", ");
    match of.cpus() {
        cpus if cpus < 1.0 => line.glued(ink, &share_of_one(cpus)).add(ink, " of a CPU"),
        cpus => line.glued(ink, &format!("{cpus:.1} CPUs")),
    }
}

fn quota_line(of: &CpuQuota, look: Look) -> Line {
    quota(Line::new(look).add(Ink::Warn, "CPU quota of "), Ink::Warn, of, look)
        .add(Ink::Plain, "; used up in ")
        .glued(Ink::Plain, &format!("{} of {}", count(of.throttled_periods), counted(of.periods, "period")))
}

fn memory_line(of: &MemoryLimit, look: Look) -> Line {
    let group = clean(&of.group, look.unicode);
    let line = Line::new(look)
        .add(Ink::Warn, &format!("memory limit of control group {group}: "))
        .glued(Ink::Warn, &bytes(of.limit_bytes))
        .add(Ink::Plain, ", up to ")
        .glued(Ink::Plain, &bytes(of.used_bytes))
        .add(Ink::Plain, " in use");
    match of.reached {
        0 => line,
        reached => line.add(Ink::Plain, ", reached ").glued(Ink::Plain, &counted(reached, "time")),
    }
}

fn cpus_line(allowed: u32, run: &Run, look: Look) -> Line {
    let cpus = counted(u64::from(run.host.cpus), "CPU");
    Line::new(look).add(Ink::Warn, &format!("the program may run on {allowed} of {cpus}"))
}

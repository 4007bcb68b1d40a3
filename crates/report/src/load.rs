//! What a load did: a short page for a terminal, and the JSON of `dwell.load/1`.

use crate::Look;
use crate::json::visible;
use crate::paint::{Ink, Line};
use crate::units;
use model::wake::load::{Load, LoadDone, LoadRun, Transport, Workers};

/// Mismatches that the page describes; all are in the JSON, up to its own limit.
const MISMATCHES: usize = 5;

/// It as indented JSON, with a newline at its end.
pub fn json(run: &LoadRun) -> String {
    // Only a map with keys that are no strings could fail: there is none.
    visible(&serde_json::to_string_pretty(run).expect("a load has string keys only"))
}

/// The page, with a newline after each line.
pub fn terminal(run: &LoadRun, look: Look) -> String {
    let done = &run.result;
    let mut lines = vec![
        Line::new(look).add(Ink::Bold, &name(&done.load)).add(Ink::Plain, &format!(": {}", what(&done.load))),
        Line::new(look).add(Ink::Plain, "  ").add(Ink::Bold, &rate(done)).add(
            Ink::Plain,
            &format!(
                ": {} in {}; {} of processor time",
                amount(done),
                units::duration(done.ran_ns),
                units::duration(done.cpu_ns)
            ),
        ),
    ];
    if run.interrupted {
        lines.push(Line::new(look).add(Ink::Warn, "  ended early"));
    }
    if done.mismatches_total > 0 {
        let found = units::counted(done.mismatches_total, "mismatch").replace("mismatchs", "mismatches");
        lines.push(
            Line::new(look).add(Ink::Warn, &format!("  {found}: what was given was not what came back")),
        );
        for mismatch in done.mismatches.iter().take(MISMATCHES) {
            lines.push(Line::new(look).add(
                Ink::Warn,
                &format!(
                    "    at {:#x}: {:#018x} instead of {:#018x}, {} wrong, seen by CPU {}",
                    mismatch.at,
                    mismatch.actual,
                    mismatch.expected,
                    units::counted(u64::from((mismatch.expected ^ mismatch.actual).count_ones()), "bit"),
                    mismatch.cpu
                ),
            ));
        }
    }
    lines.extend(done.limits.iter().map(|limit| Line::new(look).add(Ink::Dim, &format!("  {limit}"))));
    lines.into_iter().flat_map(|line| line.wrap(4)).map(|line| line.render() + "\n").collect()
}

/// The load's name.
pub fn name(load: &Load) -> String {
    match load {
        Load::Sched { .. } => "sched",
        Load::Memory { .. } => "memory",
        Load::Disk { .. } => "disk",
        Load::Network { .. } => "network",
        Load::Cpu { .. } => "cpu",
        Load::Irq { .. } => "irq",
    }
    .to_owned()
}

/// What the load does, in words. A directory in it may be anybody's text: it is for [`Line`]s.
pub fn what(load: &Load) -> String {
    let threads = |count: u32| units::counted(count.into(), "thread");
    match load {
        Load::Sched { groups, pairs, message_bytes, transport, workers } => {
            let by = match transport {
                Transport::Sockets => "local sockets",
                Transport::Pipes => "pipes",
            };
            let who = match workers {
                Workers::Processes => "processes",
                Workers::Threads => "threads",
            };
            format!(
                "{} of {} and as many receivers ({who}), {} a message by {by}",
                units::counted((*groups).into(), "group"),
                units::counted((*pairs).into(), "sender"),
                units::counted((*message_bytes).into(), "byte")
            )
        }
        Load::Memory { threads: n, bytes } => {
            format!("{} copying and verifying {}", threads(*n), units::bytes(*bytes))
        }
        Load::Disk { threads: n, bytes, dir } => {
            let place =
                dir.as_ref().map_or_else(|| "the directory for temporary files".to_owned(), Clone::clone);
            format!("{} writing, reading and verifying {} each in {place}", threads(*n), units::bytes(*bytes))
        }
        Load::Network { threads: n, message_bytes } => format!(
            "{} over the loopback, {} a message",
            units::counted((*n).into(), "TCP connection"),
            units::counted((*message_bytes).into(), "byte")
        ),
        Load::Cpu { threads: n } => format!("{} computing", threads(*n)),
        Load::Irq { threads: n, rate_hz } => {
            format!("{}, each with a timer of {} a second", threads(*n), units::count((*rate_hz).into()))
        }
    }
}

/// How much was done, with its unit.
pub fn amount(done: &LoadDone) -> String {
    match done.unit.as_str() {
        "bytes" => units::bytes(done.done),
        unit => format!("{} {unit}", units::count(done.done)),
    }
}

/// How much was done in a second, with its unit.
pub fn rate(done: &LoadDone) -> String {
    let per_s = done.done as f64 / (done.ran_ns.max(1) as f64 / 1e9);
    match done.unit.as_str() {
        "bytes" => format!("{}/s", units::bytes(per_s.round() as u64)),
        unit => format!("{} {unit} a second", units::three_digits(per_s)),
    }
}

//! What a load did: a short page for a terminal, and the JSON of `dwell.load/1`.

use crate::Look;
use crate::json::visible;
use crate::paint::{Ink, Line};
use crate::units;
use crate::wake::words;
use model::wake::load::LoadRun;

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
    let (kind, sizes) = words::load(&done.load);
    let amount = match done.unit.as_str() {
        "bytes" => units::bytes(done.done),
        unit => format!("{} {unit}", units::count(done.done)),
    };
    let in_all = format!(
        ": {amount} in {}; {} of processor time",
        units::duration(done.ran_ns),
        units::duration(done.cpu_ns)
    );
    let mut lines = vec![
        Line::new(look).add(Ink::Bold, kind).add(Ink::Plain, &format!(": {sizes}")),
        Line::new(look).add(Ink::Plain, "  ").add(Ink::Bold, &words::rate(done)).add(Ink::Plain, &in_all),
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

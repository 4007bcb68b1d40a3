//! The number of a result, from what was measured, when and where: not from what was concluded, nor
//! from fields that later versions add. So each version gives it to a result of any other, and a
//! recording that is analysed again has the number of the first analysis.

use model::compare::commands::Comparison;
use model::{Ladder, Origin, Run, Wakeups};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The number of a run, or of a window. The account is not part of it: rules of later versions may
/// give another one. Older versions wrote the start to the second.
pub fn of_run(run: &Run) -> String {
    let machine = &run.origin.machine_number;
    let second = run.started_at.trim_end_matches('Z').split('.').next();
    let target = run.window.as_ref().map(|window| &window.target);
    number(&(run.schema, &run.host.name, machine, second, &run.command, target, run.wall_ns))
}

/// The number of a measurement of wake-ups.
pub fn of_wakeups(wakeups: &Wakeups) -> String {
    let bins: Vec<_> = wakeups.threads.iter().map(|thread| (thread.cpu, &thread.histogram)).collect();
    number(&(&wakeups.schema, &wakeups.host.name, &wakeups.started_at, wakeups.took_ns, bins))
}

/// The number of a ladder.
pub fn of_ladder(ladder: &Ladder) -> String {
    let rungs: Vec<_> =
        ladder.rungs.iter().map(|rung| (&rung.about.id, rung.ns.value().map(|ns| ns.median))).collect();
    number(&(&ladder.schema, &ladder.host.name, &ladder.started_at, ladder.took_ns, rungs))
}

/// The number of a comparison.
pub fn of_comparison(comparison: &Comparison) -> String {
    let runs: Vec<_> = comparison.runs.iter().map(|run| (run.command, run.wall_ns)).collect();
    let Comparison { schema, host, started_at, took_ns, .. } = comparison;
    number(&(schema, &host.name, started_at, took_ns, runs))
}

/// The number that a result has; where it has none, as it is of an older version, or somebody wrote
/// something else there, that which it would have.
pub fn known(origin: &Origin, of: impl FnOnce() -> String) -> String {
    origin.id.clone().filter(|id| is_number(id)).unwrap_or_else(of)
}

fn is_number(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// 128 bits: of ten billion results no two have the same, but by a chance of 1 in 10^18.
const DIGITS: usize = 32;

fn number(facts: &impl Serialize) -> String {
    // Numbers, texts and lists can always be written.
    let facts = serde_json::to_vec(facts).unwrap_or_default();
    Sha256::digest(&facts).iter().take(DIGITS / 2).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_facts_give_another_number() {
        let (one, other) = (number(&("a", 1)), number(&("a", 2)));
        assert!(is_number(&one) && one != other && one == number(&("a", 1)));
        // `printf '["a",1]' | sha256sum`: kept results rely on it.
        assert_eq!(one, "135f17a475a61afdeeaf3759ad2e45ad");
    }

    #[test]
    fn what_a_file_says_is_no_path() {
        for text in ["", "../../../etc/passwd", &"A".repeat(32), &"a".repeat(31), &"é".repeat(16)] {
            assert!(!is_number(text), "{text}");
        }
    }
}

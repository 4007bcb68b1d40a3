//! What the processor's counters say of one function: whether it waits for memory.

use super::Evidence;
use model::counters::{Counted, CountedFunction, Ratio};
use model::say;
use model::sentence::Piece::{Decimal, Share};
use model::{Seen, Sentence};

/// What a load from memory takes where no ladder of the host says it, in seconds: a range that
/// published figures of ten years are within (`ladder/plausible.rs`).
const MEMORY_S: (f64, f64) = (50e-9, 300e-9);
/// Reads from memory that are under way on average. With fewer than this, none is for at least half
/// of the time (by J. Little's law, as many are under way as come in the time that one takes): then
/// memory is not what most of the time goes to.
const UNDER_WAY_MIN: f64 = 0.5;
/// The part of the slots that the back end leaves empty where most of the time is a wait.
const STALLED_MIN: f64 = 0.5;
/// Where a processor does not name its stalled slots: a core that issues two a cycle, as the
/// narrowest with counters does, then leaves half of them empty.
const INSTRUCTIONS_MAX: f64 = 1.0;

/// Whether some code waits for memory, by its counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// For most of its time.
    Yes,
    /// For less than half of it.
    No,
    /// Too few samples, or counters, say.
    Unclear,
}

/// The counts of a function in user mode. Without a module, of any.
pub(super) fn of_function<'a>(
    evidence: &Evidence<'a>,
    function: &str,
    module: Option<&str>,
) -> Option<&'a CountedFunction> {
    let is_it =
        |row: &&CountedFunction| row.function == function && module.is_none_or(|one| one == row.module);
    evidence.run.tables.counters.value()?.all.functions.iter().filter(|row| row.mode == "user").find(is_it)
}

/// Whether it waits for memory.
pub(super) fn waits_for_memory(evidence: &Evidence<'_>, counted: &Counted) -> Waits {
    let Some((lo, hi)) = under_way(evidence, counted) else { return Waits::Unclear };
    let (stalls, runs) = match counted.back_end_stalled.value() {
        Some(stalled) => (stalled.lo >= STALLED_MIN, stalled.hi < STALLED_MIN),
        None => {
            let ratio = counted.instructions_per_cycle.value();
            (ratio.is_some_and(|ratio| ratio.hi < INSTRUCTIONS_MAX), false)
        }
    };
    match (lo >= UNDER_WAY_MIN && stalls, hi < UNDER_WAY_MIN || runs) {
        (true, _) => Waits::Yes,
        (_, true) => Waits::No,
        _ => Waits::Unclear,
    }
}

/// How many reads from memory are under way on average while it runs: at least and at most.
fn under_way(evidence: &Evidence<'_>, counted: &Counted) -> Option<(f64, f64)> {
    let clock = evidence.run.tables.counters.value()?.all.clock_hz.value()?;
    let misses = counted.last_level_misses_per_1000.value()?;
    let instructions = counted.instructions_per_cycle.value()?;
    let ladder = evidence.run.costs.value().and_then(|costs| costs.load_ns.value()).and_then(|curve| {
        let largest = curve.iter().max_by_key(|cost| cost.bytes)?;
        Some((largest.ns * 1e-9, largest.ns * 1e-9))
    });
    let (lo_s, hi_s) = ladder.unwrap_or(MEMORY_S);
    let at = |misses: f64, instructions: f64, seconds: f64| misses / 1e3 * instructions * clock * seconds;
    Some((at(misses.lo, instructions.lo, lo_s), at(misses.hi, instructions.hi, hi_s)))
}

/// Its figures in words; none where none is known.
pub(super) fn figures(counted: &Counted) -> Option<Sentence> {
    let value = |ratio: &Seen<Ratio>| ratio.value().map(|ratio| ratio.value);
    let mut said = say!(Decimal(value(&counted.instructions_per_cycle)?), " instructions per cycle");
    if let Some(misses) = value(&counted.last_level_misses_per_1000) {
        said = said.and(say!(", ", Decimal(misses), " last-level cache misses per 1,000 instructions"));
    }
    if let Some(stalled) = value(&counted.back_end_stalled) {
        said = said.and(say!(", ", Share(stalled), " of the slots stalled by the back end"));
    }
    if let Some(stalled) = value(&counted.front_end_stalled) {
        said = said.and(say!(", ", Share(stalled), " by the front end"));
    }
    if let Some(branches) = value(&counted.branch_misses_per_1000) {
        said = said.and(say!(", ", Decimal(branches), " branch misses per 1,000 instructions"));
    }
    Some(said)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::judge::samples;
    use model::Run;
    use model::counters::{CountedCode, CounterTable};

    /// A ratio that is known to a twentieth.
    fn known(value: f64) -> Seen<Ratio> {
        Seen::Value(Ratio { value, lo: value / 1.05, hi: value * 1.05 })
    }

    /// Counts of this many instructions per cycle, and misses per 1,000; stalled: by the back end.
    pub(in crate::judge) fn counted(instructions: f64, misses: f64, stalled: Option<f64>) -> Counted {
        Counted {
            counts: Vec::new(),
            instructions_per_cycle: known(instructions),
            branch_misses_per_1000: known(1.0),
            last_level_misses_per_1000: known(misses),
            front_end_stalled: Seen::unseen("not named"),
            back_end_stalled: stalled.map_or_else(|| Seen::unseen("not named"), known),
        }
    }

    /// The table of a CPU of 3 GHz with one function.
    pub(in crate::judge) fn table(function: &str, of: Counted) -> Seen<CounterTable> {
        Seen::Value(CounterTable {
            all: CountedCode {
                user: of.clone(),
                kernel: Seen::Absent,
                clock_hz: Seen::Value(3e9),
                samples: 1000,
                functions: vec![CountedFunction {
                    function: function.into(),
                    module: "program".into(),
                    mode: "user".into(),
                    counted: of,
                }],
            },
            path: Seen::Absent,
            parts: Vec::new(),
            precise: false,
        })
    }

    fn waits(of: Counted) -> Waits {
        let mut run: Run = samples::run(&[(model::State::User, 1000)]);
        run.tables.counters = table("walk", of.clone());
        let profile = model::Profile::default();
        waits_for_memory(&Evidence::of(model::recording::Tier::Bpf, &run, &profile), &of)
    }

    #[test]
    fn memory_is_waited_for_where_a_read_is_under_way_and_little_is_done() {
        // 40 per 1,000 at 0.3 a cycle: each 83 cycles one, which takes 150 at least.
        assert_eq!(waits(counted(0.3, 40.0, None)), Waits::Yes);
        assert_eq!(waits(counted(0.3, 40.0, Some(0.8))), Waits::Yes);
        assert_eq!(waits(counted(0.3, 40.0, Some(0.3))), Waits::No, "something else is waited for");
        assert_eq!(waits(counted(1.9, 40.0, None)), Waits::Unclear, "they come ahead");
        assert_eq!(waits(counted(0.3, 1.0, None)), Waits::No, "each 3,333 cycles one");
        assert_eq!(waits(counted(0.3, 8.0, None)), Waits::Unclear);
        let unseen = Counted { last_level_misses_per_1000: Seen::unseen("no"), ..counted(0.3, 0.0, None) };
        assert_eq!(waits(unseen), Waits::Unclear);
    }
}

//! Pairs of runs, one with the fix and one without, in random order.

use crate::imposing::Imposing;
use crate::input::Input;
use crate::run::timed;
use model::Ns;
use model::recording::Ending;
use stats::Random;
use sys::clock::monotonic_ns;
use sys::signals::Signals;
use sys::spawn::Command;

/// As many pairs as fit into this time, but one at least.
const TIME_NS: Ns = 20_000_000_000;
/// More would not make the interval much narrower.
const PAIRS_MAX: u64 = 8;

/// What is run again.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The command.
    pub command: &'a Command,
    /// Its standard input.
    pub input: Input,
    /// How the first run ended: one that ends otherwise has not done the same.
    pub ending: &'a Ending,
}

/// What came of the repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeats {
    /// The wall clocks of each pair: without the fix, with it.
    pub walls_ns: Vec<(Ns, Ns)>,
    /// Why there are no more.
    pub end: End,
}

/// Why pairs ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// There are as many as were planned.
    Complete,
    /// A signal asked for it.
    Signal,
    /// A run ended otherwise than the first one; whether it was one with the fix.
    EndedOtherwise(Ending, bool),
    /// The fix could not be imposed, or the command not be run, for this reason.
    Failed(String),
}

/// Runs pairs. `tell` is told how many there are and, after the first one, how many are planned.
pub fn pairs(
    subject: &Subject<'_>,
    imposing: &Imposing,
    signals: &mut Signals,
    tell: &mut dyn FnMut(u64, Option<u64>),
) -> Repeats {
    let mut walls_ns = Vec::new();
    let mut random = Random::new(monotonic_ns());
    let mut planned = None;
    let end = loop {
        tell(walls_ns.len() as u64, planned);
        let begun_ns = monotonic_ns();
        match pair(subject, imposing, random.uniform() < 0.5, signals) {
            // One that was stopped for a while (Ctrl-Z) says nothing, and is run again.
            Ok(None) => continue,
            Ok(Some(walls)) => walls_ns.push(walls),
            Err(end) => break end,
        }
        // By the length of the first pair and not by what it shows, so that their number says
        // nothing of the difference.
        let all = *planned.get_or_insert_with(|| plan(monotonic_ns() - begun_ns));
        if walls_ns.len() as u64 >= all {
            break End::Complete;
        }
    };
    subject.input.rewind();
    Repeats { walls_ns, end }
}

fn plan(pair_ns: Ns) -> u64 {
    (TIME_NS / pair_ns.max(1)).clamp(1, PAIRS_MAX)
}

/// One pair: without the fix, and with it. None if it was stopped for a while.
fn pair(
    subject: &Subject<'_>,
    imposing: &Imposing,
    probed_first: bool,
    signals: &mut Signals,
) -> Result<Option<(Ns, Ns)>, End> {
    let mut walls = [0; 2];
    let mut stopped = false;
    for on in [probed_first, !probed_first] {
        if asked_to_end(signals) {
            return Err(End::Signal);
        }
        subject.input.rewind();
        let run = timed(subject.command, imposing, on, signals).map_err(End::Failed)?;
        if run.asked_to_end {
            return Err(End::Signal);
        }
        if run.ending != *subject.ending {
            return Err(End::EndedOtherwise(run.ending, on));
        }
        if let Some(why) = run.failed {
            return Err(End::Failed(why));
        }
        stopped |= run.was_stopped;
        walls[usize::from(on)] = run.wall_ns;
    }
    Ok((!stopped).then_some((walls[0], walls[1])))
}

/// Whether a signal that ends programs came between two runs.
fn asked_to_end(signals: &mut Signals) -> bool {
    const ENDING: [i32; 4] = [1, 2, 3, 15];
    let mut asked = false;
    while let Ok(Some(signal)) = signals.take() {
        asked |= ENDING.contains(&signal.number);
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_pairs_as_fit_but_one_at_least() {
        const MS: Ns = 1_000_000;
        assert_eq!(plan(0), PAIRS_MAX);
        assert_eq!(plan(10 * MS), PAIRS_MAX);
        assert_eq!(plan(5_000 * MS), 4);
        assert_eq!(plan(60_000 * MS), 1);
    }
}

//! What `cargo xtask bench` itself is asked for: its programs, their rounds, and the peers to leave
//! out.

use super::program::{PROGRAMS, Program, Set};
use super::tool::Tool;
use crate::Measuring;
use anyhow::{Result, bail};
use clap::Args;
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Args)]
pub(super) struct Options {
    /// Few rounds of little programs
    #[arg(long)]
    pub(super) quick: bool,
    #[command(flatten)]
    pub(super) measuring: Measuring,
    /// Rounds of each program [default: 11, or 3]
    #[arg(long, value_name = "N", value_parser = crate::some())]
    rounds: Option<usize>,
    /// Peers to leave out: `strace,perf-trace` are the slow ones
    #[arg(long, value_name = "PEER", value_delimiter = ',', value_parser = peers_named)]
    without: Vec<Arc<[Tool]>>,
    /// Programs, or sets of them: cost, stacks, python-lines, ends [default: all]
    #[arg(value_name = "NAME", value_parser = programs_named)]
    programs: Vec<Programs>,
}

/// What a name stands for.
pub(super) type Programs = Arc<[&'static Program]>;

impl Options {
    pub(super) fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 3 } else { 11 })
    }

    /// strace and perf trace are slow and far off: a few rounds say enough.
    pub(super) fn slow_rounds(&self) -> usize {
        self.rounds().min(if self.quick { 1 } else { 3 })
    }

    pub(super) fn programs(&self) -> impl Iterator<Item = &'static Program> {
        named_or_all(&self.programs)
    }

    /// Whether this tool is to be run; one that is left out is noted.
    pub(super) fn asks(&self, tool: Tool, notes: &mut BTreeSet<String>) -> bool {
        let left_out = self.without.iter().any(|peers| peers.contains(&tool));
        if left_out {
            notes.insert(format!("{} was left out, as asked", tool.name()));
        }
        !left_out
    }
}

/// The peers whose name begins so, with a hyphen or a blank between its words: `perf` means both of
/// perf's, `perf-trace` one.
fn peers_named(word: &str) -> Result<Arc<[Tool]>> {
    let peers = || Tool::ALL.into_iter().filter(|tool| tool.is_peer());
    let begins =
        |tool: &Tool| !word.is_empty() && tool.name().replace(' ', "-").starts_with(&word.replace(' ', "-"));
    let meant: Arc<[Tool]> = peers().filter(begins).collect();
    if meant.is_empty() {
        let names: Vec<_> = peers().map(Tool::name).collect();
        bail!("no peer {word}; there are {}", names.join(", "));
    }
    Ok(meant)
}

/// The program of this name, or those of the set.
pub(super) fn programs_named(word: &str) -> Result<Programs> {
    let is_meant = |program: &&Program| program.name == word || program.set.name() == word;
    let meant: Programs = PROGRAMS.iter().filter(is_meant).collect();
    if meant.is_empty() {
        let sets = Set::ALL.iter().map(|set| set.name());
        let names = PROGRAMS.iter().map(|program| program.name).chain(sets).collect::<Vec<_>>().join(", ");
        bail!("no program or set {word}; there are {names}");
    }
    Ok(meant)
}

/// The programs that were named; all where none was.
pub(super) fn named_or_all(named: &[Programs]) -> impl Iterator<Item = &'static Program> {
    let all = named.is_empty().then_some(PROGRAMS).into_iter().flatten();
    named.iter().flat_map(|programs| programs.iter().copied()).chain(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    #[test]
    fn peers_are_left_out_by_the_begin_of_their_name() {
        let options = read::<Options>(&["cost", "--without", "strace,perf-trace"]).unwrap();
        let mut notes = BTreeSet::new();
        let asked: Vec<Tool> =
            Set::Cost.tools().iter().copied().filter(|tool| options.asks(*tool, &mut notes)).collect();
        assert_eq!(asked, [Tool::Bare, Tool::BareAgain, Tool::Dwell, Tool::Bpftrace]);
        assert_eq!(notes.len(), 2);
        assert_eq!(*peers_named("perf").unwrap(), [Tool::PerfTrace, Tool::PerfRecord]);
    }

    #[test]
    fn the_program_alone_and_dwell_cannot_be_left_out() {
        for word in ["bare", "dwell", "", "no-such"] {
            assert!(read::<Options>(&["--without", word]).is_err(), "{word}");
        }
        assert!(read::<Options>(&["--without"]).is_err());
    }

    #[test]
    fn rounds_that_are_given_count_also_for_a_quick_run() {
        let rounds = |words: &[&str]| read::<Options>(words).unwrap().rounds();
        assert_eq!((rounds(&[]), rounds(&["--quick"])), (11, 3));
        assert_eq!(rounds(&["--rounds", "7", "--quick"]), 7);
        assert!(read::<Options>(&["--rounds", "0"]).is_err());
    }
}

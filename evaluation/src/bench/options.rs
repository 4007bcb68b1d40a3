//! What `cargo xtask bench` itself is asked for: its programs, their rounds, and the peers to leave
//! out.

use super::program::{PROGRAMS, Program, Set};
use super::tool::Tool;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::path::PathBuf;

pub(super) struct Options {
    pub(super) quick: bool,
    pub(super) markdown: bool,
    pub(super) rounds: usize,
    /// strace and perf trace are slow and far off: a few rounds say enough.
    pub(super) slow_rounds: usize,
    pub(super) programs: Vec<&'static Program>,
    /// Measured instead of what the sources give.
    pub(super) dwell: Option<PathBuf>,
    without: Vec<Tool>,
}

impl Options {
    /// Reads the words behind `bench`.
    ///
    /// # Errors
    /// For those that are not understood.
    pub(super) fn read(arguments: &[&str]) -> Result<Self> {
        let mut options = Self {
            quick: false,
            markdown: false,
            rounds: 11,
            slow_rounds: 3,
            programs: Vec::new(),
            dwell: None,
            without: Vec::new(),
        };
        let mut rounds = None;
        let mut rest = arguments.iter();
        while let Some(&word) = rest.next() {
            match word {
                "--quick" => options.quick = true,
                "--markdown" => options.markdown = true,
                "--rounds" => {
                    let given = rest.next().context("--rounds wants a number")?;
                    let number =
                        given.parse().with_context(|| format!("--rounds {given} is not a number"))?;
                    rounds = Some(number);
                }
                "--dwell" => {
                    options.dwell = Some(rest.next().context("--dwell wants the path of a binary")?.into());
                }
                "--without" => {
                    let given = rest.next().context("--without wants the names of peers")?;
                    for name in given.split(',') {
                        options.without.extend(peers_named(name)?);
                    }
                }
                _ => options.programs.extend(programs_named(word)?),
            }
        }
        if options.quick {
            (options.rounds, options.slow_rounds) = (3, 1);
        }
        options.rounds = rounds.unwrap_or(options.rounds);
        if options.rounds == 0 {
            bail!("--rounds 0 measures nothing");
        }
        if options.programs.is_empty() {
            options.programs.extend(PROGRAMS);
        }
        Ok(options)
    }

    /// Whether this tool is to be run; one that is left out is noted.
    pub(super) fn asks(&self, tool: Tool, notes: &mut BTreeSet<String>) -> bool {
        let left_out = self.without.contains(&tool);
        if left_out {
            notes.insert(format!("{} was left out, as asked", tool.name()));
        }
        !left_out
    }
}

/// The peers whose name begins so, with a hyphen or a blank between its words: `perf` means both of
/// perf's, `perf-trace` one.
fn peers_named(word: &str) -> Result<Vec<Tool>> {
    let peers = || Tool::ALL.into_iter().filter(|tool| tool.is_peer());
    let begins =
        |tool: &Tool| !word.is_empty() && tool.name().replace(' ', "-").starts_with(&word.replace(' ', "-"));
    let meant: Vec<Tool> = peers().filter(begins).collect();
    if meant.is_empty() {
        let names: Vec<_> = peers().map(Tool::name).collect();
        bail!("no peer {word}; there are {}", names.join(", "));
    }
    Ok(meant)
}

/// The program of this name, or those of the set.
pub(super) fn programs_named(word: &str) -> Result<Vec<&'static Program>> {
    let is_meant = |program: &&Program| program.name == word || program.set.name() == word;
    let meant: Vec<_> = PROGRAMS.iter().filter(is_meant).collect();
    if meant.is_empty() {
        let sets = Set::ALL.iter().map(|set| set.name());
        let names = PROGRAMS.iter().map(|program| program.name).chain(sets).collect::<Vec<_>>().join(", ");
        bail!("no program or set {word}; there are {names}");
    }
    Ok(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_left_out_by_the_begin_of_their_name() {
        let options = Options::read(&["cost", "--without", "strace,perf-trace"]).unwrap();
        let mut notes = BTreeSet::new();
        let asked: Vec<Tool> =
            Set::Cost.tools().iter().copied().filter(|tool| options.asks(*tool, &mut notes)).collect();
        assert_eq!(asked, [Tool::Bare, Tool::BareAgain, Tool::Dwell, Tool::Bpftrace]);
        assert_eq!(notes.len(), 2);
        assert_eq!(peers_named("perf").unwrap(), [Tool::PerfTrace, Tool::PerfRecord]);
    }

    #[test]
    fn the_program_alone_and_dwell_cannot_be_left_out() {
        for word in ["bare", "dwell", "", "no-such"] {
            assert!(Options::read(&["--without", word]).is_err(), "{word}");
        }
        assert!(Options::read(&["--without"]).is_err());
    }

    #[test]
    fn rounds_that_are_given_count_also_for_a_quick_run() {
        let rounds = |words: &[&str]| Options::read(words).unwrap().rounds;
        assert_eq!((rounds(&[]), rounds(&["--quick"])), (11, 3));
        assert_eq!(rounds(&["--rounds", "7", "--quick"]), 7);
        assert!(Options::read(&["--rounds", "0"]).is_err());
    }
}

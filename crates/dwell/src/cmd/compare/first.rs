//! What the first run of each command shows: one that fails, or commands that do different things.

use super::expand::ExpandedCommand;
use crate::output;
use model::recording::Ending;
use timings::{Block, Caught, RunOutput};

/// Lines of a failed command's output that are shown.
const LINES: usize = 20;

/// The output of a command that failed, for standard error.
pub(super) fn show(output: &RunOutput) {
    for (name, caught) in [("standard output", &output.stdout), ("standard error", &output.stderr)] {
        let text = String::from_utf8_lossy(&caught.head);
        let lines: Vec<&str> = text.lines().collect();
        if lines.is_empty() {
            continue;
        }
        let skipped = lines.len().saturating_sub(LINES);
        let more = if skipped > 0 { format!(", its last {LINES} lines") } else { String::new() };
        let shown = output::clean_lines(&lines[skipped..].join("\n"));
        output::to_stderr(&format!("its {name}{more}:\n{shown}\n"));
    }
}

/// How a run ended, in words.
pub(super) fn ended(ending: Ending) -> String {
    match ending {
        Ending::Code(code) => format!("ended with status {code}"),
        Ending::Signal(signal) => format!("was ended by signal {signal}"),
        Ending::Window(_) => "did not end".to_owned(),
    }
}

/// What the outputs and exit statuses of the first runs say of the commands: who does less is not
/// faster.
pub(super) fn differences(block: &Block, commands: &[ExpandedCommand]) -> Vec<String> {
    let of = |command: usize| {
        let at = block.runs.iter().position(|run| run.command as usize == command)?;
        Some((&block.runs[at], block.outputs.get(at)?))
    };
    let Some((first, first_output)) = of(0) else { return Vec::new() };
    let mut said = Vec::new();
    for (at, command) in commands.iter().enumerate().skip(1) {
        let Some((run, output)) = of(at) else { continue };
        let mut differs = Vec::new();
        if run.ending != first.ending {
            differs.push(format!("{} and the first one {}", ended(run.ending), ended(first.ending)));
        }
        for (name, theirs, its) in [
            ("standard output", &output.stdout, &first_output.stdout),
            ("standard error", &output.stderr, &first_output.stderr),
        ] {
            if theirs != its {
                differs.push(format!("wrote other {name}{}", sizes(theirs, its)));
            }
        }
        if !differs.is_empty() {
            said.push(format!("in their first runs {:?} {}", command.name, differs.join(", ")));
        }
    }
    said
}

fn sizes(theirs: &Caught, its: &Caught) -> String {
    match (theirs.bytes, its.bytes) {
        (a, b) if a == b => " of the same size".to_owned(),
        (theirs, its) => {
            let bytes = report::units::bytes;
            format!(" ({}, the first one {})", bytes(theirs), bytes(its))
        }
    }
}

/// The commands that are the first one again, by their numbers.
pub(super) fn same_as_first(commands: &[ExpandedCommand]) -> Vec<usize> {
    let Some((first, others)) = commands.split_first() else { return Vec::new() };
    let same = |command: &ExpandedCommand| {
        (&command.words, &command.env, &command.prepare, &command.conclude)
            == (&first.words, &first.env, &first.prepare, &first.conclude)
    };
    let same = others.iter().enumerate().filter(|(_, command)| same(command));
    same.map(|(at, _)| at + 1).collect()
}

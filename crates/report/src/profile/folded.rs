//! Folded stacks, one a line with its weight: the input of `flamegraph.pl`, inferno and speedscope.
//!
//! `process;thread;outermost;…;innermost 1234`, the weight in **nanoseconds** (`flamegraph.pl
//! --countname=ns`). Frames are marked as by `stackcollapse-perf.pl --all`: `_[k]` kernel, `_[i]`
//! inlined, `_[j]` jitted; `--color=java` colours by these marks. The format has no escapes, so
//! characters that would break it are replaced in names.

use super::stack::{ending, ending_name, function_name, process_name};
use super::tree::{Label, Shape, Tree, first_of_name};
use crate::clean::clean;
use model::profile::{Activity, Frame, Profile};
use model::recording::Language;
use model::{Ns, Pid, State};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Which time to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldedTime {
    /// On a CPU: the usual flame graph.
    Cpu,
    /// Waiting: an off-CPU flame graph.
    Waiting,
    /// Both.
    All,
}

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldedOptions {
    /// Which time.
    pub part: FoldedTime,
    /// Each stack has its thread's name after that of its process.
    pub threads: bool,
}

/// The key of a line: process, thread, innermost function and state.
type StackKey = (Pid, Option<u32>, u32, Option<State>);

/// The folded stacks, a line each, grouped by process. The weights sum to the time of the part.
pub fn folded(profile: &Profile, options: FoldedOptions) -> String {
    let wanted = |doing: Activity| match doing {
        Activity::Waiting(_) => options.part != FoldedTime::Cpu,
        Activity::User | Activity::Kernel | Activity::Interrupt => options.part != FoldedTime::Waiting,
    };
    let shape = Shape { fold: false, apart: false };
    let tree = Tree::new(profile, shape, |weight| wanted(weight.doing));
    let names = first_of_name(&profile.threads);
    let mut sums = BTreeMap::<StackKey, Ns>::new();
    for weight in profile.weights.iter().filter(|weight| wanted(weight.doing)) {
        let branch = tree.branch_of.get(weight.node as usize).copied().flatten();
        let (Some(branch), Some(thread)) = (branch, profile.threads.get(weight.thread as usize)) else {
            continue;
        };
        // Threads of one name are merged.
        let tid = options.threads.then(|| names[weight.thread as usize]);
        let sum =
            sums.entry((thread.pid, tid, branch, ending(profile, weight.node, weight.doing))).or_default();
        *sum = sum.saturating_add(weight.ns);
    }
    let mut text = String::new();
    for ((pid, thread, branch, ending), ns) in sums.into_iter().filter(|(_, ns)| *ns > 0) {
        text.push_str(&escape(process_name(&profile.threads, pid)));
        if let Some(thread) = thread.and_then(|thread| profile.threads.get(thread as usize)) {
            text.push(';');
            text.push_str(&escape(&thread.name));
        }
        let mut path = Vec::new();
        let mut at = Some(branch);
        while let Some(branch) = at {
            path.push(branch);
            at = tree.branches[branch as usize].parent;
        }
        for branch in path.into_iter().rev() {
            let Label::Function(frame) = tree.branches[branch as usize].label else { continue };
            text.push(';');
            text.push_str(&escape(&function_name(profile, frame)));
            text.push_str(mark(&profile.frames[frame as usize]));
        }
        if let Some(ending) = ending {
            text.push(';');
            text.push_str(&ending_name(ending));
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, " {ns}");
    }
    text
}

fn mark(frame: &Frame) -> &'static str {
    match frame.language {
        _ if frame.broke => "",
        Language::Kernel => "_[k]",
        Language::Jit => "_[j]",
        _ if frame.inlined => "_[i]",
        _ => "",
    }
}

/// A name that is valid in the format. `;` separates frames, so it becomes `:`; line breaks and
/// control characters of terminals are escaped. A last word of digits would be read as a weight (of
/// a second profile), and a `#` at the beginning as a comment: they get a `_`.
fn escape(name: &str) -> String {
    let mut escaped = clean(name, true).replace(';', ":").trim().replace('\u{a0}', " ");
    if let Some(at) = escaped
        .rfind(' ')
        .filter(|at| escaped[at + 1..].chars().all(|char| char.is_ascii_digit() || char == '.'))
    {
        escaped.replace_range(at..=at, "_");
    }
    match escaped.as_str() {
        "" => "[unknown]".into(),
        name if name.starts_with('#') => format!("_{name}"),
        _ => escaped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_format() {
        for (name, escaped) in [
            ("a;b\nc\td", "a:b\\nc\\td"),
            ("  operator new(unsigned long) ", "operator new(unsigned long)"),
            ("lambda 12", "lambda_12"),
            ("lambda 1.5", "lambda_1.5"),
            ("a 1 b", "a 1 b"),
            ("# comment", "_# comment"),
            ("", "[unknown]"),
            ("\x1b[2J\u{202e}", "\\x1b[2J\\u{202e}"),
        ] {
            assert_eq!(escape(name), escaped);
        }
    }
}

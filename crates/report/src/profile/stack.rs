//! Conventions of the files for other viewers: the innermost frame of a stack, and the names of
//! threads and processes.
//!
//! Other viewers have functions only. So the state is a frame at the end of the stack: `[waiting:
//! lock]` below the function that waited, `[kernel]` for kernel time without kernel functions.

use crate::jit;
use model::profile::{Activity, Owner, Profile};
use model::recording::Language;
use model::{Pid, State};

/// The state at the end of a stack, if any.
pub(super) fn ending(profile: &Profile, node: u32, doing: Activity) -> Option<State> {
    let innermost = profile.nodes.get(node as usize).and_then(|node| profile.frames.get(node.frame as usize));
    let in_kernel = innermost.is_some_and(|frame| frame.language == Language::Kernel);
    match doing {
        Activity::User | Activity::Interrupt => None,
        Activity::Kernel if in_kernel => None,
        Activity::Kernel | Activity::Waiting(_) => Some(doing.state()),
    }
}

/// The name of the frame for a state.
pub(super) fn ending_name(ending: State) -> String {
    match ending {
        State::Kernel => "[kernel]".into(),
        state => format!("[waiting: {}]", state.name()),
    }
}

/// The name of a process: that of its first thread, or of any if that one has no stacks.
pub(super) fn process_name(threads: &[Owner], pid: Pid) -> &str {
    let of_process = || threads.iter().filter(|thread| thread.pid == pid);
    let first = of_process().find(|thread| thread.tid == pid).or_else(|| of_process().next());
    first.map_or("", |thread| thread.name.as_str())
}

/// A function's name, or `[unknown]`.
pub(super) fn function_name(profile: &Profile, frame: u32) -> String {
    let Some(frame) = profile.frames.get(frame as usize) else { return "[unknown]".into() };
    if let Some(code) = frame.unnamed {
        return jit::unnamed(code.runtime);
    }
    match frame.function.as_str() {
        why if frame.broke => format!("[cut: {why}]"),
        "" => "[unknown]".into(),
        name => name.into(),
    }
}

/// A node and those that it was called by, the innermost first.
pub(crate) fn walk(profile: &Profile, node: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(node), |node| {
        // A caller precedes its callee; any other is not valid.
        profile.nodes.get(*node as usize)?.caller.filter(|caller| caller < node)
    })
}

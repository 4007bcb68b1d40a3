//! Places in code as frames with names: one machine address may be in several functions that were
//! inlined.

use super::{c_library, rust_library};
use crate::names::base_name;
use model::profile::{Frame, Node, Weight};
use model::recording::{CodeLocation, Function, JIT_MODULE, Language, Runtime, UnnamedCode};
use model::wait::{FrameKind, StackFrame};
use rustc_hash::FxHashMap;

/// The frames at a place, the innermost first; never empty.
pub(super) fn of(place: Option<&CodeLocation>, names: Option<&Vec<Function>>) -> Vec<Frame> {
    match place {
        Some(CodeLocation::Native { module, address }) => {
            if module == JIT_MODULE {
                return jit(UnnamedCode { runtime: Runtime::Other, pid: None }, *address, names);
            }
            machine(base_name(module), *address, Language::Native, names)
        }
        Some(CodeLocation::Jit { pid, runtime, address }) => {
            jit(UnnamedCode { runtime: *runtime, pid: Some(*pid) }, *address, names)
        }
        Some(CodeLocation::Kernel { address }) => machine("[kernel]", *address, Language::Kernel, names),
        Some(CodeLocation::Script { language, function, file, line, first_line }) => vec![Frame {
            source: Some((file.clone(), *line)),
            first_line: *first_line,
            ..Frame::new(function, base_name(file), *language)
        }],
        Some(CodeLocation::Broke { why }) => vec![broke(why)],
        None => vec![broke("not in the recording")],
    }
}

/// What stands for interrupts, whose code is neither the program's nor done for it.
pub(super) fn interrupts() -> Frame {
    Frame::new("(interrupts)", "[kernel]", Language::Kernel)
}

fn broke(why: &str) -> Frame {
    Frame { broke: true, ..Frame::new(why, "", Language::Native) }
}

/// Code that a program made itself: what has no name is one function for each runtime, and not one
/// for each address.
fn jit(code: UnnamedCode, address: u64, names: Option<&Vec<Function>>) -> Vec<Frame> {
    let mut frames = machine(JIT_MODULE, address, Language::Jit, names);
    let named = names.and_then(|names| names.first()).is_some_and(|function| function.name.is_some());
    if let (false, Some(frame)) = (named, frames.first_mut()) {
        frame.function = code.runtime.mark().to_owned();
        frame.unnamed = Some(code);
    }
    frames
}

fn machine(module: &str, address: u64, language: Language, names: Option<&Vec<Function>>) -> Vec<Frame> {
    let frame = |name: Option<String>, source, inlined: bool| {
        let function = name.unwrap_or_else(|| format!("{module}+{address:#x}"));
        let address = (!inlined).then_some(address);
        Frame { source, inlined, address, ..Frame::new(function, module, language) }
    };
    match names {
        Some(names) if !names.is_empty() => names
            .iter()
            .map(|function| frame(function.name.clone(), function.source.clone(), function.inlined))
            .collect(),
        _ => vec![frame(None, None, false)],
    }
}

/// The frame as it stands in the stack of a wait.
pub(super) fn short(frame: &Frame) -> StackFrame {
    let source = frame.source.as_ref().filter(|(_, line)| *line > 0);
    StackFrame {
        function: frame.function.clone(),
        source: source.map(|(file, line)| (base_name(file).to_owned(), *line)),
        language: frame.language,
        kind: match frame.unnamed {
            _ if frame.broke => FrameKind::Cut,
            Some(code) => FrameKind::Unnamed(code.runtime),
            None => FrameKind::Function,
        },
    }
}

/// Functions without names that called each other are one frame: nothing tells them apart.
pub(super) fn fold_unnamed(stack: &mut Vec<StackFrame>) {
    stack.dedup_by(|caller, frame| matches!(frame.kind, FrameKind::Unnamed(_)) && caller == frame);
}

/// Whether a place is in the C library or the like, which every program calls for its locks, or in
/// no program at all.
pub(super) fn is_in_library(place: &CodeLocation) -> bool {
    match place {
        CodeLocation::Native { module, .. } => is_of_library(base_name(module)),
        CodeLocation::Kernel { .. } | CodeLocation::Broke { .. } => true,
        CodeLocation::Script { .. } | CodeLocation::Jit { .. } => false,
    }
}

/// Whether a file is the C library or the like.
pub(crate) fn is_of_library(file: &str) -> bool {
    const STARTS: &[&str] =
        &["libc.", "libc-", "libpthread", "ld-", "ld.", "libm.", "libm-", "libstdc++", "libgcc_s", "[vdso]"];
    STARTS.iter().any(|start| file.starts_with(start))
}

/// The same of a function, where such a library is linked into the program.
pub(crate) fn is_of_runtime(function: &str) -> bool {
    const STARTS: &[&str] = &[
        "std::",
        "<std::",
        "core::",
        "<core::",
        "parking_lot",
        "runtime.",
        "sync.",
        "internal/",
        "time.Sleep",
        "pthread_",
        "__pthread_",
        "__lll_",
        "syscall",
    ];
    STARTS.iter().any(|start| function.starts_with(start))
        || c_library::is_reserved(function)
        || c_library::has(function)
        || rust_library::has(function)
}

/// The tree as it grows: equal frames once, equal callees of a node once.
#[derive(Debug, Default)]
pub(super) struct Expanded {
    pub(super) frames: Vec<Frame>,
    pub(super) nodes: Vec<Node>,
    frame_of: FxHashMap<Frame, u32>,
    node_of: FxHashMap<(Option<u32>, u32), u32>,
}

impl Expanded {
    pub(super) fn frame(&mut self, frame: Frame) -> u32 {
        match self.frame_of.get(&frame) {
            Some(known) => *known,
            None => {
                let new = self.frames.len() as u32;
                self.frames.push(frame.clone());
                self.frame_of.insert(frame, new);
                new
            }
        }
    }

    pub(super) fn node(&mut self, caller: Option<u32>, frame: u32) -> u32 {
        *self.node_of.entry((caller, frame)).or_insert_with(|| {
            self.nodes.push(Node { caller, frame });
            self.nodes.len() as u32 - 1
        })
    }

    /// How many stacks begin with a frame that says why they could not be followed.
    pub(super) fn broken(&self, weights: &[Weight]) -> u64 {
        let mut broke = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let own = self.frames[node.frame as usize].broke;
            broke.push(own || node.caller.is_some_and(|caller| broke[caller as usize]));
        }
        weights.iter().filter(|weight| broke[weight.node as usize]).map(|weight| weight.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_names_in_a_row_are_one_frame() {
        let texts = ["futex", "[jit:node]", "[jit:node]", "f", "f", "[jit:node]", "[jit:v8]"];
        let mut stack: Vec<StackFrame> = texts.into_iter().map(StackFrame::from).collect();
        fold_unnamed(&mut stack);
        let left: Vec<String> = stack.iter().map(ToString::to_string).collect();
        assert_eq!(left, ["futex", "[jit:node]", "f", "f", "[jit:node]", "[jit:v8]"]);
    }
}

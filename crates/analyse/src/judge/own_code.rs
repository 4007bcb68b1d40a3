//! Whose code a program ran: for each stack on a CPU the innermost function of the program itself,
//! and what it had called there.
//!
//! The table of functions counts a sample for the function that it struck, be that the C library,
//! an interpreter or an address without a name. A person changes the program's own code, so here
//! the sample is its caller's. What the shares mean is up to the causes.

use super::allocators::{self, Step};
use crate::code::own::{is_named, runs_others};
use crate::code::{Amount, is_of_library, is_of_runtime};
use model::profile::{Activity, Frame, Owner as Thread, Profile, Weight};
use model::recording::Language;
use rustc_hash::FxHashMap;

/// Whose a stack is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner<'a> {
    /// A function, by its name or by where it begins: the program's own, or a library's where there
    /// is none of the program's.
    Function(&'a Frame),
    /// Code of a JIT that has no names, or an interpreter, of which no function of a script is
    /// seen: it is no one function, in this file.
    Unnamed(&'a str),
    /// An interrupt, or a stack that leads nowhere.
    Nobody,
}

/// What the owner had called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within<'a> {
    /// Nothing.
    Itself,
    /// A function of a library that every program uses.
    Library(&'a str),
    /// The allocator or the collector.
    Allocator(Step),
}

/// Stacks on a CPU that are alike.
#[derive(Debug, Clone, Copy)]
pub(super) struct Charge<'a> {
    pub(super) owner: Owner<'a>,
    pub(super) within: Within<'a>,
    /// In the program's own mode, or in the kernel.
    pub(super) doing: Activity,
    pub(super) weight: &'a Weight,
}

/// A function by its name and file.
pub(super) type Key<'a> = (&'a str, &'a str);

/// What a function has of the samples.
#[derive(Debug, Clone)]
pub(super) struct Sum<'a> {
    pub(super) frame: &'a Frame,
    pub(super) all: Amount,
    /// By source line.
    lines: FxHashMap<(&'a str, u32), Amount>,
    /// Of that in a function of a library.
    libraries: FxHashMap<&'a str, Amount>,
}

/// All stacks on a CPU.
pub(super) fn charges(profile: &Profile) -> impl Iterator<Item = Charge<'_>> {
    let on_cpu = profile.weights.iter().filter(|weight| !matches!(weight.doing, Activity::Waiting(_)));
    // Many threads have the same stacks.
    let mut known: FxHashMap<u32, (Owner<'_>, Within<'_>)> = FxHashMap::default();
    on_cpu.map(move |weight| {
        let (owner, within) = *known.entry(weight.node).or_insert_with(|| owner(profile, weight.node));
        let collects = profile.threads.get(weight.thread as usize).is_some_and(is_collector);
        let (owner, within) =
            if collects { (Owner::Nobody, Within::Allocator(Step::Collects)) } else { (owner, within) };
        Charge { owner, within, doing: weight.doing, weight }
    })
}

fn is_collector(thread: &Thread) -> bool {
    allocators::collects(&thread.name)
}

/// The functions of those stacks that count, most time first.
pub(super) fn functions<'a>(charges: impl Iterator<Item = Charge<'a>>) -> Vec<Sum<'a>> {
    let mut sums: FxHashMap<Key<'a>, Sum<'a>> = FxHashMap::default();
    for charge in charges {
        let Owner::Function(frame) = charge.owner else { continue };
        let key = (&*frame.function, &*frame.module);
        let sum = sums.entry(key).or_insert_with(|| Sum::new(frame));
        sum.all.add(charge.weight);
        if let Some((file, line)) = &frame.source {
            sum.lines.entry((file, *line)).or_default().add(charge.weight);
        }
        if let Within::Library(function) = charge.within {
            sum.libraries.entry(function).or_default().add(charge.weight);
        }
    }
    let mut sums: Vec<Sum<'a>> = sums.into_values().collect();
    sums.sort_by(|a, b| b.all.ns.total_cmp(&a.all.ns).then_with(|| a.key().cmp(&b.key())));
    sums
}

impl<'a> Sum<'a> {
    fn new(frame: &'a Frame) -> Self {
        let all = Amount::default();
        Self { frame, all, lines: FxHashMap::default(), libraries: FxHashMap::default() }
    }

    pub(super) fn key(&self) -> Key<'a> {
        (&self.frame.function, &self.frame.module)
    }

    /// Its lines, most time first.
    pub(super) fn lines(&self) -> Vec<((&'a str, u32), Amount)> {
        let known = self.lines.iter().filter(|((_, line), _)| *line > 0);
        let mut lines: Vec<_> = known.map(|(line, amount)| (*line, *amount)).collect();
        lines.sort_by(|a, b| b.1.ns.total_cmp(&a.1.ns).then_with(|| a.0.cmp(&b.0)));
        lines
    }

    /// The line that has half of its time or more.
    pub(super) fn leading_line(&self) -> Option<(&'a str, u32)> {
        let first = self.lines().into_iter().next();
        first.filter(|(_, amount)| amount.ns * 2.0 >= self.all.ns).map(|(line, _)| line)
    }

    /// The function of a library that has half of its time or more.
    pub(super) fn leading_library(&self) -> Option<&'a str> {
        let halves = self.libraries.iter().filter(|(_, amount)| amount.ns * 2.0 >= self.all.ns);
        halves.max_by(|a, b| a.1.ns.total_cmp(&b.1.ns).then_with(|| b.0.cmp(a.0))).map(|(name, _)| *name)
    }
}

/// Walks from where the sample struck to its callers, up to the first function of the program.
fn owner(profile: &Profile, struck: u32) -> (Owner<'_>, Within<'_>) {
    let (mut within, mut library, mut interpreter) = (Within::Itself, None, None);
    let mut owner = Owner::Nobody;
    let mut calls = false;
    let mut at = Some(outermost_allocator(profile, struck).unwrap_or(struck));
    while let Some(node) = at.map(|at| profile.nodes[at as usize]) {
        let frame = &profile.frames[node.frame as usize];
        at = node.caller;
        if frame.language == Language::Kernel {
            continue;
        }
        if let Some(step) = allocators::step(frame) {
            within = Within::Allocator(step);
            continue;
        }
        if is_script(frame) || frame.broke {
            if !frame.broke {
                owner = Owner::Function(frame);
            }
            break;
        }
        // What calls `main` does nothing of its own; where nothing was called it is the program's.
        let starts = calls && frame.function == "_start";
        calls = true;
        if starts || is_anyones(frame) || is_linked(frame, callers(profile, at).next()) {
            if is_named(frame) {
                library.get_or_insert(frame);
            }
            continue;
        }
        // An interpreter stands between a script and its library, and its collector in between.
        if runs_others(&frame.module) {
            interpreter.get_or_insert(frame);
            continue;
        }
        owner = match frame.unnamed {
            Some(_) => Owner::Unnamed(&frame.module),
            None => Owner::Function(callers(profile, at).find(|frame| is_script(frame)).unwrap_or(frame)),
        };
        break;
    }
    if let (Owner::Nobody, Some(frame)) = (owner, interpreter) {
        return (Owner::Unnamed(&frame.module), within);
    }
    if let Some(frame) = library {
        if within == Within::Itself {
            within = Within::Library(&frame.function);
        }
        if !matches!(owner, Owner::Function(_)) {
            owner = Owner::Function(frame);
        }
    }
    (owner, within)
}

/// The node of the outermost function that makes or frees memory: these call nothing of the program
/// itself, so what they call is the allocator's, whatever it is named.
fn outermost_allocator(profile: &Profile, struck: u32) -> Option<u32> {
    let nodes = std::iter::successors(Some(struck), |at| profile.nodes[*at as usize].caller);
    let frame = |at: u32| &profile.frames[profile.nodes[at as usize].frame as usize];
    let native = nodes.take_while(|at| !is_script(frame(*at)) && !frame(*at).broke);
    native.filter(|at| matches!(allocators::step(frame(*at)), Some(Step::Makes | Step::Frees))).last()
}

/// The frames of a stack, the innermost first.
pub(super) fn frames<'a>(profile: &'a Profile, weight: &Weight) -> impl Iterator<Item = &'a Frame> + use<'a> {
    callers(profile, Some(weight.node))
}

/// The frames from a node on, outwards.
fn callers<'a>(profile: &'a Profile, from: Option<u32>) -> impl Iterator<Item = &'a Frame> + use<'a> {
    let node = move |at: u32| profile.nodes[at as usize];
    let nodes = std::iter::successors(from, move |at| node(*at).caller);
    nodes.map(move |at| &profile.frames[node(at).frame as usize])
}

/// Whether this is the one function with which a C library enters the kernel, whatever the call: in
/// musl the wrappers jump to it and leave no frame of their own.
pub(super) fn is_door(frame: &Frame) -> bool {
    const STARTS: &[&str] = &["__syscall", "__cp_", "sccp", "fstatat_kstat", "fstatat_statx"];
    frame.language == Language::Native && STARTS.iter().any(|start| frame.function.starts_with(start))
}

/// Whether this is code of a C library that is linked into the program: by a name that the language
/// keeps for those who implement it, or since Rust's library calls it, which it does with no C code
/// of the program.
pub(super) fn is_linked(frame: &Frame, caller: Option<&Frame>) -> bool {
    let of_c = frame.language == Language::Native && !frame.function.contains("::");
    let by_rust =
        |caller: &Frame| caller.function.starts_with("std::") || caller.function.starts_with("<std::");
    of_c && (is_door(frame) || frame.function.starts_with("__") || caller.is_some_and(by_rust))
}

pub(super) fn is_script(frame: &Frame) -> bool {
    !matches!(frame.language, Language::Native | Language::Kernel | Language::Jit)
}

/// Whether code is part of what every program of its language is linked with.
fn is_anyones(frame: &Frame) -> bool {
    const STARTS: &[&str] = &["alloc::", "<alloc::", "hashbrown::", "v8::", "Builtins_", "node::", "uv_"];
    is_of_library(&frame.module)
        || is_of_runtime(&frame.function)
        || STARTS.iter().any(|start| frame.function.starts_with(start))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use model::profile::Node;
    use model::recording::{Runtime, UnnamedCode};

    /// A profile told stack by stack.
    #[derive(Debug, Default)]
    pub(in super::super) struct Told(pub(in super::super) Profile);

    pub(in super::super) fn native(module: &str, function: &str) -> Frame {
        Frame { address: Some(1), ..Frame::new(function, module, Language::Native) }
    }

    pub(in super::super) fn at(frame: Frame, file: &str, line: u32) -> Frame {
        Frame { source: Some((file.into(), line)), ..frame }
    }

    impl Told {
        /// Adds samples of 1 ms of this stack, the innermost frame first.
        pub(in super::super) fn stack(mut self, count: u64, doing: Activity, frames: &[Frame]) -> Self {
            let Profile { frames: all, nodes, threads, weights, .. } = &mut self.0;
            if threads.is_empty() {
                threads.push(Thread { pid: 100, tid: 100, name: "program".into() });
            }
            let mut caller = None;
            for frame in frames.iter().rev() {
                all.push(frame.clone());
                nodes.push(Node { caller, frame: all.len() as u32 - 1 });
                caller = Some(nodes.len() as u32 - 1);
            }
            let node = caller.expect("there is a frame");
            weights.push(Weight { node, thread: 0, doing, ns: count * 1_000_000, count });
            self
        }
    }

    fn of(frames: &[Frame]) -> (String, String) {
        let told = Told::default().stack(1, Activity::User, frames);
        let charge = charges(&told.0).next().expect("there is one");
        let owner = match charge.owner {
            Owner::Function(frame) => frame.function.clone(),
            Owner::Unnamed(module) => format!("? {module}"),
            Owner::Nobody => "nobody".into(),
        };
        (owner, format!("{:?}", charge.within))
    }

    fn is(frames: &[Frame], owner: &str, within: &str) {
        assert_eq!(of(frames), (owner.to_owned(), within.to_owned()));
    }

    #[test]
    fn a_library_is_its_callers() {
        let own = native("program", "parse");
        is(&[native("libc.so.6", "strcmp"), own.clone()], "parse", "Library(\"strcmp\")");
        is(&[native("libc.so.6", "libc.so.6+0x1f0"), own.clone()], "parse", "Itself");
        is(&[native("program", "core::str::memchr"), own.clone()], "parse", "Library(\"core::str::memchr\")");
        is(
            &[native("libc.so.6", "libc.so.6+0x1"), native("libc.so.6", "malloc"), own],
            "parse",
            "Allocator(Makes)",
        );
        is(&[native("libc.so.6", "strcmp"), native("sort", "sort+0x77")], "sort+0x77", "Library(\"strcmp\")");
    }

    /// As of node, whose `main` jumps to `node::Start`.
    #[test]
    fn the_start_of_a_program_is_its_own_only_where_it_calls_nothing() {
        let start = native("node", "_start");
        let compile = native("node", "v8::internal::Compiler::Compile");
        let name = "v8::internal::Compiler::Compile";
        is(&[compile, native("node", "node::Start"), start.clone()], name, &format!("Library({name:?})"));
        is(&[native("node", "step"), start.clone()], "step", "Itself");
        let call = Frame::new("ksys_write", "[kernel]", Language::Kernel);
        is(&[call, start.clone()], "_start", "Itself");
        is(&[start], "_start", "Itself");
    }

    #[test]
    fn what_an_allocator_calls_is_the_allocators_in_a_static_program_too() {
        let own = native("program", "parse");
        let stack = |inner: &[&str]| -> Vec<Frame> {
            inner.iter().map(|name| native("program", name)).chain([own.clone()]).collect()
        };
        is(&stack(&["alloc_slot", "__libc_malloc_impl"]), "parse", "Allocator(Makes)");
        is(&stack(&["nontrivial_free", "__libc_free"]), "parse", "Allocator(Frees)");
        is(&stack(&["memcpy", "__libc_realloc"]), "parse", "Allocator(Makes)");
        is(&stack(&["memcpy"]), "parse", "Library(\"memcpy\")");
        is(&stack(&["alloc_slot"]), "alloc_slot", "Itself");
        let script = Frame { language: Language::Python, ..at(native("busy.py", "step"), "busy.py", 7) };
        is(&[native("x.so", "inner"), script, native("python3.11", "PyObject_Malloc")], "step", "Itself");
    }

    #[test]
    fn a_library_that_is_linked_into_the_program_is_its_callers_too() {
        let (own, std) = (native("program", "load"), native("program", "std::fs::read"));
        let (door, open) = (native("program", "sccp"), native("program", "open"));
        is(&[door.clone(), own.clone()], "load", "Library(\"sccp\")");
        is(&[door.clone(), open.clone(), std, own.clone()], "load", "Library(\"sccp\")");
        let fetch = native("program", "fetch");
        is(&[door, open, fetch, own], "fetch", "Library(\"sccp\")");
    }

    #[test]
    fn code_without_names_is_known_by_where_it_begins_unless_it_runs_other_code() {
        is(&[native("cc1", "cc1+0x5a8530"), native("cc1", "main")], "cc1+0x5a8530", "Itself");
        is(&[native("perl", "perl+0x5a8530"), native("perl", "main")], "? perl", "Itself");
        let code = UnnamedCode { runtime: Runtime::Node, pid: None };
        let jit = Frame { unnamed: Some(code), language: Language::Jit, ..native("[jit]", "[jit:node]") };
        is(
            &[native("node", "Builtins_ArrayMap"), jit],
            "Builtins_ArrayMap",
            "Library(\"Builtins_ArrayMap\")",
        );
    }

    #[test]
    fn an_interpreter_works_for_its_script() {
        let script = Frame { language: Language::Python, ..at(native("busy.py", "step"), "busy.py", 7) };
        let interpreter = native("python3.11", "python3.11+0x5a8530");
        is(&[interpreter.clone(), native("python3.11", "PyObject_Call"), script], "step", "Itself");
        is(&[interpreter], "? python3.11", "Itself");
    }

    #[test]
    fn lines_and_libraries_that_have_half_lead() {
        let line = |line| at(native("program", "f"), "/src/f.c", line);
        let told = Told::default()
            .stack(5, Activity::User, &[line(3)])
            .stack(3, Activity::User, &[native("libc.so.6", "strlen"), line(4)])
            .stack(2, Activity::User, &[line(5)]);
        let sums = functions(charges(&told.0));
        let [f] = &sums[..] else { panic!("{sums:?}") };
        assert_eq!((f.all.samples, f.leading_line()), (10, Some(("/src/f.c", 3))));
        assert_eq!(f.leading_library(), None);
        let told = Told(told.0).stack(1, Activity::User, &[line(4)]);
        assert_eq!(functions(charges(&told.0))[0].leading_line(), None, "5 of 11");
    }
}

//! Which code ran and which code waited: the call tree, with time on its nodes.
//!
//! Made by the analysis from the stacks of a recording, with every name that is known. Tables of
//! functions and lines, the flame view and the files for other viewers are views of it.

use crate::code_location::{Language, Runtime, UnnamedCode};
use crate::state::State;
use crate::{JsonSchema, Ns, Pid, Seen, Tid};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// The call tree of a whole program, all its threads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// Code locations; nodes refer to them by index.
    pub frames: Vec<Frame>,
    /// The tree; a caller stands before what it calls.
    pub nodes: Vec<Node>,
    /// Threads that have stacks.
    pub threads: Vec<Owner>,
    /// Time by node, thread and activity: the sum of all samples and waits.
    pub weights: Vec<Weight>,
    /// Each sample and wait in order of time, for views with a time axis. Thinned evenly when there
    /// are too many: every `thinned`-th is here.
    pub moments: Vec<Moment>,
    /// See `moments`; 1 when all are there.
    pub thinned: u32,
    /// Number of stacks.
    pub stacks: u64,
    /// Stacks that could not be unwound to their outermost function; each ends in a frame that says
    /// why.
    pub broken: u64,
}

impl Profile {
    /// Without a stack.
    pub const NONE: Self = Self {
        frames: Vec::new(),
        nodes: Vec::new(),
        threads: Vec::new(),
        weights: Vec::new(),
        moments: Vec::new(),
        thinned: 0,
        stacks: 0,
        broken: 0,
    };

    /// Whether whatever is referred to is there, and callers stand before what they call.
    fn is_sound(&self) -> bool {
        let [frames, nodes, threads] = [self.frames.len(), self.nodes.len(), self.threads.len()];
        let sound = |(index, node): (usize, &Node)| {
            (node.frame as usize) < frames && node.caller.is_none_or(|caller| (caller as usize) < index)
        };
        let known = |node: u32, thread: u32| (node as usize) < nodes && (thread as usize) < threads;
        self.nodes.iter().enumerate().all(sound)
            && self.weights.iter().all(|weight| known(weight.node, weight.thread))
            && self.moments.iter().all(|moment| {
                known(moment.node, moment.thread) && moment.by.is_none_or(|by| (by as usize) < threads)
            })
    }

    /// Reads one that somebody may have changed.
    pub(crate) fn sound<'de, D: Deserializer<'de>>(from: D) -> Result<Seen<Self>, D::Error> {
        let profile = Seen::<Self>::deserialize(from)?;
        let sound = profile.value().is_none_or(Self::is_sound);
        if sound { Ok(profile) } else { Err(D::Error::custom("its stacks lead nowhere")) }
    }
}

/// A code location, with its names where they are known. Names come from the program: untrusted
/// until escaped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// The function: its name, or `module+0x1f0` where there is no symbol. All `unnamed` code of a
    /// runtime has one.
    pub function: String,
    /// The file that has it, without its directories; `[kernel]`, `[jit]`; for a script its source
    /// file.
    pub module: String,
    /// Source file and line, where they are known. The line is 0 where only the file is known.
    pub source: Option<(String, u32)>,
    /// On which line the function begins; 0 where that is not known.
    pub first_line: u32,
    /// What it is written in.
    pub language: Language,
    /// It is inlined into its caller.
    pub inlined: bool,
    /// The address of the instruction as the module's file counts; of a caller, of the last byte of
    /// its call. None for scripts and inlined functions.
    pub address: Option<u64>,
    /// It stands for the part of a stack that could not be unwound; `function` says why.
    pub broke: bool,
    /// It is code of a JIT without a name.
    pub unnamed: Option<UnnamedCode>,
    /// It is the program's own code, and not a library's, a runtime's or the kernel's.
    #[serde(default)]
    pub own: bool,
}

impl Frame {
    /// A function of which nothing else is known.
    pub fn new(function: impl Into<String>, module: impl Into<String>, language: Language) -> Self {
        Self {
            function: function.into(),
            module: module.into(),
            source: None,
            first_line: 0,
            language,
            inlined: false,
            address: None,
            broke: false,
            unnamed: None,
            own: false,
        }
    }
}

/// What tells functions apart in a table: name, module, whether it is of the kernel, and of unnamed
/// code its runtime.
pub type FunctionKey<'a> = (&'a str, &'a str, bool, Option<Runtime>);

/// What tells lines apart: file, line, function, language.
pub type LineKey<'a> = (&'a str, u32, &'a str, Language);

impl Frame {
    /// Which function it is; none where it stands for what could not be unwound.
    pub fn function_key(&self) -> Option<FunctionKey<'_>> {
        let kernel = self.language == Language::Kernel;
        (!self.broke).then(|| (&*self.function, &*self.module, kernel, self.unnamed.map(|code| code.runtime)))
    }

    /// Which line it is, where that is known.
    pub fn line_key(&self) -> Option<LineKey<'_>> {
        let (file, line) = self.source.as_ref().filter(|(_, line)| *line > 0)?;
        Some((file, *line, &self.function, self.language))
    }

    /// The frame whose line a stack counts for, the innermost first: the innermost of a script
    /// where it has one, else the innermost of machine code with debug information. So a line has
    /// with its own time that of code without lines of its own that it called: the allocator, the
    /// kernel, the interpreter. Code of a JIT is no such code: what called it is the runtime, and
    /// its time belongs to no line of that.
    pub fn of_line<'a>(stack: &[&'a Self]) -> Option<&'a Self> {
        let scripted =
            |frame: &&&Self| !matches!(frame.language, Language::Native | Language::Kernel | Language::Jit);
        let has_line = |frame: &&&Self| frame.line_key().is_some();
        let of_script = stack.iter().filter(scripted).find(has_line);
        let up_to_jit =
            || stack.iter().take_while(|frame| frame.language != Language::Jit || has_line(frame));
        let of_machine = || up_to_jit().filter(|frame| !frame.is_entry()).find(has_line);
        of_script.or_else(of_machine).copied()
    }

    /// The C library's own way into a program or a thread. Where that has lines and the program has
    /// none, all of the program's time would be charged to them.
    fn is_entry(&self) -> bool {
        const ENTRIES: [&str; 9] = [
            "_start",
            "__libc_start_main",
            "__libc_start_main_impl",
            "__libc_start_main_stage2",
            "__libc_start_call_main",
            "start_thread",
            "clone",
            "clone3",
            "__clone3",
        ];
        ENTRIES.contains(&self.function.as_str())
    }
}

/// A function called from somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Its caller: a position in `nodes`, before its own. None for the outermost function.
    pub caller: Option<u32>,
    /// Where it is: a position in `frames`.
    pub frame: u32,
}

/// A thread that has stacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    /// Its process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// Its name. Untrusted until escaped.
    pub name: String,
}

/// What the thread did during the time of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// On a CPU, in the program's own code.
    User,
    /// On a CPU, in the kernel for the program: a call, a fault.
    Kernel,
    /// On a CPU, which an interrupt had taken; without a stack.
    Interrupt,
    /// Blocked, in this state: `sleep`, `lock`, `disk` ….
    Waiting(State),
}

impl Activity {
    /// The state that the time is of. A stack does not tell a fault from a call: both are `kernel`.
    pub fn state(self) -> State {
        match self {
            Activity::User => State::User,
            Activity::Kernel => State::Kernel,
            Activity::Interrupt => State::Interrupt,
            Activity::Waiting(state) => state,
        }
    }
}

/// Time of one node itself, without callees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Weight {
    /// The innermost function: a position in `nodes`.
    pub node: u32,
    /// A position in `threads`.
    pub thread: u32,
    /// What it did.
    pub doing: Activity,
    /// Time that these stacks stand for.
    pub ns: Ns,
    /// Number of these stacks.
    pub count: u64,
}

/// One stack with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// From the start of the wall.
    pub at_ns: Ns,
    /// The innermost function: a position in `nodes`.
    pub node: u32,
    /// A position in `threads`.
    pub thread: u32,
    /// What it did.
    pub doing: Activity,
    /// Time that the stack stands for: around `at_ns` on a CPU, before it when waiting.
    pub ns: Ns,
    /// The thread of the tree that ended the wait: a position in `threads`. None where it was the
    /// kernel, a device, a timer or somebody outside, where it has no stacks of its own, where it
    /// was not seen, and on a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_that_lead_nowhere_or_round_are_unsound() {
        let frame = Frame::new("f", "a", Language::Native);
        let weight = Weight { node: 1, thread: 0, doing: Activity::User, ns: 5, count: 1 };
        let owner = Owner { pid: 1, tid: 1, name: "a".into() };
        let sound = Profile {
            frames: vec![frame],
            nodes: vec![Node { caller: None, frame: 0 }, Node { caller: Some(0), frame: 0 }],
            threads: vec![owner],
            weights: vec![weight],
            ..Profile::default()
        };
        assert!(sound.is_sound());
        let with = |node: Node| Profile { nodes: vec![sound.nodes[0], node], ..sound.clone() };
        assert!(!with(Node { caller: Some(1), frame: 0 }).is_sound(), "it calls itself for ever");
        assert!(!with(Node { caller: Some(0), frame: 1 }).is_sound(), "there is no such frame");
        let of = |weight| Profile { weights: vec![weight], ..sound.clone() };
        assert!(!of(Weight { node: 2, ..weight }).is_sound(), "there is no such node");
        assert!(!of(Weight { thread: 1, ..weight }).is_sound(), "there is no such thread");
        let woken = |by| {
            let moment = Moment { at_ns: 9, node: 0, thread: 0, doing: Activity::User, ns: 5, by };
            Profile { moments: vec![moment], ..sound.clone() }
        };
        assert!(woken(None).is_sound() && woken(Some(0)).is_sound());
        assert!(!woken(Some(1)).is_sound(), "there is no such thread that ended the wait");
    }
}

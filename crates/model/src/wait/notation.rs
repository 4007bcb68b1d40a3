//! The notation of waits in JSON: one string, or a kind and a name, each way.
//!
//! The only place that parses text which dwell wrote: that of a result that is stored in place of
//! events. Parsing never fails and is lossless: text that would not be written back the same is
//! kept as it is.

use super::{FrameKind, Reason, StackFrame, SyscallName, TargetKind, WaitCall, WaitTarget};
use crate::code_location::{Language, Runtime};
use crate::network::{Endpoint, Question};
use crate::state::State;
use crate::task::TaskWait;
use crate::{JsonSchema, Seen};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{self, Display, Formatter};

const COMPAT: &str = "32:";
const FAULT: &str = "fault";
/// A call: no call's name has a space. Older versions wrote it as a fault.
const UNSEEN: &str = "not seen";
const SYSCALL_ENTRY: &str = "entering and leaving calls";
const SYSCALLS_SAMPLED: &str = "calls, sampled";
const IDLE_CPU: &str = "on its way to a free cpu";
const PREEMPTED: &str = " ran";
const PREEMPTED_BY_OWN: &str = " of the tree ran";
const NO_WAKE_UP: &str = "no wake-up seen";
const NOT_OBSERVED: &str = "not looked at";
const SWAP: &str = "swap";
const TIME_LIMIT: &str = "time limit";
const TIME_LIMIT_OR_TIMER: &str = "time limit or timer";
const ADDRESS_SPACE: &str = "address space";
const PYTHON_LOCK: &str = "Python's interpreter lock";
const INSIDE: &str = "? (in ";
const FOR: &str = " for ";
const OTHER_NAMES: &str = "other names";
const PYTHON: &str = " [python]";
const NATIVE: &str = " [native]";
const CUT: &str = "(cut: ";

/// A wait target in JSON: kind and name.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Named {
    /// Its kind.
    kind: TargetKind,
    /// Its name, as far as it is known; absent where it has none.
    name: Seen<String>,
}

impl Named {
    pub(super) fn new(kind: TargetKind, name: Seen<String>) -> Self {
        Self { kind, name }
    }
}

impl WaitTarget {
    /// Its name, as far as it is known.
    pub fn name(&self) -> Seen<String> {
        let value = |name: &str| Seen::Value(name.to_owned());
        match self {
            WaitTarget::File(name)
            | WaitTarget::Device(name)
            | WaitTarget::Pipe(name)
            | WaitTarget::Tty(name)
            | WaitTarget::Unix(name)
            | WaitTarget::Timer(name)
            | WaitTarget::Lock(name)
            | WaitTarget::Child(name)
            | WaitTarget::External(name)
            | WaitTarget::Other(_, name) => name.clone(),
            // No function may stand where the name of a file stands, as if it were that.
            WaitTarget::KernelFunction(TargetKind::File, function) => value(&format!("{INSIDE}{function})")),
            WaitTarget::Task(name) | WaitTarget::KernelFunction(_, name) => value(name),
            WaitTarget::Swap => value(SWAP),
            WaitTarget::Futex(address) => address.as_ref().map(|address| format!("{address:#x}")),
            WaitTarget::InterpreterLock(_) => value(PYTHON_LOCK),
            WaitTarget::AddressSpace => value(ADDRESS_SPACE),
            WaitTarget::OfTask(wait) => value(wait.name()),
            WaitTarget::TimeLimit => value(TIME_LIMIT),
            WaitTarget::TimeLimitOrTimer => value(TIME_LIMIT_OR_TIMER),
            WaitTarget::Nameless(_) => Seen::Absent,
            WaitTarget::Tcp(end) | WaitTarget::Udp(end) => Seen::Value(end.to_string()),
            WaitTarget::Answer(question) => Seen::Value(question.to_string()),
        }
    }

    /// The target with this kind and name.
    fn read(kind: TargetKind, name: &Seen<String>) -> Self {
        let text = name.value().map(String::as_str);
        match (kind, text) {
            (TargetKind::Device, Some(SWAP)) => WaitTarget::Swap,
            (TargetKind::Timer, Some(TIME_LIMIT)) => WaitTarget::TimeLimit,
            (TargetKind::Timer, Some(TIME_LIMIT_OR_TIMER)) => WaitTarget::TimeLimitOrTimer,
            (TargetKind::Lock, Some(ADDRESS_SPACE)) => WaitTarget::AddressSpace,
            (TargetKind::Lock, _) => WaitTarget::Lock(name.clone()),
            (TargetKind::Futex, Some(PYTHON_LOCK)) => WaitTarget::InterpreterLock(Language::Python),
            (TargetKind::Futex, Some(text)) => match address(text) {
                Some(address) => WaitTarget::Futex(Seen::Value(address)),
                None => WaitTarget::Other(kind, name.clone()),
            },
            (TargetKind::Futex, None) => WaitTarget::Futex(name.as_ref().map(|_| 0)),
            (TargetKind::Udp, Some(text)) if let Some(question) = Question::read(text) => {
                WaitTarget::Answer(question)
            }
            (TargetKind::Tcp, Some(text)) if let Some(end) = Endpoint::read(text) => WaitTarget::Tcp(end),
            (TargetKind::Udp, Some(text)) if let Some(end) = Endpoint::read(text) => WaitTarget::Udp(end),
            (TargetKind::Tcp | TargetKind::Udp, _) => WaitTarget::Other(kind, name.clone()),
            (TargetKind::File, Some(text)) if let Some(function) = inside(text) => {
                WaitTarget::KernelFunction(kind, function.to_owned())
            }
            (TargetKind::File, _) => WaitTarget::File(name.clone()),
            (TargetKind::Device, _) => WaitTarget::Device(name.clone()),
            (TargetKind::Timer, _) => WaitTarget::Timer(name.clone()),
            (TargetKind::Unix, _) => WaitTarget::Unix(name.clone()),
            (TargetKind::Pipe, _) => WaitTarget::Pipe(name.clone()),
            (TargetKind::Tty, _) => WaitTarget::Tty(name.clone()),
            (TargetKind::Child, _) => WaitTarget::Child(name.clone()),
            (TargetKind::External, _) => WaitTarget::External(name.clone()),
            (TargetKind::Task, Some(text)) if let Some(wait) = TaskWait::read(text) => {
                WaitTarget::OfTask(wait)
            }
            (kind, None) => WaitTarget::Nameless(kind),
            (kind, Some(_)) => WaitTarget::Other(kind, name.clone()),
        }
    }
}

/// The kernel function that stands for the name of a file.
fn inside(text: &str) -> Option<&str> {
    text.strip_prefix(INSIDE)?.strip_suffix(')')
}

fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

impl From<WaitTarget> for Named {
    fn from(target: WaitTarget) -> Self {
        Named { kind: target.kind(), name: target.name() }
    }
}

impl From<Named> for WaitTarget {
    fn from(Named { kind, name }: Named) -> Self {
        let target = WaitTarget::read(kind, &name);
        if target.name() == name { target } else { WaitTarget::Other(kind, name) }
    }
}

/// `tcp 192.0.2.1:80`, `futex`.
impl Display for WaitTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.name() {
            Seen::Value(name) => write!(f, "{} {name}", self.kind().name()),
            Seen::Absent | Seen::Unseen(_) => f.write_str(self.kind().name()),
        }
    }
}

impl WaitTarget {
    fn from_text(text: &str) -> Option<Self> {
        let (kind, name) = match text.split_once(' ') {
            Some((kind, name)) => (kind, Seen::Value(name.to_owned())),
            None => (text, Seen::Absent),
        };
        let kind = TargetKind::ALL.into_iter().find(|known| known.name() == kind)?;
        Some(Named { kind, name }.into())
    }
}

/// `192.0.2.1:53 for example.org`.
impl Display for Question {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{FOR}{}", self.server, self.name.as_deref().unwrap_or(OTHER_NAMES))
    }
}

impl Question {
    fn read(text: &str) -> Option<Self> {
        let (server, name) = text.split_once(FOR)?;
        let name = (name != OTHER_NAMES).then(|| name.to_owned());
        Some(Question { server: Endpoint::read(server)?, name })
    }
}

impl Display for SyscallName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.compat { COMPAT } else { "" }, self.name)
    }
}

impl From<&str> for SyscallName {
    fn from(text: &str) -> Self {
        let name = text.strip_prefix(COMPAT);
        SyscallName { compat: name.is_some(), name: name.unwrap_or(text).to_owned().into() }
    }
}

impl Serialize for SyscallName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SyscallName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(String::deserialize(deserializer)?.as_str().into())
    }
}

/// The call's name; empty for what is none.
impl Serialize for WaitCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            WaitCall::Syscall(name) => name.serialize(serializer),
            WaitCall::Fault => serializer.serialize_str(""),
            WaitCall::Unseen => serializer.serialize_str(UNSEEN),
        }
    }
}

impl<'de> Deserialize<'de> for WaitCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match String::deserialize(deserializer)?.as_str() {
            "" => WaitCall::Fault,
            UNSEEN => WaitCall::Unseen,
            name => WaitCall::Syscall(name.into()),
        })
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Reason::None | Reason::PreemptedUnseen => Ok(()),
            Reason::Syscall(name) => name.fmt(f),
            Reason::SyscallEntry => f.write_str(SYSCALL_ENTRY),
            Reason::SyscallsSampled => f.write_str(SYSCALLS_SAMPLED),
            Reason::Preempted(name) => write!(f, "{name}{PREEMPTED}"),
            Reason::PreemptedByOwn(name) => write!(f, "{name}{PREEMPTED_BY_OWN}"),
            Reason::IdleCpu => f.write_str(IDLE_CPU),
            Reason::Wait(WaitCall::Syscall(name), target) => write!(f, "{name}, {target}"),
            Reason::Wait(WaitCall::Fault, target) => write!(f, "{FAULT}, {target}"),
            Reason::Wait(WaitCall::Unseen, target) => target.fmt(f),
            Reason::NoWakeUp => f.write_str(NO_WAKE_UP),
            Reason::NotObserved => f.write_str(NOT_OBSERVED),
            Reason::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Reason {
    /// The reason of a stored step in this state.
    pub fn read(state: State, text: &str) -> Self {
        let found = match state {
            _ if text.is_empty() && state == State::Runqueue => Reason::PreemptedUnseen,
            _ if text.is_empty() => Reason::None,
            State::Runqueue if text == IDLE_CPU => Reason::IdleCpu,
            State::Runqueue => match (text.strip_suffix(PREEMPTED_BY_OWN), text.strip_suffix(PREEMPTED)) {
                (Some(name), _) => Reason::PreemptedByOwn(name.to_owned()),
                (None, Some(name)) => Reason::Preempted(name.to_owned()),
                (None, None) => Reason::Text(text.to_owned()),
            },
            State::Kernel if text == SYSCALL_ENTRY => Reason::SyscallEntry,
            State::Kernel if text == SYSCALLS_SAMPLED => Reason::SyscallsSampled,
            State::Kernel => Reason::Syscall(text.into()),
            _ if text == NO_WAKE_UP => Reason::NoWakeUp,
            _ if text == NOT_OBSERVED => Reason::NotObserved,
            _ => Reason::wait(text).unwrap_or_else(|| Reason::Text(text.to_owned())),
        };
        if found.to_string() == text { found } else { Reason::Text(text.to_owned()) }
    }

    fn wait(text: &str) -> Option<Self> {
        if let Some(target) = WaitTarget::from_text(text) {
            return Some(Reason::Wait(WaitCall::Unseen, target));
        }
        let (call, target) = text.split_once(", ")?;
        let call = if call == FAULT { WaitCall::Fault } else { WaitCall::Syscall(call.into()) };
        Some(Reason::Wait(call, WaitTarget::from_text(target)?))
    }
}

/// `function (file:line)`, as far as that is known; `(cut: why)` where the stack is cut.
impl Display for StackFrame {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.kind, &self.source) {
            (FrameKind::Cut, _) => write!(f, "{CUT}{})", self.function),
            (_, Some((file, line))) => write!(f, "{} ({file}:{line})", self.function),
            (_, None) => f.write_str(&self.function),
        }
    }
}

/// Whether a file is a script by its name: `a.py`, and `<string>` or `<frozen zipimport>` of code
/// that is in no file.
fn names_script(file: &str) -> bool {
    file.ends_with(".py") || (file.starts_with('<') && file.ends_with('>'))
}

impl StackFrame {
    /// The text in JSON. It names the language where the file does not show it.
    fn written(&self) -> String {
        let shown = self.source.as_ref().is_some_and(|(file, _)| names_script(file));
        let mark = match (self.is_script(), shown) {
            (true, false) => PYTHON,
            (false, true) => NATIVE,
            (true, true) | (false, false) => "",
        };
        format!("{self}{mark}")
    }

    /// A frame whose language is not named.
    fn unmarked(text: &str) -> Self {
        let read = || {
            let (function, source) = text.strip_suffix(')')?.rsplit_once(" (")?;
            let (file, line) = source.rsplit_once(':')?;
            let language = if names_script(file) { Language::Python } else { Language::Native };
            let source = Some((file.to_owned(), line.parse().ok()?));
            Some(StackFrame { source, language, ..Self::of_text(function) })
        };
        read().unwrap_or_else(|| Self::of_text(text))
    }

    fn of_text(text: &str) -> Self {
        let kind = FrameKind::Function;
        StackFrame { function: text.to_owned(), source: None, language: Language::Native, kind }
    }

    /// A frame that is no function with a name.
    fn nameless(text: &str) -> Option<Self> {
        if let Some(why) = text.strip_prefix(CUT).and_then(|rest| rest.strip_suffix(')')) {
            return Some(StackFrame { kind: FrameKind::Cut, ..Self::of_text(why) });
        }
        let runtime = Runtime::ALL.into_iter().find(|runtime| runtime.mark() == text)?;
        let kind = FrameKind::Unnamed(runtime);
        Some(StackFrame { language: Language::Jit, kind, ..Self::of_text(text) })
    }
}

impl From<&str> for StackFrame {
    fn from(text: &str) -> Self {
        if let Some(frame) = Self::nameless(text) {
            return frame;
        }
        let marked = [(PYTHON, Language::Python), (NATIVE, Language::Native)]
            .into_iter()
            .find_map(|(mark, language)| Some((text.strip_suffix(mark)?, language)));
        let frame = match marked {
            Some((rest, language)) => StackFrame { language, ..Self::unmarked(rest) },
            None => Self::unmarked(text),
        };
        if frame.written() == text { frame } else { Self::of_text(text) }
    }
}

impl Serialize for StackFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.written())
    }
}

impl<'de> Deserialize<'de> for StackFrame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(String::deserialize(deserializer)?.as_str().into())
    }
}

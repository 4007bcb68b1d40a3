//! The words of the page for reasons, wait targets and sources that have other names in the JSON.

#[cfg(test)]
use model::Seen;
use model::run::Class;
use model::wait::{StackFrame, TargetKind, WaitCall, WaitTarget};
use model::{Reason, State, Tid};

/// The reason of a step.
pub(crate) fn reason(reason: &Reason) -> String {
    let words = match reason {
        Reason::PreemptedByOwn(name) => return format!("own thread {name} ran"),
        Reason::SyscallEntry => "syscall entry and exit",
        Reason::SyscallsSampled => "syscalls",
        Reason::IdleCpu => "idle CPU waking up",
        Reason::NoWakeUp => "no wake-up observed",
        Reason::NotObserved => "not observed",
        Reason::Wait(WaitCall::Syscall(name), on) if on.to_string() == name.to_string() => {
            return name.to_string();
        }
        Reason::Wait(call, on) => match (call, target(on)) {
            (WaitCall::Syscall(name), Some(words)) => return format!("{name}, {words}"),
            (WaitCall::Unseen, Some(words)) => words,
            (WaitCall::Fault, Some(words)) => return format!("page fault, {words}"),
            (WaitCall::Fault, None) => return format!("page fault, {on}"),
            (_, None) => return reason.to_string(),
        },
        Reason::None
        | Reason::Syscall(_)
        | Reason::Preempted(_)
        | Reason::PreemptedUnseen
        | Reason::Text(_) => return reason.to_string(),
    };
    words.to_owned()
}

/// `fetch.py:3 price`.
pub(crate) fn located(frame: &StackFrame) -> String {
    match &frame.source {
        Some((file, line)) => format!("{file}:{line} {}", frame.function),
        None => frame.function.clone(),
    }
}

/// The words for a wait target; none where its kind and name are its words.
pub(crate) fn target(target: &WaitTarget) -> Option<&'static str> {
    match target {
        WaitTarget::TimeLimit => Some("timeout"),
        WaitTarget::TimeLimitOrTimer => Some("timeout or timer"),
        WaitTarget::InterpreterLock(_) => Some("Python's GIL"),
        WaitTarget::AddressSpace => Some("address space lock"),
        WaitTarget::Nameless(TargetKind::Thread) => Some("another thread"),
        WaitTarget::OfTask(wait) => Some(wait.name()),
        _ => None,
    }
}

/// A state on the page.
pub(crate) fn state(state: State) -> &'static str {
    match state {
        State::Runqueue => "waiting for a CPU",
        State::Fault => "page faults",
        state => state.name(),
    }
}

/// The name of the class on the page. In the JSON it is `io` for all of them, but a program that
/// waits for locks does no I/O.
pub(crate) fn io_label(resource: State) -> &'static str {
    match resource {
        State::Disk | State::Network | State::Pipe => "I/O-bound",
        State::Lock => "lock-bound",
        _ => "wait-bound",
    }
}

/// The class of a run in a word: `I/O-bound`; `resource` is what a program waits for that waits.
pub(crate) fn class(class: Class, resource: Option<State>) -> &'static str {
    match class {
        Class::Cpu => "CPU-bound",
        Class::Kernel => "kernel-bound",
        Class::Io => resource.map_or("wait-bound", io_label),
        Class::Mixed => "mixed",
        Class::Idle => "idle",
        Class::Starved => "starved",
    }
}

/// A thread among others of its name.
pub(crate) fn thread(name: &str, tid: Tid) -> String {
    format!("{name} {tid}")
}

/// The words for a source of the coverage, by its name in the JSON, which the schema keeps stable.
pub(super) fn source(name: &str) -> &str {
    match name {
        "calls" => "system calls",
        "surroundings" => "host metrics",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_the_words_of_the_page() {
        let poll = |target| Reason::Wait(WaitCall::Syscall("poll".into()), target);
        for (said, words) in [
            (Reason::SyscallEntry, "syscall entry and exit"),
            (Reason::Preempted("make".into()), "make ran"),
            (Reason::PreemptedByOwn("make".into()), "own thread make ran"),
            (poll(WaitTarget::TimeLimit), "poll, timeout"),
            (poll(WaitTarget::Nameless(TargetKind::EventFd)), "poll, eventfd"),
            (Reason::Wait(WaitCall::Unseen, WaitTarget::TimeLimitOrTimer), "timeout or timer"),
            (Reason::Wait(WaitCall::Syscall("futex".into()), WaitTarget::Futex(Seen::Absent)), "futex"),
            (
                Reason::Wait(WaitCall::Syscall("mmap".into()), WaitTarget::AddressSpace),
                "mmap, address space lock",
            ),
            (Reason::Wait(WaitCall::Fault, WaitTarget::AddressSpace), "page fault, address space lock"),
            (
                Reason::Wait(WaitCall::Fault, WaitTarget::File(Seen::Value("/a".into()))),
                "page fault, file /a",
            ),
        ] {
            assert_eq!(reason(&said), words);
        }
    }
}

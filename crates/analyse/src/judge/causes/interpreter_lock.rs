//! Threads that wait for the lock of their language's interpreter.

use super::{Cause, Outcome};
use crate::judge::Evidence;
use model::coverage::Interval;
use model::finding::{Assumption, CauseName, Finding, Place, SignedWaits, Signs};
use model::recording::{Language, Tier};
use model::run::WaitRow;
use model::wait::{StackFrame, WaitTarget};
use model::{Ns, Seen};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName { id: "interpreter-lock", title: "waits for the interpreter's lock" },
    tiers: &[Tier::Bpf],
    doc: "Threads wait for the global interpreter lock of CPython (GIL). A function that takes it is among the 8 \
          innermost frames of the wait, and such waits have a hundredth of the account or more.",
    check,
};

/// Functions that take CPython's lock: what waits for it, and, where there are no symbols, what is
/// exported and calls that.
const TAKES: [&str; 4] =
    ["take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread", "_PyThreadState_Attach"];
/// They are among this many of the innermost frames.
const FRAMES: usize = 8;
/// Less than this part of the account is no cause.
const PART: Ns = 100;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let waits = evidence.waits.iter().enumerate();
    let counts = |wait: &WaitRow| {
        matches!(wait.on, WaitTarget::InterpreterLock(_)) && wait.total_ns >= evidence.whole_ns / PART
    };
    Outcome::of(waits.filter(|(_, wait)| counts(wait)).map(|(row, wait)| finding(row, wait)))
}

fn finding(row: usize, wait: &WaitRow) -> Finding {
    Finding {
        cause: CAUSE.name,
        share_ns: Interval { lo: wait.path_ns, hi: wait.path_ns },
        saving_ns: Seen::unseen(
            "while it is held the path is with its holder, and what that did is still to be done",
        ),
        place: Place::Wait(row),
        action: None,
        evidence: Signs::Waits(SignedWaits {
            waits: wait.calls,
            of_waits: wait.calls,
            total_ns: wait.total_ns,
        }),
        assumes: vec![Assumption::FunctionNames],
        verify: Vec::new(),
    }
}

/// Whose interpreter's lock a wait is for, by its stack, the innermost first.
pub(crate) fn awaited(stack: &[StackFrame]) -> Option<Language> {
    let mut names = stack.iter().take(FRAMES).map(|frame| &frame.function);
    names.any(|name| TAKES.iter().any(|takes| name.starts_with(takes))).then_some(Language::Python)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(functions: &[&str]) -> Vec<StackFrame> {
        let frame = |function: &&str| StackFrame {
            function: (*function).to_owned(),
            source: None,
            language: Language::Native,
        };
        functions.iter().map(frame).collect()
    }

    #[test]
    fn the_lock_is_known_by_what_takes_it() {
        let with = stack(&["pthread_cond_timedwait", "take_gil.part.0", "_PyEval_EvalFrameDefault"]);
        assert_eq!(awaited(&with), Some(Language::Python));
        let exported = stack(&["__futex_abstimed_wait_common", "PyEval_RestoreThread", "time_sleep"]);
        assert_eq!(awaited(&exported), Some(Language::Python));
        assert_eq!(awaited(&stack(&["pthread_mutex_lock", "lock_PyThread_acquire_lock"])), None);
        // Far out it is what the thread does beside, and not what it waits in.
        let far: Vec<&str> = std::iter::repeat_n("f", FRAMES).chain(["take_gil"]).collect();
        assert_eq!(awaited(&stack(&far)), None);
    }
}

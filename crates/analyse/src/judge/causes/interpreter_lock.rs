//! Threads that wait for the lock of their language's interpreter, which
//! [`purpose`](crate::purpose) knows by functions.

use super::{Cause, Outcome};
use crate::judge::Evidence;
use model::coverage::Interval;
use model::finding::{Assumption, CauseName, Finding, Place, SignedWaits, Signs};
use model::recording::Tier;
use model::run::WaitRow;
use model::wait::WaitTarget;
use model::{Ns, Seen};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName { id: "interpreter-lock", title: "waits for the interpreter's lock" },
    tiers: &[Tier::Bpf],
    doc: "Threads wait for the global interpreter lock of CPython (GIL). A function that takes it is among the 8 \
          innermost frames of the wait, and such waits have a hundredth of the account or more.",
    check,
};

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

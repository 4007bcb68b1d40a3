//! Programs that wait for the other end of a pipe, a terminal or a local socket.

use super::{Cause, Manual, Outcome};
use crate::calls::waits_for_events;
use crate::judge::Evidence;
use crate::judge::file_calls::WRITES;
use crate::judge::predict::{Kind, Part, Parts, Removal, faster};
use crate::judge::signs::{By, Sign};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::run::WaitRow;
use model::sentence::Piece::{Count, Name, Ns as Time};
use model::wait::{TargetKind, WaitTarget, WakerKind};
use model::{Ns, Seen, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("pipe-peer", "waits for another program"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program waits for another program that it did not start: for data from it on a \
               pipe or a local socket, or for room there or on a terminal.",
        why: "A pipe is as fast as its slower end. This end has nothing to do in the meantime.",
        rule: "The waits are on the critical path, a thread outside the program ended them, and \
               they are on a pipe or a local socket, or for room on a terminal. Waits of an event \
               loop do not count, since it may wait for work that nobody has for it. Reads of a \
               terminal do not count either, since people type slowly. If the other end is a \
               process of the program itself, the account goes on with what that process did.",
        else_it_could_be: "The program may be faster than it must be: the other end does the work \
                           that matters, or waits for something in turn.",
        change: "Look at the other end: use `dwell attach` on its process, or `dwell run` on both \
                 programs together. Let it write larger pieces, and earlier.",
        part: "Assumed: with the other end s times faster, 1 - 1/s of the waits are saved. The \
               factor s is from 1.5 to all of it.",
        assumes: "The other end can be made at least 1.5 times faster, and its speed does not \
                  depend on this end.",
    },
    explains: &["small-io"],
    signs: &[Sign {
        by: By::Waits(is_at_a_pipe, SIGNS_MIN, "the other end of pipes and local sockets"),
        although: false,
        change: "look at the other end; it bounds this program",
    }],
    probe: None,
    check,
};

/// How many times faster the other end gets at least.
const FASTER_MIN: f64 = 1.5;

fn check(evidence: &Evidence<'_>) -> Outcome {
    if evidence.run.window.is_some() {
        return Outcome::Unavailable(
            "dwell attach cannot tell whether the program waits for work or for input".to_owned(),
        );
    }
    let waits: Vec<(usize, &WaitRow)> =
        evidence.run.waits.iter().enumerate().filter(|(_, wait)| is_for_a_peer(wait)).collect();
    let most = waits.iter().max_by_key(|(_, wait)| wait.path_ns).filter(|(_, wait)| wait.path_ns > 0);
    match most {
        Some((place, wait)) => Outcome::Found(vec![finding(evidence, *place, wait, &waits)]),
        None => Outcome::RuledOut(
            say!("no waits for another program on a pipe, a terminal or a local socket").into(),
        ),
    }
}

/// Fewer waits are for the other end to begin.
const SIGNS_MIN: u64 = 10;

fn is_at_a_pipe(wait: &WaitRow) -> bool {
    wait.reason == State::Pipe && wait.call.syscall().is_some_and(|call| !waits_for_events(&call.name))
}

fn is_for_a_peer(wait: &WaitRow) -> bool {
    let Some(call) = wait.call.syscall() else { return false };
    let kind = match wait.on.kind() {
        TargetKind::Pipe | TargetKind::Unix => true,
        TargetKind::Tty => WRITES.contains(&&*call.name),
        _ => false,
    };
    let outside: Ns =
        wait.by.iter().filter(|waker| waker.kind == WakerKind::Outside).map(|waker| waker.ns).sum();
    wait.reason == State::Pipe && kind && !waits_for_events(&call.name) && outside * 2 >= wait.total_ns
}

fn finding(evidence: &Evidence<'_>, place: usize, most: &WaitRow, waits: &[(usize, &WaitRow)]) -> Finding {
    let same: Vec<&WaitRow> = waits
        .iter()
        .map(|(_, wait)| *wait)
        .filter(|wait| wait.on == most.on && wait.call == most.call)
        .collect();
    let sum = |of: fn(&WaitRow) -> Ns| same.iter().map(|wait| of(wait)).sum::<Ns>();
    let (total_ns, path_ns) = (sum(|wait| wait.total_ns), sum(|wait| wait.path_ns));
    let times: u64 = same.iter().map(|wait| wait.calls).sum();
    let call = most.call.syscall().expect("it is in a call");
    let waker = most.by.iter().filter(|waker| waker.kind == WakerKind::Outside).max_by_key(|waker| waker.ns);
    let peer = waker.map(|waker| waker.name.clone()).unwrap_or_default();
    let verify = match waker.map(|waker| &waker.tid) {
        Some(Seen::Value(tid)) => say!("dwell attach ", Name(tid.to_string()), " while it runs"),
        _ => say!("dwell attach NAME while it runs"),
    };
    let (goes, part) = goes(evidence, most, path_ns);
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Wait(place),
        what: say!(Name(call.to_string()))
            .and(evidence.caller(&[call]))
            .and(say!(" waits ", Count(times, "time".into()), " for ", Name(peer), " at the other end of "))
            .and(end(&most.on))
            .and(say!(", ", Time(total_ns), " in all")),
        change: say!("make the other end faster: this program waits for it"),
        share_ns: Interval { lo: path_ns, hi: path_ns },
        saving: evidence.saving(&goes, part, SavingBasis::Assumed),
        evidence: vec![say!(
            Count(times, "wait".into()),
            ", each ",
            Time(total_ns / times.max(1)),
            " on average"
        )],
        assumes: vec![say!("the other end can be made at least 1.5 times faster")],
        verify: vec![verify],
        explains: Vec::new(),
        belief: None,
    }
}

fn end(on: &WaitTarget) -> model::Sentence {
    match on {
        WaitTarget::Unix(Seen::Value(path)) => say!("the local socket ", Name(path.clone())),
        WaitTarget::Unix(_) => say!("a local socket"),
        WaitTarget::Tty(_) => say!("a terminal"),
        WaitTarget::Pipe(Seen::Value(path)) => say!("the pipe ", Name(path.clone())),
        _ => say!("a pipe"),
    }
}

/// The waits.
fn goes(evidence: &Evidence<'_>, most: &WaitRow, path_ns: Ns) -> (Removal, Part) {
    let least = faster(FASTER_MIN);
    let call = most.call.syscall().expect("it is in a call");
    if let WaitTarget::Unix(Seen::Value(_)) = most.on {
        let waits = Interval { lo: path_ns, hi: path_ns };
        return (Removal::Account(waits, Kind::Waiting), (least, 1.0));
    }
    let of_call = (path_ns as f64 / evidence.path_ns_in(call).max(path_ns).max(1) as f64).min(1.0);
    let part = (least * of_call, of_call);
    let parts = Parts { cpu_ns: 0, ..evidence.parts_of(&[(call, part)], Kind::Waiting) };
    (Removal::Parts(parts), part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{call, step, wait};
    use crate::judge::samples::{found, judged, run, saves, sites};
    use model::prediction::Site;
    use model::{Diagnosis, Reason};

    const MS: Ns = 1_000_000;

    /// A second, 900 ms of which are spent in a call that waits so.
    fn diagnosis(name: &'static str, on: WaitTarget, by: WakerKind) -> Diagnosis {
        let mut run = run(&[(State::User, 100 * MS), (State::Pipe, 900 * MS)]);
        run.waits = vec![wait(State::Pipe, name, on, 100, 900 * MS, by)];
        run.tables.syscalls = Seen::Value(vec![call(name, 100, 0, 900 * MS)]);
        run.path = vec![step(State::Kernel, Reason::Syscall(name.into()), 900 * MS)];
        judged(&run, &sites(&run, &[(Site::Call(name.into()), [900 * MS; 3])]))
    }

    fn pipe() -> WaitTarget {
        WaitTarget::Pipe(Seen::Absent)
    }

    #[test]
    fn a_third_of_the_waits_for_another_program_goes_or_all() {
        let diagnosis = diagnosis("read", pipe(), WakerKind::Outside);
        let finding = found(&diagnosis, "pipe-peer").expect("it is there");
        assert_eq!(saves(finding), (300 * MS, 900 * MS));
        assert!(finding.what.0.contains(&Name("other".into())), "it names the other end: {:?}", finding.what);
    }

    #[test]
    fn a_local_socket_with_a_name_is_a_peer() {
        let on = WaitTarget::Unix(Seen::Value("/run/peer".into()));
        let mut run = run(&[(State::User, 100 * MS), (State::Kernel, 50 * MS), (State::Pipe, 800 * MS)]);
        run.account.push(model::run::measured(State::Runqueue, 50 * MS));
        run.waits = vec![wait(State::Pipe, "recvfrom", on.clone(), 100, 800 * MS, WakerKind::Outside)];
        run.tables.syscalls = Seen::Value(vec![call("recvfrom", 100, 0, 850 * MS)]);
        run.path = vec![
            step(State::Kernel, Reason::Syscall("recvfrom".into()), 50 * MS),
            step(State::Pipe, Reason::Syscall("recvfrom".into()), 800 * MS),
        ];
        let diagnosis = judged(&run, &sites(&run, &[(Site::Peer(on), [800 * MS; 3])]));
        let (lo, hi) = saves(found(&diagnosis, "pipe-peer").expect("it is there"));
        assert_eq!((lo / MS, hi / MS), (266, 800), "a third of the waits, or all");
    }

    #[test]
    fn within_the_tree_the_account_goes_on_and_people_type_slowly() {
        let is = |name, on, by| found(&diagnosis(name, on, by), "pipe-peer").is_some();
        assert!(!is("read", pipe(), WakerKind::Thread));
        assert!(!is("read", WaitTarget::Tty(Seen::Absent), WakerKind::Outside));
        assert!(is("write", WaitTarget::Tty(Seen::Absent), WakerKind::Outside));
        assert!(!is("poll", pipe(), WakerKind::Outside), "an event loop waits for work");
        assert!(!is("read", WaitTarget::File(Seen::Absent), WakerKind::Outside));
    }
}

//! Threads that hand over to each other for each small item.

use super::{Cause, Manual, Outcome};
use crate::judge::predict::{Kind, Part, Parts, Removal};
use crate::judge::{Evidence, starved};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::hand_overs::HandOverRow;
use model::recording::Tier;
use model::run::{WaitRow, WakerRow};
use model::sentence::Piece::{Bytes, Count, Name, Ns as Time, Number, Share};
use model::wait::{TargetKind, WaitTarget, WakerKind};
use model::{Ns, Reason, RuledOut, Seen, Sentence, State, Step, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("context-switching", "a hand-over for each small item"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "Threads or processes of the program hand over to each other many thousand times a \
               second, with little to do in between. They do so through a pipe, a local \
               connection, an eventfd or a condition variable.",
        why: "Each hand-over is a call that sends, a wake-up, a context switch and a call that \
              receives: 5 to 20 us, and more if an idle CPU has to wake up first. One byte takes \
              as long as 4 KiB.",
        rule: "Threads of the program ended a thousand waits of each other or more, at least one \
               in 50 us of the account (where the time of the run went), without what it waited \
               for CPUs that other programs had. The hand-overs take more \
               of the critical path than the program's own code does. They are the calls that send \
               and receive, waits behind the program's own threads, idle CPUs that wake up, and \
               run-queue time for which it was not seen who had the CPU. The calls move 4 KiB on \
               average or less. The reasons: with 50 us or more in between, the work is worth more \
               than the hand-over; fewer than a thousand hand-overs take some milliseconds; more \
               than a page is no small item. Waits for locks and for the end of a process do not \
               count.",
        else_it_could_be: "Each question may need its answer before the next one can be asked: \
                           then items cannot be batched.",
        change: "Hand over more at a time: buffer the items and write them together, let one \
                 thread do both steps, or give each thread a queue that it empties before it \
                 sleeps.",
        part: "Bounded: if k items share one hand-over, N - N/k of N hand-overs are saved, with k \
               from 10 to all of them: between nine tenths and all but one. Each saves its part of \
               the critical path. That is the kernel time of the calls that send and receive, with \
               syscall entry and exit, by samples; and the run-queue time until an idle CPU has \
               woken up, or behind threads of the program. The high end also includes run-queue \
               time for which it was not seen who had the CPU. The program's own code stays, and \
               so does time behind other programs. What the other side did in that time was the \
               rest of its own calls, which are saved as well. So the low end is the time by which \
               the run would be shorter, not only the time with nothing else under way. If CPUs \
               were short, no more is saved than the remaining CPU time allows.",
        assumes: "Ten items or more can share one hand-over. The threads have the CPUs that they \
                  had. This may not hold where dwell keeps one of two CPUs busy, since it reads an \
                  event for each hand-over. The threads then share the other CPU, and a hand-over \
                  there is faster than one to another CPU (5 us instead of 18). So the program \
                  runs faster under dwell than without it, and gains more than predicted.",
    },
    explains: &["small-io"],
    signs: &[],
    probe: None,
    check,
};

/// With fewer hand-overs there is little to gain.
const HAND_OVERS_MIN: u64 = 1000;
/// Time of the account between two hand-overs, at most, without waits behind other programs.
const APART_NS_MAX: Ns = 50_000;
/// Bytes of a call that are still a small item.
const BYTES_MAX: u64 = 4096;
/// The least number of items that could share one.
const TOGETHER: f64 = 10.0;

/// Calls that hand something over, or wait for it.
const CALLS: &[&str] = &[
    "read",
    "readv",
    "write",
    "writev",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "futex",
    "futex_wait",
    "futex_wake",
    "sendfile",
    "splice",
];

fn check(evidence: &Evidence<'_>) -> Outcome {
    let rows = evidence.run.waits.iter().enumerate().filter(|(_, wait)| hands_over(wait));
    let rows: Vec<(usize, &WaitRow, u64)> = rows.map(|(row, wait)| (row, wait, by_own(wait))).collect();
    let times: u64 = rows.iter().map(|(_, _, times)| times).sum();
    if times < HAND_OVERS_MIN {
        let hand_overs = Count(times, "hand-over".into());
        let what = say!("between its threads");
        return Outcome::RuledOut(RuledOut::below(hand_overs, what, Number(HAND_OVERS_MIN)));
    }
    // While other programs have the CPUs nothing is handed over.
    let others_ns = starved::of(evidence).others_ns;
    let apart_ns = evidence.run.whole_ns().saturating_sub(others_ns) / times;
    if apart_ns > APART_NS_MAX {
        return Outcome::RuledOut(RuledOut::above(
            Time(apart_ns),
            say!("from one hand-over to the next"),
            Time(APART_NS_MAX),
        ));
    }
    let (costs_ns, own_ns) = (costs_ns(evidence), evidence.account_ns(|state| state == State::User));
    if costs_ns.hi <= own_ns {
        let what = say!(
            "hand-overs take ",
            Time(costs_ns.hi),
            "; the program's own code takes more: ",
            Time(own_ns)
        );
        return Outcome::RuledOut(what.into());
    }
    match bytes_mean(evidence) {
        Some(bytes) if bytes > BYTES_MAX => {
            Outcome::RuledOut(RuledOut::above(Bytes(bytes), say!("per hand-over"), Bytes(BYTES_MAX)))
        }
        _ => Outcome::Found(vec![finding(evidence, &rows, times, costs_ns)]),
    }
}

/// Whether something is handed over by what ended such a wait.
fn hands_over(wait: &WaitRow) -> bool {
    match wait.on {
        WaitTarget::InterpreterLock(_) => false,
        _ => match wait.on.kind() {
            TargetKind::Pipe | TargetKind::Unix | TargetKind::Tcp | TargetKind::Udp | TargetKind::EventFd => {
                true
            }
            TargetKind::Futex => is_condition(wait),
            _ => false,
        },
    }
}

/// Whether a futex is a condition: then it is no lock that somebody had.
fn is_condition(wait: &WaitRow) -> bool {
    let stack = wait.stack.value().map_or(&[][..], Vec::as_slice);
    stack.iter().any(|frame| frame.function.contains("pthread_cond_"))
}

fn is_own(waker: &&WakerRow) -> bool {
    waker.kind == WakerKind::Thread
}

/// Bytes that such calls moved, on average, where that is known.
fn bytes_mean(evidence: &Evidence<'_>) -> Option<u64> {
    let rows = evidence.calls_named(CALLS).into_iter().filter_map(|(_, row)| {
        let results = row.results.value()?;
        Some((results.bytes?, results.sizes.iter().map(|(_, calls)| calls).sum::<u64>()))
    });
    let (bytes, calls) = rows.fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    (calls > 0).then(|| bytes / calls)
}

/// How many of them a thread of the program ended.
fn by_own(wait: &WaitRow) -> u64 {
    wait.by.iter().filter(is_own).map(|waker| waker.times).sum()
}

/// Whether it is a step of a hand-over: one of the calls, or the way back to a CPU.
fn is_step(step: &Step) -> bool {
    match &step.reason {
        Reason::Syscall(name) => CALLS.contains(&&*name.name),
        Reason::SyscallEntry | Reason::SyscallsSampled | Reason::PreemptedByOwn(_) | Reason::IdleCpu => true,
        _ => false,
    }
}

fn path_ns(evidence: &Evidence<'_>, counts: impl Fn(&Step) -> bool) -> Ns {
    evidence.run.path.iter().filter(|step| counts(step)).map(|step| step.ns).sum()
}

/// What hand-overs take of the path: the calls, and the time until the other one has a CPU. Who had
/// that meanwhile may be unseen.
fn costs_ns(evidence: &Evidence<'_>) -> Interval {
    let lo = path_ns(evidence, is_step);
    Interval { lo, hi: lo + path_ns(evidence, |step| step.reason == Reason::PreemptedUnseen) }
}

/// What goes with the hand-overs: this part of what they take of the path.
fn goes(evidence: &Evidence<'_>, costs_ns: Interval, part: Part) -> Parts {
    let of = |part: f64, ns: Ns| (ns as f64 * part) as Ns;
    Parts {
        cpu_ns: of(part.1, path_ns(evidence, |step| step.state == State::Kernel && is_step(step))),
        account_ns: Interval { lo: of(part.0, costs_ns.lo), hi: of(part.1, costs_ns.hi) },
        kind: Kind::Waiting,
    }
}

fn finding(
    evidence: &Evidence<'_>,
    rows: &[(usize, &WaitRow, u64)],
    times: u64,
    share_ns: Interval,
) -> Finding {
    let (row, wait, most) = rows
        .iter()
        .max_by_key(|(row, _, times)| (*times, std::cmp::Reverse(*row)))
        .copied()
        .expect("there are some");
    let call = wait.call.syscall().map_or_else(|| "a call".to_owned(), ToString::to_string);
    let handed = hand_over(evidence, wait);
    let part = (1.0 - 1.0 / TOGETHER, 1.0 - 1.0 / times as f64);
    let goes = goes(evidence, share_ns, part);
    let own_ns = evidence.account_ns(|state| state == State::User);
    Finding {
        cause: CAUSE.name.clone(),
        place: handed.map_or(RowRef::Wait(row), |(row, _)| RowRef::HandOver(row)),
        what: who(wait).and(say!(" to each other ")).and(through(wait)).and(say!(
            Count(times, "time".into()),
            ", every ",
            Time(evidence.run.whole_ns() / times)
        )),
        change: say!("put many items into one write, or let one thread do both steps"),
        share_ns,
        saving: evidence.saving(&Removal::Parts(goes), part, SavingBasis::Bounded),
        evidence: [
            Some(say!(Count(most, "wait".into()), " of these in ", Name(call))),
            handed.and_then(|(_, row)| how_soon(row)),
            Some(say!(
                "hand-overs have ",
                Share(share_ns.hi as f64 / evidence.run.whole_ns().max(1) as f64),
                " of the time, and the program's own code has ",
                Share(own_ns as f64 / evidence.run.whole_ns().max(1) as f64)
            )),
        ]
        .into_iter()
        .flatten()
        .collect(),
        assumes: [Some(say!("ten items or more can share one hand-over")), shares_a_cpu(evidence)]
            .into_iter()
            .flatten()
            .collect(),
        verify: vec![say!("strace -f -c -e trace=read,write … counts the calls before and after")],
        explains: Vec::new(),
        belief: None,
    }
}

/// The row of hand-overs that ended most waits of this row.
fn hand_over<'a>(evidence: &Evidence<'a>, wait: &WaitRow) -> Option<(usize, &'a HandOverRow)> {
    let rows = evidence.run.tables.hand_overs.value().map_or(&[][..], |all| all.rows.as_slice());
    let is_of =
        |row: &HandOverRow| row.through == wait.on && row.call == wait.call && row.reason == wait.reason;
    // They are in order of their number.
    rows.iter().enumerate().find(|(_, row)| is_of(row))
}

/// `from a wake-up until pong runs it takes 4 us (median)`.
fn how_soon(row: &HandOverRow) -> Option<Sentence> {
    let after = row.until_run.value()?;
    Some(say!(
        Name(row.from.name.clone()),
        " woke ",
        Name(row.to.name.clone()),
        " ",
        Count(row.times, "time".into()),
        ", after ",
        Time(row.waited.p50_ns),
        " of waiting; it ran ",
        Time(after.p50_ns),
        " later (medians)"
    ))
}

/// Threads that may use several CPUs and wait for each other's.
fn shares_a_cpu(evidence: &Evidence<'_>) -> Option<Sentence> {
    let behind_own = |step: &Step| matches!(step.reason, Reason::PreemptedByOwn(_));
    let idle = |step: &Step| step.reason == Reason::IdleCpu;
    let shares = evidence.cpus_allowed() > 1.5 && path_ns(evidence, behind_own) > path_ns(evidence, idle);
    shares.then(|| {
        say!("its threads share a CPU without dwell as well, since a hand-over to another CPU is slower")
    })
}

/// `ping and pong hand over`.
fn who(wait: &WaitRow) -> Sentence {
    let waits = wait.threads.first().map(|thread| &*thread.name);
    let wakes = wait.by.iter().find(is_own).map(|waker| &*waker.name);
    match (waits, wakes) {
        (Some(one), Some(other)) if one != other => {
            say!(Name(one.to_owned()), " and ", Name(other.to_owned()), " hand over")
        }
        (Some(one), _) | (_, Some(one)) => say!("threads called ", Name(one.to_owned()), " hand over"),
        (None, None) => say!("threads of the program hand over"),
    }
}

fn through(wait: &WaitRow) -> Sentence {
    let named = |kind: &'static str, name: &Seen<String>| match name {
        Seen::Value(name) => say!("through ", kind, " ", Name(name.clone()), ", "),
        _ => say!("through a ", kind, ", "),
    };
    match &wait.on {
        WaitTarget::Pipe(name) => named("pipe", name),
        WaitTarget::Unix(name) => named("local socket", name),
        WaitTarget::Tcp(_) => say!("through a TCP connection, "),
        WaitTarget::Udp(_) => say!("through a UDP socket, "),
        WaitTarget::Futex(_) => say!("by a condition variable, "),
        _ => Sentence::default(),
    }
}

#[cfg(test)]
mod tests;

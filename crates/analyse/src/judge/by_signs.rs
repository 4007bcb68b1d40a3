//! Looks for the signs of causes (`signs`): kinds of waits, and samples in the kernel. Without BPF
//! no call is counted and no waker seen, but where each thread waits is, and so is which call the
//! kernel works for.
//!
//! How often such a sign was right is learnt (`measured`), as for full rules. The thresholds here
//! say only from when on there is enough of a sign to tell of it.

use super::Evidence;
use super::callers::InCalls;
use super::named::{called, place};
use super::own_code::{self, frames};
use super::predict::{Kind, Removal};
use super::signs::{By, SeenSign, Sign};
use crate::code::Amount;
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::profile::{Activity, Frame, Weight};
use model::recording::Tier;
use model::run::WaitRow;
use model::sentence::Piece::{Count, Name, Ns as Time, Share};
use model::wait::{SyscallName, WaitTarget};
use model::{Ns, Seen, Sentence, State, say};

/// Waits and calls of a kind that are a twentieth of the whole are worth a finding, as any change
/// is that saves this much. Of the kernel's other work, as of page faults, any program has a part
/// while it starts and grows: what is less than a quarter bounds none.
const SEEN_MIN: f64 = 0.05;
const WORK_MIN: f64 = 0.25;
/// Fewer samples say nothing.
const SAMPLES_MIN: u64 = 10;
/// The least part of the time at a sign that goes.
const PART_MIN: f64 = 1.0 / 3.0;
/// Where more of a call's time is what has to be done, as copying, few calls do no better.
const NEEDED_MAX: f64 = 0.3;
/// A function of the program is named that has so much of the time.
const LEADS_MIN: f64 = 0.5;
/// What the sign that has most of the time says.
pub(super) fn found(
    evidence: &Evidence<'_>,
    cause: &CauseName,
    signs: &[Sign],
    ruled_out: bool,
) -> Option<Finding> {
    let signs = signs.iter().filter(|sign| !ruled_out || sign.although);
    let seen = signs.filter_map(|sign| Some((sign, seen(evidence, &sign.by)?)));
    let (sign, seen) = seen.max_by_key(|(_, seen)| seen.ns)?;
    let least = match sign.by {
        By::Functions(..) => WORK_MIN,
        By::Waits(..) | By::WaitsWhere(..) | By::Shown(_) | By::Calls(..) => SEEN_MIN,
    };
    if seen.ns == 0 || (seen.ns as f64) < least * evidence.run.whole_ns() as f64 {
        return None;
    }
    let share_ns = Interval { lo: (seen.ns as f64 * PART_MIN) as Ns, hi: seen.ns };
    Some(Finding {
        cause: cause.clone(),
        place: seen.place,
        what: seen.what,
        change: say!(sign.change),
        share_ns,
        saving: evidence.saving(
            &Removal::Account(share_ns, seen.kind),
            (PART_MIN, 1.0),
            SavingBasis::Assumed,
        ),
        evidence: seen.evidence,
        assumes: vec![say!("this time is what the cause is about: its full rule did not show that")],
        verify: vec![match evidence.tier {
            Tier::Bpf => say!("measure both versions: dwell compare BEFORE AFTER"),
            Tier::Perf | Tier::Proc => say!("dwell run --source bpf … counts the calls"),
        }],
        explains: Vec::new(),
        belief: None,
    })
}

fn seen(evidence: &Evidence<'_>, by: &By) -> Option<SeenSign> {
    match by {
        By::Waits(of, times_min, on) => of_waits(evidence, *of, *times_min, on, |_, _| true),
        By::WaitsWhere(of, times_min, on, is_so) => of_waits(evidence, *of, *times_min, on, *is_so),
        By::Calls(calls, needed) => of_calls(evidence, calls, needed),
        By::Functions(names, what) => of_functions(evidence, names, what),
        By::Shown(find) => find(evidence),
    }
}

/// Waits on the path; or, where the path goes on with who is waited for, those of the thread that
/// waited longest.
pub(super) fn of_waits(
    evidence: &Evidence<'_>,
    of: fn(&WaitRow) -> bool,
    times_min: u64,
    on: &'static str,
    is_so: fn(&Evidence<'_>, &[&WaitRow]) -> bool,
) -> Option<SeenSign> {
    let waits = || evidence.run.waits.iter().enumerate().filter(|(_, wait)| of(wait));
    let times: u64 = waits().map(|(_, wait)| wait.calls).sum();
    if times < times_min || !is_so(evidence, &waits().map(|(_, wait)| wait).collect::<Vec<_>>()) {
        return None;
    }
    let path_ns: Ns = waits().map(|(_, wait)| wait.path_ns).sum();
    let longest_ns = waits().filter_map(|(_, wait)| Some(wait.threads.first()?.ns)).max().unwrap_or(0);
    let ns = if evidence.run.window.is_some() { path_ns } else { path_ns.max(longest_ns) };
    let (row, most) = waits().max_by_key(|(_, wait)| wait.path_ns.max(wait.total_ns))?;
    let call = most.call.syscall().map(|call| say!(" in ", Name(call.name.clone().into_owned())));
    let what = say!(Count(times, "wait".into()), " for ", on)
        .and(call.unwrap_or_default())
        .and(caller(evidence, most))
        .and(say!(" take ", Time(ns)));
    let mut lines = vec![say!("the longest takes ", Time(most.max_ns))];
    lines.extend(target(&most.on));
    Some(SeenSign { ns, kind: Kind::Waiting, place: RowRef::Wait(row), what, evidence: lines })
}

/// Kernel functions that a thread is in when it uses a socket of the internet's protocols.
const OF_SOCKETS: &[&str] = &[
    "tcp_",
    "__tcp_",
    "ip_",
    "__ip_",
    "ip6_",
    "inet",
    "sock_",
    "__sock_",
    "__sys_send",
    "__sys_recv",
    "__sys_connect",
    "dev_",
    "__dev_",
    "net_rx",
    "__napi",
];

/// Whether any wait or any sample is about the internet's protocols.
pub(super) fn uses_network(evidence: &Evidence<'_>) -> bool {
    let waits = || evidence.run.waits.iter().any(|wait| matches!(wait.on, WaitTarget::Tcp(_)));
    let sampled = || evidence.profile.weights.iter().any(|weight| has_function(evidence, weight, OF_SOCKETS));
    waits() || sampled()
}

/// Who waits so: by the threads where they are known, else whoever makes the call.
fn caller(evidence: &Evidence<'_>, wait: &WaitRow) -> Sentence {
    match wait.call.syscall() {
        Some(call) if wait.threads.is_empty() => evidence.caller(&[call]),
        _ => evidence.caller_waiting(wait),
    }
}

fn target(on: &WaitTarget) -> Option<Sentence> {
    let name = match on {
        WaitTarget::Tcp(end) | WaitTarget::Udp(end) => end.to_string(),
        WaitTarget::File(Seen::Value(name)) | WaitTarget::Unix(Seen::Value(name)) => name.clone(),
        _ => return None,
    };
    Some(say!("most of them for ", Name(name)))
}

/// Samples on a CPU that are in these, of all.
struct Part {
    samples: Amount,
    all: Amount,
}

impl Part {
    /// None where they are few.
    fn of(evidence: &Evidence<'_>, is_in: impl Fn(&Weight) -> bool) -> Option<Self> {
        Some(Self::any(evidence, is_in)).filter(|part| part.samples.samples >= SAMPLES_MIN)
    }

    fn any(evidence: &Evidence<'_>, is_in: impl Fn(&Weight) -> bool) -> Self {
        let (mut samples, mut all) = (Amount::default(), Amount::default());
        for weight in evidence.profile.weights.iter().filter(|weight| is_on_cpu(weight)) {
            all.add(weight);
            if is_in(weight) {
                samples.add(weight);
            }
        }
        Self { samples, all }
    }

    /// The share of CPU time, and how much that is.
    fn of_cpu(&self, evidence: &Evidence<'_>) -> (f64, Ns) {
        let share = evidence.cpu_share(self.samples, self.all).value;
        (share, (evidence.account_ns(State::on_cpu) as f64 * share) as Ns)
    }

    fn seen(self, evidence: &Evidence<'_>, what: Sentence) -> SeenSign {
        let (share, ns) = self.of_cpu(evidence);
        let lines = vec![say!(
            Count(self.samples.samples, "sample".into()),
            " there, of ",
            Count(self.all.samples, "sample".into()),
            " on a CPU"
        )];
        let what = what.and(say!(" take about ", Time(ns), ", ", Share(share), " of CPU time"));
        SeenSign { ns, kind: Kind::Cpu, place: RowRef::State(State::Kernel), what, evidence: lines }
    }
}

fn is_on_cpu(weight: &Weight) -> bool {
    !matches!(weight.doing, Activity::Waiting(_))
}

/// Time in calls, where no more than a part of it has to be.
fn of_calls(evidence: &Evidence<'_>, names: &[&'static str], needed: &[&str]) -> Option<SeenSign> {
    let all: Vec<SyscallName> = names.iter().map(|name| (*name).into()).collect();
    let calls: Vec<&SyscallName> = all.iter().collect();
    let in_calls = InCalls::new(evidence.profile, &calls);
    let part = Part::of(evidence, |weight| in_calls.holds(weight))?;
    let needed =
        Part::any(evidence, |weight| in_calls.holds(weight) && has_function(evidence, weight, needed));
    if needed.samples.ns > part.samples.ns * NEEDED_MAX {
        return None;
    }
    let leading = calls.iter().filter_map(|call| {
        let alone = InCalls::new(evidence.profile, std::slice::from_ref(call));
        Some((Part::of(evidence, |weight| alone.holds(weight))?.samples.samples, *call))
    });
    let leading = leading.max_by_key(|(samples, _)| *samples).map(|(_, call)| call.to_string());
    let what = say!("calls of ", Name(leading.unwrap_or_default())).and(evidence.caller(&calls));
    Some(part.seen(evidence, what))
}

fn of_functions(evidence: &Evidence<'_>, names: &[&str], what: &'static str) -> Option<SeenSign> {
    let is_in = |weight: &Weight| has_function(evidence, weight, names);
    let part = Part::of(evidence, is_in)?;
    let own = own_code::functions(evidence.charges().filter(|charge| is_in(charge.weight)));
    let Some(most) = own.first().filter(|most| most.all.ns >= part.samples.ns * LEADS_MIN) else {
        return Some(part.seen(evidence, say!(what)));
    };
    let at = place(evidence, most);
    Some(SeenSign { place: at, ..part.seen(evidence, say!(what, " in ").and(called(most))) })
}

/// About how long the kernel worked for these calls, or other code for functions whose names begin
/// so, by samples.
pub(super) fn work_ns(evidence: &Evidence<'_>, calls: &[&'static str], functions: &[&str]) -> Ns {
    let all: Vec<SyscallName> = calls.iter().map(|name| (*name).into()).collect();
    let calls: Vec<&SyscallName> = all.iter().collect();
    let in_calls = InCalls::new(evidence.profile, &calls);
    let is_in = |weight: &Weight| in_calls.holds(weight) || has_function(evidence, weight, functions);
    Part::of(evidence, is_in).map_or(0, |part| part.of_cpu(evidence).1)
}

/// Whether a stack has a function whose name begins so or, after `*`, ends so.
fn has_function(evidence: &Evidence<'_>, weight: &Weight, names: &[&str]) -> bool {
    frames(evidence.profile, weight).any(|frame| is_named(frame, names))
}

fn is_named(frame: &Frame, names: &[&str]) -> bool {
    names.iter().any(|name| match name.strip_prefix('*') {
        Some(end) => frame.function.ends_with(end),
        None => frame.function.starts_with(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{profile_of, wait};
    use crate::judge::samples::run;
    use model::wait::WakerKind;
    use model::{Profile, Run};

    const MS: Ns = 1_000_000;
    const NAME: CauseName = CauseName::new("of-a-test", "a test");
    const CHANGE: &str = "change it";

    fn sees(by: By, although: bool, run: &Run, profile: &Profile, ruled_out: bool) -> Option<Finding> {
        let signs = [Sign { by, although, change: CHANGE }];
        found(&Evidence::of(Tier::Perf, run, profile), &NAME, &signs, ruled_out)
    }

    /// A second with this many waits for an answer, on the path for this long.
    fn waits(times: u64, path_ns: Ns) -> Run {
        let mut run = run(&[(State::Network, path_ns), (State::User, 1000 * MS - path_ns)]);
        let on = WaitTarget::TimeLimit;
        run.waits = vec![wait(State::Network, "recvfrom", on, times, 400 * MS, WakerKind::Unknown)];
        run.waits[0].path_ns = path_ns;
        run.waits[0].threads.clear();
        run
    }

    fn by_waits() -> By {
        By::Waits(|wait| wait.reason == State::Network, 2, "answers")
    }

    #[test]
    fn waits_of_a_kind_are_a_sign_from_a_twentieth_on() {
        let seen =
            |times, path_ns| sees(by_waits(), false, &waits(times, path_ns), &Profile::default(), false);
        let finding = seen(2, 50 * MS).expect("it shows");
        assert_eq!((finding.share_ns.hi, finding.place), (50 * MS, RowRef::Wait(0)));
        assert_eq!(finding.saving.value().map(|saving| saving.known), Some(SavingBasis::Assumed));
        assert!(seen(1, 50 * MS).is_none() && seen(2, 49 * MS).is_none());
    }

    #[test]
    fn where_the_path_goes_on_with_who_is_waited_for_the_longest_waiter_counts() {
        let mut run = waits(5, 0);
        run.waits[0].threads = vec![crate::judge::samples::waiting(100, 400 * MS)];
        let finding = sees(by_waits(), false, &run, &Profile::default(), false).expect("it shows");
        assert_eq!(finding.share_ns.hi, 400 * MS);
    }

    #[test]
    fn a_full_rule_that_did_not_find_it_is_right_but_where_the_sign_says_otherwise() {
        let run = waits(5, 500 * MS);
        assert!(sees(by_waits(), false, &run, &Profile::default(), true).is_none());
        assert!(sees(by_waits(), true, &run, &Profile::default(), true).is_some());
    }

    #[test]
    fn calls_that_mostly_copy_are_not_small() {
        let run = run(&[(State::Kernel, 1000 * MS)]);
        let entry: &[&str] = &["main", "libc:read", "k:ksys_read", "k:vfs_read"];
        let copy: &[&str] = &["main", "libc:read", "k:ksys_read", "k:_copy_to_iter"];
        let of = |copies: u64| {
            let profile = profile_of(Activity::Kernel, &[(entry, 100 - copies), (copy, copies)]);
            sees(By::Calls(&["read"], &["_copy_"]), false, &run, &profile, false).is_some()
        };
        assert!(of(0) && of(30) && !of(31));
    }

    #[test]
    fn less_than_a_quarter_of_the_work_bounds_no_program() {
        let run = run(&[(State::Kernel, 1000 * MS)]);
        let fault: &[&str] = &["main", "k:asm_exc_page_fault", "k:clear_page"];
        let of = |samples: u64| {
            let profile =
                profile_of(Activity::Kernel, &[(fault, samples), (&["main", "k:x"], 100 - samples)]);
            let by = By::Functions(&["asm_exc_page_fault"], "page faults");
            sees(by, false, &run, &profile, false).map(|finding| finding.share_ns.hi)
        };
        assert_eq!((of(25), of(24), of(9)), (Some(250 * MS), None, None));
    }
}

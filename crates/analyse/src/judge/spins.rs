//! Which calls only look whether something has happened, again and again, and which threads do
//! little else.

use super::Evidence;
use super::callers::{InCalls, begins};
use super::own_code::{self, Charge, Key, Owner};
use crate::code::Amount;
use crate::code::own::runs_others;
use crate::judge::results::would_block;
use model::profile::{Activity, Frame};
use model::recording::Language;
use model::run::Share;
use model::syscall_rows::CallRow;
use model::{Ns, Seen, Tid};
use rustc_hash::{FxHashMap, FxHashSet};

/// Fewer calls are no loop.
pub(super) const CALLS_MIN: u64 = 1000;
/// The least part of the calls that found nothing, in tenths.
const IN_VAIN_TENTHS: u64 = 9;
/// A call that was given time to wait takes longer on average.
const MEAN_NS_MAX: Ns = 20_000;

/// Calls that let others run and come back at once.
const YIELD: &[&str] = &["sched_yield"];
/// Calls that return 0 where nothing has happened.
const LOOK: &[&str] =
    &["poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2", "wait4", "waitid"];
/// Calls that fail where nothing is there.
const TRY: &[&str] = &["read", "readv", "recvfrom", "recvmsg", "accept", "accept4"];

/// The least parts of a spinning function's time: in the calls themselves, and in the kernel;
/// entering and leaving a short call takes longer than the call.
const IN_CALLS: f64 = 0.1;
const IN_KERNEL: f64 = 0.5;
/// The same of a loop that an interpreter runs, whose own steps take as long as a short call.
const IN_KERNEL_INTERPRETED: f64 = 0.25;
/// With fewer samples nothing is known of a function in one thread.
const SAMPLES_MIN: u64 = 10;
/// The least part of a thread's time in spinning, if it does little else.
const OF_THREAD: f64 = 0.5;

/// What was found.
#[derive(Debug, Clone)]
pub(super) struct Spins<'a> {
    /// The calls in vain, the most frequent first, by their rows.
    pub(super) calls: Vec<(usize, &'a CallRow)>,
    /// What spinning has of the samples.
    pub(super) share: Share,
    pub(super) samples: u64,
    /// The function that spins most.
    pub(super) by: Option<own_code::Sum<'a>>,
    /// Threads that do little else.
    pub(super) threads: FxHashSet<Tid>,
}

/// Rows of calls that mostly find nothing, the most frequent first; why it cannot be told of
/// others, if so.
pub(super) fn calls<'a>(evidence: &Evidence<'a>) -> (Vec<(usize, &'a CallRow)>, Option<String>) {
    let often = |row: &CallRow| row.calls >= CALLS_MIN && row.total_ns / row.calls <= MEAN_NS_MAX;
    let mut found: Vec<_> =
        evidence.calls_named(YIELD).into_iter().filter(|(_, row)| row.calls >= CALLS_MIN).collect();
    let mut unseen = None;
    let mut look = |names: &[&str], in_vain: &dyn Fn(&CallRow) -> Seen<u64>| {
        for (at, row) in evidence.calls_named(names).into_iter().filter(|(_, row)| often(row)) {
            match in_vain(row) {
                Seen::Value(times)
                    if times.saturating_mul(10) >= row.calls.saturating_mul(IN_VAIN_TENTHS) =>
                {
                    found.push((at, row));
                }
                Seen::Unseen(why) => unseen = Some(why),
                Seen::Value(_) | Seen::Absent => {}
            }
        }
    };
    look(LOOK, &|row| row.results.as_ref().map(|results| results.zeros));
    look(TRY, &|row| row.results.as_ref().map(|_| would_block(row)));
    found.sort_by_key(|(at, row)| (std::cmp::Reverse(row.calls), *at));
    (found, unseen)
}

/// A function of the program in one of its threads (index in the profile): what polls in one may
/// compute in another, above all an interpreter.
type InThread<'a> = (Key<'a>, u32);

/// Functions, by thread, whose time is such calls.
#[derive(Debug, Default)]
pub(super) struct Spinning<'a>(FxHashSet<InThread<'a>>);

impl Spinning<'_> {
    /// Whether the time is of one of them.
    pub(super) fn has(&self, charge: &Charge<'_>) -> bool {
        key(charge).is_some_and(|key| self.0.contains(&key))
    }
}

/// Functions of the program whose time is such calls.
pub(super) fn spinning<'a>(evidence: &Evidence<'a>) -> Spinning<'a> {
    match calls(evidence) {
        (calls, _) if calls.is_empty() => Spinning::default(),
        (calls, _) => functions(evidence, &calls),
    }
}

/// Who makes such calls, and how much of the CPU time that is.
pub(super) fn of<'a>(evidence: &Evidence<'a>, calls: Vec<(usize, &'a CallRow)>) -> Spins<'a> {
    let profile = evidence.profile;
    let spinning = functions(evidence, &calls);
    let is_spin = |charge: &Charge<'_>| spinning.has(charge);
    let (mut all, mut spent) = (Amount::default(), Amount::default());
    let mut of_thread: FxHashMap<u32, [f64; 2]> = FxHashMap::default();
    for charge in evidence.charges() {
        all.add(charge.weight);
        let [spins, whole] = of_thread.entry(charge.weight.thread).or_default();
        *whole += charge.weight.ns as f64;
        if is_spin(&charge) {
            spent.add(charge.weight);
            *spins += charge.weight.ns as f64;
        }
    }
    let threads = of_thread.into_iter().filter(|(_, [spins, whole])| *spins >= whole * OF_THREAD);
    Spins {
        calls,
        share: spent.share(all),
        samples: spent.samples,
        by: own_code::functions(evidence.charges().filter(is_spin)).into_iter().next(),
        threads: threads.map(|(thread, _)| profile.threads[thread as usize].tid).collect(),
    }
}

/// Whose the time is, by thread.
fn key<'a>(charge: &Charge<'a>) -> Option<InThread<'a>> {
    let key: Key<'a> = match charge.owner {
        Owner::Function(frame) => (&frame.function, &frame.module),
        Owner::Unnamed(module) => ("", module),
        Owner::Nobody => return None,
    };
    Some((key, charge.weight.thread))
}

/// Whether an interpreter runs it.
fn is_interpreted(charge: &Charge<'_>) -> bool {
    match charge.owner {
        Owner::Function(frame) => own_code::is_script(frame),
        Owner::Unnamed(module) => runs_others(module),
        Owner::Nobody => false,
    }
}

/// Functions of the program that are mostly in the kernel, for these calls more than for others.
fn functions<'a>(evidence: &Evidence<'a>, calls: &[(usize, &CallRow)]) -> Spinning<'a> {
    let names: Vec<_> = calls.iter().map(|(_, row)| &row.name).collect();
    let wrappers = InCalls::new(evidence.profile, &names);
    let mut sums: FxHashMap<InThread<'a>, Steps> = FxHashMap::default();
    for charge in evidence.charges() {
        let Some(key) = key(&charge) else { continue };
        // What traces the calls is no time of the program's.
        if own_code::frames(evidence.profile, charge.weight).any(is_tracing) {
            continue;
        }
        let steps = sums.entry(key).or_default();
        steps.interpreted |= is_interpreted(&charge);
        steps.samples += charge.weight.count;
        let ns = charge.weight.ns as f64;
        steps.all += ns;
        match charge.doing {
            Activity::Kernel => {
                steps.in_kernel += ns;
                let mut frames = own_code::frames(evidence.profile, charge.weight);
                match frames.find(|frame| is_entry(frame)) {
                    Some(entry) if calls.iter().any(|(_, row)| begins(&entry.function, &row.name.name)) => {
                        steps.these += ns;
                    }
                    Some(_) => steps.others += ns,
                    None => {}
                }
            }
            // As the kernel is entered and left, samples strike the wrapper.
            Activity::User if wrappers.holds(charge.weight) => steps.in_kernel += ns,
            _ => {}
        }
    }
    // Few samples say nothing of one thread: what threads have few of is judged together.
    let mut together: FxHashMap<Key<'a>, Steps> = FxHashMap::default();
    for ((key, _), steps) in sums.iter().filter(|(_, steps)| steps.samples < SAMPLES_MIN) {
        together.entry(*key).or_default().add(steps);
    }
    let spins = |key: &Key<'a>, steps: &Steps| match steps.samples < SAMPLES_MIN {
        true => together[key].spin(),
        false => steps.spin(),
    };
    Spinning(sums.iter().filter(|((key, _), steps)| spins(key, steps)).map(|(key, _)| *key).collect())
}

/// What a function was seen at.
#[derive(Debug, Default)]
struct Steps {
    /// In the calls, in ns as all of these.
    these: f64,
    /// In others.
    others: f64,
    in_kernel: f64,
    all: f64,
    samples: u64,
    interpreted: bool,
}

impl Steps {
    fn add(&mut self, more: &Steps) {
        self.these += more.these;
        self.others += more.others;
        self.in_kernel += more.in_kernel;
        self.all += more.all;
        self.samples += more.samples;
        self.interpreted |= more.interpreted;
    }

    /// Whether it is little else than these calls.
    fn spin(&self) -> bool {
        let needed = if self.interpreted { IN_KERNEL_INTERPRETED } else { IN_KERNEL };
        self.these >= self.all * IN_CALLS
            && self.these >= self.others
            && self.in_kernel - self.others >= self.all * needed
    }
}

/// Whether it is a tracer's program, or what calls it.
fn is_tracing(frame: &Frame) -> bool {
    let begins_with = |name| frame.function.starts_with(name);
    frame.language == Language::Kernel && (begins_with("bpf_prog_") || begins_with("bpf_trace_run"))
}

/// Whether it is where the kernel begins with one call: `__x64_sys_poll`.
fn is_entry(frame: &Frame) -> bool {
    frame.language == Language::Kernel && frame.function.starts_with("__") && frame.function.contains("_sys_")
}

//! More threads of one process that compute than CPUs, where they wait for each other: who has the
//! CPU waits for one that has none.

use super::{Cause, Manual, Outcome};
use crate::code::Amount;
use crate::judge::Evidence;
use crate::judge::named::called;
use crate::judge::own_code::{self, Charge, Sum};
use crate::judge::predict::{ALL, Removal};
use crate::purpose::takes_lock_in;
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::loads::LoadRow;
use model::profile::Activity;
use model::recording::Tier;
use model::run::{ThreadLedger, WaitRow};
use model::sentence::Piece::{self, Count, Decimal, Ns as Time, Number};
use model::{Ns, Pid, RuledOut, Sentence, State, Tid, say};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("oversubscription", "more threads that compute than CPUs"),
    tiers: &[Tier::Bpf, Tier::Perf],
    manual: Manual {
        what: "A process has more threads that compute than it may use CPUs, and these threads \
               wait for each other: in barriers, in spin locks, by `sched_yield`.",
        why: "The thread that the others wait for may be one that has no CPU at the moment. It gets \
              one when another has used up its turn, some milliseconds later. Threads that spin use \
              their whole turn for nothing.",
        rule: "The threads of one process that compute, or are ready to, for half of their life or \
               more are as many as 1.5 times the CPUs that it may use, on average over the run: a \
               main thread beside a worker for each CPU is no crowd. Each has half of an even share \
               of the CPUs or more: with less it gives its turns away. And they wait for each other, \
               by one of these signs. They call `sched_yield` 1,000 times or more. Or they wait for \
               each other on futexes 10 times for each thread or more, in a barrier or on a \
               condition: a join is one time. Or one \
               function has a tenth of their samples or more, at least 30, and looks at no more \
               than two lines of memory: fewer than a twentieth of its samples are at loads from \
               others. So does a loop that waits for a flag. If they wait for a lock as often, that \
               is the cause lock-contention, and what may be one (without stacks) counts as one. \
               Threads without these signs share work that has to be done by some CPU: that they \
               wait for one costs nothing.",
        else_it_could_be: "A loop that computes in registers alone, such as a hash or a random \
                           number, looks like one that waits for a flag. Then the threads may wait \
                           for no one, and the change saves little.",
        change: "Start no more threads than the program may use CPUs \
                 (`sched_getaffinity`, `nproc`, `OMP_NUM_THREADS`; a container's limit is below \
                 the host's CPUs). Use one pool for all libraries: pools in the threads of another \
                 pool multiply. Let threads sleep where they wait, or spin for a few microseconds.",
        part: "Bounded, or assumed if the sign is a function that may spin. At least nothing: the \
               work may take all CPUs anyway. At most all of the time with too many threads.",
        assumes: "With a CPU for each thread, none waits long for another one.",
    },
    explains: &[],
    signs: &[],
    probe: None,
    check,
};

/// That many threads for each CPU are a crowd.
const CROWD: f64 = 1.5;
/// A thread of it computes for this part of its life, or is ready to.
const COMPUTES_PART: Ns = 2;
/// And has this part of an even share of the CPUs.
const FAIR_PART: f64 = 2.0;
/// Signs that they wait for each other: yields, and waits on futexes for each thread.
const YIELDS_MIN: u64 = 1000;
const WAITS_A_THREAD: u64 = 10;
/// What a spinning function has of their samples, and how many.
const SPIN_SHARE_MIN: f64 = 0.1;
const SPIN_SAMPLES_MIN: u64 = 30;
/// A function that looks at this many lines of memory, but for one sample in twenty, may wait for
/// a flag.
const LINES_MAX: u64 = 2;
const OTHER_LOADS_PART: u64 = 20;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let crowds = crowds(evidence);
    let at_once = |crowd: &Crowd| crowd.wanted_ns as f64 / evidence.run.wall_ns.max(1) as f64;
    let needed = CROWD * evidence.cpus_bound_to();
    let most = crowds.values().map(at_once).fold(0.0, f64::max);
    if most < needed {
        let what = say!("threads of one process compute at once, or are ready to");
        return Outcome::RuledOut(RuledOut::below(Decimal(most), what, Decimal(needed)));
    }
    let mut all = Crowd::default();
    crowds.into_values().filter(|crowd| at_once(crowd) >= needed).for_each(|crowd| all.merge(crowd));
    let sign = sign(evidence, &all);
    let findings = sign.map(|sign| finding(evidence, &all, &sign, at_once(&all)));
    Outcome::of(findings, say!("no sign that the threads that compute wait for each other").into())
}

/// The threads of a process that compute.
#[derive(Debug, Clone, Default)]
struct Crowd {
    threads: u64,
    tids: FxHashSet<Tid>,
    /// On a CPU and in its queue.
    wanted_ns: Ns,
    cpu_ns: Ns,
    /// For how long it was there.
    present_ns: Ns,
}

impl Crowd {
    fn queued_ns(&self) -> Ns {
        self.wanted_ns - self.cpu_ns
    }
}

/// The threads that compute, by process. Who gets less than half of an even share of the CPUs,
/// but is ready to run for most of its life, gives its turns away.
fn crowds(evidence: &Evidence<'_>) -> BTreeMap<Pid, Crowd> {
    let cpu_ns = |thread: &ThreadLedger| thread.ns_in(State::on_cpu);
    let wanted_ns = |thread: &ThreadLedger| thread.ns_in(|state| state.on_cpu() || state == State::Runqueue);
    let wants = |thread: &&ThreadLedger| {
        !thread.idle && cpu_ns(thread) > 0 && wanted_ns(thread) >= thread.life_ns / COMPUTES_PART
    };
    let threads = || evidence.run.threads.iter().filter(wants);
    let all_ns: Ns = threads().map(wanted_ns).sum();
    let even = evidence.cpus_bound_to() * evidence.run.wall_ns as f64 / all_ns.max(1) as f64;
    let computes = |thread: &&ThreadLedger| {
        cpu_ns(thread) as f64 * FAIR_PART >= wanted_ns(thread) as f64 * even.min(1.0)
    };
    let mut crowds = BTreeMap::<Pid, Crowd>::default();
    for thread in threads().filter(computes) {
        crowds.entry(thread.pid).or_default().add(thread, cpu_ns(thread), wanted_ns(thread));
    }
    crowds
}

impl Crowd {
    fn add(&mut self, thread: &ThreadLedger, cpu_ns: Ns, wanted_ns: Ns) {
        self.threads += thread.threads();
        self.tids.insert(thread.tid);
        self.cpu_ns += cpu_ns;
        self.wanted_ns += wanted_ns;
        self.present_ns = self.present_ns.max(wanted_ns / thread.threads().max(1));
    }

    fn merge(&mut self, other: Crowd) {
        self.threads += other.threads;
        self.tids.extend(other.tids);
        self.wanted_ns += other.wanted_ns;
        self.cpu_ns += other.cpu_ns;
        self.present_ns = self.present_ns.max(other.present_ns);
    }
}

/// How it is known that they wait for each other.
enum Sign<'a> {
    Yields(u64),
    Futexes(u64),
    /// A function that may wait for a flag, and what it has of their samples.
    Spins(Box<Spin<'a>>),
}

struct Spin<'a> {
    by: Sum<'a>,
    share: model::run::Share,
}

fn sign<'a>(evidence: &Evidence<'a>, crowd: &Crowd) -> Option<Sign<'a>> {
    let of_crowd = |wait: &&WaitRow| {
        let waits = wait.threads.is_empty() || wait.threads.iter().any(|of| crowd.tids.contains(&of.tid));
        wait.reason == State::Lock && waits
    };
    let is_known = |wait: &WaitRow| wait.stack.value().is_some_and(|stack| takes_lock_in(stack).is_none());
    let (mut locks, mut others) = (0, 0);
    for wait in evidence.run.waits.iter().filter(of_crowd) {
        *if is_known(wait) { &mut others } else { &mut locks } += wait.calls;
    }
    let often = |waits: u64| waits >= WAITS_A_THREAD.saturating_mul(crowd.threads);
    let yields: u64 = evidence.calls_named(&["sched_yield"]).iter().map(|(_, row)| row.calls).sum();
    if often(locks) {
        return None;
    }
    let spin = spin(evidence, crowd).map(|spin| Sign::Spins(Box::new(spin)));
    spin.or_else(|| (yields >= YIELDS_MIN).then_some(Sign::Yields(yields)))
        .or_else(|| often(others).then_some(Sign::Futexes(others)))
}

/// The function with most of their samples that looks at the same memory all the time.
fn spin<'a>(evidence: &Evidence<'a>, crowd: &Crowd) -> Option<Spin<'a>> {
    let profile = evidence.profile;
    let of_crowd = |charge: &Charge<'_>| {
        let thread = profile.threads.get(charge.weight.thread as usize);
        thread.is_some_and(|thread| crowd.tids.contains(&thread.tid))
    };
    let all: Vec<Charge<'a>> = evidence.charges().filter(of_crowd).collect();
    let sum = |charges: &[Charge<'a>]| {
        charges.iter().fold(Amount::default(), |mut sum, charge| {
            sum.add(charge.weight);
            sum
        })
    };
    let rows = evidence.run.tables.loads.value().map_or(&[][..], |table| table.functions.as_slice());
    let in_row = |row: &LoadRow| -> Vec<Charge<'a>> {
        let user = all.iter().filter(|charge| charge.doing == Activity::User);
        let here = user.filter(|charge| {
            let frame = &profile.frames[profile.nodes[charge.weight.node as usize].frame as usize];
            frame.function == row.function && frame.module == row.module
        });
        here.copied().collect()
    };
    let stands = rows.iter().filter(|row| stands(row)).map(in_row);
    let most = stands.max_by(|a, b| sum(a).ns.total_cmp(&sum(b).ns))?;
    let (spent, share) = (sum(&most), sum(&most).share(sum(&all)));
    let enough = share.value >= SPIN_SHARE_MIN && spent.samples >= SPIN_SAMPLES_MIN;
    let by = own_code::functions(most.into_iter()).into_iter().next().filter(|_| enough)?;
    Some(Spin { by, share })
}

/// Whether it looks at the same places all the time.
fn stands(row: &LoadRow) -> bool {
    let elsewhere = row.stepping + if row.lines > LINES_MAX { row.jumping } else { 0 };
    elsewhere.saturating_mul(OTHER_LOADS_PART) < row.samples
}

fn finding(evidence: &Evidence<'_>, crowd: &Crowd, sign: &Sign<'_>, at_once: f64) -> Finding {
    let waited = crowd.queued_ns() as f64 / crowd.wanted_ns.max(1) as f64;
    let (how, figure): (Sentence, Sentence) = match sign {
        Sign::Spins(spin) => (
            say!(", and ").and(called(&spin.by)).and(say!(
                ", which may wait for them in a loop, has ",
                Piece::Share(spin.share.value),
                " of their CPU time"
            )),
            say!("it looks at no other memory meanwhile, as a loop that waits for a flag"),
        ),
        Sign::Yields(times) => (say!(""), say!("sched_yield was called ", Count(*times, "time".into()))),
        Sign::Futexes(times) => {
            (say!(", and for each other"), say!("they waited for each other ", Count(*times, "time".into())))
        }
    };
    let hi = crowd.present_ns.min(evidence.run.whole_ns());
    let known = match sign {
        Sign::Spins(_) => SavingBasis::Assumed,
        Sign::Yields(_) | Sign::Futexes(_) => SavingBasis::Bounded,
    };
    let saving = evidence.saving(&Removal::Wall(Interval { lo: 0, hi }), ALL, known);
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::State(State::Runqueue),
        what: say!(
            Count(crowd.threads, "thread".into()),
            " compute on ",
            Count(evidence.cpus_bound_to() as u64, "CPU".into()),
            ": they wait ",
            Time(crowd.queued_ns()),
            " for one in total"
        )
        .and(how),
        change: say!(
            "start no more threads than CPUs: ",
            Number(evidence.cpus_bound_to() as u64),
            ", in one pool"
        ),
        share_ns: Interval { lo: 0, hi: saving.value().map_or(hi, |saving| saving.ns.hi) },
        saving,
        evidence: vec![
            say!(
                Decimal(at_once),
                " of them want a CPU at once on average; a thread waits ",
                Piece::Share(waited),
                " of that time"
            ),
            figure,
        ],
        assumes: vec![say!("with a CPU for each thread, none waits long for another one")],
        verify: vec![say!("dwell compare with as many threads as CPUs")],
        explains: Vec::new(),
        belief: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::own_code::tests::{Told, native};
    use crate::judge::samples::{call, found, judged_with, run, saves, thread, wait, waiting};
    use model::loads::LoadTable;
    use model::recording::Language;
    use model::wait::{FrameKind, StackFrame, WaitTarget};
    use model::{Diagnosis, Profile, Run, Seen};

    const MS: Ns = 1_000_000;

    /// This number of threads on four CPUs, for a second.
    fn of(threads: u32) -> Run {
        let mut run = run(&[(State::User, 1000 * MS)]);
        let ran_ns = 4000 * MS / u64::from(threads.max(4));
        let states = [(State::User, ran_ns), (State::Runqueue, 1000 * MS - ran_ns)];
        run.threads = (0..threads).map(|at| thread(100 + at, &states)).collect();
        run
    }

    fn judge(run: &Run) -> Diagnosis {
        judged_with(run, &Profile::default(), &Seen::Absent)
    }

    fn yields(mut run: Run, times: u64) -> Run {
        run.tables.syscalls = Seen::Value(vec![call("sched_yield", times, MS)]);
        run
    }

    #[test]
    fn a_crowd_that_yields_may_save_all_of_its_time() {
        let diagnosis = judge(&yields(of(8), 1000));
        let finding = found(&diagnosis, "oversubscription").expect("it is there");
        assert_eq!(saves(finding), (0, 1000 * MS));
        assert!(found(&judge(&yields(of(8), 999)), "oversubscription").is_none());
        assert!(found(&judge(&yields(of(5), 1000)), "oversubscription").is_none(), "one more is no crowd");
        assert!(found(&judge(&yields(of(6), 1000)), "oversubscription").is_some());
    }

    #[test]
    fn threads_of_many_processes_are_no_crowd() {
        let mut run = yields(of(8), 1000);
        run.threads.iter_mut().for_each(|thread| thread.pid = thread.tid);
        assert!(found(&judge(&run), "oversubscription").is_none());
    }

    #[test]
    fn threads_that_wait_on_futexes_again_and_again_wait_for_each_other() {
        let waits = |times: u64, function: &str| {
            let mut run = of(8);
            let futex = wait(State::Lock, WaitTarget::Futex(Seen::Value(7)), &[waiting(101, times * MS)]);
            let frame = |function: &str| StackFrame {
                function: function.into(),
                source: None,
                language: Language::Native,
                kind: FrameKind::Function,
            };
            let stack = Seen::Value(vec![frame(function), frame("step")]);
            run.waits = vec![WaitRow { stack, ..futex }];
            found(&judge(&run), "oversubscription").is_some()
        };
        assert!(waits(80, "pthread_barrier_wait") && !waits(79, "pthread_barrier_wait"));
        assert!(!waits(80, "pthread_mutex_lock"), "for a lock");
    }

    #[test]
    fn a_loop_that_looks_at_one_place_is_not_needed() {
        let spins =
            |samples: u64, stepping: u64| {
                let mut run = of(8);
                let row = LoadRow {
                    function: "arrive".into(),
                    module: "steps".into(),
                    samples: 400,
                    at_loads: 400,
                    stepping,
                    jumping: 400 - stepping,
                    addresses: 400 - stepping,
                    lines: 1,
                    pages: 1,
                    set_bytes: Seen::Absent,
                    page_set_bytes: Seen::Absent,
                    in_order: Seen::Absent,
                };
                run.tables.loads = Seen::Value(LoadTable { functions: vec![row], caches: Vec::new() });
                let told = Told::default()
                    .stack(samples, Activity::User, &[native("steps", "arrive")])
                    .stack(1000 - samples, Activity::User, &[native("steps", "step")]);
                found(&judged_with(&run, &told.0, &Seen::Absent), "oversubscription").map(saves)
            };
        let (lo, hi) = spins(900, 0).expect("it is there");
        assert_eq!((lo, hi), (0, 1000 * MS));
        assert!(spins(900, 20).is_none(), "it steps through memory");
        assert!(spins(100, 0).is_some() && spins(99, 0).is_none());
    }
}

//! Programs that spend much of their CPU time on allocating and freeing memory.

use super::{Cause, Imposed, Manual, Outcome};
use crate::code::Amount;
use crate::judge::Evidence;
use crate::judge::allocators::Step;
use crate::judge::fault_places;
use crate::judge::named::{called, place};
use crate::judge::own_code::{self, Charge, Sum, Within};
use crate::judge::predict::Removal;
use crate::judge::shortfall::ShareNeeded;
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::{Language, Tier};
use model::run::Share;
use model::sentence::Piece::{self, Count, Name};
use model::{Ns, Probe, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("allocation", "allocating and freeing memory"),
    tiers: &[Tier::Bpf, Tier::Perf],
    manual: Manual {
        what: "The allocator or the garbage collector takes a large part of the program's CPU \
               time, for one function of the program or for many.",
        why: "Allocating and freeing a block costs 10 to 20 ns if the allocator has a free block \
              at hand, and several times that if it must split or merge blocks or ask the kernel. \
              Garbage-collected memory costs its share of each collection. A block that the \
              program keeps and reuses costs about 1 ns. Near the limit of its heap a program \
              collects again and again, and each time looks at all that it keeps.",
        rule: "A sample counts if its stack, from the innermost frame outwards, has a function of \
               the allocator or the collector before any function of the program. A tenth of all \
               samples on CPUs or more count, with the low end of the interval at a twentieth or \
               more; there are at least 10 of them. Threads of a collector count whatever they do, by the \
               names that OpenJDK gives them. Half of all samples are needed, with the low end at \
               two fifths, if a script calls for most of the allocator's time, or if no function \
               has half of it and the collector does. The reasons: a program that allocates its \
               results spends up to a tenth on that. Compilers and interpreters spend up to a \
               fifth: how likely it is what to change is learnt from measured changes. An \
               interpreter also makes an object for each number that a script computes: that takes \
               a tenth to a third, and the script cannot avoid it. A collector that moves what a \
               program builds takes up to a third; near the heap's limit it takes most. If one \
               function of the program makes the calls in half of these samples or more, it is the \
               place to change. Otherwise the place is the program, and less is certain.",
        else_it_could_be: "The program may allocate memory once and keep it: then few calls free \
                           any.",
        change: "Allocate blocks once and reuse them: move the allocation out of the loop, or use \
                 a pool, an arena or the stack. Give a container its final size at the start \
                 (`reserve`, a capacity). In Go, Java and JavaScript, make fewer objects on the \
                 paths that are taken often. If the collector has most of the time, raise the \
                 heap's limit (`-Xmx`, `--max-old-space-size`, `GOGC`), or keep less.",
        part: "Bounded: between half of the allocator's time and all of it. A free list takes a \
               tenth of what `malloc` and `free` take, but not every block can be reused. Without a \
               main caller the low end is half of what the largest caller has of it. Twice the free \
               memory halves the collector's time.",
        assumes: "At least half of the blocks can be reused. The allocator's share of the critical \
                  path is the same as its share of all threads.",
    },
    explains: &[],
    signs: &[],
    probe: Some(Imposed { probe: Probe::KeepMemory, fits: |finding, _| finding.place != RowRef::Run }),
    check,
};

/// The allocator's share of the samples, and the low end of its interval.
const SHARE_MIN: f64 = 0.10;
const SHARE_LO_MIN: f64 = 0.05;
/// The share where a script's function calls for it, since an interpreter makes and frees an object
/// for each number; and where it is a collector's, which moves what a program keeps.
const MORE_SHARE_MIN: f64 = 0.50;
const MORE_SHARE_LO_MIN: f64 = 0.40;
const SAMPLES_MIN: u64 = 10;
const NEEDED: ShareNeeded = ShareNeeded { value: SHARE_MIN, lo: SHARE_LO_MIN, samples: SAMPLES_MIN };
const NEEDED_MORE: ShareNeeded =
    ShareNeeded { value: MORE_SHARE_MIN, lo: MORE_SHARE_LO_MIN, samples: SAMPLES_MIN };
/// The main caller's time, times this, is the allocator's time or more.
const CALLER_PART: f64 = 2.0;
/// The least part that goes.
const PART_MIN: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Outcome {
    Outcome::of_table(&evidence.run.tables.functions, |_| {
        let allocators = of(evidence, None);
        let share = evidence.cpu_share(allocators, evidence.cpu_samples());
        let what = say!("of CPU time in the allocator");
        if let Some(why) = NEEDED.why_not(&share, allocators.samples, what) {
            return Outcome::RuledOut(why);
        }
        let callers = own_code::functions(charges(evidence));
        let most = callers.into_iter().next();
        let collects = of(evidence, Some(Step::Collects)).ns * CALLER_PART >= allocators.ns;
        let scripted = most.as_ref().is_none_or(|most| most.frame.language == Language::Python);
        let by = By { most: most.as_ref(), all_ns: allocators.ns, collects };
        let called = match (scripted && !collects, by.main()) {
            (true, _) => Some(say!("of CPU time in the allocator, called by an interpreted function")),
            (false, None) if collects => Some(say!("of CPU time in the garbage collector")),
            _ => None,
        };
        if let Some(why) = called.and_then(|what| NEEDED_MORE.why_not(&share, allocators.samples, what)) {
            return Outcome::RuledOut(why);
        }
        Outcome::Found(vec![finding(evidence, &by, share)])
    })
}

/// Whom the allocator works for.
struct By<'a> {
    /// The function that calls it most.
    most: Option<&'a Sum<'a>>,
    all_ns: f64,
    /// Whether half of its time or more is the collector's.
    collects: bool,
}

impl<'a> By<'a> {
    /// What its largest caller has of its time.
    fn part(&self) -> f64 {
        self.most.map_or(0.0, |most| most.all.ns / self.all_ns)
    }

    /// The function that calls for half of its time or more.
    fn main(&self) -> Option<&'a Sum<'a>> {
        self.most.filter(|_| self.part() * CALLER_PART >= 1.0)
    }

    /// The least part that goes.
    fn part_min(&self) -> f64 {
        match self.main() {
            Some(_) => PART_MIN,
            None if self.collects => PART_MIN,
            None => PART_MIN * self.part(),
        }
    }

    fn what(&self, share: Share) -> Sentence {
        let of_cpu = || say!(Piece::Share(share.value), " of the CPU time");
        match (self.main(), self.collects) {
            (Some(main), _) => called(main)
                .and(say!(" allocates and frees memory: "))
                .and(of_cpu())
                .and(say!(" is the allocator's")),
            (None, true) => say!("the garbage collector has ").and(of_cpu()),
            (None, false) => {
                say!("many functions make and free memory: ").and(of_cpu()).and(say!(" is the allocator's"))
            }
        }
    }

    fn change(&self) -> Sentence {
        match (self.main(), self.collects) {
            (None, true) => {
                say!(
                    "raise the heap's limit (-Xmx, --max-old-space-size, GOGC), keep less, or make fewer objects"
                )
            }
            _ => say!("allocate blocks once and reuse them: outside the loop, in a pool or an arena"),
        }
    }
}

/// Stacks in the allocator.
fn charges<'a>(evidence: &Evidence<'a>) -> impl Iterator<Item = Charge<'a>> + use<'a> {
    evidence.charges().filter(|charge| matches!(charge.within, Within::Allocator(_)))
}

/// The samples in the allocator, of all its steps or of one.
fn of(evidence: &Evidence<'_>, step: Option<Step>) -> Amount {
    let is = |within: Within<'_>| step.is_none_or(|step| within == Within::Allocator(step));
    charges(evidence).filter(|charge| is(charge.within)).fold(Amount::default(), |mut sum, charge| {
        sum.add(charge.weight);
        sum
    })
}

fn finding(evidence: &Evidence<'_>, by: &By<'_>, share: Share) -> Finding {
    let on_cpu_ns = evidence.account_ns(State::on_cpu) as f64;
    let allocators = of(evidence, None);
    let steps = [(Step::Makes, "allocating"), (Step::Frees, "freeing"), (Step::Collects, "collecting")];
    let step = |(step, name): (Step, &'static str)| -> Option<Sentence> {
        let part = of(evidence, Some(step)).ns / allocators.ns;
        (part > 0.0).then(|| say!(name, ": ", Piece::Share(part), " of these samples"))
    };
    let mut figures =
        vec![say!(Count(allocators.samples, "sample".into()), " in the allocator or the collector")];
    figures.extend(steps.into_iter().filter_map(step));
    figures.extend(by.most.filter(|_| by.main().is_some() || !by.collects).map(|most| {
        say!(Name(most.frame.function.clone()), " needs ", Piece::Share(by.part()), " of these samples")
    }));
    figures.extend(faults(evidence));
    let verify = match by.main() {
        Some(main) => say!("dwell run --lines '", Name(main.frame.function.clone()), "' …"),
        None => say!("dwell compare of both versions"),
    };
    Finding {
        cause: CAUSE.name.clone(),
        place: by.main().map_or(RowRef::Run, |main| place(evidence, main)),
        what: by.what(share),
        change: by.change(),
        share_ns: Interval { lo: (on_cpu_ns * share.lo) as Ns, hi: (on_cpu_ns * share.hi) as Ns },
        saving: evidence.saving(&Removal::Samples(share), (by.part_min(), 1.0), SavingBasis::Bounded),
        evidence: figures,
        assumes: vec![say!("at least half of the blocks can be reused")],
        verify: vec![verify],
        explains: Vec::new(),
        belief: None,
    }
}

/// Where the page faults are of the process that has most of them: blocks that go back to the
/// kernel are touched anew.
fn faults(evidence: &Evidence<'_>) -> Option<Sentence> {
    let most = evidence.run.tables.fault_places.value()?.processes.first()?;
    let fault_ns = evidence.account_ns(|state| state == State::Fault);
    evidence.is_notable(fault_ns).then(|| fault_places::leading(evidence, most.pid)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::own_code::tests::{Told, at, native};
    use crate::judge::samples::{found, judged_with, run, saves};
    use model::Seen;
    use model::profile::{Activity, Frame};

    const MS: Ns = 1_000_000;

    /// Samples in the allocator, by callers, and other samples.
    fn told(callers: &[(&str, u64)], others: u64) -> Told {
        let other = native("program", "other");
        let told = Told::default().stack(others, Activity::User, &[other]);
        callers.iter().fold(told, |told, (name, samples)| {
            let caller = at(native("program", name), "/src/a.c", 7);
            let half = samples / 2;
            told.stack(half, Activity::User, &[native("libc.so.6", "malloc"), caller.clone()]).stack(
                samples - half,
                Activity::User,
                &[native("libc.so.6", "libc.so.6+0x99"), native("libc.so.6", "free"), caller],
            )
        })
    }

    fn diagnosis(callers: &[(&str, u64)], others: u64) -> model::Diagnosis {
        judged_with(&run(&[(State::User, 1000 * MS)]), &told(callers, others).0, &Seen::Absent)
    }

    #[test]
    fn a_loop_that_makes_and_frees_saves_half_of_it_to_all() {
        let diagnosis = diagnosis(&[("parse", 800)], 200);
        let finding = &diagnosis.findings[0];
        assert_eq!(finding.cause.id, "allocation");
        let (lo, hi) = saves(finding);
        assert!(lo > 380 * MS && lo < 400 * MS && hi > 800 * MS && hi < 830 * MS, "{lo} to {hi}");
    }

    #[test]
    fn a_quarter_is_enough_where_one_function_calls_for_half() {
        assert!(found(&diagnosis(&[("parse", 100)], 900), "allocation").is_some());
        assert!(found(&diagnosis(&[("parse", 99)], 901), "allocation").is_none());
        assert!(found(&diagnosis(&[("parse", 130), ("print", 120)], 750), "allocation").is_some());
    }

    #[test]
    fn many_callers_leave_less_that_is_certain_and_no_line() {
        let spread = diagnosis(&[("parse", 320), ("print", 240), ("read", 240)], 200);
        let finding = found(&spread, "allocation").expect("it is there");
        let (lo, hi) = saves(finding);
        assert!(lo > 150 * MS && lo < 160 * MS && hi > 800 * MS, "two fifths of half of it: {lo} to {hi}");
        assert_eq!(finding.place, RowRef::Run);
    }

    #[test]
    fn threads_of_a_collector_are_known_by_their_names() {
        let judged = |name: &str| {
            let frames = [native("libjvm.so", "libjvm.so+0x99"), native("libjvm.so", "libjvm.so+0x7")];
            let mut told = Told::default().stack(600, Activity::User, &frames);
            told.0.threads[0].name = name.into();
            judged_with(&run(&[(State::User, 1000 * MS)]), &told.0, &Seen::Absent)
        };
        let collects = judged("GC Thread#0");
        let finding = found(&collects, "allocation").expect("it is there");
        assert!(finding.place == RowRef::Run && saves(finding).0 > 480 * MS, "{finding:?}");
        assert!(found(&judged("java"), "allocation").is_none());
    }

    #[test]
    fn a_script_that_counts_is_not_blamed_for_the_objects_of_its_numbers() {
        let script = |samples| {
            let caller = Frame { language: Language::Python, ..at(native("busy.py", "count"), "busy.py", 7) };
            let frames = [native("libpython3.so", "PyObject_Malloc"), caller.clone()];
            let told = Told::default().stack(1000 - samples, Activity::User, &[caller]);
            told.stack(samples, Activity::User, &frames)
        };
        let judged =
            |samples| judged_with(&run(&[(State::User, 1000 * MS)]), &script(samples).0, &Seen::Absent);
        let counts = judged(400);
        assert!(found(&counts, "allocation").is_none());
        let said = counts.ruled_out.iter().find(|(cause, _)| cause.id == "allocation").unwrap();
        assert!(format!("{:?}", said.1).contains("interpreted"), "{said:?}");
        assert!(found(&judged(600), "allocation").is_some());
    }

    #[test]
    fn a_few_samples_say_nothing() {
        assert!(found(&diagnosis(&[("parse", 9)], 1), "allocation").is_none());
        assert!(found(&diagnosis(&[("parse", 10)], 1), "allocation").is_some());
    }
}

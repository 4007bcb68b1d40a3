//! Programs that spend much of their CPU time on allocating and freeing memory.

use super::{Cause, Imposed, Manual, Outcome};
use crate::code::Amount;
use crate::judge::Evidence;
use crate::judge::allocators::Step;
use crate::judge::fault_places;
use crate::judge::imposed;
use crate::judge::named::{called, place};
use crate::judge::own_code::{self, Charge, Sum, Within};
use crate::judge::predict::Removal;
use crate::judge::shortfall::ShareNeeded;
use model::coverage::Interval;
use model::finding::{CauseName, Finding, SavingBasis};
use model::recording::{Language, Tier};
use model::run::Share;
use model::sentence::Piece::{self, Count, Name};
use model::{Ns, Probe, RuledOut, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("allocation", "allocating and freeing memory"),
    tiers: &[Tier::Bpf, Tier::Perf],
    manual: Manual {
        what: "The allocator or the garbage collector takes a large part of the program's CPU \
               time, mostly for one function of the program.",
        why: "Allocating and freeing a block costs 10 to 20 ns if the allocator has a free block \
              at hand, and several times that if it must split or merge blocks or ask the kernel. \
              Garbage-collected memory costs its share of each collection. A block that the \
              program keeps and reuses costs about 1 ns.",
        rule: "A sample counts if its stack, from the innermost frame outwards, has a function of \
               the allocator or the collector before any function of the program. A quarter of all \
               samples on CPUs or more count, with the low end of the interval at a fifth or more; \
               there are at least 30 of them. One function of the program makes the calls in half \
               of these samples or more. If it is a function of a script, half of all samples are \
               needed, with the low end at two fifths. The reasons: a program that allocates its \
               results spends up to a tenth on that, compilers and interpreters up to a fifth. An \
               interpreter also makes an object for each number that a script computes: that takes \
               a tenth to a third, and the script cannot avoid it. Without one main caller there \
               is no place to change.",
        else_it_could_be: "The program may allocate memory once and keep it: then few calls free \
                           any.",
        change: "Allocate blocks once and reuse them: move the allocation out of the loop, or use \
                 a pool, an arena or the stack. Give a container its final size at the start \
                 (`reserve`, a capacity). In Go, Java and JavaScript, make fewer objects on the \
                 paths that are taken often.",
        part: "Bounded: between half of the allocator's time and all of it. A free list takes a \
               tenth of what `malloc` and `free` take, but not every block can be reused.",
        assumes: "At least half of the blocks can be reused. The allocator's share of the critical \
                  path is the same as its share of all threads.",
    },
    explains: &[],
    signs: &[],
    probe: Some(Imposed { probe: Probe::KeepMemory, fits: imposed::always }),
    check,
};

/// The allocator's share of the samples, and the low end of its interval.
const SHARE_MIN: f64 = 0.25;
const SHARE_LO_MIN: f64 = 0.20;
/// The share where a script's function calls for it: an interpreter makes and frees an object for
/// each number.
const SCRIPT_SHARE_MIN: f64 = 0.50;
const SCRIPT_SHARE_LO_MIN: f64 = 0.40;
const SAMPLES_MIN: u64 = 30;
const NEEDED: ShareNeeded = ShareNeeded { value: SHARE_MIN, lo: SHARE_LO_MIN, samples: SAMPLES_MIN };
const NEEDED_BY_SCRIPT: ShareNeeded =
    ShareNeeded { value: SCRIPT_SHARE_MIN, lo: SCRIPT_SHARE_LO_MIN, samples: SAMPLES_MIN };
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
        let Some(most) = callers.into_iter().next() else {
            return Outcome::RuledOut(say!("no function of the program calls the allocator").into());
        };
        if most.all.ns * CALLER_PART < allocators.ns {
            return Outcome::RuledOut(RuledOut::below(
                Piece::Share(most.all.ns / allocators.ns),
                say!("of the allocator's time is for its main caller, ", Name(most.frame.function.clone())),
                Piece::Share(1.0 / CALLER_PART),
            ));
        }
        if most.frame.language == Language::Python {
            let what = say!("of CPU time in the allocator, called by an interpreted function");
            if let Some(why) = NEEDED_BY_SCRIPT.why_not(&share, allocators.samples, what) {
                return Outcome::RuledOut(why);
            }
        }
        Outcome::Found(vec![finding(evidence, &most, share)])
    })
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

fn finding(evidence: &Evidence<'_>, most: &Sum<'_>, share: Share) -> Finding {
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
    figures.push(say!(
        Name(most.frame.function.clone()),
        " needs ",
        Piece::Share(most.all.ns / allocators.ns),
        " of these samples"
    ));
    figures.extend(faults(evidence));
    Finding {
        cause: CAUSE.name.clone(),
        place: place(evidence, most),
        what: called(most).and(say!(
            " allocates and frees memory: this takes ",
            Piece::Share(share.value),
            " of the CPU time"
        )),
        change: say!("allocate blocks once and reuse them: outside the loop, in a pool or an arena"),
        share_ns: Interval { lo: (on_cpu_ns * share.lo) as Ns, hi: (on_cpu_ns * share.hi) as Ns },
        saving: evidence.saving(&Removal::Samples(share), (PART_MIN, 1.0), SavingBasis::Bounded),
        evidence: figures,
        assumes: vec![say!("at least half of the blocks can be reused")],
        verify: vec![say!("dwell run --lines '", Name(most.frame.function.clone()), "' …")],
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
        assert!(found(&diagnosis(&[("parse", 250)], 750), "allocation").is_some());
        assert!(found(&diagnosis(&[("parse", 240)], 760), "allocation").is_none());
        assert!(found(&diagnosis(&[("parse", 130), ("print", 120)], 750), "allocation").is_some());
        let spread = diagnosis(&[("parse", 100), ("print", 80), ("read", 70)], 750);
        assert!(found(&spread, "allocation").is_none());
        assert!(spread.ruled_out.iter().any(|(cause, _)| cause.id == "allocation"));
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
        assert!(found(&diagnosis(&[("parse", 29)], 1), "allocation").is_none());
        assert!(found(&diagnosis(&[("parse", 30)], 1), "allocation").is_some());
    }
}

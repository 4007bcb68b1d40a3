//! One function of the program that has a good part of the time on CPUs.

use super::{Cause, Manual, Outcome};
use crate::code::{Amount, own};
use crate::judge::Evidence;
use crate::judge::counters;
use crate::judge::named::{called, how_shown, place};
use crate::judge::own_code::{self, Charge, Owner, Sum, Within};
use crate::judge::predict::{Removal, faster};
use crate::judge::shortfall::ShareNeeded;
use crate::judge::spins;
use crate::names::base_name;
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::profile::Activity;
use model::recording::{JIT_MODULE, Tier};
use model::run::Share;
use model::sentence::Piece::{self, Count, Name, Number};
use model::{Ns, Sentence, State, say};
use rustc_hash::FxHashMap;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("hot-code", "hot code"),
    tiers: &[Tier::Bpf, Tier::Perf],
    manual: Manual {
        what: "One function of the program takes a tenth of its CPU time or more, without the \
               functions of the program that it calls.",
        why: "Most programs spend most of their CPU time in little code. That code need not be \
              slow: it is where a better algorithm, less work or another data structure pays.",
        rule: "A sample counts for the innermost function of the program itself. What that \
               function calls in the C library, the language's runtime or an interpreter counts \
               with it; the allocator does not. The function with the most samples has at least 10 \
               of them, a tenth of all, and its interval does not begin below a twentieth. The \
               reasons: the interval of fewer samples says nothing, and with less than a tenth no \
               single function is worth a change. The function has fewer samples in the \
               kernel than in user mode, or its calls are what takes time. It does more than poll \
               (that is the cause busy-wait). A line is named if it has at least half of the \
               function's samples. If no function leads, and code without names has half of the \
               time, with waits for a CPU in proportion, that is the finding: that of a JIT, of an \
               interpreter, or of a file without symbols. If no such code does, all code together \
               may.",
        else_it_could_be: "The CPU may wait for memory, or spin. A wait for memory is charged to \
                           the instruction that waits, a spinning wait to its loop; other causes \
                           name these if their signs show. If the processor's counters were \
                           sampled, the evidence has instructions per cycle, misses and stalled \
                           slots: with many instructions per cycle and few misses, only fewer \
                           instructions help.",
        change: "Look at the function's lines with `--lines FUNCTION` and at its instructions with \
                 `--annotate FUNCTION`. Leave out work that is not needed or that is done again \
                 and again, or use a data structure that needs less of it.",
        part: "Assumed: a function with a share p of the time, made s times faster, saves p(1 - \
               1/s). The factor s is assumed: from 1.5 to all of it gone. The interval of p is \
               that of its samples.",
        assumes: "The function can be made at least one and a half times faster. Its share of the \
                  critical path is the same as its share of all threads.",
    },
    explains: &[],
    signs: &[],
    probe: None,
    check,
};

/// What a function needs of the samples to lead: its share, the low end of its interval, and their
/// number.
const SHARE_MIN: f64 = 0.10;
const SHARE_LO_MIN: f64 = 0.05;
const SAMPLES_MIN: u64 = 10;
const NEEDED: ShareNeeded = ShareNeeded { value: SHARE_MIN, lo: SHARE_LO_MIN, samples: SAMPLES_MIN };
/// How many times faster it gets at least.
const FASTER_MIN: f64 = 1.5;
/// Lines of the function that are listed.
const LINES: usize = 3;

fn check(evidence: &Evidence<'_>) -> Outcome {
    Outcome::of_table(&evidence.run.tables.functions, |_| {
        let all = evidence.cpu_samples();
        let leading = leading(evidence, all);
        let why_not = match &leading {
            Some((most, share)) => {
                let what = say!("of CPU time in the hottest function, ", Name(most.frame.function.clone()));
                let Some(why) = NEEDED.why_not(share, most.all.samples, what) else {
                    return Outcome::Found(vec![finding(evidence, most, *share)]);
                };
                why
            }
            None => say!("no samples in the program's own code").into(),
        };
        // With fewer samples one that leads would not be seen, so that none does is not known.
        let is_known = all.samples as f64 * SHARE_MIN >= SAMPLES_MIN as f64;
        let first = leading.map(|(most, _)| most);
        let found = is_known.then(|| spread(evidence, all, first)).flatten();
        found.map_or(Outcome::RuledOut(why_not), |found| Outcome::Found(vec![found]))
    })
}

/// From this share of the time on, what spins is more than can be left out of all code.
const SPINS_MIN: f64 = 0.05;

/// The function with most of the samples in its own mode.
fn leading<'a>(evidence: &Evidence<'a>, all: Amount) -> Option<(Sum<'a>, Share)> {
    let spinning = spins::spinning(evidence);
    let counts = |within: Within<'_>| !matches!(within, Within::Allocator(_));
    let of = |doing: Activity| {
        own_code::functions(
            evidence
                .charges()
                .filter(|charge| charge.doing == doing && counts(charge.within) && !spinning.has(charge)),
        )
    };
    let in_kernel: FxHashMap<_, f64> =
        of(Activity::Kernel).iter().map(|sum| (sum.key(), sum.all.ns)).collect();
    let calls_more = |sum: &Sum<'_>| in_kernel.get(&sum.key()).is_some_and(|ns| *ns > sum.all.ns);
    let most = of(Activity::User).into_iter().find(|sum| !calls_more(sum))?;
    let share = evidence.cpu_share(most.all, all);
    Some((most, share))
}

/// Where no function leads, code without names of one file may, or all code together. Nothing else
/// can be said of it: it is worth a finding where it is most of what there is. A fair scheduler
/// gives a thread its part of a CPU, so waits for one divide as the time on CPUs does.
fn spread(evidence: &Evidence<'_>, all: Amount, first: Option<Sum<'_>>) -> Option<Finding> {
    let mut files: FxHashMap<&str, Amount> = FxHashMap::default();
    let mut own = Amount::default();
    let counts = |charge: &Charge<'_>| {
        charge.doing == Activity::User && !matches!(charge.within, Within::Allocator(_))
    };
    // What spins is the finding of another cause.
    let spinning = spins::spinning(evidence);
    let spin = evidence.charges().filter(|charge| spinning.has(charge));
    let spins_ns: f64 = spin.map(|charge| charge.weight.ns as f64).sum();
    if spins_ns > 0.0 && spins_ns >= all.ns * SPINS_MIN {
        return None;
    }
    for charge in evidence.charges().filter(counts) {
        own.add(charge.weight);
        let module = match charge.owner {
            Owner::Unnamed(module) => module,
            Owner::Function(frame) if !own::is_named(frame) => &frame.module,
            _ => continue,
        };
        files.entry(module).or_default().add(charge.weight);
    }
    let runs_ns = evidence.account_ns(|state| state.on_cpu() || state == State::Runqueue) as f64;
    let leads = |samples: Amount| {
        let share = evidence.cpu_share(samples, all);
        let is_most = runs_ns * share.value * 2.0 >= evidence.run.whole_ns() as f64;
        (is_most && NEEDED.why_not(&share, samples.samples, say!()).is_none()).then_some(share)
    };
    let most = files.into_iter().max_by(|a, b| a.1.ns.total_cmp(&b.1.ns).then_with(|| b.0.cmp(a.0)));
    let unnamed = most.and_then(|(module, of)| Some(without_name(evidence, module, of, leads(of)?)));
    unnamed.or_else(|| {
        let first = first.map(|first| say!("most in ").and(called(&first)));
        let what = say!("all of its own code together, in which no function leads,");
        let change = say!("leave out work: no one function pays, so look at what calls them");
        Some(of_several(evidence, (what, change), first, own, leads(own)?))
    })
}

/// Code that has no names: what it is of, and what would name it.
fn without_name(evidence: &Evidence<'_>, module: &str, samples: Amount, share: Share) -> Finding {
    let (what, change) = if module == JIT_MODULE {
        (say!("JIT code without names"), say!("have its runtime write a perf map, which names the functions"))
    } else if own::runs_others(module) {
        let what = match module.contains("python") {
            true => say!(Name(module.to_owned()), " itself, in no function of a script,"),
            // Which function of a script they run is not seen.
            false => say!("the interpreter ", Name(module.to_owned())),
        };
        (what, say!("reduce its work: ").and(profiler(module)).and(say!(" names the lines")))
    } else {
        (
            say!("code of ", Name(module.to_owned()), " without names"),
            say!("install its debug symbols, which name the functions"),
        )
    };
    of_several(evidence, (what, change), None, samples, share)
}

/// What names the lines of scripts whose functions dwell does not see.
fn profiler(module: &str) -> Sentence {
    let known = [("perl", "Devel::NYTProf"), ("ruby", "rbspy"), ("php", "Excimer"), ("node", "--cpu-prof")];
    match known.iter().find(|(language, _)| module.contains(language)) {
        Some((_, profiler)) => say!("a profiler of the language, as ", Name((*profiler).to_owned()), ","),
        None => say!("a profiler of the language"),
    }
}

/// Of code that is no one function.
fn of_several(
    evidence: &Evidence<'_>,
    (what, change): (Sentence, Sentence),
    more: Option<Sentence>,
    samples: Amount,
    share: Share,
) -> Finding {
    let on_cpu_ns = evidence.account_ns(State::on_cpu) as f64;
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::State(State::User),
        what: what.and(say!(" has ", Piece::Share(share.value), " of the CPU time")),
        change,
        share_ns: Interval { lo: (on_cpu_ns * share.lo) as Ns, hi: (on_cpu_ns * share.hi) as Ns },
        saving: evidence.saving(&Removal::Samples(share), (faster(FASTER_MIN), 1.0), SavingBasis::Assumed),
        evidence: more.into_iter().chain([say!(Count(samples.samples, "sample".into()))]).collect(),
        assumes: vec![say!("it can be made at least 1.5 times faster")],
        verify: vec![say!("dwell run … again, with names")],
        explains: Vec::new(),
        belief: None,
    }
}

fn finding(evidence: &Evidence<'_>, most: &Sum<'_>, share: Share) -> Finding {
    let on_cpu_ns = evidence.account_ns(State::on_cpu) as f64;
    let share_ns = Interval { lo: (on_cpu_ns * share.lo) as Ns, hi: (on_cpu_ns * share.hi) as Ns };
    let name = &most.frame.function;
    let mut what = called(most).and(say!(" has ", Piece::Share(share.value), " of the CPU time"));
    if let Some(library) = most.leading_library() {
        what = what.and(say!(", most of it in ", Name(library.to_owned())));
    }
    let mut evidence_lines = vec![say!(Count(most.all.samples, "sample".into()))];
    evidence_lines.extend(most.lines().into_iter().take(LINES).map(|((file, line), amount)| {
        say!(
            Name(base_name(file).to_owned()),
            ":",
            Number(line.into()),
            " has ",
            Piece::Share(amount.ns / most.all.ns),
            " of these samples"
        )
    }));
    // Of the function itself, or of the library's that it spends its time in.
    let counted = match most.leading_library() {
        Some(library) => counters::of_function(evidence, library, None),
        None => counters::of_function(evidence, name, Some(&most.frame.module)),
    };
    evidence_lines.extend(
        counted.and_then(|row| {
            Some(say!(Name(row.function.clone()), ": ").and(counters::figures(&row.counted)?))
        }),
    );
    Finding {
        cause: CAUSE.name.clone(),
        place: place(evidence, most),
        what,
        change: if most.frame.module == JIT_MODULE {
            // It has no lines, and no file to be disassembled.
            say!("reduce its work")
        } else if own::is_named(most.frame) {
            say!("reduce its work: --lines and --annotate show where the time goes")
        } else {
            say!("reduce its work: the debug symbols of ", Name(most.frame.module.clone()), " give it a name")
        },
        share_ns,
        saving: evidence.saving(&Removal::Samples(share), (faster(FASTER_MIN), 1.0), SavingBasis::Assumed),
        evidence: evidence_lines,
        assumes: vec![say!("it can be made at least 1.5 times faster")],
        verify: vec![say!("dwell run ", how_shown(most), " '", Name(name.clone()), "' …")],
        explains: Vec::new(),
        belief: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::own_code::tests::{Told, at, native};
    use crate::judge::samples::{found, judged_with, run, saves};
    use model::{Diagnosis, Seen};

    const MS: Ns = 1_000_000;

    fn of(told: &Told) -> Diagnosis {
        judged_with(&run(&[(State::User, 1000 * MS)]), &told.0, &Seen::Absent)
    }

    fn hot(samples: u64) -> Told {
        Told::default().stack(samples, Activity::User, &[at(native("program", "scan"), "/src/a.c", 37)])
    }

    #[test]
    fn the_function_that_leads_saves_a_third_of_its_share_to_all_of_it() {
        let told = hot(600).stack(400, Activity::User, &[native("program", "other")]);
        let diagnosis = of(&told);
        let finding = found(&diagnosis, "hot-code").expect("it is there");
        let words: String = finding.what.0.iter().map(|piece| format!("{piece:?} ")).collect();
        assert!(words.contains("scan") && words.contains("a.c") && words.contains("37"), "{words}");
        let (lo, hi) = saves(finding);
        assert!(lo < 200 * MS && lo > 180 * MS && hi > 600 * MS && hi < 640 * MS, "{lo} to {hi}");
    }

    #[test]
    fn ten_samples_are_enough_and_fewer_are_none() {
        assert!(found(&of(&hot(10)), "hot-code").is_some());
        let diagnosis = of(&hot(9));
        assert!(found(&diagnosis, "hot-code").is_none());
        assert!(diagnosis.ruled_out.iter().any(|(cause, _)| cause.id == "hot-code"));
    }

    #[test]
    fn where_no_function_has_a_tenth_all_own_code_together_may() {
        let others = |told: Told| {
            (0..20).fold(told, |told, one| {
                told.stack(48, Activity::User, &[native("program", &format!("f{one}"))])
            })
        };
        let said = |told: &Told, run: &model::Run| {
            let diagnosis = judged_with(run, &told.0, &Seen::Absent);
            found(&diagnosis, "hot-code").map(|finding| format!("{:?} {:?}", finding.what, finding.evidence))
        };
        let computes = run(&[(State::User, 1000 * MS)]);
        let many = said(&others(hot(90)), &computes).expect("it computes");
        assert!(many.contains("all of its own code together") && many.contains("scan"), "{many}");
        let one = said(&others(hot(120)), &computes).expect("one leads");
        assert!(!one.contains("together"), "{one}");
        let waits = |queued, waits| {
            let states = [(State::User, 300), (State::Runqueue, queued), (State::Network, waits)];
            said(&others(hot(90)), &run(&states.map(|(state, ms)| (state, ms * MS)))).is_some()
        };
        assert!(waits(300, 400) && !waits(100, 600), "waits for a CPU divide as the time on CPUs does");
    }

    #[test]
    fn a_function_that_mostly_calls_the_kernel_is_not_hot_itself() {
        let kernel = model::profile::Frame {
            language: model::recording::Language::Kernel,
            ..native("[kernel]", "ksys_read")
        };
        let told = hot(100).stack(101, Activity::Kernel, &[kernel, native("program", "scan")]);
        assert!(found(&of(&told), "hot-code").is_none());
    }

    #[test]
    fn code_without_names_is_told_of_by_its_file() {
        let what = |told: &Told| {
            let diagnosis = of(told);
            format!("{:?}", found(&diagnosis, "hot-code").expect("it leads").what)
        };
        let told = Told::default().stack(100, Activity::User, &[native("perl", "perl+0x5a8530")]);
        let of_file = what(&told);
        assert!(of_file.contains("perl") && of_file.contains("the interpreter "), "{of_file}");
        // Where a function begins is not known: each address is one of its own.
        let each =
            |told: Told, at: u32| told.stack(5, Activity::User, &[native("cc1", &format!("cc1+{at:#x}"))]);
        let of_file = what(&(0..20).fold(Told::default(), each));
        assert!(of_file.contains("cc1") && of_file.contains("without names"), "{of_file}");
    }

    #[test]
    fn a_function_is_known_by_where_it_begins() {
        let told = Told::default().stack(100, Activity::User, &[native("cc1", "cc1+0x5a8530")]);
        let diagnosis = of(&told);
        let finding = found(&diagnosis, "hot-code").expect("it is there");
        assert!(format!("{:?}", finding.what).contains("cc1+0x5a8530"), "{:?}", finding.what);
    }
}

//! Memory that is given back to the kernel and touched again.

use super::{Cause, Imposed, Manual, Outcome};
use crate::code::Amount;
use crate::judge::Evidence;
use crate::judge::allocators;
use crate::judge::fault_places;
use crate::judge::imposed;
use crate::judge::own_code::{self, Key, Owner};
use crate::judge::predict::{COUNTED_LEAST, Removal};
use crate::judge::removed_with::part_along;
use crate::judge::results::{hedge, hedge_time};
use crate::judge::signs::{By, Sign};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, Saving, SavingBasis};
use model::prediction::Site;
use model::processes::MemoryPeak;
use model::profile::{Activity, Weight};
use model::recording::{Language, Tier};
use model::run::ThreadLedger;
use model::sentence::Piece::{Bytes, Count, Name, Ns as Time, Number, Times};
use model::syscall_rows::CallRow;
use model::wait::SyscallName;
use model::{Ns, Pid, Probe, RuledOut, Seen, State, say};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("page-faults", "memory given back to the kernel and taken again"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "A process gives memory back to the kernel (`munmap`, `brk`, `madvise`) and touches new memory soon after.",
        why: "The first touch of each page is a page fault: the kernel finds a free page, clears \
              it and maps it, which takes 0.5 to 2 us. Giving it back takes half as long again. \
              Memory that the process keeps costs nothing.",
        rule: "A process had at least twice as many faults without I/O as it had pages at its \
               largest size, so each page was touched twice or more on average. And memory was \
               given back ten times or more. One fault for each page is what memory costs.",
        else_it_could_be: "The process may keep writing after each `fork`: its pages are copied \
                           one by one.",
        change: "Keep buffers and reuse them. glibc gives large blocks back at once: raise its \
                 thresholds \
                 (`GLIBC_TUNABLES=glibc.malloc.mmap_threshold=…:glibc.malloc.trim_threshold=…`, \
                 `mallopt`). With jemalloc and Go, give memory back later (`dirty_decay_ms`, \
                 `GOGC`, `GOMEMLIMIT`). Larger pages make fewer faults.",
        part: "Counted: of N faults of a process that never had more than M pages, N - M are for \
               pages that it had before. They are saved, with the calls that give memory back and \
               take it. The interval is that of the samples of time in faults. The high end takes \
               all faults of the process, as if it could do without the memory. It also adds the \
               larger of two times. One is 200 ns a fault, since entering and leaving a fault is \
               charged to the code that touches the page. The other is the time of destructors, \
               and the own time of functions that have more time in faults than in themselves, \
               since they may only fill what is thrown away. If what is added is more than a \
               quarter of the high end, the saving is bounded, not counted.",
        assumes: "The memory can be kept: the process then has its largest size all the time.",
    },
    explains: &["allocation"],
    signs: &[Sign {
        by: By::Functions(
            &["exc_page_fault", "asm_exc_page_fault", "do_user_addr_fault", "do_page_fault", "do_mem_abort"],
            "page faults",
        ),
        although: false,
        change: "touch less new memory: keep and reuse blocks, larger pages",
    }],
    probe: Some(Imposed { probe: Probe::KeepMemory, fits: imposed::always }),
    check,
};

/// Faults for each page, from which on pages are touched again.
const TIMES_MIN: u64 = 2;
/// With fewer calls that give memory back, faults have another reason.
const GIVEN_BACK_MIN: u64 = 10;
/// The smallest page there is: with larger ones fewer are touched again than it seems.
const PAGE_BYTES: u64 = 4096;

/// The part of a fault that is charged to the program's own code, at most: entering and leaving.
const ENTRY_NS: Ns = 200;

/// Parts of the names of the kernel's functions that handle faults.
const FAULTS: &[&str] = &["page_fault", "mem_abort"];
/// A function with fewer samples in them is not judged.
const SAMPLES_MIN: u64 = 5;

/// Calls that give memory back, and that take it.
const GIVE_BACK: &[&str] = &["munmap", "brk", "madvise", "mremap", "process_madvise"];
const TAKE: &[&str] = &["mmap"];

/// The process with most faults.
#[derive(Debug, Clone, Copy)]
struct Most<'a> {
    faults: u64,
    /// The row of its thread with most of them.
    row: usize,
    thread: &'a ThreadLedger,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let peak = match &evidence.run.tables.memory_peak {
        Seen::Value(peak) => peak,
        Seen::Absent => return Outcome::Unavailable("no process was seen".to_owned()),
        Seen::Unseen(why) => return Outcome::Unavailable(why.clone()),
    };
    let Some(most) = most(&evidence.run.threads) else {
        return Outcome::Unavailable("page faults of single processes are unknown".to_owned());
    };
    let pages = peak.bytes / PAGE_BYTES;
    if most.faults < pages.max(1) * TIMES_MIN {
        let faults = Count(most.faults, "fault".into());
        let what =
            say!("as many faults as pages in one process: ", faults, ", ", Count(pages, "page".into()));
        let times = Times(most.faults as f64 / pages.max(1) as f64);
        return Outcome::RuledOut(RuledOut::below(times, what, Times(TIMES_MIN as f64)));
    }
    let calls = evidence.calls_named(GIVE_BACK);
    let times: u64 = calls.iter().map(|(_, row)| row.calls).sum();
    if times < GIVEN_BACK_MIN {
        let what = say!("that gave memory back");
        return Outcome::RuledOut(RuledOut::below(Count(times, "call".into()), what, Number(GIVEN_BACK_MIN)));
    }
    Outcome::Found(vec![finding(evidence, peak, most, &calls)])
}

/// By the faults of all of its threads.
fn most(threads: &[ThreadLedger]) -> Option<Most<'_>> {
    let mut processes: BTreeMap<Pid, Most<'_>> = BTreeMap::new();
    for (row, thread) in threads.iter().enumerate() {
        let Seen::Value(faults) = thread.minor_faults else { continue };
        // What stands for processes is none of them.
        if thread.pid == 0 {
            continue;
        }
        let one = processes.entry(thread.pid).or_insert(Most { faults: 0, row, thread });
        one.faults += faults;
        if faults > one.thread.minor_faults.value().copied().unwrap_or(0) {
            (one.row, one.thread) = (row, thread);
        }
    }
    processes.into_values().max_by_key(|one| (one.faults, Reverse(one.row)))
}

fn finding(
    evidence: &Evidence<'_>,
    peak: &MemoryPeak,
    most: Most<'_>,
    calls: &[(usize, &CallRow)],
) -> Finding {
    let again = most.faults - peak.bytes / PAGE_BYTES;
    let all = evidence.run.tables.faults.value().map_or(most.faults, |faults| faults.minor).max(most.faults);
    let fault_ns = evidence.account_ns(|state| state == State::Fault);
    let calls_ns: Ns = evidence
        .run
        .path
        .iter()
        .filter(|step| {
            let of = |name: &SyscallName| GIVE_BACK.contains(&&*name.name) || TAKE.contains(&&*name.name);
            matches!(&step.reason, model::Reason::Syscall(name) if of(name))
        })
        .map(|step| step.ns)
        .sum();
    let share_ns = Interval { lo: fault_ns, hi: (fault_ns + calls_ns).min(evidence.run.whole_ns()) };
    let named = |names: &[&str]| names.iter().map(|name| SyscallName::from(*name)).collect::<Vec<_>>();
    let sites = [named(GIVE_BACK), named(TAKE)].concat().into_iter().map(Site::Call);
    let sites = sites.chain([Site::State(State::Fault)]).collect();
    let part = (again as f64 / all as f64, most.faults as f64 / all as f64);
    let own_ns = evidence.account_ns(|state| state == State::User);
    let (_, call) =
        calls.iter().max_by_key(|(row, call)| (call.calls, Reverse(*row))).expect("there are some");
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Thread(most.row),
        what: say!(
            Name(most.thread.name.clone()),
            " touches ",
            Count(most.faults, "page".into()),
            ", but has no more than ",
            Number(peak.bytes / PAGE_BYTES),
            " (",
            Bytes(peak.bytes),
            ") at a time; it gives memory back ",
            hedge(call),
            Count(call.calls, "time".into()),
            " with ",
            Name(call.name.to_string()),
            " and takes it again; page faults take ",
            Time(fault_ns)
        ),
        change: match &*call.name.name {
            "brk" => say!(
                "keep the blocks, or have malloc keep them: M_TRIM_THRESHOLD, glibc.malloc.trim_threshold"
            ),
            "madvise" => say!("keep the memory, or have the allocator give it back later"),
            _ => say!("keep the memory and reuse it, or have malloc keep it: M_MMAP_THRESHOLD"),
        },
        share_ns,
        saving: evidence.saving(&Removal::Sites(sites, share_ns), part, SavingBasis::Counted).map(|saving| {
            let handling_ns = (handling_ns(evidence) as f64 * part.1) as Ns;
            let hi = saving.ns.hi + (most.faults * ENTRY_NS).min(own_ns).max(handling_ns);
            let hi = hi.min(evidence.run.whole_ns());
            // Which of the program's own code goes with the pages nobody counted.
            let counted = saving.ns.hi as f64 >= COUNTED_LEAST * hi as f64;
            let known = if counted { saving.known } else { saving.known.max(SavingBasis::Bounded) };
            Saving { ns: Interval { hi, ..saving.ns }, known, ..saving }
        }),
        evidence: calls
            .iter()
            .filter(|(_, row)| row.calls > 0)
            .map(|(_, row)| {
                say!(
                    Name(row.name.to_string()),
                    ": ",
                    hedge(row),
                    Count(row.calls, "call".into()),
                    ", ",
                    hedge_time(row),
                    Time(row.total_ns)
                )
            })
            .chain(fault_places::leading(evidence, most.thread.pid))
            .collect(),
        assumes: vec![say!("the memory can be kept")],
        verify: vec![say!("the next run has fewer page faults")],
        explains: Vec::new(),
        belief: None,
    }
}

/// The program's own time that may go with the pages, at most: that of destructors of the objects
/// in them, and of functions that do little but touch new pages. A function's time counts in full
/// up to what it has in faults, and less and less from there to twice as much.
fn handling_ns(evidence: &Evidence<'_>) -> Ns {
    let profile = evidence.profile;
    let in_fault = |weight: &Weight| {
        let kernel = own_code::frames(profile, weight).take_while(|frame| frame.language == Language::Kernel);
        kernel.into_iter().any(|frame| FAULTS.iter().any(|part| frame.function.contains(part)))
    };
    let (mut functions, mut all) = (FxHashMap::<Key<'_>, (Amount, Amount)>::default(), Amount::default());
    let mut goes = Amount::default();
    for charge in evidence.charges() {
        if charge.doing == Activity::User {
            all.add(charge.weight);
            if own_code::frames(profile, charge.weight).any(allocators::takes_apart) {
                goes.add(charge.weight);
                continue;
            }
        }
        let Owner::Function(frame) = charge.owner else { continue };
        let (own, faults) = functions.entry((&*frame.function, &*frame.module)).or_default();
        match charge.doing {
            Activity::User => own.add(charge.weight),
            Activity::Kernel if in_fault(charge.weight) => faults.add(charge.weight),
            _ => {}
        }
    }
    let in_faults_ns: f64 = functions.values().map(|(_, faults)| faults.ns).sum();
    let late = evidence.charged_late() * all.ns / in_faults_ns.max(1.0);
    for (own, faults) in functions.into_values().filter(|(_, faults)| faults.samples >= SAMPLES_MIN) {
        goes.merge(own.part(part_along(own, faults, late)));
    }
    if goes.samples == 0 {
        return 0;
    }
    let own_ns = evidence.account_ns(|state| state == State::User) as f64;
    (own_ns * goes.share(all).hi) as Ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::own_code::tests::{Told, native};
    use crate::judge::samples::{call, found, judged, judged_with, run, saves, sites};
    use model::Run;

    const MS: Ns = 1_000_000;
    const MIB: u64 = 1 << 20;

    /// A second, half of it in faults: this many, of a process of 1 MiB.
    fn faults(minor: u64, given_back: u64) -> Run {
        let mut run = run(&[(State::User, 500 * MS), (State::Fault, 500 * MS)]);
        run.threads[0].minor_faults = Seen::Value(minor);
        run.tables.faults = Seen::Value(model::run::Faults { minor, major: 0 });
        run.tables.memory_peak =
            Seen::Value(MemoryPeak { bytes: MIB, at_most: false, pid: Seen::Value(100), name: Seen::Absent });
        run.tables.syscalls = Seen::Value(vec![call("munmap", given_back, 0)]);
        run
    }

    fn judge(run: &Run) -> model::Diagnosis {
        judged(run, &sites(run, &[(Site::State(State::Fault), [500 * MS; 3])]))
    }

    #[test]
    fn faults_beyond_the_pages_that_it_ever_had_go() {
        let diagnosis = judge(&faults(2560, 100));
        let (lo, hi) = saves(found(&diagnosis, "page-faults").expect("it is there"));
        assert_eq!((lo, hi), (450 * MS, 500 * MS + 2560 * ENTRY_NS));
    }

    #[test]
    fn clocks_know_how_well_samples_know_faults() {
        let mut run = faults(2560, 100);
        (run.account[1].lo_ns, run.account[1].hi_ns) = (400 * MS, 600 * MS);
        let diagnosis = judge(&run);
        let (lo, hi) = saves(found(&diagnosis, "page-faults").expect("it is there"));
        assert_eq!((lo, hi), (450 * MS, 500 * MS + 2560 * ENTRY_NS));
    }

    #[test]
    fn pages_that_are_touched_once_are_no_cause() {
        assert!(found(&judge(&faults(512, 10)), "page-faults").is_some());
        assert!(found(&judge(&faults(511, 10)), "page-faults").is_none());
        assert!(found(&judge(&faults(2560, 9)), "page-faults").is_none(), "after a fork, not after a munmap");
    }

    #[test]
    fn without_the_largest_size_it_is_not_known() {
        let mut run = faults(2560, 100);
        run.tables.memory_peak = Seen::unseen("not in this recording");
        let diagnosis = judge(&run);
        assert!(diagnosis.unavailable.iter().any(|(cause, _)| cause.id == "page-faults"));
    }

    #[test]
    fn who_does_little_but_touch_new_pages_may_go_with_them() {
        let run = faults(2560, 100);
        let clocks = sites(&run, &[(Site::State(State::Fault), [500 * MS; 3])]);
        let hi = |own: u64, in_faults: u64, others: u64| {
            let kernel =
                model::profile::Frame { language: Language::Kernel, ..native("[kernel]", "exc_page_fault") };
            let told = Told::default()
                .stack(own, Activity::User, &[native("program", "fill")])
                .stack(in_faults, Activity::Kernel, &[kernel, native("program", "fill")])
                .stack(others, Activity::User, &[native("program", "other")]);
            let diagnosis = judged_with(&run, &told.0, &clocks);
            let finding = found(&diagnosis, "page-faults").expect("it is there");
            (saves(finding).1, finding.saving.value().expect("it is known").known)
        };
        let (filling, known) = hi(1000, 1000, 1000);
        assert!(filling > 750 * MS && filling < 765 * MS, "{filling}");
        assert_eq!(known, SavingBasis::Bounded, "a third of it was not counted");
        let (less, known) = hi(1000, 750, 1000);
        assert!(less > 625 * MS && less < 645 * MS, "{less}");
        assert_eq!(known, SavingBasis::Counted);
        let all = (500 * MS + 2560 * ENTRY_NS, SavingBasis::Counted);
        assert_eq!(hi(1000, 500, 1000), all, "it does something else as well");
    }

    #[test]
    fn what_takes_the_objects_apart_may_go_with_their_pages() {
        let run = faults(2560, 100);
        let clocks = sites(&run, &[(Site::State(State::Fault), [500 * MS; 3])]);
        let hi = |function: &str| {
            let told = Told::default()
                .stack(1000, Activity::User, &[native("python3", function), native("program", "other")])
                .stack(1000, Activity::User, &[native("program", "other")]);
            saves(found(&judged_with(&run, &told.0, &clocks), "page-faults").expect("it is there")).1
        };
        let apart = hi("list_dealloc");
        assert!(apart > 750 * MS && apart < 770 * MS, "{apart}");
        assert_eq!(hi("list_sort"), 500 * MS + 2560 * ENTRY_NS);
    }
}

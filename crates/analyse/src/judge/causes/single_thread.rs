//! Processes of one program that compute one after another while CPUs are idle.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::counters::{self, Waits};
use crate::judge::predict::{ALL, Removal, divided};
use crate::judge::processes::{self, Group};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::hand_overs::HandOverEnd;
use model::recording::Tier;
use model::sentence::Piece::{Count, Decimal, Name, Ns as Time, Number};
use model::wait::TargetKind;
use model::{Ns, Pid, RuledOut, Seen, say};
use std::collections::{BTreeMap, BTreeSet};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("single-thread", "work that is done one after another"),
    tiers: &[Tier::Bpf, Tier::Perf, Tier::Proc],
    manual: Manual {
        what: "The program works through a list with one process for each item, one after another, \
               though it may use more than one CPU.",
        why: "While one process computes, the other CPUs are idle.",
        rule: "Four processes or more of one program live for 10 ms or more on average and compute \
               for half of that (they are on a CPU or ready to run), in their own code no less than \
               in the kernel: what the kernel does for them, such as copying, shares its locks, the \
               page cache and the path to memory, so whether it divides is not seen. Their lives together are no \
               longer than the wall clock, so they do not overlap. The threads of the program \
               hardly ever run at the same time, and the program may use two CPUs or more. Two or \
               three processes need not be a list; a shorter life is mostly start-up, which is the \
               cause process-spawning. A process that computes in one thread is no finding: it \
               cannot be seen from outside whether its work can be divided.",
        else_it_could_be: "Each process may need what the one before has written. One process may \
                           read on pipes what several of them write, as a script does that asks a \
                           compiler what it can do, and decide by that what it starts next: then \
                           nothing is certain, and the finding names that process.",
        change: "Run as many at a time as there are CPUs: `xargs -P`, `make -j`, `parallel`, a \
                 pool of processes.",
        part: "Bounded: at least nothing. At most, N lives of T together, the longest of them m, take \
               on k CPUs the larger of T/k and m. If one process reads the output of the others \
               through pipes, and lives on from one of them to the next, the saving is assumed.",
        assumes: "No process needs the results of another, and memory and disks serve several at \
                  once as fast as one. If the processor's counters were sampled, the evidence says \
                  whether the code of the processes waits for memory.",
    },
    explains: &[],
    signs: &[],
    probe: None,
    check,
};

/// Fewer processes of a program are no list.
const PROCESSES_MIN: usize = 4;
/// A shorter life is a tenth start-up or more.
const LIFE_NS_MIN: Ns = 10_000_000;
/// Lives that do not overlap may be longer than the wall clock by this part, since a process lives
/// on a little while the next one begins.
const OVERLAP_MAX: f64 = 1.05;
/// Of their lives, what they compute.
const COMPUTES_MIN: f64 = 0.5;
/// Of their lives, what one waits on pipes that reads what they have to say.
const READS_MIN: f64 = 0.5;
/// CPU time of all threads by the time in which any was on a CPU: above it they do run together.
const TOGETHER_MAX: f64 = 1.2;

fn check(evidence: &Evidence<'_>) -> Outcome {
    if evidence.run.window.is_some() {
        return Outcome::Unavailable("dwell attach does not see processes from start to end".to_owned());
    }
    let cpus = evidence.cpus_allowed();
    if cpus < 1.5 {
        return Outcome::RuledOut(say!("the program may use only one CPU").into());
    }
    if let Seen::Value(used) = &evidence.run.utilization {
        let together = evidence.cpu_ns() as f64 / used.on_cpu_ns.max(1) as f64;
        if together > TOGETHER_MAX {
            let what = say!("threads ran at a time, on average over the time in which any ran");
            return Outcome::RuledOut(RuledOut::above(Decimal(together), what, Decimal(TOGETHER_MAX)));
        }
    }
    let lists =
        processes::by_program(evidence).into_iter().filter(|(_, group)| is_list(group, evidence.run.wall_ns));
    let most = lists.max_by(|(a, x), (b, y)| x.life_ns.cmp(&y.life_ns).then_with(|| b.cmp(a)));
    match most {
        Some((name, group)) => Outcome::Found(vec![finding(evidence, &name, &group, cpus)]),
        None => Outcome::RuledOut(
            say!(
                "fewer than ",
                Number(PROCESSES_MIN as u64),
                " processes of one program computed one after another"
            )
            .into(),
        ),
    }
}

fn is_list(group: &Group, wall_ns: Ns) -> bool {
    let life_ns = group.life_ns as f64;
    group.processes() >= PROCESSES_MIN
        && group.life_ns / group.processes() as u64 >= LIFE_NS_MIN
        && life_ns <= wall_ns as f64 * OVERLAP_MAX
        && group.computes_ns as f64 >= life_ns * COMPUTES_MIN
        && group.own_ns >= group.kernel_ns
}

fn finding(evidence: &Evidence<'_>, name: &str, group: &Group, cpus: f64) -> Finding {
    let (total_ns, processes) = (group.life_ns, group.processes());
    let (longest_ns, row) = group.longest;
    let goes = Interval { lo: 0, hi: divided(total_ns, longest_ns, cpus.min(processes as f64)) };
    let share_ns =
        Interval { lo: total_ns.min(evidence.run.wall_ns), hi: total_ns.min(evidence.run.wall_ns) };
    let reader = reader(evidence, group);
    let known = if reader.is_some() { SavingBasis::Assumed } else { SavingBasis::Bounded };
    let mut lines = vec![
        say!("they compute for ", Time(group.computes_ns), " of their run time"),
        say!("the longest runs for ", Time(longest_ns)),
    ];
    lines.extend(evidence.run.tables.counters.value().and_then(|table| {
        let memory = match counters::waits_for_memory(evidence, &table.all.user) {
            Waits::Yes => say!(": their code waits for memory, which several share"),
            Waits::No => say!(": memory does not slow their code down"),
            Waits::Unclear => say!(),
        };
        Some(counters::figures(&table.all.user)?.and(memory))
    }));
    let at_a_time = || Number(cpus.min(processes as f64).round() as u64);
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Thread(row),
        what: say!(
            Number(processes as u64),
            " processes of ",
            Name(name.to_owned()),
            " run one after another, ",
            Time(total_ns),
            " in all, though they may use ",
            Count(cpus.round() as u64, "CPU".into())
        ),
        change: say!("run ", at_a_time(), " at a time: xargs -P, make -j, a pool of processes"),
        share_ns,
        saving: evidence.saving(&Removal::Wall(goes), ALL, known),
        evidence: lines,
        assumes: vec![match reader {
            Some(reader) => say!(
                Name(reader.to_owned()),
                ", which reads their output through a pipe, does not decide from it what to start next"
            ),
            None => say!("they do not need each other's results"),
        }],
        verify: vec![say!("dwell compare … with xargs -P1 and -P", at_a_time())],
        explains: Vec::new(),
        belief: None,
    }
}

/// The process that waited on pipes, or local sockets, for several of these: what one of them told
/// it may decide about the next. None where nobody did: who hands its output on may do so at any
/// time; and who only learns on a pipe that they have begun, as libraries do that start processes,
/// waits for a small part of their lives.
fn reader<'a>(evidence: &Evidence<'a>, group: &Group) -> Option<&'a str> {
    let rows = evidence.run.tables.hand_overs.value().map_or(&[][..], |all| &all.rows);
    let is_listed = |pid: &Pid| group.pids.contains(pid);
    let mut told: BTreeMap<Pid, (&'a str, BTreeSet<Pid>, Ns)> = BTreeMap::new();
    for row in rows.iter().filter(|row| matches!(row.through.kind(), TargetKind::Pipe | TargetKind::Unix)) {
        let (from, to) = (processes_of(evidence, &row.from), processes_of(evidence, &row.to));
        // What of many was read by many is in no order.
        let ([to], true) = (&to[..], !from.is_empty() && from.iter().all(is_listed)) else { continue };
        if !is_listed(to) {
            let (_, by, waited_ns) = told.entry(*to).or_insert((&row.to.name, BTreeSet::new(), 0));
            by.extend(from);
            *waited_ns += row.waited.total_ns;
        }
    }
    let lives_ns = |of: &BTreeSet<Pid>| -> Ns {
        let leaders = evidence.run.threads.iter().filter(|thread| thread.tid == thread.pid);
        leaders.filter(|leader| of.contains(&leader.pid)).map(|leader| leader.life_ns).sum()
    };
    let reads = |by: &BTreeSet<Pid>, waited_ns: Ns| waited_ns as f64 >= lives_ns(by) as f64 * READS_MIN;
    let mut told = told.into_values();
    told.find(|(_, by, waited_ns)| by.len() > 1 && reads(by, *waited_ns)).map(|(name, ..)| name)
}

/// Which one end of a hand-over is; all of its name where the row stands for many.
fn processes_of(evidence: &Evidence<'_>, end: &HandOverEnd) -> Vec<Pid> {
    if let Seen::Value(pid) = end.pid {
        return vec![pid];
    }
    let named = evidence.run.threads.iter().filter(|thread| thread.name == end.name && thread.pid > 0);
    named.map(|thread| thread.pid).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{found, judged, run, saves, thread};
    use model::hand_overs::{HandOverRow, HandOvers};
    use model::peers::Lengths;
    use model::run::Utilization;
    use model::wait::{WaitCall, WaitTarget};
    use model::{Run, State};

    const MS: Ns = 1_000_000;

    /// A shell that waits for this many processes of 100 ms, which compute for a part of that.
    fn list(processes: u32, computes_ns: Ns) -> Run {
        let wall_ns = u64::from(processes) * 100 * MS + 20 * MS;
        let mut run = run(&[(State::User, wall_ns)]);
        run.threads = vec![thread(100, &[(State::User, 20 * MS), (State::OtherWait, wall_ns - 20 * MS)])];
        run.threads.extend((0..processes).map(|one| {
            let states = [(State::User, computes_ns), (State::Disk, 100 * MS - computes_ns)];
            let worker = thread(200 + one, &states);
            model::run::ThreadLedger { pid: 200 + one, name: "gzip".into(), ..worker }
        }));
        run.utilization = Seen::Value(Utilization { on_cpu_ns: wall_ns, runnable_ns: 0, off_cpu_ns: 0 });
        run
    }

    #[test]
    fn eight_on_four_cpus_save_what_the_best_order_does() {
        let diagnosis = judged(&list(8, 100 * MS), &Seen::Absent);
        let finding = found(&diagnosis, "single-thread").expect("it is there");
        assert_eq!(saves(finding), (0, 600 * MS));
    }

    #[test]
    fn processes_that_the_kernel_works_for_are_no_list() {
        let is_found = |kernel_ns: Ns| {
            let mut run = list(8, 100 * MS);
            for worker in run.threads.iter_mut().skip(1) {
                worker.states = vec![(State::User, 100 * MS - kernel_ns), (State::Kernel, kernel_ns)];
            }
            found(&judged(&run, &Seen::Absent), "single-thread").is_some()
        };
        assert!(is_found(50 * MS) && !is_found(51 * MS));
    }

    /// Adds waits of these readers that processes of the list end, through pipes or otherwise.
    fn told_by(run: &mut Run, of: u32, through: &WaitTarget, readers: &[Pid], waited_ns: Ns) {
        let end = |name: &str, pid| HandOverEnd { name: name.into(), pid, tid: Seen::Absent };
        let lengths = || Lengths { total_ns: waited_ns, p50_ns: MS, p99_ns: MS, max_ns: MS };
        let row = |one: u32| HandOverRow {
            from: end("gzip", Seen::Value(200 + one)),
            to: end("cargo", Seen::Value(readers[one as usize % readers.len()])),
            reason: State::Pipe,
            call: WaitCall::Unseen,
            through: through.clone(),
            times: 1,
            waited: lengths(),
            until_run: Seen::Value(lengths()),
        };
        run.tables.hand_overs = Seen::Value(HandOvers { rows: (0..of).map(row).collect(), other_times: 0 });
    }

    #[test]
    fn what_one_tells_may_decide_about_the_next() {
        let after = |of: u32, through: WaitTarget, readers: &[Pid], waited_ns: Ns| {
            let mut run = list(8, 100 * MS);
            told_by(&mut run, of, &through, readers, waited_ns);
            let diagnosis = judged(&run, &Seen::Absent);
            let finding = found(&diagnosis, "single-thread").expect("it is there");
            finding.saving.as_ref().value().map(|saving| saving.known)
        };
        let of = |of: u32, through: WaitTarget, readers: &[Pid]| after(of, through, readers, 90 * MS);
        let pipe = || WaitTarget::Pipe(Seen::Absent);
        assert_eq!(of(8, pipe(), &[100]), Some(SavingBasis::Assumed));
        let independent = Some(SavingBasis::Bounded);
        assert_eq!(of(1, pipe(), &[100]), independent, "the list's input");
        let child = WaitTarget::Nameless(TargetKind::Child);
        assert_eq!(of(8, child, &[100]), independent, "that it ends tells little");
        let each: Vec<Pid> = (900..908).collect();
        assert_eq!(of(8, pipe(), &each), independent, "each has a reader of its own");
        assert_eq!(of(8, pipe(), &[200]), independent, "one of the list");
        assert_eq!(after(8, pipe(), &[100], 50 * MS), Some(SavingBasis::Assumed));
        assert_eq!(after(8, pipe(), &[100], 49 * MS), independent, "that they have begun");
        // Many of one name are one row.
        let mut run = list(8, 100 * MS);
        told_by(&mut run, 1, &pipe(), &[100], 700 * MS);
        let Seen::Value(all) = &mut run.tables.hand_overs else { panic!("they are there") };
        (all.rows[0].from.pid, all.rows[0].to.pid) = (Seen::Absent, Seen::Absent);
        all.rows[0].to.name = "program".into();
        let diagnosis = judged(&run, &Seen::Absent);
        let finding = found(&diagnosis, "single-thread").expect("it is there");
        assert_eq!(finding.saving.value().map(|saving| saving.known), Some(SavingBasis::Assumed));
    }

    #[test]
    fn three_are_no_list_and_what_waits_does_not_need_a_cpu() {
        assert!(found(&judged(&list(3, 100 * MS), &Seen::Absent), "single-thread").is_none());
        assert!(found(&judged(&list(4, 50 * MS), &Seen::Absent), "single-thread").is_some());
        assert!(found(&judged(&list(4, 49 * MS), &Seen::Absent), "single-thread").is_none());
    }

    #[test]
    fn those_that_run_together_are_no_cause() {
        let mut run = list(8, 100 * MS);
        run.utilization =
            Seen::Value(Utilization { on_cpu_ns: 410 * MS, runnable_ns: 0, off_cpu_ns: 410 * MS });
        assert!(found(&judged(&run, &Seen::Absent), "single-thread").is_none());
        // Without BPF their lives tell.
        run.utilization = Seen::Absent;
        run.wall_ns = 420 * MS;
        assert!(found(&judged(&run, &Seen::Absent), "single-thread").is_none());
    }

    #[test]
    fn on_one_cpu_nothing_is_saved() {
        let mut run = list(8, 100 * MS);
        run.host.cpus = 1;
        assert!(found(&judged(&run, &Seen::Absent), "single-thread").is_none());
    }
}

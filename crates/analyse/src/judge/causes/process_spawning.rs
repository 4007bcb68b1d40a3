//! A process for each small item.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::by_signs;
use crate::judge::predict::{ALL, Kind, Removal};
use crate::judge::processes::{self, Group};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, Saving, SavingBasis};
use model::recording::Tier;
use model::sentence::Piece::{Count, Name, Ns as Time, Number, Share};
use model::{Ns, Reason, RuledOut, Seen, Sentence, say};
use std::cmp::Reverse;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("process-spawning", "a process for each small item"),
    tiers: &[Tier::Bpf, Tier::Perf],
    manual: Manual {
        what: "The program starts many processes that each do little.",
        why: "A process costs its creation, a copy of page tables, `execve`, the loading of its \
              libraries and its exit. That takes half a millisecond for a small program in C and \
              20 ms for an interpreter, whatever the process does.",
        rule: "20 processes or more began and ended, and the calls that make, execute and end them \
               have a twentieth of the tree's CPU time or more (the tree: the program and all its \
               descendants). Where calls are not counted, each process has half a millisecond of it at \
               least, if it lives so long. Fewer processes are not one for each item. If the calls take less, \
               the processes do enough to be worth their start.",
        else_it_could_be: "A large process may start a single one: copying its page tables then \
                           takes long, and `vfork` or `posix_spawn` helps.",
        change: "Do the work in one process: shell builtins instead of small programs, one call \
                 for many items (`xargs`, `find -exec … +`), a library instead of a command, a \
                 pool of workers that stay alive.",
        part: "Bounded. At most the lives of the processes are saved, from their creation on, without \
               what they sleep. In a \
               window the calls that make, execute and end them are saved at least. Of a run \
               nothing is certain, since other processes could have taken their place.",
        assumes: "What the processes do can be done without them. At the high end that work takes \
                  next to no time.",
    },
    explains: &[
        "single-thread",
        "pipe-peer",
        "page-faults",
        "metadata-calls",
        "small-files",
        "small-io",
        "repeated-reads",
    ],
    signs: &[],
    probe: None,
    check,
};

/// Fewer are not one for each item.
const PROCESSES_MIN: usize = 20;
/// The least part of the tree's CPU time for making and ending them: one in this many.
const PART: Ns = 20;

/// What the start and the end of a small program take.
const START_NS: Ns = 500_000;

/// Calls that make a process or give it a program.
const MAKE: &[&str] = &["clone", "clone3", "fork", "vfork", "execve", "execveat"];
/// Functions that load a program's libraries, before its own code begins.
const LOADS: &[&str] = &["_dl_start", "_dl_main", "__dls"];
/// Calls that end one.
const END: &[&str] = &["exit_group", "exit"];

fn check(evidence: &Evidence<'_>) -> Outcome {
    let mut groups: Vec<(String, Group)> = processes::by_program(evidence).into_iter().collect();
    groups
        .sort_by(|(a, x), (b, y)| Reverse(x.processes()).cmp(&Reverse(y.processes())).then_with(|| a.cmp(b)));
    let processes: usize = groups.iter().map(|(_, group)| group.processes()).sum();
    if processes < PROCESSES_MIN {
        let (figure, needed) = (Count(processes as u64, "process".into()), Number(PROCESSES_MIN as u64));
        return Outcome::RuledOut(RuledOut::below(figure, say!("started"), needed));
    }
    let costs_ns = costs_ns(evidence, &groups);
    let cpu_ns = evidence.cpu_ns();
    if costs_ns < cpu_ns / PART {
        if let Seen::Unseen(why) = &evidence.run.tables.syscalls {
            return Outcome::Unavailable(why.clone());
        }
        let what = say!("of CPU time for starting and ending ", Count(processes as u64, "process".into()));
        let share = Share(costs_ns as f64 / cpu_ns as f64);
        return Outcome::RuledOut(RuledOut::below(share, what, Share(1.0 / PART as f64)));
    }
    Outcome::Found(vec![finding(evidence, &groups, processes, costs_ns)])
}

/// CPU time of the calls that make and end processes, as counted. Without counts by samples, with
/// the loading of libraries; but of short processes samples see little, so each has the start of a
/// small program at least.
fn costs_ns(evidence: &Evidence<'_>, groups: &[(String, Group)]) -> Ns {
    if evidence.run.tables.syscalls.value().is_none() {
        let least = |(_, group): &(String, Group)| group.life_ns.min(START_NS * group.processes() as u64);
        let starts_ns: Ns = groups.iter().map(least).sum();
        return by_signs::work_ns(evidence, &[MAKE, END].concat(), LOADS).max(starts_ns);
    }
    let made: Ns = evidence.calls_named(MAKE).iter().map(|(_, row)| row.cpu_ns).sum();
    // These do not return, so they are not in the table of calls.
    let ended = evidence.run.path.iter().filter(|step| match &step.reason {
        Reason::Syscall(name) => END.contains(&&*name.name),
        _ => false,
    });
    made + ended.map(|step| step.ns).sum::<Ns>()
}

fn finding(evidence: &Evidence<'_>, groups: &[(String, Group)], processes: usize, costs_ns: Ns) -> Finding {
    let (name, most) = &groups[0];
    let lives_ns: Ns = groups.iter().map(|(_, group)| group.life_ns).sum();
    // A sleep is asked for, in whichever process.
    let asleep_ns: Ns = groups.iter().map(|(_, group)| group.asleep_ns).sum();
    let share_ns = Interval {
        lo: costs_ns.min(evidence.run.whole_ns()),
        hi: lives_ns.saturating_sub(asleep_ns).max(costs_ns).min(evidence.run.whole_ns()),
    };
    let what = match groups.len() {
        1 => say!(Count(processes as u64, "process".into()), " of ", Name(name.clone())),
        _ => say!(
            Count(processes as u64, "process".into()),
            ", ",
            Number(most.processes() as u64),
            " of them of ",
            Name(name.clone()),
            ","
        ),
    };
    let place = evidence.calls_named(MAKE).into_iter().max_by_key(|(row, call)| (call.cpu_ns, Reverse(*row)));
    Finding {
        cause: CAUSE.name.clone(),
        place: place.map_or(RowRef::Thread(most.longest.1), |(row, _)| RowRef::Call(row)),
        what: what.and(say!(
            " are started, one every ",
            Time(evidence.run.wall_ns / processes as u64),
            ": starting and ending them takes ",
            Time(costs_ns),
            " of CPU time, and their lives add up to ",
            Time(lives_ns)
        )),
        change: say!("do the work of ")
            .and(named(groups))
            .and(say!(" in one process: the shell's own commands, one call for many items, a library")),
        share_ns,
        saving: saving(evidence, share_ns),
        evidence: groups
            .iter()
            .take(3)
            .map(|(name, group)| {
                let each_ns = group.life_ns / group.processes().max(1) as u64;
                say!(
                    Count(group.processes() as u64, "process".into()),
                    " of ",
                    Name(name.clone()),
                    ", each ",
                    Time(each_ns)
                )
            })
            .collect(),
        assumes: vec![say!("their work can be done without these processes")],
        verify: vec![say!("measure both versions: dwell compare BEFORE AFTER")],
        explains: Vec::new(),
        belief: None,
    }
}

/// `true and sed`.
fn named(groups: &[(String, Group)]) -> Sentence {
    let names = groups.iter().take(2).map(|(name, _)| say!(Name(name.clone())));
    names.reduce(|all, one| all.and(say!(" and ")).and(one)).unwrap_or_default()
}

/// At least the calls, at most the lives.
fn saving(evidence: &Evidence<'_>, share_ns: Interval) -> Seen<Saving> {
    let costs = Interval { lo: share_ns.lo, hi: share_ns.lo };
    let least = evidence.saving(&Removal::Account(costs, Kind::Cpu), ALL, SavingBasis::Counted);
    least.map(|least| {
        let hi = share_ns.hi.max(least.ns.hi);
        let part = (least.ns.lo as f64 / hi.max(1) as f64, 1.0);
        Saving { ns: Interval { lo: least.ns.lo, hi }, part, known: SavingBasis::Bounded, ..least }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::step;
    use crate::judge::samples::{call, found, judged, run, saves, sites, thread};
    use model::account::Step;
    use model::prediction::Site;
    use model::run::ThreadLedger;
    use model::{Run, State};

    const MS: Ns = 1_000_000;

    /// A shell that starts this many processes of 2 ms; making each takes a part of that.
    fn shell(processes: u32, made_ns: Ns) -> Run {
        let lives_ns = u64::from(processes) * 2 * MS;
        let mut run = run(&[(State::Kernel, lives_ns), (State::User, 20 * MS)]);
        run.threads[0].states = vec![(State::User, 20 * MS), (State::OtherWait, lives_ns)];
        run.threads.extend((0..processes).map(|one| {
            let child = thread(200 + one, &[(State::Kernel, 2 * MS)]);
            ThreadLedger { pid: 200 + one, name: "true".into(), ..child }
        }));
        let lives = (0..processes).map(|one| {
            let step = step(State::Kernel, Reason::None, 2 * MS);
            Step { pid: 200 + one, tid: 200 + one, ..step }
        });
        run.path = vec![step(State::User, Reason::None, 20 * MS), step(State::Runqueue, Reason::None, MS)];
        run.path.extend(lives);
        run.tables.syscalls =
            Seen::Value(vec![call("execve", processes.into(), made_ns * u64::from(processes))]);
        run
    }

    fn judge(run: &Run, made_ns: Ns) -> model::Diagnosis {
        let lives_ns = run.account[0].ns;
        let clocks = sites(
            run,
            &[
                (Site::Call("execve".into()), [made_ns; 3]),
                (Site::Program("true".into()), [lives_ns - made_ns; 3]),
            ],
        );
        judged(run, &clocks)
    }

    #[test]
    fn the_calls_go_at_least_and_the_lives_at_most() {
        let run = shell(100, MS / 2);
        let diagnosis = judge(&run, 50 * MS);
        let finding = found(&diagnosis, "process-spawning").expect("it is there");
        assert_eq!(saves(finding), (0, 200 * MS));
        assert!(found(&diagnosis, "single-thread").is_none(), "of such short lives");
    }

    #[test]
    fn what_they_sleep_stays() {
        let mut run = shell(100, MS / 2);
        for child in &mut run.threads[1..] {
            child.states = vec![(State::Kernel, MS / 2), (State::Sleep, 3 * MS / 2)];
        }
        let diagnosis = judge(&run, 50 * MS);
        assert_eq!(saves(found(&diagnosis, "process-spawning").expect("it is there")).1, 50 * MS);
    }

    #[test]
    fn twenty_are_many_and_a_twentieth_is_much() {
        let is = |processes: u32, made_ns: Ns| {
            let run = shell(processes, made_ns);
            found(&judge(&run, made_ns * u64::from(processes)), "process-spawning").is_some()
        };
        assert!(is(20, MS / 2));
        assert!(!is(19, MS / 2));
        // 20 processes have 60 ms of CPU time.
        assert!(is(20, 3 * MS / 20) && !is(20, 3 * MS / 20 - MS / 100));
    }
}

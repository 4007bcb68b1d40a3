//! Time in which the program was ready to run and something else had the CPUs: other programs, or
//! its own threads on fewer CPUs than the host has.

use super::{Cause, Imposed, Manual, Outcome, peers};
use crate::judge::imposed;
use crate::judge::predict::{ALL, Kind, Removal};
use crate::judge::{Evidence, spins, starved};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::sentence::Piece::{Count, Name, Ns as Time, Number, Share};
use model::{Ns, Probe, Rival, RuledOut, RunQueue, Seen, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("cpu-contention", "too few CPUs for what is ready to run"),
    tiers: &[Tier::Bpf, Tier::Perf, Tier::Proc],
    manual: Manual {
        what: "The program is ready to run, but other programs have the CPUs. Or its own threads \
               wait for each other's CPU, since they may not use all CPUs of the host.",
        why: "Each thread that is ready gets its share of a CPU. Next to another thread that never \
              sleeps, the same work takes twice as long.",
        rule: "A tenth of the account (where the time of the run went) and 20 ms or more are run \
               queue (time ready to run, without a CPU) behind other programs. Or a tenth is run \
               queue behind its own threads, while the program is bound to fewer CPUs than the \
               host has. The reasons: a host with a few busy services varies by a tenth from run \
               to run, and 20 ms are a few time slices. dwell and kernel threads do not count as \
               other programs. Time for which it was not seen who had the CPU is divided as the \
               rest was, or else by the CPU time of the program and of others. Two things are no \
               finding. If the program's threads wait for each other on all CPUs of the host, the \
               machine is used up. If a program calls `sched_yield` again and again, it gives its \
               CPU away. Without BPF the path is with a thread that has a CPU: there it counts \
               how many more CPUs its threads would use at once than they may.",
        else_it_could_be: "A hypervisor may take CPU time: the coverage in the report shows that \
                           as steal. If a quota is used up, the cause is cpu-throttling.",
        change: "Stop the other programs that the finding names, or move them elsewhere. Give them \
                 less CPU time (`nice`, `cpu.weight`), or CPUs of their own (`taskset`, a cpuset). \
                 If the program is bound to few CPUs, allow it more.",
        part: "Bounded: at most all of the time that was waited for other programs, or behind the \
               program's own threads.",
        assumes: "The other programs can do without these CPUs.",
    },
    explains: &[],
    signs: &[],
    probe: Some(Imposed { probe: Probe::RaisePriority, fits: imposed::is_behind_others }),
    check,
};

/// Less than this part of the whole is no cause.
const PART: Ns = 10;
/// Some time slices of a busy host, which any run may meet.
const OTHERS_NS_MIN: Ns = 20_000_000;
/// Other programs that are named.
const NAMED: usize = 2;
/// How names begin that are no other programs: dwell's own, and threads of the kernel, which as a
/// rule work for whoever has just asked for it.
const NO_PROGRAMS: &[&str] = &[
    "dwell",
    "kworker/",
    "ksoftirqd/",
    "rcu_",
    "rcuc/",
    "rcuog/",
    "rcuop/",
    "migration/",
    "irq/",
    "ktimers/",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "kdamond",
    "jbd2/",
    "kthreadd",
    "cpuhp/",
];

fn check(evidence: &Evidence<'_>) -> Outcome {
    let Seen::Value(queue) = &evidence.run.run_queue else {
        return Outcome::Unavailable("this recording does not say who had the CPUs".to_owned());
    };
    let held = starved::of(evidence);
    let no_programs = queue.others.iter().filter(|other| !is_program(other));
    let others_ns = held.others_ns.saturating_sub(no_programs.map(|other| other.ns).sum());
    let counts = |ns: Ns| ns > 0 && ns >= evidence.run.whole_ns() / PART;
    let bound_to = evidence.run.limits.value().and_then(|limits| limits.cpus_allowed.value());
    let few = bound_to.copied().filter(|allowed| *allowed < evidence.run.host.cpus);
    let mut findings = Vec::new();
    if counts(others_ns) && others_ns >= OTHERS_NS_MIN {
        findings.push(behind_others(evidence, queue, others_ns));
    }
    // Who yields waits in the run queue of its own will.
    let yields = spins::calls(evidence).0.iter().any(|(_, call)| call.name.name == "sched_yield");
    let own_ns = few.map_or(0, |allowed| held.own_ns.max(crowded_ns(evidence, queue, allowed)));
    if let Some(allowed) = few.filter(|_| counts(own_ns) && !yields) {
        findings.push(behind_own(evidence, queue, own_ns, allowed));
    }
    let own = match few {
        _ if held.own_ns == 0 => Sentence::default(),
        Some(_) if yields => say!(", ", Time(held.own_ns), " behind its own threads, which yield"),
        _ => say!(", ", Time(held.own_ns), " behind its own threads"),
    };
    let needed_ns = OTHERS_NS_MIN.max(evidence.run.whole_ns() / PART);
    let what = say!("of waiting for a CPU behind other programs").and(own);
    Outcome::of(findings, RuledOut::below(Time(others_ns), what, Time(needed_ns)))
}

/// What fewer CPUs than it would use at once cost it, where the path is always with who has one.
/// Where it does not use those that it may use, others have them.
fn crowded_ns(evidence: &Evidence<'_>, queue: &RunQueue, allowed: u32) -> Ns {
    if queue.cpus_used < USES_ALL * f64::from(allowed) {
        return 0;
    }
    let wanted = queue.cpus_wanted.min(f64::from(evidence.run.host.cpus));
    let part = 1.0 - f64::from(allowed) / wanted.max(f64::from(allowed));
    if evidence.tier == Tier::Bpf { 0 } else { (evidence.run.whole_ns() as f64 * part) as Ns }
}

/// The part of its CPUs that a program uses that is held up by their number.
const USES_ALL: f64 = 0.9;

fn is_program(other: &Rival) -> bool {
    !NO_PROGRAMS.iter().any(|start| other.name.starts_with(start))
}

fn behind_others(evidence: &Evidence<'_>, queue: &RunQueue, ns: Ns) -> Finding {
    let share_ns = Interval { lo: ns, hi: ns };
    // Of threads of one process the first stands for all.
    let of_process = |at: usize| queue.others[at].pid.value();
    let is_first =
        |at: usize| of_process(at).is_none_or(|_| (0..at).all(|one| of_process(one) != of_process(at)));
    let all_of = || queue.others.iter().enumerate().filter(|(_, other)| is_program(other));
    let programs = || all_of().filter(|(at, _)| is_first(*at)).map(|(_, other)| other);
    let name = |other: &Rival| match other.pid {
        Seen::Value(pid) => say!(Name(other.name.clone()), " (PID ", Name(pid.to_string()), ")"),
        _ => say!(Name(other.name.clone())),
    };
    let all = |some: &mut dyn Iterator<Item = &Rival>| {
        some.take(NAMED).map(name).reduce(|all, one| all.and(say!(" and ")).and(one))
    };
    let is_peer = |other: &&Rival| peers::serves(evidence, &other.pid);
    let most = all(&mut programs()).map_or_else(Sentence::default, |named| say!(", mainly ").and(named));
    // A peer works for this program: without it there is nothing to wait for.
    let own = all(&mut programs().take(NAMED).filter(is_peer));
    let strangers = all(&mut programs().take(NAMED).filter(|other| !is_peer(other)));
    let change = match (own, strangers) {
        (Some(own), None) => say!("ask less of ")
            .and(own)
            .and(say!(", which serves this program and has to run as well, or let both use more CPUs")),
        (_, who) => say!("stop or move ")
            .and(who.unwrap_or_else(|| say!("the other programs")))
            .and(say!(", or give other programs less CPU time: nice, cpu.weight, taskset")),
    };
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::State(State::Runqueue),
        what: say!("the program waits ", Time(ns), " for CPUs that other programs use").and(most),
        change,
        share_ns,
        saving: saving(evidence, share_ns),
        evidence: programs()
            .take(NAMED + 1)
            .map(|other| say!(Time(other.ns), " behind ", Name(other.name.clone())))
            .collect(),
        assumes: vec![say!("the other programs can do without these CPUs")],
        verify: vec![say!("dwell run … while the other programs do not run")],
        explains: Vec::new(),
        belief: None,
    }
}

fn behind_own(evidence: &Evidence<'_>, queue: &RunQueue, ns: Ns, allowed: u32) -> Finding {
    let share_ns = Interval { lo: 0, hi: ns };
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::State(State::Runqueue),
        what: say!(
            "threads of the program wait about ",
            Time(ns),
            " for each other, since they may use only ",
            Number(allowed.into()),
            " of ",
            Count(evidence.run.host.cpus.into(), "CPU".into())
        ),
        change: say!("let the program use more CPUs: taskset, cpuset.cpus, the container's limit"),
        share_ns,
        saving: saving(evidence, share_ns),
        evidence: vec![say!(
            "its threads used ",
            Share(queue.cpus_used),
            " of a CPU and needed ",
            Share(queue.cpus_wanted)
        )],
        assumes: vec![say!("the other CPUs are free")],
        verify: vec![say!("dwell compare with and without taskset")],
        explains: Vec::new(),
        belief: None,
    }
}

/// What is saved where this much of the time in the run queue goes.
fn saving(evidence: &Evidence<'_>, share_ns: Interval) -> Seen<model::finding::Saving> {
    evidence.saving(&Removal::Account(share_ns, Kind::Waiting), ALL, SavingBasis::Bounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{call, connection, found, judged, run, saves, sites};
    use model::limits::Limits;
    use model::network::PeerProcess;
    use model::peers::ConnectionRow;
    use model::prediction::Site;
    use model::{Diagnosis, Run};

    const MS: Ns = 1_000_000;

    /// A second, of which it waits so long for a CPU: behind its own threads, behind others.
    fn queued(own_ns: Ns, others: &[(&str, Ns)], allowed: u32) -> Run {
        let others_ns: Ns = others.iter().map(|(_, ns)| ns).sum();
        let queued_ns = own_ns + others_ns;
        let mut run = run(&[(State::User, 1000 * MS - queued_ns), (State::Runqueue, queued_ns)]);
        let rival = |(name, ns): &(&str, Ns)| Rival { name: (*name).into(), pid: Seen::Value(7), ns: *ns };
        run.run_queue = Seen::Value(RunQueue {
            behind_own_ns: own_ns,
            behind_others_ns: others_ns,
            idle_cpu_ns: 0,
            unseen_ns: 0,
            others: others.iter().map(rival).collect(),
            cpus_used: 1.0,
            cpus_wanted: 2.0,
            of_all: Seen::Absent,
        });
        run.limits = Seen::Value(Limits {
            group: Seen::Absent,
            cpu: Seen::Absent,
            memory: Seen::Absent,
            cpus_allowed: Seen::Value(allowed),
            refaulted_bytes: Seen::Absent,
        });
        run
    }

    fn judge(run: &Run) -> Diagnosis {
        let queued_ns = run.account[1].ns;
        judged(run, &sites(run, &[(Site::State(State::Runqueue), [queued_ns; 3])]))
    }

    #[test]
    fn all_of_the_time_behind_others_goes() {
        let diagnosis = judge(&queued(100 * MS, &[("sh", 300 * MS)], 4));
        assert_eq!(saves(found(&diagnosis, "cpu-contention").expect("it is there")), (300 * MS, 300 * MS));
        assert!(found(&judge(&queued(0, &[("sh", 100 * MS)], 4)), "cpu-contention").is_some());
        assert!(found(&judge(&queued(0, &[("sh", 99 * MS)], 4)), "cpu-contention").is_none());
    }

    #[test]
    fn a_peer_of_the_program_is_not_to_be_stopped() {
        let mut run = queued(0, &[("postgres", 300 * MS)], 4);
        let change = |run: &Run| String::from(found(&judge(run), "cpu-contention").unwrap().change.clone());
        assert!(change(&run).starts_with("stop or move {name:postgres}"));
        let process = PeerProcess {
            remote: "127.0.0.1:5432".into(),
            pid: 6,
            name: "postgres".into(),
            processes: vec![6, 7],
            meanwhile: None,
        };
        let row = ConnectionRow { process: Some(process), ..connection("127.0.0.1:5432") };
        run.tables.connections = Seen::Value(vec![row]);
        let said = change(&run);
        assert!(said.starts_with("ask less of {name:postgres}") && !said.contains("stop"), "{said}");
    }

    #[test]
    fn dwell_and_the_kernel_are_no_other_programs() {
        for name in ["dwell", "kworker/1:2"] {
            assert!(found(&judge(&queued(0, &[(name, 200 * MS)], 4)), "cpu-contention").is_none(), "{name}");
        }
    }

    #[test]
    fn who_yields_waits_of_its_own_will() {
        let mut run = queued(400 * MS, &[], 1);
        run.tables.syscalls = Seen::Value(vec![call("sched_yield", 999, MS)]);
        assert!(found(&judge(&run), "cpu-contention").is_some());
        run.tables.syscalls = Seen::Value(vec![call("sched_yield", 1000, MS)]);
        assert!(found(&judge(&run), "cpu-contention").is_none());
        run.run_queue = queued(400 * MS, &[("sh", 100 * MS)], 1).run_queue;
        assert!(found(&judge(&run), "cpu-contention").is_some(), "others have it against its will");
    }

    #[test]
    fn its_own_threads_are_a_cause_only_where_they_may_not_use_all_cpus() {
        let diagnosis = judge(&queued(400 * MS, &[], 4));
        assert!(found(&diagnosis, "cpu-contention").is_none());
        let diagnosis = judge(&queued(400 * MS, &[], 1));
        let finding = found(&diagnosis, "cpu-contention").expect("it is there");
        assert_eq!(saves(finding), (0, 400 * MS));
        // Four CPUs are free for what one had.
        assert_eq!(finding.share_ns, Interval { lo: 0, hi: 400 * MS });
    }
}

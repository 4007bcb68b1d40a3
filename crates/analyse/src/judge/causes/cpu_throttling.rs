//! The CPU quota of a control group that is used up.

use super::{Cause, Imposed, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::imposed;
use crate::judge::predict::{ALL, Kind, Removal};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::limits::CpuQuota;
use model::recording::Tier;
use model::sentence::Piece::{Count, Name, Ns as Time, Number};
use model::{Probe, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("cpu-throttling", "a used-up CPU quota"),
    tiers: &[Tier::Bpf, Tier::Perf, Tier::Proc],
    manual: Manual {
        what: "The program is ready to run, but its control group, or one above it, has used up \
               its CPU quota.",
        why: "Suppose that a group may use 20 ms of each 100 ms, and has several threads. They use \
              these up in a few milliseconds. Then all threads of the group stand still until the \
              period ends, whether CPUs are idle or not.",
        rule: "The account has time in which the program was ready to run and its group was \
               throttled. The kernel reports that itself, so the only threshold is that of every \
               finding. Without BPF this time is part of the run queue (time ready to run, without \
               a CPU), and is at most what the group's counter grew by.",
        else_it_could_be: "Nothing: only a quota throttles a program. Time behind other programs \
                           is the cause cpu-contention.",
        change: "Raise the quota of the group that the finding names (`cpu.max`, \
                 `cpu.cfs_quota_us`, a container's CPU limit). Or remove it and give the group a \
                 weight (`cpu.weight`, CPU requests). A longer period lets short bursts pass. Or \
                 use only as many threads as the quota has CPUs (`GOMAXPROCS`, `-j`).",
        part: "Counted: the beginning and the end of the throttled time were both seen, and all of \
               it is saved.",
        assumes: "Without the quota a CPU is free for the program.",
    },
    explains: &[],
    signs: &[],
    probe: Some(Imposed { probe: Probe::LiftQuota, fits: imposed::always }),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let quota = evidence.run.limits.value().and_then(|limits| limits.cpu.value());
    let seen_ns = evidence.account_ns(|state| state == State::Throttled);
    let share_ns = match quota {
        _ if seen_ns > 0 => Interval { lo: seen_ns, hi: seen_ns },
        // Of all threads of the group, one after the other.
        Some(quota) if evidence.tier != Tier::Bpf => {
            let queued_ns = evidence.account_ns(|state| state == State::Runqueue);
            Interval { lo: 0, hi: quota.throttled_ns.min(queued_ns) }
        }
        _ => Interval::default(),
    };
    if share_ns.hi > 0 {
        return Outcome::Found(vec![finding(evidence, quota, share_ns)]);
    }
    let why_not = match quota {
        Some(quota) => say!("never throttled; its quota is ").and(of_period(quota)),
        None => say!("never throttled"),
    };
    Outcome::RuledOut(why_not.into())
}

fn finding(evidence: &Evidence<'_>, quota: Option<&CpuQuota>, share_ns: Interval) -> Finding {
    let group = || match quota {
        Some(quota) => say!("the control group ", Name(quota.group.clone())),
        None => say!("its control group"),
    };
    let periods = quota.map(|quota| {
        let (throttled, all) = (Number(quota.throttled_periods), Count(quota.periods, "period".into()));
        of_period(quota).and(say!(", used up in ", throttled, " of ", all))
    });
    let goes = Removal::Account(share_ns, Kind::Waiting);
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::State(State::Throttled),
        what: say!("the program stands still for ", Time(share_ns.hi), " because the CPU quota of ")
            .and(group())
            .and(say!(" is used up")),
        change: say!("raise the quota of ").and(group()).and(say!(", or use fewer threads at a time")),
        share_ns,
        saving: evidence.saving(&goes, ALL, SavingBasis::Counted),
        evidence: periods.into_iter().collect(),
        assumes: vec![say!("without the quota a CPU is free")],
        verify: vec![say!("nr_throttled in cpu.stat of ").and(group()).and(say!(" no longer grows"))],
        explains: Vec::new(),
        belief: None,
    }
}

/// `4.00 ms of each 20.0 ms`.
fn of_period(quota: &CpuQuota) -> Sentence {
    say!(Time(quota.quota_ns), " of each ", Time(quota.period_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{found, judged, run, saves, sites};
    use crate::judge::{Evidence, diagnose};
    use model::limits::Limits;
    use model::prediction::Site;
    use model::{Ns, Profile, Run, Seen};

    const MS: Ns = 1_000_000;

    /// A fifth of a CPU, of a program that wants all of one.
    fn limited(states: &[(State, Ns)], throttled_ns: Ns) -> Run {
        let mut run = run(states);
        let quota = CpuQuota {
            group: "/small".into(),
            quota_ns: 20 * MS,
            period_ns: 100 * MS,
            periods: 10,
            throttled_periods: 9,
            throttled_ns,
        };
        run.limits = Seen::Value(Limits {
            group: Seen::Value("/small/one".into()),
            cpu: Seen::Value(quota),
            memory: Seen::Absent,
            cpus_allowed: Seen::Value(4),
            refaulted_bytes: Seen::Absent,
        });
        run
    }

    #[test]
    fn all_of_the_throttled_time_goes_and_the_quota_is_no_limit_then() {
        let run = limited(&[(State::User, 200 * MS), (State::Throttled, 800 * MS)], 800 * MS);
        let clocks = sites(&run, &[(Site::State(State::Throttled), [800 * MS; 3])]);
        let diagnosis = judged(&run, &clocks);
        let finding = found(&diagnosis, "cpu-throttling").expect("it is there");
        assert_eq!(saves(finding), (800 * MS, 800 * MS));
    }

    #[test]
    fn a_quota_that_was_enough_is_no_cause() {
        let run = limited(&[(State::User, 200 * MS), (State::Sleep, 800 * MS)], 0);
        let diagnosis = judged(&run, &Seen::Absent);
        assert!(found(&diagnosis, "cpu-throttling").is_none());
        assert!(diagnosis.ruled_out.iter().any(|(cause, _)| cause.id == "cpu-throttling"));
    }

    #[test]
    fn without_bpf_the_groups_counter_bounds_what_of_the_run_queue_it_is() {
        let run = limited(&[(State::User, 200 * MS), (State::Runqueue, 800 * MS)], 700 * MS);
        let diagnosis = diagnose(&Evidence::of(Tier::Proc, &run, &Profile::default()));
        let finding = found(&diagnosis, "cpu-throttling").expect("it may be");
        assert_eq!(finding.share_ns, Interval { lo: 0, hi: 700 * MS });
        assert!(found(&judged(&run, &Seen::Absent), "cpu-throttling").is_none(), "BPF would have seen it");
    }
}

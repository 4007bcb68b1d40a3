//! Which limits of its control group a program came up against.

use super::Evidence;
use model::diagnosis::Limit;
use model::limits::{CpuQuota, MemoryLimit};
use model::run::Class;
use model::series::SeriesVerdict;
use model::{Seen, State};

/// A group is near its memory limit from this share of it on.
const MEMORY_SHARE_MIN: f64 = 0.9;

/// The limits that are a cause of what is seen.
pub(super) fn of(evidence: &Evidence<'_>) -> Vec<Limit> {
    let Seen::Value(limits) = &evidence.run.limits else { return Vec::new() };
    let quota = limits.cpu.value().is_some_and(|quota| quota_matters(quota, evidence));
    let memory = limits.memory.value().is_some_and(|memory| memory_matters(memory, evidence));
    let cpus = limits.cpus_allowed.value().is_some_and(|allowed| cpus_matter(*allowed, evidence));
    let all = [(quota, Limit::Quota), (memory, Limit::Memory), (cpus, Limit::Cpus)];
    all.into_iter().filter(|(matters, _)| *matters).map(|(_, limit)| limit).collect()
}

fn quota_matters(quota: &CpuQuota, evidence: &Evidence<'_>) -> bool {
    quota.throttled_periods > 0 || evidence.account_ns(|state| state == State::Throttled) > 0
}

fn memory_matters(memory: &MemoryLimit, evidence: &Evidence<'_>) -> bool {
    let verdicts = evidence.run.series.value().map_or(&[][..], |series| &series.verdicts);
    memory.reached > 0
        || memory.used_bytes as f64 >= memory.limit_bytes as f64 * MEMORY_SHARE_MIN
        || verdicts.iter().any(|verdict| matches!(verdict, SeriesVerdict::MemoryShort { .. }))
}

/// Fewer CPUs than the host has, and it wanted more.
fn cpus_matter(allowed: u32, evidence: &Evidence<'_>) -> bool {
    let queued = evidence.account_ns(|state| state == State::Runqueue);
    allowed < evidence.run.host.cpus
        && (evidence.run.bound.class == Class::Starved || evidence.is_notable(queued))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples;
    use model::Ns;
    use model::Profile;
    use model::limits::Limits;
    use model::recording::Tier;

    fn limits(throttled_periods: u64, used_bytes: u64, cpus_allowed: u32) -> Limits {
        let group = "/a".to_owned();
        let quota = CpuQuota {
            group: group.clone(),
            quota_ns: 1,
            period_ns: 2,
            periods: 9,
            throttled_periods,
            throttled_ns: 0,
        };
        Limits {
            group: Seen::Value(group.clone()),
            cpu: Seen::Value(quota),
            memory: Seen::Value(MemoryLimit { group, limit_bytes: 100, used_bytes, reached: 0 }),
            cpus_allowed: Seen::Value(cpus_allowed),
            refaulted_bytes: Seen::Value(0),
        }
    }

    fn of_run(limits: Limits, queued_ns: Ns) -> Vec<Limit> {
        let mut run = samples::run(&[(State::User, 100 - queued_ns), (State::Runqueue, queued_ns)]);
        run.limits = Seen::Value(limits);
        of(&Evidence::of(Tier::Bpf, &run, &Profile::default()))
    }

    #[test]
    fn limits_that_it_stayed_clear_of_are_no_cause() {
        assert_eq!(of_run(limits(0, 50, 4), 50), []);
        assert_eq!(of_run(limits(0, 50, 1), 5), []);
    }

    #[test]
    fn each_limit_that_it_came_up_against_is_one() {
        assert_eq!(of_run(limits(3, 95, 2), 50), [Limit::Quota, Limit::Memory, Limit::Cpus]);
    }
}

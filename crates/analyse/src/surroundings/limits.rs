//! The limits that the program ran under, and what they did within the wall.

use model::Seen;
use model::limits::{ControlGroup, CpuQuota, Limits, MemoryLimit};

/// What was recorded of the program's control group.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The last one recorded, since it has had its quota and limit.
    last: Option<ControlGroup>,
    /// Its counters when it was first recorded.
    quota: Option<CpuQuota>,
    memory: Option<MemoryLimit>,
    /// Refaults of the group with the limit: at first, and now.
    refaulted: Option<(u64, u64)>,
}

impl Groups {
    /// Takes what was recorded next.
    pub(super) fn observe(&mut self, group: &ControlGroup) {
        let mut now = group.clone();
        if let Seen::Value(quota) = &now.cpu {
            // Counters of another group begin anew.
            if self.quota.as_ref().is_none_or(|first| first.group != quota.group) {
                self.quota = Some(quota.clone());
            }
        }
        if let Seen::Value(memory) = &mut now.memory {
            match &self.memory {
                Some(first) if first.group == memory.group => {
                    let before = self.last.as_ref().and_then(|last| last.memory.value());
                    memory.used_bytes =
                        memory.used_bytes.max(before.map_or(first.used_bytes, |before| before.used_bytes));
                }
                _ => {
                    self.memory = Some(memory.clone());
                    self.refaulted = None;
                }
            }
        }
        self.last = Some(now);
    }

    /// Takes the count of refaults of the group that was recorded last.
    pub(super) fn refaulted(&mut self, bytes: u64) {
        let first = self.refaulted.map_or(bytes, |(first, _)| first);
        self.refaulted = Some((first, bytes));
    }

    /// The limits, with what was counted since they were first seen.
    pub(super) fn limits(&self) -> Seen<Limits> {
        let Some(last) = &self.last else { return Seen::unseen("not in this recording") };
        let cpu = last.cpu.clone().map(|mut quota| {
            if let Some(first) = &self.quota {
                quota.periods = quota.periods.saturating_sub(first.periods);
                quota.throttled_periods = quota.throttled_periods.saturating_sub(first.throttled_periods);
                quota.throttled_ns = quota.throttled_ns.saturating_sub(first.throttled_ns);
            }
            quota
        });
        let memory = last.memory.clone().map(|mut memory| {
            memory.reached -= self.memory.as_ref().map_or(0, |first| first.reached).min(memory.reached);
            memory
        });
        let refaulted_bytes = match (self.refaulted, &memory) {
            (Some((first, last)), Seen::Value(_)) => Seen::Value(last.saturating_sub(first)),
            (None, Seen::Value(_)) => Seen::unseen("not in this recording"),
            (_, none) => none.as_ref().map(|_| 0),
        };
        Seen::Value(Limits {
            group: last.path.clone(),
            cpu,
            memory,
            cpus_allowed: last.cpus_allowed.clone(),
            refaulted_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Ns;

    fn group(path: &str, throttled_periods: u64, throttled_ns: Ns, used_bytes: u64) -> ControlGroup {
        let group = path.to_owned();
        ControlGroup {
            path: Seen::Value(group.clone()),
            cpu: Seen::Value(CpuQuota {
                group: group.clone(),
                quota_ns: 20,
                period_ns: 100,
                periods: 10 + throttled_periods,
                throttled_periods,
                throttled_ns,
            }),
            memory: Seen::Value(MemoryLimit { group, limit_bytes: 100, used_bytes, reached: 7 + used_bytes }),
            cpus_allowed: Seen::Value(2),
        }
    }

    #[test]
    fn counters_are_those_of_the_wall_and_memory_is_the_most_that_was_used() {
        let mut groups = Groups::default();
        groups.observe(&group("/a", 5, 1000, 10));
        groups.observe(&group("/a", 6, 1500, 90));
        groups.observe(&group("/a", 9, 1800, 30));
        let Seen::Value(limits) = groups.limits() else { panic!("they were told") };
        let quota = limits.cpu.value().unwrap();
        assert_eq!((quota.periods, quota.throttled_periods, quota.throttled_ns), (4, 4, 800));
        let memory = limits.memory.value().unwrap();
        assert_eq!((memory.used_bytes, memory.reached), (90, 20));
    }

    #[test]
    fn refaults_are_those_of_the_wall_and_of_the_last_group() {
        let mut groups = Groups::default();
        let bytes = |groups: &Groups| groups.limits().value().unwrap().refaulted_bytes.clone();
        groups.observe(&group("/a", 5, 1000, 80));
        assert!(matches!(bytes(&groups), Seen::Unseen(_)), "an older recording");
        groups.refaulted(5000);
        groups.refaulted(7000);
        assert_eq!(bytes(&groups), Seen::Value(2000));
        groups.observe(&group("/b", 5, 1000, 80));
        groups.refaulted(9000);
        assert_eq!(bytes(&groups), Seen::Value(0), "of another group");
        groups.observe(&ControlGroup { memory: Seen::Absent, ..group("/", 5, 1000, 80) });
        assert_eq!(bytes(&groups), Seen::Absent);
    }

    #[test]
    fn a_program_that_is_moved_has_the_limits_of_its_new_group_from_then_on() {
        let mut groups = Groups::default();
        groups.observe(&group("/a", 5, 1000, 80));
        groups.observe(&group("/b", 100, 9000, 10));
        groups.observe(&group("/b", 103, 9100, 20));
        let Seen::Value(limits) = groups.limits() else { panic!("they were told") };
        assert_eq!(limits.group, Seen::Value("/b".to_owned()));
        assert_eq!(
            limits.cpu.value().map(|quota| (quota.throttled_periods, quota.throttled_ns)),
            Some((3, 100))
        );
        assert_eq!(limits.memory.value().map(|memory| memory.used_bytes), Some(20));
        assert!(matches!(Groups::default().limits(), Seen::Unseen(_)));
    }
}

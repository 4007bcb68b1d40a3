//! Who had the CPU while a thread was ready to run, told in small stories. Times are microseconds.

use crate::story::*;
use model::limits::{ControlGroup, CpuQuota};
use model::recording::{Comm, Event, SwitchOutState};
use model::run::Class;
use model::{Reason, Rival, Seen, State};

const US: u64 = 1000;

/// Something that is not of the tree had the CPU for this long, until now.
fn ran(story: &mut Story, us: u64, pid: u32, name: &str) {
    let name = Comm::from(name);
    story.push(|at| Event::Ran { at, from: at - us * US, cpu: 0, tid: pid, pid, name });
}

#[test]
fn a_wait_for_a_cpu_is_divided_among_those_who_had_it() {
    let mut story = Story::begins();
    story.after(9).leaves(ROOT, SwitchOutState::Runnable, none());
    ran(story.after(300), 300, 7, "hog");
    ran(story.after(20), 20, 12, "rcu_preempt");
    ran(story.after(100), 100, 8, "hog");
    story.comes_after(ROOT, Some((8, "hog")), 0);
    let run = story.after(10).ends();
    assert_eq!(us(&run, State::Runqueue), 420);
    let queue = run.run_queue.value().unwrap();
    assert_eq!((queue.behind_others_ns, queue.behind_own_ns, queue.unseen_ns), (420 * US, 0, 0));
    let rival = |name: &str, pid, us: u64| Rival { name: name.into(), pid: Seen::Value(pid), ns: us * US };
    assert_eq!(queue.others, [rival("hog", 7, 400), rival("rcu_preempt", 12, 20)]);
    assert_eq!((run.bound.class, run.bound.resource), (Class::Starved, State::Runqueue));
    // Both are of one wait.
    let waits = run.path.iter().filter(|step| step.state == State::Runqueue);
    assert_eq!(waits.map(|step| step.count).sum::<u64>(), 1);
}

#[test]
fn behind_its_own_threads_a_program_is_bound_by_the_cpu() {
    let mut story = Story::begins();
    story.after(9).forks(ROOT, CHILD, CHILD);
    story.after(91).leaves(ROOT, SwitchOutState::Runnable, none()).comes(CHILD);
    story.after(100).leaves(CHILD, SwitchOutState::Runnable, none()).comes(ROOT);
    story.after(100).leaves(ROOT, SwitchOutState::Runnable, none()).comes(CHILD);
    story.after(100).leaves(CHILD, SwitchOutState::Runnable, none()).comes(ROOT);
    let run = story.after(10).ends();
    let queue = run.run_queue.value().unwrap();
    assert_eq!((queue.behind_own_ns, queue.behind_others_ns), (200 * US, 0));
    let step = run.path.iter().find(|step| step.state == State::Runqueue).unwrap();
    assert_eq!((&step.reason, step.count), (&Reason::PreemptedByOwn("child".into()), 2));
    assert_eq!(run.bound.class, Class::Cpu);
    // One ran and one waited for nearly all of the time.
    assert!(queue.cpus_used > 0.9 && queue.cpus_wanted > 1.8, "{queue:?}");
}

#[test]
fn a_quota_that_is_used_up_starves_and_is_among_the_limits() {
    let mut story = Story::begins();
    let group = |throttled_periods| {
        let quota = CpuQuota {
            group: "/box".into(),
            quota_ns: 4_000_000,
            period_ns: 20_000_000,
            periods: 30,
            throttled_periods,
            throttled_ns: throttled_periods * US,
        };
        Box::new(ControlGroup {
            path: Seen::Value("/box/inner".into()),
            cpu: Seen::Value(quota),
            memory: Seen::Absent,
            cpus_allowed: Seen::Value(2),
        })
    };
    story.push(|at| Event::Group { at, group: group(10) });
    story.after(9).leaves(ROOT, SwitchOutState::Runnable, none());
    story.after(400).comes_after(ROOT, Some((0, "swapper")), 390);
    story.push(|at| Event::Group { at, group: group(13) });
    let run = story.after(10).ends();
    assert_eq!((us(&run, State::Throttled), us(&run, State::Runqueue)), (390, 10));
    assert_eq!((run.bound.class, run.bound.resource), (Class::Starved, State::Throttled));
    let limits = run.limits.value().unwrap();
    assert_eq!(limits.group, Seen::Value("/box/inner".into()));
    let quota = limits.cpu.value().unwrap();
    assert_eq!((quota.group.as_str(), quota.throttled_periods, quota.throttled_ns), ("/box", 3, 3 * US));
}

//! Limits of control groups, from trees of files like those of the kernel.

use super::*;
use crate::surroundings::tests::Kernel;

const STATUS: &str = "Name:\tsh\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1,3\n";

fn look(group: &mut Group) -> Option<ControlGroup> {
    look_at(group, &[])
}

fn look_at(group: &mut Group, living: &[Pid]) -> Option<ControlGroup> {
    group.look(7, living).map(|event| match event {
        Event::Group { at: 7, group } => *group,
        other => panic!("{other:?}"),
    })
}

fn version_2() -> Kernel {
    Kernel::new(&[
        ("proc/5/cgroup", "0::/box/inner\n"),
        ("proc/5/status", STATUS),
        ("sys/fs/cgroup/cgroup.controllers", "cpu memory\n"),
        ("sys/fs/cgroup/box/cpu.max", "20000 100000\n"),
        ("sys/fs/cgroup/box/cpu.stat", "usage_usec 9\nnr_periods 40\nnr_throttled 30\nthrottled_usec 2500\n"),
        ("sys/fs/cgroup/box/memory.max", "max\n"),
        ("sys/fs/cgroup/box/memory.high", "max\n"),
        ("sys/fs/cgroup/box/inner/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/box/inner/memory.max", "1048576\n"),
        ("sys/fs/cgroup/box/inner/memory.high", "524288\n"),
        ("sys/fs/cgroup/box/inner/memory.current", "400000\n"),
        ("sys/fs/cgroup/box/inner/memory.events", "low 0\nhigh 4\nmax 2\noom 0\noom_kill 0\n"),
    ])
}

#[test]
fn of_nested_groups_the_tightest_limit_counts() {
    let kernel = version_2();
    let told = look(&mut Group::new(kernel.roots(), 5)).expect("the first look is told");
    assert_eq!(told.path, Seen::Value("/box/inner".to_owned()));
    let quota = told.cpu.value().unwrap();
    assert_eq!((quota.group.as_str(), quota.quota_ns, quota.period_ns), ("/box", 20_000_000, 100_000_000));
    assert_eq!((quota.periods, quota.throttled_periods, quota.throttled_ns), (40, 30, 2_500_000));
    let memory = told.memory.value().unwrap();
    assert_eq!((memory.group.as_str(), memory.limit_bytes), ("/box/inner", 524_288));
    assert_eq!((memory.used_bytes, memory.reached), (400_000, 6));
    assert_eq!(told.cpus_allowed, Seen::Value(3));
}

#[test]
fn it_is_told_again_when_something_has_changed() {
    let kernel = version_2();
    let mut group = Group::new(kernel.roots(), 5);
    assert!(look(&mut group).is_some());
    assert_eq!(look(&mut group), None);
    kernel.write("sys/fs/cgroup/box/inner/memory.current", "400001\n");
    assert_eq!(look(&mut group).unwrap().memory.value().unwrap().used_bytes, 400_001);
    kernel.write("proc/5/cgroup", "0::/box\n");
    let moved = look(&mut group).unwrap();
    assert_eq!((moved.path, moved.memory), (Seen::Value("/box".to_owned()), Seen::Absent));
}

#[test]
fn what_comes_back_into_the_memory_of_the_group_is_told_when_it_differs() {
    let page = rustix::param::page_size() as u64;
    let kernel = version_2();
    let mut group = Group::new(kernel.roots(), 5);
    let mut told = || {
        group.look(7, &[]);
        group.refaults(7).map(|event| match event {
            Event::Refaults { at: 7, bytes } => bytes / page,
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(told(), None, "it is not counted");
    let stat = "sys/fs/cgroup/box/inner/memory.stat";
    kernel.write(stat, "anon 9\nworkingset_refault_anon 2\nworkingset_refault_file 40\n");
    assert_eq!((told(), told()), (Some(42), None));
    kernel.write(stat, "workingset_refault 50\n");
    assert_eq!(told(), Some(50));
    let first = Kernel::new(&[
        ("proc/5/cgroup", "4:memory:/a\n"),
        ("proc/5/status", STATUS),
        ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096\n"),
        ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "4096\n"),
        (
            "sys/fs/cgroup/memory/a/memory.stat",
            "workingset_refault_file 1\ntotal_workingset_refault_anon 0\ntotal_workingset_refault_file 3\n",
        ),
    ]);
    let mut group = Group::new(first.roots(), 5);
    group.look(7, &[]);
    assert_eq!(group.refaults(7), Some(Event::Refaults { at: 7, bytes: 3 * page }));
}

#[test]
fn a_child_in_a_group_with_less_memory_has_the_limit_that_counts() {
    let kernel = version_2();
    let small = |file: &str, text: &str| kernel.write(&format!("sys/fs/cgroup/small/{file}"), text);
    small("memory.max", "4096\n");
    small("memory.current", "4000\n");
    small("memory.events", "high 0\nmax 9\n");
    small("memory.stat", "workingset_refault_anon 0\nworkingset_refault_file 3\n");
    small("cpu.max", "1000 100000\n");
    let mut group = Group::new(kernel.roots(), 5);
    let living: Vec<Pid> = (5..30).collect();
    living[1..].iter().for_each(|pid| kernel.write(&format!("proc/{pid}/cgroup"), "0::/box/inner\n"));
    let of = |told: Option<ControlGroup>| told.map(|told| told.memory.value().unwrap().group.clone());
    assert_eq!(of(look_at(&mut group, &living)).as_deref(), Some("/box/inner"));
    // 24 others, eight at a time: in the third look this one is seen.
    kernel.write("proc/29/cgroup", "0::/small\n");
    assert_eq!(look_at(&mut group, &living), None);
    let told = look_at(&mut group, &living).expect("it is another group");
    assert_eq!(told.memory.value().map(|of| (of.group.as_str(), of.reached)), Some(("/small", 9)));
    assert_eq!(told.path, Seen::Value("/box/inner".to_owned()), "that of the first process");
    assert_eq!(told.cpu.value().map(|of| of.group.as_str()), Some("/box"));
    assert_eq!(
        group.refaults(7),
        Some(Event::Refaults { at: 7, bytes: 3 * rustix::param::page_size() as u64 })
    );
    // It ends, and its group is removed; what was counted stays. Then there is another one.
    ["memory.max", "memory.current", "memory.events", "memory.stat"]
        .iter()
        .for_each(|file| kernel.remove(&format!("sys/fs/cgroup/small/{file}")));
    kernel.remove("proc/29/cgroup");
    assert_eq!(look_at(&mut group, &living[..24]), None);
    assert_eq!(group.refaults(7), None);
    for (file, text) in
        [("memory.max", "8192\n"), ("memory.current", "1\n"), ("memory.events", "high 0\nmax 0\n")]
    {
        kernel.write(&format!("sys/fs/cgroup/next/{file}"), text);
    }
    kernel.write("proc/6/cgroup", "0::/next\n");
    let told: Vec<String> = (0..3).filter_map(|_| of(look_at(&mut group, &living[..24]))).collect();
    assert_eq!(told, ["/next"]);
}

#[test]
fn a_program_that_has_ended_keeps_its_group() {
    let kernel = version_2();
    let mut group = Group::new(kernel.roots(), 5);
    assert!(look(&mut group).is_some());
    kernel.write("proc/5/cgroup", "0::/box/inner (deleted)\n");
    kernel.remove("sys/fs/cgroup/box/inner/memory.current");
    kernel.remove("proc/5/status");
    assert_eq!(look(&mut group), None);
    // It goes with its group, or leaves it before; as often as limits are searched for anew.
    std::fs::remove_dir_all(kernel.roots().sys.join("fs/cgroup/box")).unwrap();
    kernel.write("proc/5/cgroup", "0::/\n");
    assert!((0..=ANEW).all(|_| look(&mut group).is_none()));
}

#[test]
fn version_1_has_a_hierarchy_for_each_controller() {
    let kernel = Kernel::new(&[
        ("proc/5/cgroup", "9:memory:/mem\n4:cpu,cpuacct:/box\n1:name=systemd:/init.scope\n0::/\n"),
        ("proc/5/status", STATUS),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "150000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "50000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/box/cpu.stat", "nr_periods 4\nnr_throttled 3\nthrottled_time 77\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/memory/mem/memory.limit_in_bytes", "4096\n"),
        ("sys/fs/cgroup/memory/mem/memory.usage_in_bytes", "4095\n"),
        ("sys/fs/cgroup/memory/mem/memory.failcnt", "8\n"),
    ]);
    let told = look(&mut Group::new(kernel.roots(), 5)).unwrap();
    let quota = told.cpu.value().unwrap();
    assert_eq!((told.path.value().unwrap().as_str(), quota.cpus(), quota.throttled_ns), ("/box", 3.0, 77));
    let memory = told.memory.value().unwrap();
    assert_eq!((memory.group.as_str(), memory.limit_bytes, memory.reached), ("/mem", 4096, 8));
}

#[test]
fn in_a_container_the_root_of_what_is_mounted_has_the_limits() {
    let kernel = Kernel::new(&[
        ("proc/5/cgroup", "0::/docker/0123\n"),
        ("proc/5/status", STATUS),
        ("sys/fs/cgroup/cgroup.controllers", "cpu memory\n"),
        ("sys/fs/cgroup/cpu.max", "200000 100000\n"),
        ("sys/fs/cgroup/cpu.stat", "nr_periods 1\nnr_throttled 0\nthrottled_usec 0\n"),
    ]);
    let told = look(&mut Group::new(kernel.roots(), 5)).unwrap();
    let quota = told.cpu.value().unwrap();
    assert_eq!((quota.group.as_str(), quota.cpus()), ("/docker/0123", 2.0));
    assert_eq!(told.memory, Seen::Absent);
}

#[test]
fn what_cannot_be_read_is_unseen() {
    let kernel = Kernel::new(&[("proc/6/stat", "")]);
    let told = look(&mut Group::new(kernel.roots(), 5)).unwrap();
    for seen in
        [told.path.map(|_| ()), told.cpu.map(|_| ()), told.memory.map(|_| ()), told.cpus_allowed.map(|_| ())]
    {
        assert!(matches!(&seen, Seen::Unseen(why) if why.contains("proc/5")), "{seen:?}");
    }
    let kernel = Kernel::new(&[
        ("proc/5/cgroup", "0::/../other\n"),
        ("proc/5/status", STATUS),
        ("sys/fs/cgroup/cgroup.controllers", "cpu\n"),
    ]);
    let told = look(&mut Group::new(kernel.roots(), 5)).unwrap();
    assert!(matches!(&told.cpu, Seen::Unseen(why) if why.contains("outside")), "{told:?}");
}

#[test]
fn of_nested_quotas_the_outermost_is_left() {
    let kernel = version_2();
    kernel.write("proc/self/cgroup", "0::/box/inner\n");
    let found = outermost_quota(kernel.roots()).unwrap();
    assert_eq!(found, kernel.roots().sys.join("fs/cgroup/box"));
    kernel.write("proc/self/cgroup", "0::/\n");
    assert!(outermost_quota(kernel.roots()).unwrap_err().contains("entered one by itself"));
    kernel.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
    assert!(outermost_quota(kernel.roots()).unwrap_err().contains("outermost that can be seen"));
}

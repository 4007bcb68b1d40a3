//! A process in a control group that may use two fifths of a CPU, or as much as there is.

use crate::group::Group;
use crate::work::{child, compute, wait};
use crate::{Need, Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "quota",
    title: "a process that may use two fifths of a CPU, or a whole one",
    cause: Some("cpu-throttling"),
    size: Size { unit: "million rounds", usual: 200, least: 100, most: 200 },
    ways: &[
        Way { name: "limited", what: "8 ms of each 20 ms", run: Run::Native(limited) },
        Way { name: "free", what: "no quota", run: Run::Native(free) },
    ],
    source: include_str!("quota.rs"),
    needs: &[Need::Root],
    lesson: "A quota (cpu.max, a container's CPU limit) is given for each period: when it is used up, all threads of the \
             group stand still until the next one begins, however idle the machine is. The program's own code is not \
             slow, and a profile of it shows nothing. More threads use the quota up sooner.",
    writing: None,
};

fn limited(setting: &Setting) -> io::Result<()> {
    let group = group("8000")?;
    wait(child(|| work(&group, setting.size))?)
}

fn free(setting: &Setting) -> io::Result<()> {
    let group = group(UNLIMITED)?;
    wait(child(|| work(&group, setting.size))?)
}

/// No quota, in the words of the first version of control groups.
const UNLIMITED: &str = "-1";

/// A group with a quota of this many microseconds of each 20 ms.
fn group(quota_us: &str) -> io::Result<Group> {
    let group = Group::new("cpu")?;
    let of_second = if quota_us == UNLIMITED { "max" } else { quota_us };
    group.limit(("cpu.cfs_period_us", "20000"), ("cpu.max", &format!("{of_second} 20000")))?;
    group.limit(("cpu.cfs_quota_us", quota_us), ("cpu.max", &format!("{of_second} 20000")))?;
    Ok(group)
}

/// In the group, by this process; one that may not enter has no quota, and the pair shows that.
fn work(group: &Group, million_rounds: u64) {
    let _ = group.enter();
    compute(million_rounds * 1_000_000);
}

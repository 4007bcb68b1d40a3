//! A program whose cgroup may use a fifth of a CPU: time that it waits for its quota is no run
//! queue.

use crate::support::{MS, hold_with, run, work};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

/// A control group with a quota of CPU time, gone with the test.
struct Quota(PathBuf);

impl Quota {
    /// 4 ms of each 20 ms.
    fn new() -> Self {
        let name = format!("dwell-throttled-{}", std::process::id());
        let (first, second) =
            (Path::new("/sys/fs/cgroup/cpu").join(&name), Path::new("/sys/fs/cgroup").join(&name));
        if fs::create_dir(&first).is_ok() {
            fs::write(first.join("cpu.cfs_period_us"), "20000")
                .expect("a group of the first version has a period");
            fs::write(first.join("cpu.cfs_quota_us"), "4000")
                .expect("a group of the first version has a quota");
            return Self(first);
        }
        fs::create_dir(&second).expect("the tests may make control groups");
        let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
        fs::write(second.join("cpu.max"), "4000 20000").expect("a group of the second version has a quota");
        Self(second)
    }

    /// How long its processes were throttled, by the kernel's own count.
    fn throttled_ns(&self) -> u64 {
        let text = fs::read_to_string(self.0.join("cpu.stat")).expect("a group has counters");
        let field =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        field("throttled_time ")
            .or_else(|| field("throttled_usec ").map(|us| us * 1000))
            .expect("throttled time")
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn time_without_quota_is_throttled_and_as_long_as_the_kernel_says() {
    let quota = Quota::new();
    let script = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", quota.0.display());
    let theirs = Cell::new(0);
    let run = || {
        let before = quota.throttled_ns();
        let told = run(&["sh", "-c", &script, "sh", work(), "spin", "300"]);
        theirs.set(quota.throttled_ns() - before);
        told
    };
    hold_with(run, |told, claims| {
        let (theirs, ours) = (theirs.get(), told.parts(&["throttled"]));
        // A fifth of a CPU for 300 ms of work; less where others have the CPU as well.
        claims.that(theirs > 50 * MS, format!("the kernel throttled it for {theirs} ns"));
        // What it was about to wait for other programs when the quota came is the kernel's, too.
        let most = ours + told.parts(&["runqueue"]);
        let so = ours < theirs + theirs / 20 + 10 * MS && theirs < most + theirs / 20 + 10 * MS;
        claims.that(so, format!("{ours} ns throttled, {theirs} by the kernel's own count"));
        claims.that(told.page.contains("throttled"), told.page.clone());
        claims.equal("class", told.class(), "starved");
        let limit = &told.run["limits"]["cpu"];
        let name = quota.0.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        claims.that(limit["group"].as_str().is_some_and(|group| group.ends_with(name)), limit.to_string());
        let times = (limit["quota_ns"].as_u64(), limit["period_ns"].as_u64());
        claims.equal("quota and period", times, (Some(4 * MS), Some(20 * MS)));
        // The program is moved into the group when it has begun: its counters are seen from the
        // next snapshot on.
        let counted = limit["throttled_ns"].as_u64().unwrap_or(0);
        let so = counted <= theirs + 10 * MS && counted * 2 >= theirs;
        claims.that(so, format!("{counted} ns by the group's counter, {theirs} around the run"));
        claims.that(limit["throttled_periods"].as_u64() > Some(5), limit.to_string());
        let page = told.page.split_whitespace().collect::<Vec<_>>().join(" ");
        claims.that(page.contains(name) && page.contains("4.00 ms of each 20.0 ms"), told.page.clone());
    });
}

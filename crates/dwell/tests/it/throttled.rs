//! A program whose cgroup may use a fifth of a CPU: time that it waits for its quota is no run
//! queue.

use crate::support::quota::Quota;
use crate::support::{MS, hold_with, run, work};
use std::cell::Cell;

#[test]
fn time_without_quota_is_throttled_and_as_long_as_the_kernel_says() {
    let quota = Quota::new();
    let script = format!("echo $$ > {}; exec \"$@\"", quota.entry());
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
        let name = quota.name();
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

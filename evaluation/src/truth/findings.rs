//! Which first finding of dwell is right for a program: judged beforehand, from what the program
//! does. To claim nothing is right for each; what is not in its list is a wrong claim.

mod others;

use super::said::Said;
use super::verdict::{Check, Verdict};
use std::fmt::Write;

/// Programs by name, with the causes that may be found first.
const JUDGED: &[(&str, &[&str])] = &[
    // They compute; who compresses in one thread might do it in two. Of 2,000 files those that are
    // not in memory come one by one.
    ("xz-2-threads", &["hot-code"]),
    ("sort", &["hot-code"]),
    ("tar-gzip", &["hot-code", "single-thread", "disk-latency"]),
    ("sha256sum", &["hot-code"]),
    ("awk", &["hot-code"]),
    ("perl", &["hot-code"]),
    ("gzip-pipe-of-three", &["hot-code", "single-thread"]),
    ("sqlite3-query", &["hot-code", "single-thread"]),
    ("go-workers", &["hot-code"]),
    ("node-workers", &["hot-code"]),
    ("java-hot-method", &["hot-code", "single-thread"]),
    ("pygmentize", &["hot-code", "single-thread"]),
    ("tsc", &["hot-code", "single-thread", "allocation"]),
    ("h2-query", &["hot-code", "single-thread", "allocation"]),
    ("python-multiprocessing", &["hot-code"]),
    ("git-log", &["hot-code", "single-thread", "page-faults"]),
    ("go-build", &["hot-code", "allocation", "process-spawning"]),
    ("cc", &["hot-code", "single-thread", "process-spawning"]),
    ("make-j8", &["hot-code", "cpu-contention", "process-spawning"]),
    ("python-start", &["hot-code", "single-thread", "process-spawning", "metadata-calls"]),
    // A process for each item.
    ("shell-500-forks", &["process-spawning"]),
    ("python-subprocess", &["process-spawning"]),
    // A look at each file; their contents.
    ("find", &["metadata-calls"]),
    // A shell starts five of the one and ten of the other, one after another.
    ("grep-r", &["small-files", "disk-latency", "metadata-calls", "hot-code", "single-thread"]),
    ("ripgrep", &["small-files", "disk-latency", "metadata-calls", "hot-code", "single-thread"]),
    ("node-files", &["small-files", "metadata-calls", "single-thread", "context-switching"]),
    // Memory that is taken, touched once and given back, again and again.
    ("first-touches", &["page-faults"]),
    // Blocks of 64 KiB that nobody reads, and time to pass: nothing to change.
    ("dd-zeroes", &[]),
    ("sleeps-of-a-shell", &[]),
    ("java-sleep", &[]),
    ("go-ticks", &[]),
    ("node-timers", &[]),
    // The disk: one request at a time, or each write confirmed.
    ("fio-psync", &["disk-latency"]),
    ("fio-mmap", &["disk-latency"]),
    ("dd-dsync", &["sync-writes"]),
    ("sqlite3-autocommits", &["sync-writes"]),
    // The other end.
    ("postgres-row-lock", &["lock-contention", "pipe-peer", "serial-requests"]),
    ("psql-query", &["pipe-peer", "serial-requests"]),
    ("curl-1000-files", &["serial-requests", "connection-churn"]),
    ("fifo-outside", &["pipe-peer"]),
    ("flock", &["lock-contention"]),
    // CPUs: a quota, a lock, a peer.
    ("quota-of-a-fifth", &["cpu-throttling"]),
    ("python-threads", &["interpreter-lock"]),
    ("python-queue", &["hot-code", "interpreter-lock", "single-thread"]),
    ("go-mutex", &["hot-code", "lock-contention"]),
    ("java-monitor", &["lock-contention", "hot-code", "single-thread"]),
    ("pipe-ping-pong", &["context-switching"]),
    ("poll-spin", &["busy-wait", "hot-code"]),
    ("poll-nanosleep", &["hot-code", "single-thread", "sleep-polling"]),
    ("poll-waitpid", &["hot-code", "single-thread", "sleep-polling"]),
    ("poll-timerfd", &["hot-code", "single-thread", "sleep-polling"]),
    ("poll-timed-futex", &["hot-code", "single-thread", "sleep-polling"]),
];

/// All judgements, those of [`others`] as well.
fn judged() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    JUDGED.iter().copied().chain(others::JUDGED.iter().map(|judged| (judged.name, judged.right)))
}

/// Beside other programs that have the CPUs, that is right for each.
const BESIDE_OTHERS: &str = "cpu-contention";

/// What the check of a first finding is called.
const FINDS: &str = "finds";

/// The programs of others by registry, with what was judged and what was found first when each was
/// alone and beside busy loops: a table in Markdown. `found` gives the row of a program that was
/// kept of either.
pub(crate) fn table(found: impl Fn(bool, &'static str) -> Option<Verdict>) -> String {
    let mut text = String::from(
        "| from | program | may be found first | why | alone | beside busy loops |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for judged in others::JUDGED {
        let first = |busy| {
            let verdict = found(busy, judged.name)?;
            let check = verdict.checks.into_iter().find(|check| check.what == FINDS)?;
            Some(if check.agrees { check.dwell } else { format!("**{}**", check.dwell) })
        };
        let first = |busy| first(busy).unwrap_or_else(|| "not run".to_owned());
        let right = if judged.right.is_empty() { "nothing".to_owned() } else { judged.right.join(", ") };
        let (from, name, why) = (judged.from.name(), judged.name, judged.why);
        let _ = writeln!(text, "| {from} | {name} | {right} | {why} | {} | {} |", first(false), first(true));
    }
    text
}

/// Of the wall clock, that the trace may have behind others, from which it is beside them.
const BESIDE_PERCENT: f64 = 5.0;

/// The first finding against what was judged; none where it was not judged, or dwell does not look
/// for causes. `behind_percent`: what the trace may have behind other programs.
pub(crate) fn check(program: &str, said: &Said, behind_percent: f64) -> Option<Check> {
    let busy = behind_percent >= BESIDE_PERCENT;
    let (_, right) = judged().find(|(name, _)| *name == program)?;
    let first = said.findings.as_ref()?.first().map(String::as_str);
    let agrees = first.is_none_or(|first| right.contains(&first) || busy && first == BESIDE_OTHERS);
    let right: Vec<&str> = right.iter().copied().chain(["nothing"]).collect();
    Some(Check {
        what: FINDS.to_owned(),
        dwell: first.unwrap_or("nothing").to_owned(),
        oracle: right.join(" or "),
        agrees,
    })
}

#[cfg(test)]
mod tests {
    use super::super::program::Class;
    use super::*;
    use crate::truth::programs::all;
    use std::collections::BTreeSet;

    fn said(findings: Option<&[&str]>) -> Said {
        let findings = findings.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect());
        Said { run: crate::sample::run(), findings, page: String::new() }
    }

    #[test]
    fn the_first_finding_is_right_or_nothing_is_claimed() {
        let agrees =
            |findings: &[&str], behind| check("fio-psync", &said(Some(findings)), behind).unwrap().agrees;
        assert!(agrees(&["disk-latency", "hot-code"], 0.0) && agrees(&[], 0.0));
        assert!(!agrees(&["hot-code", "disk-latency"], 0.0));
        assert!(!agrees(&["cpu-contention"], 4.9) && agrees(&["cpu-contention"], 5.0));
        assert!(check("no-such-program", &said(Some(&[])), 0.0).is_none());
        assert!(check("fio-psync", &said(None), 0.0).is_none());
    }

    #[test]
    fn the_table_has_what_was_found_and_marks_what_was_not_judged() {
        let found = |busy: bool, name: &'static str| {
            let first = if busy { "hot-code" } else { "sync-writes" };
            let checks = vec![check(name, &said(Some(&[first])), 0.0)?];
            (name == "bbolt").then_some(Verdict {
                program: name,
                class: Class::Io,
                right: vec![],
                checks,
                notes: vec![],
            })
        };
        let table = table(found);
        assert!(table.contains("| Go proxy | bbolt | sync-writes |"), "{table}");
        assert!(table.contains("| sync-writes | **hot-code** |\n"), "{table}");
        assert!(table.contains("| npm | mocha | nothing |") && table.contains("| not run | not run |\n"));
    }

    #[test]
    fn each_program_that_is_judged_is_one_of_the_lane_and_twenty_are() {
        assert!(JUDGED.len() >= 20);
        let names: BTreeSet<_> = judged().map(|(name, _)| name).collect();
        assert_eq!(names.len(), judged().count(), "one is judged twice");
        for name in names {
            assert!(all().any(|program| program.name == name), "{name}");
        }
    }
}

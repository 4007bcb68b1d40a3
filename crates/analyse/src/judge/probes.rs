//! Which finding has which probe: a fix that can be imposed on the program from outside.
//!
//! A probe belongs to a finding only if what it imposes is what the finding says is missing: a
//! write that is durable by itself is no flush that could be skipped, and a priority is of no use
//! behind the program's own threads.

use super::file_calls::{SYNCS, WRITES};
use model::finding::RowRef;
use model::run::WaitRow;
use model::{Diagnosis, Finding, Probe, Run, Seen, State, WaitTarget};

/// The probe of a finding, if it has one.
pub fn of(finding: &Finding, run: &Run) -> Option<Probe> {
    // A window has no end, and cannot be repeated.
    if run.window.is_some() {
        return None;
    }
    match &*finding.cause.id {
        "sync-writes" if call(finding, run).is_some_and(|name| SYNCS.contains(&name)) => {
            Some(Probe::SkipFlushes)
        }
        "delayed-ack" => Some(Probe::NoDelay),
        "disk-latency" | "disk-throughput" if !files(run).is_empty() => Some(Probe::WarmFiles),
        "cpu-throttling" => Some(Probe::LiftQuota),
        "cpu-contention" if is_behind_others(finding) => Some(Probe::RaisePriority),
        "page-faults" | "allocation" => Some(Probe::KeepMemory),
        _ => None,
    }
}

/// Whether a finding is of writes that are durable by themselves, which no probe skips.
pub fn writes_durably(finding: &Finding, run: &Run) -> bool {
    finding.cause.id == "sync-writes" && call(finding, run).is_some_and(|name| WRITES.contains(&name))
}

/// The first finding that has this probe or, where none is asked for, one that needs no name.
pub fn choose(run: &Run, diagnosis: &Diagnosis, asked: Option<Probe>) -> Option<(usize, Probe)> {
    let findings = diagnosis.findings.iter().enumerate();
    findings.filter_map(|(at, finding)| Some((at, of(finding, run)?))).find(|(_, probe)| match asked {
        Some(asked) => *probe == asked,
        None => !probe.by_name_only(),
    })
}

/// The causes whose findings may have a probe.
pub fn causes(probe: Probe) -> &'static [&'static str] {
    match probe {
        Probe::SkipFlushes => &["sync-writes"],
        Probe::NoDelay => &["delayed-ack"],
        Probe::WarmFiles => &["disk-latency", "disk-throughput"],
        Probe::LiftQuota => &["cpu-throttling"],
        Probe::RaisePriority => &["cpu-contention"],
        Probe::KeepMemory => &["page-faults", "allocation"],
    }
}

/// The files that the program read from a disk, those waited for longest first.
pub fn files(run: &Run) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for path in run.waits.iter().filter_map(read_from_disk) {
        if !files.iter().any(|known| known == path) {
            files.push(path.to_owned());
        }
    }
    files
}

/// A path from the root: others are names of files that cannot be found again.
fn read_from_disk(wait: &WaitRow) -> Option<&str> {
    let WaitTarget::File(Seen::Value(path)) = &wait.on else { return None };
    let writes = |name: &str| WRITES.contains(&name) || SYNCS.contains(&name);
    let reads = wait.reason == State::Disk && !wait.call.syscall().is_some_and(|call| writes(&call.name));
    (reads && path.starts_with('/')).then_some(path)
}

/// The call that a finding points to.
fn call<'a>(finding: &Finding, run: &'a Run) -> Option<&'a str> {
    match finding.place {
        RowRef::Wait(row) => run.waits.get(row)?.call.syscall().map(|call| &*call.name),
        RowRef::Call(row) => run.syscalls.value()?.get(row).map(|row| &*row.name.name),
        _ => None,
    }
}

/// Whether the finding is about other programs, seen by name or not: that time was waited behind
/// them. Behind threads of its own it may be none.
fn is_behind_others(finding: &Finding) -> bool {
    finding.share_ns.lo > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::causes;
    use crate::judge::samples::{run, wait, waiting};
    use model::Ns;
    use model::coverage::Interval;
    use model::finding::CauseName;
    use model::say;
    use model::wait::WaitCall;

    const MS: Ns = 1_000_000;

    fn disk_wait(call: &'static str) -> WaitRow {
        let on = WaitTarget::File(Seen::Value("/data/file".to_owned()));
        WaitRow { call: WaitCall::Syscall(call.into()), ..wait(State::Disk, on, &[waiting(100, 100 * MS)]) }
    }

    fn finding(id: &'static str, place: RowRef) -> Finding {
        Finding {
            cause: CauseName::new(id, ""),
            place,
            what: say!(""),
            change: say!(""),
            share_ns: Interval { lo: 0, hi: 100 * MS },
            saving: Seen::Absent,
            evidence: Vec::new(),
            assumes: Vec::new(),
            verify: Vec::new(),
            explains: Vec::new(),
        }
    }

    #[test]
    fn only_what_can_be_skipped_is_probed_by_skipping_it() {
        let mut run = run(&[(State::Disk, 100 * MS)]);
        run.waits = vec![disk_wait("fdatasync"), disk_wait("pwrite64")];
        let of = |row| super::of(&finding("sync-writes", RowRef::Wait(row)), &run);
        assert_eq!((of(0), of(1)), (Some(Probe::SkipFlushes), None));
        let durable = |row| writes_durably(&finding("sync-writes", RowRef::Wait(row)), &run);
        assert_eq!((durable(0), durable(1)), (false, true));
        assert!(files(&run).is_empty(), "what is written is not warmed");
    }

    #[test]
    fn files_are_warmed_that_a_disk_was_waited_for_and_that_can_be_found() {
        let mut run = run(&[(State::Disk, 100 * MS)]);
        run.waits = ["/data/a", "b", "/data/a"]
            .map(|path| WaitRow {
                on: WaitTarget::File(Seen::Value(path.to_owned())),
                ..disk_wait("pread64")
            })
            .into();
        assert_eq!(files(&run), ["/data/a"]);
        let disk = finding("disk-latency", RowRef::Wait(0));
        assert_eq!(of(&disk, &run), Some(Probe::WarmFiles));
        run.waits.clear();
        assert_eq!(of(&disk, &run), None);
    }

    #[test]
    fn a_priority_is_of_no_use_behind_its_own_threads() {
        let run = run(&[(State::Runqueue, 100 * MS)]);
        let own = finding("cpu-contention", RowRef::State(State::Runqueue));
        assert_eq!(of(&own, &run), None);
        let others = Finding { share_ns: Interval { lo: 100 * MS, hi: 100 * MS }, ..own };
        assert_eq!(of(&others, &run), Some(Probe::RaisePriority));
    }

    #[test]
    fn what_may_do_harm_is_chosen_by_its_name_only() {
        let mut run = run(&[(State::Disk, 100 * MS)]);
        run.waits = vec![disk_wait("fsync")];
        let mut diagnosis = crate::judge::diagnose(&crate::judge::Evidence::of(
            model::recording::Tier::Bpf,
            &run,
            &model::Profile::default(),
        ));
        diagnosis.findings = vec![
            finding("hot-code", RowRef::Run),
            finding("sync-writes", RowRef::Wait(0)),
            finding("page-faults", RowRef::Thread(0)),
        ];
        assert_eq!(choose(&run, &diagnosis, None), Some((2, Probe::KeepMemory)));
        let asked = choose(&run, &diagnosis, Some(Probe::SkipFlushes));
        assert_eq!(asked, Some((1, Probe::SkipFlushes)));
        assert_eq!(choose(&run, &diagnosis, Some(Probe::NoDelay)), None);
    }

    #[test]
    fn each_probe_is_for_causes_that_there_are() {
        for probe in Probe::ALL {
            assert!(super::causes(probe).iter().all(|id| causes::Cause::named(id).is_some()), "{probe:?}");
        }
    }
}

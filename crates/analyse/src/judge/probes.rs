//! Which finding has which probe: a fix that can be imposed on the program from outside.
//!
//! A probe belongs to a finding only if what it imposes is what the finding says is missing: a
//! write that is durable by itself is no flush that could be skipped, and a priority is of no use
//! behind the program's own threads.

use super::causes::{self, Cause};
pub use super::imposed::{files, writes_durably};
use model::{Diagnosis, Finding, Probe, Run};

/// The probe of a finding, if it has one.
pub fn of(finding: &Finding, run: &Run) -> Option<Probe> {
    // A window has no end, and cannot be repeated.
    if run.window.is_some() {
        return None;
    }
    let imposed = Cause::named(&finding.cause.id)?.probe.as_ref()?;
    (imposed.fits)(finding, run).then_some(imposed.probe)
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
pub fn causes(probe: Probe) -> Vec<&'static str> {
    let has = move |cause: &&&Cause| cause.probe.as_ref().is_some_and(|imposed| imposed.probe == probe);
    causes::ALL.iter().filter(has).map(|cause| &*cause.name.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::causes;
    use crate::judge::samples::{run, wait, waiting};
    use model::Ns;
    use model::coverage::Interval;
    use model::finding::CauseName;
    use model::finding::RowRef;
    use model::run::WaitRow;
    use model::say;
    use model::wait::WaitCall;
    use model::{Seen, State, WaitTarget};

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
            belief: None,
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

//! What tests of judgement begin with: a run that tests change, and what its sites would save.

use super::file_samples::step;
use super::{Evidence, diagnose};
use model::account::Basis;
use model::coverage::Interval;
use model::files::FileTable;
use model::finding::SavingBasis;
use model::network::ConnectionOrigin;
use model::peers::ConnectionRow;
use model::prediction::{Prediction, Site, SiteTimes};
use model::recording::{Ending, Host, Tier};
use model::run::{Bound, Class, Phases, Shares, ThreadLedger, WaitEnd, WaitRow, WaitingThread, measured};
use model::series::{LinkSeries, SeriesVerdict};
use model::syscall_rows::CallRow;
use model::tables::Tables;
use model::wait::{SyscallName, WaitCall, WaitTarget};
use model::{Coverage, Diagnosis, Finding, Ns, Profile, Reason, Run, RunQueue, Seen, Series, State, Tid};

/// A coverage of which nothing is known.
pub(super) fn coverage() -> Coverage {
    Coverage {
        sources: Vec::new(),
        lost_events: Seen::Absent,
        unexplained_ns: 0,
        overhead_ns: Seen::Absent,
        overhead_by: Vec::new(),
        reader_cpu_ns: Seen::Absent,
        host_busy: Seen::Absent,
        steal_ns: Seen::Absent,
        checks: Vec::new(),
        notes: Vec::new(),
    }
}

/// A run of one thread on a host of four CPUs, whose path has this time by state; all tables are
/// empty.
pub(crate) fn run(states: &[(State, Ns)]) -> Run {
    let wall_ns = states.iter().map(|(_, ns)| ns).sum();
    Run {
        schema: model::run::SCHEMA_RUN,
        command: vec!["./program".into()],
        exit: Ending::Code(0),
        started_at: String::new(),
        origin: model::Origin::default(),
        dwell: None,
        service: None,
        host: Host {
            name: "host".into(),
            kernel: "6.12".into(),
            arch: "x86_64".into(),
            cpus: 4,
            memory_bytes: Seen::Absent,
            virtualisation: Seen::Absent,
        },
        wall_ns,
        user_ns: Seen::Absent,
        kernel_ns: Seen::Absent,
        bound: Bound {
            class: Class::Mixed,
            resource: State::User,
            margin_points: 0.0,
            shares: Shares { waiting: 0.0, kernel: 0.0, user: 0.0 },
        },
        account: states.iter().map(|(state, ns)| measured(*state, *ns)).collect(),
        path: Vec::new(),
        phases: Phases { slice_ns: wall_ns, slices: Vec::new() },
        window: None,
        utilization: Seen::Absent,
        threads: vec![thread(100, states)],
        waits: Vec::new(),
        tables: Tables {
            connections: Seen::Value(Vec::new()),
            lookups: Seen::Value(Vec::new()),
            syscalls: Seen::Value(Vec::new()),
            files: Seen::Value(FileTable::default()),
            functions: Seen::Value(Vec::new()),
            lines: Seen::Value(Vec::new()),
            ..Tables::unseen()
        },
        series: Seen::Absent,
        places: Seen::Absent,
        extrapolation: None,
        folded: Vec::new(),
        run_queue: Seen::Absent,
        limits: Seen::Absent,
        costs: Seen::Absent,
        coverage: coverage(),
    }
}

/// Waits for a CPU, so long behind other programs.
pub(super) fn behind_others(behind_others_ns: Ns) -> Seen<RunQueue> {
    Seen::Value(RunQueue {
        behind_own_ns: 0,
        behind_others_ns,
        idle_cpu_ns: 0,
        unseen_ns: 0,
        others: Vec::new(),
        cpus_used: 1.0,
        cpus_wanted: 1.0,
        of_all: Seen::Absent,
    })
}

/// A thread with this time by state.
pub(super) fn thread(tid: model::Tid, states: &[(State, Ns)]) -> ThreadLedger {
    ThreadLedger {
        together: None,
        pid: 100,
        tid,
        name: "program".into(),
        command: None,
        life_ns: states.iter().map(|(_, ns)| ns).sum(),
        outlived: false,
        idle: false,
        states: states.to_vec(),
        timed_waits: None,
        minor_faults: Seen::Absent,
        major_faults: Seen::Absent,
    }
}

/// A thread that waited for so long.
pub(crate) fn waiting(tid: Tid, ns: Ns) -> WaitingThread {
    WaitingThread { pid: 100, tid, name: "program".into(), ns }
}

/// Waits of these threads, of a millisecond each, none of them on the path.
pub(crate) fn wait(reason: State, on: WaitTarget, threads: &[WaitingThread]) -> WaitRow {
    let total_ns = threads.iter().map(|thread| thread.ns).sum();
    WaitRow {
        ended: WaitEnd::default(),
        own_frame: None,
        together: None,
        reason,
        call: WaitCall::Unseen,
        on,
        calls: total_ns / 1_000_000,
        total_ns,
        path_ns: 0,
        p50_ns: 1_000_000,
        p99_ns: 1_000_000,
        max_ns: 1_000_000,
        stack: Seen::Absent,
        device: Seen::Absent,
        requests: Seen::Absent,
        queue_ns: Seen::Absent,
        device_ns: Seen::Absent,
        by: Vec::new(),
        histogram: Vec::new(),
        bins: Vec::new(),
        threads: threads.to_vec(),
        places: Vec::new(),
    }
}

/// A connection that the program opened to this end, with nothing in its figures.
pub(crate) fn connection(remote: &str) -> ConnectionRow {
    ConnectionRow {
        together: None,
        protocol: "tcp".into(),
        began: ConnectionOrigin::Opened,
        local: "192.0.2.2".into(),
        remote: remote.into(),
        service: None,
        times: 1,
        failed: 0,
        open: 0,
        connect: None,
        round_trip_ns: None,
        round_trip_ns_min: None,
        sent_bytes: 0,
        received_bytes: 0,
        retransmits: 0,
        open_ns: 0,
        waited_ns: 0,
        waits: 0,
        bytes_per_s_open: None,
        bytes_per_s_waited: None,
        delayed_ack: None,
        turns: None,
        opening: None,
        process: None,
        process_does: None,
        dialogue: None,
    }
}

/// A link of unknown speed that carried this many bits of payload a second in each tenth of one.
pub(super) fn link(name: &str, payload_bits_per_s: &[f64]) -> LinkSeries {
    let unknown = "the driver does not say";
    LinkSeries {
        name: name.into(),
        bytes: (payload_bits_per_s.iter().sum::<f64>() / 80.0) as u64,
        errors: 0,
        drops: 0,
        speed_bits_per_s: Seen::unseen(unknown),
        speed_given: false,
        full_duplex: Seen::unseen(unknown),
        payload_limit_bits_per_s: Seen::unseen(unknown),
        received_bytes_per_s: Vec::new(),
        sent_bytes_per_s: Vec::new(),
        received_packets_per_s: Vec::new(),
        sent_packets_per_s: Vec::new(),
        payload_bits_per_s: payload_bits_per_s.to_vec(),
        limit_share: Seen::unseen(unknown),
        at_limit_share: Seen::unseen(unknown),
    }
}

/// Series of nothing, which mean this.
pub(super) fn series(verdicts: Vec<SeriesVerdict>) -> Series {
    Series {
        step_ns: 100_000_000,
        disks: Seen::Absent,
        links: Seen::Absent,
        memory: Seen::Absent,
        nfs: Seen::Absent,
        cpu: Seen::Absent,
        verdicts,
    }
}

/// A row of calls: how many, and their CPU time, which is all of their time.
pub(super) fn call(name: &'static str, calls: u64, cpu_ns: Ns) -> CallRow {
    CallRow {
        name: name.into(),
        calls,
        errors: 0,
        total_ns: cpu_ns,
        cpu_ns,
        p50_ns: Seen::Value(0),
        p99_ns: Seen::Value(0),
        max_ns: Seen::Value(0),
        results: Seen::Absent,
        timed: None,
        estimate: None,
    }
}

/// What sites have: P, S and A of each.
pub(super) fn sites(run: &Run, of: &[(Site, [Ns; 3])]) -> Seen<Prediction> {
    let exactly = |ns| Seen::Value(Interval { lo: ns, hi: ns });
    let times = |(site, [path, saved, alone]): &(Site, [Ns; 3])| SiteTimes {
        site: site.clone(),
        path_ns: exactly(*path),
        saved_ns: exactly(*saved),
        alone_ns: exactly(*alone),
        estimates: None,
        basis: Basis::Measured,
    };
    Seen::Value(Prediction { unedited_ns: run.wall_ns, sites: of.iter().map(times).collect() })
}

/// What it means, with BPF.
pub(super) fn judged(run: &Run, prediction: &Seen<Prediction>) -> Diagnosis {
    judged_with(run, &Profile::default(), prediction)
}

/// The same with stacks. What clocks have of a call or a peer the path has too.
pub(super) fn judged_with(run: &Run, profile: &Profile, prediction: &Seen<Prediction>) -> Diagnosis {
    let mut run = run.clone();
    for times in prediction.value().map_or(&[][..], |prediction| &prediction.sites) {
        let ns = times.path_ns.value().map_or(0, |ns| ns.hi);
        match &times.site {
            Site::Call(call) if !run.path.iter().any(|step| is_in(call, &step.reason)) => {
                run.path.push(step(State::Kernel, Reason::Syscall(call.clone()), ns));
            }
            Site::Peer(on) if run.waits.iter().all(|wait| wait.on != *on || wait.path_ns == 0) => {
                let waits = run.waits.iter_mut().find(|wait| wait.on == *on);
                waits.into_iter().for_each(|wait| wait.path_ns = ns);
            }
            _ => {}
        }
    }
    diagnose(&Evidence::of(Tier::Bpf, &run, profile).with(prediction))
}

fn is_in(call: &SyscallName, reason: &Reason) -> bool {
    matches!(reason, Reason::Syscall(name) | Reason::Wait(WaitCall::Syscall(name), _) if name == call)
}

/// The first finding of this cause.
pub(super) fn found<'a>(diagnosis: &'a Diagnosis, id: &str) -> Option<&'a Finding> {
    diagnosis.findings.iter().find(|finding| finding.cause.id == id)
}

/// Whether the cause was found by its signs alone.
pub(super) fn is_assumed(diagnosis: &Diagnosis, id: &str) -> bool {
    let saving = found(diagnosis, id).and_then(|finding| finding.saving.value());
    saving.is_some_and(|saving| saving.known == SavingBasis::Assumed)
}

/// Whether this cause was looked for and is not there.
pub(super) fn ruled_out(diagnosis: &Diagnosis, id: &str) -> bool {
    diagnosis.ruled_out.iter().any(|(cause, _)| cause.id == id)
}

/// What the structure allows a finding to save: least and most.
pub(super) fn saves(finding: &Finding) -> (Ns, Ns) {
    let ns = finding.saving.value().expect("its saving is known").structure();
    (ns.lo, ns.hi)
}

//! What tests of judgement begin with: a run that tests change, and what its sites would save.

use super::{Evidence, diagnose};
use crate::grid::Grid;
use model::account::Basis;
use model::coverage::Interval;
use model::prediction::{Prediction, Site, SiteTimes};
use model::profile::{Activity, Frame, Node, Weight};
use model::recording::Language;
use model::recording::{Ending, Host, Tier};
use model::run::{
    Bound, CallRow, Class, Phases, ResultsRow, Shares, ThreadLedger, WaitRow, WaitingThread, WakerRow,
    measured,
};
use model::series::{DiskSeries, SeriesVerdict};
use model::wait::{WaitCall, WaitTarget, WakerKind};
use model::{Coverage, Diagnosis, Finding, Ns, Profile, Reason, Run, Seen, Series, State, Step};

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
pub(super) fn run(states: &[(State, Ns)]) -> Run {
    let wall_ns = states.iter().map(|(_, ns)| ns).sum();
    Run {
        schema: model::run::SCHEMA_RUN,
        command: vec!["./program".into()],
        exit: Ending::Code(0),
        started_at: String::new(),
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
        connections: Seen::Value(Vec::new()),
        lookups: Seen::Value(Vec::new()),
        syscalls: Seen::Value(Vec::new()),
        faults: Seen::Absent,
        memory_peak: Seen::Absent,
        programs: Seen::Absent,
        functions: Seen::Value(Vec::new()),
        lines: Seen::Value(Vec::new()),
        series: Seen::Absent,
        findings: Seen::Absent,
        ruled_out: Seen::Absent,
        not_looked_for: Seen::Absent,
        extrapolation: None,
        run_queue: Seen::Absent,
        limits: Seen::Absent,
        costs: Seen::Absent,
        coverage: coverage(),
    }
}

/// A thread with this time by state.
pub(super) fn thread(tid: model::Tid, states: &[(State, Ns)]) -> ThreadLedger {
    ThreadLedger {
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

/// A row of the table of calls that took `ns` on a CPU in all.
pub(super) fn call(name: &'static str, calls: u64, errors: u64, ns: Ns) -> CallRow {
    let each_ns = ns / calls.max(1);
    CallRow {
        name: name.into(),
        calls,
        errors,
        total_ns: ns,
        cpu_ns: ns,
        p50_ns: each_ns,
        p99_ns: each_ns,
        max_ns: each_ns,
        results: Seen::unseen("not in this recording"),
        estimate: None,
    }
}

/// Calls of 1 us each that moved bytes, by size: at least so many, how often.
pub(super) fn moving(name: &'static str, bytes: u64, sizes: &[(u64, u64)]) -> CallRow {
    let calls = sizes.iter().map(|(_, calls)| calls).sum();
    let results = ResultsRow { bytes: Some(bytes), sizes: sizes.to_vec(), ..ResultsRow::default() };
    CallRow { results: Seen::Value(results), ..call(name, calls, 0, calls * 1000) }
}

/// What a disk did over a run, with its limit reached for a part of it.
pub(super) fn disk(name: &str, requests: u64, bytes: u64, at_limit_share: f64) -> DiskSeries {
    DiskSeries {
        name: name.into(),
        requests,
        bytes,
        reads_per_s: Vec::new(),
        writes_per_s: Vec::new(),
        read_bytes_per_s: Vec::new(),
        written_bytes_per_s: Vec::new(),
        busy_share: Vec::new(),
        queue_mean: Vec::new(),
        latency_ns_mean: Vec::new(),
        at_limit_share,
    }
}

/// The metrics of a run's host: those of a disk, which wrote all its bytes evenly.
pub(super) fn series(run: &Run, disk: DiskSeries) -> Series {
    let grid = Grid::new(0, run.wall_ns);
    let per_s = disk.bytes as f64 * 1e9 / run.wall_ns as f64;
    let verdict = SeriesVerdict::DiskAtLimit {
        name: disk.name.clone(),
        share_of_wall: disk.at_limit_share,
        queue_mean: 2.0,
    };
    let verdicts = if disk.at_limit_share >= 0.1 { vec![verdict] } else { Vec::new() };
    Series {
        step_ns: grid.step_ns,
        disks: Seen::Value(vec![DiskSeries { written_bytes_per_s: vec![per_s; grid.len()], ..disk }]),
        links: Seen::Absent,
        memory: Seen::Absent,
        nfs: Seen::Absent,
        cpu: Seen::Absent,
        verdicts,
    }
}

/// A step of the path.
pub(super) fn step(state: State, reason: Reason, ns: Ns) -> Step {
    Step { pid: 100, tid: 100, process: "program".into(), state, reason, ns, count: 1 }
}

/// A row of the table of waits: of one thread, all on the path, ended by `by`.
pub(super) fn wait(
    reason: State,
    call: &'static str,
    on: WaitTarget,
    calls: u64,
    ns: Ns,
    by: WakerKind,
) -> WaitRow {
    let each_ns = ns / calls.max(1);
    let waker = WakerRow {
        kind: by,
        name: if by == WakerKind::Outside { "other".into() } else { String::new() },
        pid: Seen::Absent,
        tid: Seen::Absent,
        times: calls,
        ns,
        place: Seen::Absent,
        stack: Seen::Absent,
        meanwhile: Vec::new(),
    };
    WaitRow {
        reason,
        call: WaitCall::Syscall(call.into()),
        on,
        calls,
        total_ns: ns,
        path_ns: ns,
        p50_ns: each_ns,
        p99_ns: each_ns,
        max_ns: each_ns,
        stack: Seen::Absent,
        device: if reason == State::Disk { Seen::Value("vda".into()) } else { Seen::Absent },
        requests: if reason == State::Disk { Seen::Value(calls) } else { Seen::Absent },
        queue_ns: Seen::Absent,
        device_ns: Seen::Absent,
        by: vec![waker],
        histogram: Vec::new(),
        threads: vec![WaitingThread { pid: 100, tid: 100, name: "program".into(), ns }],
    }
}

/// A call tree of these stacks with so many samples each, of 1 ms. A frame is `function`,
/// `function@line` of `x.c`, `module:function`, `k:function` of the kernel, or `file.py:function@line`.
pub(super) fn profile_of(doing: Activity, stacks: &[(&[&str], u64)]) -> Profile {
    let mut profile = Profile::default();
    for (stack, count) in stacks {
        let mut caller = None;
        for text in *stack {
            profile.frames.push(frame(text));
            let frame = profile.frames.len() as u32 - 1;
            profile.nodes.push(Node { caller, frame });
            caller = Some(frame);
        }
        let node = profile.nodes.len() as u32 - 1;
        profile.weights.push(Weight { node, thread: 0, doing, ns: count * 1_000_000, count: *count });
    }
    profile
}

fn frame(text: &str) -> Frame {
    let (module, function) = text.split_once(':').unwrap_or(("program", text));
    let (function, line) = function.split_once('@').unwrap_or((function, "0"));
    let script = module.ends_with(".py");
    Frame {
        function: function.into(),
        module: match module {
            "libc" => "libc.so.6".into(),
            "k" => "[kernel]".into(),
            module => module.into(),
        },
        source: Some((
            format!("/src/{}", if script { module } else { "x.c" }),
            line.parse().expect("a line"),
        )),
        first_line: 0,
        language: match module {
            "k" => Language::Kernel,
            _ if script => Language::Python,
            _ => Language::Native,
        },
        inlined: false,
        address: None,
        broke: false,
        unnamed: None,
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
        basis: Basis::Measured,
    };
    Seen::Value(Prediction { unedited_ns: run.wall_ns, sites: of.iter().map(times).collect() })
}

/// What it means, with BPF.
pub(super) fn judged(run: &Run, prediction: &Seen<Prediction>) -> Diagnosis {
    diagnose(&Evidence::of(Tier::Bpf, run, &Profile::default()).with(prediction))
}

/// The first finding of this cause.
pub(super) fn found<'a>(diagnosis: &'a Diagnosis, id: &str) -> Option<&'a Finding> {
    diagnosis.findings.iter().find(|finding| finding.cause.id == id)
}

/// What a finding saves: least and most.
pub(super) fn saves(finding: &Finding) -> (Ns, Ns) {
    let saving = finding.saving.value().expect("its saving is known");
    (saving.ns.lo, saving.ns.hi)
}

//! What tests of judgement on files, streams and sleeps begin with: rows of calls and waits, a
//! disk, a call tree.

use crate::grid::Grid;
use model::profile::{Activity, Frame, Node, Weight};
use model::recording::Language;
use model::run::{WaitEnd, WaitRow, WaitingThread, WakerRow};
use model::series::{DiskSeries, SeriesVerdict};
use model::syscall_rows::{CallRow, ResultsRow};
use model::wait::{WaitCall, WaitTarget, WakerKind};
use model::{Ns, Profile, Reason, Run, Seen, Series, State, Step};

/// A row of the table of calls that took `ns` on a CPU in all.
pub(super) fn call(name: &'static str, calls: u64, errors: u64, ns: Ns) -> CallRow {
    let each_ns = ns / calls.max(1);
    CallRow {
        name: name.into(),
        calls,
        errors,
        total_ns: ns,
        cpu_ns: ns,
        p50_ns: Seen::Value(each_ns),
        p99_ns: Seen::Value(each_ns),
        max_ns: Seen::Value(each_ns),
        results: Seen::unseen("not in this recording"),
        timed: None,
        estimate: None,
    }
}

/// Calls of 1 us each that moved bytes, by size: at least this many, how often.
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
    let grid = Grid::new(0, run.wall_ns, 28);
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
    Step { pid: 100, tid: 100, process: "program".into(), state, reason, ns, count: 1, together: None }
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
        ended: WaitEnd::default(),
        own_frame: None,
        together: None,
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
        bins: Vec::new(),
        threads: vec![WaitingThread { pid: 100, tid: 100, name: "program".into(), ns }],
        places: Vec::new(),
    }
}

/// A call tree of these stacks with this many samples each, of 1 ms. A frame is `function`,
/// `function@line` of `x.c`, `module:function`, `k:function` of the kernel, or
/// `file.py:function@line`.
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
    // Of `crate::function` no part is a module.
    let parts = text.split_once(':').filter(|(_, rest)| !rest.starts_with(':'));
    let (module, function) = parts.unwrap_or(("program", text));
    let (function, line) = function.split_once('@').unwrap_or((function, "0"));
    let script = module.ends_with(".py");
    let language = match module {
        "k" => Language::Kernel,
        _ if script => Language::Python,
        _ => Language::Native,
    };
    let file = format!("/src/{}", if script { module } else { "x.c" });
    let module = match module {
        "libc" => "libc.so.6",
        "k" => "[kernel]",
        module => module,
    };
    Frame { source: Some((file, line.parse().expect("a line"))), ..Frame::new(function, module, language) }
}

//! Results of dwell, as small as can be, for tests.

use model::ladder::{MedianInterval, Plausibility, Plausible, Rung, RungDescription, RungGroup};
use model::recording::Ending;
use model::timing::TimedRun;
use model::{Run, Seen};

/// The JSON of a run.
pub(crate) const RUN: &str = r#"{
    "command": ["it"], "exit": {"code": 0}, "started_at": "",
    "host": {"name": "", "kernel": "", "arch": "", "cpus": 2, "memory_bytes": null, "virtualisation": null},
    "wall_ns": 1000, "user_ns": null, "kernel_ns": null,
    "bound": {"class": "cpu", "resource": "user", "margin_points": 0,
              "shares": {"waiting": 0, "kernel": 0, "user": 0}},
    "account": [
        {"state": "user", "basis": "sampled", "ns": 600, "lo_ns": 500, "hi_ns": 650},
        {"state": "kernel", "basis": "measured", "ns": 100, "lo_ns": 100, "hi_ns": 100},
        {"state": "runqueue", "basis": "measured", "ns": 50, "lo_ns": 40, "hi_ns": 60},
        {"state": "disk", "basis": "measured", "ns": 250, "lo_ns": 250, "hi_ns": 250}],
    "path": [], "phases": {"slice_ns": 1, "slices": []},
    "threads": [
        {"pid": 5, "tid": 5, "name": "", "life_ns": 900, "outlived": false, "idle": false,
         "states": {"user": 600, "disk": 300}, "minor_faults": null, "major_faults": null},
        {"pid": 5, "tid": 6, "name": "", "life_ns": 209, "outlived": false, "idle": true,
         "states": {"kernel": 200, "idle": 9}, "minor_faults": null, "major_faults": null}],
    "waits": [
        {"reason": "disk", "call": "fsync", "on": {"kind": "file", "name": "/it"}, "calls": 1, "total_ns": 300,
         "path_ns": 250, "p50_ns": 300, "p99_ns": 300, "max_ns": 300, "stack": null}],
    "syscalls": [
        {"name": "read", "calls": 12, "errors": 0, "total_ns": 0, "cpu_ns": 0,
         "p50_ns": null, "p99_ns": null, "max_ns": null},
        {"name": "futex", "calls": 3, "errors": 0, "total_ns": 0, "cpu_ns": 0,
         "p50_ns": null, "p99_ns": null, "max_ns": null,
         "estimate": {"seen": 1, "calls": 30, "lo": 10, "hi": null}}],
    "faults": null,
    "functions": [
        {"name": "spin", "module": "it", "mode": "user", "samples": 7,
         "share": {"value": 0.25, "lo": 0, "hi": 1}, "total": {"value": 0.5, "lo": 0, "hi": 1}}],
    "lines": null, "series": null,
    "coverage": {"sources": [], "lost_events": 4, "unexplained_ns": 0, "overhead_ns": null, "host_busy": null,
                 "steal_ns": null, "checks": [], "notes": []}}"#;

/// A run, read from the sample.
pub(crate) fn run() -> Run {
    serde_json::from_str(RUN).expect("it is a run")
}

/// A run of a comparison.
pub(crate) fn timed(command: u32, wall_ns: u64, excluded: Option<&str>) -> TimedRun {
    TimedRun {
        command,
        block: 0,
        place: 0,
        began_ns: 0,
        wall_ns,
        user_ns: 0,
        kernel_ns: 0,
        minor_faults: 0,
        major_faults: 0,
        voluntary_switches: 0,
        involuntary_switches: 0,
        memory_bytes: 0,
        memory_at_most: false,
        ending: Ending::Code(0),
        left_behind: 0,
        stopped: false,
        steal_ns: Seen::Absent,
        others_cpu_ns: Seen::Absent,
        printed: Vec::new(),
        excluded: excluded.map(str::to_owned),
    }
}

/// A rung of a ladder, with its median or why it has none.
pub(crate) fn rung(id: &str, median_ns: Result<f64, &str>, limits: &[&str]) -> Rung {
    Rung {
        about: RungDescription {
            id: id.to_owned(),
            group: RungGroup::Memory,
            what: String::new(),
            excludes: String::new(),
            method: String::new(),
            method_version: 1,
            source: String::new(),
            needs: String::new(),
        },
        ns: median_ns.map_or_else(Seen::unseen, |median| {
            Seen::Value(MedianInterval { median, lo: median, hi: median })
        }),
        spread_ns: Seen::Absent,
        samples: 1,
        ops_per_sample: 1,
        bytes_per_s: Seen::Absent,
        limits: limits.iter().map(|limit| (*limit).to_owned()).collect(),
        plausible: Plausible { verdict: Plausibility::Unknown, why: String::new() },
    }
}

//! The Firefox Profiler's processed profile format, version 60: the first in which all threads
//! share one call tree, as in [`model::Profile`]. The front end upgrades any older version. (The
//! profiler's source tree documents it, in its changelog of formats and in the types of its
//! profiles.)
//!
//! Written by hand: the `fxprof-processed-profile` crate writes version 55, whose label frames have
//! neither lines nor inline depth, and takes weights in whole milliseconds.

mod tables;

use super::metadata::{EXPORTER, ProfileMetadata};
use super::speedscope::by_cpu_time;
use super::stack::process_name;
use crate::json::compact;
use model::profile::{Activity, Moment, Owner, Profile};
use model::{Ns, Seen};
use serde_json::{Value, json};
use tables::{Stacks, categories};

/// The version of the format.
const FORMAT: u32 = 60;

/// The file. Samples are weighted by the time they stand for; a wait is one sample at its
/// beginning.
pub fn firefox(profile: &Profile, metadata: &ProfileMetadata) -> String {
    let mut stacks = Stacks::new(profile);
    let mut of_thread: Vec<Vec<&Moment>> = vec![Vec::new(); profile.threads.len()];
    for moment in &profile.moments {
        if let Some(moments) = of_thread.get_mut(moment.thread as usize) {
            moments.push(moment);
        }
    }
    let mut threads = Vec::new();
    for (moments, owner) in of_thread.iter_mut().zip(&profile.threads) {
        moments.sort_by_key(|moment| moment.at_ns);
        let samples = samples(moments, profile.thinned, &mut stacks);
        threads.push(thread(owner, process_name(&profile.threads, owner.pid), samples));
    }
    // The front end refuses a file without threads.
    if threads.is_empty() {
        let empty = Owner { pid: 0, tid: 0, name: metadata.title() };
        threads.push(thread(&empty, &empty.name, samples(&[], 1, &mut stacks)));
    }
    let mut meta = meta(profile, metadata);
    // The format has no unknown memory; it may be left out.
    if let Seen::Value(bytes) = metadata.host.memory_bytes {
        meta["mainMemory"] = json!(bytes);
    }
    // By default the first thread is selected, busy or not.
    if let Some(busiest) = by_cpu_time(profile).first() {
        meta["initialSelectedThreads"] = json!([busiest]);
    }
    let (libs, shared) = stacks.finish();
    let file = json!({
        "meta": meta,
        "libs": libs,
        "pages": [],
        "counters": [],
        "profilerOverhead": [],
        "shared": shared,
        "threads": threads,
    });
    compact(&file)
}

fn thread(owner: &Owner, process: &str, samples: Value) -> Value {
    json!({
        "name": owner.name,
        "isMainThread": owner.pid == owner.tid,
        "processName": process,
        "processType": "default",
        "processStartupTime": 0.0,
        "processShutdownTime": null,
        "registerTime": 0.0,
        "unregisterTime": null,
        "pausedRanges": [],
        "pid": owner.pid.to_string(),
        "tid": owner.tid,
        "samples": samples,
        "markers": {
            "data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": [], "length": 0
        },
    })
}

fn meta(profile: &Profile, metadata: &ProfileMetadata) -> Value {
    let host = metadata.host;
    let title = metadata.title();
    let entry = |label: &str, value: String| json!({"label": label, "format": "string", "value": value});
    json!({
        "preprocessedProfileVersion": FORMAT,
        "version": 24,
        "interval": ms(period(profile)),
        "startTime": metadata.started_at_unix_s.saturating_mul(1000),
        "profilingStartTime": 0.0,
        "profilingEndTime": ms(metadata.wall_ns),
        "processType": 0,
        "product": metadata.command.first().map_or("", |program| program.rsplit('/').next().unwrap_or(program)),
        "arguments": title,
        "stackwalk": 1,
        "debug": false,
        "platform": "Linux",
        "oscpu": format!("Linux {} {}", host.kernel, host.arch),
        "abi": host.arch,
        "logicalCPUs": host.cpus,
        "categories": categories(),
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        "symbolicated": true,
        "symbolicationNotSupported": true,
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "markerSchema": [],
        "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
        "importedFrom": EXPORTER,
        "extra": [{
            "label": "Recording",
            "entries": [
                entry("Host", host.name.clone()),
                entry("Stacks", profile.stacks.to_string()),
                entry("Stacks cut short", profile.broken.to_string()),
                entry("Shown: one of every", profile.thinned.max(1).to_string()),
            ],
        }],
    })
}

/// One thread's samples. In the stack chart each stands for the time until the next, so a wait is
/// placed at its beginning, but not before the previous sample: thinned waits stand for more time
/// than there was.
fn samples(moments: &[&Moment], thinned: u32, stacks: &mut Stacks) -> Value {
    let times = u64::from(thinned.max(1));
    let (mut stack, mut time, mut weight, mut cpu) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut before = 0;
    let mut last = 0;
    for moment in moments {
        let waited = matches!(moment.doing, Activity::Waiting(_));
        let at = if waited { moment.at_ns.saturating_sub(moment.ns).max(before) } else { moment.at_ns };
        let ns = moment.ns.saturating_mul(times);
        stack.push(stacks.number(moment.node, moment.doing));
        time.push(ms(at));
        weight.push(ms(ns));
        // A thread has at most the elapsed time on a CPU.
        cpu.push(if waited { 0 } else { ns.min(at.saturating_sub(last)) });
        last = at;
        before = moment.at_ns;
    }
    json!({
        "length": stack.len(),
        "stack": stack,
        "time": time,
        "weight": weight,
        "weightType": "tracing-ms",
        "threadCPUDelta": cpu,
    })
}

/// The usual sampling period: the median time of samples on a CPU.
fn period(profile: &Profile) -> Ns {
    let on_cpu = profile.moments.iter().filter(|moment| !matches!(moment.doing, Activity::Waiting(_)));
    let mut periods: Vec<Ns> = on_cpu.map(|moment| moment.ns).collect();
    periods.sort_unstable();
    periods.get(periods.len() / 2).copied().unwrap_or(1_000_000)
}

/// Milliseconds, the unit of time of the format.
fn ms(ns: Ns) -> f64 {
    ns as f64 / 1e6
}

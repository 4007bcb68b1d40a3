//! The rungs of the allocator, the language and the kernel on the machine at hand, in a process of
//! their own: figures that can be, and nothing left behind.

use dwell_rungs::{Bench, Rung, all, machine};
use model::ladder::{LadderRequest, Machine, RungGroup, Samples, Unmeasured};
use rustix::process::{WaitOptions, wait};
use std::cell::Cell;
use std::fs;
use sys::clock::monotonic_ns;

fn ours(asked: &LadderRequest) -> Vec<Rung> {
    let groups = [RungGroup::Allocator, RungGroup::Language, RungGroup::Kernel];
    all(asked).into_iter().filter(|rung| groups.contains(&rung.about.group)).collect()
}

fn median(samples: &Samples) -> f64 {
    let mut ns: Vec<f64> = match &samples.baseline_ns[..] {
        [] => samples.per_op_ns.clone(),
        baseline => samples.per_op_ns.iter().zip(baseline).map(|(ns, less)| ns - less).collect(),
    };
    ns.sort_unstable_by(f64::total_cmp);
    ns[ns.len() / 2]
}

/// Measured until the figure can be, a few times: on a busy machine a difference of two may be
/// none.
fn measure_well(machine: &Machine, rung: &Rung) -> Result<Samples, Unmeasured> {
    let (lo, hi) = bounds(&rung.about.id);
    let well = |outcome: &Result<Samples, Unmeasured>| match outcome {
        Ok(samples) => (lo..hi).contains(&median(samples)),
        Err(_) => true,
    };
    let mut outcome = measure(machine, rung, &|| false);
    for _ in 0..4 {
        if well(&outcome) {
            break;
        }
        outcome = measure(machine, rung, &|| false);
    }
    outcome
}

fn measure(machine: &Machine, rung: &Rung, stop: &dyn Fn() -> bool) -> Result<Samples, Unmeasured> {
    let asked = LadderRequest::default();
    (rung.measure)(&Bench::new(machine, &asked, 60_000_000, 0.0, stop))
}

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

/// Fails when a thread or a child is still there that was not before.
fn nothing_is_left(before: usize, of: &str) {
    // A thread that was joined is in the list for a moment more.
    let until = monotonic_ns() + 10_000_000_000;
    while threads() != before && monotonic_ns() < until {
        std::thread::yield_now();
    }
    assert_eq!(threads(), before, "threads after {of}");
    let left = wait(WaitOptions::NOHANG);
    assert_eq!(left.unwrap_err(), rustix::io::Errno::CHILD, "children after {of}");
}

/// Bounds for any machine that runs this, in ns, however busy.
fn bounds(id: &str) -> (f64, f64) {
    match id {
        "malloc-small" => (2.0, 20e3),
        "malloc-large" => (2.0, 1e6),
        "map-unmap" | "page-touch" => (50.0, 1e6),
        "page-touch-huge" => (5e3, 1e9),
        "python-call" | "python-list" | "python-object" => (2.0, 100e3),
        "clock-read" => (3.0, 50e3),
        "system-call" => (20.0, 100e3),
        "signal" => (100.0, 1e6),
        "futex-round-trip" | "pipe-round-trip" => (300.0, 100e6),
        "thread-switch" | "thread-switch-cores" => (50.0, 100e6),
        "thread-create" | "process-create" | "exec" => (1e3, 1e9),
        "timer-wake" | "timer-wake-precise" => (100.0, 1e9),
        _ => panic!("no bounds for {id}"),
    }
}

// One test: what is counted belongs to the whole process.
#[test]
fn every_rung_gives_figures_that_can_be_and_leaves_nothing_behind() {
    let (machine, asked) = (machine(), LadderRequest::default());
    let before = threads();
    let mut medians = std::collections::HashMap::new();
    for rung in ours(&asked) {
        let id = &rung.about.id;
        match measure_well(&machine, &rung) {
            Ok(samples) => {
                let ns = median(&samples);
                let (lo, hi) = bounds(id);
                assert!((lo..hi).contains(&ns), "{id}: {ns} ns");
                assert!(samples.per_op_ns.iter().all(|ns| ns.is_finite() && *ns >= 0.0), "{id}");
                medians.insert(id.clone(), ns);
            }
            // What a machine may lack, and nothing else.
            Err(Unmeasured::Absent(why)) => {
                assert!(id.starts_with("python") || id == "thread-switch-cores", "{id}: {why}");
            }
            Err(Unmeasured::Unseen(why)) => assert_eq!(id, "page-touch-huge", "{why}"),
        }
        nothing_is_left(before, id);
    }
    assert!(medians["pipe-round-trip"] > 2.0 * medians["system-call"], "{medians:?}");
    assert!(medians["process-create"] > medians["system-call"], "{medians:?}");

    for rung in ours(&asked) {
        // In the midst of it: at the second look, which is after calibration where that is quick.
        let looks = Cell::new(0);
        let stop = || {
            looks.set(looks.get() + 1);
            looks.get() > 1
        };
        let begun = monotonic_ns();
        let asked = LadderRequest::default();
        let _ = (rung.measure)(&Bench::new(&machine, &asked, 3_600_000_000_000, 0.0, &stop));
        assert!(monotonic_ns() - begun < 60_000_000_000, "{} did not end", rung.about.id);
        nothing_is_left(before, &rung.about.id);
    }
}

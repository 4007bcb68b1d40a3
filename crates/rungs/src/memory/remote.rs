//! `dram-remote`: the chase of `dram` through memory of another node.

use crate::bench::Bench;
use crate::cpu::pin::{Pinned, home, others};
use crate::memory::levels::{chase, dram_bytes, line_bytes, obtain_while, small_for_dram, small_pages};
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use host::machine::{node_distances, node_of};
use model::ladder::Machine;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use sys::pages::PageKind;

/// How often it is looked whether the memory is filled, or not wanted any more.
const LOOK: Duration = Duration::from_millis(2);

pub(crate) fn rung() -> Rung {
    Rung {
        about: RungDescription {
            excludes: "nodes that are farther away still: it is the one that the kernel calls the farthest of those with CPUs"
                .into(),
            method: "the chase of dram through memory that a thread on another node filled".into(),
            source: "numactl's --membind with multichase; Intel Memory Latency Checker".into(),
            needs: "a second memory node".into(),
            ..about("dram-remote", RungGroup::Memory, "a dependent load from the memory of another NUMA node")
        },
        parts: 1.0,
        watch_cycle: true,
        measure: Box::new(measure),
    }
}

fn measure(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let machine = bench.machine;
    if machine.nodes < 2 {
        return Err(Unmeasured::Absent("this machine has one memory node".into()));
    }
    let Some((node, cpu)) = farthest(machine) else {
        return Err(Unmeasured::Unseen("dwell may use no CPU of another node".into()));
    };
    let bytes = dram_bytes(machine)?;
    let stop = AtomicBool::new(false);
    // Memory belongs to the node of the CPU that first writes to it.
    let filled = thread::scope(|scope| {
        let fill = || {
            let _pinned = Pinned::to(cpu);
            obtain_while(bytes, PageKind::Huge, &|| !stop.load(Relaxed))
        };
        let filling = thread::Builder::new().spawn_scoped(scope, fill);
        let filling = filling.map_err(|error| crate::bench::without_thread(&error))?;
        while !filling.is_finished() {
            stop.store(bench.stopped(), Relaxed);
            thread::sleep(LOOK);
        }
        Ok(filling.join())
    })?;
    let pages = filled.map_err(|_| Unmeasured::Unseen("the memory could not be filled".into()))??;
    let there = pages.nodes().unwrap_or_default();
    let on_node = there.iter().filter(|(at, _)| *at == node).map(|(_, bytes)| bytes).sum::<u64>();
    if on_node < bytes * 9 / 10 {
        let share = 100 * on_node / bytes;
        return Err(Unmeasured::Unseen(format!("only {share} % of the memory came to lie on node {node}")));
    }
    let mut chase = chase(bench, pages, bytes, line_bytes(machine.caches.last()))?;
    let mut samples = bench.sample(|hops| {
        chase.hop(hops);
        Ok(())
    })?;
    samples.limits.push(format!("from node {node}"));
    samples.limits.extend(small_pages(chase.pages()));
    samples.limits.extend(small_for_dram(machine, bytes));
    Ok(samples)
}

/// The farthest node that dwell may use a CPU of, by the kernel's distances, and that CPU.
fn farthest(machine: &Machine) -> Option<(u32, u32)> {
    let node_of = |cpu: u32| node_of(host::here(), cpu);
    let here = node_of(home(machine))?;
    let distances = node_distances(host::here(), here).ok()?;
    let distance = |node: u32| distances.iter().find(|(to, _)| *to == node).map(|(_, distance)| *distance);
    let candidates = others(machine).into_iter().filter_map(|cpu| Some((node_of(cpu)?, cpu)));
    candidates.filter(|(node, _)| *node != here).max_by_key(|(node, _)| distance(*node))
}

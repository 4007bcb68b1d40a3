//! The caveats of a result: settings that were asked for and are not in force, and conditions that
//! affect latency. Each says what to try where something can be done.

mod machine;
mod threads;

use model::wake::{WakeMeasurements, Wakes};

/// All caveats: first what was refused, last what holds for every measurement.
pub(super) fn limits(measured: &WakeMeasurements, all: &Wakes) -> Vec<String> {
    let mut limits = threads::limits(measured, all);
    limits.extend(machine::limits(measured));
    limits.extend(measured.limits.iter().cloned());
    limits.push(
        "this is the latency of timer wake-ups: device interrupts take another path, and the \
         application's own work comes on top"
            .to_owned(),
    );
    limits
}

/// CPUs by what was found on them, in the order in which it was first found.
fn grouped(found: impl Iterator<Item = (u32, String)>) -> Vec<(Vec<u32>, String)> {
    let mut all: Vec<(Vec<u32>, String)> = Vec::new();
    for (cpu, sentence) in found {
        match all.iter_mut().find(|(_, one)| *one == sentence) {
            Some((cpus, _)) => cpus.push(cpu),
            None => all.push((vec![cpu], sentence)),
        }
    }
    all
}

#[cfg(test)]
mod tests;

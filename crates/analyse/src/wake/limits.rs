//! What qualifies wake-ups: what was asked for and not in force, and what spoils a result. Each says what to do where
//! something can be done.

mod machine;
mod threads;

use model::wake::{Measurements, Wakes};

/// What qualifies them, what was refused first, what holds for every measurement last.
pub(super) fn limits(measured: &Measurements, all: &Wakes) -> Vec<String> {
    let mut limits = threads::limits(measured, all);
    limits.extend(machine::limits(measured));
    limits.extend(measured.limits.iter().cloned());
    limits.push(
        "this is how late a thread wakes up by a timer: an interrupt of a device goes another way, and the application's \
         own work comes on top"
            .to_owned(),
    );
    limits
}

/// Processors that have the same to say, said once, in the order in which they first said it.
fn by_sentence(said: impl Iterator<Item = (u32, String)>) -> Vec<(Vec<u32>, String)> {
    let mut all: Vec<(Vec<u32>, String)> = Vec::new();
    for (cpu, sentence) in said {
        match all.iter_mut().find(|(_, one)| *one == sentence) {
            Some((cpus, _)) => cpus.push(cpu),
            None => all.push((vec![cpu], sentence)),
        }
    }
    all
}

#[cfg(test)]
mod tests;

//! Threads and processes that do nothing, and a program that does nothing.

use crate::bench::Bench;
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use model::Ns;
use std::io;
use sys::clock::monotonic_ns;
use sys::fork::{Smallest, fork_and_wait};
use sys::pthread::{C_LIBRARY, create_and_join};

pub(crate) fn thread() -> Rung {
    let about = RungDescription {
        excludes: "anything the thread would do, and what a language's own threads add".into(),
        method: "pthread_create with the default stack and pthread_join of a thread that returns at once, on the same core".into(),
        source: "E. Bendersky, Measuring context switching and memory overheads for Linux threads".into(),
        ..about("thread-create", RungGroup::Kernel, "creating and joining a thread")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(of_thread) }
}

pub(crate) fn process() -> Rung {
    let about = RungDescription {
        excludes: "the pages that parent and child would write afterwards, each a copy".into(),
        method: "fork of dwell, whose child calls _exit at once, and waitpid".into(),
        source: "lmbench's lat_proc fork".into(),
        ..about("process-create", RungGroup::Kernel, "fork, exit and wait")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(of_process) }
}

pub(crate) fn exec() -> Rung {
    let about = RungDescription {
        excludes: "fork, exit and wait, which are measured in alternation and subtracted; reading the file, a dynamic linker, libraries, \
                   an interpreter: most programs need more"
            .into(),
        method: "fork, execveat of a static program of a few instructions in a memfd, exit and wait, less fork, exit and wait".into(),
        source: "lmbench's lat_proc exec, with the smallest program".into(),
        needs: "files in memory that may be executed".into(),
        ..about("exec", RungGroup::Kernel, "executing the smallest static program")
    };
    Rung { about, parts: 1.5, watch_cycle: false, measure: Box::new(of_exec) }
}

fn of_thread(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let mut samples = bench.sample(|count| {
        let all = (0..count).try_for_each(|_| create_and_join());
        all.map_err(|error| Unmeasured::Unseen(format!("a thread could not be created: {error}")))
    })?;
    samples.limits.push(format!(
        "of dwell's own C library, {C_LIBRARY}: some keep the stacks of threads that ended for those to come, some do not"
    ));
    Ok(samples)
}

fn of_process(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let mut samples = bench.sample(fork)?;
    samples.limits.extend(resident());
    Ok(samples)
}

fn of_exec(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let smallest = Smallest::new().map_err(no_program)?;
    let mut samples = bench.sample_against(
        |count| {
            let from = monotonic_ns();
            (0..count).try_for_each(|_| smallest.fork_exec_and_wait()).map_err(no_program)?;
            Ok(monotonic_ns() - from)
        },
        |count| {
            let from = monotonic_ns();
            fork(count)?;
            Ok::<Ns, _>(monotonic_ns() - from)
        },
    )?;
    samples.limits.extend(resident());
    Ok(samples)
}

fn fork(count: u64) -> Result<(), Unmeasured> {
    let all = (0..count).try_for_each(|_| fork_and_wait());
    all.map_err(|error| Unmeasured::Unseen(format!("a process could not be created: {error}")))
}

fn no_program(error: io::Error) -> Unmeasured {
    let remedy =
        if error.kind() == io::ErrorKind::PermissionDenied { "\ntry: sysctl vm.memfd_noexec=0" } else { "" };
    Unmeasured::Unseen(format!("a program in memory could not be executed: {error}{remedy}"))
}

/// The caveat of dwell's size: its page tables grow with its resident memory.
fn resident() -> Option<String> {
    let mib = host::own::resident_bytes(host::here()).ok()? as f64 / f64::from(1 << 20);
    Some(format!(
        "the process that forks has {mib:.0} MiB resident; a larger one takes longer, for its page tables"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::grows_with_work;

    #[test]
    fn every_thread_process_and_program_is_made() {
        grows_with_work(4, |count| (0..count).for_each(|_| create_and_join().unwrap()));
        grows_with_work(1, |count| fork(count).unwrap());
        let smallest = Smallest::new().unwrap();
        grows_with_work(1, |count| (0..count).for_each(|_| smallest.fork_exec_and_wait().unwrap()));
    }

    #[test]
    fn what_is_resident_is_said() {
        assert!(resident().unwrap().contains(" MiB resident"));
    }
}

//! Host metrics while the program runs: disks, links, memory, CPUs and NFS, polled every 90 ms; and
//! the limits of the program's control group.
//!
//! One file per source, in addition to what [`host`] reads once. Files stay open and are read with
//! `pread`; the tests have other hosts' files. `analyse` interprets the counters.

mod cpu;
mod disks;
mod group;
mod kept;
mod links;
mod memory;
mod nfs;

pub use links::GivenLink;

use host::Roots;
use model::{Event, Ns, Pid, Seen, surroundings as noun};
use std::path::PathBuf;
use std::time::Duration;

/// The interval between two snapshots: a little less than the shortest step of a series, so that
/// each step has one although wake-ups come late.
const EVERY_NS: Ns = 90_000_000;

/// The files to read, and when the next snapshot is due.
#[derive(Debug)]
pub(crate) struct Surroundings {
    disks: disks::Disks,
    links: links::Links,
    memory: memory::Memory,
    cpu: cpu::Cpu,
    nfs: nfs::Nfs,
    group: group::Group,
    due: Ns,
}

/// The directory of the outermost control group above dwell that has a CPU quota, and that has a
/// group above it.
///
/// # Errors
/// There is none: a sentence without a full stop.
pub fn outermost_quota() -> Result<PathBuf, String> {
    group::outermost_quota(host::here())
}

impl Surroundings {
    /// Opens the files. `root` is the program: links and mounts are those of its namespaces.
    pub(crate) fn new(roots: Roots<'_>, root: Pid, given: &[GivenLink]) -> Self {
        Self {
            disks: disks::Disks::new(roots),
            links: links::Links::new(roots, root, given),
            memory: memory::Memory::new(roots.proc),
            cpu: cpu::Cpu::new(roots.proc),
            nfs: nfs::Nfs::new(roots.proc, root),
            group: group::Group::new(roots, root),
            due: 0,
        }
    }

    /// Takes a snapshot, due or not.
    pub(crate) fn look(&mut self, now: Ns, dwell_ns: Ns) -> Event {
        self.due = now + EVERY_NS;
        let surroundings = noun::HostMetrics {
            disks: seen(self.disks.look()),
            links: seen(self.links.look()),
            links_namespace: self.links.namespace(),
            memory: seen(self.memory.look()),
            cpu: seen(self.cpu.look(dwell_ns)),
            nfs: seen(self.nfs.look(now)),
        };
        Event::Surroundings { at: now, surroundings: Box::new(surroundings) }
    }

    /// The program's control group, where it is not as it was before. `living` are its processes,
    /// in order.
    pub(crate) fn group(&mut self, now: Ns, living: &[Pid]) -> impl Iterator<Item = Event> + use<> {
        let group = self.group.look(now, living);
        group.into_iter().chain(self.group.refaults(now))
    }

    /// The time until the next snapshot, at most `pause`.
    pub(crate) fn pause(&self, pause: Duration, now: Ns) -> Duration {
        pause.min(Duration::from_nanos(self.due.saturating_sub(now)))
    }

    /// Whether a snapshot is due.
    pub(crate) fn is_due(&self, now: Ns) -> bool {
        now >= self.due
    }
}

fn seen<T>(read: Result<T, String>) -> Seen<T> {
    match read {
        Ok(value) => Seen::Value(value),
        Err(why) => Seen::Unseen(why),
    }
}

/// Reads a text as each of the files with counters.
#[cfg(any(test, fuzzing))]
pub(crate) fn texts(text: &str) {
    let _ = nfs::parse(text).len() + text.lines().filter_map(links::parse).count();
    let _ = (text.lines().filter_map(disks::parse).count(), memory::parse(text, text, Seen::Absent));
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::here;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Another host's `/proc` and `/sys`, in a temporary directory.
    pub(super) struct Kernel {
        directory: tempfile::TempDir,
        proc: std::path::PathBuf,
        sys: std::path::PathBuf,
    }

    impl Kernel {
        pub(super) fn new(files: &[(&str, &str)]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let (proc, sys) = (directory.path().join("proc"), directory.path().join("sys"));
            let kernel = Self { directory, proc, sys };
            files.iter().for_each(|(path, text)| kernel.write(path, text));
            kernel
        }

        pub(super) fn roots(&self) -> Roots<'_> {
            Roots { proc: &self.proc, sys: &self.sys }
        }

        /// Writes a file in place, so that readers that have it open see the new text.
        pub(super) fn write(&self, path: &str, text: &str) {
            let path = self.directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        pub(super) fn remove(&self, path: &str) {
            fs::remove_file(self.directory.path().join(path)).unwrap();
        }

        pub(super) fn link(&self, path: &str, to: &str) {
            let path = self.directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&path);
            symlink(to, path).unwrap();
        }
    }

    #[test]
    fn this_machine_is_looked_at_and_what_is_idle_is_told_once() {
        let mut surroundings = Surroundings::new(here(), std::process::id(), &[]);
        let mut look = |at| match surroundings.look(at, 7) {
            Event::Surroundings { surroundings, .. } => *surroundings,
            other => panic!("{other:?}"),
        };
        let (first, second) = (look(1), look(2));
        assert!(first.memory.value().unwrap().available_bytes > 0, "{first:?}");
        let (before, after) = (first.cpu.value().unwrap(), second.cpu.value().unwrap());
        assert!(before.busy_ns > 0 && after.busy_ns >= before.busy_ns && after.dwell_ns == 7);
        assert_ne!(first.links_namespace, 0);
        // The second snapshot adds what the first skipped, the links' speeds; the third has no idle
        // ones.
        let third = look(3);
        let idle = |look: &noun::HostMetrics| look.links.value().unwrap().len();
        assert!(idle(&third) <= idle(&first), "{first:?}\n{third:?}");
    }
}

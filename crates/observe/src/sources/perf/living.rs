//! Perf events on existing threads: one event per thread and CPU, which records switches and
//! samples and is inherited by what the thread starts.

use super::super::perf_records::{Record, What, decode};
use super::{Perf, PerfRefusal, RING_PAGES, clock, map, open, refused, with_side_band};
use crate::access;
use crate::targets;
use crate::threads::Threads;
use model::{Ns, Pid, Tid};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use sys::perf_event::{self, Ring};

/// A round finds all threads but those created during it by threads without events.
const ROUNDS_MAX: usize = 20;
/// A new thread may be visible in `/proc` some microseconds before its fork record is written.
const BIRTH: Duration = Duration::from_millis(1);

/// Descriptors reserved for other uses: snapshots, outputs, files of code.
const OTHER_FILES: u64 = 64;

/// Open events and rings.
struct Opened {
    rings: HashMap<u32, Ring>,
    events: Vec<OwnedFd>,
    /// The limit of events, which leaves descriptors for other files.
    events_max: u64,
    pages: usize,
    kernel_refused: Option<String>,
    /// Threads that have events: their own, or inherited.
    watched: BTreeSet<Tid>,
    waiting: Vec<Record>,
}

impl Perf {
    /// Opens the events on all threads of the processes that `listed` returns, until it has no new
    /// ones; what they start inherits them.
    ///
    /// # Errors
    /// When the events are refused on all threads, or their rings are; nothing is left behind then.
    pub(crate) fn attach(
        listed: &mut dyn FnMut() -> Vec<Pid>,
        period_ns: Ns,
        threads: &mut Threads,
    ) -> Result<Self, PerfRefusal> {
        let cpus = host::cpus(host::here());
        let mut opened = Opened {
            rings: HashMap::new(),
            events: Vec::new(),
            // Each thread needs one per CPU.
            events_max: access::files_max().saturating_sub(OTHER_FILES),
            pages: RING_PAGES[0],
            kernel_refused: None,
            watched: BTreeSet::new(),
            waiting: Vec::new(),
        };
        let mut pids = BTreeSet::new();
        let mut unwatched: Option<(usize, PerfRefusal)> = None;
        for round in 0..ROUNDS_MAX {
            let mut found = BTreeSet::new();
            for pid in listed() {
                pids.insert(pid);
                found.extend(targets::threads(pid));
            }
            if round > 0 {
                std::thread::sleep(BIRTH);
            }
            opened.births();
            let new: Vec<Tid> = found.difference(&opened.watched).copied().collect();
            if new.is_empty() {
                break;
            }
            for tid in new {
                opened.watched.insert(tid);
                match opened.open_all(tid, &cpus, period_ns) {
                    // It may belong to another user: the rest is observed nevertheless.
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        let (threads, _) = unwatched.get_or_insert_with(|| (0, refused(tid, &error)));
                        *threads += 1;
                    }
                    done => done.map_err(|error| refused(tid, &error))?,
                }
            }
        }
        if opened.rings.is_empty()
            && let Some((_, refused)) = unwatched
        {
            return Err(refused);
        }
        let mut perf =
            Self::on(opened.rings.into_values().collect(), opened.events, opened.kernel_refused, period_ns);
        perf.waiting = opened.waiting;
        perf.living = true;
        perf.unwatched = unwatched.map(|(threads, refused)| (threads, refused.to_string()));
        for pid in pids {
            perf.lives(pid, threads);
        }
        Ok(perf)
    }

    /// A process that exists already.
    fn lives(&mut self, pid: Pid, threads: &mut Threads) {
        let living = targets::threads(pid);
        self.tree.living.insert(pid, living.len() as u32);
        threads.lives(pid, &living);
        self.stacks.found(pid);
    }
}

impl Opened {
    fn open_all(&mut self, tid: Tid, cpus: &[u32], period_ns: Ns) -> io::Result<()> {
        cpus.iter().try_for_each(|cpu| self.open(tid, *cpu, period_ns))
    }

    /// One thread's event on one CPU. A thread that has exited needs none, nor does an offline CPU.
    fn open(&mut self, tid: Tid, cpu: u32, period_ns: Ns) -> io::Result<()> {
        if (self.events.len() + self.rings.len()) as u64 >= self.events_max {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        let attr = with_side_band(clock(period_ns));
        let event = match open(attr, tid, cpu, &mut self.kernel_refused) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENODEV)) => return Ok(()),
            event => event?,
        };
        match self.rings.get(&cpu) {
            Some(ring) => {
                perf_event::redirect(event.as_fd(), ring.as_fd())?;
                self.events.push(event);
            }
            None => {
                self.rings.insert(cpu, map(event, &mut self.pages)?);
            }
        }
        Ok(())
    }

    /// Threads created by those with events have them too.
    fn births(&mut self) {
        for ring in self.rings.values_mut() {
            ring.read(|bytes| self.waiting.extend(decode(bytes)));
        }
        self.watched.extend(self.waiting.iter().filter_map(|record| match record.what {
            What::Forked { tid, .. } => Some(tid),
            _ => None,
        }));
    }
}

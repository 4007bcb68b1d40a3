//! One recording from its header to its trailer, of a program or of a window.
//!
//! `record` and `attach` start or find the target, and decide when the recording ends.

use crate::giving_way::GivingWay;
use crate::mounts;
use crate::peers::Peers;
use crate::source_text::Roots;
use crate::sources::Instruments;
use crate::surroundings::{GivenLink, Surroundings};
use crate::users::Users;
use host::stat::{self, CpuTimes};
use model::counters::CountersObserved;
use model::coverage::Source;
use model::disk_requests::DiskUses;
use model::files::FileUses;
use model::loads::LoadsObserved;
use model::network::PeerProcess;
use model::recording::{
    AttachWindow, Cost, Counters, Ending, Host, HostCpu, Rusage, Sliced, Tier, Trailer, UnitsFollowed,
};
use model::requests::Units;
use model::{CallStats, Costs, Event, Header, Ns, Pid, Seen, Tid};
use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use sys::clock::{monotonic_ns, process_cpu_ns, unix_time};
use sys::poll;

/// The pause between drains at first, so that an interpreter is recognized before it has run long.
const YOUNG: Duration = Duration::from_millis(2);
/// The duration of that first phase.
const YOUNG_FOR_NS: Ns = 100_000_000;
/// The pause while few records arrive. Long enough to cost nothing, short enough that a CPU's
/// buffer (8 MiB, less on large hosts) holds the records of the fastest programs in that time; see
/// [`Instruments::pause`].
const QUIET: Duration = Duration::from_millis(20);
/// The pause while many arrive.
const BUSY: Duration = Duration::from_millis(5);
/// The number of records in one drain that counts as many.
const MANY: u64 = 4000;

/// The sink of a recording.
pub trait Sink {
    /// Instruments are being set up, which may take a while; until the header there is nothing to
    /// lose.
    fn sets_up(&mut self) {}
    /// All instruments are attached and the program is about to start.
    fn header(&mut self, header: &Header);
    /// An event was recorded.
    fn event(&mut self, event: &Event);
}

/// The subject of a recording.
pub(crate) struct RecordingSubject<'a> {
    /// Its command line.
    pub(crate) command: Vec<String>,
    /// The process of a run; 0 of a window.
    pub(crate) root: Pid,
    /// The window.
    pub(crate) attached: Option<AttachWindow>,
    /// The process whose namespaces host metrics are read in.
    pub(crate) first: Pid,
    /// Capacities of links that the user gave.
    pub(crate) links: &'a [GivenLink],
    /// What is accounted for as one piece of work.
    pub(crate) units: Units,
    /// The machine.
    pub(crate) host: Host,
}

/// A recording in progress.
pub(crate) struct Session<'a> {
    pub(crate) instruments: Box<dyn Instruments>,
    pub(crate) stream: Stream<'a>,
    surroundings: Surroundings,
    begin: Moment,
    pause: Duration,
    young_until: Ns,
    /// Users of the processes that were there at a look.
    users: Users,
    giving_way: GivingWay,
}

/// The sink of events.
pub(crate) struct Stream<'a> {
    sink: &'a mut dyn Sink,
    peers: Peers,
}

impl Stream<'_> {
    pub(crate) fn event(&mut self, event: &Event) {
        self.peers.note(event);
        self.sink.event(event);
    }
}

/// The end of a recording: the parts that the session does not know.
#[derive(Debug)]
pub(crate) struct SessionEnd {
    pub(crate) ending: Ending,
    pub(crate) at: Ns,
    pub(crate) rusage: Seen<Rusage>,
    pub(crate) host_cpu: Seen<HostCpu>,
    pub(crate) counters: Vec<(Tid, Counters)>,
    /// The largest resident sets of the processes that live on.
    pub(crate) peaks: Vec<(Pid, u64)>,
    /// What the program's began at, at most.
    pub(crate) began_at_bytes: Option<u64>,
    /// When the last counter was read.
    pub(crate) counted_until: Ns,
    /// A signal to dwell asked the program, or the window, to end.
    pub(crate) asked_to_end: bool,
    /// The program, if it goes on.
    pub(crate) left: Option<LeftProgram>,
}

/// Programs at the end of a recording that they outlive.
pub(crate) struct Running {
    pub(crate) at: Ns,
    pub(crate) counters: Vec<(Tid, Counters)>,
    pub(crate) counted_until: Ns,
    pub(crate) peaks: Vec<(Pid, u64)>,
    pub(crate) host_cpu: Seen<HostCpu>,
}

/// A program that did not end by a signal which dwell passed on to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftProgram {
    /// Its process.
    pub pid: Pid,
    /// The signal.
    pub signal: i32,
}

/// A completed recording. What operations cost on this host, which may be measured only now,
/// completes its trailer.
#[derive(Debug)]
pub struct Recorded {
    end: SessionEnd,
    calls: Seen<Vec<CallStats>>,
    lost_events: Seen<u64>,
    cost: Vec<Cost>,
    sources: Vec<Source>,
    sliced: Option<Sliced>,
    files: Seen<FileUses>,
    disk_requests: Seen<DiskUses>,
    requests_left_out: Option<u64>,
    units_followed: Option<UnitsFollowed>,
    loads: Seen<LoadsObserved>,
    counters: Seen<CountersObserved>,
    users: BTreeSet<u32>,
    roots: Roots,
    peer_processes: Vec<PeerProcess>,
}

impl Recorded {
    /// Whether a signal to dwell asked the program to end, however it ended then, or the window.
    pub fn was_asked_to_end(&self) -> bool {
        self.end.asked_to_end
    }

    /// The program, if it goes on: it ignored a signal that asked for its end, or was asked twice.
    pub fn left(&self) -> Option<LeftProgram> {
        self.end.left
    }

    /// The users of the program's processes and of the files that their code is from, as far as
    /// they were seen: each of them could have named the sources.
    pub fn users(&self) -> &BTreeSet<u32> {
        &self.users
    }

    /// The root directories in which its programs saw files: where their sources are.
    pub fn roots(&self) -> Roots {
        self.roots.clone()
    }

    /// The trailer.
    pub fn trailer(self, costs: Seen<Costs>) -> Trailer {
        let Self {
            end,
            calls,
            lost_events,
            cost,
            sources,
            sliced,
            files,
            disk_requests,
            requests_left_out,
            units_followed,
            loads,
            counters,
            users,
            roots: _,
            peer_processes,
        } = self;
        Trailer {
            ending: end.ending,
            reaped_at: end.at,
            calls,
            rusage: end.rusage,
            host_cpu: end.host_cpu,
            living: end.counters,
            living_until: Some(end.counted_until),
            peaks: end.peaks,
            began_at_bytes: end.began_at_bytes,
            files,
            disk_requests,
            requests_left_out,
            units_followed,
            lost_events,
            cost,
            sources,
            kept_until: None,
            sliced,
            costs,
            loads,
            counters,
            users: Some(users.into_iter().collect()),
            peer_processes,
        }
    }
}

impl<'a> Session<'a> {
    /// Emits the header. The second value is the first snapshot of the host and of the target's
    /// control group: the caller emits it once the target runs, because a kept recording begins
    /// with its first event.
    pub(crate) fn begin(
        instruments: Box<dyn Instruments>,
        subject: RecordingSubject<'_>,
        sink: &'a mut dyn Sink,
    ) -> (Self, Vec<Event>) {
        let (started_at_unix_s, started_at_ns) = unix_time();
        let header = Header {
            format: 1,
            recorder: env!("CARGO_PKG_VERSION").to_owned(),
            command: subject.command,
            started_at_unix_s,
            started_at_ns: Some(started_at_ns),
            machine: Some(crate::machine_number()),
            root: subject.root,
            tier: instruments.tier(),
            sample_period_ns: instruments.sample_period_ns(),
            host: subject.host,
            devices: mounts::devices(host::here()),
            units: subject.units,
            sources: instruments.sources(),
            attached: subject.attached,
        };
        sink.header(&header);
        let mut surroundings = Surroundings::new(host::here(), subject.first, subject.links);
        let begin = Moment::now();
        let mut snapshot = vec![surroundings.look(begin.at, begin.dwell_ns)];
        snapshot.extend(surroundings.group(begin.at, &[]));
        let stream = Stream { sink, peers: Peers::default() };
        let session = Self {
            instruments,
            stream,
            surroundings,
            begin,
            pause: BUSY,
            young_until: 0,
            users: Users::default(),
            giving_way: GivingWay::default(),
        };
        (session, snapshot)
    }

    /// The program starts now: at first the instruments are drained often.
    pub(crate) fn started(&mut self) {
        self.pause = YOUNG;
        self.young_until = monotonic_ns() + YOUNG_FOR_NS;
    }

    /// Waits until one of `descriptors` is ready, but at most `most` and no longer than the buffers
    /// allow; then drains the instruments. Returns which descriptors are ready.
    pub(crate) fn read(
        &mut self,
        descriptors: &[BorrowedFd<'_>],
        most: Option<Duration>,
    ) -> std::io::Result<Vec<bool>> {
        let pause = self.surroundings.pause(self.instruments.pause(self.pause), monotonic_ns());
        let pause = most.map_or(pause, |most| most.min(pause));
        let due_at = monotonic_ns() + pause.as_nanos() as Ns;
        let ready = poll::wait(descriptors, Some(pause))?;
        let late_ns = monotonic_ns().saturating_sub(due_at);
        let many = self.instruments.drain(&mut |event| self.stream.event(event)) > MANY;
        self.emit_losses();
        self.giving_way.after(late_ns, many);
        self.pause = match many {
            _ if monotonic_ns() < self.young_until => YOUNG,
            true => BUSY,
            false => QUIET,
        };
        Ok(ready)
    }

    /// Emits a snapshot of the host when one is due.
    pub(crate) fn snapshot_if_due(&mut self) {
        let now = monotonic_ns();
        if self.surroundings.is_due(now) {
            self.snapshot(now);
        }
    }

    /// Emits a snapshot of the host.
    pub(crate) fn snapshot(&mut self, at: Ns) {
        self.stream.event(&self.surroundings.look(at, process_cpu_ns()));
        let living = self.instruments.threads().living();
        self.users.look(&living);
        self.stream.peers.look(host::here(), at, &living);
        for group in self.surroundings.group(at, &living) {
            self.stream.event(&group);
        }
    }

    /// Emits an event about events lost since the last call.
    pub(crate) fn emit_losses(&mut self) {
        let events = self.instruments.newly_lost();
        if events > 0 {
            self.stream.event(&Event::Lost { at: monotonic_ns(), events });
        }
    }

    /// CPU time of the host since the start.
    pub(crate) fn host_cpu(&self) -> Seen<HostCpu> {
        self.begin.until_now()
    }

    /// Counters of living threads.
    pub(crate) fn counters(&self) -> Vec<(Tid, Counters)> {
        self.instruments.threads().counters(host::here().proc)
    }

    /// The largest resident sets of living processes.
    pub(crate) fn peaks(&self) -> Vec<(Pid, u64)> {
        self.instruments.threads().peaks(host::here().proc)
    }

    /// Ends the recording of programs that go on: what is known of them at its end.
    pub(crate) fn end_while_running(&mut self) -> Running {
        let at = self.instruments.end();
        self.snapshot(at);
        // Before the rest is drained: that may take a while, and they keep running.
        let counters = self.counters();
        let counted_until = monotonic_ns();
        let (peaks, host_cpu) = (self.peaks(), self.host_cpu());
        self.instruments.drain_until(at, &mut |event| self.stream.event(event));
        self.emit_losses();
        Running { at, counters, counted_until, peaks, host_cpu }
    }

    /// Emits the names of code and closes the recording.
    pub(crate) fn finish(mut self, end: SessionEnd) -> Recorded {
        let living = self.instruments.threads().living();
        self.users.look(&living);
        self.stream.peers.look(host::here(), end.at, &living);
        let peer_processes = self.stream.peers.end(host::here(), end.at);
        self.instruments.names(&mut |event| self.stream.event(event));
        let mut users = self.users.seen;
        users.extend(self.instruments.users());
        Recorded {
            calls: self.instruments.calls(),
            lost_events: self.instruments.lost(),
            cost: self.instruments.cost(),
            sources: self.instruments.worse(),
            sliced: self.instruments.sliced(end.at),
            files: self.instruments.files(),
            disk_requests: self.instruments.disk_requests(),
            requests_left_out: self.instruments.requests_left_out(),
            units_followed: self.instruments.units_followed(),
            loads: loads(self.instruments.tier()),
            counters: self.instruments.counters(),
            users,
            roots: self.instruments.roots(),
            peer_processes,
            end,
        }
    }
}

/// Whether samples came with registers, which tell where loads were; then what caches are here.
fn loads(tier: Tier) -> Seen<LoadsObserved> {
    match tier {
        Tier::Bpf | Tier::Perf => {
            Seen::Value(LoadsObserved { caches: host::machine::data_caches(host::here(), 0) })
        }
        Tier::Proc => Seen::unseen("load addresses come from samples, which need perf events or BPF"),
    }
}

/// Counters of the host at one moment.
struct Moment {
    at: Ns,
    cpu: Result<CpuTimes, String>,
    dwell_ns: Ns,
}

impl Moment {
    fn now() -> Self {
        Self { at: monotonic_ns(), cpu: host_cpu(), dwell_ns: process_cpu_ns() }
    }

    fn until_now(&self) -> Seen<HostCpu> {
        let now = Self::now();
        match (&self.cpu, &now.cpu) {
            (Ok(before), Ok(after)) => Seen::Value(HostCpu {
                busy_ns: after.busy_ns().saturating_sub(before.busy_ns()),
                steal_ns: after.steal_ns.saturating_sub(before.steal_ns),
                interrupt_ns: after.interrupt_ns().saturating_sub(before.interrupt_ns()),
                span_ns: now.at - self.at,
                dwell_ns: now.dwell_ns - self.dwell_ns,
            }),
            (Err(why), _) | (_, Err(why)) => Seen::unseen(why),
        }
    }
}

/// CPU time of the whole host since it booted.
fn host_cpu() -> Result<CpuTimes, String> {
    let text = host::text(&host::here().proc.join("stat")).map_err(|error| error.to_string())?;
    stat::total(&text).ok_or_else(|| format!("{} has no line for all CPUs", stat::FILE))
}

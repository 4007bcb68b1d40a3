//! Groups of senders and receivers that load the scheduler: each sender writes to each receiver of
//! its group in turn, and every message wakes a receiver. This is hackbench's topology, run for a
//! given time.

use crate::room::{WORKER_BYTES, allow_files, enough_memory};
use crate::{RunLimit, Tally, Work, after, while_doing};
use model::wake::load::{Transport, Workers};
use rustix::io::{Errno, read, write};
use std::io::{self, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;
use sys::clock::{children_cpu_ns, monotonic_ns, process_cpu_ns};
use sys::counters::SharedCounters;
use sys::policy::RtBoost;
use sys::poll;
use sys::worker::{Worker, WorkerEnd};

/// The time limit for workers to start.
const BEGIN: Duration = Duration::from_secs(60);
/// The time limit for workers to end: messages in flight are read first.
const END: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(1);
/// The time that a worker waits for the start: longer than all others can take.
const GATE: Duration = Duration::from_secs(300);
/// The interval of checks for ended workers: each is a system call per worker.
const LOOK_NS: u64 = 1_000_000_000;
const STACK_BYTES: usize = 64 << 10;

/// Counters that all workers share: the number ready to start, the stop flag, and the messages of
/// each receiver.
const READY: usize = 0;
const STOP: usize = 1;
const MESSAGES: usize = 2;

/// The groups, and what they send.
#[derive(Debug, Clone)]
pub(crate) struct Topology {
    pub(crate) groups: u32,
    pub(crate) pairs: u32,
    pub(crate) message_bytes: usize,
    pub(crate) transport: Transport,
}

impl Topology {
    fn receivers(&self) -> usize {
        self.groups as usize * self.pairs as usize
    }

    fn workers(&self) -> usize {
        self.receivers() * 2
    }

    /// An end to read from and one to write to.
    fn ends(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        match self.transport {
            Transport::Pipes => pipe().map(|(read, write)| (read.into(), write.into())),
            Transport::Sockets => UnixStream::pair().map(|(read, write)| (read.into(), write.into())),
        }
    }

    /// The channels of a group's receivers.
    fn group(&self) -> io::Result<(Vec<OwnedFd>, Vec<OwnedFd>)> {
        let ends: io::Result<Vec<_>> = (0..self.pairs).map(|_| self.ends()).collect();
        Ok(ends
            .map_err(|error| while_doing("cannot open the channels of a group", &error))?
            .into_iter()
            .unzip())
    }
}

pub(crate) fn run(topology: &Topology, workers: Workers, limit: RunLimit<'_>) -> io::Result<Tally> {
    let files = match workers {
        Workers::Processes => u64::from(topology.pairs) * 2,
        Workers::Threads => topology.receivers() as u64 * 2,
    };
    allow_files(files, "fewer groups, or workers=processes")?;
    let count = topology.workers() as u64;
    let needed = count * (topology.message_bytes as u64 + WORKER_BYTES);
    enough_memory(&format!("sched with {count} workers"), needed, "fewer groups, or smaller messages")?;
    let shared = SharedCounters::new(MESSAGES + topology.receivers())?;
    match workers {
        Workers::Processes => in_processes(topology, &shared, limit),
        Workers::Threads => in_threads(topology, shared, limit),
    }
}

fn in_processes(topology: &Topology, shared: &SharedCounters, mut limit: RunLimit<'_>) -> io::Result<Tally> {
    let (gate, release) = pipe()?;
    let gate = OwnedFd::from(gate);
    let cpu_from_ns = children_cpu_ns();
    let mut workers: Vec<Worker> = Vec::with_capacity(topology.workers());
    let (bytes, length) = (topology.message_bytes, limit.length);
    let mut start = |work: &mut dyn FnMut() -> io::Result<()>| {
        let started = Worker::start(|| u8::from(work().is_err()));
        let started = started.map_err(|error| {
            let count = topology.workers();
            while_doing(&format!("cannot start {count} processes"), &error)
        })?;
        workers.push(started);
        Ok::<_, io::Error>(())
    };
    for group in 0..topology.groups as usize {
        limit.check_wanted(Duration::ZERO)?;
        let (ins, mut outs) = topology.group()?;
        for (at, end) in ins.into_iter().enumerate() {
            let count = &shared[MESSAGES + group * topology.pairs as usize + at];
            start(&mut || {
                // In this child only. A reader sees EOF only when all write ends are closed.
                outs.clear();
                receive(&end, bytes, &gate, shared, count)
            })?;
        }
        for _ in 0..topology.pairs {
            start(&mut || send(&outs, bytes, &gate, shared, length))?;
        }
    }
    wait_until_ready(topology, shared, &mut limit, &mut || any_ended(&mut workers))?;
    let from_ns = monotonic_ns();
    write(&release, b"!")?;
    let mut look_ns = from_ns;
    limit.wait(from_ns, &mut || {
        let due = monotonic_ns() - look_ns >= LOOK_NS;
        if due {
            look_ns = monotonic_ns();
        }
        due && any_ended(&mut workers)
    });
    shared[STOP].store(1, Relaxed);
    // Hundreds of workers want the CPUs to end.
    let _hurry = RtBoost::begin();
    let end_ns = after(END);
    while workers.iter_mut().any(|worker| matches!(worker.ended(), Ok(None))) && monotonic_ns() < end_ns {
        sleep(TICK);
    }
    let ran_ns = monotonic_ns() - from_ns;
    let (mut failed, mut killed) = (0, 0);
    for worker in &mut workers {
        match worker.ended()? {
            Some(WorkerEnd::Status(0)) => {}
            Some(_) => failed += 1,
            None => {
                killed += 1;
                worker.kill()?;
            }
        }
    }
    let mut work = messages(shared);
    let count = topology.workers();
    if failed > 0 {
        work.failures.push(format!("{failed} of {count} workers ended early"));
    }
    if killed > 0 {
        work.limits.push(format!("{killed} of {count} workers did not end by themselves and were killed"));
    }
    Ok(Tally { work, ran_ns, cpu_ns: children_cpu_ns() - cpu_from_ns })
}

fn any_ended(workers: &mut [Worker]) -> bool {
    workers.iter_mut().any(|worker| !matches!(worker.ended(), Ok(None)))
}

fn in_threads(topology: &Topology, shared: SharedCounters, mut limit: RunLimit<'_>) -> io::Result<Tally> {
    let (gate, release) = pipe()?;
    let all = Arc::new((shared, OwnedFd::from(gate)));
    let shared = &all.0;
    let (bytes, length) = (topology.message_bytes, limit.length);
    let mut threads: Vec<JoinHandle<io::Result<()>>> = Vec::with_capacity(topology.workers());
    let mut start =
        |work: Box<dyn FnOnce() -> io::Result<()> + Send>| {
            let thread = Builder::new().name("load-sched".to_owned()).stack_size(STACK_BYTES).spawn(work);
            threads.push(thread.map_err(|error| {
                while_doing(&format!("cannot start {} threads", topology.workers()), &error)
            })?);
            Ok::<_, io::Error>(())
        };
    let cpu_from_ns = process_cpu_ns();
    let mut started = Ok(());
    'groups: for group in 0..topology.groups as usize {
        let (ins, outs) = match limit.check_wanted(Duration::ZERO).and_then(|()| topology.group()) {
            Ok(ends) => ends,
            Err(error) => {
                started = Err(error);
                break;
            }
        };
        // The last sender of a group closes its channels.
        let outs = Arc::new(outs);
        let first = MESSAGES + group * topology.pairs as usize;
        let receivers = ins.into_iter().enumerate().map(|(at, end)| {
            let all = all.clone();
            Box::new(move || receive(&end, bytes, &all.1, &all.0, &all.0[first + at])) as Box<_>
        });
        let senders = (0..topology.pairs).map(|_| {
            let (all, outs) = (all.clone(), outs.clone());
            Box::new(move || send(&outs, bytes, &all.1, &all.0, length)) as Box<_>
        });
        for worker in receivers.chain(senders) {
            started = start(worker);
            if started.is_err() {
                break 'groups;
            }
        }
    }
    let mut gone = || threads.iter().any(JoinHandle::is_finished);
    if started.is_ok() {
        started = wait_until_ready(topology, shared, &mut limit, &mut gone);
    }
    let from_ns = monotonic_ns();
    if started.is_err() {
        shared[STOP].store(1, Relaxed);
    }
    write(&release, b"!")?;
    if started.is_ok() {
        limit.wait(from_ns, &mut gone);
        shared[STOP].store(1, Relaxed);
    }
    let failed = threads.into_iter().map(JoinHandle::join).filter(|end| !matches!(end, Ok(Ok(())))).count();
    started?;
    let mut work = messages(shared);
    if failed > 0 {
        work.failures.push(format!("{failed} of {} workers ended early", topology.workers()));
    }
    Ok(Tally { work, ran_ns: monotonic_ns() - from_ns, cpu_ns: process_cpu_ns() - cpu_from_ns })
}

/// Returns when all workers are ready to start.
fn wait_until_ready(
    topology: &Topology,
    shared: &SharedCounters,
    limit: &mut RunLimit<'_>,
    gone: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    let give_up_ns = after(BEGIN);
    let count = topology.workers();
    while shared[READY].load(Relaxed) < count as u64 {
        limit.check_wanted(TICK)?;
        if monotonic_ns() > give_up_ns || gone() {
            return Err(io::Error::other(format!(
                "only {} of {count} workers started\ntry: fewer groups",
                shared[READY].load(Relaxed)
            )));
        }
    }
    Ok(())
}

fn messages(shared: &SharedCounters) -> Work {
    Work::done(shared[MESSAGES..].iter().map(|count| count.load(Relaxed)).sum())
}

/// Counts a worker as ready, and waits for the others. The byte that releases them all is never
/// read.
fn begin(gate: &OwnedFd, shared: &SharedCounters) -> io::Result<()> {
    shared[READY].fetch_add(1, Relaxed);
    let give_up_ns = after(GATE);
    loop {
        let left = Duration::from_nanos(give_up_ns.saturating_sub(monotonic_ns()));
        if poll::wait(&[gate.as_fd()], Some(left))?[0] {
            return Ok(());
        }
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// Sends until the stop flag, or until the load's time is up, since the parent may be stopped. Then
/// receivers see EOF.
fn send(
    outs: &[OwnedFd],
    bytes: usize,
    gate: &OwnedFd,
    shared: &SharedCounters,
    length: Duration,
) -> io::Result<()> {
    let message = vec![b'.'; bytes];
    begin(gate, shared)?;
    let begun_ns = monotonic_ns();
    loop {
        if Duration::from_nanos(monotonic_ns() - begun_ns) >= length {
            return Ok(());
        }
        for out in outs {
            if shared[STOP].load(Relaxed) != 0 {
                return Ok(());
            }
            let mut sent = 0;
            while sent < bytes {
                match write(out, &message[sent..]) {
                    Ok(count) => sent += count,
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
}

fn receive(
    end: &OwnedFd,
    bytes: usize,
    gate: &OwnedFd,
    shared: &SharedCounters,
    messages: &sys::counters::Counter,
) -> io::Result<()> {
    let mut message = vec![0; bytes];
    begin(gate, shared)?;
    for count in 1.. {
        let mut received = 0;
        while received < bytes {
            match read(end, &mut message[received..]) {
                // EOF: all senders have ended, none within a message.
                Ok(0) => {
                    return if received == 0 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
                }
                Ok(count) => received += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        messages.store(count, Relaxed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overseer;

    struct EndsIf(bool);

    impl Overseer for EndsIf {
        fn ready(&mut self) {
            self.0 = true;
        }

        fn ended(&mut self, wait: Duration) -> bool {
            sleep(wait);
            false
        }
    }

    fn small(transport: Transport) -> Topology {
        Topology { groups: 2, pairs: 3, message_bytes: 100, transport }
    }

    #[test]
    fn threads_pass_messages_and_all_of_them_end() {
        for transport in [Transport::Sockets, Transport::Pipes] {
            let mut overseer = EndsIf(false);
            let limit = RunLimit { overseer: &mut overseer, length: Duration::from_millis(100) };
            let tally = run(&small(transport), Workers::Threads, limit).unwrap();
            assert!(tally.work.done > 100, "{}", tally.work.done);
            assert_eq!((tally.work.failures, tally.work.limits), (Vec::new(), Vec::<String>::new()));
            assert!(tally.ran_ns >= 100_000_000 && tally.cpu_ns > 0);
            assert!(overseer.0);
        }
    }

    #[test]
    fn processes_are_not_forked_from_among_threads() {
        // Tests run in threads; processes are tested with the binary.
        let limit = RunLimit { overseer: &mut EndsIf(false), length: Duration::from_millis(100) };
        let error = run(&small(Transport::Pipes), Workers::Processes, limit).unwrap_err().to_string();
        assert!(error.contains("several threads"), "{error}");
    }
}

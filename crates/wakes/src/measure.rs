//! One measurement: creates the threads, starts them together, polls their records, and collects
//! the results.

use crate::request::{Error, allowed_cpus, check, only, raise_limits, usable_cpus};
use crate::state::State;
use crate::thread::{Setup, measure as run, prepare};
use crate::threshold::Threshold;
use crate::timer::Times;
use crate::{LateWakeup, Listener, Progress};
use model::wake::{InForce, Policy, ThreadMeasured, WakeMode, WakeRequest};
use model::{Ns, Seen};
use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use rustix::time::{ClockId, clock_getres};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::locked::{Locked, prefault_stack};

/// The interval of polling the threads' records.
const POLL: Duration = Duration::from_millis(15);
/// Polls per update of the median, which walks the whole histogram.
const MEDIAN_EVERY: u64 = 8;
/// From the last preparation to the start: the threads are notified one after another.
const START_NS: Ns = 20_000_000;
/// A thread that does not respond for this long does not get its CPU.
const PATIENCE: Duration = Duration::from_secs(5);
/// The stack of a measuring thread; all of it is locked in memory.
const STACK_BYTES: usize = 256 << 10;

/// The raw result of a measurement.
#[derive(Debug)]
pub struct Measurement {
    /// When the threads started, by the monotonic clock.
    pub begun_ns: Ns,
    /// How long they measured.
    pub took_ns: Ns,
    /// The resolution of the clock: clock_getres(2).
    pub resolution_ns: Ns,
    /// In the order of the CPUs asked for.
    pub threads: Vec<ThreadMeasured>,
    /// The CPU of the polling thread; none: all usable CPUs are measured.
    pub housekeeping: Option<u32>,
    /// Ended early, by the user or by a thread that could not keep its interval.
    pub interrupted: bool,
    /// Late wake-ups above the threshold were lost because a ring was full. Their number is
    /// unknown: most are lost while the threshold is still low.
    pub late_lost: bool,
}

/// The resolution of the monotonic clock: clock_getres(2).
pub fn resolution_ns() -> Ns {
    let resolution = clock_getres(ClockId::Monotonic);
    resolution.tv_sec as Ns * 1_000_000_000 + resolution.tv_nsec as Ns
}

/// Measures until the time is up or `stop` returns true.
///
/// # Errors
/// [`Error`]: the request is impossible, or a thread, its CPU or its timer is not available. A
/// refused policy or memory lock is not an error: it is in [`InForce::refused`].
pub fn measure(
    asked: &WakeRequest,
    listener: &mut dyn Listener,
    stop: &dyn Fn() -> bool,
) -> Result<Measurement, Error> {
    let (allowed, resolution_ns) = (allowed_cpus(), resolution_ns());
    check(asked, &usable_cpus(), resolution_ns)?;
    raise_limits();
    let (asked, mut refused) = without_starvation(asked, &allowed);
    let mut set = ThreadSet::prepare(&asked, Threshold::new(asked.spike_ns))?;
    // Not before: threads inherit the affinity, and SCHED_DEADLINE needs all CPUs.
    let housekeeping = Housekeeping::start(&asked.cpus, &allowed);
    let (locked, locking) = set.lock();
    refused.extend(locking);
    let begun_ns = set.start();
    let tids: Vec<_> =
        set.threads.iter().map(|thread| (thread.cpu, thread.state.tid.load(Relaxed))).collect();
    listener.begins(begun_ns, &tids);
    let in_force: Vec<InForce> =
        set.threads.iter().map(|thread| thread.in_force(locked.is_some(), &refused)).collect();
    let interrupted = set.watch(begun_ns, asked.for_ns, listener, stop)?;
    let ended_ns = monotonic_ns();
    let late_lost = set.late_lost();
    let threads = set.join(in_force)?;
    Ok(Measurement {
        begun_ns,
        took_ns: if interrupted { ended_ns.saturating_sub(begun_ns).min(asked.for_ns) } else { asked.for_ns },
        resolution_ns,
        threads,
        housekeeping: housekeeping.cpu,
        interrupted,
        late_lost,
    })
}

/// The request without real-time threads that spin on every CPU, which would starve the machine;
/// and why it was changed.
fn without_starvation(asked: &WakeRequest, allowed: &[u32]) -> (WakeRequest, Vec<String>) {
    let all = allowed.iter().all(|cpu| asked.cpus.contains(cpu));
    let real_time = !matches!(asked.policy, Policy::Other(_));
    if asked.mode == WakeMode::Gap && real_time && all {
        let ordinary = WakeRequest { policy: Policy::Other(1), ..asked.clone() };
        let why = "real-time threads that spin on every CPU would starve the rest of the machine, so \
                   these are ordinary threads; try: fewer --cpus";
        return (ordinary, vec![why.to_owned()]);
    }
    (asked.clone(), Vec::new())
}

/// Keeps the calling thread off the measured CPUs if there are others, until it is dropped.
struct Housekeeping {
    before: Option<CpuSet>,
    cpu: Option<u32>,
}

impl Housekeeping {
    fn start(measured: &[u32], allowed: &[u32]) -> Self {
        let cpu = allowed.iter().copied().find(|cpu| !measured.contains(cpu));
        let Some(cpu) = cpu else { return Self { before: None, cpu: None } };
        let before = sched_getaffinity(None).ok();
        match sched_setaffinity(None, &only(cpu as usize)) {
            Ok(()) => Self { before, cpu: Some(cpu) },
            Err(_) => Self { before: None, cpu: None },
        }
    }
}

impl Drop for Housekeeping {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // This was the affinity before; if it is refused now, the thread stays where it is.
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// A measuring thread, as the polling thread has it.
struct Handle {
    cpu: u32,
    setup: Setup,
    state: Arc<State>,
    /// Sends the start time; dropped, the thread ends without measuring.
    start: Sender<Ns>,
    /// It had to be moved to another CPU to end.
    moved: bool,
    join: JoinHandle<std::io::Result<Ns>>,
}

impl Handle {
    /// The settings in force, as the kernel reports them.
    fn in_force(&self, locked_all: bool, refused: &[String]) -> InForce {
        let (tid, slack_ns) = (self.state.tid.load(Relaxed), self.setup.slack_ns);
        let mut refused = [&self.setup.refused[..], refused].concat();
        let policy = sys::policy::of(tid, slack_ns).unwrap_or_else(|error| {
            refused.push(format!("the kernel does not report the thread's policy: {error}"));
            Policy::Other(slack_ns)
        });
        InForce {
            policy,
            cpus: affinity(tid),
            locked_bytes: host::seen(host::own::locked_bytes(host::here())),
            locked_all: Seen::Value(locked_all),
            refused,
        }
    }
}

/// The CPUs that a thread may run on.
fn affinity(tid: u32) -> Seen<Vec<u32>> {
    match Pid::from_raw(tid as i32) {
        // 0 would mean the calling thread.
        None => Seen::unseen("the thread has not started"),
        thread => host::seen(host::cpus::allowed(thread).map(|cpus| cpus.into_vec())),
    }
}

/// Moves a thread to the CPU of the calling thread, which is available.
fn move_here(tid: u32) {
    if let Some(tid) = Pid::from_raw(tid as i32) {
        // Refused under SCHED_DEADLINE, which no task keeps off its CPU.
        let _ = sched_setaffinity(Some(tid), &only(sched_getcpu()));
    }
}

fn starved(cpus: &[u32]) -> Error {
    let list: Vec<String> = cpus.iter().map(u32::to_string).collect();
    Error::System(format!(
        "the measuring thread of CPU {} did not run for {} s: a task of higher priority occupies the CPU\n\
         try: other --cpus, or --policy fifo:99; ps -eLo psr,rtprio,comm --sort=-rtprio lists such tasks",
        list.join(","),
        PATIENCE.as_secs()
    ))
}

fn overrun(cost_ns: Ns) -> String {
    format!(
        "interval too short: the thread used over 90 % of its CPU for several seconds ({} us per wake-up) \
         and still missed periods, so it ended the measurement; try: --interval {}us",
        cost_ns.div_ceil(1_000),
        cost_ns.saturating_mul(4).div_ceil(1_000)
    )
}

/// All measuring threads.
struct ThreadSet {
    threads: Vec<Handle>,
    threshold: Threshold,
    median_ns: Ns,
    /// The median and the 99th percentile of all threads together.
    quantiles_ns: (Ns, Ns),
    /// How long to wait for threads that should have ended.
    patience: Duration,
}

impl ThreadSet {
    fn prepare(asked: &WakeRequest, threshold: Threshold) -> Result<Self, Error> {
        // A sleeping thread notices nothing before its interval ends.
        let patience = PATIENCE + Duration::from_nanos(asked.interval_ns);
        let mut set = Self { threads: Vec::new(), threshold, median_ns: 0, quantiles_ns: (0, 0), patience };
        for (at, cpu) in asked.cpus.iter().enumerate() {
            if let Err(error) = set.spawn(asked, at, *cpu) {
                set.dismiss();
                return Err(error);
            }
        }
        let cost_ns = set.threads.iter().filter_map(|thread| thread.setup.wake_cost_ns).max().unwrap_or(0);
        // If measuring takes half of the CPU, its own load distorts the result.
        if cost_ns > asked.interval_ns / 2 {
            set.dismiss();
            return Err(Error::Request(format!(
                "a wake-up takes {} us of CPU time here: an interval of {} us is too short\ntry: {} us or more",
                cost_ns / 1_000,
                asked.interval_ns / 1_000,
                cost_ns.saturating_mul(4).div_ceil(1_000)
            )));
        }
        Ok(set)
    }

    /// Starts a thread and waits for its setup.
    fn spawn(&mut self, asked: &WakeRequest, at: usize, cpu: u32) -> Result<(), Error> {
        let state = Arc::new(State::new(asked.for_ns, self.threshold.ns(0)));
        let ((setup_sender, setups), (start, started)) = (channel(), channel());
        let (asked, own) = (asked.clone(), Arc::clone(&state));
        let thread = Builder::new()
            .name(format!("wake/{cpu}"))
            .stack_size(STACK_BYTES)
            .spawn(move || work(&asked, at, cpu, &own, &started, &setup_sender))
            .map_err(|error| Error::System(format!("cannot start a thread: {error}")))?;
        let setup = match setups.recv_timeout(PATIENCE) {
            Ok(Ok(setup)) => setup,
            Ok(Err(why)) => {
                let _ = thread.join();
                return Err(Error::System(why));
            }
            Err(RecvTimeoutError::Timeout) => {
                // It could not even end on its CPU.
                move_here(state.tid.load(Relaxed));
                return Err(starved(&[cpu]));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::System("a measuring thread ended during its setup".into()));
            }
        };
        self.threads.push(Handle { cpu, setup, state, start, moved: false, join: thread });
        Ok(())
    }

    /// Ends threads that wait for the start.
    fn dismiss(&mut self) {
        for Handle { start, join, .. } in self.threads.drain(..) {
            drop(start);
            let _ = join.join();
        }
    }

    /// Locks all memory, or else what the loops touch; gives what was refused.
    fn lock(&self) -> (Option<Locked>, Vec<String>) {
        let error = match Locked::all() {
            Ok(locked) => return (Some(locked), Vec::new()),
            Err(error) => error,
        };
        let own = self.threads.iter().try_for_each(|thread| thread.state.lock());
        let instead = match own {
            Ok(()) => "only the memory that the measuring threads write was locked".to_owned(),
            Err(_) => "the memory that the measuring threads write was touched before the start".to_owned(),
        };
        (
            None,
            vec![format!(
                "locking all memory was refused: {error}; {instead}; try: sudo, or memlock unlimited in \
                 /etc/security/limits.conf, then log in again"
            )],
        )
    }

    /// Starts the measurement; gives the start time.
    fn start(&self) -> Ns {
        let begun_ns = monotonic_ns() + START_NS;
        for thread in &self.threads {
            // A thread that has ended reports its error when it is joined.
            let _ = thread.start.send(begun_ns);
        }
        begun_ns
    }

    /// Polls until all threads have ended; gives whether they were ended early.
    fn watch(
        &mut self,
        begun_ns: Ns,
        for_ns: Ns,
        listener: &mut dyn Listener,
        stop: &dyn Fn() -> bool,
    ) -> Result<bool, Error> {
        let mut interrupted = false;
        let mut waited = Duration::ZERO;
        for poll in 0_u64.. {
            let left_ns = (begun_ns + for_ns).saturating_sub(monotonic_ns());
            let pause = POLL.min(Duration::from_nanos(left_ns.max(1_000_000)));
            sleep(pause);
            let done = self.threads.iter().all(|thread| thread.join.is_finished());
            self.poll(poll, listener);
            listener.progress(self.progress(begun_ns));
            if done {
                break;
            }
            let overrun = || self.threads.iter().any(|thread| thread.state.overrun_ns().is_some());
            if !interrupted && (stop() || overrun()) {
                interrupted = true;
                self.threads.iter().for_each(|thread| thread.state.stop.store(true, Relaxed));
            }
            if interrupted || left_ns == 0 {
                // Counted in pauses, not by the clock: if this process is stopped, so are the
                // threads.
                waited += pause;
                self.force_end(waited)?;
            }
        }
        Ok(interrupted)
    }

    /// Moves threads that should have ended but do not get their CPU to another one, so that the
    /// late wake-up is recorded and all can end.
    fn force_end(&mut self, waited: Duration) -> Result<(), Error> {
        if waited < self.patience {
            return Ok(());
        }
        let waiting: Vec<&mut Handle> =
            self.threads.iter_mut().filter(|thread| !thread.join.is_finished()).collect();
        if waited >= 2 * self.patience {
            return Err(starved(&waiting.iter().map(|thread| thread.cpu).collect::<Vec<u32>>()));
        }
        for thread in waiting.into_iter().filter(|thread| !thread.moved) {
            thread.moved = true;
            move_here(thread.state.tid.load(Relaxed));
        }
        Ok(())
    }

    /// Reports late wake-ups and updates the threshold.
    fn poll(&mut self, poll: u64, listener: &mut dyn Listener) {
        if poll < MEDIAN_EVERY || poll.is_multiple_of(MEDIAN_EVERY) {
            // The smallest median, so that spikes of a quiet CPU are reported beside those of a
            // busy one.
            self.median_ns = self.threads.iter().map(|thread| thread.state.median_ns()).min().unwrap_or(0);
            let all: Vec<&State> = self.threads.iter().map(|thread| &*thread.state).collect();
            self.quantiles_ns = (State::quantile_ns(&all, 0.5), State::quantile_ns(&all, 0.99));
        }
        for thread in &self.threads {
            while let Some(late) = thread.state.take() {
                let late_ns = late.awake_ns.saturating_sub(late.expected_ns);
                if self.threshold.take(late_ns, self.median_ns) {
                    listener.late(LateWakeup {
                        cpu: thread.cpu,
                        tid: thread.state.tid.load(Relaxed),
                        expected_ns: late.expected_ns,
                        awake_ns: late.awake_ns,
                    });
                }
            }
        }
        let threshold_ns = self.threshold.ns(self.median_ns);
        self.threads.iter().for_each(|thread| thread.state.set_threshold_ns(threshold_ns));
    }

    /// Whether a wake-up above the threshold was lost.
    fn late_lost(&self) -> bool {
        let threshold_ns = self.threshold.ns(self.median_ns);
        self.threads
            .iter()
            .map(|thread| thread.state.lost())
            .any(|(lost, max_ns)| lost > 0 && max_ns >= threshold_ns)
    }

    fn progress(&self, begun_ns: Ns) -> Progress {
        let sum = |of: fn(&State) -> u64| self.threads.iter().map(|thread| of(&thread.state)).sum();
        Progress {
            elapsed_ns: monotonic_ns().saturating_sub(begun_ns),
            cycles: sum(State::cycles),
            missed: sum(State::missed),
            max_ns: self.threads.iter().map(|thread| thread.state.max_ns().0).max().unwrap_or(0),
            quantiles_ns: self.quantiles_ns,
        }
    }

    fn join(self, in_force: Vec<InForce>) -> Result<Vec<ThreadMeasured>, Error> {
        let measured = self.threads.into_iter().zip(in_force).map(|(thread, mut in_force)| {
            if let Some(cost_ns) = thread.state.overrun_ns() {
                in_force.refused.push(overrun(cost_ns));
            }
            if thread.moved {
                in_force.refused.push(format!(
                    "the thread did not run for {} s after the end, so it was taken off its CPU, which a \
                     task of higher priority occupies; try: --policy fifo:99",
                    PATIENCE.as_secs()
                ));
            }
            let cpu_ns = thread
                .join
                .join()
                .map_err(|_| Error::System("a measuring thread failed".into()))?
                .map_err(|error| Error::System(format!("the timer failed: {error}")))?;
            let state = &thread.state;
            let (max_ns, max_at_ns) = state.max_ns();
            Ok(ThreadMeasured {
                cpu: thread.cpu,
                in_force,
                cycles: state.cycles(),
                missed: state.missed(),
                elsewhere: state.elsewhere(),
                histogram: state.histogram(),
                min_ns: state.min_ns(),
                sum_ns: state.sum_ns(),
                max_ns,
                max_at_ns,
                blocks: state.blocks(),
                cpu_ns,
            })
        });
        measured.collect()
    }
}

/// The body of a measuring thread.
fn work(
    asked: &WakeRequest,
    at: usize,
    cpu: u32,
    state: &State,
    start: &Receiver<Ns>,
    setup_sender: &Sender<Result<Setup, String>>,
) -> std::io::Result<Ns> {
    state.tid.store(gettid().as_raw_nonzero().get() as u32, Relaxed);
    let setup = prepare(asked, cpu);
    let failed = setup.is_err();
    // The receiver is gone if the measurement was given up.
    let _ = setup_sender.send(setup);
    if failed {
        return Ok(0);
    }
    // Touches the stack in any case, and locks what the limit allows.
    let _ = prefault_stack(true);
    let Ok(begun_ns) = start.recv() else { return Ok(0) };
    // Wake-ups of the CPUs are spread over the interval, so that they do not wait for each other.
    let share_ns = asked.interval_ns * at as Ns / asked.cpus.len() as Ns;
    let times = Times {
        begun_ns,
        first_ns: first_in_future(begun_ns + share_ns, asked.interval_ns, monotonic_ns()),
        interval_ns: asked.interval_ns,
        end_ns: begun_ns + asked.for_ns,
    };
    let real_time = sys::policy::of(0, 1).is_ok_and(|policy| !matches!(policy, Policy::Other(_)));
    run(asked, real_time, state, times)
}

/// The first wake-up time that is still in the future. A thread that starts after its own first
/// time has neither a late wake-up nor a missed period.
fn first_in_future(first_ns: Ns, interval_ns: Ns, now_ns: Ns) -> Ns {
    now_ns
        .checked_sub(first_ns)
        .map_or(first_ns, |late_ns| first_ns + (late_ns / interval_ns + 1) * interval_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::wake::Sleeper;
    use std::sync::mpsc::TryRecvError;

    fn asked(cpus: Vec<u32>, interval_ns: Ns) -> WakeRequest {
        WakeRequest {
            mode: WakeMode::Timer,
            sleeper: Sleeper::ClockNanosleep,
            cpus,
            interval_ns,
            for_ns: 1_000_000,
            policy: Policy::Other(1),
            loads: Vec::new(),
            deadline: None,
            spike_ns: None,
        }
    }

    #[test]
    fn waiting_threads_end_if_another_cannot_be_started() {
        let first = allowed_cpus()[0];
        let refused = ThreadSet::prepare(&asked(vec![first, 1_000], 100_000), Threshold::new(None)).err();
        assert!(matches!(&refused, Some(Error::System(why)) if why.contains("1000")), "{refused:?}");
    }

    /// One thread that measures nothing and ends when `done` says so.
    fn set_of(cpu: u32, done: impl Fn(&State) -> bool + Send + 'static) -> ThreadSet {
        let state = Arc::new(State::new(1, 0));
        let (own, (sender, receiver)) = (Arc::clone(&state), channel());
        let thread = std::thread::spawn(move || {
            own.tid.store(gettid().as_raw_nonzero().get() as u32, Relaxed);
            sender.send(()).unwrap();
            while !done(&own) {
                sleep(Duration::from_millis(1));
            }
            Ok(0)
        });
        receiver.recv().unwrap();
        let setup = Setup { slack_ns: 1, wake_cost_ns: None, refused: Vec::new() };
        let handle = Handle { cpu, setup, state, start: channel().0, moved: false, join: thread };
        let patience = Duration::from_millis(100);
        ThreadSet {
            threads: vec![handle],
            threshold: Threshold::new(None),
            median_ns: 0,
            quantiles_ns: (0, 0),
            patience,
        }
    }

    #[test]
    fn a_thread_that_does_not_end_is_moved_and_that_is_reported() {
        // The thread ends when it is bound to one CPU.
        let cpus = allowed_cpus();
        if cpus.len() < 2 {
            return;
        }
        for stopped in [false, true] {
            let mut set = set_of(cpus[0], |_| allowed_cpus().len() == 1);
            let in_force = vec![set.threads[0].in_force(true, &[])];
            let for_ns = if stopped { Ns::MAX / 2 } else { 1 };
            assert_eq!(set.watch(monotonic_ns(), for_ns, &mut (), &|| stopped), Ok(stopped));
            let measured = set.join(in_force).unwrap();
            let refused = &measured[0].in_force.refused;
            assert!(refused.iter().any(|why| why.contains("taken off its CPU")), "{refused:?}");
        }
    }

    #[test]
    fn a_thread_that_never_ends_is_an_error_with_its_cpu() {
        let (end, ended) = channel::<()>();
        let mut set = set_of(17, move |_| ended.try_recv() == Err(TryRecvError::Disconnected));
        let refused = set.watch(monotonic_ns(), 1, &mut (), &|| false);
        assert!(matches!(&refused, Err(Error::System(why)) if why.contains("of CPU 17")), "{refused:?}");
        drop(end);
    }

    #[test]
    fn a_thread_that_cannot_keep_its_interval_ends_the_measurement_and_that_is_reported() {
        let cpu = allowed_cpus()[0];
        let mut set = set_of(cpu, |_| true);
        set.threads[0].state.give_up(12_345);
        // The others are stopped with it.
        set.threads.extend(set_of(cpu, |state| state.stop.load(Relaxed)).threads);
        let in_force = set.threads.iter().map(|thread| thread.in_force(true, &[])).collect();
        assert_eq!(set.watch(monotonic_ns(), Ns::MAX / 2, &mut (), &|| false), Ok(true));
        let measured = set.join(in_force).unwrap();
        let refused =
            |at: usize| measured[at].in_force.refused.iter().any(|why| why.ends_with("--interval 50us"));
        assert!(refused(0) && !refused(1), "{measured:?}");
    }

    #[test]
    fn an_unknown_affinity_is_not_an_empty_one() {
        assert_eq!(affinity(gettid().as_raw_nonzero().get() as u32), Seen::Value(allowed_cpus()));
        // No thread has this number: the kernel's own limit is 4194304.
        for tid in [0, i32::MAX as u32] {
            assert!(matches!(affinity(tid), Seen::Unseen(_)), "{:?}", affinity(tid));
        }
    }

    #[test]
    fn lost_wake_ups_count_only_above_the_threshold() {
        let mut set = set_of(allowed_cpus()[0], |_| true);
        assert!(!set.late_lost());
        (0..300).for_each(|wake| set.threads[0].state.record(wake, wake + 50, 0, 0));
        for (threshold_ns, counts) in [(50, true), (51, false)] {
            set.threshold = Threshold::new(Some(threshold_ns));
            assert_eq!(set.late_lost(), counts);
        }
    }

    #[test]
    fn a_late_start_begins_with_the_next_time() {
        let first_ns = |now_ns| first_in_future(1_000, 100, now_ns);
        assert_eq!(
            [0, 999, 1_000, 1_099, 1_100, 5_050].map(first_ns),
            [1_000, 1_000, 1_100, 1_100, 1_200, 5_100]
        );
    }

    #[test]
    fn an_interval_that_a_wake_up_cannot_keep_is_refused_with_one_that_it_can() {
        let refused = ThreadSet::prepare(&asked(vec![allowed_cpus()[0]], 1), Threshold::new(None)).err();
        assert!(matches!(&refused, Some(Error::Request(why)) if why.contains("us or more")), "{refused:?}");
    }
}

//! The whole of one measurement: threads made, started together, looked at, and their books handed over.

use crate::asked::{Refused, allowed_cpus, only, raise_limits, sound, usable_cpus};
use crate::latest::Latest;
use crate::state::State;
use crate::thread::{Prepared, measure as run, prepare};
use crate::timer::Times;
use crate::{Late, Listener, Progress};
use model::wake::{Asked, InForce, Mode, Policy, ThreadMeasured};
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

/// Between two looks at what the threads have written down.
const LOOK: Duration = Duration::from_millis(15);
/// The median is asked for each so many looks: it is a walk over the histogram.
const MEDIAN_EVERY: u64 = 8;
/// From the last preparation to the begin: the threads are told of it one after another.
const BEGIN_NS: Ns = 20_000_000;
/// A thread that does nothing for so long although it should is kept from its processor.
const PATIENCE: Duration = Duration::from_secs(5);
/// A thread has a stack of its own size: all of it is locked in memory.
const STACK_BYTES: usize = 256 << 10;

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    /// When the threads began, by the monotonic clock.
    pub begun_ns: Ns,
    /// How long they measured.
    pub took_ns: Ns,
    /// What the clock can tell apart.
    pub resolution_ns: Ns,
    /// In the order of the processors asked for.
    pub threads: Vec<ThreadMeasured>,
    /// The processor that looked on; none: all that may be used are measured.
    pub housekeeping: Option<u32>,
    /// Somebody ended it early, or a thread that could not keep its interval.
    pub interrupted: bool,
    /// Late wake-ups that should have been told were not, because more came than could be. How many is not known: most that are lost
    /// come while the bar is still low.
    pub late_lost: bool,
}

/// What clock_getres(2) says of the monotonic clock.
pub fn resolution_ns() -> Ns {
    let resolution = clock_getres(ClockId::Monotonic);
    resolution.tv_sec as Ns * 1_000_000_000 + resolution.tv_nsec as Ns
}

/// Measures until the time is over or `stop` says so.
///
/// # Errors
/// [`Refused`]: what was asked for is impossible, or a thread, its processor or its timer cannot be had. A policy or locked memory that
/// are refused are no error, but said in [`InForce::refused`].
pub fn measure(
    asked: &Asked,
    listener: &mut dyn Listener,
    stop: &dyn Fn() -> bool,
) -> Result<Measured, Refused> {
    let (allowed, resolution_ns) = (allowed_cpus(), resolution_ns());
    sound(asked, &usable_cpus(), resolution_ns)?;
    raise_limits();
    let (asked, mut refused) = tamed(asked, &allowed);
    let mut crew = Crew::prepare(&asked, Latest::new(asked.spike_ns))?;
    // Not before: threads are born with the processors of who makes them, and under SCHED_DEADLINE they need all.
    let aside = Aside::step(&asked.cpus, &allowed);
    let (locked, locking) = crew.lock();
    refused.extend(locking);
    let begun_ns = crew.begin();
    let seats: Vec<_> = crew.seats.iter().map(|seat| (seat.cpu, seat.state.tid.load(Relaxed))).collect();
    listener.begins(begun_ns, &seats);
    let in_force: Vec<InForce> =
        crew.seats.iter().map(|seat| seat.in_force(locked.is_some(), &refused)).collect();
    let interrupted = crew.watch(begun_ns, asked.for_ns, listener, stop)?;
    let ended_ns = monotonic_ns();
    let late_lost = crew.late_lost();
    let threads = crew.join(in_force)?;
    Ok(Measured {
        begun_ns,
        took_ns: if interrupted { ended_ns.saturating_sub(begun_ns).min(asked.for_ns) } else { asked.for_ns },
        resolution_ns,
        threads,
        housekeeping: aside.cpu,
        interrupted,
        late_lost,
    })
}

/// Spinning real-time threads on every processor would leave none for anybody.
fn tamed(asked: &Asked, allowed: &[u32]) -> (Asked, Vec<String>) {
    let all = allowed.iter().all(|cpu| asked.cpus.contains(cpu));
    let real_time = !matches!(asked.policy, Policy::Other(_));
    if asked.mode == Mode::Gap && real_time && all {
        let tame = Asked { policy: Policy::Other(1), ..asked.clone() };
        let why = "real-time threads that spin on every processor would leave none to the rest of the machine, so these are \
                   ordinary ones; try: fewer --cpus";
        return (tame, vec![why.to_owned()]);
    }
    (asked.clone(), Vec::new())
}

/// The calling thread off the measured processors, where there are others, until this goes.
struct Aside {
    before: Option<CpuSet>,
    cpu: Option<u32>,
}

impl Aside {
    fn step(measured: &[u32], allowed: &[u32]) -> Self {
        let cpu = allowed.iter().copied().find(|cpu| !measured.contains(cpu));
        let Some(cpu) = cpu else { return Self { before: None, cpu: None } };
        let before = sched_getaffinity(None).ok();
        match sched_setaffinity(None, &only(cpu as usize)) {
            Ok(()) => Self { before, cpu: Some(cpu) },
            Err(_) => Self { before: None, cpu: None },
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // It was allowed a moment ago; if it no longer is, there is nothing better to do.
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// One measuring thread, from outside.
struct Seat {
    cpu: u32,
    prepared: Prepared,
    state: Arc<State>,
    /// Takes when it begins; gone, there is nothing to measure after all.
    go: Sender<Ns>,
    /// It did not come to its end on its processor.
    fetched: bool,
    thread: JoinHandle<std::io::Result<Ns>>,
}

impl Seat {
    /// What the kernel says of the thread.
    fn in_force(&self, locked_all: bool, refused: &[String]) -> InForce {
        let (tid, slack_ns) = (self.state.tid.load(Relaxed), self.prepared.slack_ns);
        let mut refused = [&self.prepared.refused[..], refused].concat();
        let policy = sys::policy::of(tid, slack_ns).unwrap_or_else(|error| {
            refused.push(format!("the kernel does not say the thread's policy: {error}"));
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
        // Without a thread, the system call would be answered for the calling one.
        None => Seen::unseen("the thread has not begun"),
        thread => host::seen(host::cpus::allowed(thread).map(|cpus| cpus.into_vec())),
    }
}

/// Puts a thread on the processor that the calling one runs on: that is to be had.
fn fetch(tid: u32) {
    if let Some(tid) = Pid::from_raw(tid as i32) {
        // Not so under SCHED_DEADLINE, which nobody keeps away.
        let _ = sched_setaffinity(Some(tid), &only(sched_getcpu()));
    }
}

fn kept_away(cpus: &[u32]) -> Refused {
    let named: Vec<String> = cpus.iter().map(u32::to_string).collect();
    Refused::System(format!(
        "the measuring thread of processor {} did not run for {} s: a task of a higher priority holds it\n\
         try: other --cpus, or --policy fifo:99; ps -eLo psr,rtprio,comm --sort=-rtprio has such tasks first",
        named.join(","),
        PATIENCE.as_secs()
    ))
}

fn overrun(cost_ns: Ns) -> String {
    format!(
        "the interval cannot be kept: for seconds on end the thread took more than nine tenths of the processor, {} us a wake-up, and \
         missed periods all the same, so it ended the measurement; try: --interval {}us",
        cost_ns.div_ceil(1_000),
        cost_ns.saturating_mul(4).div_ceil(1_000)
    )
}

/// All of them.
struct Crew {
    seats: Vec<Seat>,
    latest: Latest,
    median_ns: Ns,
    /// How long it waits for threads that should have ended.
    patience: Duration,
}

impl Crew {
    fn prepare(asked: &Asked, latest: Latest) -> Result<Self, Refused> {
        // Who sleeps hears of nothing before the interval is over.
        let patience = PATIENCE + Duration::from_nanos(asked.interval_ns);
        let mut crew = Self { seats: Vec::new(), latest, median_ns: 0, patience };
        for (at, cpu) in asked.cpus.iter().enumerate() {
            if let Err(error) = crew.seat(asked, at, *cpu) {
                crew.dismiss();
                return Err(error);
            }
        }
        let cost_ns = crew.seats.iter().filter_map(|seat| seat.prepared.wake_cost_ns).max().unwrap_or(0);
        // Half of a processor for the measuring alone leaves nothing to measure.
        if cost_ns > asked.interval_ns / 2 {
            crew.dismiss();
            return Err(Refused::Asked(format!(
                "a wake-up takes {} us of processor time here, too much for an interval of {} us\ntry: {} us or more",
                cost_ns / 1_000,
                asked.interval_ns / 1_000,
                cost_ns.saturating_mul(4).div_ceil(1_000)
            )));
        }
        Ok(crew)
    }

    /// Makes a thread and waits until it is prepared.
    fn seat(&mut self, asked: &Asked, at: usize, cpu: u32) -> Result<(), Refused> {
        let state = Arc::new(State::new(asked.for_ns, self.latest.threshold_ns(0)));
        let ((say, told), (go, gone)) = (channel(), channel());
        let (asked, own) = (asked.clone(), Arc::clone(&state));
        let thread = Builder::new()
            .name(format!("wake/{cpu}"))
            .stack_size(STACK_BYTES)
            .spawn(move || work(&asked, at, cpu, &own, &gone, &say))
            .map_err(|error| Refused::System(format!("cannot start a thread: {error}")))?;
        let prepared = match told.recv_timeout(PATIENCE) {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(why)) => {
                let _ = thread.join();
                return Err(Refused::System(why));
            }
            Err(RecvTimeoutError::Timeout) => {
                // Where it is it could not even end.
                fetch(state.tid.load(Relaxed));
                return Err(kept_away(&[cpu]));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Refused::System("a thread ended before it measured".into()));
            }
        };
        self.seats.push(Seat { cpu, prepared, state, go, fetched: false, thread });
        Ok(())
    }

    /// Lets those that wait go.
    fn dismiss(&mut self) {
        for Seat { go, thread, .. } in self.seats.drain(..) {
            drop(go);
            let _ = thread.join();
        }
    }

    /// Locks all memory, or what the loops touch; says what was refused.
    fn lock(&self) -> (Option<Locked>, Vec<String>) {
        let error = match Locked::all() {
            Ok(locked) => return (Some(locked), Vec::new()),
            Err(error) => error,
        };
        let own = self.seats.iter().try_for_each(|seat| seat.state.lock());
        let instead = match own {
            Ok(()) => "only what the measuring threads write was locked".to_owned(),
            Err(_) => "all that the measuring threads write was touched before the start instead".to_owned(),
        };
        (
            None,
            vec![format!(
                "locking all memory was refused: {error}; {instead}; try: sudo, or memlock unlimited in \
                 /etc/security/limits.conf, then log in anew"
            )],
        )
    }

    /// Lets them measure; gives when they begin.
    fn begin(&self) -> Ns {
        let begun_ns = monotonic_ns() + BEGIN_NS;
        for seat in &self.seats {
            // Whoever is not there any more tells when it is joined.
            let _ = seat.go.send(begun_ns);
        }
        begun_ns
    }

    /// Looks on until all have ended; gives whether somebody ended it early.
    fn watch(
        &mut self,
        begun_ns: Ns,
        for_ns: Ns,
        listener: &mut dyn Listener,
        stop: &dyn Fn() -> bool,
    ) -> Result<bool, Refused> {
        let mut interrupted = false;
        let mut waited = Duration::ZERO;
        for look in 0_u64.. {
            let left_ns = (begun_ns + for_ns).saturating_sub(monotonic_ns());
            let pause = LOOK.min(Duration::from_nanos(left_ns.max(1_000_000)));
            sleep(pause);
            let done = self.seats.iter().all(|seat| seat.thread.is_finished());
            self.look(look, listener);
            listener.progress(self.progress(begun_ns));
            if done {
                break;
            }
            let given_up = || self.seats.iter().any(|seat| seat.state.overrun_ns().is_some());
            if !interrupted && (stop() || given_up()) {
                interrupted = true;
                self.seats.iter().for_each(|seat| seat.state.stop.store(true, Relaxed));
            }
            if interrupted || left_ns == 0 {
                // By its own pauses and not by the clock: whoever was stopped meanwhile has been as long as the threads.
                waited += pause;
                self.hurry(waited)?;
            }
        }
        Ok(interrupted)
    }

    /// Those that should have ended: who is kept from his processor is put on another one, so that the wake-up is as late as it is,
    /// and all can end.
    fn hurry(&mut self, waited: Duration) -> Result<(), Refused> {
        if waited < self.patience {
            return Ok(());
        }
        let kept: Vec<&mut Seat> = self.seats.iter_mut().filter(|seat| !seat.thread.is_finished()).collect();
        if waited >= 2 * self.patience {
            return Err(kept_away(&kept.iter().map(|seat| seat.cpu).collect::<Vec<u32>>()));
        }
        for seat in kept.into_iter().filter(|seat| !seat.fetched) {
            seat.fetched = true;
            fetch(seat.state.tid.load(Relaxed));
        }
        Ok(())
    }

    /// Tells of late wake-ups and sets the bar for the next.
    fn look(&mut self, look: u64, listener: &mut dyn Listener) {
        if look < MEDIAN_EVERY || look.is_multiple_of(MEDIAN_EVERY) {
            // The least of the threads', so that a quiet processor's spikes are told beside a busy one's.
            self.median_ns = self.seats.iter().map(|seat| seat.state.median_ns()).min().unwrap_or(0);
        }
        for seat in &self.seats {
            while let Some(late) = seat.state.take() {
                let late_ns = late.awake_ns.saturating_sub(late.expected_ns);
                if self.latest.take(late_ns, self.median_ns) {
                    listener.late(Late {
                        cpu: seat.cpu,
                        tid: seat.state.tid.load(Relaxed),
                        expected_ns: late.expected_ns,
                        awake_ns: late.awake_ns,
                    });
                }
            }
        }
        let threshold_ns = self.latest.threshold_ns(self.median_ns);
        self.seats.iter().for_each(|seat| seat.state.set_threshold_ns(threshold_ns));
    }

    /// Whether a lost one was worth telling.
    fn late_lost(&self) -> bool {
        let bar_ns = self.latest.threshold_ns(self.median_ns);
        self.seats
            .iter()
            .map(|seat| seat.state.lost())
            .any(|(lost, latest_ns)| lost > 0 && latest_ns >= bar_ns)
    }

    fn progress(&self, begun_ns: Ns) -> Progress {
        let sum = |of: fn(&State) -> u64| self.seats.iter().map(|seat| of(&seat.state)).sum();
        Progress {
            elapsed_ns: monotonic_ns().saturating_sub(begun_ns),
            cycles: sum(State::cycles),
            missed: sum(State::missed),
            max_ns: self.seats.iter().map(|seat| seat.state.max_ns().0).max().unwrap_or(0),
        }
    }

    fn join(self, in_force: Vec<InForce>) -> Result<Vec<ThreadMeasured>, Refused> {
        let measured = self.seats.into_iter().zip(in_force).map(|(seat, mut in_force)| {
            if let Some(cost_ns) = seat.state.overrun_ns() {
                in_force.refused.push(overrun(cost_ns));
            }
            if seat.fetched {
                in_force.refused.push(format!(
                    "the thread did not run for {} s when all should have ended, so it was taken off the processor, which a task of a \
                     higher priority holds; try: --policy fifo:99",
                    PATIENCE.as_secs()
                ));
            }
            let cpu_ns = seat
                .thread
                .join()
                .map_err(|_| Refused::System("a measuring thread failed".into()))?
                .map_err(|error| Refused::System(format!("the timer failed: {error}")))?;
            let state = &seat.state;
            let (max_ns, max_at_ns) = state.max_ns();
            Ok(ThreadMeasured {
                cpu: seat.cpu,
                in_force,
                cycles: state.cycles(),
                missed: state.missed(),
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

/// The life of a measuring thread.
fn work(
    asked: &Asked,
    at: usize,
    cpu: u32,
    state: &State,
    go: &Receiver<Ns>,
    say: &Sender<Result<Prepared, String>>,
) -> std::io::Result<Ns> {
    state.tid.store(gettid().as_raw_nonzero().get() as u32, Relaxed);
    let prepared = prepare(asked, cpu);
    let failed = prepared.is_err();
    // Nobody listens any more when the measurement was given up.
    let _ = say.send(prepared);
    if failed {
        return Ok(0);
    }
    // It is touched in any case; what the limit leaves is locked.
    let _ = prefault_stack(true);
    let Ok(begun_ns) = go.recv() else { return Ok(0) };
    // Wake-ups of the processors are spread over the interval: they are not to wait for each other.
    let share_ns = asked.interval_ns * at as Ns / asked.cpus.len() as Ns;
    let times = Times {
        begun_ns,
        first_ns: to_come(begun_ns + share_ns, asked.interval_ns, monotonic_ns()),
        interval_ns: asked.interval_ns,
        end_ns: begun_ns + asked.for_ns,
    };
    let real_time = sys::policy::of(0, 1).is_ok_and(|policy| !matches!(policy, Policy::Other(_)));
    run(asked, real_time, state, times)
}

/// The first time that is still to come. Who is told to begin after his own first time has slept through none: that is neither a late
/// wake-up nor a missed period.
fn to_come(first_ns: Ns, interval_ns: Ns, now_ns: Ns) -> Ns {
    now_ns
        .checked_sub(first_ns)
        .map_or(first_ns, |late_ns| first_ns + (late_ns / interval_ns + 1) * interval_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::wake::Sleeper;
    use std::sync::mpsc::TryRecvError;

    fn asked(cpus: Vec<u32>, interval_ns: Ns) -> Asked {
        Asked {
            mode: Mode::Timer,
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
    fn threads_that_wait_are_let_go_when_another_cannot_be_had() {
        let first = allowed_cpus()[0];
        let refused = Crew::prepare(&asked(vec![first, 1_000], 100_000), Latest::new(None)).err();
        assert!(matches!(&refused, Some(Refused::System(why)) if why.contains("1000")), "{refused:?}");
    }

    /// One thread that measures nothing and ends when `done` says so.
    fn crew_of(cpu: u32, done: impl Fn(&State) -> bool + Send + 'static) -> Crew {
        let state = Arc::new(State::new(1, 0));
        let (own, (say, told)) = (Arc::clone(&state), channel());
        let thread = std::thread::spawn(move || {
            own.tid.store(gettid().as_raw_nonzero().get() as u32, Relaxed);
            say.send(()).unwrap();
            while !done(&own) {
                sleep(Duration::from_millis(1));
            }
            Ok(0)
        });
        told.recv().unwrap();
        let prepared = Prepared { slack_ns: 1, wake_cost_ns: None, refused: Vec::new() };
        let seat = Seat { cpu, prepared, state, go: channel().0, fetched: false, thread };
        let patience = Duration::from_millis(100);
        Crew { seats: vec![seat], latest: Latest::new(None), median_ns: 0, patience }
    }

    #[test]
    fn a_thread_that_does_not_end_is_fetched_and_that_is_said() {
        // It ends when it has one processor, which it was given by nobody else.
        let crew_cpus = allowed_cpus();
        if crew_cpus.len() < 2 {
            return;
        }
        for stopped in [false, true] {
            let mut crew = crew_of(crew_cpus[0], |_| allowed_cpus().len() == 1);
            let in_force = vec![crew.seats[0].in_force(true, &[])];
            let for_ns = if stopped { Ns::MAX / 2 } else { 1 };
            assert_eq!(crew.watch(monotonic_ns(), for_ns, &mut (), &|| stopped), Ok(stopped));
            let measured = crew.join(in_force).unwrap();
            let refused = &measured[0].in_force.refused;
            assert!(refused.iter().any(|why| why.contains("taken off the processor")), "{refused:?}");
        }
    }

    #[test]
    fn a_thread_that_never_ends_is_given_up_by_its_processor() {
        let (end, ended) = channel::<()>();
        let mut crew = crew_of(17, move |_| ended.try_recv() == Err(TryRecvError::Disconnected));
        let refused = crew.watch(monotonic_ns(), 1, &mut (), &|| false);
        assert!(
            matches!(&refused, Err(Refused::System(why)) if why.contains("of processor 17")),
            "{refused:?}"
        );
        drop(end);
    }

    #[test]
    fn a_thread_that_cannot_keep_its_interval_ends_the_whole_and_that_is_said() {
        let cpu = allowed_cpus()[0];
        let mut crew = crew_of(cpu, |_| true);
        crew.seats[0].state.give_up(12_345);
        // The others are stopped with it.
        crew.seats.extend(crew_of(cpu, |state| state.stop.load(Relaxed)).seats);
        let in_force = crew.seats.iter().map(|seat| seat.in_force(true, &[])).collect();
        assert_eq!(crew.watch(monotonic_ns(), Ns::MAX / 2, &mut (), &|| false), Ok(true));
        let measured = crew.join(in_force).unwrap();
        let refused =
            |at: usize| measured[at].in_force.refused.iter().any(|why| why.ends_with("--interval 50us"));
        assert!(refused(0) && !refused(1), "{measured:?}");
    }

    #[test]
    fn an_affinity_that_the_kernel_does_not_say_is_not_no_cpus() {
        assert_eq!(affinity(gettid().as_raw_nonzero().get() as u32), Seen::Value(allowed_cpus()));
        // No thread has this number: the kernel's own limit is 4194304.
        for tid in [0, i32::MAX as u32] {
            assert!(matches!(affinity(tid), Seen::Unseen(_)), "{:?}", affinity(tid));
        }
    }

    #[test]
    fn lost_late_wake_ups_are_said_where_they_were_worth_telling() {
        let mut crew = crew_of(allowed_cpus()[0], |_| true);
        assert!(!crew.late_lost());
        (0..300).for_each(|wake| crew.seats[0].state.record(wake, wake + 50, 0, 0));
        for (bar_ns, worth) in [(50, true), (51, false)] {
            crew.latest = Latest::new(Some(bar_ns));
            assert_eq!(crew.late_lost(), worth);
        }
    }

    #[test]
    fn who_is_told_late_begins_with_the_next_time_to_come() {
        let first_ns = |now_ns| to_come(1_000, 100, now_ns);
        assert_eq!(
            [0, 999, 1_000, 1_099, 1_100, 5_050].map(first_ns),
            [1_000, 1_000, 1_100, 1_100, 1_200, 5_100]
        );
    }

    #[test]
    fn an_interval_that_a_wake_up_cannot_keep_is_refused_with_one_that_it_can() {
        let refused = Crew::prepare(&asked(vec![allowed_cpus()[0]], 1), Latest::new(None)).err();
        assert!(matches!(&refused, Some(Refused::Asked(why)) if why.contains("us or more")), "{refused:?}");
    }
}

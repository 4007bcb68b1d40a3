//! Real threads on the CPUs of this machine. What depends on the load of other programs is retried.

use dwell_wakes::{Error, LateWakeup, Listener, Measurement, Progress, allowed_cpus, measure};
use model::Seen;
use model::wake::{Bin, Policy, Sleeper, ThreadMeasured, WakeMode, WakeRequest};
use std::cell::Cell;
use std::sync::Mutex;

const MS: u64 = 1_000_000;
const TRIES: usize = 8;
/// Locked memory and real-time threads belong to the process: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn asked() -> WakeRequest {
    WakeRequest {
        mode: WakeMode::Timer,
        sleeper: Sleeper::ClockNanosleep,
        cpus: allowed_cpus(),
        interval_ns: MS,
        for_ns: 300 * MS,
        policy: Policy::Fifo(80),
        loads: Vec::new(),
        deadline: None,
        spike_ns: None,
    }
}

fn measured(asked: &WakeRequest) -> Result<Measurement, Error> {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    measure(asked, &mut (), &|| false)
}

/// Whether every period is a wake-up or missed; the last may be cut off by the end, the first by a
/// late start.
fn adds_up(asked: &WakeRequest, measured: &Measurement) -> bool {
    assert_eq!(measured.threads.len(), asked.cpus.len());
    for (thread, cpu) in measured.threads.iter().zip(&asked.cpus) {
        assert_eq!(thread.cpu, *cpu);
        assert_eq!(thread.histogram.iter().map(|bin| bin.count).sum::<u64>(), thread.cycles);
        assert_eq!(thread.blocks.iter().map(|block| block.cycles).sum::<u64>(), thread.cycles);
        assert_eq!(thread.blocks.iter().map(|block| block.max_ns).max(), Some(thread.max_ns));
        assert!(
            thread.min_ns <= thread.sum_ns / thread.cycles && thread.sum_ns / thread.cycles <= thread.max_ns
        );
        let last = thread.histogram.last().unwrap();
        assert!(last.from_ns <= thread.max_ns && thread.max_ns < last.to_ns);
    }
    let whole =
        |thread: &ThreadMeasured| thread.cycles + thread.missed + 1 >= asked.for_ns / asked.interval_ns;
    measured.threads.iter().all(whole)
}

#[test]
fn every_period_is_a_wake_up_or_missed_for_each_way_to_sleep() {
    for sleeper in [Sleeper::ClockNanosleep, Sleeper::Timerfd, Sleeper::PosixTimer] {
        let asked = WakeRequest { sleeper, ..asked() };
        let whole = (0..TRIES).any(|_| {
            let measured = measured(&asked).unwrap();
            // A wake-up costs something, and less than its period.
            for thread in &measured.threads {
                assert!((1..MS).contains(&(thread.cpu_ns / thread.cycles)), "{sleeper:?} {thread:?}");
            }
            adds_up(&asked, &measured)
        });
        assert!(whole, "{sleeper:?}: periods are neither wake-ups nor missed");
    }
}

#[test]
fn what_is_in_force_is_what_the_kernel_says() {
    let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    /// Reads the settings from /proc while it runs.
    #[derive(Default)]
    struct Witness(Vec<(u32, String, String)>);
    impl Listener for Witness {
        fn begins(&mut self, _: u64, threads: &[(u32, u32)]) {
            for (cpu, tid) in threads {
                let read = |name| std::fs::read_to_string(format!("/proc/self/task/{tid}/{name}")).unwrap();
                self.0.push((*cpu, read("status"), read("stat")));
            }
        }
    }
    for policy in [Policy::Fifo(33), Policy::Rr(5), Policy::Other(7_000)] {
        let asked = WakeRequest { policy, for_ns: 20 * MS, ..asked() };
        let mut witness = Witness::default();
        let measured = measure(&asked, &mut witness, &|| false).unwrap();
        for (thread, (cpu, status, stat)) in measured.threads.iter().zip(&witness.0) {
            let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
            assert_eq!(list.trim(), cpu.to_string());
            assert_eq!(thread.in_force.cpus, Seen::Value(vec![*cpu]));
            // proc(5): rt_priority and policy are fields 40 and 41; the name in brackets may have
            // blanks.
            let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
            let (priority, number): (u32, u32) = (fields[37].parse().unwrap(), fields[38].parse().unwrap());
            match thread.in_force.policy {
                Policy::Fifo(of) => assert_eq!((1, of), (number, priority)),
                Policy::Rr(of) => assert_eq!((2, of), (number, priority)),
                Policy::Other(_) => assert_eq!((0, 0), (number, priority)),
                Policy::Deadline { .. } => panic!("nobody asked for it"),
            }
            assert!(thread.in_force.policy == policy || !thread.in_force.refused.is_empty());
        }
    }
    drop(alone);
}

/// Also if there is a housekeeping CPU: measuring threads must not inherit its affinity.
#[test]
fn a_deadline_thread_may_run_on_its_cpu_and_is_unbound_or_refused_with_a_remedy() {
    let policy = Policy::Deadline { runtime_ns: 100_000, deadline_ns: MS, period_ns: MS };
    // Whether a thread with this process's affinity is granted it.
    let granted = std::thread::spawn(move || sys::policy::set(policy).is_ok()).join().unwrap();
    for cpu in allowed_cpus() {
        let asked = WakeRequest { policy, for_ns: 50 * MS, cpus: vec![cpu], ..asked() };
        let measured = measured(&asked).unwrap();
        let in_force = &measured.threads[0].in_force;
        let bound = in_force.cpus == Seen::Value(vec![cpu]);
        if granted {
            assert_eq!(in_force.policy, policy, "{in_force:?}");
            assert!(bound || in_force.cpus == Seen::Value(allowed_cpus()), "{in_force:?}");
        } else {
            assert!(bound && in_force.refused.iter().any(|why| why.contains("try:")), "{in_force:?}");
        }
    }
}

#[test]
fn a_refused_deadline_policy_falls_back_to_the_best_permitted() {
    // More bandwidth than all CPUs have.
    let policy = Policy::Deadline { runtime_ns: MS, deadline_ns: MS, period_ns: MS };
    let measured = measured(&WakeRequest { policy, for_ns: 50 * MS, ..asked() }).unwrap();
    let highest = dwell_wakes::rt_priority_max().min(80);
    let best = if highest > 0 { Policy::Fifo(highest) } else { Policy::Other(1) };
    // Without real-time throttling it is granted.
    for thread in measured.threads.iter().filter(|thread| thread.in_force.policy != policy) {
        let in_force = &thread.in_force;
        assert_eq!((in_force.policy, &in_force.cpus), (best, &Seen::Value(vec![thread.cpu])), "{in_force:?}");
        assert!(
            in_force.refused.iter().any(|why| why.contains("SCHED_DEADLINE was refused")),
            "{in_force:?}"
        );
    }
}

#[test]
fn a_stopped_measurement_has_what_there_is() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (asked, looks) = (WakeRequest { for_ns: 3_600_000 * MS, ..asked() }, Cell::new(0));
    let measured = measure(&asked, &mut (), &|| looks.replace(looks.get() + 1) > 5).unwrap();
    assert!(measured.interrupted && measured.took_ns < 600_000 * MS);
    assert!(measured.threads.iter().all(|thread| thread.cycles > 0), "{measured:?}");
}

/// Keeps all that is reported.
#[derive(Default)]
struct Log {
    late: Vec<LateWakeup>,
    last: Option<Progress>,
}

impl Listener for Log {
    fn progress(&mut self, progress: Progress) {
        self.last = Some(progress);
    }

    fn late(&mut self, late: LateWakeup) {
        self.late.push(late);
    }
}

#[test]
fn the_maximum_latency_is_reported_while_it_runs() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (asked, mut log) = (asked(), Log::default());
    let measured = measure(&asked, &mut log, &|| false).unwrap();
    let worst = measured.threads.iter().max_by_key(|thread| thread.max_ns).unwrap();
    let found = log.late.iter().find(|late| late.awake_ns - late.expected_ns == worst.max_ns);
    let found = found.unwrap_or_else(|| panic!("{:?} {worst:?}", log.late));
    assert_eq!((found.cpu, found.expected_ns - measured.begun_ns), (worst.cpu, worst.max_at_ns));
    let last = log.last.unwrap();
    assert_eq!(last.cycles, measured.threads.iter().map(|thread| thread.cycles).sum::<u64>());
    assert_eq!(last.max_ns, worst.max_ns);
}

/// A busy ordinary thread on the same CPU, for some time at the higher priority of a real-time
/// thread.
fn hog(cpu: u32, busy_ns: u64) {
    let mut one = rustix::thread::CpuSet::new();
    one.set(cpu as usize);
    rustix::thread::sched_setaffinity(None, &one).unwrap();
    // Before it sleeps: the thread that measures leaves an ordinary one no time.
    sys::policy::set(Policy::Fifo(90)).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    let begun = sys::clock::monotonic_ns();
    while sys::clock::monotonic_ns() < begun + busy_ns {
        std::hint::spin_loop();
    }
}

#[test]
fn a_hog_is_a_gap_of_its_length() {
    if dwell_wakes::rt_priority_max() < 90 {
        return;
    }
    let cpu = allowed_cpus()[0];
    // Other programs' ordinary tasks do not lengthen the gap.
    let policy = Policy::Fifo(50);
    let asked = WakeRequest { mode: WakeMode::Gap, policy, cpus: vec![cpu], ..asked() };
    for tried in 1..=TRIES {
        let hog = std::thread::spawn(move || hog(cpu, 20 * MS));
        let measured = measured(&asked).unwrap();
        hog.join().unwrap();
        let thread = &measured.threads[0];
        assert!(thread.cycles > 10_000 && thread.missed == 0, "{thread:?}");
        // The smallest gap is the cost of a reading.
        assert!(thread.min_ns > 0 && thread.min_ns < 2_000, "{}", thread.min_ns);
        // Steal and other tasks are further gaps.
        let of_its_length = |bin: &Bin| bin.to_ns > 20 * MS && bin.from_ns < 22 * MS;
        if thread.histogram.iter().any(of_its_length) {
            return;
        }
        assert!(tried < TRIES, "{:?}", thread.histogram);
    }
}

#[test]
fn spinning_real_time_threads_leave_the_machine_a_cpu() {
    let asked = WakeRequest { mode: WakeMode::Gap, for_ns: 30 * MS, ..asked() };
    let measured = measured(&asked).unwrap();
    for thread in &measured.threads {
        assert!(matches!(thread.in_force.policy, Policy::Other(_)), "{thread:?}");
        assert!(thread.in_force.refused.iter().any(|why| why.contains("fewer --cpus")), "{thread:?}");
    }
}

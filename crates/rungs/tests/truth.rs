//! Rungs measure what they say: more work takes longer in proportion, memory is slower than a
//! cache, and every rung gives samples or a reason. They fail when a loop is optimised away or
//! foreseen.
//!
//! Machines that run tests are busy: what depends on time is tried several times, and holds when it
//! held once.

use dwell_rungs::{Bench, LadderRequest, Listener, Rung, Samples, Unmeasured, all, machine, measure};
use model::Seen;
use model::recording::Host;
use std::time::{Duration, Instant};
use sys::chase::Chase;
use sys::loops;
use sys::pages::{PageKind, Pages};

/// Tries until it holds; the last failure counts.
fn within_tries(what: impl Fn() -> Result<(), String>) {
    let mut last = String::new();
    for _ in 0..8 {
        match what() {
            Ok(()) => return,
            Err(why) => last = why,
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{last}");
}

/// The smallest time of several, in ns.
fn least_ns(mut work: impl FnMut()) -> f64 {
    let one = |_| {
        let from = Instant::now();
        work();
        from.elapsed().as_nanos() as f64
    };
    (0..30).map(one).fold(f64::INFINITY, f64::min)
}

/// `work(4 n)` takes about four times as long as `work(n)`: it is neither left out nor done at
/// once.
fn in_proportion(what: &str, n: u64, mut work: impl FnMut(u64)) -> Result<(), String> {
    let one = least_ns(|| work(n));
    let four = least_ns(|| work(4 * n));
    let times = four / one;
    if (3.2..5.0).contains(&times) {
        Ok(())
    } else {
        Err(format!("{what}: four times the work takes {times:.2} times as long"))
    }
}

fn random_chase(bytes: usize) -> Chase {
    let places = (bytes / 64) as u32;
    let mut next: Vec<u32> = (0..places).collect();
    let mut state = 88_172_645_463_325_252_u64;
    for last in (1..places).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        next.swap(last as usize, (((state >> 32) * u64::from(last)) >> 32) as usize);
    }
    Chase::link(Pages::obtain(bytes, PageKind::Huge).unwrap(), &next, |place| place * 64)
}

#[test]
fn more_work_takes_longer_in_proportion() {
    let bits: Vec<u8> = (0..400_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 31) as u8).collect();
    // More than a first cache and less than a second one: of 4 MiB not all were in a cache of 2.
    let bytes = vec![1_u8; 256 << 10];
    let mut near = random_chase(16 << 10);
    type Work<'a> = Box<dyn FnMut(u64) + 'a>;
    let works: [(&str, u64, Work); 6] = [
        ("xors", 50_000, Box::new(|n| assert!(loops::xors(n) >= n))),
        ("adds", 50_000, Box::new(|n| assert!(loops::adds(n) >= n))),
        ("multiplications", 20_000, Box::new(|n| assert!(loops::multiplications(n) >= n))),
        ("branches", 100_000, Box::new(|n| loops::branches(&bits[..n as usize]))),
        ("reading", 64 << 10, Box::new(|n| loops::read(&bytes[..n as usize]))),
        ("chasing", 50_000, Box::new(move |n| near.hop(n))),
    ];
    for (what, n, work) in works {
        let work = std::cell::RefCell::new(work);
        within_tries(|| in_proportion(what, n, &mut *work.borrow_mut()));
    }
}

#[test]
fn arithmetic_takes_at_least_its_cycles() {
    // Of a core of 7 GHz a cycle takes 0.14 ns; nothing that waits for what is before it can be
    // faster.
    for (what, run, cycles) in [
        ("xors", loops::xors as fn(u64) -> u64, 1.0),
        ("adds", loops::adds, 1.0),
        ("multiplications", loops::multiplications, 2.0),
    ] {
        let per_op = least_ns(|| {
            run(100_000);
        }) / 100_000.0;
        assert!(per_op > 0.14 * cycles, "{what}: {per_op} ns each");
    }
}

#[test]
fn memory_is_far_slower_than_the_first_cache() {
    let mut near = random_chase(16 << 10);
    let mut far = random_chase(64 << 20);
    let hops = 20_000;
    let (near, far) = (least_ns(|| near.hop(hops)), least_ns(|| far.hop(hops)));
    // Foreseen or overlapping, it would take as long; and in order, a prefetcher hides most of it.
    assert!(far > near * 5.0, "{:.2} ns against {:.2} ns a load", far / hops as f64, near / hops as f64);
}

fn bench<T>(budget_ns: u64, stop: &dyn Fn() -> bool, of: impl Fn(&Bench) -> T) -> T {
    let (machine, asked) = (machine(), LadderRequest { quick: true, ..LadderRequest::default() });
    of(&Bench::new(&machine, &asked, budget_ns, 20.0, stop))
}

fn rung(id: &str) -> Rung {
    all(&LadderRequest::default()).into_iter().find(|rung| rung.about.id == id).unwrap()
}

fn median(samples: &Samples) -> f64 {
    let mut sorted = samples.per_op_ns.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[test]
fn every_rung_gives_samples_or_a_reason() {
    for rung in all(&LadderRequest { quick: true, ..LadderRequest::default() }) {
        let id = &rung.about.id;
        match bench(20_000_000, &|| false, |bench| (rung.measure)(bench)) {
            Ok(samples) => {
                assert!(!samples.per_op_ns.is_empty() && samples.ops_per_sample > 0, "{id}");
                assert!(samples.per_op_ns.iter().all(|ns| ns.is_finite() && *ns > 0.0), "{id}");
                let pairs = samples.baseline_ns.len();
                assert!(pairs == 0 || pairs == samples.per_op_ns.len(), "{id}");
                assert!(samples.bytes_per_s.iter().all(|rate| rate.is_finite() && *rate >= 0.0), "{id}");
            }
            Err(Unmeasured::Absent(why) | Unmeasured::Unseen(why)) => {
                assert!(!why.is_empty() && !why.ends_with('.'), "{id}: {why:?}");
            }
        }
    }
}

#[test]
fn a_random_branch_costs_more_than_a_sorted_one() {
    let branch = rung("branch-miss");
    within_tries(|| {
        let samples = bench(60_000_000, &|| false, |bench| (branch.measure)(bench)).unwrap();
        let less: f64 = samples.baseline_ns.iter().sum::<f64>() / samples.baseline_ns.len() as f64;
        let random = median(&samples);
        if random > less * 2.0 { Ok(()) } else { Err(format!("{random} against {less} ns")) }
    });
}

#[test]
fn what_is_stopped_ends_soon() {
    for id in ["dram-loaded", "lock-contended", "core-to-core", "l1"] {
        let rung = rung(id);
        let from = Instant::now();
        // A budget of an hour.
        let outcome = bench(3_600_000_000_000, &|| from.elapsed() > Duration::from_millis(300), |bench| {
            (rung.measure)(bench)
        });
        assert!(from.elapsed() < Duration::from_secs(60), "{id}: {:?}", from.elapsed());
        assert!(outcome.is_ok() || matches!(outcome, Err(Unmeasured::Absent(_) | Unmeasured::Unseen(_))));
    }
}

struct Heard(Vec<String>);

impl Listener for Heard {
    fn begins(&mut self, id: &str, turn: usize, turns: usize) {
        assert!((1..=turns).contains(&turn));
        self.0.push(id.to_owned());
    }
}

fn host() -> Host {
    Host {
        name: "here".into(),
        kernel: "6".into(),
        arch: "x".into(),
        cpus: 1,
        memory_bytes: Seen::Value(1),
        virtualisation: Seen::Absent,
    }
}

#[test]
fn what_is_not_asked_for_is_not_measured() {
    let asked =
        LadderRequest { quick: true, only: vec!["cycle".into(), "l1".into()], ..LadderRequest::default() };
    let mut heard = Heard(Vec::new());
    let measured = measure(&asked, host(), &mut heard, &|| false);
    assert_eq!(heard.0, ["cycle", "l1"]);
    assert_eq!(measured.rungs.len(), 2);
    assert!(matches!(measured.curve, Seen::Unseen(_)) && !measured.interrupted);
    assert!(
        measured.clock_cost_ns > 0.0 && measured.rungs.iter().all(|rung| rung.conditions.cycle_ns.len() == 2)
    );
    assert!(measured.rungs.iter().all(|rung| rung.conditions.steal_ns.value().is_some()));
}

#[test]
fn what_is_ended_at_once_says_so_for_each_rung() {
    let mut heard = Heard(Vec::new());
    let measured = measure(&LadderRequest::default(), host(), &mut heard, &|| true);
    assert!(measured.interrupted);
    assert!(measured.rungs.iter().all(|rung| matches!(rung.outcome, Err(Unmeasured::Unseen(_)))));
    assert!(matches!(measured.curve, Seen::Unseen(_)));
}

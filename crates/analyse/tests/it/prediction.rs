//! What a run would have gained without a site, told in small stories. Times are microseconds.
//!
//! At the end, programs that fork and join are run again with their reads cut, on a machine with a
//! CPU for each thread: what they gain there is the truth.

use crate::story::*;
use model::account::Basis;
use model::coverage::Interval;
use model::prediction::{Prediction, Site, SiteTimes};
use model::recording::{Event, FileKind, Object, SampleMode, Waker};
use model::{Ns, Reason, RunResult, Seen, State, Tid, WaitTarget};
use proptest::prelude::*;
use std::collections::VecDeque;

const FSYNC: u16 = 74;
const FUTEX: u16 = 202;
const US: Ns = 1000;

fn prediction(analysis: &RunResult) -> &Prediction {
    let prediction = analysis.prediction.value().expect("a program that was started has one");
    assert_eq!(prediction.unedited_ns, analysis.run.wall_ns);
    prediction
}

fn times<'a>(analysis: &'a RunResult, site: &Site) -> Option<&'a SiteTimes> {
    prediction(analysis).sites.iter().find(|times| times.site == *site)
}

/// P, S and A of a site that was watched all along.
fn us_of(analysis: &RunResult, site: &Site) -> [Ns; 3] {
    let times = times(analysis, site).unwrap_or_else(|| panic!("{site:?}: {:#?}", prediction(analysis)));
    [&times.path_ns, &times.saved_ns, &times.alone_ns].map(|seen| {
        let Interval { lo, hi } = seen.value().expect("it was watched");
        assert_eq!(lo, hi, "{times:?}");
        lo / US
    })
}

fn reads() -> Site {
    Site::Call("read".into())
}

fn lock(address: u64) -> Site {
    Site::Lock { pid: ROOT, address }
}

fn futex(address: u64) -> model::recording::SwitchOutState {
    waiting_in(FUTEX, Object::Futex { address })
}

#[test]
fn a_chain_without_waits_saves_what_it_spends() {
    let mut story = Story::begins();
    story.after(20).push(|at| Event::Flush { at, tid: ROOT, calls: call(READ, 15) });
    story.after(20).push(|at| Event::Flush { at, tid: ROOT, calls: call(READ, 5) });
    let analysis = story.ended();
    assert_eq!(us_of(&analysis, &reads()), [20, 20, 20]);
    let all = analysis.run.wall_ns / US - 1;
    assert_eq!(us_of(&analysis, &Site::Program("root".into())), [all; 3], "from its execve on");
}

#[test]
fn the_shorter_of_two_branches_saves_nothing() {
    let mut story = Story::begins();
    story.after(9).forks(ROOT, CHILD, CHILD).forks(ROOT, 300, 300).comes(CHILD).comes(300);
    story.leaves(ROOT, waiting_in(WAIT4, Object::Unknown), none());
    story.after(50).exits(CHILD, call(READ, 40)).wakes(ROOT, by_task(CHILD), none()).dies(CHILD).comes(ROOT);
    story.leaves(ROOT, waiting_in(WAIT4, Object::Unknown), none());
    story.after(70).exits(300, call(SENDTO, 100)).wakes(ROOT, by_task(300), none()).dies(300).comes(ROOT);
    let analysis = story.after(10).ended();
    assert_eq!(us_of(&analysis, &reads()), [0, 0, 0]);
    // Without the longer one the shorter one is: 70 earlier, as long as nothing else runs.
    let [path, saved, alone] = us_of(&analysis, &Site::Call("sendto".into()));
    assert_eq!((path, saved), (100, 70));
    assert!((57..=59).contains(&alone), "70 of its 120 were alone, 100 of them sendto: {alone}");
}

#[test]
fn polls_save_all_of_their_sleeps_at_most_and_what_nobody_worked_in_at_least() {
    let mut story = Story::begins();
    for child in (CHILD..).take(6) {
        story.forks(ROOT, child, child).comes(child);
        story.leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), none());
        story.after(90_000).exits(child, none()).dies(child);
        story.after(160_000).wakes(ROOT, Waker::Timer, none()).comes(ROOT);
    }
    let analysis = story.ended();
    for site in [Site::State(State::Sleep), Site::Call("nanosleep".into())] {
        assert_eq!(us_of(&analysis, &site), [1_500_000, 1_500_000, 960_000]);
    }
    let saving = times(&analysis, &Site::State(State::Sleep)).unwrap().saving_ns(1.0);
    assert_eq!(saving, Seen::Value(Interval { lo: 960_000_000, hi: 1_500_000_000 }));
}

/// Threads that each sleep under a lock and hand it to the next; the root joins the last one.
fn convoy(holds: &[u64]) -> RunResult {
    let join = |number: usize| 4096 + number as u64 * 64;
    let last = holds.len() - 1;
    let mut story = Story::begins();
    let tid = |number: usize| CHILD + number as Tid;
    for number in 0..holds.len() {
        story.forks(ROOT, tid(number), ROOT).comes(tid(number));
    }
    story.leaves(ROOT, futex(join(last)), none());
    for number in 1..holds.len() {
        story.leaves(tid(number), futex(16), none());
    }
    for (number, us) in holds.iter().enumerate() {
        story.leaves(tid(number), waiting_in(NANOSLEEP, Object::Unknown), none());
        story.after(*us).wakes(tid(number), Waker::Timer, none()).comes(tid(number));
        if number < last {
            story.wakes(tid(number + 1), by_task(tid(number)), inside(FUTEX, 0)).comes(tid(number + 1));
        } else {
            story.wakes(ROOT, by_task(tid(number)), inside(FUTEX, 0)).comes(ROOT);
        }
        story.dies(tid(number));
    }
    story.ended()
}

#[test]
fn a_lock_that_is_handed_on_saves_what_its_holders_did() {
    let analysis = convoy(&[100, 70, 130]);
    assert_eq!(us_of(&analysis, &lock(16)), [170, 170, 170], "the last one would sleep at once");
    // The path of the account goes through the holders.
    assert_eq!(us_of(&analysis, &Site::State(State::Sleep)), [300, 300, 300]);
    // Not to wait for the last thread is more than a lock may be about.
    assert_eq!(us_of(&analysis, &lock(4096 + 2 * 64)), [300, 300, 300]);
}

#[test]
fn a_lock_whose_holder_works_is_no_time_alone() {
    let mut story = Story::begins();
    story.forks(ROOT, CHILD, ROOT).comes(CHILD).leaves(ROOT, futex(16), none());
    story.after(80).wakes(ROOT, by_task(CHILD), inside(FUTEX, 0)).comes(ROOT);
    story.dies(CHILD);
    let analysis = story.after(20).ended();
    assert_eq!(us_of(&analysis, &lock(16)), [80, 80, 0]);
}

#[test]
fn a_flush_is_of_its_call_its_file_and_its_state() {
    let file = Object::File { kind: FileKind::Disk, dev: 254 << 20, ino: 7, name: "log".into() };
    let mut story = Story::begins();
    for _ in 0..3 {
        story.after(10).leaves(ROOT, waiting_in(FSYNC, file.clone()), inside(FSYNC, 4));
        story.after(50).wakes(ROOT, Waker::Device, none()).after(1).comes(ROOT);
        story.after(5).push(|at| Event::Flush { at, tid: ROOT, calls: call(FSYNC, 2) });
    }
    let analysis = story.ended();
    assert_eq!(us_of(&analysis, &Site::Call("fsync".into())), [171, 171, 171], "and the way back");
    assert_eq!(us_of(&analysis, &Site::State(State::Disk)), [150, 150, 150]);
    assert_eq!(us_of(&analysis, &Site::State(State::Runqueue)), [3, 3, 3]);
    assert_eq!(us_of(&analysis, &Site::File(Seen::Value("…/log".into()))), [153, 153, 153]);
}

#[test]
fn a_peer_outside_has_its_waits_and_one_inside_only_the_way() {
    let mut far = ends(40_000, 5432);
    far.local[12..].copy_from_slice(&[192, 0, 2, 9]);
    far.remote[12..].copy_from_slice(&[192, 0, 2, 1]);
    let network = |ends| Waker::Network { over: 9000, ready: Some(ends) };
    let server = CHILD;
    let mut story = Story::begins();
    story.forks(ROOT, server, server).comes(server);
    story.leaves(ROOT, waiting_in(RECVFROM, Object::Net(ends(40_000, 80))), none());
    story.after(95).push(|at| Event::Send { at, tid: server, ends: ends(80, 40_000), calls: none() });
    story.after(5).wakes(ROOT, network(ends(40_000, 80)), none()).comes(ROOT);
    story.exits(server, none()).dies(server);
    story.leaves(ROOT, waiting_in(RECVFROM, Object::Net(far)), none());
    story.after(100).wakes(ROOT, network(far), none()).comes(ROOT);
    let analysis = story.ended();
    let peer = |text: &str| {
        let endpoint = model::network::Endpoint::read(text).unwrap();
        Site::Peer(WaitTarget::Tcp(endpoint))
    };
    assert_eq!(us_of(&analysis, &peer("192.0.2.1:5432")), [100, 100, 100]);
    let [path, saved, _] = us_of(&analysis, &peer("127.0.0.1:80"));
    assert_eq!((path, saved), (5, 5));
}

#[test]
fn all_processes_of_one_program_are_one_site() {
    let mut story = Story::begins();
    story.runs_two("cc1");
    let analysis = story.ended();
    assert_eq!(us_of(&analysis, &Site::Program("cc1".into())), [120, 120, 120]);
    assert_eq!(us_of(&analysis, &Site::Program("root".into()))[1], 20 + 1, "before they execute, and exit");
}

/// After a sampling period a sample is taken.
fn sampled(story: &mut Story, mode: SampleMode) {
    let period_ns = 500_000;
    story.after(500).push(|at| Event::Sampled { at, tid: ROOT, mode, ip: 1, period_ns, node: None });
}

#[test]
fn faults_are_known_by_samples() {
    let mut story = Story::begins();
    for sample in 0..8 {
        let mode = if sample % 4 == 0 { SampleMode::User } else { SampleMode::Fault };
        sampled(&mut story, mode);
    }
    story.after(500).push(|at| Event::Flush { at, tid: ROOT, calls: call(READ, 400) });
    let analysis = story.ended();
    for (state, us) in [(State::Fault, 3000), (State::User, 4101 - 3000)] {
        let times = times(&analysis, &Site::State(state)).unwrap();
        assert!(
            times.estimates.unwrap().iter().all(|ns| ns.hi == us * US && ns.lo + US >= ns.hi),
            "{times:?}"
        );
        assert_eq!(times.basis, Basis::Sampled);
        // As sure as eight samples are, in the account too, which shares out all own time by them.
        let part = analysis.run.account.iter().find(|part| part.state == state).unwrap();
        for known in times.known().unwrap() {
            assert!(known.lo.abs_diff(part.lo_ns) < 100 * US, "{known:?} of {part:?}");
            assert!(known.hi.abs_diff(part.hi_ns) < 100 * US, "{known:?} of {part:?}");
        }
    }
    assert_eq!(us_of(&analysis, &reads()), [400; 3], "what is measured is known exactly");
    assert_eq!(us_of(&analysis, &Site::State(State::Kernel))[0], 401);
}

#[test]
fn ways_into_calls_are_the_kernels_and_interrupts_nobodys_code() {
    let mut story = Story::begins();
    for mode in [SampleMode::Entry, SampleMode::InterruptOutside, SampleMode::User] {
        sampled(&mut story, mode);
    }
    story.after(100).push(|at| Event::Flush { at, tid: ROOT, calls: call(READ, 100) });
    let analysis = story.ended();
    let estimates = |state| times(&analysis, &Site::State(state)).unwrap().estimates.unwrap()[0].hi / US;
    assert_eq!([State::Kernel, State::Interrupt, State::User].map(estimates), [601, 500, 501]);
    let kernel = times(&analysis, &Site::State(State::Kernel)).unwrap().known().unwrap()[0];
    assert!(kernel.lo >= 101 * US && kernel.lo < 300 * US && kernel.hi > 1000 * US, "{kernel:?}");
}

/// Children, one after the other, that each run for 100 and have a fault's sample or not.
fn short_lives(samples: &[bool]) -> RunResult {
    let mut story = Story::begins();
    for (child, is_sampled) in (CHILD..).zip(samples) {
        story.forks(ROOT, child, child).comes(child);
        story.leaves(ROOT, waiting_in(WAIT4, Object::Unknown), none());
        if *is_sampled {
            let (mode, period_ns) = (SampleMode::Fault, 250 * US as u32);
            story.push(|at| Event::Sampled { at, tid: child, mode, ip: 1, period_ns, node: None });
        }
        story.after(100).exits(child, none()).wakes(ROOT, by_task(child), none()).dies(child).comes(ROOT);
    }
    story.ended()
}

#[test]
fn what_a_sample_stands_for_is_longer_than_some_processes() {
    let analysis = short_lives(&[true, false, false, false, true, false, false, false]);
    let faults = times(&analysis, &Site::State(State::Fault)).unwrap();
    assert_eq!(faults.estimates, Some([Interval { lo: 500 * US, hi: 500 * US }; 3]));
    // The last one has nobody to leave it to.
    let analysis = short_lives(&[false, false, false, true]);
    let faults = times(&analysis, &Site::State(State::Fault)).unwrap();
    assert_eq!(faults.estimates, Some([Interval { lo: 100 * US, hi: 100 * US }; 3]));
}

#[test]
fn what_a_site_had_before_it_was_watched_widens_it() {
    let mut story = Story::begins();
    story.after(100_000);
    for _ in 0..20 {
        story.after(100).push(|at| Event::Flush { at, tid: ROOT, calls: call(READ, 100) });
    }
    let analysis = story.ended();
    let times = times(&analysis, &reads()).unwrap();
    // The eleventh makes it a hundredth of what had passed by then.
    let known = Seen::Value(Interval { lo: 1_000_000, hi: 2_000_000 });
    assert_eq!((&times.path_ns, &times.saved_ns, &times.alone_ns), (&known, &known, &known));
}

#[test]
fn a_window_has_no_end_that_could_come_earlier() {
    let mut story = Story::begins();
    story.after(50).push(|at| Event::Flush { at, tid: ROOT, calls: call(READ, 40) });
    assert_eq!(story.analysed_from(1_000_000).prediction, Seen::Absent);
}

#[test]
fn who_is_ended_with_its_process_is_where_the_one_that_ends_it_is() {
    let mut story = Story::begins();
    story.after(10).forks(ROOT, CHILD, ROOT).comes(CHILD);
    story.after(30).exits(CHILD, call(READ, 20)).after(1).dies(CHILD);
    story.after(1).leaves(ROOT, model::recording::SwitchOutState::Dead(Default::default()), none());
    let analysis = story.analysed();
    assert_eq!(us_of(&analysis, &reads()), [20, 20, 0]);
}

/// What a thread of a simulated program does.
#[derive(Debug, Clone)]
enum Op {
    Work(u64),
    Read(u64),
    Fork(Vec<Op>),
    /// Waits for the oldest child that it has not waited for.
    Join,
}

/// What is seen of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    /// A read begins.
    Enters {
        tid: Tid,
    },
    Read {
        tid: Tid,
        us: u64,
    },
    Fork {
        tid: Tid,
        child: Tid,
    },
    Blocks {
        tid: Tid,
    },
    Wakes {
        tid: Tid,
        by: Tid,
    },
    Ends {
        tid: Tid,
    },
}

/// A run of such a program on a machine with a CPU for each thread.
struct Simulated {
    /// A read keeps this part of its length, in percent.
    keeps: u64,
    told: Vec<(u64, Told)>,
    /// No child was there before it was waited for.
    all_blocked: bool,
    next: Tid,
}

impl Simulated {
    fn new(ops: &[Op], keeps: u64) -> (Self, u64) {
        let mut simulated = Simulated { keeps, told: Vec::new(), all_blocked: true, next: CHILD };
        let end = simulated.run(ops, ROOT, 0);
        simulated.told.sort_by_key(|(at, told)| (*at, matches!(told, Told::Ends { .. })));
        (simulated, end)
    }

    /// When a thread ends that begins then. After each thing it works for 1, so that no two of what
    /// is seen of it are at once.
    fn run(&mut self, ops: &[Op], tid: Tid, start: u64) -> u64 {
        let mut at = start + 1;
        let mut children = VecDeque::new();
        for op in ops {
            match op {
                Op::Work(us) => at += us,
                Op::Read(us) => {
                    let us = us * self.keeps / 100;
                    self.told.push((at, Told::Enters { tid }));
                    at += us;
                    self.told.push((at, Told::Read { tid, us }));
                }
                Op::Fork(ops) => {
                    let child = self.next;
                    self.next += 1;
                    self.told.push((at, Told::Fork { tid, child }));
                    children.push_back((child, self.run(ops, child, at)));
                }
                Op::Join => match children.pop_front() {
                    Some((by, end)) if end > at => {
                        self.told.push((at, Told::Blocks { tid }));
                        self.told.push((end, Told::Wakes { tid, by }));
                        at = end;
                    }
                    Some(_) => self.all_blocked = false,
                    None => {}
                },
            }
            at += 1;
        }
        self.told.push((at, Told::Ends { tid }));
        at
    }

    /// As a recording has it, up to its end.
    fn analysed(&self, end: u64) -> RunResult {
        let mut story = Story::begins();
        let mut now = 0;
        for (at, told) in self.told.iter().filter(|(at, _)| *at <= end) {
            story.after(at - now);
            now = *at;
            match *told {
                Told::Enters { tid } => {
                    story.push(|at| Event::Flush { at, tid, calls: none() });
                }
                Told::Read { tid, us } => {
                    story.push(|at| Event::Flush { at, tid, calls: call(READ, us) });
                }
                Told::Fork { tid, child } => {
                    story.forks(tid, child, child).comes(child);
                }
                Told::Blocks { tid } => {
                    story.leaves(tid, waiting_in(WAIT4, Object::Unknown), none());
                }
                Told::Wakes { tid, by } => {
                    story.wakes(tid, by_task(by), none()).comes(tid);
                }
                Told::Ends { tid: ROOT } => {}
                Told::Ends { tid } => {
                    story.exits(tid, none()).dies(tid);
                }
            }
        }
        story.after(end - now).ended()
    }
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let leaf = prop::collection::vec(
        prop_oneof![(0_u64..200).prop_map(Op::Work), (0_u64..100).prop_map(|us| Op::Read(2 * us))],
        0..6,
    );
    leaf.prop_recursive(4, 60, 8, |inner| {
        let op = prop_oneof![
            (0_u64..200).prop_map(Op::Work),
            (0_u64..100).prop_map(|us| Op::Read(2 * us)),
            inner.prop_map(Op::Fork),
            Just(Op::Join),
        ];
        prop::collection::vec(op, 0..10)
    })
}

fn on_path(analysis: &RunResult) -> Ns {
    let of_reads = |reason: &Reason| matches!(reason, Reason::Syscall(name) if name.name == "read");
    analysis.run.path.iter().filter(|step| of_reads(&step.reason)).map(|step| step.ns).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_program_that_is_run_again_without_its_reads_saves_what_was_predicted(ops in ops()) {
        let (simulated, end) = Simulated::new(&ops, 100);
        let analysis = simulated.analysed(end);
        prop_assert_eq!(prediction(&analysis).unedited_ns, analysis.run.wall_ns);
        let Some(times) = times(&analysis, &reads()) else { return Ok(()) };
        let known = |seen: &Seen<Interval>| *seen.value().expect("there are few sites");
        let (path, saved, alone) = (known(&times.path_ns), known(&times.saved_ns), known(&times.alone_ns));
        let within = |ns: Ns, interval: Interval| interval.lo <= ns && ns <= interval.hi;
        prop_assert!(within(on_path(&analysis), path), "{times:?}");
        let really = |keeps: u64| (end - Simulated::new(&ops, keeps).1) * US;
        let all = really(0);
        prop_assert!(all <= saved.hi, "{all} of {times:?}");
        prop_assert!(all >= alone.lo.min(saved.lo), "{all} of {times:?}");
        if simulated.all_blocked {
            prop_assert!(within(all, saved), "{all} of {times:?}");
        }
        let half = really(50);
        prop_assert!(within(half, known(&times.saving_ns(0.5))), "{half} of {times:?}");
    }

    #[test]
    fn a_lock_that_is_passed_around_saves_what_all_but_the_last_holder_did(
        holds in prop::collection::vec(10_u64..500, 2..8),
    ) {
        let before: Ns = holds[..holds.len() - 1].iter().sum();
        prop_assert_eq!(us_of(&convoy(&holds), &lock(16)), [before; 3]);
    }

    #[test]
    fn a_poll_loop_saves_its_sleeps_less_what_its_children_did(
        polls in prop::collection::vec((1_u64..500, 1_u64..500), 1..20),
    ) {
        let mut story = Story::begins();
        let (mut slept, mut idle) = (0, 0);
        for (child, (worked, rest)) in (CHILD..).zip(polls) {
            story.forks(ROOT, child, child).comes(child);
            story.leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), none());
            story.after(worked).exits(child, none()).dies(child);
            story.after(rest).wakes(ROOT, Waker::Timer, none()).comes(ROOT);
            (slept, idle) = (slept + worked + rest, idle + rest);
        }
        let analysis = story.ended();
        prop_assert_eq!(us_of(&analysis, &Site::State(State::Sleep)), [slept, slept, idle]);
    }
}

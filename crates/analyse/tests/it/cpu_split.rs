//! Time on a CPU, split: the account, the headline and the table of functions tell the same of a
//! program of many short calls whose softirqs run within them, traced or not.

use crate::story::*;
use model::recording::{CodeLocation, Event, SampleMode};
use model::{Call, Ns, RunResult, Seen, State};
use proptest::prelude::*;

const WRITE: u16 = 1;
/// What a sample stands for.
const PERIOD_US: u64 = 500;

/// What the program does again and again, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Round {
    user: u64,
    /// A softirq over its own code.
    interrupted: u64,
    /// Into the call and out.
    entry: u64,
    /// In the call, without its softirq.
    call: u64,
    softirq: u64,
}

impl Round {
    fn us(self) -> u64 {
        self.user + self.interrupted + self.entry + self.call + self.softirq
    }

    fn share(self, part: u64) -> f64 {
        part as f64 / self.us() as f64
    }

    /// What a sample strikes at this moment of a round.
    fn mode(self, at: u64) -> SampleMode {
        let ends = [self.user, self.interrupted, self.entry, self.call];
        let mut end = 0;
        let nth = ends.iter().position(|length| {
            end += length;
            at < end
        });
        match nth {
            Some(0) => SampleMode::User,
            Some(1) => SampleMode::InterruptOutside,
            Some(2) => SampleMode::Entry,
            Some(_) => SampleMode::Call(Call(WRITE)),
            None => SampleMode::InterruptInCall(Call(WRITE)),
        }
    }
}

/// A program of such rounds with this many samples. `traced` of each ten have calls traced.
fn program(round: Round, samples: u64, traced: u64) -> RunResult {
    let mut story = Story::begins();
    let kernel = CodeLocation::Kernel { address: 0xffff };
    let user = CodeLocation::Native { module: "/usr/bin/prog".to_owned(), address: 0x10 };
    story.push(|_| Event::Place { id: 0, place: user });
    story.push(|_| Event::Place { id: 1, place: kernel });
    story.push(|_| Event::Node { id: 1, caller: 0, place: 0 });
    story.push(|_| Event::Node { id: 2, caller: 1, place: 1 });
    let mut calls_us = 0;
    for sample in 0..samples {
        let is_traced = sample % 10 < traced;
        if sample % 10 == 0 || sample % 10 == traced {
            let calls = if calls_us > 0 { call(WRITE, std::mem::take(&mut calls_us)) } else { none() };
            story.push(|at| Event::Flush { at, tid: ROOT, calls });
            story.push(|at| Event::Tracing { at, calls: is_traced });
        }
        // The golden ratio's multiples are spread evenly over a round.
        let mode = round.mode(((sample * 2_654_435_769 % (1 << 32)) * round.us()) >> 32);
        let node = match mode {
            SampleMode::User => Some(1),
            SampleMode::InterruptOutside => None,
            _ => Some(2),
        };
        let period_ns = (PERIOD_US * 1000) as u32;
        story.after(PERIOD_US / 2).push(|at| Event::Sampled { at, tid: ROOT, mode, ip: 1, period_ns, node });
        story.after(PERIOD_US / 2);
        if is_traced {
            calls_us += PERIOD_US * (round.call + round.softirq) / round.us();
        }
    }
    let calls = if calls_us > 0 { call(WRITE, calls_us) } else { none() };
    story.push(|at| Event::Flush { at, tid: ROOT, calls });
    story.analysed()
}

/// The interval of a state's share of the time on a CPU.
fn of_account(analysis: &RunResult, state: State) -> (f64, f64) {
    let on_cpu: Ns = analysis.run.account.iter().filter(|part| part.state.on_cpu()).map(|part| part.ns).sum();
    let part = analysis.run.account.iter().find(|part| part.state == state);
    part.map_or((0.0, 0.0), |part| (part.lo_ns as f64 / on_cpu as f64, part.hi_ns as f64 / on_cpu as f64))
}

/// The interval of a function's share.
fn of_function(analysis: &RunResult, which: &str) -> (f64, f64) {
    let Seen::Value(functions) = &analysis.run.tables.functions else { panic!("no functions") };
    let row = functions.iter().find(|row| row.name.starts_with(which));
    row.map_or((0.0, 0.0), |row| (row.share.lo, row.share.hi))
}

fn overlap(one: (f64, f64), other: (f64, f64)) -> bool {
    one.0 <= other.1 && other.0 <= one.1
}

fn holds(of: (f64, f64), truth: f64) -> bool {
    // Rounds are sampled in turn, so a share is nearly exact, and whole microseconds are not.
    of.0 - 0.01 <= truth && truth <= of.1 + 0.01
}

#[test]
fn softirqs_in_calls_are_not_the_programs_code() {
    // redis-benchmark on the loopback: a tenth is its own code, nearly a third is the softirq of
    // what it sends.
    let round = Round { user: 10, interrupted: 0, entry: 15, call: 45, softirq: 30 };
    for traced in [0, 1, 10] {
        let analysis = program(round, 4000, traced);
        let user = analysis.run.user_ns.value().copied().unwrap() as f64;
        let share = user / (user + analysis.run.kernel_ns.value().copied().unwrap() as f64);
        assert!((0.08..0.12).contains(&share), "{traced}: {share}");
        assert_eq!(us(&analysis.run, State::Interrupt), 0, "{traced}: it is the call's");
    }
}

#[test]
fn softirqs_over_its_own_code_are_a_part_of_their_own() {
    let round = Round { user: 70, interrupted: 20, entry: 2, call: 8, softirq: 0 };
    let analysis = program(round, 2000, 10);
    let interrupt = analysis.run.account.iter().find(|part| part.state == State::Interrupt).unwrap();
    assert_eq!(interrupt.basis, model::Basis::Sampled);
    assert!(holds(of_account(&analysis, State::Interrupt), 0.2), "{interrupt:?}");
    assert!(holds(of_account(&analysis, State::User), 0.7), "{:?}", analysis.run.account);
    assert!(holds(of_function(&analysis, "(interrupts)"), 0.2), "{:?}", analysis.run.tables.functions);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn account_and_functions_agree_within_their_intervals(
        user in 1_u64..60,
        interrupted in 0_u64..20,
        entry in 0_u64..30,
        call in 1_u64..60,
        softirq in 0_u64..60,
        traced in 0_u64..=10,
    ) {
        let round = Round { user, interrupted, entry, call, softirq };
        let analysis = program(round, 2000, traced);
        for (state, function, part) in
            [(State::User, "prog", user), (State::Interrupt, "(interrupts)", interrupted)]
        {
            let (account, table) = (of_account(&analysis, state), of_function(&analysis, function));
            prop_assert!(overlap(account, table), "{state:?}: {account:?} {table:?}");
            prop_assert!(holds(account, round.share(part)), "{state:?}: {account:?} {}", round.share(part));
            prop_assert!(holds(table, round.share(part)), "{state:?}: {table:?} {}", round.share(part));
        }
    }
}

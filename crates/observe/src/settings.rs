//! How a recording is made: the settings that the command line fills in and the sources read.

use crate::surroundings::GivenLink;
use crate::unit_probes::UnitProbes;
use model::Ns;
use model::requests::Units;
use std::num::NonZeroU32;

/// How a program, or a running one, is observed.
#[derive(Debug, Clone)]
pub struct Watching {
    /// The source of events.
    pub source: Choice,
    /// The sampling rate of running code.
    pub rate: Rate,
    /// The limit of overhead.
    pub max_overhead: MaxOverhead,
    /// Capacities of links that override the kernel's.
    pub links: Vec<GivenLink>,
    /// Whether name lookups of the C library are traced too.
    pub names: bool,
    /// Whether requests are told apart by what they ask for, as far as it can be read.
    pub kinds: bool,
    /// What is accounted for as one piece of work.
    pub units: Units,
    /// Where such pieces begin and end, of calls and operations.
    pub unit_probes: Option<UnitProbes>,
}

/// The overhead beyond which syscalls are traced only in windows, as a share of the program's CPU
/// time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MaxOverhead {
    /// Unbounded: every syscall is traced.
    Unbounded,
    /// Of all instruments together. Where counting would cost more, syscalls are counted in windows
    /// too.
    All(f64),
    /// Of all instruments but one: every syscall is counted, whatever that costs.
    BesideCounting(f64),
}

impl MaxOverhead {
    /// The share; none without a bound.
    pub(crate) fn share(self) -> Option<f64> {
        match self {
            MaxOverhead::Unbounded => None,
            MaxOverhead::All(share) | MaxOverhead::BesideCounting(share) => Some(share),
        }
    }
}

/// The sampling rate of running code, per CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rate {
    /// About 2 kHz at first, about 335 Hz later: the overhead of samples stays small.
    #[default]
    ByAge,
    /// One sample every N nanoseconds, whatever the overhead.
    Every(Ns),
}

impl Rate {
    /// A rate in Hz.
    pub fn hertz(hertz: NonZeroU32) -> Self {
        Rate::Every(1_000_000_000 / Ns::from(hertz.get()))
    }

    /// The shortest period; `by_age` is the one at first.
    pub(crate) fn period_ns(self, by_age: Ns) -> Ns {
        match self {
            Rate::ByAge => by_age,
            Rate::Every(ns) => ns,
        }
    }
}

/// The source of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The best available on this host.
    #[default]
    Auto,
    /// BPF, or an error.
    Bpf,
    /// perf events and `/proc`.
    Perf,
    /// `/proc` alone.
    Proc,
}

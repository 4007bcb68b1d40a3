//! The processor's counters, sampled: at how much of what a sample is taken, and opening them.
//!
//! A counter is sampled by what it counts and not read at samples of time: what was counted since
//! the last of those is of all functions that ran in between. Each counter's samples strike code in
//! proportion to what it counts there, so that functions that take turns each microsecond have each
//! their own. Fixed periods bound the rate: no program makes a processor count faster. They also
//! tell, in a record, which counter overflowed, so that no two are the same.

use crate::access;
use host::counters::{CounterUnit, Encoding};
use model::counters::{Counter, CounterTimes, CountersObserved};
use model::{Ns, Seen, Tid};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use sys::perf_event::{self, bindings::perf_event_attr};

/// At how much of what a sample of a young program is taken: some 1,000 times a second of a busy
/// CPU of today. No two share a factor with loops of round numbers. AMD's precise cycles come in
/// steps of 16.
const PERIODS: [(Counter, u64); 7] = [
    (Counter::Cycles, 2_000_016),
    (Counter::Instructions, 2_000_003),
    (Counter::BranchMisses, 20_011),
    (Counter::LastLevelMisses, 20_021),
    (Counter::Slots, 12_000_017),
    (Counter::FrontEndSlots, 6_000_011),
    (Counter::BackEndSlots, 6_000_023),
];
/// A later sample stands for this many early ones, as of the sampling clock.
const LATER: u64 = 6;
/// How long a program is young. Longer than for the clock: ratios need more samples than shares.
pub(crate) const YOUNG_NS: Ns = 1_000_000_000;

/// Descriptors that are left for other uses.
const OTHER_FILES: u64 = 512;

/// Which counter is sampled with this period.
pub(crate) fn of_period(period: u64) -> Option<Counter> {
    PERIODS.iter().find(|(_, young)| period == *young || period == young * LATER).map(|(counter, _)| *counter)
}

/// The attributes that counters of one use have in common.
pub(crate) type Common<'a> = &'a dyn Fn(perf_event_attr) -> perf_event_attr;

/// Open counters.
#[derive(Debug)]
pub(crate) struct Counters {
    of: Vec<OpenCounter>,
    slots_per_cycle: Seen<u32>,
    kernel: bool,
    young: bool,
}

#[derive(Debug)]
struct OpenCounter {
    counter: Counter,
    events: Vec<OwnedFd>,
    precise: bool,
    /// Why it was not opened, on the first CPU that refused.
    refused: Option<String>,
}

impl Counters {
    /// Opens them on these CPUs, for `thread`, and passes each to `with`.
    ///
    /// # Errors
    /// Why there are none: in words.
    pub(crate) fn open(
        units: &[CounterUnit],
        (cpus, thread): (&[u32], Tid),
        kernel: bool,
        common: Common<'_>,
        mut with: impl FnMut(u32, &OwnedFd) -> io::Result<()>,
    ) -> Result<Self, String> {
        if units.is_empty() {
            return Err(NONE.to_owned());
        }
        let events = (cpus.len() * PERIODS.len()) as u64;
        if access::files_max() < events + OTHER_FILES {
            return Err(format!(
                "{events} events and {OTHER_FILES} other files may not be open at once: ulimit -n"
            ));
        }
        let mut of: Vec<OpenCounter> = Counter::ALL
            .map(|counter| OpenCounter { counter, events: Vec::new(), precise: true, refused: None })
            .into();
        for cpu in cpus {
            // A CPU of no unit has no counters; what is counted is that of the others.
            let here =
                |unit: &&CounterUnit| unit.cpus.as_ref().is_none_or(|all| all.as_slice().contains(cpu));
            let Some(unit) = units.iter().find(here) else { continue };
            for (open, (_, encoding)) in of.iter_mut().zip(&unit.of) {
                let opened = match encoding {
                    Seen::Value(encoding) => {
                        open_one(open.counter, *encoding, (*cpu, thread), kernel, common)
                            .and_then(|(event, precise)| with(*cpu, &event).map(|()| (event, precise)))
                            .map_err(|error| (error.raw_os_error(), said(&error)))
                    }
                    // It is not needed here.
                    Seen::Absent => continue,
                    Seen::Unseen(why) => Err((None, why.clone())),
                };
                match opened {
                    Ok((event, precise)) => {
                        open.events.push(event);
                        open.precise &= precise;
                    }
                    // Listed, but not available: it went offline in between.
                    Err((Some(libc::ENODEV), _)) => {}
                    Err((_, why)) => open.refused = open.refused.take().or(Some(why)),
                }
            }
        }
        let cycles = &of[0];
        if cycles.events.is_empty() {
            return Err(cycles.refused.clone().unwrap_or_else(|| NONE.to_owned()));
        }
        let mut slots = units.iter().map(|unit| &unit.slots_per_cycle);
        let first = slots.next().cloned().unwrap_or(Seen::Absent);
        let slots_per_cycle = match slots.all(|other| *other == first) {
            true => first,
            false => Seen::unseen("CPUs of several kinds have different numbers of slots"),
        };
        Ok(Self { of, slots_per_cycle, kernel, young: true })
    }

    /// The program is older now: fewer samples are taken.
    pub(crate) fn keep(&mut self, age_ns: Ns) {
        if !self.young || age_ns < YOUNG_NS {
            return;
        }
        self.young = false;
        for open in &self.of {
            for event in &open.events {
                // Where it is refused the high rate stays.
                let _ = perf_event::set_period(event.as_fd(), open.period() * LATER);
            }
        }
    }

    /// What was observed so far. `lost`: samples that could not be delivered.
    pub(crate) fn observed(&self, lost: u64) -> CountersObserved {
        let of = self.of.iter().filter_map(|open| {
            let sum = open.events.iter().filter_map(|event| perf_event::times(event.as_fd()).ok()).fold(
                open.before(),
                |sum, (enabled, running)| CounterTimes {
                    enabled_ns: sum.enabled_ns + enabled,
                    running_ns: sum.running_ns + running,
                    ..sum
                },
            );
            let seen = match (&open.refused, open.events.is_empty()) {
                (None, true) => return None,
                (Some(why), true) => Seen::unseen(why),
                (_, false) if sum.running_ns == 0 => {
                    Seen::unseen("it never counted: other programs have the processor's counters")
                }
                (_, false) => Seen::Value(sum),
            };
            Some((open.counter, seen))
        });
        CountersObserved {
            of: of.collect(),
            slots_per_cycle: self.slots_per_cycle.clone(),
            kernel: self.kernel,
            lost,
        }
    }
}

impl OpenCounter {
    /// The period of a young program.
    fn period(&self) -> u64 {
        PERIODS.iter().find(|(counter, _)| *counter == self.counter).map_or(0, |(_, period)| *period)
    }

    /// Before it has counted.
    fn before(&self) -> CounterTimes {
        CounterTimes { enabled_ns: 0, running_ns: 0, period: self.period() * LATER, precise: self.precise }
    }
}

/// The reason where there are none.
const NONE: &str = "the kernel lists no counters of this processor, as in most virtual machines";

fn open_one(
    counter: Counter,
    encoding: Encoding,
    (cpu, thread): (u32, Tid),
    kernel: bool,
    common: Common<'_>,
) -> io::Result<(OwnedFd, bool)> {
    let mut attr = common(attributes(counter, encoding, kernel));
    // Samples of cycles tell which instruction; of the others, which function is enough. Arm's
    // kernel takes any value, and does nothing for it.
    let precise: &[u64] = match counter {
        Counter::Cycles if cfg!(target_arch = "x86_64") => &[3, 2, 1, 0],
        _ => &[0],
    };
    let mut refused = None;
    for precise in precise {
        attr.set_precise_ip(*precise);
        match perf_event::open(&attr, thread, cpu) {
            Ok(event) => return Ok((event, *precise > 0)),
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.unwrap_or_else(|| io::ErrorKind::Unsupported.into()))
}

/// What an event of a counter begins with.
fn attributes(counter: Counter, encoding: Encoding, kernel: bool) -> perf_event_attr {
    let mut attr = perf_event_attr::default();
    attr.type_ = encoding.kind;
    attr.config = encoding.config[0];
    attr.__bindgen_anon_3.config1 = encoding.config[1];
    attr.__bindgen_anon_4.config2 = encoding.config[2];
    attr.__bindgen_anon_1.sample_period =
        PERIODS.iter().find(|(one, _)| *one == counter).map_or(0, |(_, period)| *period);
    attr.read_format = perf_event::WITH_TIMES;
    if !kernel {
        attr.set_exclude_kernel(1);
        attr.set_exclude_hv(1);
    }
    attr
}

/// An error in words that say what it means here.
fn said(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENXIO) => {
            format!("this processor has no such counter for the kernel, as in most virtual machines: {error}")
        }
        Some(libc::EACCES | libc::EPERM) => {
            let level = perf_event::paranoid().map(|level| format!(" (perf_event_paranoid is {level})"));
            let filter = access::sandboxed().map_or("", |_| "; a seccomp filter is in force");
            format!("perf_event_open: {error}{}{filter}", level.unwrap_or_default())
        }
        Some(libc::EBUSY) => format!("another program has exclusive use of it: {error}"),
        _ => format!("perf_event_open: {error}"),
    }
}

/// Opens each counter of the calling thread for `dwell doctor`: those that there are, and why not
/// all.
///
/// # Errors
/// Why there are none.
pub(crate) fn trial() -> Result<CountersObserved, String> {
    let cpu = host::cpus(host::here()).into_iter().next().unwrap_or_default();
    let units = host::counters::units(host::here());
    let opened = |kernel| Counters::open(&units, (&[cpu], 0), kernel, &|attr| attr, |_, _| Ok(()));
    let counters = opened(true).or_else(|_| opened(false))?;
    let mut observed = counters.observed(0);
    // Of a thread that is on another CPU none has run.
    for (counter, seen) in &mut observed.of {
        let open = counters.of.iter().find(|open| open.counter == *counter);
        if let Some(open) = open.filter(|open| !open.events.is_empty()) {
            *seen = Seen::Value(open.before());
        }
    }
    Ok(observed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use sys::perf_event::bindings;

    #[test]
    fn a_period_tells_its_counter_while_young_and_later() {
        let all: Vec<u64> = PERIODS.iter().flat_map(|(_, young)| [*young, young * LATER]).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "no two are the same");
        assert_eq!(PERIODS.map(|(counter, _)| counter), Counter::ALL);
        assert_eq!(of_period(20_011), Some(Counter::BranchMisses));
        assert_eq!(of_period(12_000_096), Some(Counter::Cycles));
        assert!(PERIODS[0].1.is_multiple_of(16) && of_period(1_000_000).is_none());
    }

    #[test]
    fn without_counters_it_is_said_why() {
        let none = Counters::open(&[], (&[0], 0), false, &|attr| attr, |_, _| Ok(()));
        assert!(none.unwrap_err().contains("virtual machines"));
        let nowhere = Seen::Value(Encoding { kind: u32::MAX, config: [0; 3] });
        let of = Counter::ALL.map(|counter| (counter, nowhere.clone())).into();
        let unit = CounterUnit { name: "cpu".into(), cpus: None, slots_per_cycle: Seen::Absent, of };
        let refused = Counters::open(&[unit], (&[0], 0), false, &|attr| attr, |_, _| Ok(()));
        assert!(refused.unwrap_err().contains("no such counter"));
    }

    #[test]
    fn a_counter_that_others_have_is_unseen_and_not_0() {
        let busy = said(&io::Error::from_raw_os_error(libc::EBUSY));
        assert!(busy.starts_with("another program has exclusive use of it: "), "{busy}");
        // It is open and never counts: as where others have the counters all the time.
        let clock = Encoding { kind: bindings::PERF_TYPE_SOFTWARE, config: [1, 0, 0] };
        let of = Counter::ALL.map(|counter| (counter, Seen::Value(clock)));
        let unit =
            CounterUnit { name: "cpu".into(), cpus: None, slots_per_cycle: Seen::Absent, of: of.into() };
        let disabled = |mut attr: bindings::perf_event_attr| {
            attr.set_disabled(1);
            attr
        };
        let cpus = host::cpus(host::here());
        let counters = Counters::open(&[unit], (&cpus, 0), false, &disabled, |_, _| Ok(())).unwrap();
        for (counter, seen) in counters.observed(0).of {
            let Seen::Unseen(why) = seen else { panic!("{counter:?}: {seen:?}") };
            assert_eq!(why, "it never counted: other programs have the processor's counters");
        }
    }

    #[test]
    fn a_counter_of_the_kernels_own_is_opened_and_says_its_times() {
        // The task clock stands for a counter: it is there also in a virtual machine.
        let clock = Encoding { kind: bindings::PERF_TYPE_SOFTWARE, config: [1, 0, 0] };
        let of = Counter::ALL.map(|counter| match counter {
            Counter::Cycles => (counter, Seen::Value(clock)),
            _ => (counter, Seen::unseen("not here")),
        });
        let unit =
            CounterUnit { name: "cpu".into(), cpus: None, slots_per_cycle: Seen::Value(4), of: of.into() };
        let cpus = host::cpus(host::here());
        let mut passed = 0;
        let mut with = |_, _: &OwnedFd| {
            passed += 1;
            Ok(())
        };
        let mut counters = Counters::open(&[unit], (&cpus, 0), false, &|attr| attr, &mut with).unwrap();
        assert_eq!(passed, cpus.len());
        counters.keep(YOUNG_NS);
        let until = sys::clock::monotonic_ns() + 5_000_000;
        while sys::clock::monotonic_ns() < until {}
        let observed = counters.observed(7);
        assert_eq!((observed.lost, &observed.slots_per_cycle), (7, &Seen::Value(4)));
        let Seen::Value(times) = &observed.of[0].1 else { panic!("{observed:?}") };
        assert!(times.running_ns >= 4_000_000 && times.enabled_ns >= times.running_ns, "{times:?}");
        assert_eq!(observed.of[1], (Counter::Instructions, Seen::unseen("not here")));
    }
}

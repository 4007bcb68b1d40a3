//! What the processor's counters say, by function and in all: samples of counts, added up.
//!
//! A sample stands for its period; one of a counter that took turns with others stands for as much
//! more. A ratio of two counts has the interval that the numbers of their samples leave open.

use crate::bounded::{Bounded, texts};
use crate::code::Code;
use crate::counted::{CounterHit, Sampled};
use model::counters::{
    Counted, CountedCode, CountedFunction, Counter, CounterPart, CounterRow, CounterTable, CounterTimes,
    CountersObserved, Ratio,
};
use model::recording::Trailer;
use model::{Event, Ns, Seen};
use rustc_hash::FxHashMap;

/// With fewer samples below the line a ratio is not known to half of itself.
const BELOW_MIN: u64 = 20;
/// Rows of the table, and the samples of cycles that one has at least: they are known to a third.
const ROWS: usize = 40;
const SAMPLES_MIN: u64 = 30;
/// The quantile of a 95 % interval.
const Z: f64 = 1.96;

/// Counts as they come.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    sums: ByPlace,
}

/// By node of the code (0: not known), and whether that is in the kernel.
type ByPlace = FxHashMap<(u32, bool), Sums>;

/// Of each counter, in the order of [`Counter::ALL`].
type Sums = [Sampled; Counter::ALL.len()];

fn add(all: &mut Sums, more: &Sums) {
    all.iter_mut().zip(more).for_each(|(sum, more)| *sum += *more);
}

fn adds(sums: &mut ByPlace, place: CounterHit, sum: Sampled) {
    sums.entry((place.node, place.kernel)).or_default()[place.counter as usize] += sum;
}

/// What was counted on the path, and its time in user mode and in the kernel.
#[derive(Debug)]
pub(crate) struct OnPath {
    pub(crate) counts: Vec<(CounterHit, Sampled)>,
    pub(crate) times: (Ns, Ns),
}

impl Counters {
    /// Takes one event.
    pub(crate) fn event(&mut self, event: &Event) {
        if let Some((place, sum)) = CounterHit::of(event) {
            adds(&mut self.sums, place, sum);
        }
    }

    /// Samples of cycles in user mode that are at the very instructions, by place: as many as tell
    /// more than samples of time do. None where they are not precise.
    pub(crate) fn precise_cycles(&self, trailer: &Trailer) -> Vec<(u32, f64, u64)> {
        let is_precise = |(counter, seen): &(Counter, Seen<CounterTimes>)| {
            *counter == Counter::Cycles && seen.value().is_some_and(|times| times.precise)
        };
        if !trailer.counters.value().is_some_and(|observed| observed.of.iter().any(is_precise)) {
            return Vec::new();
        }
        let cycles = |sums: &Sums| sums[Counter::Cycles as usize];
        let in_user = self.sums.iter().filter(|((node, kernel), _)| *node > 0 && !kernel);
        let mut all: Vec<_> = in_user
            .map(|((node, _), sums)| (*node, cycles(sums).count, cycles(sums).samples))
            .filter(|(_, _, samples)| *samples > 0)
            .collect();
        all.sort_by_key(|(node, ..)| *node);
        let samples: u64 = all.iter().map(|(_, _, samples)| samples).sum();
        if samples >= SAMPLES_MIN { all } else { Vec::new() }
    }

    /// The table, by functions of `code`; `times`: in user mode and in the kernel, of all threads.
    pub(crate) fn table(
        self,
        code: &Code,
        trailer: &Trailer,
        times: (Ns, Ns),
        path: Seen<OnPath>,
    ) -> Seen<CounterTable> {
        trailer.counters.as_ref().and_then(|observed| {
            let scale = Scale::new(observed, &self.sums);
            let all = scale.code(&self.sums, code, times);
            if all.samples == 0 {
                return Seen::unseen("no counter came to a sample: the program had too little of a CPU");
            }
            let of_path = |OnPath { counts, times }| {
                let mut sums = ByPlace::default();
                counts.into_iter().for_each(|(place, sum)| adds(&mut sums, place, sum));
                scale.code(&sums, code, times)
            };
            let precise = observed.of.iter().any(|(counter, seen)| {
                *counter == Counter::Cycles && seen.value().is_some_and(|times| times.precise)
            });
            Seen::Value(CounterTable { all, path: path.map(of_path), parts: scale.parts(), precise })
        })
    }
}

/// What samples stand for.
struct Scale<'a> {
    observed: &'a CountersObserved,
    /// Of each counter: what a sample's period is multiplied by.
    of: [f64; Counter::ALL.len()],
}

impl<'a> Scale<'a> {
    fn new(observed: &'a CountersObserved, sums: &ByPlace) -> Self {
        let taken: u64 = sums.values().flatten().map(|sum| sum.samples).sum();
        let lost = 1.0 + observed.lost as f64 / taken.max(1) as f64;
        let mut of = [lost; Counter::ALL.len()];
        for (counter, seen) in &observed.of {
            let part = seen.value().and_then(|times| times.part());
            of[*counter as usize] = lost / part.unwrap_or(1.0);
        }
        Self { observed, of }
    }

    /// Some code, in all and by function; `times`: its time in user mode and in the kernel.
    fn code(&self, sums: &ByPlace, code: &Code, (user_ns, kernel_ns): (Ns, Ns)) -> CountedCode {
        let mut modes = [Sums::default(); 2];
        let mut functions: FxHashMap<(String, String, bool), Sums> = FxHashMap::default();
        for ((node, kernel), sums) in sums {
            add(&mut modes[usize::from(*kernel)], sums);
            if let Some((function, module)) = code.function(*node) {
                add(functions.entry((function, module, *kernel)).or_default(), sums);
            }
        }
        let [user, kernel] = modes;
        let cycles = |sums: &Sums| sums[Counter::Cycles as usize];
        let samples = cycles(&user).samples + cycles(&kernel).samples;
        // Where the kernel is not counted its time is not, either.
        let over_ns = user_ns + if self.observed.kernel { kernel_ns } else { 0 };
        let count = (cycles(&user).count + cycles(&kernel).count) * self.of[Counter::Cycles as usize];
        let clock_hz = match (samples >= BELOW_MIN, over_ns) {
            (true, 1..) => Seen::Value((count / over_ns as f64 * 1e9).round()),
            _ => Seen::unseen("too few samples of cycles"),
        };
        let mut functions: Vec<_> =
            functions.into_iter().filter(|(_, sums)| cycles(sums).samples >= SAMPLES_MIN).collect();
        functions
            .sort_by(|(a, x), (b, y)| cycles(y).count.total_cmp(&cycles(x).count).then_with(|| a.cmp(b)));
        functions.truncate(ROWS);
        let row = |((function, module, kernel), sums): ((String, String, bool), Sums)| CountedFunction {
            function,
            module,
            mode: if kernel { "kernel" } else { "user" }.to_owned(),
            counted: self.counted(&sums),
        };
        CountedCode {
            user: self.counted(&user),
            kernel: match self.observed.kernel {
                true => Seen::Value(self.counted(&kernel)),
                false => Seen::unseen("counting in the kernel was not permitted"),
            },
            clock_hz,
            samples,
            functions: functions.into_iter().map(row).collect(),
        }
    }

    fn times(&self, counter: Counter) -> Seen<&'a CounterTimes> {
        let found = self.observed.of.iter().find(|(one, _)| *one == counter);
        found.map_or_else(|| Seen::unseen("it was not looked for"), |(_, seen)| seen.as_ref())
    }

    fn parts(&self) -> Vec<CounterPart> {
        let part = |(counter, seen): &(Counter, Seen<CounterTimes>)| {
            let part = seen
                .as_ref()
                .and_then(|times| times.part().map_or_else(|| Seen::unseen("it never counted"), Seen::Value));
            CounterPart { counter: *counter, part: part.map(|part| (part * 1000.0).round() / 1000.0) }
        };
        self.observed.of.iter().map(part).collect()
    }

    fn counted(&self, sums: &Sums) -> Counted {
        let counts = self.observed.of.iter().map(|(counter, seen)| {
            let sum = sums[*counter as usize];
            let count = seen.as_ref().map(|_| (sum.count * self.of[*counter as usize]).round() as u64);
            CounterRow { counter: *counter, count, samples: sum.samples }
        });
        let per_1000 = |of| self.ratio(sums, of, (Counter::Instructions, 1e-3));
        let of_slots = |of| match self.times(Counter::Slots) {
            Seen::Value(_) => self.ratio(sums, of, (Counter::Slots, 1.0)),
            _ => match &self.observed.slots_per_cycle {
                Seen::Value(slots) => self.ratio(sums, of, (Counter::Cycles, f64::from(*slots))),
                Seen::Absent => self.times(of).and_then(|_| Seen::Absent),
                Seen::Unseen(why) => self.times(of).and_then(|_| Seen::unseen(why)),
            },
        };
        Counted {
            counts: counts.collect(),
            instructions_per_cycle: self.ratio(sums, Counter::Instructions, (Counter::Cycles, 1.0)),
            branch_misses_per_1000: per_1000(Counter::BranchMisses),
            last_level_misses_per_1000: per_1000(Counter::LastLevelMisses),
            front_end_stalled: of_slots(Counter::FrontEndSlots),
            back_end_stalled: of_slots(Counter::BackEndSlots),
        }
    }

    /// Counts of one for this many of another: `times` as many as that was counted. The logarithm
    /// of a count of n samples has a variance of 1/n.
    fn ratio(&self, sums: &Sums, above: Counter, (below, times): (Counter, f64)) -> Seen<Ratio> {
        self.times(above).zip(self.times(below)).and_then(|(of, _)| {
            let (a, b) = (sums[above as usize], sums[below as usize]);
            if b.samples < BELOW_MIN {
                return Seen::unseen("too few samples");
            }
            let round = |value: f64| (value * 1e4).round() / 1e4;
            let below = b.count * self.of[below as usize] * times;
            let scale = self.of[above as usize];
            if a.samples == 0 {
                let hi = stats::poisson::at_most(0) * of.period as f64 * scale / below;
                return Seen::Value(Ratio { value: 0.0, lo: 0.0, hi: round(hi) });
            }
            let value = a.count * scale / below;
            let off = (Z * (1.0 / a.worth() + 1.0 / b.worth()).sqrt()).exp();
            Seen::Value(Ratio { value: round(value), lo: round(value / off), hi: round(value * off) })
        })
    }
}

impl Bounded for CounterTable {
    fn cut_texts(&mut self) {
        let of_path = self.path.value_mut().into_iter().flat_map(|code| &mut code.functions);
        for row in self.all.functions.iter_mut().chain(of_path) {
            texts::text(&mut row.function);
            texts::text(&mut row.module);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Header;
    use model::recording::{CodeLocation, Ending, Function, Host, Tier};

    const PERIOD: [u64; 7] = [2_000_016, 2_000_003, 20_011, 20_021, 12_000_017, 6_000_011, 6_000_023];

    fn header() -> Header {
        let host = Host {
            name: "host".into(),
            kernel: "6.12".into(),
            arch: "x86_64".into(),
            cpus: 2,
            memory_bytes: Seen::Absent,
            virtualisation: Seen::Absent,
        };
        Header {
            format: 1,
            recorder: "0".into(),
            command: Vec::new(),
            started_at_unix_s: 0,
            started_at_ns: None,
            machine: None,
            root: 7,
            tier: Tier::Bpf,
            sample_period_ns: 1,
            host,
            sources: Vec::new(),
            attached: None,
            devices: Vec::new(),
            units: Default::default(),
        }
    }

    fn observed(part: f64) -> CountersObserved {
        let times = |counter: Counter| {
            let running_ns =
                if counter == Counter::LastLevelMisses { (part * 1e9) as u64 } else { 1_000_000_000 };
            Seen::Value(CounterTimes {
                enabled_ns: 1_000_000_000,
                running_ns,
                period: PERIOD[counter as usize],
                precise: true,
            })
        };
        let of = Counter::ALL.into_iter().filter(|counter| *counter != Counter::Slots);
        CountersObserved {
            of: of.map(|counter| (counter, times(counter))).collect(),
            slots_per_cycle: Seen::Value(6),
            kernel: true,
            lost: 0,
        }
    }

    /// Two functions that take turns far more often than samples are taken: each counter overflows
    /// where it counts, so `chase` has all of the misses and a tenth of the instructions.
    fn recorded() -> (Counters, Code) {
        let header = header();
        let (mut counters, mut code) = (Counters::default(), Code::new(&header));
        for (id, name) in [(0, "chase"), (1, "compute")] {
            let place = CodeLocation::Native { module: "/bin/program".into(), address: u64::from(id) };
            code.event(&Event::Place { id, place }, None);
            code.event(&Event::Node { id: id + 1, caller: 0, place: id }, None);
            let function = Function { name: Some(name.into()), source: None, inlined: false };
            code.event(&Event::Named { place: id, functions: vec![function] }, None);
        }
        let samples = [
            (1, Counter::Cycles, 500),
            (2, Counter::Cycles, 500),
            (1, Counter::Instructions, 100),
            (2, Counter::Instructions, 900),
            (1, Counter::LastLevelMisses, 400),
            (1, Counter::BackEndSlots, 600),
        ];
        for (node, counter, count) in samples {
            for at in 0..count {
                let count = PERIOD[counter as usize];
                counters.event(&Event::Counted {
                    at,
                    tid: 7,
                    counter,
                    count,
                    kernel: false,
                    node: Some(node),
                });
            }
        }
        (counters, code)
    }

    fn table(observed: CountersObserved) -> Seen<CounterTable> {
        let (counters, code) = recorded();
        let mut trailer = Trailer::unwritten(Ending::Code(0), 0, "it is a test");
        trailer.counters = Seen::Value(observed);
        counters.table(&code, &trailer, (400_000_000, 100_000_000), Seen::Absent)
    }

    fn value(ratio: &Seen<Ratio>) -> f64 {
        ratio.value().expect("it is known").value
    }

    #[test]
    fn functions_that_take_turns_have_each_their_own() {
        let Seen::Value(table) = table(observed(1.0)) else { panic!("it is there") };
        let [chase, compute] = &table.all.functions[..] else { panic!("{:?}", table.all.functions) };
        assert_eq!((&*chase.function, &*compute.function), ("chase", "compute"));
        assert!((value(&chase.counted.instructions_per_cycle) - 0.2).abs() < 0.001);
        assert!((value(&compute.counted.instructions_per_cycle) - 1.8).abs() < 0.001);
        assert!((value(&table.all.user.instructions_per_cycle) - 1.0).abs() < 0.001);
        // 400 samples of 20,021 in 100 of 2,000,003 instructions.
        assert!((value(&chase.counted.last_level_misses_per_1000) - 40.04).abs() < 0.01);
        let none = compute.counted.last_level_misses_per_1000.value().expect("it counted");
        assert!(none.value == 0.0 && none.hi > 0.03 && none.hi < 0.04, "{none:?}");
        assert!((value(&chase.counted.back_end_stalled) - 0.6).abs() < 0.001);
        let clock = table.all.clock_hz.value().expect("it is known");
        assert!((clock / 1e9 - 4.0).abs() < 0.01, "1,000 samples in 500 ms: {clock}");
        assert!(table.precise);
        let ends = chase.counted.instructions_per_cycle.value().expect("it is known");
        assert!(ends.lo > 0.15 && ends.hi < 0.26, "100 samples: {ends:?}");
    }

    #[test]
    fn one_that_took_turns_stands_for_more_and_one_that_never_counted_for_nothing() {
        let Seen::Value(half) = table(observed(0.5)) else { panic!("it is there") };
        assert!((value(&half.all.functions[0].counted.last_level_misses_per_1000) - 80.08).abs() < 0.02);
        let part = CounterPart { counter: Counter::LastLevelMisses, part: Seen::Value(0.5) };
        assert!(half.parts.contains(&part));
        let mut taken = observed(1.0);
        taken.of[3].1 = Seen::unseen("other programs have the processor's counters");
        let Seen::Value(without) = table(taken) else { panic!("it is there") };
        assert_eq!(
            without.all.user.last_level_misses_per_1000,
            Seen::unseen("other programs have the processor's counters")
        );
        assert!((value(&without.all.user.instructions_per_cycle) - 1.0).abs() < 0.001);
        // It counted for longer than it was to: a clock that went back.
        let mut odd = observed(1.0);
        odd.of[3].1 = Seen::Value(CounterTimes { enabled_ns: 1, running_ns: 9, period: 1, precise: false });
        let Seen::Value(odd) = table(odd) else { panic!("it is there") };
        assert!((value(&odd.all.functions[0].counted.last_level_misses_per_1000) - 40.04).abs() < 0.01);
    }

    #[test]
    fn instructions_have_the_time_of_precise_cycles() {
        let (counters, mut code) = recorded();
        let mut trailer = Trailer::unwritten(Ending::Code(0), 0, "it is a test");
        assert!(counters.precise_cycles(&trailer).is_empty());
        trailer.counters = Seen::Value(observed(1.0));
        let mode = model::recording::SampleMode::User;
        // The clock struck behind the instruction, at the other function's.
        let struck = Event::Sampled { at: 1, tid: 7, mode, ip: 0, period_ns: 1000, node: Some(2) };
        code.event(&struck, None);
        let addresses = code.addresses(&counters.precise_cycles(&trailer));
        let told: Vec<_> = addresses.iter().map(|one| (one.address, one.ns, one.samples)).collect();
        assert_eq!(told, [(0, 500, 500), (1, 500, 500)]);
        assert_eq!(code.addresses(&[]).len(), 1);
    }

    #[test]
    fn lost_samples_are_taken_to_be_as_the_others() {
        let lost = CountersObserved { lost: 3000, ..observed(1.0) };
        let Seen::Value(table) = table(lost) else { panic!("it is there") };
        assert_eq!(table.all.user.counts[0].count, Seen::Value(4_000_032_000));
        assert!((value(&table.all.user.instructions_per_cycle) - 1.0).abs() < 0.001);
    }

    #[test]
    fn without_a_sample_nothing_is_known() {
        let mut trailer = Trailer::unwritten(Ending::Code(0), 0, "no counters here");
        let of = |trailer: &Trailer| {
            let code = Code::new(&header());
            Counters::default().table(&code, trailer, (1, 1), Seen::Absent)
        };
        assert_eq!(of(&trailer), Seen::unseen("no counters here"));
        trailer.counters = Seen::Value(observed(1.0));
        assert!(matches!(of(&trailer), Seen::Unseen(why) if why.contains("too little of a CPU")));
    }
}

//! What samples tell of the memory that a function loads from: how large the set is, and whether
//! the program runs through it in order.
//!
//! The size is that of the birthday problem: of n addresses drawn from a set of K lines, n(n-1)/2K
//! pairs are expected to be in the same line. Lines that are used more often make the set smaller
//! than it is, never larger. What follows from it is up to `judge`.

use crate::bounded::{Bounded, texts};
use crate::code::Code;
use model::loads::{LoadRow, LoadTable, SampledLoad, SetBytes};
use model::recording::Trailer;
use model::{Event, Seen, Tid};
use rustc_hash::{FxHashMap, FxHashSet};

/// Addresses that are kept; later ones are counted only.
const KEPT_MAX: usize = 1 << 18;

/// Rows of the table: others have too few samples to tell anything.
const ROWS: usize = 50;
const SAMPLES_MIN: u64 = 30;

/// The line of a cache where the kernel does not state it.
const LINE_BYTES: u64 = 64;
const PAGE_BYTES: u64 = 4096;

/// Steps that are too few to see an order in, and the parts that they are divided into.
const STEPS_MIN: usize = 30;
const PARTS: usize = 16;

/// Loads as they come.
#[derive(Debug, Default)]
pub(crate) struct Loads {
    /// By the innermost node of the sample's stack.
    nodes: FxHashMap<u32, Counts>,
    /// Addresses that do not step: where, by whom, what.
    addresses: Vec<(u32, Tid, u64)>,
}

/// A function and its module.
type Function = (String, String);

/// Addresses in their order, each with the thread that loaded from it.
type Addresses = Vec<(Tid, u64)>;

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    samples: u64,
    at_loads: u64,
    stepping: u64,
    jumping: u64,
}

impl Loads {
    /// Takes one event.
    pub(crate) fn event(&mut self, event: &Event) {
        let Event::Load { tid, node, load, .. } = event else { return };
        let counts = self.nodes.entry(*node).or_default();
        counts.samples += 1;
        match load {
            SampledLoad::None | SampledLoad::Near => {}
            SampledLoad::Unknown => counts.at_loads += 1,
            SampledLoad::At { steps: true, .. } => {
                counts.at_loads += 1;
                counts.stepping += 1;
            }
            SampledLoad::At { address, steps: false } => {
                counts.at_loads += 1;
                counts.jumping += 1;
                if self.addresses.len() < KEPT_MAX {
                    self.addresses.push((*node, *tid, *address));
                }
            }
        }
    }

    /// The table, by functions of `code`.
    pub(crate) fn table(self, code: &Code, trailer: &Trailer) -> Seen<LoadTable> {
        let observed = match &trailer.loads {
            Seen::Value(observed) => observed,
            Seen::Absent => return Seen::Absent,
            Seen::Unseen(why) => return Seen::unseen(why),
        };
        let level = observed.caches.first();
        let line_bytes = level.map_or(LINE_BYTES, |cache| cache.line_bytes.max(1));
        let mut rows: FxHashMap<Function, (Counts, Addresses)> = FxHashMap::default();
        let mut of_node: FxHashMap<u32, Function> = FxHashMap::default();
        for (node, counts) in &self.nodes {
            let Some(function) = code.function(*node) else { continue };
            let (sum, _) = rows.entry(function.clone()).or_default();
            sum.samples += counts.samples;
            sum.at_loads += counts.at_loads;
            sum.stepping += counts.stepping;
            sum.jumping += counts.jumping;
            of_node.insert(*node, function);
        }
        for (node, tid, address) in &self.addresses {
            if let Some((_, addresses)) = of_node.get(node).and_then(|function| rows.get_mut(function)) {
                addresses.push((*tid, *address));
            }
        }
        rows.retain(|_, (counts, _)| counts.samples >= SAMPLES_MIN);
        let mut functions: Vec<LoadRow> = rows
            .into_iter()
            .map(|((function, module), (counts, addresses))| LoadRow {
                function,
                module,
                samples: counts.samples,
                at_loads: counts.at_loads,
                stepping: counts.stepping,
                jumping: counts.jumping,
                addresses: addresses.len() as u64,
                lines: different(&addresses, line_bytes),
                pages: different(&addresses, PAGE_BYTES),
                set_bytes: set_bytes(&addresses, line_bytes),
                page_set_bytes: set_bytes(&addresses, PAGE_BYTES),
                in_order: in_order(&addresses),
            })
            .collect();
        functions.sort_by(|a, b| {
            b.at_loads.cmp(&a.at_loads).then_with(|| (&a.function, &a.module).cmp(&(&b.function, &b.module)))
        });
        functions.truncate(ROWS);
        Seen::Value(LoadTable { functions, caches: observed.caches.clone() })
    }
}

fn different(addresses: &[(Tid, u64)], bytes: u64) -> u64 {
    addresses.iter().map(|(_, address)| address / bytes).collect::<FxHashSet<_>>().len() as u64
}

/// The size of the set that addresses are drawn from, in whole lines, or pages. Pairs of one sample
/// of a thread and its next are left out: a delayed clock may strike twice at the same load.
fn set_bytes(addresses: &[(Tid, u64)], line_bytes: u64) -> Seen<SetBytes> {
    let n = addresses.len() as f64;
    if addresses.len() < 2 {
        return Seen::unseen("too few addresses");
    }
    let mut lines: FxHashMap<u64, u64> = FxHashMap::default();
    let mut last: FxHashMap<Tid, u64> = FxHashMap::default();
    let (mut next, mut twice) = (0, 0);
    for (tid, address) in addresses {
        let line = address / line_bytes;
        *lines.entry(line).or_default() += 1;
        let before = last.insert(*tid, line);
        next += u64::from(before.is_some());
        twice += u64::from(before == Some(line));
    }
    let pairs = lines.values().map(|count| count * (count - 1) / 2).sum::<u64>() - twice;
    let all = n * (n - 1.0) / 2.0 - next as f64;
    if all < 1.0 {
        return Seen::unseen("too few addresses");
    }
    let bytes = |pairs: f64| ((all / pairs).max(1.0) * line_bytes as f64) as u64;
    let hi = (pairs > 0).then(|| bytes(stats::poisson::at_least(pairs)));
    Seen::Value(SetBytes { pairs, lo: bytes(stats::poisson::at_most(pairs)), hi })
}

/// The part of the steps from one address of a thread to its next that the most frequent eighth of
/// all lengths has. Addresses count by their rank, so that how they are spread does not matter; a
/// step beyond the last begins anew at the first, as a program does that runs through an array
/// again.
fn in_order(addresses: &[(Tid, u64)]) -> Seen<f64> {
    let mut order: Vec<usize> = (0..addresses.len()).collect();
    order.sort_by_key(|index| addresses[*index].1);
    let mut ranks = vec![0; addresses.len()];
    order.iter().enumerate().for_each(|(rank, index)| ranks[*index] = rank);
    let mut last: FxHashMap<Tid, usize> = FxHashMap::default();
    let (mut steps, mut parts) = (0, [0_u64; PARTS]);
    for ((tid, _), rank) in addresses.iter().zip(&ranks) {
        if let Some(before) = last.insert(*tid, *rank) {
            let step = (rank + ranks.len() - before) % ranks.len();
            parts[step * PARTS / ranks.len()] += 1;
            steps += 1;
        }
    }
    if steps < STEPS_MIN {
        return Seen::unseen("too few addresses");
    }
    let eighth = |part: usize| parts[part] + parts[(part + 1) % PARTS];
    let most = (0..PARTS).map(eighth).max().unwrap_or(0);
    Seen::Value((most as f64 / steps as f64 * 1000.0).round() / 1000.0)
}

impl Bounded for LoadTable {
    fn cut_texts(&mut self) {
        for row in &mut self.functions {
            texts::text(&mut row.function);
            texts::text(&mut row.module);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 64;

    /// Addresses in a set of this many lines.
    fn drawn(lines: u64, count: usize) -> Vec<(Tid, u64)> {
        let mut random = stats::Random::new(7);
        (0..count).map(|_| (1, 0x7f00_0000_0000 + random.bits() % lines * LINE)).collect()
    }

    #[test]
    fn the_size_of_a_set_is_told_by_lines_that_come_again() {
        for lines in [256_u64, 16 << 10, 100_000] {
            let Seen::Value(set) = set_bytes(&drawn(lines, 1000), LINE) else { panic!("it is known") };
            let bytes = lines * LINE;
            let hi = set.hi.expect("some are the same");
            assert!(set.lo <= bytes && bytes <= hi, "{lines}: {set:?}");
            assert!(set.lo * 3 > bytes, "{lines}: {set:?}");
        }
    }

    #[test]
    fn without_a_pair_a_set_is_at_least_a_third_of_all_pairs() {
        let apart: Vec<(Tid, u64)> = (0..1000).map(|index| (1, index * LINE)).collect();
        let Seen::Value(set) = set_bytes(&apart, LINE) else { panic!("it is known") };
        assert_eq!((set.pairs, set.hi), (0, None));
        let twice: Vec<(Tid, u64)> = apart.iter().flat_map(|one| [*one, *one]).collect();
        assert_eq!(set_bytes(&twice, LINE).value().map(|set| set.pairs), Some(0), "one load, struck twice");
        let third = 1000 * 999 / 2 / 3 * LINE;
        assert!(set.lo.abs_diff(third) * 50 < third, "{set:?}");
        assert!(matches!(set_bytes(&apart[..1], LINE), Seen::Unseen(_)));
    }

    #[test]
    fn a_walk_in_order_shows_however_fast_it_goes_around() {
        let of = |addresses: &[(Tid, u64)]| *in_order(addresses).value().expect("there are enough");
        let jumps = of(&drawn(1 << 20, 600));
        assert!(jumps < 0.2, "{jumps}");
        // From one sample to the next a part of the array, or several times around it.
        for step in [0.01, 0.37, 0.5, 2.81] {
            let length = f64::from(1 << 26);
            let address = |index: u32| (f64::from(index) * step).fract() * length;
            let walk: Vec<(Tid, u64)> = (0..600).map(|index| (1, address(index) as u64)).collect();
            assert!(of(&walk) > 0.8, "{step}: {}", of(&walk));
        }
        assert!(matches!(in_order(&drawn(1 << 20, 30)), Seen::Unseen(_)), "29 steps");
    }

    #[test]
    fn threads_have_an_order_each() {
        let two: Vec<(Tid, u64)> = (0..400)
            .map(|index: u32| (1 + index % 2, u64::from(index / 2 + index % 2 * 1000) * LINE))
            .collect();
        assert!(*in_order(&two).value().expect("there are enough") > 0.9);
    }
}

//! Functions and lines by their share of time on a CPU, with what sampling leaves open.

use crate::bounded::{Bounded, Room, Together, leave_out, rows_size, texts};
use model::profile::{Activity, Frame, Profile, Weight};
use model::recording::{Language, Runtime};
use model::run::{FunctionRow, LineRow, Share, UnnamedRow};
use model::{Ns, Pid};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::hash::Hash;

/// Rows of a table; later ones are too small to differ from nothing.
const ROWS: usize = 500;

/// Time of one row: its own and with what it called.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    own: Amount,
    total: Amount,
}

/// Samples and what they stand for.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Amount {
    pub(crate) ns: f64,
    /// Sum of the squares of the samples' weights, for the interval.
    squares: f64,
    pub(crate) samples: u64,
}

impl Amount {
    pub(crate) fn add(&mut self, weight: &Weight) {
        let (ns, count) = (weight.ns as f64, weight.count.max(1) as f64);
        self.ns += ns;
        self.squares += ns * ns / count;
        self.samples += weight.count;
    }

    /// A part of each sample's weight.
    pub(crate) fn part(self, part: f64) -> Amount {
        let samples = (self.samples as f64 * part).ceil() as u64;
        Amount { ns: self.ns * part, squares: self.squares * part * part, samples }
    }

    /// With another's.
    pub(crate) fn merge(&mut self, other: Amount) {
        self.ns += other.ns;
        self.squares += other.squares;
        self.samples += other.samples;
    }

    /// Its share of `all`, which counts for as many equal samples as its weights are worth (Kish).
    pub(crate) fn share(self, all: Amount) -> Share {
        if all.ns <= 0.0 {
            return Share { value: 0.0, lo: 0.0, hi: 1.0 };
        }
        let worth = all.ns * all.ns / all.squares;
        let share = stats::wilson_of((self.ns / all.ns).min(1.0), worth);
        Share { value: share.value, lo: share.lo, hi: share.hi }
    }
}

/// What to say where the samples stand for other than the time on a CPU, by more than chance (4
/// standard deviations of samples that strike at random) and a fifth of it: a hypervisor can delay
/// a CPU's timer.
pub(crate) fn short_of(profile: &Profile, on_cpu_ns: Ns) -> Option<String> {
    let mut all = Amount::default();
    profile
        .weights
        .iter()
        .filter(|weight| !matches!(weight.doing, Activity::Waiting(_)))
        .for_each(|w| all.add(w));
    let off_ns = (all.ns - on_cpu_ns as f64).abs();
    (all.samples > 0 && off_ns > 0.2 * on_cpu_ns as f64 + 4.0 * all.squares.sqrt()).then(|| {
        format!(
            "samples cover {:.1} ms of {:.1} ms of CPU time: functions and lines are those of the samples",
            all.ns / 1e6,
            on_cpu_ns as f64 / 1e6
        )
    })
}

/// Functions by their own time on a CPU, largest first. All unnamed code of a JIT is one row.
pub(crate) fn functions(profile: &Profile) -> Vec<FunctionRow> {
    let (sums, all) =
        sums(profile, |stack| stack.first().copied().and_then(Frame::function_key), Frame::function_key);
    let rows = sums.into_iter().map(|((name, module, kernel, runtime), sum)| FunctionRow {
        name: name.to_owned(),
        module: module.to_owned(),
        mode: if kernel { "kernel" } else { "user" }.to_owned(),
        share: sum.own.share(all),
        samples: sum.own.samples,
        total: Some(sum.total.share(all)),
        unnamed: runtime.map(|runtime| UnnamedRow { runtime, pids: pids(profile, runtime) }),
        own: false,
    });
    largest_first(
        rows.collect(),
        |row| (row.share.value, row.total.map_or(0.0, |total| total.value)),
        |row| (row.name.clone(), row.module.clone()),
    )
}

/// The processes that have unnamed code of a runtime.
fn pids(profile: &Profile, runtime: Runtime) -> Vec<Pid> {
    let of_runtime = profile.frames.iter().filter_map(|frame| frame.unnamed);
    let pids: BTreeSet<Pid> =
        of_runtime.filter(|code| code.runtime == runtime).filter_map(|code| code.pid).collect();
    pids.into_iter().collect()
}

/// Source lines by time on a CPU, largest first.
pub(crate) fn lines(profile: &Profile) -> Vec<LineRow> {
    let (sums, all) = sums(profile, |stack| Frame::of_line(stack).and_then(Frame::line_key), Frame::line_key);
    let rows = sums.into_iter().map(|((file, line, function, language), sum)| LineRow {
        file: file.to_owned(),
        line,
        function: function.to_owned(),
        language: name_of(language).to_owned(),
        share: sum.own.share(all),
        samples: sum.own.samples,
        total: Some(sum.total.share(all)),
        own: false,
    });
    largest_first(
        rows.collect(),
        |row| (row.share.value, row.total.map_or(0.0, |total| total.value)),
        |row| (row.file.clone(), row.line),
    )
}

/// Adds every on-CPU stack up under the key of its own place, and once under each key that it leads
/// through.
fn sums<'a, K: Hash + Eq + Copy>(
    profile: &'a Profile,
    own: impl Fn(&[&'a Frame]) -> Option<K>,
    each: impl Fn(&'a Frame) -> Option<K>,
) -> (FxHashMap<K, Sum>, Amount) {
    let keys: Vec<Option<K>> = profile.frames.iter().map(each).collect();
    let mut sums: FxHashMap<K, Sum> = FxHashMap::default();
    let mut all = Amount::default();
    let mut stack: Vec<&Frame> = Vec::new();
    let mut met: FxHashSet<&K> = FxHashSet::default();
    for (node, amount) in on_cpu(profile) {
        all.merge(amount);
        stack.clear();
        met.clear();
        let mut at = Some(node);
        while let Some(node) = at {
            let node = profile.nodes[node as usize];
            stack.push(&profile.frames[node.frame as usize]);
            // A function that calls itself is met once.
            if let Some(key) = &keys[node.frame as usize]
                && met.insert(key)
            {
                sums.entry(*key).or_default().total.merge(amount);
            }
            at = node.caller;
        }
        if let Some(key) = own(&stack) {
            sums.entry(key).or_default().own.merge(amount);
        }
    }
    (sums, all)
}

/// What was on a CPU, by the node that was struck, of all threads together: thousands that run the
/// same code are one stack here.
fn on_cpu(profile: &Profile) -> impl Iterator<Item = (u32, Amount)> {
    let mut of_nodes = vec![Amount::default(); profile.nodes.len()];
    for weight in profile.weights.iter().filter(|weight| !matches!(weight.doing, Activity::Waiting(_))) {
        of_nodes[weight.node as usize].add(weight);
    }
    let struck = of_nodes.into_iter().enumerate().filter(|(_, amount)| amount.samples > 0 || amount.ns > 0.0);
    struck.map(|(node, amount)| (node as u32, amount))
}

fn largest_first<R, O: Ord>(
    mut rows: Vec<R>,
    by: impl Fn(&R) -> (f64, f64),
    then: impl Fn(&R) -> O,
) -> Vec<R> {
    rows.sort_by(|a, b| {
        let ((own_a, total_a), (own_b, total_b)) = (by(a), by(b));
        own_b.total_cmp(&own_a).then(total_b.total_cmp(&total_a)).then_with(|| then(a).cmp(&then(b)))
    });
    rows.truncate(ROWS);
    rows
}

fn name_of(language: Language) -> &'static str {
    match language {
        Language::Native => "native",
        Language::Kernel => "kernel",
        Language::Python => "python",
        Language::Jit => "jit",
    }
}

impl Bounded for Vec<FunctionRow> {
    fn cut_texts(&mut self) {
        for row in self {
            texts::text(&mut row.name);
            texts::text(&mut row.module);
        }
    }

    fn size(&self) -> usize {
        rows_size(self)
    }

    fn shrink(&mut self, room: Room) -> Option<Together> {
        leave_out(self, room, |_| {})
    }
}

impl Bounded for Vec<LineRow> {
    fn cut_texts(&mut self) {
        for row in self {
            texts::text(&mut row.file);
            texts::text(&mut row.function);
        }
    }

    fn size(&self) -> usize {
        rows_size(self)
    }

    fn shrink(&mut self, room: Room) -> Option<Together> {
        leave_out(self, room, |_| {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::State;

    #[test]
    fn samples_that_stand_for_too_little_are_said() {
        let weight = |doing, ns, count| Weight { node: 0, thread: 0, doing, ns, count };
        let waiting = weight(Activity::Waiting(State::Pipe), 300_000_000, 100);
        // 60 samples of 3 ms: chance alone makes that 180 +- 23 ms.
        let running = weight(Activity::User, 180_000_000, 60);
        let profile = Profile { weights: vec![waiting, running], ..Profile::default() };
        assert_eq!(short_of(&profile, 250_000_000), None);
        let said = short_of(&profile, 400_000_000).unwrap();
        assert!(said.starts_with("samples cover 180.0 ms of 400.0 ms of CPU time"), "{said}");
        assert_eq!(short_of(&Profile::default(), 400_000_000), None, "without samples there is another note");
    }
}

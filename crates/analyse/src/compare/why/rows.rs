//! Rows of both sides, matched by typed keys, each with what it has in every run.

use super::names::Varying;
use model::compare::why::CountDifference;
use model::{Ns, Run};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Runs of A and B that belong together.
pub(super) type Pairs<'a> = [(&'a Run, &'a Run)];

/// What a row has in one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) ns: Ns,
    pub(super) times: u64,
}

impl Amount {
    pub(super) fn new(ns: Ns, times: u64) -> Self {
        Self { ns, times }
    }

    fn add(&mut self, more: Self) {
        self.ns = self.ns.saturating_add(more.ns);
        self.times = self.times.saturating_add(more.times);
    }

    fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

/// A row of a table.
#[derive(Debug, Clone)]
pub(super) struct Row<K> {
    pub(super) key: K,
    /// For each pair: of A, of B.
    pub(super) amounts: Vec<[Amount; 2]>,
    /// How many keys it stands for.
    pub(super) names: u32,
}

impl<K> Row<K> {
    fn new(key: K, pairs: usize) -> Self {
        Self { key, amounts: vec![[Amount::default(); 2]; pairs], names: 1 }
    }

    /// Adds what another row has.
    pub(super) fn join<L>(&mut self, other: &Row<L>) {
        for (own, more) in self.amounts.iter_mut().zip(&other.amounts) {
            own.iter_mut().zip(more).for_each(|(own, more)| own.add(*more));
        }
        self.names += other.names;
    }

    /// How often it happened.
    pub(super) fn counts(&self) -> CountDifference {
        let mean = |side: usize| {
            let times = self.amounts.iter().map(|amounts| amounts[side].times as f64);
            times.sum::<f64>() / self.amounts.len().max(1) as f64
        };
        CountDifference { a: mean(0), b: mean(1) }
    }

    fn has(&self, side: usize) -> bool {
        self.amounts.iter().any(|amounts| !amounts[side].is_nothing())
    }

    /// Whether only one side has it.
    fn is_one_sided(&self) -> bool {
        self.has(0) != self.has(1)
    }
}

/// The rows of all runs, in the order in which they are met. What a run has none of is 0 there.
pub(super) fn rows<K: Clone + Eq + Hash>(
    pairs: &Pairs<'_>,
    of: impl Fn(&Run) -> Vec<(K, Amount)>,
) -> Vec<Row<K>> {
    let mut rows: Vec<Row<K>> = Vec::new();
    let mut known = FxHashMap::<K, usize>::default();
    for (pair, (a, b)) in pairs.iter().enumerate() {
        for (side, run) in [a, b].into_iter().enumerate() {
            for (key, amount) in of(run) {
                let at = *known.entry(key).or_insert_with_key(|key| {
                    rows.push(Row::new(key.clone(), pairs.len()));
                    rows.len() - 1
                });
                rows[at].amounts[pair][side].add(amount);
            }
        }
    }
    rows
}

/// The rows with those added up that one side lacks and that differ only in what was made up.
pub(super) fn folded<K: Varying + Clone + Eq + Hash>(rows: Vec<Row<K>>) -> Vec<Row<K>> {
    let mut folded: Vec<Row<K>> = Vec::new();
    let mut groups = FxHashMap::<K, usize>::default();
    for row in rows {
        let constant = if row.is_one_sided() { row.key.constant() } else { None };
        match constant {
            Some(constant) if groups.contains_key(&constant) => {
                let group = &mut folded[groups[&constant]];
                group.join(&row);
                group.key = constant;
            }
            other => {
                other.into_iter().for_each(|constant| {
                    groups.insert(constant, folded.len());
                });
                folded.push(row);
            }
        }
    }
    folded
}

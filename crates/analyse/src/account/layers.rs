//! What is added up under keys, and can be handed over cheaply: a short list of what is new, upon
//! shared frozen chunks.
//!
//! A chunk that is not much larger than the one above it is merged into it, as in a log-structured
//! merge tree, so that there are few chunks (the logarithm of the distinct keys) and each entry is
//! copied few times.

use super::slicing::{Slicing, coarse};
use std::ops::AddAssign;
use std::rc::Rc;

/// Entries that are held before they are frozen.
const FRESH: usize = 16;

/// Something by number, within a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    /// What: an activity (`ActivityId`), or a place that a counter's samples struck.
    pub(crate) activity: u32,
    /// When.
    pub(crate) slice: u32,
}

#[derive(Debug)]
struct Chunk<A> {
    older: Option<Rc<Chunk<A>>>,
    /// In the order of their keys.
    entries: Vec<(Key, A)>,
    /// The slicing its keys are in.
    shift: u32,
}

/// The sums. Cloning shares all but the newest entries.
#[derive(Debug)]
pub(super) struct Layers<A> {
    frozen: Option<Rc<Chunk<A>>>,
    fresh: Vec<(Key, A)>,
    shift: u32,
}

impl<A> Default for Layers<A> {
    fn default() -> Self {
        Self { frozen: None, fresh: Vec::new(), shift: 0 }
    }
}

impl<A: Copy> Clone for Layers<A> {
    fn clone(&self) -> Self {
        Self { frozen: self.frozen.clone(), fresh: self.fresh.clone(), shift: self.shift }
    }

    /// Allocates nothing as a rule: paths are handed over again and again.
    fn clone_from(&mut self, other: &Self) {
        self.frozen.clone_from(&other.frozen);
        self.fresh.clone_from(&other.fresh);
        self.shift = other.shift;
    }
}

impl<A: Copy + AddAssign> Layers<A> {
    pub(super) fn put(&mut self, slicing: Slicing, key: Key, amount: A) {
        if self.shift != slicing.shift() {
            let coarser = slicing.shift().saturating_sub(self.shift);
            self.fresh.iter_mut().for_each(|(key, _)| key.slice = coarse(key.slice, coarser));
            self.shift = slicing.shift();
        }
        if let Some((_, sum)) = self.fresh.iter_mut().rev().find(|(known, _)| *known == key) {
            *sum += amount;
            return;
        }
        if self.fresh.len() == FRESH {
            self.freeze();
        }
        self.fresh.push((key, amount));
    }

    fn freeze(&mut self) {
        let mut entries = std::mem::take(&mut self.fresh);
        entries.sort_unstable_by_key(|(key, _)| *key);
        let mut older = self.frozen.take();
        while let Some(chunk) = older {
            if chunk.entries.len() > 2 * entries.len() {
                older = Some(chunk);
                break;
            }
            entries = merge(&chunk, entries, self.shift);
            older = chunk.older.clone();
        }
        self.frozen = Some(Rc::new(Chunk { older, entries, shift: self.shift }));
    }

    /// All of it, each key once and in their order, in the given slicing.
    pub(super) fn entries(&self, slicing: Slicing) -> Vec<(Key, A)> {
        let chunks = || std::iter::successors(self.frozen.as_deref(), |chunk| chunk.older.as_deref());
        let frozen: usize = chunks().map(|chunk| chunk.entries.len()).sum();
        let mut all: Vec<(Key, A)> = Vec::with_capacity(self.fresh.len() + frozen);
        let mut put = |entries: &[(Key, A)], shift: u32| {
            let coarser = slicing.shift() - shift;
            let of = |key: &Key| Key { activity: key.activity, slice: coarse(key.slice, coarser) };
            all.extend(entries.iter().map(|(key, amount)| (of(key), *amount)));
        };
        put(&self.fresh, self.shift);
        chunks().for_each(|chunk| put(&chunk.entries, chunk.shift));
        // Chunks are in order, which a stable sort finds.
        all.sort_by_key(|(key, _)| *key);
        all.dedup_by(|(key, amount), (before, sum)| {
            let alike = key == before;
            if alike {
                *sum += *amount;
            }
            alike
        });
        all
    }

    #[cfg(test)]
    pub(super) fn chunks(&self) -> usize {
        std::iter::successors(self.frozen.as_deref(), |chunk| chunk.older.as_deref()).count()
    }
}

/// The entries of an older chunk with newer ones, each key once, in slices of `shift`. Both are in
/// the order of their keys, and so is what comes of them.
fn merge<A: Copy + AddAssign>(older: &Chunk<A>, newer: Vec<(Key, A)>, shift: u32) -> Vec<(Key, A)> {
    let coarser = shift.saturating_sub(older.shift);
    let mut all: Vec<(Key, A)> = Vec::with_capacity(older.entries.len() + newer.len());
    let mut put = |key: Key, amount: A| match all.last_mut() {
        Some((last, sum)) if *last == key => *sum += amount,
        _ => all.push((key, amount)),
    };
    let mut newer = newer.into_iter().peekable();
    for (key, amount) in &older.entries {
        let key = Key { activity: key.activity, slice: coarse(key.slice, coarser) };
        while let Some((before, more)) = newer.next_if(|(newer, _)| *newer < key) {
            put(before, more);
        }
        put(key, *amount);
    }
    newer.for_each(|(key, amount)| put(key, amount));
    // Of two that are much the same half is left.
    if all.len() * 4 < all.capacity() * 3 {
        all.shrink_to_fit();
    }
    all
}

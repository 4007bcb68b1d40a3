//! Requests by what they ask for.

use super::latencies::Latencies;
use super::parts::most;
use super::request::{Kept, KindId};
use crate::code::Code;
use crate::names::Names;
use model::Seen;
use model::requests::RequestKind;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::ops::Range;

/// Kinds that are told apart; of the others there is one row.
const KINDS: usize = 100;

const OTHERS: u8 = KINDS as u8;

/// The names of kinds.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    names: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u8>,
}

impl Kinds {
    pub(super) fn number(&mut self, kind: &str) -> u8 {
        if let Some(number) = self.numbers.get(kind) {
            return *number;
        }
        if self.names.len() >= KINDS {
            return OTHERS;
        }
        let number = self.names.len() as u8;
        self.names.push(kind.into());
        self.numbers.insert(kind.into(), number);
        number
    }

    pub(super) fn name(&self, kind: KindId) -> Seen<String> {
        let Some(kind) = kind else { return Seen::Absent };
        let name = self.names.get(usize::from(kind)).map(|name| Seen::Value(name.to_string()));
        name.unwrap_or_else(|| Seen::unseen(format!("more than {KINDS} kinds")))
    }
}

/// The rows, those with most of the slow requests first. `slow` are among `kept`, which are sorted
/// by how long they took.
pub(super) fn table(
    by_kind: FxHashMap<KindId, Latencies>,
    (kept, slow): (&[Kept], &Range<usize>),
    kinds: &Kinds,
    names: &Names,
    code: &Code,
) -> Vec<RequestKind> {
    if by_kind.keys().all(Option::is_none) {
        return Vec::new();
    }
    let by_kind: Vec<(KindId, Latencies)> = by_kind.into_iter().collect();
    let row = |(kind, of): (KindId, Latencies)| {
        let own: Vec<&Kept> = kept.iter().filter(|kept| kept.kind == kind).collect();
        let is_slow = |kept: &&Kept| kept.kind == kind;
        RequestKind {
            kind: kinds.name(kind),
            times: of.times(),
            latency: of.told(),
            slow: kept[slow.clone()].iter().filter(is_slow).count() as u64,
            parts: most(&own, names, code),
        }
    };
    let total_ns: FxHashMap<KindId, u128> = by_kind.iter().map(|(kind, of)| (*kind, of.total_ns())).collect();
    let mut rows: Vec<(KindId, RequestKind)> = by_kind.into_iter().map(|of| (of.0, row(of))).collect();
    rows.sort_by_key(|(kind, row)| (Reverse((row.slow, total_ns[kind])), *kind));
    rows.into_iter().map(|(_, row)| row).collect()
}

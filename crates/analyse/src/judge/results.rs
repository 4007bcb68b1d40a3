//! What calls gave, as far as it was recorded: bytes, names that are not there, and paths that were
//! asked for before.

use model::Seen;
use model::syscall_rows::CallRow;

/// Calls that moved fewer bytes are small: copying them takes a tenth of entering and leaving the
/// kernel, or less.
pub(super) const SMALL: u64 = 1024;
/// `EAGAIN`.
const WOULD_BLOCK: u16 = 11;

/// What the calls of a row moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BytesMoved {
    /// All bytes.
    pub(super) bytes: u64,
    /// Calls that moved less than [`SMALL`], and at least something.
    pub(super) small: u64,
}

/// The bytes of a row; absent of calls that move none.
pub(super) fn moved(row: &CallRow) -> Seen<BytesMoved> {
    row.results.as_ref().and_then(|results| {
        let small = results.sizes.iter().filter(|(least, _)| *least < SMALL).map(|(_, calls)| calls).sum();
        results.bytes.map_or(Seen::Absent, |bytes| Seen::Value(BytesMoved { bytes, small }))
    })
}

/// The part of a row's calls that were traced: the rest was estimated by tracing windows. Of
/// windows with too few of one call to estimate it, and enough of another, only what was traced of
/// both can be compared.
pub(super) fn traced_part(row: &CallRow) -> f64 {
    row.estimate.map_or(1.0, |estimate| estimate.seen as f64 / estimate.calls.max(1) as f64)
}

/// The hedge before a number of a row's calls, or before one that follows from it: nothing where
/// all were counted.
pub(super) fn hedge(row: &CallRow) -> &'static str {
    match row.estimate {
        None => "",
        Some(estimate) if estimate.hi.is_none() => AT_LEAST,
        Some(_) => ABOUT,
    }
}

/// The same before a time of a row's calls: nothing where all were timed.
pub(super) fn hedge_time(row: &CallRow) -> &'static str {
    match hedge(row) {
        "" if row.timed.is_some() => ABOUT,
        hedge => hedge,
    }
}

/// The same before a number of calls with a path that was asked for before.
pub(super) fn hedge_again(row: &CallRow) -> &'static str {
    let paths = row.results.value().and_then(|results| results.paths.as_ref());
    match hedge(row) {
        "" if paths.is_some_and(|paths| paths.sample < row.calls) => ABOUT,
        hedge => hedge,
    }
}

/// The same before a sum over rows.
pub(super) fn hedge_all<'a>(
    rows: impl IntoIterator<Item = &'a CallRow>,
    of: fn(&CallRow) -> &'static str,
) -> &'static str {
    let all = rows.into_iter().map(of);
    all.max_by_key(|hedge| ["", ABOUT, AT_LEAST].iter().position(|known| known == hedge)).unwrap_or("")
}

const ABOUT: &str = "about ";
const AT_LEAST: &str = "at least ";

/// Calls that failed since there is nothing of that name; all that failed, where errors were not
/// told apart.
pub(super) fn not_there(row: &CallRow) -> u64 {
    let Some(results) = row.results.value() else { return row.errors };
    let is_missing = |name: &str| matches!(name, "ENOENT" | "ENOTDIR");
    let missing = results.errors.iter().filter(|error| error.name.as_deref().is_some_and(is_missing));
    missing.map(|error| error.calls).sum()
}

/// Calls that would have had to wait for something, and were not to (`EAGAIN`).
pub(super) fn would_block(row: &CallRow) -> u64 {
    let Some(results) = row.results.value() else { return 0 };
    let errors = results.errors.iter().filter(|error| error.errno == WOULD_BLOCK);
    errors.map(|error| error.calls).sum()
}

/// Calls that were answered for a path that the same process had given to the same call before: as
/// many as a sample tells, and on average no more than there were.
pub(super) fn asked_again(row: &CallRow) -> u64 {
    let paths = row.results.value().and_then(|results| results.paths.as_ref());
    paths.map_or(0, |paths| paths.again.saturating_sub(paths.again_failed))
}

/// As many of these calls as there may have been: of what was not found again, at least one call of
/// each path in the sample was the first one. A call whose path was asked for before by a call that
/// is not in the sample is not found.
pub(super) fn asked_again_max(row: &CallRow) -> u64 {
    let Some(paths) = row.results.value().and_then(|results| results.paths.as_ref()) else { return 0 };
    let others = row.calls.saturating_sub(paths.again);
    let stands_for = row.calls as f64 / paths.sample.max(1) as f64;
    let first = (others as f64 / stands_for.max(1.0)).ceil() as u64;
    row.calls.saturating_sub(first.max(row.errors)).max(asked_again(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{call, moving};
    use model::syscall_rows::{ErrorRow, Estimate, PathsRow, ResultsRow, TimedCalls};

    #[test]
    fn a_count_is_hedged_by_what_is_known_of_it() {
        let exact = call("read", 5, 0, 5);
        let estimate = |hi| Some(Estimate { seen: 5, calls: 5, lo: 5, hi });
        let timed = CallRow { timed: Some(TimedCalls { calls: 2, lo_ns: 1, hi_ns: 9 }), ..exact.clone() };
        let some = CallRow { estimate: estimate(Some(9)), ..exact.clone() };
        let least = CallRow { estimate: estimate(None), ..exact.clone() };
        let all = [exact, timed, some, least];
        assert_eq!(all.each_ref().map(hedge), ["", "", "about ", "at least "]);
        assert_eq!(all.each_ref().map(hedge_time), ["", "about ", "about ", "at least "]);
        assert_eq!([1, 2, 3, 4].map(|of| hedge_all(&all[..of], hedge)), ["", "", "about ", "at least "]);
        let paths = |sample| {
            let paths = PathsRow { sample, again: 3, again_failed: 0, most: Vec::new() };
            let results = ResultsRow { paths: Some(paths), ..ResultsRow::default() };
            hedge_again(&CallRow { results: Seen::Value(results), ..all[0].clone() })
        };
        assert_eq!([5, 4].map(paths), ["", "about "]);
    }

    #[test]
    fn calls_below_a_kib_are_small() {
        let row = moving("read", 1_000_000, &[(1, 40), (512, 2), (1024, 7), (65_536, 9)]);
        assert_eq!(moved(&row), Seen::Value(BytesMoved { bytes: 1_000_000, small: 42 }));
        assert!(matches!(moved(&call("read", 5, 0, 5)), Seen::Unseen(_)));
    }

    #[test]
    fn of_a_sample_all_but_its_own_paths_may_have_been_asked_for_again() {
        let mut row = call("newfstatat", 1000, 0, 0);
        let mut most = |sample| {
            let paths = PathsRow { sample, again: 800, again_failed: 0, most: Vec::new() };
            row.results = Seen::Value(ResultsRow { paths: Some(paths), ..ResultsRow::default() });
            asked_again_max(&row)
        };
        assert_eq!(most(1000), 800, "every call was looked at");
        assert_eq!(most(100), 980, "20 paths in the sample");
    }

    #[test]
    fn not_there_is_what_has_no_such_name() {
        let mut row = moving("openat", 0, &[]);
        row.errors = 12;
        let error = |errno, name: &str, calls| ErrorRow { errno, name: Some(name.into()), calls };
        let errors = vec![error(2, "ENOENT", 7), error(20, "ENOTDIR", 1), error(13, "EACCES", 4)];
        let Seen::Value(results) = &mut row.results else { panic!("they are there") };
        results.errors = errors;
        assert_eq!(not_there(&row), 8);
        row.results = Seen::unseen("not in this recording");
        assert_eq!(not_there(&row), 12);
    }
}

//! The table of system calls, from the counters of the kernel half. Where not all were traced
//! `sliced` completes it.

use crate::bounded::{Bounded, Room, Together, leave_out, rows_size, texts};
use crate::calls::Arch;
use crate::sliced;
use crate::untraced::Untraced;
use model::recording::Trailer;
use model::syscall_rows::{CallRow, ErrorRow, PathRow, PathsRow, ResultsRow};
use model::{CallStats, Header, PathsAsked, Seen};
use stats::Histogram;
use std::cmp::Reverse;
use syscalls::Errno;

/// Why the lengths of calls are not known that all were counted and none timed.
const NONE_TIMED: &str = "none of these calls was timed";

/// All rows, longest total first.
pub(crate) fn rows(header: &Header, trailer: &Trailer, untraced: &Untraced) -> Seen<Vec<CallRow>> {
    let arch = Arch::from_machine(&header.host.arch);
    let row = |call: &CallStats| {
        let mut row = counted(arch, call);
        match &trailer.sliced {
            Some(sliced) if sliced.counted => sliced::complete(&mut row, call, sliced, untraced),
            Some(sliced) => sliced::scale(&mut row, call, sliced),
            None => {}
        }
        row
    };
    trailer.calls.as_ref().map(|calls| {
        let mut rows: Vec<_> = calls.iter().map(row).collect();
        rows.sort_by_cached_key(|row| (Reverse(row.total_ns), row.name.to_string()));
        rows
    })
}

/// What was counted of one kind.
fn counted(arch: Arch, call: &CallStats) -> CallRow {
    let mut lengths = Histogram::default();
    call.histogram.iter().for_each(|(index, count)| lengths.add(usize::from(*index), *count));
    lengths.know_max(call.max_ns);
    // What is known of all calls together says nothing of the length of one.
    let of_one = |ns| if call.histogram.is_empty() { Seen::unseen(NONE_TIMED) } else { Seen::Value(ns) };
    CallRow {
        name: arch.syscall(call.call),
        calls: call.calls,
        errors: call.errors,
        total_ns: call.total_ns,
        cpu_ns: call.cpu_ns,
        p50_ns: of_one(lengths.quantile(0.5)),
        p99_ns: of_one(lengths.quantile(0.99)),
        max_ns: of_one(call.max_ns),
        results: results(call),
        timed: None,
        estimate: None,
    }
}

/// What the calls of one kind gave.
fn results(call: &CallStats) -> Seen<ResultsRow> {
    let Some(results) = &call.results else { return Seen::unseen("not in this recording") };
    let error = |(errno, calls): &(u16, u64)| ErrorRow {
        errno: *errno,
        name: Errno::new((*errno).into()).name().map(str::to_owned),
        calls: *calls,
    };
    Seen::Value(ResultsRow {
        bytes: results.bytes,
        sizes: results.sizes.iter().map(|(octave, calls)| (1 << octave.min(&63), *calls)).collect(),
        zeros: results.zeros,
        repeats: results.repeats,
        errors: results.errors.iter().map(error).collect(),
        paths: results.paths.as_ref().map(|paths| again(paths, call.calls)),
    })
}

/// Paths that were asked for again, of this many calls.
fn again(paths: &PathsAsked, calls: u64) -> PathsRow {
    // What the sample stands for is as many only on average.
    let of_all = |some: u64| (u128::from(some) * u128::from(calls) / u128::from(paths.calls.max(1))) as u64;
    let most = paths.most.iter().map(|one| PathRow {
        path: one.path.clone(),
        pid: one.pid,
        again: of_all(one.again),
        again_failed: of_all(one.failed),
    });
    PathsRow {
        sample: paths.sample,
        again: of_all(paths.again),
        again_failed: of_all(paths.again_failed),
        most: most.collect(),
    }
}

impl Bounded for Vec<CallRow> {
    fn cut_texts(&mut self) {
        for row in self {
            texts::seen(&mut row.results, |results| {
                let paths = results.paths.iter_mut().flat_map(|paths| &mut paths.most);
                paths.for_each(|path| texts::text(&mut path.path));
            });
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
    use model::{Call, CallResults, PathAgain};

    #[test]
    fn results_have_sizes_in_bytes_and_errors_by_name() {
        let results = CallResults {
            bytes: Some(1100),
            sizes: vec![(0, 100), (9, 1)],
            zeros: 3,
            repeats: Some(2),
            errors: vec![(11, 7), (2, 1), (4000, 1)],
            paths: None,
        };
        let mut call = CallStats {
            call: Call(0),
            calls: 113,
            errors: 9,
            timed: None,
            total_ns: 0,
            cpu_ns: 0,
            max_ns: 0,
            histogram: Vec::new(),
            results: Some(results),
        };
        let Seen::Value(row) = super::results(&call) else { panic!("they are there") };
        assert_eq!((row.bytes, row.zeros, row.repeats), (Some(1100), 3, Some(2)));
        assert_eq!((row.sizes, row.paths), (vec![(1, 100), (512, 1)], None));
        let errors: Vec<_> = row.errors.iter().map(|one| (one.name.as_deref(), one.calls)).collect();
        assert_eq!(errors, [(Some("EAGAIN"), 7), (Some("ENOENT"), 1), (None, 1)]);
        let most = vec![PathAgain { pid: 7, path: "/x".into(), again: 40, failed: 4 }];
        let paths = PathsAsked { sample: 10, calls: 100, again: 50, again_failed: 20, most };
        call.results.as_mut().expect("they are there").paths = Some(paths);
        let Seen::Value(row) = super::results(&call) else { panic!("they are there") };
        let most = vec![PathRow { pid: 7, path: "/x".into(), again: 45, again_failed: 4 }];
        let paths = PathsRow { sample: 10, again: 56, again_failed: 22, most };
        assert_eq!(row.paths, Some(paths), "in proportion: of 100 calls, of which there are 113");
        call.results = None;
        assert!(matches!(super::results(&call), Seen::Unseen(_)));
    }

    #[test]
    fn the_length_of_a_call_is_unknown_where_none_was_timed_and_not_0() {
        let call = |timed: u64| CallStats {
            call: Call(0),
            calls: 100,
            errors: 0,
            timed: Some(timed),
            total_ns: timed * 16,
            cpu_ns: timed * 16,
            max_ns: 16 * timed.min(1),
            histogram: if timed > 0 { vec![(4, timed)] } else { Vec::new() },
            results: None,
        };
        let of = |timed: u64| {
            let row = counted(Arch::from_machine("x86_64"), &call(timed));
            serde_json::to_value(row).unwrap()
        };
        assert_eq!(of(7)["max_ns"], 16);
        let none = of(0);
        for figure in ["p50_ns", "p99_ns", "max_ns"] {
            assert_eq!(none[figure]["unseen"], "none of these calls was timed", "{none}");
            assert!(of(7)[figure].is_u64());
        }
        // As a dwell before this one wrote it.
        let mut old = of(0);
        ["p50_ns", "p99_ns", "max_ns"].iter().for_each(|figure| old[*figure] = 0.into());
        assert_eq!(serde_json::from_value::<CallRow>(old).unwrap().max_ns, Seen::Value(0));
    }
}

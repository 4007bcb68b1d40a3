//! Native and Python frames of one stack, in order.
//!
//! Each time that C code enters CPython's evaluation function, one native frame of that function
//! stands for a run of Python frames: from one to the next with its entry flag set. In the merged
//! stack the run takes its place. Other frames of the interpreter stay: they show what the Python
//! code called (`list_append`, `time_sleep`).

/// A frame of a merged stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merged<'a, N, P> {
    /// A native frame.
    Native(&'a N),
    /// A Python frame.
    Python(&'a P),
}

/// Which ends of the two stacks are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    /// The native stack reaches its outermost function.
    pub native: bool,
    /// The Python stack reaches its outermost frame.
    pub python: bool,
}

/// Whether this symbol is CPython's evaluation function, or a part that a compiler split off. In an
/// interpreter built with tail calls (3.14), each opcode is a separate function.
#[must_use]
pub fn is_evaluation(symbol: &str) -> bool {
    symbol == "_PyEval_EvalFrameDefault"
        || symbol.starts_with("_PyEval_EvalFrameDefault.")
        || symbol.starts_with("_TAIL_CALL_")
}

/// Merges, the innermost frame first in all lists. `is_evaluation` recognizes native frames of the
/// evaluation function, `is_entry` Python frames for which it was entered.
///
/// The flag tells whether they match: each run has a native frame and vice versa, as far as the
/// stacks reach. Where they do not, no frame is lost:
/// - more native frames, both stacks whole: the innermost is at its beginning or end, where its run
///   is not there;
/// - fewer native frames: the remaining Python frames follow the last native frame that has some,
///   or, where the native stack is not whole, its end.
pub fn merge<'a, N, P>(
    native: &'a [N],
    is_evaluation: impl Fn(&N) -> bool,
    python: &'a [P],
    is_entry: impl Fn(&P) -> bool,
    whole: Whole,
) -> (Vec<Merged<'a, N, P>>, bool) {
    let evaluations = native.iter().filter(|frame| is_evaluation(frame)).count();
    let runs = python.iter().filter(|frame| is_entry(frame)).count()
        + usize::from(python.last().is_some_and(|frame| !is_entry(frame)));
    let both = whole.native && whole.python;
    // Without both ends, only the innermost frames are known to match.
    let mut skip = if both { evaluations.saturating_sub(runs) } else { 0 };
    let fit = match (whole.native, whole.python) {
        (true, true) => evaluations == runs,
        (false, true) => evaluations <= runs,
        (true, false) => evaluations >= runs,
        (false, false) => true,
    };
    let mut merged = Vec::with_capacity(native.len() + python.len());
    let mut rest = python;
    let mut placed = skip;
    for frame in native {
        if !is_evaluation(frame) || rest.is_empty() {
            merged.push(Merged::Native(frame));
        } else if skip > 0 {
            skip -= 1;
            merged.push(Merged::Native(frame));
        } else {
            placed += 1;
            let is_last = whole.native && placed == evaluations;
            let end = if is_last { None } else { rest.iter().position(&is_entry) };
            let (run, others) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
            merged.extend(run.iter().map(Merged::Python));
            rest = others;
        }
    }
    merged.extend(rest.iter().map(Merged::Python));
    (merged, fit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOTH: Whole = Whole { native: true, python: true };

    /// Frames are words; `E…` is the evaluation function, `…!` an entry.
    fn check(native: &str, python: &str, whole: Whole, expected: &str, fits: bool) {
        let native: Vec<&str> = native.split_whitespace().collect();
        let python: Vec<&str> = python.split_whitespace().collect();
        let (merged, fit) =
            merge(&native, |frame| frame.starts_with('E'), &python, |frame| frame.ends_with('!'), whole);
        let words: Vec<&str> = merged
            .iter()
            .map(|frame| match frame {
                Merged::Native(n) => **n,
                Merged::Python(p) => **p,
            })
            .collect();
        assert_eq!((words.join(" ").as_str(), fit), (expected, fits));
    }

    #[test]
    fn a_run_takes_the_place_of_its_native_frame() {
        check("sleep E call E main", "a b! c!", BOTH, "sleep a b! call c! main", true);
    }

    #[test]
    fn before_3_11_each_frame_has_one() {
        check("E f E f E main", "a! b! c!", BOTH, "a! f b! f c! main", true);
    }

    #[test]
    fn native_frames_alone_stay_as_they_are() {
        check("x y main", "", BOTH, "x y main", true);
    }

    #[test]
    fn a_native_frame_that_just_begins_has_no_run_yet() {
        check("E1 call E2 main", "a!", BOTH, "E1 call a! main", false);
    }

    #[test]
    fn python_frames_without_native_ones_stay_together() {
        check("x E main", "a! b! c", BOTH, "x a! b! c main", false);
        check("x main", "a!", BOTH, "x main a!", false);
    }

    #[test]
    fn a_native_stack_that_broke_ends_in_the_remaining_python_frames() {
        let whole = Whole { native: false, python: true };
        check("x E call", "a! b c!", whole, "x a! call b c!", true);
        check("x", "a! b!", whole, "x a! b!", true);
    }

    #[test]
    fn a_python_stack_that_is_cut_leaves_the_outermost_native_frames() {
        let whole = Whole { native: true, python: false };
        check("x E y E z E main", "a! b", whole, "x a! y b z E main", true);
    }

    proptest! {
        #[test]
        fn no_python_frame_is_lost_and_the_order_stays(
            native in prop::collection::vec((any::<u8>(), any::<bool>()), 0..12),
            python in prop::collection::vec((any::<u8>(), any::<bool>()), 0..12),
            whole in (any::<bool>(), any::<bool>()),
        ) {
            let whole = Whole { native: whole.0, python: whole.1 };
            let (merged, _) = merge(&native, |frame| frame.1, &python, |frame| frame.1, whole);
            let scripts: Vec<_> =
                merged.iter().filter_map(|frame| match frame { Merged::Python(p) => Some(**p), Merged::Native(_) => None }).collect();
            prop_assert_eq!(&scripts, &python);
            let others: Vec<_> = merged
                .iter()
                .filter_map(|frame| match frame { Merged::Native(n) if !n.1 => Some(**n), _ => None })
                .collect();
            let expected: Vec<_> = native.into_iter().filter(|frame| !frame.1).collect();
            prop_assert_eq!(others, expected);
        }
    }
}

//! Threads that wait for the lock of their language's interpreter.

use model::recording::Language;
use model::wait::StackFrame;

/// Functions that take CPython's lock: what waits for it, and, where there are no symbols, what is exported and calls that.
const TAKES: [&str; 4] =
    ["take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread", "_PyThreadState_Attach"];
/// They are among this many of the innermost frames.
const FRAMES: usize = 8;

/// Whose interpreter's lock a wait is for, by its stack, the innermost first.
pub(crate) fn awaited(stack: &[StackFrame]) -> Option<Language> {
    let mut names = stack.iter().take(FRAMES).map(|frame| &frame.function);
    names.any(|name| TAKES.iter().any(|takes| name.starts_with(takes))).then_some(Language::Python)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(functions: &[&str]) -> Vec<StackFrame> {
        let frame = |function: &&str| StackFrame {
            function: (*function).to_owned(),
            source: None,
            language: Language::Native,
        };
        functions.iter().map(frame).collect()
    }

    #[test]
    fn the_lock_is_known_by_what_takes_it() {
        let with = stack(&["pthread_cond_timedwait", "take_gil.part.0", "_PyEval_EvalFrameDefault"]);
        assert_eq!(awaited(&with), Some(Language::Python));
        let exported = stack(&["__futex_abstimed_wait_common", "PyEval_RestoreThread", "time_sleep"]);
        assert_eq!(awaited(&exported), Some(Language::Python));
        assert_eq!(awaited(&stack(&["pthread_mutex_lock", "lock_PyThread_acquire_lock"])), None);
        // Far out it is what the thread does beside, and not what it waits in.
        let far: Vec<&str> = std::iter::repeat_n("f", FRAMES).chain(["take_gil"]).collect();
        assert_eq!(awaited(&stack(&far)), None);
    }
}

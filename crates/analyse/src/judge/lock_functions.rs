//! Which functions release locks, by their names.

use model::run::{WaitEnd, WaitRow};
use model::wait::StackFrame;

/// Parts of the names of functions that release a lock: `pthread_mutex_unlock`,
/// `lock_PyThread_release_lock`.
const RELEASES: [&str; 2] = ["unlock", "release_lock"];

/// How such waits were ended. A thread is also woken by conditions, barriers and the end of
/// another.
pub(super) fn ended(wait: &WaitRow) -> WaitEnd {
    let mut frames = wait.by.iter().filter_map(|waker| waker.stack.value()).flatten();
    if frames.any(releases) { WaitEnd::Unlocked } else { WaitEnd::Woken }
}

fn releases(frame: &StackFrame) -> bool {
    RELEASES.iter().any(|part| frame.function.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::recording::Language;
    use model::wait::FrameKind;

    #[test]
    fn a_function_that_releases_is_known_by_its_name() {
        let named = |function: &str| StackFrame {
            function: function.to_owned(),
            source: None,
            language: Language::Native,
            kind: FrameKind::Function,
        };
        for name in ["pthread_mutex_unlock", "___pthread_rwlock_unlock", "lock_PyThread_release_lock"] {
            assert!(releases(&named(name)), "{name}");
        }
        for name in ["pthread_cond_signal", "pthread_mutex_lock", "wait"] {
            assert!(!releases(&named(name)), "{name}");
        }
    }
}

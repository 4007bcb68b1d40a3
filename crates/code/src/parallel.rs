//! Work on several CPUs, when the program has ended, or a window, and CPUs are free.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of threads.
const WORKERS_MAX: usize = 4;

/// What `task` makes of each item, in order. Threads that cannot be started are not needed.
///
/// # Panics
/// When a task does.
pub fn map<I: Sync, T: Send>(items: &[I], task: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let workers =
        std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX).min(items.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, task(item)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..workers).filter_map(start).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..1000).collect();
        assert_eq!(map(&items, |item| item * 2), (0..2000).step_by(2).collect::<Vec<_>>());
        assert_eq!(map(&[] as &[u64], |item| *item), Vec::<u64>::new());
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn a_panic_is_passed_on() {
        map(&[1, 2, 3], |item| assert!(*item != 3, "the third"));
    }
}

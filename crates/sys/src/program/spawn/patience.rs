//! How long a program is waited for that was asked to end.

use crate::signals::Signal;
use model::Ns;
use std::time::Duration;

/// Signals by which people and service managers end programs.
pub const ENDING: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// The time that a program has for a signal which asks for its end, if it does not handle it.
const PATIENCE_NS: Ns = 700_000_000;

/// A signal to dwell that asks for the end. The program has it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedToEnd {
    /// Its number.
    pub signal: i32,
    /// When dwell got it, by the monotonic clock.
    pub at: Ns,
    /// How often a process asked for the end so far: timeout(1) sends its signal twice, at once,
    /// which is once. What a key of the terminal sends is not counted: programs have uses for it.
    pub times: u32,
}

impl AskedToEnd {
    /// Two that come within this time are one.
    const ONCE_NS: Ns = 500_000_000;

    pub(crate) fn after(before: Option<Self>, signal: &Signal, at: Ns) -> Self {
        let times = before.map_or(0, |before| before.times);
        let again = before.is_none_or(|before| before.times == 0 || at - before.at >= Self::ONCE_NS);
        let counts = !signal.from_kernel && again;
        // One that is the same as before has come when that came.
        let at = before.filter(|_| !counts && times > 0).map_or(at, |before| before.at);
        Self { signal: signal.number, at, times: times + u32::from(counts) }
    }
}

/// How long a program is waited for that was asked to end. One that handles the signal has all the
/// time that it needs: it may be ending in order, or have another use for Ctrl-C.
#[derive(Debug, Default)]
pub struct Patience {
    /// When it was asked, and whether the signal was ignored then.
    asked: Option<(Ns, bool)>,
    /// The time, once that was looked at again.
    looked_again: Option<Ns>,
}

impl Patience {
    /// Whether it is over: the signal has no effect, or a process has asked for the second time. To
    /// be called when a signal has come, and when [`left`](Self::left) has passed.
    pub fn is_over(&mut self, asked: &AskedToEnd, now: Ns, ignored: impl Fn() -> bool) -> bool {
        let known = self.asked.filter(|(at, _)| *at == asked.at);
        let (_, at_first) = known.unwrap_or_else(|| *self.asked.insert((asked.at, ignored())));
        if now < asked.at + PATIENCE_NS {
            return false;
        }
        if asked.times > 1 {
            return true;
        }
        // Some begin to ignore it while they end, so it counts only if they did from the beginning.
        let again = self.looked_again != Some(asked.at);
        self.looked_again = Some(asked.at);
        at_first && again && ignored()
    }

    /// How long to wait before the answer can change without another signal; none if it cannot.
    pub fn left(&self, asked: &AskedToEnd, now: Ns) -> Option<Duration> {
        let until = asked.at + PATIENCE_NS;
        (self.looked_again != Some(asked.at)).then(|| Duration::from_nanos(until.saturating_sub(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(at: Ns, times: u32) -> AskedToEnd {
        AskedToEnd { signal: libc::SIGTERM, at, times }
    }

    #[test]
    fn who_asks_twice_within_half_a_second_has_asked_once() {
        let sent = |from_kernel| Signal { number: libc::SIGTERM, from_kernel, sender: 7 };
        let times = |moments: &[(Ns, bool)]| {
            let mut asked = None;
            for (at, from_kernel) in moments {
                asked = Some(AskedToEnd::after(asked, &sent(*from_kernel), *at));
            }
            asked.map(|asked| (asked.times, asked.at))
        };
        assert_eq!(times(&[(1_000, false)]), Some((1, 1_000)));
        assert_eq!(times(&[(1_000, false), (2_000, false)]), Some((1, 1_000)));
        assert_eq!(times(&[(1_000, false), (600_000_000, false)]), Some((2, 600_000_000)));
        assert_eq!(times(&[(1_000, true), (900_000_000, true)]), Some((0, 900_000_000)), "Ctrl-C");
        assert_eq!(times(&[(1_000, true), (2_000, false)]), Some((1, 2_000)));
    }

    #[test]
    fn a_program_is_left_if_it_ignored_the_signal_all_the_time() {
        for (at_first, later, is_left) in
            [(true, true, true), (false, true, false), (true, false, false), (false, false, false)]
        {
            let mut patience = Patience::default();
            assert!(!patience.is_over(&asked(5, 1), 6, || at_first));
            assert_eq!(patience.left(&asked(5, 1), 6), Some(Duration::from_nanos(PATIENCE_NS - 1)));
            assert!(!patience.is_over(&asked(5, 1), PATIENCE_NS, || true), "it has some time");
            assert_eq!(patience.is_over(&asked(5, 1), 5 + PATIENCE_NS, || later), is_left);
            // Whatever it does later: it was asked once.
            assert!(!patience.is_over(&asked(5, 1), 9 * PATIENCE_NS, || true));
            assert_eq!(patience.left(&asked(5, 1), 9 * PATIENCE_NS), None, "nothing is waited for");
        }
    }

    #[test]
    fn a_program_is_left_if_a_process_asks_again() {
        let mut patience = Patience::default();
        assert!(!patience.is_over(&asked(5, 1), 3 * PATIENCE_NS, || false));
        let again = asked(3 * PATIENCE_NS, 2);
        assert!(!patience.is_over(&again, 3 * PATIENCE_NS, || false));
        assert_eq!(patience.left(&again, 4 * PATIENCE_NS), Some(Duration::ZERO));
        assert!(patience.is_over(&again, 4 * PATIENCE_NS, || false));
    }

    #[test]
    fn a_key_of_the_terminal_is_the_programs_own_matter_unless_it_is_ignored() {
        let mut patience = Patience::default();
        for at in [1, PATIENCE_NS, 5 * PATIENCE_NS] {
            assert!(!patience.is_over(&asked(at, 0), at, || false));
            assert!(!patience.is_over(&asked(at, 0), at + PATIENCE_NS, || false));
        }
        assert!(!patience.is_over(&asked(9 * PATIENCE_NS, 0), 9 * PATIENCE_NS, || true));
        assert!(patience.is_over(&asked(9 * PATIENCE_NS, 0), 10 * PATIENCE_NS, || true));
    }
}

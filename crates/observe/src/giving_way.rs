//! When the thread that reads events leaves its CPU to the program, and when it does not: while
//! buffers fill fast, or it gets its CPU late, it is a thread like others, and where both come
//! together it runs before them, so that no event is lost.

use model::Ns;
use sys::policy::{Background, RtBoost};

/// Reads in a row that came in time and found little, before the thread gives way: a fifth of a
/// second at the slowest pace.
const CALM: u32 = 10;

/// How much later than asked a read may begin: a slice of another thread is some 3 ms, and the
/// buffers hold 16 ms of the fastest that was measured.
const LATE_NS: Ns = 2_000_000;

/// Whether this thread gives way at present.
#[derive(Debug, Default)]
pub(crate) struct GivingWay {
    background: Option<Background>,
    /// It has got its CPU late while buffers filled fast: what else wants the CPUs takes its share
    /// of them. Where that is refused it is a thread like others.
    hurry: Option<RtBoost>,
    calm: u32,
}

impl GivingWay {
    /// After a read that began `late_ns` after it was to, and found `many` events or not.
    pub(crate) fn after(&mut self, late_ns: Ns, many: bool) {
        if many || late_ns > LATE_NS {
            self.background = None;
            if many && late_ns > LATE_NS && self.hurry.is_none() {
                self.hurry = Some(RtBoost::begin());
            }
            self.calm = 0;
            return;
        }
        self.calm = self.calm.saturating_add(1);
        if self.calm == CALM {
            self.hurry = None;
            self.background = Some(Background::begin());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it gives way after each of these reads.
    fn gives_way(reads: impl IntoIterator<Item = (Ns, bool)>) -> Vec<bool> {
        let mut way = GivingWay::default();
        let mut after = |(late_ns, many)| {
            way.after(late_ns, many);
            way.background.is_some()
        };
        reads.into_iter().map(&mut after).collect()
    }

    #[test]
    fn it_gives_way_once_ten_reads_were_calm() {
        assert_eq!(gives_way([(0, false); 12])[8..], [false, true, true, true]);
    }

    #[test]
    fn a_late_read_or_one_that_finds_much_ends_it_and_counts_anew() {
        for (late_ns, many) in [(LATE_NS + 1, false), (0, true)] {
            let mut reads = vec![(LATE_NS, false); 10];
            reads.push((late_ns, many));
            reads.extend([(0, false); 10]);
            let after = gives_way(reads);
            assert_eq!(after[9..12], [true, false, false], "{late_ns} {many}");
            assert_eq!(after[19..], [false, true], "{late_ns} {many}");
        }
    }

    #[test]
    fn it_hurries_from_a_late_read_that_finds_much_until_it_is_calm_again() {
        let mut way = GivingWay::default();
        let mut hurries = |late_ns, many| {
            way.after(late_ns, many);
            way.hurry.is_some()
        };
        let late = LATE_NS + 1;
        assert_eq!([hurries(late, false), hurries(0, true)], [false; 2]);
        assert!(hurries(late, true));
        assert!((1..CALM).all(|_| hurries(0, false)));
        assert!(!hurries(0, false));
    }
}

//! Which samples count, and for how much.

use crate::account::split::{KINDS, Kind, one};
use model::Ns;

/// What is known of the sampling.
#[derive(Debug)]
pub(super) struct Samples {
    /// Period of the fastest clock.
    period_ns: Ns,
    /// When the tracing of calls was last taken off, and on again.
    untraced: (Ns, Ns),
}

impl Samples {
    pub(super) fn new(period_ns: Ns) -> Self {
        Self { period_ns, untraced: (Ns::MAX, 0) }
    }

    /// The tracing of calls was taken off or put on again.
    pub(super) fn tracing(&mut self, at: Ns, is_on: bool) {
        *(if is_on { &mut self.untraced.1 } else { &mut self.untraced.0 }) = at;
    }

    /// Whether calls were traced all the time from one moment to another, the last of which
    /// anything was heard.
    pub(super) fn traced_through(&self, from: Ns, to: Ns) -> bool {
        let (off, on) = self.untraced;
        !self.is_untraced(to) && (off == Ns::MAX || from >= on || to < off)
    }

    /// Whether calls were not traced then.
    pub(super) fn is_untraced(&self, at: Ns) -> bool {
        let (off, on) = self.untraced;
        off != Ns::MAX && at >= off && (off > on || at < on)
    }

    /// A sample as it counts. None in a call, where time is measured, unless calls are not traced.
    pub(super) fn counted(&self, at: Ns, kind: Kind, period_ns: u32) -> Option<[u32; KINDS]> {
        let weight = (Ns::from(period_ns) / self.period_ns.max(1)).clamp(1, 1000) as u32;
        (kind != Kind::Call || self.is_untraced(at)).then(|| one(kind, weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_in_calls_count_while_calls_are_not_traced() {
        let mut samples = Samples::new(1000);
        let counts = |samples: &Samples, at| samples.counted(at, Kind::Call, 2000).is_some();
        assert!(!counts(&samples, 5), "all are traced until something else is heard");
        samples.tracing(10, false);
        assert!(!counts(&samples, 9) && counts(&samples, 10));
        samples.tracing(20, true);
        assert!(counts(&samples, 19) && !counts(&samples, 20), "records come a little late");
        assert_eq!(samples.counted(5, Kind::User, 2000), Some(one(Kind::User, 2)));
        assert!(samples.traced_through(20, 30) && samples.traced_through(2, 9));
        assert!(!samples.traced_through(5, 30) && !samples.traced_through(12, 19));
    }
}

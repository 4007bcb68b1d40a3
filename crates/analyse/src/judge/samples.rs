//! What tests of judgement begin with.

use model::{Coverage, Seen};

/// A coverage of which nothing is known.
pub(super) fn coverage() -> Coverage {
    Coverage {
        sources: Vec::new(),
        lost_events: Seen::Absent,
        unexplained_ns: 0,
        overhead_ns: Seen::Absent,
        overhead_by: Vec::new(),
        reader_cpu_ns: Seen::Absent,
        host_busy: Seen::Absent,
        steal_ns: Seen::Absent,
        checks: Vec::new(),
        notes: Vec::new(),
    }
}

//! What made the latest wake-ups late.

use model::Seen;
use model::wake::Measurements;
use model::wake::spike::Spike;

/// Each late wake-up with its cause, latest first.
pub(super) fn spikes(measured: &Measurements) -> Seen<Vec<Spike>> {
    match &measured.spikes {
        Seen::Value(seen) if seen.is_empty() => Seen::Value(Vec::new()),
        Seen::Value(_) => Seen::unseen("this version of dwell does not look for the causes of late wake-ups"),
        Seen::Absent => Seen::Absent,
        Seen::Unseen(why) => Seen::Unseen(why.clone()),
    }
}

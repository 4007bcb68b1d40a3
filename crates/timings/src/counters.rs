//! What the rest of the host did while a command ran: `/proc/stat`, read before and after.

use host::stat::{self, CpuTimes};
use model::{Ns, Seen};
use std::path::Path;

/// The shortest run that it is read for: the counters go by ticks of 10 ms.
const RUN_MIN_NS: Ns = 200_000_000;

/// The host's CPU time when a run began; none if the run is expected to be too short.
#[derive(Debug)]
pub(crate) struct Before(Option<Result<CpuTimes, String>>);

impl Before {
    /// `expected_ns`: what the command took last.
    pub(crate) fn read(expected_ns: Option<Ns>) -> Self {
        // One that took half of the least may take all of it now.
        Self(expected_ns.is_none_or(|ns| ns >= RUN_MIN_NS / 2).then(read))
    }

    /// Time that the hypervisor took since, and CPU time of the rest of the host, dwell included.
    pub(crate) fn since(self, wall_ns: Ns, own_cpu_ns: Ns) -> (Seen<Ns>, Seen<Ns>) {
        let read = match self.0 {
            Some(before) if wall_ns >= RUN_MIN_NS => before.and_then(|before| Ok((before, read()?))),
            _ => Err("the run is too short for the host's counters (steps of 10 ms)".to_owned()),
        };
        match read {
            Ok((before, after)) => {
                let busy_ns = after.busy_ns().saturating_sub(before.busy_ns());
                let steal_ns = after.steal_ns.saturating_sub(before.steal_ns);
                (Seen::Value(steal_ns), Seen::Value(busy_ns.saturating_sub(own_cpu_ns)))
            }
            Err(why) => (Seen::unseen(why.clone()), Seen::unseen(why)),
        }
    }
}

fn read() -> Result<CpuTimes, String> {
    let text = host::text(Path::new(stat::FILE)).map_err(|error| error.to_string())?;
    stat::total(&text).ok_or_else(|| format!("{} does not state the CPU time", stat::FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_are_unseen_with_the_reason() {
        let (steal, others) = Before::read(None).since(RUN_MIN_NS - 1, 0);
        assert_eq!(steal, others);
        assert!(matches!(steal, Seen::Unseen(why) if why.contains("too short")));
        assert!(Before::read(Some(1_000_000)).0.is_none());
    }

    #[test]
    fn longer_runs_have_values() {
        let (steal, others) = Before::read(Some(RUN_MIN_NS)).since(RUN_MIN_NS, Ns::MAX);
        assert!(steal.value().is_some());
        assert_eq!(others, Seen::Value(0));
    }
}

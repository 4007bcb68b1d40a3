//! The largest resident set of a process: from what the kernel had counted of each at its end,
//! else from what it says of all that were waited for.

use crate::bounded::Bounded;
use crate::trace::Largest;
use model::processes::MemoryPeak;
use model::recording::{Tier, Trailer};
use model::run::ThreadLedger;
use model::{Header, Pid, Seen};

/// The peak of a run whose processes were seen to end: the `largest` of them.
pub(crate) fn traced(largest: Option<Largest>, header: &Header, trailer: &Trailer) -> Seen<MemoryPeak> {
    let Some(Largest { bytes, pid, name }) = largest else { return by_usage(header, trailer) };
    Seen::Value(MemoryPeak {
        bytes,
        at_most: is_dwells(bytes, trailer),
        pid: Seen::Value(pid),
        name: name.map_or_else(
            || Seen::unseen("the beginning of the process was not observed"),
            |name| Seen::Value(name.to_text()),
        ),
    })
}

/// Of one whose processes were looked at.
pub(crate) fn polled(threads: &[ThreadLedger], header: &Header, trailer: &Trailer) -> Seen<MemoryPeak> {
    let living = trailer.peaks.iter().copied().max_by_key(|(_, bytes)| *bytes);
    let living = living.map(|(pid, bytes)| MemoryPeak {
        bytes,
        at_most: false,
        pid: Seen::Value(pid),
        name: name_of(threads, pid),
    });
    if header.attached.is_none() {
        return match (by_usage(header, trailer), living) {
            (Seen::Value(waited), Some(living)) if living.bytes > waited.bytes => Seen::Value(living),
            (waited, _) => waited,
        };
    }
    match living {
        Some(living) if threads.iter().all(|thread| thread.outlived) => Seen::Value(living),
        Some(_) => Seen::unseen("some processes exited, and how large they were needs BPF"),
        None => Seen::unseen(UNRECORDED),
    }
}

const UNRECORDED: &str = "not in this recording";

/// By the kernel's sum over all that were waited for.
fn by_usage(header: &Header, trailer: &Trailer) -> Seen<MemoryPeak> {
    // Recordings before this have a figure that may be dwell's own size.
    if trailer.began_at_bytes.is_none() {
        return Seen::unseen(UNRECORDED);
    }
    let which = match header.tier {
        Tier::Bpf => "no process was observed to exit",
        Tier::Perf | Tier::Proc => "which process it was needs BPF",
    };
    trailer.rusage.clone().map(|usage| MemoryPeak {
        bytes: usage.max_rss_bytes,
        at_most: is_dwells(usage.max_rss_bytes, trailer),
        pid: Seen::unseen(which),
        name: Seen::unseen(which),
    })
}

/// Whether a size may be that of dwell, as which the root began.
fn is_dwells(bytes: u64, trailer: &Trailer) -> bool {
    trailer.began_at_bytes.is_some_and(|began| bytes <= began)
}

fn name_of(threads: &[ThreadLedger], pid: Pid) -> Seen<String> {
    let leader = threads.iter().find(|thread| thread.pid == pid && thread.tid == pid);
    leader.map_or_else(
        || Seen::unseen("the thread that leads it was not observed"),
        |leader| Seen::Value(leader.name.clone()),
    )
}

impl Bounded for MemoryPeak {}

//! What a recording asks of its source, whichever it is. What a source cannot say is unseen by
//! default, with the reason.

use crate::source_text::Roots;
use crate::threads::Threads;
use model::counters::CountersObserved;
use model::coverage::Source;
use model::disk_requests::DiskUses;
use model::files::FileUses;
use model::recording::{Cost, Sliced, Tier, UnitsFollowed};
use model::{CallStats, Event, Ns, Seen};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The instruments of a recording: BPF, or what there is without it.
pub(crate) trait Instruments {
    /// Their tier.
    fn tier(&self) -> Tier;

    /// The threads of the tree, according to the events so far.
    fn threads(&self) -> &Threads;

    /// The shortest sampling period, per CPU with BPF and per thread without it. Where there are no
    /// samples: that of snapshots, or 0.
    fn sample_period_ns(&self) -> Ns;

    /// What they observe and what they do not; more is known at the end.
    fn sources(&self) -> Vec<Source>;

    /// Sources that turned out less complete than announced.
    fn worse(&self) -> Vec<Source>;

    /// The program will execute this file first.
    fn expect(&mut self, _executable: &Path) {}

    /// The program that was held is let go now.
    fn let_go(&mut self) {}

    /// How long the reader may sleep, at most `pause`.
    fn pause(&self, pause: Duration) -> Duration;

    /// Emits new events and returns the number of records. The newest may be kept for the next
    /// time.
    fn drain(&mut self, sink: &mut dyn FnMut(&Event)) -> u64;

    /// Emits all new events.
    fn drain_rest(&mut self, sink: &mut dyn FnMut(&Event)) -> u64;

    /// Begins a window; call it before any event is emitted. Returns its start.
    fn begin(&self) -> Ns {
        sys::clock::monotonic_ns()
    }

    /// Ends a window; its events are still to be emitted. Returns its end.
    fn end(&mut self) -> Ns;

    /// Emits all events before `until`.
    fn drain_until(&mut self, until: Ns, sink: &mut dyn FnMut(&Event)) -> u64;

    /// Java virtual machines are to be asked for the names of their code.
    fn asks_jvms(&mut self);

    /// The names of all code locations. Call it when the program has ended.
    fn names(&mut self, sink: &mut dyn FnMut(&Event));

    /// The users who could have written what files with code say.
    fn users(&self) -> BTreeSet<u32>;

    /// The root directories in which programs see files.
    fn roots(&self) -> Roots;

    /// Events lost since the last call, unless losses are in the stream.
    fn newly_lost(&mut self) -> u64 {
        0
    }

    /// Events lost in total.
    fn lost(&self) -> Seen<u64>;

    /// The calls that returned.
    fn calls(&self) -> Seen<Vec<CallStats>> {
        Seen::unseen("system calls are counted with BPF only")
    }

    /// What processes read and wrote of files.
    fn files(&self) -> Seen<FileUses> {
        Seen::unseen("what was read of each file is counted with BPF only")
    }

    /// What processes asked of disks.
    fn disk_requests(&self) -> Seen<DiskUses> {
        Seen::unseen("requests to disks are counted with BPF only")
    }

    /// How many requests were counted only; none where that is not known.
    fn requests_left_out(&self) -> Option<u64> {
        None
    }

    /// How calls or operations were followed, if they were.
    fn units_followed(&self) -> Option<UnitsFollowed> {
        None
    }

    /// What was observed of the processor's counters.
    fn counters(&self) -> Seen<CountersObserved>;

    /// The sums for the estimate of all calls, where not all were traced.
    fn sliced(&mut self, _end: Ns) -> Option<Sliced> {
        None
    }

    /// The overhead: how often each instrument ran in the context of the program.
    fn cost(&self) -> Vec<Cost>;
}

//! The tables: each column with its type, what it is, and what fills it. A column is declared
//! nowhere else.
//!
//! `name` is text that is, or may quote, a command, a path or a peer.

use crate::cell::{Cell, Type, double, flag, int, long, text};
use crate::of::{Summary, word};
use crate::rows::{Column, Listed, Table};
use crate::sources::{ChangeRow, PlaceRow, SpikePart, WaitBin, WakeRow, call, known, named, target};
use model::coverage::Source;
use model::ladder::Rung;
use model::peers::ConnectionRow;
use model::requests::{LatencyBin, RequestKind, RequestPart, Requests};
use model::run::{FindingRow, FunctionRow, WaitRow};
use model::syscall_rows::CallRow;
use model::timing::TimedRun;
use model::wait::WaitCall;
use model::wake::{Bin, Wakes, Wakeups};
use model::{AccountPart, Seen, Step};

/// All tables, in the order of the documents.
pub const TABLES: &[&Table] = &[
    &Results::TABLE,
    &Account::TABLE,
    &Places::TABLE,
    &Waits::TABLE,
    &WaitBins::TABLE,
    &RequestTable::TABLE,
    &RequestBins::TABLE,
    &RequestParts::TABLE,
    &RequestKinds::TABLE,
    &Findings::TABLE,
    &Connections::TABLE,
    &WakeTable::TABLE,
    &WakeBins::TABLE,
    &SpikeParts::TABLE,
    &Rungs::TABLE,
    &Comparisons::TABLE,
    &CompareRuns::TABLE,
    &Coverage::TABLE,
    &Unseens::TABLE,
    &Tags::TABLE,
    &Path::TABLE,
    &Functions::TABLE,
    &Syscalls::TABLE,
];

/// The type of a column by its word in [`table`].
macro_rules! kind {
    (name) => {
        Type::Text
    };
    (text) => {
        Type::Text
    };
    (int) => {
        Type::Int
    };
    (long) => {
        Type::Long
    };
    (double) => {
        Type::Double
    };
    (flag) => {
        Type::Flag
    };
    (time) => {
        Type::Time
    };
}

/// The value of a column by the same word.
macro_rules! cell {
    (name, $of:expr) => {
        text($of)
    };
    (time, $of:expr) => {
        long($of)
    };
    ($kind:ident, $of:expr) => {
        $kind($of)
    };
}

macro_rules! table {
    ($(#[doc = $doc:literal])+ $table:ident, $name:literal, $keys:expr, $detail:literal, |$row:ident: $type:ty| {
        $($(#[doc = $about:literal])+ $column:ident: $kind:ident = $of:expr;)+
    }) => {
        pub(crate) struct $table;

        impl Listed for $table {
            type Row<'a> = $type;

            const TABLE: Table = Table {
                name: $name,
                doc: concat!($($doc),+).trim_ascii(),
                detail: $detail,
                keys: $keys,
                own: &[$(Column {
                    name: stringify!($column),
                    kind: kind!($kind),
                    doc: concat!($($about),+).trim_ascii(),
                    named: matches!(stringify!($kind).as_bytes(), b"name"),
                }),+],
            };

            fn fill($row: &Self::Row<'_>) -> Vec<Cell> {
                vec![$(cell!($kind, $of)),+]
            }
        }
    };
}

/// What the rows of a result have in common.
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) started_at: i64,
    pub(crate) host: String,
    pub(crate) machine: Seen<String>,
    pub(crate) kernel: String,
    pub(crate) service: Option<String>,
}

table! {
    /// The columns that all tables but `unseen` and `tags` begin with.
    Keys, "keys", &[], false, |key: Key| {
        /// The result: 32 hexadecimal digits
        result_id: text = &key.id;
        /// When it started, UTC
        started_at: time = key.started_at;
        /// The name of the host
        host: text = &key.host;
        /// The machine: 16 hexadecimal digits; copies of one image have the same
        machine: text = &key.machine;
        /// The kernel's release
        kernel: text = &key.kernel;
        /// The unit, container, control group, port, script or program, without a PID
        service: text = key.service.as_ref();
    }
}

/// [`Keys`], as the columns that a table begins with.
const ALL_KEYS: &[Column] = Keys::TABLE.own;
/// The number of the result alone.
const ID: &[Column] = ALL_KEYS.split_at(1).0;

table! {
    /// One row: a result.
    Results, "results", ALL_KEYS, false, |of: Summary<'a>| {
        /// run, attach, wake, ladder or compare
        verb: text = of.verb;
        /// The schema of its JSON
        schema: text = of.schema;
        /// The version of dwell that measured
        dwell: text = &of.dwell;
        /// The version of these tables: 1
        rows_version: int = 1;
        /// What was run or measured, as typed
        command: name = &of.command;
        /// What was written beside it in the store
        note: name = of.note.as_ref();
        /// x86_64, aarch64
        arch: text = &of.host.arch;
        /// CPUs online
        cpus: int = of.host.cpus;
        /// Physical memory
        memory_bytes: long = &of.host.memory_bytes;
        /// The hypervisor, emulator or container runtime
        virtualisation: text = &of.host.virtualisation;
        /// When it was kept in a store, UTC
        kept_at: time = of.kept_at.clone();
        /// The wall clock; of wake, ladder and compare how long measuring took
        wall_ns: long = of.wall_ns;
        /// User time of all threads
        user_ns: long = of.user_ns.clone();
        /// CPU time in the kernel of all threads
        kernel_ns: long = of.kernel_ns.clone();
        /// What the account of a window sums to
        thread_ns: long = of.thread_ns;
        /// cpu, kernel, io, mixed, idle or starved
        class: text = of.class;
        /// The state that leads in that class
        resource: text = of.resource;
        /// Percentage points to the next kind of time
        margin_points: double = of.margin_points;
        /// Of wake with a deadline: pass, fail or undecided; of compare the verdicts
        verdict: text = of.verdict.clone();
        /// The cause that saves most
        first_finding: text = of.first_finding;
        /// Where the evidence is from: bpf, perf or proc
        tier: text = of.tier;
        /// Events that the kernel could not deliver
        lost_events: long = of.lost_events.clone();
        /// Time without evidence
        unexplained_ns: long = of.unexplained_ns;
        /// What the instruments cost the program at least
        overhead_lo_ns: long = of.overhead.clone().map(|cost| cost.lo);
        /// The same at most
        overhead_hi_ns: long = of.overhead.clone().map(|cost| cost.hi);
        /// CPU time of other programs by the capacity of all CPUs, 0 to 1
        host_busy: double = of.host_busy.clone();
        /// CPU time that the hypervisor took
        steal_ns: long = of.steal_ns.clone();
        /// Whether it ended early
        interrupted: flag = of.interrupted;
    }
}

table! {
    /// One row: a state of a run or window. They sum to results.wall_ns (run) or thread_ns
    /// (attach).
    Account, "account", ALL_KEYS, false, |part: &'a AccountPart| {
        /// user, kernel, disk, network, lock and so on
        state: text = part.state.name();
        /// Time in it
        ns: long = part.ns;
        /// measured, sampled or derived
        basis: text = word(&part.basis);
        /// Low end of its 95 % interval
        lo_ns: long = part.lo_ns;
        /// High end
        hi_ns: long = part.hi_ns;
    }
}

table! {
    /// One row: a place of a run's or window's time in its own code. They sum as `account` does.
    Places, "places", ALL_KEYS, false, |row: PlaceRow<'a>| {
        /// The row among those of the result, from 0
        row_number: int = row.number;
        /// The name of the process
        process: name = Some(&row.place.process).filter(|name| !name.is_empty());
        /// The function
        code: name = row.place.code.as_ref().map(|code| code.function.as_str());
        /// The file that it is in
        file: name = row.source().map(|source| &source.0);
        /// The line
        line: int = row.source().map(|source| source.1);
        /// What it did
        state: text = row.place.state.name();
        /// The call, what was waited for, or what ran instead
        reason: name = Some(row.place.reason.to_string()).filter(|reason| !reason.is_empty());
        /// Time
        ns: long = row.place.ns;
        /// How often it began
        times: long = row.place.count;
        /// Whether functions were told apart by samples
        sampled: flag = row.place.sampled;
        /// How many places the row stands for, where these are several: without --detail those of a
        /// state that have less than a hundredth of the time
        together: int = row.together;
    }
}

table! {
    /// One row: a kind of wait, over all threads.
    Waits, "waits", ALL_KEYS, false, |row: (usize, &'a WaitRow)| {
        /// The row among those of the result, from 0
        row_number: int = row.0;
        /// disk, network, lock, pipe, sleep, idle, other-wait or unexplained
        state: text = row.1.reason.name();
        /// The system call; `fault` of a page fault
        call: text = call(row.1);
        /// file, tcp, futex, timer and so on
        target_kind: text = row.1.on.kind().name();
        /// The file, peer or lock
        target: name = target(row.1);
        /// Number of waits
        calls: long = row.1.calls;
        /// Time in them, summed over threads
        total_ns: long = row.1.total_ns;
        /// Of that what is in the account
        path_ns: long = row.1.path_ns;
        /// Median
        p50_ns: long = known(row.1, row.1.p50_ns);
        /// 99th percentile
        p99_ns: long = known(row.1, row.1.p99_ns);
        /// The longest
        max_ns: long = known(row.1, row.1.max_ns);
        /// Disk: its name, or what the file system is mounted from
        device: name = &row.1.device;
        /// Disk: requests that ended such waits
        requests: long = &row.1.requests;
        /// Time of those requests before the driver had them
        queue_ns: long = &row.1.queue_ns;
        /// Time of those requests with the device
        device_ns: long = &row.1.device_ns;
        /// How many kinds of waits the row stands for, where these are several
        together: int = row.1.together;
    }
}

table! {
    /// One row: waits whose length is lo_ns or more and less than hi_ns; 8 bins an octave, of older
    /// results one.
    WaitBins, "wait_bins", ALL_KEYS, false, |of: WaitBin<'a>| {
        /// waits.row_number
        wait: int = of.wait;
        /// waits.state
        state: text = of.row.reason.name();
        /// waits.target_kind
        target_kind: text = of.row.on.kind().name();
        /// The shortest
        lo_ns: long = of.bin.from_ns;
        /// The first length beyond
        hi_ns: long = of.bin.to_ns;
        /// How many
        n: long = of.bin.count;
    }
}

table! {
    /// One row: the requests of a run or window of a server.
    RequestTable, "requests", ALL_KEYS, false, |of: &'a Requests| {
        /// Requests that came in and were answered
        times: long = of.times;
        /// Requests from before the window, or not seen to come in; in no other figure
        began_before: long = of.began_before;
        /// Requests not answered at the end
        under_way: long = of.under_way;
        /// Requests whose connection ended before there was an answer
        abandoned: long = of.abandoned;
        /// Mean latency
        mean_ns: long = of.latency.mean_ns;
        /// Median
        p50_ns: long = of.latency.p50_ns;
        /// 90th percentile
        p90_ns: long = of.latency.p90_ns;
        /// 99th percentile
        p99_ns: long = of.latency.p99_ns;
        /// The longest
        max_ns: long = of.latency.max_ns;
        /// Typical requests: the middle of the distribution
        typical: long = of.typical;
        /// Slow requests: the slowest 1 %, and five at least
        slow: long = of.slow;
        /// Requests that began and were counted only: the figures are of a random sample then
        left_out: long = of.left_out;
    }
}

table! {
    /// One row: requests whose latency is lo_ns or more and less than hi_ns; 128 bins an octave.
    RequestBins, "request_bins", ALL_KEYS, false, |bin: &'a LatencyBin| {
        /// The shortest
        lo_ns: long = bin.ns_min;
        /// The first latency beyond
        hi_ns: long = bin.ns_max;
        /// How many
        n: long = bin.times;
    }
}

table! {
    /// One row: a part of the time of requests. Each column of means sums to the mean of its
    /// requests.
    RequestParts, "request_parts", ALL_KEYS, false, |row: (usize, &'a RequestPart)| {
        /// The row among those of the result, from 0; what slow ones have more comes first
        row_number: int = row.0;
        /// unread, other-request, no-thread, on-cpu, peer, rest, or a state of a thread
        part: text = word(&row.1.at);
        /// The system call of a wait
        call: text = row.1.call.value().and_then(WaitCall::syscall).map(ToString::to_string);
        /// What a wait was for: file, tcp, futex, timer and so on
        target_kind: text = row.1.on.as_ref().map(|on| on.kind().name().to_owned());
        /// The file, peer or lock
        target: name = row.1.on.value().map_or(Seen::Absent, named);
        /// The function and line, of slow requests
        place: name = row.1.place.as_ref().map(ToString::to_string);
        /// Mean over all requests
        mean_ns: long = row.1.mean_ns;
        /// Mean over typical ones
        typical_ns: long = row.1.typical_ns;
        /// Mean over slow ones
        slow_ns: long = row.1.slow_ns;
        /// The 99th percentile without it
        p99_without_ns: long = row.1.without.p99_ns;
    }
}

table! {
    /// One row: the requests of a server that ask for the same.
    RequestKinds, "request_kinds", ALL_KEYS, false, |row: (usize, &'a RequestKind)| {
        /// The row among those of the result, from 0; those with most time in all come first
        row_number: int = row.0;
        /// Method and path, or a command, without what names an object
        kind: name = row.1.kind.clone();
        /// Requests that were answered
        times: long = row.1.times;
        /// How many of the slow requests are of this kind
        slow: long = row.1.slow;
        /// Mean latency
        mean_ns: long = row.1.latency.mean_ns;
        /// Median
        p50_ns: long = row.1.latency.p50_ns;
        /// 99th percentile
        p99_ns: long = row.1.latency.p99_ns;
        /// The longest
        max_ns: long = row.1.latency.max_ns;
    }
}

table! {
    /// One row: a cause that was found. Savings of one result are not summed: findings may be of
    /// one bottleneck.
    Findings, "findings", ALL_KEYS, false, |row: (usize, &'a FindingRow)| {
        /// The row among those of the result, from 0; what saves most comes first
        row_number: int = row.0;
        /// Its name, as `dwell explain` has it
        cause: text = &row.1.cause;
        /// Least part of the account, 0 to 1
        share_lo: double = row.1.share.lo;
        /// Largest part
        share_hi: double = row.1.share.hi;
        /// What the change saves at least
        saving_lo_ns: long = row.1.saving_ns.clone().map(|saving| saving.lo);
        /// At most
        saving_hi_ns: long = row.1.saving_ns.clone().map(|saving| saving.hi);
        /// Of what: wall, cpu or waiting
        saved: text = Some(&row.1.saved).filter(|saved| !saved.is_empty());
        /// The mean of what is expected
        expected_ns: long = row.1.expected_ns;
        /// What the structure of the run allows at least
        structure_lo_ns: long = row.1.structure_ns.map(|allows| allows.lo);
        /// At most
        structure_hi_ns: long = row.1.structure_ns.map(|allows| allows.hi);
        /// Families of programs whose changes were measured
        families: long = row.1.families;
        /// How likely this is what makes it slow, 0 to 1
        belief: double = row.1.belief;
        /// counted, bounded or assumed
        known: text = Some(&row.1.known).filter(|known| !known.is_empty());
        /// The finding of the same result, by its row_number, that saves much of the same time
        shared_with: int = row.1.shared.map(|shared| shared.finding);
        /// What both surely save, in part of saving_lo_ns
        shared_ns: long = row.1.shared.map(|shared| shared.ns);
        /// What the program does, and where
        place: name = &row.1.place;
        /// What to change
        action: name = &row.1.action;
    }
}

table! {
    /// One row: TCP connections with one peer that began in one way.
    Connections, "connections", ALL_KEYS, false, |row: (usize, &'a ConnectionRow)| {
        /// The row among those of the result, from 0
        row_number: int = row.0;
        /// tcp
        protocol: text = &row.1.protocol;
        /// opened, accepted or found
        began: text = word(&row.1.began);
        /// The address of this end
        local: name = &row.1.local;
        /// The address of the other end
        remote: name = &row.1.remote;
        /// The usual service of the port
        port_service: text = row.1.service.as_ref();
        /// How many
        times: long = row.1.times;
        /// Of these never established
        failed: long = row.1.failed;
        /// Connecting: median
        connect_p50_ns: long = row.1.connect.map(|lengths| lengths.p50_ns);
        /// Connecting: 99th percentile
        connect_p99_ns: long = row.1.connect.map(|lengths| lengths.p99_ns);
        /// Smoothed round trip at the end, the largest
        round_trip_ns: long = row.1.round_trip_ns;
        /// The smallest round trip
        round_trip_min_ns: long = row.1.round_trip_ns_min;
        /// Payload sent
        sent_bytes: long = row.1.sent_bytes;
        /// Payload received
        received_bytes: long = row.1.received_bytes;
        /// Segments sent again
        retransmits: long = row.1.retransmits;
        /// How long they were open, summed
        open_ns: long = row.1.open_ns;
        /// How long threads waited on them, summed
        waited_ns: long = row.1.waited_ns;
        /// How often
        waits: long = row.1.waits;
        /// How many rows the row stands for, where these are several
        together: int = row.1.together;
    }
}

/// The CPU of a row: -1 stands for all together, so that both can be asked for alike.
fn cpu(wakes: &Wakes) -> i32 {
    wakes.cpu.map_or(-1, |cpu| i32::try_from(cpu).unwrap_or(i32::MAX))
}

table! {
    /// One row: a CPU of a measurement of wake-ups; cpu -1 is all together.
    WakeTable, "wakes", ALL_KEYS, false, |row: WakeRow<'a>| {
        /// The row among those of the result, from 0
        row_number: int = row.number;
        /// The CPU; -1: all together
        cpu: int = cpu(row.wakes);
        /// Wake-ups
        cycles: long = row.wakes.cycles;
        /// Wake-up times that passed while the thread was late
        missed: long = &row.wakes.missed;
        /// The smallest latency
        min_ns: long = &row.wakes.min_ns;
        /// The mean
        avg_ns: long = &row.wakes.avg_ns;
        /// Median
        p50_ns: long = &row.wakes.p50_ns;
        /// 99th percentile
        p99_ns: long = &row.wakes.p99_ns;
        /// 99.9th percentile
        p999_ns: long = &row.wakes.p999_ns;
        /// 99.99th percentile
        p9999_ns: long = &row.wakes.p9999_ns;
        /// 99.999th percentile
        p99999_ns: long = &row.wakes.p99999_ns;
        /// 99.9999th percentile
        p999999_ns: long = &row.wakes.p999999_ns;
        /// The largest
        max_ns: long = &row.wakes.max_ns;
        /// When that was due, from the start
        max_at_ns: long = &row.wakes.max_at_ns;
        /// The deadline that was asked for
        deadline_ns: long = row.of.settings.asked.deadline.map(|deadline| deadline.deadline_ns);
        /// Wake-ups later than the deadline less its margin
        late: long = verdict(row).map(|verdict| verdict.0);
        /// pass, fail or undecided
        answer: text = verdict(row).map(|verdict| verdict.1);
        /// At most one late wake-up in this time, on one CPU
        one_in_ns: long = verdict(row).map(|verdict| verdict.2);
        /// Stress loads meanwhile
        loads: name = row.of.loads.iter().map(|done| done.load.spec()).collect::<Vec<_>>().join(" ");
        /// Time from one wake-up to the next
        interval_ns: long = row.of.settings.asked.interval_ns;
        /// timer or gap
        mode: text = word(&row.of.settings.asked.mode);
        /// Scheduling policy, with its parameter
        policy: text = policy(row.of);
    }
}

/// Late wake-ups, answer and rarity, of the CPU or of all.
fn verdict(row: &WakeRow<'_>) -> Seen<(u64, String, u64)> {
    row.of.verdict.as_ref().and_then(|verdict| match row.wakes.cpu {
        None => Seen::Value((verdict.beyond, word(&verdict.answer), verdict.one_in_ns)),
        Some(_) => match verdict.of_processor.iter().find(|of| of.cpu == row.wakes.cpu) {
            Some(of) => Seen::Value((of.beyond, word(&of.answer), of.one_in_ns)),
            None => Seen::default(),
        },
    })
}

fn policy(of: &Wakeups) -> String {
    use model::wake::Policy;
    match of.settings.asked.policy {
        Policy::Fifo(priority) => format!("fifo:{priority}"),
        Policy::Rr(priority) => format!("rr:{priority}"),
        Policy::Other(_) => "other".to_owned(),
        Policy::Deadline { .. } => "deadline".to_owned(),
    }
}

table! {
    /// One row: wake-ups whose latency is lo_ns or more and less than hi_ns; 128 bins an octave.
    WakeBins, "wake_bins", ALL_KEYS, false, |row: (&'a Wakes, Bin)| {
        /// The CPU; -1: all together
        cpu: int = cpu(row.0);
        /// The smallest latency
        lo_ns: long = row.1.from_ns;
        /// The first latency beyond
        hi_ns: long = row.1.to_ns;
        /// How many
        n: long = row.1.count;
    }
}

table! {
    /// One row: a part of a late wake-up. The parts of a spike sum to latency_ns.
    SpikeParts, "spike_parts", ALL_KEYS, false, |part: SpikePart<'a>| {
        /// The spike, from 0; the largest comes first
        spike: int = part.number;
        /// Its CPU
        cpu: int = part.spike.cpu;
        /// When it was due, from the start
        at_ns: long = part.spike.at_ns;
        /// Its latency
        latency_ns: long = part.spike.ns;
        /// Kind of the part
        cause: text = word(&part.share.cause);
        /// The task, interrupt, softirq or idle state
        who: name = part.share.who.as_ref();
        /// Time of the part
        ns: long = part.share.ns;
    }
}

table! {
    /// One row: a rung of a ladder. Only equal method_version may be compared.
    Rungs, "rungs", ALL_KEYS, false, |row: (usize, &'a Rung)| {
        /// The row among those of the result, from 0
        row_number: int = row.0;
        /// Its name
        rung: text = row.1.about.id.split('@').next().unwrap_or_default();
        /// The host that it is about, where one was given
        peer: name = row.1.about.id.split_once('@').map(|(_, host)| host);
        /// core, memory, allocator, language, kernel, files or network
        rung_group: text = row.1.about.group.name();
        /// The version of its method
        method_version: int = row.1.about.method_version;
        /// Time of an operation
        median_ns: double = row.1.ns.clone().map(|ns| ns.median);
        /// Low end of the median's 95 % interval
        lo_ns: double = row.1.ns.clone().map(|ns| ns.lo);
        /// High end
        hi_ns: double = row.1.ns.clone().map(|ns| ns.hi);
        /// Number of samples
        samples: long = row.1.samples;
        /// Throughput of the same level
        bytes_per_s: double = row.1.bytes_per_s.clone().map(|rate| rate.median);
        /// plausible, doubtful or unknown
        plausible: text = word(&row.1.plausible.verdict);
    }
}

table! {
    /// One row: a command compared with the first one.
    Comparisons, "comparisons", ALL_KEYS, false, |row: ChangeRow<'a>| {
        /// The row among those of the result, from 0
        row_number: int = row.number;
        /// The first command
        a: name = row.command(row.change.a).map(|command| &command.name);
        /// The other one
        b: name = row.command(row.change.b).map(|command| &command.name);
        /// wall, user, kernel, cpu, memory, faults or printed
        figure: text = word(&row.of.settings.on);
        /// Median of the first: nanoseconds, bytes or a count, by the figure
        a_median: double = row.command(row.change.a).and_then(|command| Some(command.figure?.median));
        /// Median of the other one
        b_median: double = row.command(row.change.b).and_then(|command| Some(command.figure?.median));
        /// The other by the first
        ratio: double = row.change.ratio.map(|ratio| ratio.estimate);
        /// Low end of its interval
        ratio_lo: double = row.change.ratio.map(|ratio| ratio.lo);
        /// High end
        ratio_hi: double = row.change.ratio.map(|ratio| ratio.hi);
        /// faster, slower, same or undecided: the other one
        verdict: text = model::compare::commands::WORDS.of(row.change.verdict);
        /// Pairs that count
        pairs: int = row.change.pairs.len();
        /// Relative differences up to this count as none
        margin: double = row.of.settings.margin;
    }
}

table! {
    /// One row: a timed run of a comparison.
    CompareRuns, "compare_runs", ALL_KEYS, false, |row: (usize, &'a TimedRun)| {
        /// The row among those of the result, from 0
        row_number: int = row.0;
        /// The command, from 0
        command: int = row.1.command;
        /// The block, in which each command ran once, from 0
        block: int = row.1.block;
        /// The place in the block, from 0
        place: int = row.1.place;
        /// Wall clock
        wall_ns: long = row.1.wall_ns;
        /// User time
        user_ns: long = row.1.user_ns;
        /// CPU time in the kernel
        kernel_ns: long = row.1.kernel_ns;
        /// Why it does not count; NULL if it does
        excluded: name = row.1.excluded.as_ref();
        /// Whether it counts: warm-up runs do not
        counts: flag = row.1.excluded.is_none();
    }
}

table! {
    /// One row: a source of evidence of a run or window.
    Coverage, "coverage", ALL_KEYS, false, |source: &'a Source| {
        /// What it observes
        source: text = &source.name;
        /// full, partial or none
        seen: text = word(&source.seen);
        /// Why not all of it
        why: name = Some(&source.why).filter(|why| !why.is_empty());
    }
}

/// Why a value is NULL.
#[derive(Debug, Clone)]
pub(crate) struct UnseenRow {
    pub(crate) table: &'static str,
    pub(crate) column: Option<&'static str>,
    pub(crate) row: Option<usize>,
    pub(crate) why: String,
}

table! {
    /// One row: a NULL that could not be observed. A NULL that is not named here is nothing: there
    /// is no such thing.
    Unseens, "unseen", ID, false, |unseen: UnseenRow| {
        /// The table
        table_name: text = unseen.table;
        /// The column; NULL: all of them, as the table has no rows
        column_name: text = unseen.column;
        /// The row among those of the result, from 0; NULL: all of them
        row_number: int = unseen.row;
        /// Why; with --redact only that it was taken out
        why: text = &unseen.why;
    }
}

/// A tag of a result.
pub(crate) struct TagRow {
    pub(crate) tag: String,
}

table! {
    /// One row: a tag that a result has in its store.
    Tags, "tags", ID, false, |row: TagRow| {
        /// The tag
        tag: text = &row.tag;
    }
}

table! {
    /// One row: a place of the critical path. They sum as `account` does.
    Path, "path", ALL_KEYS, true, |row: (usize, &'a Step)| {
        /// The row among those of the result, from 0
        row_number: int = row.0;
        /// The name of the process
        process: name = &row.1.process;
        /// What it did
        state: text = row.1.state.name();
        /// The call, what was waited for, or what ran instead
        reason: name = row.1.reason.to_string();
        /// Time
        ns: long = row.1.ns;
        /// How often it began
        times: long = row.1.count;
        /// How many places the row stands for, where these are several
        together: int = row.1.together.map(|together| together.places);
    }
}

table! {
    /// One row: a function by time on a CPU.
    Functions, "functions", ALL_KEYS, true, |row: (usize, &'a FunctionRow)| {
        /// The row among those of the result, from 0
        row_number: int = row.0;
        /// Its name
        function: name = &row.1.name;
        /// The file that has it
        module: name = &row.1.module;
        /// user or kernel
        mode: text = &row.1.mode;
        /// Its part of the time on a CPU without callees, 0 to 1
        share: double = row.1.share.value;
        /// Low end of the 95 % interval
        share_lo: double = row.1.share.lo;
        /// High end
        share_hi: double = row.1.share.hi;
        /// With callees
        total_share: double = row.1.total.map(|total| total.value);
        /// Samples in it
        samples: long = row.1.samples;
        /// Whether it is the program's own code
        own: flag = row.1.own;
    }
}

table! {
    /// One row: a system call, over all threads.
    Syscalls, "syscalls", ALL_KEYS, true, |row: (usize, &'a CallRow)| {
        /// The row among those of the result, from 0
        row_number: int = row.0;
        /// Its name
        call: text = row.1.name.to_string();
        /// Calls that returned
        calls: long = row.1.calls;
        /// Of these with an error
        errors: long = row.1.errors;
        /// Time from entry to return
        total_ns: long = row.1.total_ns;
        /// Of that on a CPU
        cpu_ns: long = row.1.cpu_ns;
        /// Median
        p50_ns: long = &row.1.p50_ns;
        /// 99th percentile
        p99_ns: long = &row.1.p99_ns;
        /// The longest
        max_ns: long = &row.1.max_ns;
    }
}

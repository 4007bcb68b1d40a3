//! Requests that the tree served, in the schema of `--json`: the wall clock of each, and what the
//! slow ones have more than others.

use crate::finding::CauseName;
use crate::thread::Comm;
use crate::wait::{StackFrame, WaitCall, WaitTarget};
use crate::{JsonSchema, Ns, Seen, State, Tid};
use serde::{Deserialize, Serialize};

/// The requests of a run or window.
///
/// A request is a turn of an accepted TCP connection: from when its first byte came in to when the
/// last byte of its answer was given to the kernel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// What each of them is.
    #[serde(default)]
    pub unit: Unit,
    /// Of calls and operations, the function or the probe.
    #[serde(default)]
    pub unit_of: Option<String>,
    /// The time that none should exceed, where one was given.
    #[serde(default)]
    pub deadline: Option<Deadline>,
    /// How long calls or operations were followed, where not until the end, so that it took no more
    /// than the bound of overhead. All figures are of this time.
    #[serde(default)]
    pub followed_ns: Option<Ns>,
    /// Of calls and operations, about how much of the time of each it is that it was followed: a
    /// trap, half of it at its beginning and half at its end.
    #[serde(default)]
    pub following_ns: Option<Ns>,
    /// How often other processes came past the same places, since they use the same file: each time
    /// took as long.
    #[serde(default)]
    pub elsewhere: u64,
    /// Requests that came in and were answered, and were followed.
    pub times: u64,
    /// Requests that came in before the window began, and are in no other figure.
    pub began_before: u64,
    /// Requests that were not answered at the end.
    pub under_way: u64,
    /// Requests whose connection, or the client's side of it, ended before there was an answer;
    /// calls that ended without a return: by an exception or a jump.
    pub abandoned: u64,
    /// Requests that were answered, and of which it is not known who worked for them to the end: as
    /// a rule since events were lost. In no other figure.
    #[serde(default)]
    pub not_followed: u64,
    /// Requests that began and were counted, but not followed, so that following takes no more than
    /// the bound of overhead: chance has left them out. Latencies, bins, kinds and parts are those
    /// of a random sample then, in which each request was with the same chance; the bins sum to its
    /// size.
    #[serde(default)]
    pub left_out: u64,
    /// Threads that answered them.
    #[serde(default)]
    pub answered_by: u64,
    /// Of `times`, those that another thread answered than the one that received them.
    #[serde(default)]
    pub handed_on: u64,
    /// How long they took.
    pub latency: Latency,
    /// How often they took how long: bins of 0.8 % that are not empty.
    pub bins: Vec<LatencyBin>,
    /// How many in the middle of the distribution (from the 40th to the 60th percentile) the
    /// figures of typical requests are means of.
    pub typical: u64,
    /// How many slow ones there are, of the requests whose parts are kept (100,000 at most): the
    /// slowest 1 %, at least five, at most a quarter.
    pub slow: u64,
    /// The time of the fastest of them.
    pub slow_ns_min: Ns,
    /// The account of requests: the rows of each column sum to the mean time of those requests.
    /// What slow ones have more comes first.
    pub parts: Vec<RequestPart>,
    /// Slow requests from beginning to end, the slowest first.
    pub slowest: Vec<SlowRequest>,
    /// Requests by what they ask for, those with most slow ones first, then those with most time in
    /// all. Empty where none could be read.
    #[serde(default)]
    pub kinds: Vec<RequestKind>,
    /// What makes them take long: first what slow ones have more, most first, then what typical
    /// ones wait for. Empty in older results.
    #[serde(default)]
    pub findings: Vec<RequestFinding>,
}

impl Requests {
    /// How many the figures are of.
    pub fn sample(&self) -> u64 {
        match self.left_out {
            0 => self.times,
            _ => self.bins.iter().map(|bin| bin.times).sum(),
        }
    }
}

/// What makes requests take long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestFinding {
    /// The cause of the catalogue that it is a sign of; absent where there is none: a peer's time.
    pub cause: Seen<CauseName>,
    /// Which requests it makes long.
    pub of: SlowOrTypical,
    /// Its row in `parts`.
    pub part: usize,
    /// How often one of the slowest requests comes to it, at least: the median of them, of whose
    /// stretches the first 64 are told apart. 0 where none of them does, and of older results.
    #[serde(default)]
    pub turns: u64,
    /// What requests would take less without it, all else the same: a prediction.
    pub saves: Without,
}

/// Which requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlowOrTypical {
    /// Slow ones have it more than typical ones.
    Slow,
    /// Typical ones wait for it.
    Typical,
}

/// Requests that ask for the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestKind {
    /// Method and path of HTTP/1, or the command of a protocol of databases, without what names an
    /// object: `GET /orders/{n}`. Absent of requests that could not be read, unseen of those after
    /// the first 100 kinds. Of cycles, calls and operations the thread: `control (4711)`.
    pub kind: Seen<String>,
    /// Requests that were answered.
    pub times: u64,
    /// How long they took.
    pub latency: Latency,
    /// How many of the slow requests are of this kind.
    pub slow: u64,
    /// What most of their time was spent at: three at most.
    pub parts: Vec<KindPart>,
}

/// A part of the time of requests of a kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindPart {
    /// What it was spent at.
    pub at: RequestTime,
    /// The call of a wait; absent of what is none.
    pub call: Seen<WaitCall>,
    /// What it was for, likewise.
    pub on: Seen<WaitTarget>,
    /// Where in the program's own code, as far as samples tell.
    pub place: Seen<StackFrame>,
    /// Mean over requests of this kind.
    pub mean_ns: Ns,
}

/// What is counted, timed and accounted for as one piece of work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A turn of an accepted connection.
    #[default]
    Request,
    /// What a thread does from the end of a sleep to the beginning of the next one: a control loop
    /// that sleeps until its next period. `kinds` are the threads, and a client there is none.
    Cycle,
    /// What a thread does from the entry of a function to its return, likewise.
    Call,
    /// What a thread does from a probe in the program's code to another one or the next one
    /// (USDT), likewise.
    Operation,
}

impl Unit {
    /// One of them, on pages.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Request => "request",
            Unit::Cycle => "cycle",
            Unit::Call => "call",
            Unit::Operation => "operation",
        }
    }

    /// What the thread of one is at meanwhile.
    pub fn another(self) -> &'static str {
        match self {
            Unit::Request => "another request",
            Unit::Cycle => "another cycle",
            Unit::Call => "another call",
            Unit::Operation => "another operation",
        }
    }
}

/// Which units are followed, as a recording has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units {
    /// What each of them is.
    #[serde(default)]
    pub unit: Unit,
    /// Of cycles, the name of the threads that have them; none: all.
    #[serde(default)]
    pub thread: Option<Comm>,
    /// Of calls and operations, the function or the probe.
    #[serde(default)]
    pub of: Option<Box<str>>,
    /// The time that none should exceed.
    #[serde(default)]
    pub deadline_ns: Option<Ns>,
}

impl Units {
    /// Whether they are what is followed unasked.
    pub(crate) fn are_requests(&self) -> bool {
        *self == Units::default()
    }
}

/// A time that was given for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deadline {
    /// The time. Slow ones are then those that took longer, where there are any among those whose
    /// parts are kept.
    pub ns: Ns,
    /// How many took longer.
    pub missed: u64,
}

/// How long requests took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Mean.
    pub mean_ns: Ns,
    /// Median, within 0.8 %.
    pub p50_ns: Ns,
    /// It is between these with 95 %, if requests are independent of each other. Absent where there
    /// are too few.
    pub p50_range_ns: Option<[Ns; 2]>,
    /// 90th percentile.
    pub p90_ns: Ns,
    /// 99th percentile.
    pub p99_ns: Ns,
    /// It is between these, likewise.
    pub p99_range_ns: Option<[Ns; 2]>,
    /// Maximum.
    pub max_ns: Ns,
}

/// Requests that took about as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyBin {
    /// From here on.
    pub ns_min: Ns,
    /// Up to here, not with it.
    pub ns_max: Ns,
    /// How many.
    pub times: u64,
}

/// A part of the time of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestPart {
    /// What it was spent at.
    pub at: RequestTime,
    /// The call of a wait; absent of what is none.
    pub call: Seen<WaitCall>,
    /// What it was for, likewise.
    pub on: Seen<WaitTarget>,
    /// Where in the program's own code, as far as samples tell, of slow requests.
    pub place: Seen<StackFrame>,
    /// Mean over all requests.
    pub mean_ns: Ns,
    /// Mean over typical ones.
    pub typical_ns: Ns,
    /// Mean over slow ones.
    pub slow_ns: Ns,
    /// What a slow one has more than a typical one, between these: 95 % of draws (bootstrap over
    /// requests).
    pub more_ns: [i64; 2],
    /// Mean over typical ones of what they waited for other requests that were at this part: for
    /// the thread that they have in common, or for what a thread had meanwhile, such as a lock. It
    /// is in other rows.
    #[serde(default)]
    pub awaited_typical_ns: Ns,
    /// The same of slow ones.
    #[serde(default)]
    pub awaited_slow_ns: Ns,
    /// How long requests would have taken without it, and without the wait for others that were at
    /// it, all else the same.
    pub without: Without,
    /// Of waits that other threads of the tree ended: what those did meanwhile, most time first.
    pub held: Vec<HeldBy>,
}

/// How long requests take without a part of their time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Without {
    /// Median.
    pub p50_ns: Ns,
    /// 99th percentile.
    pub p99_ns: Ns,
}

/// What threads did that ended waits of requests, while these waited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldBy {
    /// What they did.
    pub at: RequestTime,
    /// The call of a wait; absent of what is none.
    pub call: Seen<WaitCall>,
    /// What it was for, likewise.
    pub on: Seen<WaitTarget>,
    /// Where in the program's own code, as far as samples tell.
    pub place: Seen<StackFrame>,
    /// Mean over slow requests.
    pub slow_ns: Ns,
}

/// What the time of a request is spent at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequestTime {
    /// It was in the socket, and no thread had received it.
    Unread,
    /// It could go on, and the thread that went on with it was at another request.
    OtherRequest,
    /// No thread was seen to work for it: a timer, or a queue within the program.
    NoThread,
    /// The thread of a cycle was ready, and had not run yet since its sleep ended.
    ReleasedLate,
    /// A thread on a CPU: own code and kernel.
    OnCpu,
    /// A peer that it had asked something.
    Peer,
    /// Parts that are too small for a row each.
    Rest,
    /// A thread that worked for it, in this state.
    #[serde(untagged)]
    Thread(State),
}

/// One slow request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowRequest {
    /// When it came in, from the beginning of the window or run.
    pub began_ns: Ns,
    /// How long it took.
    pub latency_ns: Ns,
    /// The client, as address and port; empty of what has none.
    pub client: String,
    /// What it asks for, as in [`RequestKind`].
    #[serde(default = "not_read")]
    pub kind: Seen<String>,
    /// What it was spent at, in order of time; they sum to its time. Beyond 64 the last one is all
    /// of the rest.
    pub spans: Vec<RequestSpan>,
}

/// A stretch of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestSpan {
    /// From here on, from the beginning of the request.
    pub from_ns: Ns,
    /// For so long.
    pub ns: Ns,
    /// The thread; absent where none was at it.
    pub tid: Seen<Tid>,
    /// What it was spent at.
    pub at: RequestTime,
    /// The call of a wait; absent of what is none.
    pub call: Seen<WaitCall>,
    /// What it was for, likewise.
    pub on: Seen<WaitTarget>,
}

/// Of older results.
fn not_read() -> Seen<String> {
    Seen::Absent
}

impl Requests {
    /// Whether what it found refers to rows that are there.
    pub(crate) fn is_sound(&self) -> bool {
        let exists = |found: &RequestFinding| {
            found.part < self.parts.len() && found.cause.value().is_none_or(CauseName::is_sound)
        };
        self.findings.iter().all(exists)
    }
}

impl RequestTime {
    /// Its name on pages.
    pub fn name(self) -> &'static str {
        match self {
            RequestTime::Unread => "unread",
            RequestTime::OtherRequest => "another request",
            RequestTime::NoThread => "no thread",
            RequestTime::ReleasedLate => "released late",
            RequestTime::OnCpu => "on a CPU",
            RequestTime::Peer => "its peer",
            RequestTime::Rest => "smaller parts",
            RequestTime::Thread(state) => state.name(),
        }
    }
}

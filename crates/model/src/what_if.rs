//! What the wall clock of a run would have been with edits: the shape that `dwell show --what-if
//! --json` writes, `dwell.what-if/1`, listed in `docs/schema/dwell.what-if.1.fields.txt`. Fields
//! are added, not renamed.
//!
//! What it means and where it is blind: `docs/method/what-if.md`.

use crate::recording::Host;
use crate::run::Bound;
use crate::wait::Reason;
use crate::{JsonSchema, Ns, Seen, State};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// The name of the schema.
pub const SCHEMA_WHAT_IF: &str = "dwell.what-if/1";

/// What `dwell show --what-if --json` writes: a kept recording replayed with edits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// [`SCHEMA_WHAT_IF`].
    pub schema: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Start time of the recorded run: RFC 3339, UTC.
    #[schemars(with = "crate::shape::Utc")]
    pub started_at: String,
    /// The host that it was recorded on.
    pub host: Host,
    /// The edits, in the order in which they were given.
    pub edits: Vec<EditTimes>,
    /// The wall clock as it was recorded.
    pub wall_ns: Ns,
    /// The wall clock with the edits: an estimate. It is the replay's with the edits, scaled by
    /// what the replay is wrong by without them, and its ends are widened by that.
    pub after: WallEstimate,
    /// By how much it would have been shorter; below 0 where it would have been longer.
    pub saving: SavingEstimate,
    /// How the replay was done, and how right it is without an edit.
    pub replay: Replay,
    /// The path of the replay without edits.
    pub path_before: ReplayedPath,
    /// The path of the replay with the edits: what bounds the program then.
    pub path_after: ReplayedPath,
    /// What the result takes for granted.
    pub assumptions: Vec<ReplayAssumption>,
}

/// What an edit is about, in the run as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditTimes {
    /// The edit as it was given: `fsync=0`.
    pub edit: String,
    /// How often that was: calls that returned, samples of a function, else waits. Absent where
    /// nothing is counted.
    pub times: Seen<u64>,
    /// The time of all threads at it. Absent for `cpus`.
    pub total_ns: Seen<Ns>,
    /// What of that is on the recorded path; of locks, on the path that does not go over to the
    /// threads that had them. Absent for `cpus`.
    pub path_ns: Seen<Ns>,
}

/// A wall clock that was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WallEstimate {
    /// By the dependencies between threads that were seen.
    pub ns: Ns,
    /// Low end: without the time for which other programs had a CPU after a wait that the edits
    /// removed, on another number of CPUs without all such time, and without what dwell cost: its
    /// instruments, and time in the run queue behind dwell.
    pub lo_ns: Ns,
    /// High end: dependencies that never blocked, and so were not seen, bind, or other programs
    /// have a part of the CPUs that the edits bring into use.
    pub hi_ns: Ns,
    /// What differs from run to run by chance, half of its interval of 95 %; both ends have it.
    #[serde(default)]
    pub chance_ns: Ns,
}

/// The difference that it makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavingEstimate {
    /// By the dependencies that were seen: `wall_ns` less `after.ns`.
    pub ns: i64,
    /// Low end: `wall_ns` less `after.hi_ns`.
    pub lo_ns: i64,
    /// High end: `wall_ns` less `after.lo_ns`.
    pub hi_ns: i64,
}

/// How a recording was replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// The wall clock of the replay with nothing edited. It differs from the recorded one by the
    /// replay's own error.
    pub unedited_ns: Ns,
    /// The wall clock of the replay with the edits.
    pub edited_ns: Ns,
    /// What of both was not replayed but taken as it was: 0, unless there is `until_ns`.
    pub rest_ns: Ns,
    /// CPUs that the program could use when it was recorded.
    #[schemars(range(min = 1))]
    pub cpus_recorded: u32,
    /// CPUs of the replay with the edits.
    #[schemars(range(min = 1))]
    pub cpus: u32,
    /// Threads.
    pub threads: u64,
    /// Events of the recording.
    pub events: u64,
    /// Steps of all threads that were kept of them.
    pub steps: u64,
    /// The recording has more steps than are kept: the replay ends so long after the beginning, and
    /// the rest is taken as it was. Absent where all of it was replayed.
    pub until_ns: Seen<Ns>,
}

/// The chain of threads that the end of a replay depended on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayedPath {
    /// What bounds the program.
    pub bound: Bound,
    /// Its time by state; sums to the wall clock of the replay without its `rest_ns`, exactly.
    pub account: Vec<StateTime>,
    /// The same by place, longest first, with what `rest_ns` has.
    pub places: Vec<ReplayedPlace>,
    /// Places that are not listed.
    pub rest_ns: Ns,
}

/// Time in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateTime {
    /// The state.
    pub state: State,
    /// Its time.
    pub ns: Ns,
}

/// A place of a replayed path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "StoredPlace")]
#[schemars(!from)]
pub struct ReplayedPlace {
    /// The process's name.
    pub process: String,
    /// What it was doing.
    pub state: State,
    /// Why: the system call, the wait target or what ran instead, as in the path of a run.
    pub reason: Reason,
    /// How long.
    pub ns: Ns,
}

/// What a replay takes for granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(VariantArray)]
pub enum ReplayAssumption {
    /// Threads wake each other in the order in which they did, and do as much as they did.
    SameOrder,
    /// Dependencies that never blocked were not seen. They do not bind but for the high end.
    UnseenDependencies,
    /// Disks and peers take as long as they did, however many ask at once.
    DevicesAsRecorded,
    /// CPUs are alike and slow each other down in nothing.
    EqualCpus,
    /// What other programs had of the CPUs they have again; after waits that are gone no more than
    /// the program itself, and for the low end nothing.
    OthersAsRecorded,
    /// A thread that was out of quota is again, for as long.
    QuotaAsRecorded,
    /// Futexes of which no stack was taken are locks, unless the end of a thread ended the wait.
    FutexesAreLocks,
    /// A function has the part of a stretch on a CPU that it has of the samples there; where there
    /// are none, of the thread's samples.
    FunctionBySamples,
    /// Page faults that need no disk are known by samples, likewise.
    FaultsBySamples,
    /// System calls were traced in windows: outside of them they are known by samples, likewise.
    CallsBySamples,
    /// Events were lost: threads held each other up in ways that were not seen.
    LostEvents,
    /// What comes after the last step that was kept takes as long as it did.
    RestAsRecorded,
}

/// The same place, with the reason as its text.
#[derive(Deserialize)]
struct StoredPlace {
    process: String,
    state: State,
    reason: String,
    ns: Ns,
}

impl From<StoredPlace> for ReplayedPlace {
    fn from(stored: StoredPlace) -> Self {
        let StoredPlace { process, state, reason, ns } = stored;
        Self { process, state, reason: Reason::read(state, &reason), ns }
    }
}

impl ReplayAssumption {
    /// All of them.
    pub const ALL: [ReplayAssumption; 12] = *Self::VARIANTS.as_array().unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_as_it_was() {
        let place = ReplayedPlace {
            process: "db".into(),
            state: State::Kernel,
            reason: Reason::Syscall("fsync".into()),
            ns: 7,
        };
        let text = serde_json::to_string(&place).unwrap();
        assert_eq!(text, r#"{"process":"db","state":"kernel","reason":"fsync","ns":7}"#);
        assert_eq!(serde_json::from_str::<ReplayedPlace>(&text).unwrap(), place);
    }
}

//! The types that pass through dwell, from what was observed to what is reported.
//!
//! A [`recording`] holds what was observed, with no conclusions; an [`account`] divides a program's
//! wall clock into parts that sum to it; a [`run`] is the result of one `dwell run`, in the schema
//! of `--json`; a [`prediction`] is what it would have gained without parts of it, [`what_if`] what
//! a replay with edits makes of it; a [`diagnosis`] is its interpretation; a [`ladder`] is the cost
//! of an operation at each level of a machine; [`wake`] is the wake-up latency of a machine. This
//! crate does no IO, reads no clock and is independent of the kernel: it is enough to read what
//! dwell wrote.

pub mod account;
pub mod arch;
mod cache;
pub mod call;
mod code_location;
mod code_place;
pub mod compare;
pub mod container;
pub mod costs;
pub mod counters;
pub mod coverage;
pub mod cpus;
pub mod diagnosis;
pub mod disk_requests;
pub mod doctor;
mod event;
mod explained;
pub mod fault_places;
pub mod files;
pub mod finding;
pub mod hand_overs;
pub mod hits;
pub mod join;
pub mod lab;
pub mod ladder;
pub mod limits;
pub mod list;
pub mod loads;
pub mod name;
pub mod network;
mod object;
pub mod origin;
pub mod peers;
pub mod prediction;
pub mod probe;
pub mod processes;
pub mod profile;
pub mod recording;
pub mod requests;
mod result;
mod ruled_out;
pub mod run;
mod run_queue;
mod run_rows;
pub mod seen;
pub mod sentence;
pub mod series;
#[cfg(feature = "schema")]
pub mod shape;
mod snapshot;
mod state;
pub mod surroundings;
mod switch;
pub mod syscall_rows;
pub mod tables;
pub mod task;
mod thread;
pub mod timeline;
pub mod timing;
pub mod together;
pub mod trend;
pub mod units;
pub mod wait;
pub mod waits_at_once;
pub mod wake;
pub mod wake_reason;
pub mod what_if;
pub mod window;

/// Derived by the types of a result: it describes their JSON in builds for the crate `schema`, and
/// is nothing in all others.
#[cfg(not(feature = "schema"))]
pub use no_schema::JsonSchema;
#[cfg(feature = "schema")]
pub use schemars::JsonSchema;

pub use account::{Account, AccountPart, Basis, State, Step};
pub use arch::Arch;
pub use call::{Call, CallResults, CallStats, CallTime, PathAgain, PathsAsked};
pub use code_place::CodePlace;
pub use costs::Costs;
pub use coverage::Coverage;
pub use cpus::CpuList;
pub use diagnosis::Diagnosis;
pub use explained::{Explained, ExplainedBy, Explanation, OpenQuestion, UnjudgedWaits};
pub use finding::Finding;
pub use ladder::Ladder;
pub use origin::Origin;
pub use prediction::Prediction;
pub use probe::{Probe, Probed};
pub use profile::Profile;
pub use recording::{Event, Header, Language, Recording, Trailer};
pub use result::{FindingsInWords, Found, KeptRun, RunResult};
pub use ruled_out::{RuledOut, Threshold};
pub use run::Run;
pub use run_queue::{OccupantRow, QueueOfAll, Rival, RunQueue};
pub use seen::Seen;
pub use sentence::Sentence;
pub use series::Series;
pub use wait::{Reason, WaitTarget};
pub use wake::Wakeups;
pub use what_if::WhatIf;

/// Nanoseconds. Points in time are `CLOCK_MONOTONIC`.
pub type Ns = u64;
/// A thread, as the kernel numbers it in the initial pid namespace.
pub type Tid = u32;
/// A process (thread group), likewise.
pub type Pid = u32;

//! Observation: runs the program, observes it and the host, and produces a recording.
//!
//! It concludes nothing: `analyse` interprets the events. Everything that depends on privileges or
//! on chance is here.

#[macro_use]
mod layout;

pub mod access;
mod attach;
pub mod blocks;
pub mod cgroups;
mod commands;
mod counters;
pub mod doctor;
mod error;
mod first_executables;
pub mod function_code;
#[cfg(any(test, fuzzing))]
pub mod fuzzed;
mod giving_way;
mod jvm;
mod local_sockets;
mod machine;
mod mounts;
pub mod output_lines;
mod peers;
pub mod pods;
pub mod realtime;
mod record;
mod request_kind;
mod session;
mod settings;
mod source_text;
mod sources;
pub mod spikes;
mod stacks;
mod surroundings;
pub mod targets;
mod threads;
mod time_limit;
pub mod unit_probes;
mod users;
mod verify;

pub use attach::{ProcessSet, Target, Window, attach};
pub use error::Error;
pub use record::{Request, record};
pub use session::{LeftProgram, Recorded, Sink};
pub use settings::{Choice, MaxOverhead, Rate, Watching};
pub use source_text::{Roots, Sources};
pub use surroundings::{GivenLink, outermost_quota};
pub use verify::{Verified, verify};

/// The machine ID of this installation: machine-id(5). Confidential: it must not be shown or stored
/// as it is.
pub fn machine_id() -> Option<String> {
    let read = |path| std::fs::read_to_string(path).ok().map(|id| id.trim().to_owned());
    let ids = ["/etc/machine-id", "/var/lib/dbus/machine-id"].into_iter().filter_map(read);
    ids.into_iter().find(|id| !id.is_empty() && id != "uninitialized")
}

/// The number of this machine in results and stores.
pub fn machine_number() -> String {
    // A container may have no machine ID of its own; then its name is used.
    let machine = machine_id().unwrap_or_else(|| this_host().name);
    model::origin::machine_number(&machine, &host::machine::cpu_name())
}

/// The machine that dwell runs on.
pub fn this_host() -> model::recording::Host {
    host::identity(host::here())
}

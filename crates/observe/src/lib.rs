//! The only reader of the machine: it runs the program, watches it and the host, and gives a recording.
//!
//! It concludes nothing; what the events mean is up to `analyse`. Privilege and chance end here.

pub mod access;
mod attach;
pub mod blocks;
pub mod cgroups;
mod host;
mod likely;
mod living;
mod mounts;
mod record;
mod sources;
mod stacks;
mod surroundings;
pub mod targets;

pub use attach::{Target, Who, Window, attach};
pub use record::{Choice, Error, MaxOverhead, Rate, Request, Sink, Watching, record};
pub use surroundings::GivenLink;

/// The machine this runs on.
pub fn this_host() -> model::recording::Host {
    host::read(host::here())
}

//! The programs, by topic.

use crate::Program;

mod calls;
mod children;
mod crowds;
mod disk;
mod joins;
mod locks;
mod memory;
mod paths;
mod pipes;
mod ready;
mod servers;
mod signals;
mod time;

/// Every topic's programs.
pub static TOPICS: &[&[Program]] = &[
    time::PROGRAMS,
    locks::PROGRAMS,
    pipes::PROGRAMS,
    children::PROGRAMS,
    memory::PROGRAMS,
    paths::PROGRAMS,
    joins::PROGRAMS,
    servers::PROGRAMS,
    ready::PROGRAMS,
    signals::PROGRAMS,
    crowds::PROGRAMS,
    calls::PROGRAMS,
    disk::PROGRAMS,
];

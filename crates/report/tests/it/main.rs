//! The tests of this crate from outside, one program: a file is a module.

mod commands;
mod export;
mod html;
mod junit;
mod ladder;
mod page;
mod profile;
mod profiles;
mod runs;
mod samples;
mod schema;
mod support;
mod wake;
mod wakes;
mod what_if;

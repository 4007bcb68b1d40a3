//! The tests of this crate from outside, one program: a file is a module.

mod forged;
mod functions;
mod names;
mod support;
mod unwind;

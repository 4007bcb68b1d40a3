//! The tests of this crate from outside, one program: a file is a module.

mod kept;
mod ladder;
mod sample;

//! What the tools of developers (`xtask`, `evaluation`) share: other programs and packages, this
//! machine, tables. No part of dwell.
#![allow(clippy::print_stderr, reason = "commands that take long are shown")]

pub mod machine;
pub mod packages;
pub mod shell;
pub mod table;

//! Causes: a file for each, with the signs that it is told by.

pub(crate) mod delayed_ack;
pub(crate) mod interpreter_lock;

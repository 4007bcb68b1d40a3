//! The traced program: found, started held, run as another user, and ended; and the signals that are
//! meant for it.

pub(crate) mod origin;
pub mod resolve;
pub mod signals;
pub mod spawn;
pub mod user;

//! The traced program: finding it, starting it on hold, running it as another user, its end; and
//! signals for it. [`starter`] runs programs that are timed and not traced.

pub(crate) mod origin;
pub mod resolve;
pub mod signals;
pub mod spawn;
pub mod starter;
pub mod user;

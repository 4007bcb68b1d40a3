//! The traced program: finding it, starting it on hold, running it as another user, its end;
//! signals for it; and files that it can influence. [`starter`] runs programs that are timed and
//! not traced. [`scratch`] is where dwell puts what is gone with it, [`allocator`] where its memory
//! comes from.

pub mod allocator;
pub mod at_once;
mod errno;
pub mod foreign;
pub(crate) mod origin;
pub mod ours;
pub mod resolve;
pub mod rights;
mod sandbox;
pub mod scratch;
pub mod signals;
pub mod spawn;
pub mod starter;
pub(crate) mod usage;
pub mod user;
mod walk;
pub mod whole;

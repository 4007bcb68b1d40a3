//! The traced program: finding it, starting it on hold, running it as another user, its end;
//! signals for it; and files that it can influence. [`starter`] runs programs that are timed and
//! not traced. [`scratch`] is where dwell puts what is gone with it, [`allocator`] where its memory
//! comes from.

pub mod allocator;
pub mod apart;
pub mod at_once;
pub mod atomic_write;
mod errno;
mod open_parent;
pub(crate) mod origin;
pub mod output_file;
pub mod patience;
pub mod resolve;
pub mod rights;
mod sandbox;
pub mod scratch;
pub mod signals;
pub mod spawn;
pub mod starter;
pub mod untrusted_file;
pub(crate) mod usage;
pub mod user;

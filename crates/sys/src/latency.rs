//! For threads that measure their own wake-ups: scheduling policies, locked memory, and timers that
//! signal a thread.

pub mod locked;
pub mod policy;
pub mod posix_timer;

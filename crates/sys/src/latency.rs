//! What a thread needs that measures its own wake-ups: scheduling policies, locked memory, and timers
//! that signal a thread.

pub mod locked;
pub mod policy;
pub mod posix_timer;

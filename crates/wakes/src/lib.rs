//! Threads that sleep until a given time and see how late they wake up: what `dwell wake` measures.
//!
//! It measures and concludes nothing: percentiles and verdicts are up to `analyse`, the machine's settings up to
//! `observe`. What needs unsafe code (policies, locked memory, timers) is in `sys`.

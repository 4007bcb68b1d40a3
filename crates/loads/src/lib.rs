//! Makes the machine work in a known way while something else is measured, and says how much was done: the loads of
//! `dwell wake`, and `dwell load` by itself.
//!
//! A load is bounded in time and memory, ends by itself, and ends with the process that started it.

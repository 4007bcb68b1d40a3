//! Kernel interfaces that every measurement uses: clocks, poll, perf events, types, and memory
//! shared with the kernel.

pub mod bpf;
pub mod btf;
pub mod clock;
pub mod perf_event;
pub mod poll;
pub mod shared;

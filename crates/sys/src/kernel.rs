//! What every measurement asks of the kernel: clocks, waiting, perf events, and memory that the kernel
//! writes.

pub mod bpf;
pub mod clock;
pub mod perf_event;
pub mod poll;
pub mod shared;

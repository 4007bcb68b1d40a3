//! Python frames, read from outside: where CPython keeps them, and their lines.
//!
//! Frames are read in two ways. In the BPF tier the program that takes a sample reads them in the
//! kernel, in the context of the thread itself (`python.h` of crate observe): [`discover`]
//! identifies a mapped file, [`target`] describes it to the BPF program, [`record`] decodes its
//! records, [`code::Codes`] names frames. In other tiers [`memory`] walks the same structures
//! through `/proc/PID/mem`. [`merge`] puts native and Python frames in order.
//!
//! The input is untrusted: nothing here panics, loops or allocates without bound on it.

pub mod code;
mod described;
pub mod discover;
mod fixed;
#[cfg(any(test, fuzzing))]
pub mod fuzzed;
pub mod lines;
pub mod memory;
pub mod merge;
mod names;
pub mod offsets;
pub mod record;
pub mod target;
pub mod text;

pub use code::{Code, Codes};
pub use discover::{Interpreter, Python, identify};
pub use memory::{Interpreters, ProcessMemory};
pub use merge::{Merged, merge};
pub use offsets::{Layout, Version};
pub use target::{TARGET_LEN, file_key, target};

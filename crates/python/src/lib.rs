//! Python from outside: where CPython keeps its frames, and which line a frame is on.
//!
//! Two ways lead to the frames. In the BPF tier the program that takes a sample reads them in the kernel, in the
//! context of the thread itself (`python.h` of crate observe): [`discover`] says what a mapped file is, [`target`]
//! tells the BPF program about it, [`record`] decodes what that sends, [`code::Codes`] names it. Elsewhere [`memory`]
//! walks the same structures through `/proc/PID/mem`. [`merge`] puts native and Python frames in order.
//!
//! The measured program decides what is read: nothing here panics, loops or allocates without bound on it.

pub mod code;
mod described;
pub mod discover;
mod fixed;
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

//! Machine code of a process: its files, unwinding of its stacks, its symbols.
//!
//! There are two steps. While the program runs, [`Processes`] unwinds raw stacks (registers and a
//! copy of the stack) by the unwind information of the mapped files, to pairs of file and address.
//! When it has ended, [`Processes::names`] names those pairs. Files are opened in the first step
//! and stay open for the second, so a program that is replaced or deleted in between keeps its
//! names.
//!
//! The content of these files is untrusted and may be damaged or malicious: nothing here panics,
//! loops or allocates without bound on it. `observe` takes stacks; `analyse` interprets them.

mod bytes;
mod cfi;
mod files;
#[cfg(any(test, fuzzing))]
pub mod fuzzed;
pub mod image;
mod inflate;
mod jit;
mod kallsyms;
mod loads;
mod maps;
mod name;
pub mod parallel;
mod processes;
mod registers;
mod room;
mod rule;
mod sampled;
mod symbols;
#[cfg(test)]
mod untrusted;
mod unwind;
mod vdso;
mod window;

pub use files::{FileId, Files};
pub use image::{Function, Image};
pub use jit::{NameFile, UnreadNames, UnreadReason, began};
pub use kallsyms::Kallsyms;
pub use maps::{anonymous as anonymous_memory, executable as executable_mappings};
pub use processes::Processes;
pub use registers::Registers;
pub use symbols::Names;
pub use sys::untrusted_file::Opened;
pub use unwind::{RawFrame, UnwindFailure};

/// An executable mapping of a process, of a file or anonymous.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// The first address after it.
    pub end: u64,
    /// Its file offset in bytes.
    pub file_offset: u64,
    /// The file as the kernel reports it: `/usr/bin/x`, `[vdso]`, `//anon`, `/tmp/y (deleted)`,
    /// nothing.
    pub path: Vec<u8>,
    /// The device of the file: major and minor number.
    pub dev: (u32, u32),
    /// The file's inode; 0 when unknown: then any file at that path is used.
    pub inode: u64,
}

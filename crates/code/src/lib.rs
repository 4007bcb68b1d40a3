//! Machine code of a process: which file it is in, how its stack is unwound, what it is called.
//!
//! Two steps, far apart in time. While the program runs, [`Processes`] unwinds raw stacks (registers and a copy of
//! the stack) by the unwind information of the files that are mapped, to pairs of file and address. When
//! it has ended, [`Processes::names`] names those pairs. Files are opened at the first and stay open for the second, so a
//! program that is replaced or deleted meanwhile keeps its names.
//!
//! Everything in these files comes from the measured program, and may be damaged or malicious: nothing here
//! panics, loops or takes memory without bound on it. How stacks are taken is left to `observe`; what they mean,
//! to `analyse`.

mod bytes;
mod cfi;
mod files;
pub mod image;
mod inflate;
mod kallsyms;
mod maps;
mod name;
mod perf_map;
mod processes;
mod registers;
mod rule;
mod symbols;
#[cfg(test)]
mod untrusted;
mod unwind;
mod vdso;
mod window;

pub use files::{FileId, Files};
pub use image::{Function, Image};
pub use kallsyms::Kallsyms;
pub use maps::executable as executable_mappings;
pub use perf_map::PerfMaps;
pub use processes::Processes;
pub use registers::Registers;
pub use symbols::Names;
pub use unwind::{Broke, RawFrame};

/// A part of a file, or of nothing, that a process has mapped executable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// The first address after it.
    pub end: u64,
    /// Where in the file it begins, in bytes.
    pub file_offset: u64,
    /// The file as the kernel reports it: `/usr/bin/x`, `[vdso]`, `//anon`, `/tmp/y (deleted)`, nothing.
    pub path: Vec<u8>,
    /// The device that the file is on: major and minor number.
    pub dev: (u32, u32),
    /// The file's number on its device; 0 when it is not known, then any file of that path is taken for it.
    pub inode: u64,
}

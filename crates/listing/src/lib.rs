//! A function's instructions and basic blocks, with what was counted of them.
//!
//! Pure: machine code, samples, counts and source text come in as data, a [`Listing`] goes out. Reading files and
//! showing the listing are up to others. ELF files are the measured program's: hostile, so nothing here trusts a
//! size or an offset in them.

mod aarch64;
mod block;
mod elf;
mod instruction;
mod listing;
mod x86_64;

pub use block::{Block, blocks};
pub use elf::{Elf, Error, Function};
pub use instruction::{Arch, Instruction, Kind, disassemble};
pub use listing::{Counts, Listed, ListedBlock, Listing, Note, Sample, SourceLine, Subject, listing};

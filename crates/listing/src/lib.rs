//! A function's instructions and basic blocks, with what was counted of them.
//!
//! Pure: machine code, samples, counts and source text come in as data, a [`Listing`] goes out. Reading files is
//! left to `code` and `observe`, showing the listing to `report`.

mod aarch64;
mod block;
mod disassemble;
mod instruction;
mod listing;
mod x86_64;

pub use block::{Block, blocks};
pub use disassemble::disassemble;
pub use instruction::{Instruction, Kind};
pub use listing::{Counts, Listed, ListedBlock, Listing, Note, Sample, SourceLine, Subject, listing};

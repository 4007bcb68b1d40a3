//! A function's instructions and basic blocks, with samples and counts.
//!
//! Pure: machine code, samples, counts and source text are inputs, a [`Listing`] is the output.
//! `code` and `observe` read files; `report` prints the listing.

mod aarch64;
mod block;
mod bounded;
mod counted;
mod disassemble;
mod instruction;
mod listing;
mod riscv64;
mod x86_64;

pub use block::{Block, blocks};
pub use counted::{
    CountedBlocks, CountedFunction, FunctionSum, OtherFunctions, SCHEMA_BLOCKS, Stopped, UnnamedSum,
};
pub use disassemble::disassemble;
pub use instruction::{Flow, Instruction};
pub use listing::{
    AddressSamples, ExecutionCounts, Listed, ListedBlock, Listing, Note, OtherBlocks, SourceLine, Subject,
    listing,
};

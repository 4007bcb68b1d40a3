//! What the targets in `bin/` share: changes of inputs that stay valid, and decoders that are in
//! crates without a fuzzed module.

#[path = "../../crates/dwell/src/cmd/hits/counts.rs"]
#[allow(dead_code, reason = "only the reader of one file is called")]
mod counts;
#[path = "../../crates/dwell/src/cmd/mcp/dialogue/mod.rs"]
#[allow(dead_code, reason = "what it says to be done is done elsewhere")]
mod dialogue;
pub mod json;
pub mod random;
pub mod recording;

/// The count file of a Python process.
pub fn hits(bytes: &[u8]) {
    counts::fuzzed(bytes);
}

/// What a client sends to `dwell mcp`.
pub fn mcp(bytes: &[u8]) {
    dialogue::fuzzed::mcp(bytes);
}

/// Machine code: the load at an instruction, and the listing of a function.
pub fn instructions(bytes: &[u8]) {
    code::fuzzed::instructions(bytes);
    for arch in [listing_arch(true), listing_arch(false)] {
        let instructions = listing::disassemble(bytes, 0x1000, arch);
        let _ = listing::blocks(&instructions, &[0x1000]);
    }
}

fn listing_arch(x86: bool) -> model::Arch {
    if x86 { model::Arch::X86_64 } else { model::Arch::Aarch64 }
}

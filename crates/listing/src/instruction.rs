//! Instructions, and where they may lead.

use crate::{aarch64, x86_64};

/// An instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// Also called amd64.
    X86_64,
    /// Also called arm64; little-endian.
    Aarch64,
}

/// Where the next instruction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// After this one. System calls are plain too.
    Plain,
    /// Elsewhere.
    Jump {
        /// Its address.
        to: u64,
    },
    /// Elsewhere or after this one.
    Conditional {
        /// The address elsewhere.
        to: u64,
    },
    /// After this one, once what is called has returned.
    Call {
        /// What is called; none when a register or memory says it.
        to: Option<u64>,
    },
    /// In the caller.
    Return,
    /// Where a register or memory says: a jump table, a tail call.
    Indirect,
    /// Nowhere: the program is stopped here. Bytes that are no instruction are of this kind.
    Trap,
}

impl Kind {
    /// Whether what follows in memory follows in time.
    pub(crate) fn goes_on(self) -> bool {
        matches!(self, Kind::Plain | Kind::Conditional { .. } | Kind::Call { .. })
    }

    /// The address that it may jump to.
    pub(crate) fn target(self) -> Option<u64> {
        match self {
            Kind::Jump { to } | Kind::Conditional { to } => Some(to),
            _ => None,
        }
    }
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Where it is, as its file counts.
    pub address: u64,
    /// In bytes; never 0.
    pub len: u64,
    /// In Intel's or Arm's notation; `.byte 0x06` for what is none.
    pub text: String,
    /// Where it leads.
    pub kind: Kind,
}

impl Instruction {
    /// The address after it.
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(self.len)
    }
}

/// All instructions of `bytes`, which stand at `address`. Bytes that are none are shown as such; every byte is in
/// exactly one instruction.
pub fn disassemble(bytes: &[u8], address: u64, arch: Arch) -> Vec<Instruction> {
    match arch {
        Arch::X86_64 => x86_64::disassemble(bytes, address),
        Arch::Aarch64 => aarch64::disassemble(bytes, address),
    }
}

/// What is shown for bytes that are no instruction.
pub(crate) fn no_instruction(bytes: &[u8], address: u64) -> Instruction {
    let values: Vec<String> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
    let text = format!(".byte {}", values.join(", "));
    Instruction { address, len: bytes.len() as u64, text, kind: Kind::Trap }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_give_instructions_that_cover_them(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
            address in any::<u64>(),
        ) {
            for arch in [Arch::X86_64, Arch::Aarch64] {
                let mut at = address;
                for instruction in disassemble(&bytes, address, arch) {
                    prop_assert_eq!(instruction.address, at);
                    prop_assert!(instruction.len > 0 && !instruction.text.is_empty());
                    at = instruction.end();
                }
                prop_assert_eq!(at, address.wrapping_add(bytes.len() as u64));
            }
        }
    }
}

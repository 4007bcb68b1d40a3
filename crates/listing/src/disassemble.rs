//! Disassembly: machine code as instructions, by the decoder of its architecture.

use crate::instruction::Instruction;
use crate::{aarch64, riscv64, x86_64};
use model::Arch;

/// All instructions of `bytes`, which are at `address`. Bytes that do not decode become `.byte`;
/// every byte is in exactly one instruction.
pub fn disassemble(bytes: &[u8], address: u64, arch: Arch) -> Vec<Instruction> {
    match arch {
        Arch::X86_64 => x86_64::disassemble(bytes, address),
        Arch::Aarch64 => aarch64::disassemble(bytes, address),
        Arch::Riscv64 => riscv64::disassemble(bytes, address),
    }
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
            for arch in [Arch::X86_64, Arch::Aarch64, Arch::Riscv64] {
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

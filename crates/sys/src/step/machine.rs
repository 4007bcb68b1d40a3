//! The few kinds of instructions that stepping must know, by their first bytes.

/// Kinds of instructions that need special care when stepped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstructionKind {
    /// None of the others.
    Plain,
    /// Calls a function.
    #[cfg_attr(target_arch = "riscv64", allow(dead_code))]
    Call,
    /// A repeated string instruction: each step does one round, at the same address.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Repeated,
    /// A system call: interrupted by a signal, it may be restarted.
    Syscall,
    /// Saves the flags, including the trap flag that stepping sets.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    SavesFlags,
    /// A breakpoint of the program itself.
    Breakpoint,
    /// Starts a sequence that fails when interrupted, so it must run as a whole.
    #[cfg_attr(not(target_arch = "aarch64"), allow(dead_code))]
    Exclusive,
}

/// The bytes of an instruction that decide its kind.
pub(super) const LOOKED_AT: usize = 16;

#[cfg(target_arch = "x86_64")]
mod here {
    use super::InstructionKind;

    pub(crate) const STEPS: bool = true;
    /// `int3`.
    pub(crate) const BREAKPOINT: &[u8] = &[0xcc];
    /// The reported address is after it.
    pub(crate) const BREAKPOINT_MOVES: u64 = 1;

    /// Intel SDM volume 2, section 2.1 (prefixes) and appendix A (opcodes).
    pub(crate) fn kind(bytes: &[u8]) -> InstructionKind {
        let mut rest = bytes;
        let mut repeats = false;
        while let [prefix, after @ ..] = rest {
            match prefix {
                0xf2 | 0xf3 => repeats = true,
                0x66 | 0x67 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 | 0xf0 => {}
                _ => break,
            }
            rest = after;
        }
        if let [0x40..=0x4f, after @ ..] = rest {
            rest = after;
        }
        match rest {
            [0xe8, ..] => InstructionKind::Call,
            [0xff, modrm, ..] if matches!(modrm >> 3 & 7, 2 | 3) => InstructionKind::Call,
            [0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf, ..] if repeats => InstructionKind::Repeated,
            [0x0f, 0x05 | 0x34, ..] | [0xcd, 0x80, ..] => InstructionKind::Syscall,
            [0x9c, ..] => InstructionKind::SavesFlags,
            [0xcc, ..] => InstructionKind::Breakpoint,
            _ => InstructionKind::Plain,
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod here {
    use super::InstructionKind;

    pub(crate) const STEPS: bool = true;
    /// `brk #0`.
    pub(crate) const BREAKPOINT: &[u8] = &[0, 0, 0x20, 0xd4];
    /// The reported address is its own.
    pub(crate) const BREAKPOINT_MOVES: u64 = 0;

    /// Arm ARM (DDI 0487), section C4.1.
    pub(crate) fn kind(bytes: &[u8]) -> InstructionKind {
        let Some(word) = bytes.first_chunk().map(|word| u32::from_le_bytes(*word)) else {
            return InstructionKind::Plain;
        };
        match word {
            _ if word & 0xfc00_0000 == 0x9400_0000 => InstructionKind::Call,
            // BLR and its authenticating forms.
            _ if word & 0xfe60_0000 == 0xd620_0000 && word & 0x0180_0000 == 0 => InstructionKind::Call,
            _ if word & 0xffe0_001f == 0xd400_0001 => InstructionKind::Syscall,
            _ if word & 0xffe0_001f == 0xd420_0000 => InstructionKind::Breakpoint,
            // LDXR, LDAXR, LDXP, LDAXP of every width.
            _ if word & 0x3fc0_0000 == 0x0840_0000 => InstructionKind::Exclusive,
            _ => InstructionKind::Plain,
        }
    }
}

#[cfg(target_arch = "riscv64")]
mod here {
    use super::InstructionKind;

    /// The kernel steps no thread (`PTRACE_SINGLESTEP` is refused).
    pub(crate) const STEPS: bool = false;
    /// `c.ebreak`.
    pub(crate) const BREAKPOINT: &[u8] = &[0x02, 0x90];
    /// The reported address is its own.
    pub(crate) const BREAKPOINT_MOVES: u64 = 0;

    /// Nobody needs to know.
    pub(crate) fn kind(_: &[u8]) -> InstructionKind {
        InstructionKind::Plain
    }
}

pub(super) use here::{BREAKPOINT, BREAKPOINT_MOVES, STEPS, kind};

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_that_need_care_are_told_from_their_bytes() {
        for (bytes, expected) in [
            (&[0xe8, 1, 0, 0, 0][..], InstructionKind::Call),
            (&[0xff, 0xd0], InstructionKind::Call), // call rax
            (&[0x41, 0xff, 0x14, 0xc4], InstructionKind::Call), // call [r12+rax*8]
            (&[0xff, 0xe0], InstructionKind::Plain), // jmp rax
            (&[0xff, 0xc0], InstructionKind::Plain), // inc eax
            (&[0x67, 0xe8, 0, 0, 0, 0], InstructionKind::Call), // what relaxing a call through the GOT leaves
            (&[0xf3, 0xa4], InstructionKind::Repeated), // rep movsb
            (&[0xf3, 0x48, 0xab], InstructionKind::Repeated), // rep stosq
            (&[0xf2, 0xae], InstructionKind::Repeated), // repne scasb
            (&[0xa4], InstructionKind::Plain),      // movsb
            (&[0xf3, 0x0f, 0x1e, 0xfa], InstructionKind::Plain), // endbr64
            (&[0x0f, 0x05], InstructionKind::Syscall),
            (&[0x9c], InstructionKind::SavesFlags),
            (&[0xcc], InstructionKind::Breakpoint),
            (&[0xf3; 16], InstructionKind::Plain),
            (&[], InstructionKind::Plain),
        ] {
            assert_eq!(kind(bytes), expected, "{bytes:x?}");
        }
    }
}

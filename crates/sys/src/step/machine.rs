//! What stepping must know of the instructions: few kinds, told from their first bytes.

/// Kinds of instructions that need care when they are stepped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// None of the others.
    Plain,
    /// Calls a function.
    Call,
    /// A string instruction that repeats itself: each step does one round, at the same address.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Repeated,
    /// A system call: interrupted by a signal, it may be made again.
    Syscall,
    /// Saves the flags: with the trap flag, that stepping sets.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    SavesFlags,
    /// A breakpoint of the program's own.
    Breakpoint,
    /// Begins a sequence that fails when it is interrupted, so it must be run as a whole.
    #[cfg_attr(not(target_arch = "aarch64"), allow(dead_code))]
    Exclusive,
}

/// The bytes of an instruction that decide its kind.
pub(super) const LOOKED_AT: usize = 16;

#[cfg(target_arch = "x86_64")]
mod here {
    use super::Kind;

    /// `int3`.
    pub(crate) const BREAKPOINT: &[u8] = &[0xcc];
    /// The address that is reported is after it.
    pub(crate) const BREAKPOINT_MOVES: u64 = 1;

    /// Intel SDM volume 2, section 2.1 (prefixes) and appendix A (opcodes).
    pub(crate) fn kind(bytes: &[u8]) -> Kind {
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
            [0xe8, ..] => Kind::Call,
            [0xff, modrm, ..] if matches!(modrm >> 3 & 7, 2 | 3) => Kind::Call,
            [0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf, ..] if repeats => Kind::Repeated,
            [0x0f, 0x05 | 0x34, ..] | [0xcd, 0x80, ..] => Kind::Syscall,
            [0x9c, ..] => Kind::SavesFlags,
            [0xcc, ..] => Kind::Breakpoint,
            _ => Kind::Plain,
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod here {
    use super::Kind;

    /// `brk #0`.
    pub(crate) const BREAKPOINT: &[u8] = &[0, 0, 0x20, 0xd4];
    /// The address that is reported is its own.
    pub(crate) const BREAKPOINT_MOVES: u64 = 0;

    /// Arm ARM (DDI 0487), section C4.1.
    pub(crate) fn kind(bytes: &[u8]) -> Kind {
        let Some(word) = bytes.first_chunk().map(|word| u32::from_le_bytes(*word)) else {
            return Kind::Plain;
        };
        match word {
            _ if word & 0xfc00_0000 == 0x9400_0000 => Kind::Call,
            // BLR and its authenticating forms.
            _ if word & 0xfe60_0000 == 0xd620_0000 && word & 0x0180_0000 == 0 => Kind::Call,
            _ if word & 0xffe0_001f == 0xd400_0001 => Kind::Syscall,
            _ if word & 0xffe0_001f == 0xd420_0000 => Kind::Breakpoint,
            // LDXR, LDAXR, LDXP, LDAXP of every width.
            _ if word & 0x3fc0_0000 == 0x0840_0000 => Kind::Exclusive,
            _ => Kind::Plain,
        }
    }
}

pub(super) use here::{BREAKPOINT, BREAKPOINT_MOVES, kind};

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_that_need_care_are_told_from_their_bytes() {
        for (bytes, expected) in [
            (&[0xe8, 1, 0, 0, 0][..], Kind::Call),
            (&[0xff, 0xd0], Kind::Call),              // call rax
            (&[0x41, 0xff, 0x14, 0xc4], Kind::Call),  // call [r12+rax*8]
            (&[0xff, 0xe0], Kind::Plain),             // jmp rax
            (&[0xff, 0xc0], Kind::Plain),             // inc eax
            (&[0x67, 0xe8, 0, 0, 0, 0], Kind::Call),  // what relaxing a call through the GOT leaves
            (&[0xf3, 0xa4], Kind::Repeated),          // rep movsb
            (&[0xf3, 0x48, 0xab], Kind::Repeated),    // rep stosq
            (&[0xf2, 0xae], Kind::Repeated),          // repne scasb
            (&[0xa4], Kind::Plain),                   // movsb
            (&[0xf3, 0x0f, 0x1e, 0xfa], Kind::Plain), // endbr64
            (&[0x0f, 0x05], Kind::Syscall),
            (&[0x9c], Kind::SavesFlags),
            (&[0xcc], Kind::Breakpoint),
            (&[0xf3; 16], Kind::Plain),
            (&[], Kind::Plain),
        ] {
            assert_eq!(kind(bytes), expected, "{bytes:x?}");
        }
    }
}

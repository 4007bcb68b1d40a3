//! riscv64: instructions by their lengths and by the few encodings that branch. Their text is their
//! value: no decoder for it is here.

use crate::instruction::{Flow, Instruction, no_instruction};

/// The register that calls leave their return address in.
const LINK: u32 = 1;

pub(crate) fn disassemble(bytes: &[u8], address: u64) -> Vec<Instruction> {
    let mut instructions = Vec::new();
    let mut rest = bytes;
    while let [first, ..] = rest {
        let at = address.wrapping_add((bytes.len() - rest.len()) as u64);
        // Unprivileged ISA, section 1.5: the lowest bits tell the length.
        let len = if first & 3 == 3 { 4 } else { 2 };
        let Some((code, after)) = rest.split_at_checked(len) else {
            instructions.push(no_instruction(rest, at));
            break;
        };
        let word = code.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        let kind = if len == 4 { kind(word, at) } else { compressed(word, at) };
        let text = format!(".insn {word:#0width$x}", width = 2 + 2 * len);
        instructions.push(Instruction { address: at, len: len as u64, text, kind });
        rest = after;
    }
    instructions
}

/// Unprivileged ISA, section 2.5, "Control Transfer Instructions".
fn kind(word: u32, address: u64) -> Flow {
    let to = |offset: i32| address.wrapping_add_signed(offset.into());
    let (into, from) = (word >> 7 & 31, word >> 15 & 31);
    // The sign is the highest bit of each.
    let sign = word.cast_signed() >> 31;
    match word & 0x7f {
        0x6f => {
            let low = word & 0xf_f000 | word >> 9 & 0x800 | word >> 20 & 0x7fe;
            let to = to(sign << 20 | low.cast_signed());
            if into == 0 { Flow::Jump { to } } else { Flow::Call { to: Some(to) } }
        }
        0x67 if into == 0 && from == LINK => Flow::Return,
        0x67 if into == 0 => Flow::Indirect,
        0x67 => Flow::Call { to: None },
        0x63 => {
            let low = word << 4 & 0x800 | word >> 20 & 0x7e0 | word >> 7 & 0x1e;
            Flow::Conditional { to: to(sign << 12 | low.cast_signed()) }
        }
        // `ebreak`.
        0x73 if word == 0x0010_0073 => Flow::Trap,
        _ => Flow::Plain,
    }
}

/// Section 27.4, the same of those of two bytes.
fn compressed(half: u32, address: u64) -> Flow {
    // Each bit of the offset, from where it stands to where it belongs.
    let to = |sign: u32, bits: &[(u32, u32)]| {
        let low: u32 = bits.iter().map(|(from, to)| (half >> from & 1) << to).sum();
        let sign = -(i64::from(half >> 12 & 1) << sign);
        address.wrapping_add_signed(sign | i64::from(low))
    };
    let register = half >> 7 & 31;
    match (half & 3, half >> 13, half >> 12 & 1) {
        _ if half == 0 => Flow::Trap,
        (1, 0b101, _) => {
            let bits = [(11, 4), (10, 9), (9, 8), (8, 10), (7, 6), (6, 7), (5, 3), (4, 2), (3, 1), (2, 5)];
            Flow::Jump { to: to(11, &bits) }
        }
        (1, 0b110 | 0b111, _) => {
            let bits = [(11, 4), (10, 3), (6, 7), (5, 6), (4, 2), (3, 1), (2, 5)];
            Flow::Conditional { to: to(8, &bits) }
        }
        (2, 0b100, 0) if half >> 2 & 31 == 0 && register == LINK => Flow::Return,
        (2, 0b100, 0) if half >> 2 & 31 == 0 && register != 0 => Flow::Indirect,
        (2, 0b100, 1) if half >> 2 & 31 == 0 && register == 0 => Flow::Trap,
        (2, 0b100, 1) if half >> 2 & 31 == 0 => Flow::Call { to: None },
        _ => Flow::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_classified() {
        // As GNU as writes them and objdump reads them.
        for (address, code, len, kind) in [
            (0x10000, 0x0505_u32, 2, Flow::Plain),
            (0x10002, 0xdd7d, 2, Flow::Conditional { to: 0x10000 }),
            (0x10004, 0xbff5, 2, Flow::Jump { to: 0x10000 }),
            (0x10006, 0xfeb5_0de3, 4, Flow::Conditional { to: 0x10000 }),
            (0x1000a, 0x02b5_1e63, 4, Flow::Conditional { to: 0x10046 }),
            (0x1000e, 0xff3f_f06f, 4, Flow::Jump { to: 0x10000 }),
            (0x10012, 0x7f40_00ef, 4, Flow::Call { to: Some(0x10806) }),
            (0x10016, 0x0007_80e7, 4, Flow::Call { to: None }),
            (0x1001a, 0x0007_8067, 4, Flow::Indirect),
            (0x1001e, 0x0000_8067, 4, Flow::Return),
            (0x10022, 0x0010_0073, 4, Flow::Trap),
            (0x10026, 0x0000_0073, 4, Flow::Plain),
            (0x1002a, 0x9002, 2, Flow::Trap),
            (0x1002c, 0x8082, 2, Flow::Return),
            (0x1002e, 0x8782, 2, Flow::Indirect),
            (0x10030, 0x9782, 2, Flow::Call { to: None }),
            (0x10032, 0x852e, 2, Flow::Plain),
            (0x10034, 0x952e, 2, Flow::Plain),
            (0x10036, 0xf7e9, 2, Flow::Conditional { to: 0x10000 }),
            (0x10038, 0xaab9, 2, Flow::Jump { to: 0x10196 }),
            (0x1003a, 0, 2, Flow::Trap),
        ] {
            let instructions = disassemble(&code.to_le_bytes()[..len], address);
            assert_eq!(instructions.len(), 1);
            assert_eq!((instructions[0].len, instructions[0].kind), (len as u64, kind), "{code:x}");
        }
        assert_eq!(disassemble(&[0x13, 0x05, 0, 0], 0)[0].text, ".insn 0x00000513");
        assert_eq!(disassemble(&[0x05, 0x05, 0x13], 0)[1].text, ".byte 0x13");
    }
}

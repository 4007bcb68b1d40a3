//! aarch64: text by fARM64, flow by the few encodings that branch.

use crate::instruction::{Flow, Instruction, no_instruction};
use fARM64::format::{BufSink, FmtFormatter, Formatter};
use fARM64::{Code, Decoder, DecoderOptions};

pub(crate) fn disassemble(bytes: &[u8], address: u64) -> Vec<Instruction> {
    let mut instructions = Vec::new();
    for (index, bytes) in bytes.chunks(4).enumerate() {
        let address = address.wrapping_add(index as u64 * 4);
        let word = bytes.first_chunk().map(|word| u32::from_le_bytes(*word));
        let known = word.and_then(|word| text(bytes, address).map(|text| (word, text)));
        instructions.push(match known {
            Some((word, text)) => Instruction { address, len: 4, text, kind: kind(word, address) },
            None => no_instruction(bytes, address),
        });
    }
    instructions
}

fn text(bytes: &[u8], address: u64) -> Option<String> {
    let decoded = Decoder::new(bytes, address, DecoderOptions::default()).decode();
    if decoded.code() == Code::Invalid {
        return None;
    }
    let mut buffer = [0; 256];
    let mut sink = BufSink::new(&mut buffer);
    FmtFormatter::new().format(&decoded, &mut sink);
    Some(sink.as_str().trim_end().to_owned()).filter(|text| !text.is_empty())
}

/// Arm ARM (DDI 0487), section C4.1.65, "Branches, exception generating and system instructions".
fn kind(word: u32, address: u64) -> Flow {
    // A count of words, `bits` wide, from bit `low` on.
    let to = |low: u32, bits: u32| {
        let words = (word << (32 - low - bits)) as i32 >> (32 - bits);
        address.wrapping_add((i64::from(words) * 4) as u64)
    };
    match word {
        _ if word & 0xfc00_0000 == 0x1400_0000 => Flow::Jump { to: to(0, 26) },
        _ if word & 0xfc00_0000 == 0x9400_0000 => Flow::Call { to: Some(to(0, 26)) },
        // B.cond and BC.cond; of their conditions, 14 and 15 are always true.
        _ if word & 0xff00_0000 == 0x5400_0000 && word & 0xe == 0xe => Flow::Jump { to: to(5, 19) },
        _ if word & 0xff00_0000 == 0x5400_0000 => Flow::Conditional { to: to(5, 19) },
        // CBZ, CBNZ; TBZ, TBNZ.
        _ if word & 0x7e00_0000 == 0x3400_0000 => Flow::Conditional { to: to(5, 19) },
        _ if word & 0x7e00_0000 == 0x3600_0000 => Flow::Conditional { to: to(5, 14) },
        // Branches to registers, plain and authenticated: the operation is in bits 21 to 24.
        _ if word & 0xfe00_0000 == 0xd600_0000 => match word >> 21 & 0xf {
            0b0000 | 0b1000 => Flow::Indirect,
            0b0001 | 0b1001 => Flow::Call { to: None },
            0b0010 => Flow::Return,
            _ => Flow::Trap,
        },
        // BRK, HLT and UDF.
        _ if word & 0xffe0_001f == 0xd420_0000 || word & 0xffe0_001f == 0xd440_0000 => Flow::Trap,
        _ if word & 0xffff_0000 == 0 => Flow::Trap,
        _ => Flow::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_classified() {
        for (word, text, kind) in [
            (0x1100_0420_u32, "add w0, w1, #0x1", Flow::Plain),
            (0xaa00_03e1, "mov x1, x0", Flow::Plain),
            (0x17ff_ffff, "b 0xffc", Flow::Jump { to: 0xffc }),
            (0x9400_0002, "bl 0x1008", Flow::Call { to: Some(0x1008) }),
            (0x54ff_ffe1, "b.ne 0xffc", Flow::Conditional { to: 0xffc }),
            (0xb400_0040, "cbz x0, 0x1008", Flow::Conditional { to: 0x1008 }),
            (0x3707_ffe0, "tbnz w0, #0, 0xffc", Flow::Conditional { to: 0xffc }),
            (0xd61f_0200, "br x16", Flow::Indirect),
            (0xd63f_0100, "blr x8", Flow::Call { to: None }),
            (0xd65f_03c0, "ret", Flow::Return),
            (0xd65f_0bff, "retaa", Flow::Return),
            (0xd400_0001, "svc #0", Flow::Plain),
            (0xd420_0000, "brk #0", Flow::Trap),
        ] {
            let found = disassemble(&word.to_le_bytes(), 0x1000);
            let plain =
                |text: &str| text.replace("0x0", "0").split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!((plain(&found[0].text).as_str(), found[0].kind), (text, kind), "{word:#x}");
        }
        assert_eq!(disassemble(&[0xff, 0xff, 0xff, 0xff, 1], 0)[0].text, ".byte 0xff, 0xff, 0xff, 0xff");
    }
}

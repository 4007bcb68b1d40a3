//! x86_64, decoded by iced.

use crate::instruction::{Flow, Instruction, no_instruction};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Formatter, IntelFormatter};

pub(crate) fn disassemble(bytes: &[u8], address: u64) -> Vec<Instruction> {
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    let mut formatter = formatter();
    let mut instructions = Vec::new();
    while decoder.can_decode() {
        let start = decoder.position();
        let decoded = decoder.decode();
        if decoded.is_invalid() {
            // Skip one byte and try again: the next instruction may decode.
            instructions.push(no_instruction(&bytes[start..=start], address.wrapping_add(start as u64)));
            if decoder.set_position(start + 1).is_err() {
                break;
            }
            decoder.set_ip(address.wrapping_add(start as u64 + 1));
            continue;
        }
        let mut text = String::new();
        formatter.format(&decoded, &mut text);
        instructions.push(Instruction {
            address: decoded.ip(),
            len: decoded.len() as u64,
            text,
            kind: kind(&decoded),
        });
    }
    instructions
}

fn formatter() -> IntelFormatter {
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_first_operand_char_index(8);
    options.set_space_after_operand_separator(true);
    options.set_uppercase_hex(false);
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_branch_leading_zeros(false);
    options.set_small_hex_numbers_in_decimal(true);
    options.set_show_branch_size(false);
    options.set_rip_relative_addresses(false);
    formatter
}

fn kind(decoded: &iced_x86::Instruction) -> Flow {
    if decoded.code() == Code::Hlt || decoded.code() == Code::Int3 {
        return Flow::Trap;
    }
    let to = decoded.near_branch_target();
    match decoded.flow_control() {
        FlowControl::UnconditionalBranch => Flow::Jump { to },
        FlowControl::ConditionalBranch => Flow::Conditional { to },
        FlowControl::IndirectBranch => Flow::Indirect,
        FlowControl::Return => Flow::Return,
        FlowControl::Call if decoded.is_call_near() => Flow::Call { to: Some(to) },
        // Others of this class are system calls.
        FlowControl::Call => Flow::Plain,
        FlowControl::IndirectCall => Flow::Call { to: None },
        FlowControl::XbeginXabortXend
            if matches!(decoded.code(), Code::Xbegin_rel16 | Code::Xbegin_rel32) =>
        {
            Flow::Conditional { to }
        }
        FlowControl::Exception => Flow::Trap,
        FlowControl::Next | FlowControl::Interrupt | FlowControl::XbeginXabortXend => Flow::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_classified() {
        for (bytes, text, kind) in [
            (&[0x48, 0x89, 0xe5][..], "mov     rbp, rsp", Flow::Plain),
            (&[0xeb, 0xfe], "jmp     0x1000", Flow::Jump { to: 0x1000 }),
            (&[0x0f, 0x84, 0x10, 0, 0, 0], "je      0x1016", Flow::Conditional { to: 0x1016 }),
            (&[0xe2, 0xfe], "loop    0x1000", Flow::Conditional { to: 0x1000 }),
            (&[0xe8, 0, 0, 0, 0], "call    0x1005", Flow::Call { to: Some(0x1005) }),
            (&[0xff, 0xd0], "call    rax", Flow::Call { to: None }),
            (&[0xff, 0x24, 0xc5, 0, 0x20, 0, 0], "jmp     qword ptr [rax*8+0x2000]", Flow::Indirect),
            (&[0xf3, 0xc3], "rep ret", Flow::Return),
            (&[0xf3, 0xa4], "rep movsb [rdi], [rsi]", Flow::Plain),
            (&[0x0f, 0x05], "syscall", Flow::Plain),
            (&[0x0f, 0x0b], "ud2", Flow::Trap),
            (&[0xcc], "int3", Flow::Trap),
            (&[0xf4], "hlt", Flow::Trap),
            (&[0x06], ".byte 0x06", Flow::Trap),
            (&[0x48, 0x8d, 0x05, 0x10, 0, 0, 0], "lea     rax, [0x1017]", Flow::Plain),
        ] {
            let found = disassemble(bytes, 0x1000);
            let expected =
                Instruction { address: 0x1000, len: bytes.len() as u64, text: text.to_owned(), kind };
            assert_eq!(found, [expected]);
        }
    }
}

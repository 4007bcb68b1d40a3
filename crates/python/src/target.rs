//! The description of an interpreter in a process for the BPF program: `struct python_target` of
//! `python.h`.

use crate::offsets::{EntryMark, InstructionForm, Layout};

/// Bytes of a target.
pub const TARGET_LEN: usize = 64;

// `flags` of python.h.
const CFRAME: u8 = 1;
const INDEX: u8 = 2;
const UNITS: u8 = 4;
const SHIMS: u8 = 8;
const MARKED: u8 = 16;
const COPIES: u8 = 32;

/// The value for the map `pythons`, with the address of `_PyRuntime` in the process; for
/// `python_files`, with that address relative to the start of the executable's code, which may be
/// negative (wrapped around).
#[must_use]
pub fn target(runtime: u64, layout: &Layout) -> [u8; TARGET_LEN] {
    let mut flags = 0;
    let (mut copy, mut copies) = (0, 0);
    flags |= match layout.instruction {
        InstructionForm::Bytes => INDEX,
        InstructionForm::Units => INDEX | UNITS,
        InstructionForm::Address => 0,
        InstructionForm::Copy { index, copies: array } => {
            (copy, copies) = (index, array);
            COPIES
        }
    };
    let (owner, shim) = match layout.entry {
        EntryMark::Each => (0, 0),
        EntryMark::Flag(at) => {
            flags |= MARKED;
            (at, 0)
        }
        EntryMark::Shim { owner, from } => {
            flags |= SHIMS;
            (owner, from)
        }
    };
    if layout.cframe_frame.is_some() {
        flags |= CFRAME;
    }
    let words = [
        layout.interpreters,
        layout.interpreter_next,
        layout.interpreter_threads,
        layout.thread_next,
        layout.thread_id,
        layout.thread_frame,
        layout.cframe_frame.unwrap_or(0),
        layout.frame_size(),
        layout.frame_previous,
        layout.frame_code,
        layout.frame_instruction,
        owner,
        copy,
        layout.code_line,
        layout.code_size(),
        layout.code_file - layout.code_line,
        layout.code_name - layout.code_line,
        layout.code_lines - layout.code_line,
        layout.code_start,
        copies,
        layout.text_length,
        layout.text_state,
        layout.text_ascii,
        layout.text_wide,
        layout.bytes_length,
        layout.bytes_data,
    ];
    let mut bytes = [0; TARGET_LEN];
    bytes[..8].copy_from_slice(&runtime.to_le_bytes());
    for (at, word) in words.iter().enumerate() {
        bytes[8 + at * 2..10 + at * 2].copy_from_slice(&word.to_le_bytes());
    }
    bytes[60..].copy_from_slice(&[layout.kind_shift, shim, flags, 0]);
    bytes
}

/// The key of an executable in the map `python_files`: by the device of its file system (major,
/// minor) and its inode.
#[must_use]
pub fn file_key(major: u32, minor: u32, inode: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&inode.to_le_bytes());
    bytes[8..12].copy_from_slice(&(major << 20 | minor & 0xf_ffff).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offsets::Version;

    #[test]
    fn fields_are_where_the_kernel_half_reads_them() {
        let layout = Layout::fixed(Version { minor: 12 }).expect("fixed");
        let bytes = target(0x1122_3344, &layout);
        assert_eq!(bytes[..8], 0x1122_3344_u64.to_le_bytes());
        assert_eq!(bytes[8..10], 40_u16.to_le_bytes(), "interpreters");
        assert_eq!(bytes[58..60], layout.bytes_data.to_le_bytes(), "the last of the words");
        assert_eq!(bytes[60..], [2, 3, CFRAME | SHIMS, 0]);
    }
}

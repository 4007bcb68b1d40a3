//! Records of the BPF program about Python: `struct python_record` and `struct python_code_record`
//! of `python.h`, byte for byte. The two change together.
//!
//! What they mean is left to `code.rs`.

use crate::text::Text;

/// `head.kind` of a stack: [`stack`] decodes it.
pub const K_PYTHON: u8 = 32;
/// `head.kind` of the description of a code object: [`described`] decodes it.
pub const K_PYTHON_CODE: u8 = 33;

/// Why a stack ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At its outermost frame.
    Whole,
    /// The stack is deeper than the limit; the outermost frames are missing.
    Cut,
    /// A frame could not be read.
    Unreadable,
    /// The interpreter has no such thread, or no frame for it: its stack has no Python code.
    NoThread,
    /// There is no interpreter yet, or no longer.
    NotStarted,
}

impl End {
    fn from_wire(byte: u8) -> Option<End> {
        Some(match byte {
            0 => End::Whole,
            1 => End::Cut,
            2 => End::Unreadable,
            3 => End::NoThread,
            4 => End::NotStarted,
            _ => return None,
        })
    }

    /// Why frames are missing, in words; None when none is.
    #[must_use]
    pub fn why(self) -> Option<&'static str> {
        match self {
            End::Whole | End::NoThread | End::NotStarted => None,
            End::Cut => Some("more Python frames than the limit"),
            End::Unreadable => Some("a Python frame could not be read"),
        }
    }
}

/// A frame of Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Address of its code object.
    pub code: u64,
    /// Its offset in the bytecode, in bytes; negative: before the first instruction. None where it
    /// is not known.
    pub instruction: Option<i32>,
    /// Distinguishes the code object from others at the same address, before or later: 24 bits.
    pub check: u32,
    /// The evaluation function was entered from C for it.
    pub entry: bool,
}

/// The frames of a thread, the innermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// Time of the kernel's monotonic clock, in nanoseconds.
    pub at: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// Its frames.
    pub frames: Vec<Frame>,
    /// Why the stack ends there.
    pub end: End,
}

/// A code object as it was when first recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Described<'a> {
    /// The process.
    pub pid: u32,
    /// Its address.
    pub code: u64,
    /// See [`Frame::check`].
    pub check: u32,
    /// On which line it begins.
    pub first_line: u32,
    /// Its name; the first part where it is long.
    pub name: Text<'a>,
    /// Its file; the last part where it is long.
    pub file: Text<'a>,
    /// Its line table; the first part where it is long, nothing where it could not be read.
    pub lines: &'a [u8],
    /// How long the line table is.
    pub lines_len: u32,
    /// Where the process has the line table.
    pub lines_at: u64,
}

// Offsets of python.h.
const AT: usize = 0;
const KIND: usize = 8;
const END: usize = 9;
const TID: usize = 12;
const HEAD: usize = 16;
const FRAME: usize = 16;
const NAME_ROOM: usize = 192;
const FILE_ROOM: usize = 256;
const TEXTS: usize = HEAD + 40;
const NAME: usize = TEXTS + 16;
const FILE: usize = NAME + NAME_ROOM;
const LINES: usize = FILE + FILE_ROOM;

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Decodes a `struct python_record`; None when it is not one.
#[must_use]
pub fn stack(bytes: &[u8]) -> Option<Stack> {
    if *bytes.get(KIND)? != K_PYTHON {
        return None;
    }
    let count = usize::try_from(word32(bytes, HEAD + 4)?).ok()?;
    let frames = bytes.get(HEAD + 8..)?.chunks_exact(FRAME).take(count).filter_map(frame);
    Some(Stack {
        at: word64(bytes, AT)?,
        pid: word32(bytes, HEAD)?,
        tid: word32(bytes, TID)?,
        frames: frames.collect(),
        end: End::from_wire(*bytes.get(END)?)?,
    })
}

fn frame(bytes: &[u8]) -> Option<Frame> {
    let what = word32(bytes, 12)?;
    let instruction = word32(bytes, 8)?;
    // As instructions have two bytes, no offset is -1.
    let known = instruction != u32::MAX;
    Some(Frame {
        code: word64(bytes, 0)?,
        instruction: known.then_some(instruction.cast_signed()),
        check: what >> 8,
        entry: what & 1 == 1,
    })
}

/// Decodes a `struct python_code_record`; None when it is not one.
#[must_use]
pub fn described(bytes: &[u8]) -> Option<Described<'_>> {
    if *bytes.get(KIND)? != K_PYTHON_CODE {
        return None;
    }
    let lines_held = usize::try_from(word32(bytes, HEAD + 32)?).ok()?;
    Some(Described {
        pid: word32(bytes, HEAD + 16)?,
        code: word64(bytes, HEAD)?,
        check: word32(bytes, HEAD + 20)?,
        first_line: word32(bytes, HEAD + 24)?,
        name: text(bytes, TEXTS, NAME, NAME_ROOM)?,
        file: text(bytes, TEXTS + 8, FILE, FILE_ROOM)?,
        lines: bytes.get(LINES..LINES.checked_add(lines_held)?)?,
        lines_len: word32(bytes, HEAD + 28)?,
        lines_at: word64(bytes, HEAD + 8)?,
    })
}

fn text(bytes: &[u8], head: usize, at: usize, room: usize) -> Option<Text<'_>> {
    let held = usize::from(u16::from_le_bytes(bytes.get(head + 4..head + 6)?.try_into().ok()?)).min(room);
    Some(Text { length: word32(bytes, head)?, kind: *bytes.get(head + 6)?, bytes: bytes.get(at..at + held)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head(kind: u8, a: u8) -> Vec<u8> {
        let mut bytes = 5_u64.to_le_bytes().to_vec();
        bytes.extend([kind, a, 0, 0]);
        bytes.extend(7_u32.to_le_bytes());
        bytes
    }

    #[test]
    fn a_stack_is_decoded() {
        let mut bytes = head(K_PYTHON, 1);
        for word in [3_u32, 2, 0x10, 0, 6, 0xabcd_ef01, 0x20, 0, u32::MAX, 0] {
            bytes.extend(word.to_le_bytes());
        }
        let frames = vec![
            Frame { code: 0x10, instruction: Some(6), check: 0xabcdef, entry: true },
            Frame { code: 0x20, instruction: None, check: 0, entry: false },
        ];
        assert_eq!(stack(&bytes), Some(Stack { at: 5, pid: 3, tid: 7, frames, end: End::Cut }));
    }

    #[test]
    fn a_description_is_decoded() {
        let mut bytes = head(K_PYTHON_CODE, 0);
        bytes.extend(0x1000_u64.to_le_bytes());
        bytes.extend(0x2000_u64.to_le_bytes());
        for word in [3_u32, 0x99, 42, 700, 3, 0] {
            bytes.extend(word.to_le_bytes());
        }
        for (length, held) in [(4_u32, 4_u16), (300, 256)] {
            bytes.extend(length.to_le_bytes());
            bytes.extend(held.to_le_bytes());
            bytes.extend([1, 1]);
        }
        let mut name = b"main".to_vec();
        name.resize(NAME_ROOM, 0);
        bytes.extend(name);
        bytes.extend([b'x'; FILE_ROOM]);
        bytes.extend([1, 2, 3]);
        let found = described(&bytes).expect("a description");
        assert_eq!((found.pid, found.code, found.check, found.first_line), (3, 0x1000, 0x99, 42));
        assert_eq!((found.name.bytes, found.name.is_cut()), (b"main".as_slice(), false));
        assert_eq!((found.file.bytes.len(), found.file.is_cut()), (256, true));
        assert_eq!((found.lines, found.lines_len, found.lines_at), ([1, 2, 3].as_slice(), 700, 0x2000));
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(kind in 32u8..34, rest in prop::collection::vec(any::<u8>(), 0..700)) {
            let mut bytes = head(kind, 0);
            bytes.extend(rest);
            if let Some(stack) = stack(&bytes) {
                prop_assert!(stack.frames.len() * FRAME <= bytes.len());
            }
            if let Some(found) = described(&bytes) {
                prop_assert!(found.lines.len() <= bytes.len() && found.name.bytes.len() <= NAME_ROOM);
            }
        }
    }
}

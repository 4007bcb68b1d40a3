//! The layout of CPython's structures, per version: from `_PyRuntime` to the line table of a code
//! object.
//!
//! Up to 3.12 the offsets are in a table (`fixed.rs`); from 3.13 on the interpreter describes them
//! itself (`described.rs`). They are the same on x86-64 and aarch64: both are little-endian LP64,
//! and none of these structures has machine-dependent members before the fields used.

use std::fmt;

/// A minor version of CPython 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// The part after `3.`.
    pub minor: u8,
}

impl Version {
    /// The oldest whose frames are read.
    pub const OLDEST: Version = Version { minor: 8 };
    /// The newest whose frames are read.
    pub const NEWEST: Version = Version { minor: 14 };

    /// From CPython's own form, `PY_VERSION_HEX`: None when it is not of Python 3.
    #[must_use]
    pub fn from_hex(hex: u64) -> Option<Version> {
        let hex = u32::try_from(hex).ok()?;
        (hex >> 24 == 3).then_some(Version { minor: (hex >> 16) as u8 })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "3.{}", self.minor)
    }
}

/// Why a layout is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// Too old or too new.
    #[error("frames of Python {0} are not supported, only those of {oldest} to {newest}", oldest = Version::OLDEST, newest = Version::NEWEST)]
    Version(Version),
    /// The interpreter does not describe itself, or not as it should.
    #[error("Python {0} does not describe its structures as expected: {1}")]
    Described(Version, &'static str),
}

/// Offsets in bytes from the start of their structure, unless stated otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The version.
    pub version: Version,
    /// `_PyRuntime`: the newest interpreter.
    pub interpreters: u16,
    /// Interpreter: the next older one.
    pub interpreter_next: u16,
    /// Interpreter: its newest thread.
    pub interpreter_threads: u16,
    /// Thread: the next older one.
    pub thread_next: u16,
    /// Thread: the value of `pthread_self`.
    pub thread_id: u16,
    /// Thread: its TID in the PID namespace of the process; not before 3.11.
    pub thread_native: Option<u16>,
    /// Thread: its innermost frame, or a pointer to it.
    pub thread_frame: u16,
    /// Where a thread has no pointer to its frame but to a `_PyCFrame` (3.11, 3.12): in that, the
    /// frame.
    pub cframe_frame: Option<u16>,
    /// Frame: its caller's.
    pub frame_previous: u16,
    /// Frame: its code object; the lowest bits may be used for other things.
    pub frame_code: u16,
    /// Frame: its instruction.
    pub frame_instruction: u16,
    /// The form of the instruction.
    pub instruction: InstructionForm,
    /// How to tell for which frames the evaluation function was entered.
    pub entry: EntryMark,
    /// Code object: the first line. Before the other fields used.
    pub code_line: u16,
    /// Code object: its file.
    pub code_file: u16,
    /// Code object: its name; qualified from 3.11 on.
    pub code_name: u16,
    /// Code object: its line table. After the other fields used.
    pub code_lines: u16,
    /// Code object: where the bytecode begins; 0 where that is not needed.
    pub code_start: u16,
    /// String: its length in characters.
    pub text_length: u16,
    /// String: 32 bits of state.
    pub text_state: u16,
    /// String: its characters when they are ASCII.
    pub text_ascii: u16,
    /// String: its characters when they are not all ASCII.
    pub text_wide: u16,
    /// In the state: the shift that leaves three bits of kind, then *compact*, then *ASCII*.
    pub kind_shift: u8,
    /// Bytes object: its length.
    pub bytes_length: u16,
    /// Bytes object: its content.
    pub bytes_data: u16,
}

/// How a frame refers to its current instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionForm {
    /// By its offset in bytes, 32 bits (to 3.9).
    Bytes,
    /// By its offset in units of two bytes, 32 bits (3.10).
    Units,
    /// By its address (from 3.11).
    Address,
    /// By its address in one of several copies of the bytecode: the frame has the copy's index at
    /// `index`, the code object has the array of copies at `copies` (free-threaded, from 3.14).
    Copy {
        /// In the frame.
        index: u16,
        /// In the code object.
        copies: u16,
    },
}

/// How to tell for which frames C code entered the evaluation function. Other frames were entered
/// from their caller without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryMark {
    /// For each one (to 3.10).
    Each,
    /// The frame has a flag, here (3.11).
    Flag(u16),
    /// A frame of the interpreter's own follows, marked by its owner: here, from this value on
    /// (from 3.12).
    Shim {
        /// In the frame, one byte.
        owner: u16,
        /// The least value that is not that of a Python frame.
        from: u8,
    },
}

impl Layout {
    /// The length of the part of a frame with all fields used, in bytes.
    #[must_use]
    pub fn frame_size(&self) -> u16 {
        let instruction = match self.instruction {
            InstructionForm::Bytes | InstructionForm::Units => self.frame_instruction + 4,
            InstructionForm::Address => self.frame_instruction + 8,
            InstructionForm::Copy { index, .. } => (self.frame_instruction + 8).max(index + 4),
        };
        let entry = match self.entry {
            EntryMark::Each => 0,
            EntryMark::Flag(at) | EntryMark::Shim { owner: at, .. } => at + 1,
        };
        (self.frame_previous + 8).max(self.frame_code + 8).max(instruction).max(entry)
    }

    /// From the first line to the end of the line table's pointer: what is read of a code object,
    /// in bytes.
    #[must_use]
    pub fn code_size(&self) -> u16 {
        self.code_lines + 8 - self.code_line
    }

    /// Assumptions of the reader; true for the table, checked for a description by the interpreter.
    pub(crate) fn is_plausible(&self) -> bool {
        let parts = [self.code_file, self.code_name];
        self.frame_size() < 128
            && self.code_line < self.code_lines
            && self.code_lines - self.code_line < 112
            && parts.iter().all(|part| (self.code_line..self.code_lines).contains(part))
    }
}

//! Code objects that were described, and what a frame is called by them.
//!
//! The program decides how many there are, so they are held up to a bound; what comes after has no
//! name.

use crate::lines::line_of;
use crate::offsets::Version;
use crate::record::{Described, Frame};
use model::recording::{CodeLocation, Language};
use rustc_hash::FxHashMap;

/// Bytes of names and line tables that are held of all code objects together.
const HELD_MAX: usize = 64 << 20;
/// Approximate memory of one, without its names and line table.
const EACH: usize = 160;

/// Which code object: process, address, check.
type CodeKey = (u32, u64, u32);

/// A code object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// Version of the interpreter.
    pub version: Version,
    /// The function, with its class from 3.11 on; `<module>` for the code of a file itself.
    pub function: String,
    /// Its file as given to the interpreter: not always absolute, not always a file.
    pub file: String,
    /// The line it begins on.
    pub first_line: u32,
    lines: Box<[u8]>,
    lines_len: u32,
    lines_at: u64,
}

impl Code {
    /// From its description.
    #[must_use]
    pub fn new(version: Version, described: &Described<'_>) -> Code {
        let mut function = described.name.decode().unwrap_or_else(|| "(unreadable name)".into());
        if described.name.is_cut() {
            function.push('…');
        }
        let mut file = described.file.decode().unwrap_or_default();
        if described.file.is_cut() && !file.is_empty() {
            file.insert(0, '…');
        }
        Code {
            version,
            function,
            file,
            first_line: described.first_line,
            lines: described.lines.into(),
            lines_len: described.lines_len,
            lines_at: described.lines_at,
        }
    }

    /// The line of an instruction; 0 when it has none or it is not known.
    #[must_use]
    pub fn line(&self, instruction: Option<i32>) -> u32 {
        let Some(offset) = instruction else { return 0 };
        line_of(self.version, &self.lines, self.first_line, offset).unwrap_or(0)
    }

    /// Where the process has the line table and how long it is, when only a part of it is held:
    /// while the process lives, [`Code::complete`] can be given all of it.
    #[must_use]
    pub fn missing(&self) -> Option<(u64, u32)> {
        (self.lines.len() < self.lines_len as usize).then_some((self.lines_at, self.lines_len))
    }

    /// Replaces the part of the line table that is held by the whole.
    pub fn complete(&mut self, lines: &[u8]) {
        self.lines = lines.into();
    }

    fn held(&self) -> usize {
        EACH + self.function.len() + self.file.len() + self.lines.len()
    }
}

/// All code objects of a recording.
#[derive(Debug, Default)]
pub struct Codes {
    codes: FxHashMap<CodeKey, Code>,
    held: usize,
    refused: u64,
}

impl Codes {
    /// Adds a description. It replaces an earlier one, which may have been incomplete. Returns the
    /// code object, unless the bound is reached.
    pub fn add(&mut self, version: Version, described: &Described<'_>) -> Option<&mut Code> {
        let code = Code::new(version, described);
        if self.held + code.held() > HELD_MAX {
            self.refused += 1;
            return None;
        }
        self.held += code.held();
        let key = (described.pid, described.code, described.check);
        if let Some(old) = self.codes.remove(&key) {
            self.held -= old.held().min(self.held);
        }
        Some(self.codes.entry(key).or_insert(code))
    }

    /// The code object of a frame, when it was described.
    #[must_use]
    pub fn get(&self, pid: u32, frame: &Frame) -> Option<&Code> {
        self.codes.get(&(pid, frame.code, frame.check))
    }

    /// The code location of a frame. Where its code object was not described, its address is the
    /// name.
    #[must_use]
    pub fn place(&self, pid: u32, frame: &Frame) -> CodeLocation {
        let language = Language::Python;
        match self.get(pid, frame) {
            Some(code) => CodeLocation::Script {
                language,
                function: code.function.clone(),
                file: code.file.clone(),
                line: code.line(frame.instruction),
                first_line: code.first_line,
            },
            None => CodeLocation::Script {
                language,
                function: format!("(code object at {:#x}, not described)", frame.code),
                file: String::new(),
                line: 0,
                first_line: 0,
            },
        }
    }

    /// The number of descriptions that were dropped at the bound.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    const VERSION: Version = Version { minor: 9 };

    fn described(name: &'static str, check: u32) -> Described<'static> {
        let text = |text: &'static str| Text { length: text.len() as u32, kind: 1, bytes: text.as_bytes() };
        Described {
            pid: 1,
            code: 0x1000,
            check,
            first_line: 10,
            name: text(name),
            file: text("a.py"),
            lines: &[0, 1, 6, 2],
            lines_len: 4,
            lines_at: 0x500,
        }
    }

    fn frame(check: u32, instruction: Option<i32>) -> Frame {
        Frame { code: 0x1000, instruction, check, entry: true }
    }

    fn name(place: &CodeLocation) -> (&str, u32) {
        match place {
            CodeLocation::Script { function, line, .. } => (function, *line),
            other => panic!("not a script: {other:?}"),
        }
    }

    #[test]
    fn two_that_had_the_same_address_are_told_apart() {
        let mut codes = Codes::default();
        codes.add(VERSION, &described("before", 1));
        codes.add(VERSION, &described("after", 2));
        assert_eq!(name(&codes.place(1, &frame(1, Some(0)))), ("before", 11));
        assert_eq!(name(&codes.place(1, &frame(2, Some(8)))), ("after", 13));
        assert_eq!(name(&codes.place(1, &frame(2, None))), ("after", 0));
        assert_eq!(name(&codes.place(1, &frame(3, Some(0)))), ("(code object at 0x1000, not described)", 0));
    }

    #[test]
    fn what_was_cut_says_so_and_a_line_table_can_be_completed() {
        let mut codes = Codes::default();
        let mut cut = described("begin", 1);
        cut.name.length = 300;
        cut.file.length = 300;
        cut.lines_len = 6;
        let code = codes.add(VERSION, &cut).expect("room");
        assert_eq!((code.function.as_str(), code.file.as_str()), ("begin…", "…a.py"));
        assert_eq!(code.missing(), Some((0x500, 6)));
        code.complete(&[0, 1, 6, 2, 1, 1]);
        assert_eq!((code.missing(), code.line(Some(7))), (None, 14));
    }
}

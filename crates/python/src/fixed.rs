//! The layouts of 3.8 to 3.12, the same for every build of a version: taken with `offsetof` from
//! the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7 and 3.12.1.

use crate::offsets::{EntryMark, InstructionForm, Layout, LayoutError, Version};

impl Layout {
    /// The layout of a version that has a fixed one: 3.8 to 3.12.
    ///
    /// # Errors
    /// It is another version.
    pub fn fixed(version: Version) -> Result<Layout, LayoutError> {
        match version.minor {
            8 | 9 => Ok(Layout { version, ..PYTHON_3_8 }),
            10 => Ok(PYTHON_3_10),
            11 => Ok(PYTHON_3_11),
            12 => Ok(PYTHON_3_12),
            13 | 14 => Err(LayoutError::Described(version, "there is no description")),
            _ => Err(LayoutError::Version(version)),
        }
    }
}

const PYTHON_3_8: Layout = Layout {
    version: Version { minor: 8 },
    interpreters: 32,
    interpreter_next: 0,
    interpreter_threads: 8,
    thread_next: 8,
    thread_id: 176,
    thread_native: None,
    thread_frame: 24,
    cframe_frame: None,
    frame_previous: 24,
    frame_code: 32,
    frame_instruction: 104,
    instruction: InstructionForm::Bytes,
    entry: EntryMark::Each,
    code_line: 40,
    code_file: 104,
    code_name: 112,
    code_lines: 120,
    code_start: 0,
    text_length: 16,
    text_state: 32,
    text_ascii: 48,
    text_wide: 72,
    kind_shift: 2,
    bytes_length: 16,
    bytes_data: 32,
};

const PYTHON_3_10: Layout = Layout {
    version: Version { minor: 10 },
    frame_instruction: 96,
    instruction: InstructionForm::Units,
    ..PYTHON_3_8
};

const PYTHON_3_11: Layout = Layout {
    version: Version { minor: 11 },
    interpreters: 40,
    interpreter_next: 0,
    interpreter_threads: 16,
    thread_next: 8,
    thread_id: 152,
    thread_native: Some(160),
    thread_frame: 56,
    cframe_frame: Some(8),
    frame_previous: 48,
    frame_code: 32,
    frame_instruction: 56,
    instruction: InstructionForm::Address,
    entry: EntryMark::Flag(68),
    code_line: 72,
    code_file: 112,
    code_name: 128,
    code_lines: 136,
    code_start: 184,
    ..PYTHON_3_8
};

const PYTHON_3_12: Layout = Layout {
    version: Version { minor: 12 },
    interpreters: 40,
    interpreter_next: 0,
    interpreter_threads: 72,
    thread_next: 8,
    thread_id: 136,
    thread_native: Some(144),
    thread_frame: 56,
    cframe_frame: Some(0),
    frame_previous: 8,
    frame_code: 0,
    frame_instruction: 56,
    instruction: InstructionForm::Address,
    entry: EntryMark::Shim { owner: 70, from: 3 },
    code_line: 68,
    code_file: 112,
    code_name: 128,
    code_lines: 136,
    code_start: 192,
    text_length: 16,
    text_state: 32,
    text_ascii: 40,
    text_wide: 56,
    kind_shift: 2,
    bytes_length: 16,
    bytes_data: 32,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_plausible_and_each_version_is_its_own() {
        for minor in 8..=12 {
            let layout = Layout::fixed(Version { minor }).expect("a fixed layout");
            assert!(layout.is_plausible(), "{layout:?}");
            assert_eq!(layout.version, Version { minor });
        }
    }

    #[test]
    fn versions_outside_are_refused_by_name() {
        let refused = Layout::fixed(Version { minor: 7 }).expect_err("too old");
        assert_eq!(refused.to_string(), "frames of Python 3.7 are not supported, only those of 3.8 to 3.14");
        assert!(Layout::fixed(Version { minor: 15 }).is_err());
    }
}

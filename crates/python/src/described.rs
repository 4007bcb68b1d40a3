//! The layout that an interpreter from 3.13 on describes itself: `_Py_DebugOffsets` at the start of
//! `_PyRuntime` (`pycore_runtime.h` of 3.13, `pycore_debug_offsets.h` of 3.14), meant for debuggers
//! and profilers. It is right for builds with other options too, such as free-threaded ones.

use crate::offsets::{EntryMark, InstructionForm, Layout, LayoutError, Version};

/// The cookie at the start of the description.
pub(crate) const COOKIE: &[u8; 8] = b"xdebugpy";
/// As much of the start of `_PyRuntime` as the description takes at most, in bytes.
pub(crate) const DESCRIBED_LEN: usize = 8 * 112;

impl Layout {
    /// The layout that an interpreter from 3.13 on describes at the start of its `_PyRuntime`;
    /// `bytes` are the first [`DESCRIBED_LEN`] of it.
    ///
    /// # Errors
    /// It is a version whose description is not known, or the description is not plausible.
    pub fn described(bytes: &[u8]) -> Result<Layout, LayoutError> {
        let nowhere = Version { minor: 0 };
        if bytes.get(..8) != Some(COOKIE) {
            return Err(LayoutError::Described(nowhere, "it does not begin with its cookie"));
        }
        let word = |at: usize| {
            let bytes = bytes.get(at * 8..at * 8 + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let version =
            word(1).and_then(Version::from_hex).ok_or(LayoutError::Described(nowhere, "its version"))?;
        let words = match version.minor {
            13 => WORDS_3_13,
            14 => WORDS_3_14,
            _ => return Err(LayoutError::Version(version)),
        };
        let field = |name: &'static str| {
            let at = words.split_whitespace().position(|word| word == name);
            // The largest structure of interest has 7,400 bytes before the field that matters.
            let offset = at.and_then(|at| word(at + 2)).and_then(|word| u16::try_from(word).ok());
            offset.filter(|offset| *offset < 1 << 15).ok_or(LayoutError::Described(version, name))
        };
        let free_threaded = field("free_threaded")? != 0;
        let instruction = if free_threaded && version.minor >= 14 {
            InstructionForm::Copy { index: field("frame.tlbc_index")?, copies: field("code.tlbc")? }
        } else {
            InstructionForm::Address
        };
        let text_ascii = field("unicode.asciiobject_size")?;
        let layout = Layout {
            version,
            interpreters: field("runtime.interpreters_head")?,
            interpreter_next: field("interpreter.next")?,
            interpreter_threads: field("interpreter.threads_head")?,
            thread_next: field("thread.next")?,
            thread_id: field("thread.thread_id")?,
            thread_native: Some(field("thread.native_thread_id")?),
            thread_frame: field("thread.current_frame")?,
            cframe_frame: None,
            frame_previous: field("frame.previous")?,
            frame_code: field("frame.executable")?,
            frame_instruction: field("frame.instr_ptr")?,
            instruction,
            entry: EntryMark::Shim { owner: field("frame.owner")?, from: 3 },
            code_line: field("code.firstlineno")?,
            code_file: field("code.filename")?,
            code_name: field("code.qualname")?,
            code_lines: field("code.linetable")?,
            code_start: field("code.co_code_adaptive")?,
            text_length: field("unicode.length")?,
            text_state: field("unicode.state")?,
            text_ascii,
            // The length and the pointer of the UTF-8 form stand between.
            text_wide: text_ascii + 16,
            // Free-threaded 3.14 uses eight bits where other builds use two.
            kind_shift: if free_threaded && version.minor >= 14 { 8 } else { 2 },
            bytes_length: field("bytes.ob_size")?,
            bytes_data: field("bytes.ob_sval")?,
        };
        if layout.is_plausible() {
            Ok(layout)
        } else {
            Err(LayoutError::Described(version, "the order of fields"))
        }
    }
}

/// The meaning of the words after cookie and version.
const WORDS_3_13: &str = "free_threaded
    runtime.size runtime.finalizing runtime.interpreters_head
    interpreter.size interpreter.id interpreter.next interpreter.threads_head interpreter.gc
    interpreter.imports_modules interpreter.sysdict interpreter.builtins interpreter.ceval_gil
    interpreter.gil_runtime_state interpreter.gil_enabled interpreter.gil_locked interpreter.gil_holder
    thread.size thread.prev thread.next thread.interp thread.current_frame thread.thread_id
    thread.native_thread_id thread.datastack_chunk thread.status
    frame.size frame.previous frame.executable frame.instr_ptr frame.localsplus frame.owner
    code.size code.filename code.name code.qualname code.linetable code.firstlineno code.argcount
    code.localsplusnames code.localspluskinds code.co_code_adaptive
    object.size object.ob_type type.size type.tp_name type.tp_repr type.tp_flags
    tuple.size tuple.ob_item tuple.ob_size list.size list.ob_item list.ob_size
    dict.size dict.ma_keys dict.ma_values float.size float.ob_fval long.size long.lv_tag long.ob_digit
    bytes.size bytes.ob_size bytes.ob_sval
    unicode.size unicode.state unicode.length unicode.asciiobject_size";
const WORDS_3_14: &str = "free_threaded
    runtime.size runtime.finalizing runtime.interpreters_head
    interpreter.size interpreter.id interpreter.next interpreter.threads_head interpreter.threads_main interpreter.gc
    interpreter.imports_modules interpreter.sysdict interpreter.builtins interpreter.ceval_gil
    interpreter.gil_runtime_state interpreter.gil_enabled interpreter.gil_locked interpreter.gil_holder
    interpreter.code_object_generation interpreter.tlbc_generation
    thread.size thread.prev thread.next thread.interp thread.current_frame thread.thread_id
    thread.native_thread_id thread.datastack_chunk thread.status
    frame.size frame.previous frame.executable frame.instr_ptr frame.localsplus frame.owner
    frame.stackpointer frame.tlbc_index
    code.size code.filename code.name code.qualname code.linetable code.firstlineno code.argcount
    code.localsplusnames code.localspluskinds code.co_code_adaptive code.tlbc
    object.size object.ob_type type.size type.tp_name type.tp_repr type.tp_flags
    tuple.size tuple.ob_item tuple.ob_size list.size list.ob_item list.ob_size
    set.size set.used set.table set.mask
    dict.size dict.ma_keys dict.ma_values float.size float.ob_fval long.size long.lv_tag long.ob_digit
    bytes.size bytes.ob_size bytes.ob_sval
    unicode.size unicode.state unicode.length unicode.asciiobject_size";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A description as 3.14 has it: each word is its own position, but for those that must fit
    /// together.
    fn description(free_threaded: u64) -> Vec<u8> {
        let mut words = vec![u64::from_le_bytes(*COOKIE), 0x030e_00f0, free_threaded];
        words.extend(WORDS_3_14.split_whitespace().skip(1).enumerate().map(|(at, name)| match name {
            "code.firstlineno" => 68,
            "code.filename" => 112,
            "code.qualname" => 128,
            "code.linetable" => 136,
            _ => at as u64,
        }));
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    #[test]
    fn a_description_is_read_by_the_names_of_its_words() {
        let layout = Layout::described(&description(0)).expect("plausible");
        assert_eq!((layout.version.minor, layout.interpreters, layout.code_name), (14, 2, 128));
        assert_eq!((layout.kind_shift, layout.instruction), (2, InstructionForm::Address));
        let layout = Layout::described(&description(1)).expect("plausible");
        assert_eq!(layout.kind_shift, 8);
        assert!(matches!(layout.instruction, InstructionForm::Copy { .. }));
    }

    #[test]
    fn a_description_that_is_cut_is_refused() {
        let whole = description(0);
        for len in 0..whole.len() {
            assert!(Layout::described(&whole[..len]).is_err(), "{len} bytes");
        }
    }

    proptest! {
        #[test]
        fn no_description_makes_reads_that_do_not_fit(mut words in prop::collection::vec(0u64..300, 110)) {
            words[0] = u64::from_le_bytes(*COOKIE);
            words[1] = 0x030d_00f0;
            let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
            if let Ok(layout) = Layout::described(&bytes) {
                prop_assert!(layout.frame_size() < 128);
                prop_assert!(layout.code_size() < 128);
                prop_assert!(layout.code_file + 8 <= layout.code_line + layout.code_size());
            }
        }
    }
}

//! The frames of a thread, read from user space: for tiers without BPF, of stopped threads, and for
//! what the BPF program could not read.
//!
//! It reads what `python.h` reads, in the same order. The memory is another process's and may
//! change while it is read: every value in it is checked before use.

use crate::code::Code;
use crate::offsets::{EntryMark, InstructionForm, Layout};
use crate::record::{Described, End, Frame};
use crate::text::Text;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Frames read of a stack.
pub const FRAMES_MAX: usize = 1024;
/// The limit on threads searched.
const THREADS_MAX: usize = 4096;
/// Characters of a name or path.
const TEXT_MAX: u32 = 4096;
/// Bytes of a line table.
const LINES_MAX: u32 = 1 << 20;
/// The length of the part of libc's thread structure that is searched for the TID.
const THREAD_LEN: usize = 1024;

/// Memory of a process.
pub trait Memory {
    /// Reads memory at `address` into `to`.
    ///
    /// # Errors
    /// The system's error when not all of it can be read.
    fn read(&self, address: u64, to: &mut [u8]) -> io::Result<()>;
}

/// The memory of a living process, by `/proc/PID/mem`.
#[derive(Debug)]
pub struct ProcessMemory(File);

impl ProcessMemory {
    /// Opens it.
    ///
    /// # Errors
    /// The system's error: the process is gone, or access is denied.
    pub fn open(pid: u32) -> io::Result<ProcessMemory> {
        File::open(format!("/proc/{pid}/mem")).map(ProcessMemory)
    }
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, to: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(to, address)
    }
}

/// A thread of the interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadState {
    /// Address of its `PyThreadState`.
    pub address: u64,
    /// The value of `pthread_self`.
    pub id: u64,
    /// Its TID in the process's PID namespace, from 3.11 on.
    pub native: Option<u32>,
}

/// CPython in a process.
#[derive(Debug)]
pub struct Interpreters<'a, M> {
    /// The process's memory.
    pub memory: &'a M,
    /// The interpreter's layout.
    pub layout: &'a Layout,
    /// Address of `_PyRuntime`.
    pub runtime: u64,
}

impl<M: Memory> Interpreters<'_, M> {
    /// Its threads, those of the newest interpreter first, the newest of each first.
    ///
    /// # Errors
    /// The system's error when the lists cannot be read.
    pub fn threads(&self) -> io::Result<Vec<ThreadState>> {
        let layout = self.layout;
        let mut threads = Vec::new();
        let mut interpreter = self.pointer(self.runtime, layout.interpreters)?;
        let mut steps = 0;
        while interpreter != 0 && steps < THREADS_MAX {
            steps += 1;
            let mut state = self.pointer(interpreter, layout.interpreter_threads)?;
            while state != 0 && steps < THREADS_MAX {
                steps += 1;
                let native = layout.thread_native.map(|at| self.pointer(state, at)).transpose()?;
                let native = native.and_then(|native| u32::try_from(native).ok());
                threads.push(ThreadState {
                    address: state,
                    id: self.pointer(state, layout.thread_id)?,
                    native,
                });
                state = self.pointer(state, layout.thread_next)?;
            }
            interpreter = self.pointer(interpreter, layout.interpreter_next)?;
        }
        Ok(threads)
    }

    /// The thread with this TID in the process's PID namespace. Before 3.11 the TID is searched for
    /// in libc's thread structure (glibc and musl have it near the start).
    #[must_use]
    pub fn thread(&self, threads: &[ThreadState], tid: u32) -> Option<ThreadState> {
        let is_it = |state: &&ThreadState| match state.native {
            Some(native) => native == tid,
            None => {
                let mut bytes = [0; THREAD_LEN];
                let read = self.memory.read(state.id, &mut bytes);
                read.is_ok() && bytes.chunks_exact(4).any(|word| word == tid.to_le_bytes())
            }
        };
        threads.iter().find(is_it).copied()
    }

    /// The frames of a thread, the innermost first.
    #[must_use]
    pub fn frames(&self, state: ThreadState) -> (Vec<Frame>, End) {
        let mut frames = Vec::new();
        match self.walk(state, &mut frames) {
            Ok(end) => (frames, end),
            Err(_) => (frames, End::Unreadable),
        }
    }

    fn walk(&self, state: ThreadState, frames: &mut Vec<Frame>) -> io::Result<End> {
        let layout = self.layout;
        let mut at = self.pointer(state.address, layout.thread_frame)?;
        if let Some(inner) = layout.cframe_frame
            && at != 0
        {
            at = self.pointer(at, inner)?;
        }
        if at == 0 {
            return Ok(End::NoThread);
        }
        for _ in 0..2 * FRAMES_MAX {
            if at == 0 {
                return Ok(End::Whole);
            }
            let code = self.pointer(at, layout.frame_code)? & !7;
            let frame = at;
            at = self.pointer(at, layout.frame_previous)?;
            let mut entry = false;
            match layout.entry {
                EntryMark::Each => entry = true,
                EntryMark::Flag(flag) => entry = self.byte(frame, flag)? & 1 == 1,
                EntryMark::Shim { owner, from } => {
                    if self.byte(frame, owner)? >= from {
                        if let Some(last) = frames.last_mut() {
                            last.entry = true;
                        }
                        continue;
                    }
                }
            }
            if frames.len() == FRAMES_MAX {
                break;
            }
            frames.push(Frame { code, instruction: self.instruction(frame, code)?, check: 0, entry });
        }
        Ok(End::Cut)
    }

    fn instruction(&self, frame: u64, code: u64) -> io::Result<Option<i32>> {
        let layout = self.layout;
        let index = || {
            let index = self.word(frame, layout.frame_instruction)?.cast_signed();
            io::Result::Ok(if index < 0 { -1 } else { index })
        };
        let start = match layout.instruction {
            InstructionForm::Bytes => return Ok(Some(index()?)),
            InstructionForm::Units => return Ok(Some(index()?.saturating_mul(2))),
            InstructionForm::Address => code.wrapping_add(layout.code_start.into()),
            InstructionForm::Copy { index, copies } => match self.word(frame, index)? {
                0 => code.wrapping_add(layout.code_start.into()),
                index => {
                    let array = self.pointer(code, copies)?;
                    self.pointer(array.wrapping_add(8 + 8 * u64::from(index)), 0)?
                }
            },
        };
        let offset = self.pointer(frame, layout.frame_instruction)?.wrapping_sub(start).cast_signed();
        Ok(i32::try_from(offset).ok().filter(|offset| (-2..1 << 28).contains(offset)))
    }

    /// The names of a code object.
    ///
    /// # Errors
    /// The system's error when the object itself cannot be read; a name that cannot be read is left
    /// out.
    pub fn code(&self, code: u64) -> io::Result<Code> {
        let layout = self.layout;
        let (name, file) = (self.pointer(code, layout.code_name)?, self.pointer(code, layout.code_file)?);
        let lines = self.pointer(code, layout.code_lines)?;
        let lines_at = lines.wrapping_add(layout.bytes_data.into());
        let lines_len = self.word(lines, layout.bytes_length).unwrap_or(0);
        let (name, file) = (self.text(name), self.text(file));
        let described = Described {
            pid: 0,
            code,
            check: 0,
            first_line: self.word(code, layout.code_line)?,
            name: Text { length: name.0, kind: name.1, bytes: &name.2 },
            file: Text { length: file.0, kind: file.1, bytes: &file.2 },
            lines: &self.line_table(lines_at, lines_len).unwrap_or_default(),
            lines_len,
            lines_at,
        };
        Ok(Code::new(layout.version, &described))
    }

    /// A line table, for [`Code::complete`].
    ///
    /// # Errors
    /// The system's error when it cannot be read; also when it is implausibly long.
    pub fn line_table(&self, at: u64, len: u32) -> io::Result<Vec<u8>> {
        if len > LINES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut lines = vec![0; len as usize];
        self.memory.read(at, &mut lines)?;
        Ok(lines)
    }

    /// Length, kind and characters of a string.
    fn text(&self, at: u64) -> (u32, u8, Vec<u8>) {
        let layout = self.layout;
        let read = || {
            let state = self.word(at, layout.text_state)? >> layout.kind_shift;
            let length = self.word(at, layout.text_length)?;
            let kind = (state & 7) as u8;
            let data = if state >> 4 & 1 == 1 { layout.text_ascii } else { layout.text_wide };
            let mut bytes = vec![0; length.min(TEXT_MAX) as usize * usize::from(kind)];
            self.memory.read(at.wrapping_add(data.into()), &mut bytes)?;
            io::Result::Ok((length, kind, bytes))
        };
        read().unwrap_or((1, 1, Vec::new()))
    }

    fn pointer(&self, at: u64, offset: u16) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.memory.read(at.wrapping_add(offset.into()), &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn word(&self, at: u64, offset: u16) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.memory.read(at.wrapping_add(offset.into()), &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn byte(&self, at: u64, offset: u16) -> io::Result<u8> {
        let mut bytes = [0; 1];
        self.memory.read(at.wrapping_add(offset.into()), &mut bytes)?;
        Ok(bytes[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offsets::Version;
    use proptest::prelude::*;

    /// Memory that repeats the same bytes, so that every list in it is circular.
    struct Everywhere([u8; 8]);

    impl Memory for Everywhere {
        fn read(&self, address: u64, to: &mut [u8]) -> io::Result<()> {
            for (at, byte) in (address..).zip(to) {
                *byte = self.0[(at % 8) as usize];
            }
            Ok(())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn lists_that_lead_nowhere_are_left(minor in 8u8..=12, bytes in any::<[u8; 8]>()) {
            let layout = Layout::fixed(Version { minor }).expect("fixed");
            let everywhere = Interpreters { memory: &Everywhere(bytes), layout: &layout, runtime: 0 };
            let threads = everywhere.threads().expect("all can be read");
            prop_assert!(threads.len() <= THREADS_MAX);
            let (frames, _) = everywhere.frames(ThreadState { address: 0, id: 0, native: None });
            prop_assert!(frames.len() <= FRAMES_MAX);
            let code = everywhere.code(0).expect("all can be read");
            prop_assert!(code.function.chars().count() <= TEXT_MAX as usize + 1);
        }
    }
}

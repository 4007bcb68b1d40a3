//! Unwinding a stack by call frame information and, where there is none, by frame pointers.

use std::fmt;
use std::sync::Arc;

use crate::files::FileId;
use crate::processes::Processes;
use crate::registers::Registers;
use crate::rule::{Failed, StackCopy, UnwindStep};
use crate::symbols::go;
use model::Arch;

/// The limit of frames of one stack; deeper stacks are cut.
const FRAMES_MAX: usize = 1_024;

/// A frame of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawFrame {
    /// The file, or what stands for code that a process made: [`Files::path`](crate::Files::path)
    /// names the one, [`Files::made_by`](crate::Files::made_by) tells of the other.
    pub file: FileId,
    /// The address in the file, as `nm` and `objdump` print it; of code in no file, that in the
    /// process. For the innermost function that of the next instruction, for callers that of the
    /// last byte of their call.
    pub address: u64,
}

/// Why a stack could not be unwound to its outermost function. The text is short, and the same for
/// the same cause.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UnwindFailure {
    /// Nothing executable is mapped at a return address.
    NoMapping,
    /// The code has no unwind information, and no frame pointers.
    NoInformation(Arc<str>),
    /// The file with the unwind information could not be read.
    NoFile(Arc<str>, Arc<str>),
    /// The copy of the stack, of this many bytes, ends before the stack does.
    StackEnded(usize),
    /// The unwind information needs a register that was not recorded.
    RegisterUnknown(Arc<str>),
    /// The unwind information, or the stack, is damaged.
    Odd(Arc<str>),
    /// The stack is deeper than the limit.
    TooDeep,
}

impl fmt::Display for UnwindFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |path: &'_ str| path.rsplit('/').next().unwrap_or_default().to_owned();
        match self {
            UnwindFailure::NoMapping => write!(f, "no code is mapped at the address"),
            UnwindFailure::NoInformation(path) => write!(f, "no unwind information in {}", short(path)),
            UnwindFailure::NoFile(path, why) => write!(f, "{} could not be read: {why}", short(path)),
            UnwindFailure::StackEnded(bytes) if *bytes < 1024 => {
                write!(f, "the copied part of the stack ended ({bytes} bytes)")
            }
            UnwindFailure::StackEnded(bytes) => {
                write!(f, "the copied part of the stack ended ({} KiB)", bytes.div_ceil(1024))
            }
            UnwindFailure::RegisterUnknown(path) => write!(f, "a register is not known in {}", short(path)),
            UnwindFailure::Odd(path) => write!(f, "unwind information or stack damaged in {}", short(path)),
            UnwindFailure::TooDeep => write!(f, "more than {FRAMES_MAX} functions deep"),
        }
    }
}

impl Processes {
    /// Unwinds a stack: its frames, the innermost first, are appended to `out`.
    ///
    /// `stack` is a copy of the thread's memory from its stack pointer on. None when the outermost
    /// function was reached, that is, one marked as such; otherwise the reason, and `out` has the
    /// frames up to there.
    ///
    /// A process without recorded mappings is read from `/proc`.
    pub fn unwind(
        &mut self,
        pid: u32,
        registers: &Registers,
        stack: &[u8],
        out: &mut Vec<RawFrame>,
    ) -> Option<UnwindFailure> {
        let stack = StackCopy { sp: registers.sp(), bytes: stack };
        let mut registers = *registers;
        // The address of an interrupted instruction is exact; a return address may be that of the
        // next function.
        let mut exact = true;
        // The return address is from a frame pointer or a guess, for code without unwind
        // information.
        let mut guessed: Option<UnwindFailure> = None;
        for _ in 0..FRAMES_MAX {
            let address = if exact { registers.ip } else { registers.ip - 1 };
            let Some((frame, broke)) = self.place(pid, address) else {
                return self.unless_it_began(out, guessed.unwrap_or(UnwindFailure::NoMapping));
            };
            out.push(frame);
            let old = registers;
            let rule = self.files.rule(frame.file, frame.address);
            if rule.is_none() && self.is_entry(frame) {
                return None;
            }
            let step = match &rule {
                Some(rule) => rule.apply(&mut registers, stack),
                None => self.by_frame_pointer(pid, &mut registers, stack, exact, guessed.is_some()),
            };
            let signal = rule.as_ref().is_some_and(|rule| rule.signal);
            match step {
                Ok(UnwindStep::End) => return None,
                Err(failed) => {
                    let failed = self.words(failed, frame.file, stack, broke);
                    return self.unless_it_began(out, failed);
                }
                Ok(UnwindStep::Caller) => {}
            }
            let advanced = registers.sp() > old.sp() || signal;
            // A leaf function of aarch64 or riscv64 may use no stack.
            let leaf = exact && registers.sp() == old.sp() && registers.ip != old.ip;
            if !advanced && !leaf {
                let odd = UnwindFailure::Odd(Arc::clone(self.files.path(frame.file)));
                return self.unless_it_began(out, odd);
            }
            guessed = rule.is_none().then(|| broke.unwrap_or_else(|| self.no_information(frame.file)));
            exact = signal;
        }
        Some(UnwindFailure::TooDeep)
    }

    /// Where an instruction is. None where nothing executable is mapped there.
    pub fn at(&mut self, pid: u32, address: u64) -> Option<RawFrame> {
        self.place(pid, address).map(|(frame, _)| frame)
    }

    /// Whether this is the entry point, which has no caller. The loader's own entry is not marked
    /// as such.
    fn is_entry(&self, frame: RawFrame) -> bool {
        /// glibc's is followed by the jump to the program, and both are hand-written.
        const ENTRY_LEN: u64 = 64;
        let module = self.files.module(frame.file);
        module.is_some_and(|module| {
            (module.image.entry..module.image.entry.saturating_add(ENTRY_LEN)).contains(&frame.address)
        })
    }

    /// The failure, unless it came beyond the first function on a stack of Go's runtime: what lies
    /// there is left from before (on the first thread `runtime.newproc`), and is taken away.
    fn unless_it_began(&self, out: &mut Vec<RawFrame>, failed: UnwindFailure) -> Option<UnwindFailure> {
        let Some(first) = out.iter().position(|frame| self.begins_stacks(*frame)) else {
            return Some(failed);
        };
        out.truncate(first + 1);
        None
    }

    /// Whether this is the first function on a stack of Go's runtime, which has no caller.
    fn begins_stacks(&self, frame: RawFrame) -> bool {
        let module = self.files.module(frame.file);
        module.is_some_and(|module| go::begins_stacks(&module.image, frame.address))
    }

    /// The file of an address, and why it could not be read, if so.
    fn place(&mut self, pid: u32, address: u64) -> Option<(RawFrame, Option<UnwindFailure>)> {
        if self.find(pid, address).is_none() && !self.missed(pid) {
            return None;
        }
        let found = self.find(pid, address)?;
        let file = found.file;
        if let Some(module) = self.files.module(file) {
            let offset = (address - found.mapping.start).wrapping_add(found.mapping.file_offset);
            let address = module.image.address_of(offset).unwrap_or(offset);
            return Some((RawFrame { file, address }, None));
        }
        self.place_unopened(pid, address)
    }

    /// The same when its file is not open.
    #[cold]
    fn place_unopened(&mut self, pid: u32, address: u64) -> Option<(RawFrame, Option<UnwindFailure>)> {
        let found = self.find(pid, address)?;
        if self.files.is_jit(found.file) {
            return Some(self.made(pid, address));
        }
        let found = found.clone();
        let offset = address.wrapping_sub(found.mapping.start).wrapping_add(found.mapping.file_offset);
        if let Some(module) = self.files.open(found.file, pid, &found.mapping) {
            let address = module.image.address_of(offset).unwrap_or(offset);
            return Some((RawFrame { file: found.file, address }, None));
        }
        if self.files.is_jit(found.file) {
            return Some(self.made(pid, address));
        }
        let why = self.files.failure(found.file).unwrap_or_default().into();
        let broke = UnwindFailure::NoFile(Arc::clone(self.files.path(found.file)), why);
        Some((RawFrame { file: found.file, address: offset }, Some(broke)))
    }

    /// The frame of code that the process made.
    fn made(&mut self, pid: u32, address: u64) -> (RawFrame, Option<UnwindFailure>) {
        (RawFrame { file: self.jit_ran(pid, address), address }, None)
    }

    /// One step by the frame pointer: `[fp]` is the caller's frame pointer; the return address is
    /// above it (on riscv64 both lie below `fp`). A leaf function of x86_64 without one has its
    /// return address on top of the stack.
    /// `chained`: the step before was also by frame pointer, so that a frame pointer of zero marks
    /// the outermost function.
    fn by_frame_pointer(
        &mut self,
        pid: u32,
        registers: &mut Registers,
        stack: StackCopy<'_>,
        exact: bool,
        chained: bool,
    ) -> Result<UnwindStep, Failed> {
        let fp = registers.fp().ok_or(Failed::NoInformation)?;
        if fp == 0 && chained {
            return Ok(UnwindStep::End);
        }
        let pair_at = registers.pair(fp).filter(|at| *at >= registers.sp() && at % 8 == 0);
        let in_order = pair_at.is_some();
        let pair = pair_at.and_then(|at| Some((stack.word(at).ok()?, stack.word(at.checked_add(8)?).ok()?)));
        if let Some((outer, ip)) = pair {
            let ip = registers.plain(ip);
            if ip == 0 {
                return Ok(UnwindStep::End);
            }
            // The value of `outer` need not be a frame pointer: its caller may have unwind
            // information instead.
            if self.find(pid, ip - 1).is_some() {
                registers.forget_scratch();
                registers.ip = ip;
                registers.set(registers.fp_number(), Some(outer));
                registers.set(registers.sp_number(), pair_at.map(|at| at.wrapping_add(16)));
                return Ok(UnwindStep::Caller);
            }
        }
        if exact && registers.arch == Arch::X86_64 {
            let ip = stack.word(registers.sp())?;
            if ip != 0 && self.find(pid, ip - 1).is_some() {
                registers.forget_scratch();
                registers.ip = ip;
                registers.set(registers.sp_number(), Some(registers.sp().wrapping_add(8)));
                return Ok(UnwindStep::Caller);
            }
        }
        let beyond = in_order && fp - stack.sp >= (stack.bytes.len() as u64).saturating_sub(15);
        let near = fp.wrapping_sub(stack.sp) < 8 << 20;
        Err(if beyond && near { Failed::StackEnded } else { Failed::NoInformation })
    }

    fn no_information(&self, file: FileId) -> UnwindFailure {
        UnwindFailure::NoInformation(Arc::clone(self.files.path(file)))
    }

    /// The reason for a failed step.
    fn words(
        &self,
        failed: Failed,
        file: FileId,
        stack: StackCopy<'_>,
        broke: Option<UnwindFailure>,
    ) -> UnwindFailure {
        let path = Arc::clone(self.files.path(file));
        match failed {
            Failed::StackEnded => UnwindFailure::StackEnded(stack.bytes.len()),
            _ if broke.is_some() => broke.unwrap_or(UnwindFailure::NoMapping),
            Failed::NoInformation => UnwindFailure::NoInformation(path),
            Failed::RegisterUnknown => UnwindFailure::RegisterUnknown(path),
            Failed::BelowStack | Failed::Odd => UnwindFailure::Odd(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mapping;

    #[test]
    fn registers_and_stacks_of_any_content_do_no_harm() {
        let mut processes = Processes::new();
        let jit = |start| Mapping {
            start,
            end: start + 0x1000,
            file_offset: u64::MAX,
            path: Vec::new(),
            dev: (0, 0),
            inode: 0,
        };
        processes.mapped(1, jit(0x1000));
        processes.mapped(1, jit(u64::MAX - 0x1000));
        let odd = [
            0,
            1,
            7,
            8,
            0x1000,
            0x1008,
            0x1fff,
            0x2000,
            1 << 63,
            u64::MAX - 8,
            u64::MAX - 7,
            u64::MAX - 4,
            u64::MAX,
        ];
        let stacks: Vec<Vec<u8>> =
            odd.iter().map(|word| word.to_le_bytes().repeat(100)).chain([vec![], vec![1; 7]]).collect();
        let mut followed = 0;
        for stack in &stacks {
            for ip in odd {
                for sp in odd {
                    for fp in odd.into_iter().chain([sp.wrapping_add(16)]) {
                        let mut out = Vec::new();
                        processes.unwind(1, &Registers::x86_64(ip, sp, fp), stack, &mut out);
                        processes.unwind(1, &Registers::aarch64(ip, sp, fp, ip), stack, &mut out);
                        processes.unwind(1, &Registers::riscv64(ip, sp, fp, ip), stack, &mut out);
                        assert!(out.len() <= 3 * FRAMES_MAX);
                        followed = followed.max(out.len());
                    }
                }
            }
        }
        assert!(followed > 2, "nothing was followed at all");
    }

    #[test]
    fn frame_pointers_point_where_each_architecture_has_them() {
        let mut processes = Processes::new();
        let (start, file_offset) = (0x1000, u64::MAX);
        let code = Mapping { start, end: 0x2000, file_offset, path: Vec::new(), dev: (0, 0), inode: 0 };
        processes.mapped(1, code);
        // From 0x8000 on: room, then a pair that leads to one further up, which is the outermost.
        let pairs = |second: u64| [[0, 0, second, 0x1020], [0; 4], [0, 0x1030, 0, 0]].concat();
        let mut unwound = |registers, words: Vec<u64>| {
            let stack: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
            let mut out = Vec::new();
            let broke = processes.unwind(1, &registers, &stack, &mut out);
            (broke, out.iter().map(|frame| frame.address).collect::<Vec<_>>())
        };
        let addresses = vec![0x1010, 0x101f, 0x102f];
        let at_pair = pairs(0x8040);
        for registers in
            [Registers::x86_64(0x1010, 0x8000, 0x8010), Registers::aarch64(0x1010, 0x8000, 0x8010, 7)]
        {
            assert_eq!(unwound(registers, at_pair.clone()), (None, addresses.clone()));
        }
        let above = Registers::riscv64(0x1010, 0x8000, 0x8020, 7);
        assert_eq!(unwound(above, pairs(0x8050)), (None, addresses));
    }

    #[test]
    fn why_a_stack_broke_is_said_in_short_words() {
        let said = [
            (UnwindFailure::StackEnded(16 << 10), "the copied part of the stack ended (16 KiB)"),
            (UnwindFailure::NoInformation("/usr/lib/libfoo.so".into()), "no unwind information in libfoo.so"),
            (UnwindFailure::NoFile("/a/b".into(), "denied".into()), "b could not be read: denied"),
            (UnwindFailure::NoMapping, "no code is mapped at the address"),
        ];
        said.iter().for_each(|(broke, words)| assert_eq!(broke.to_string(), *words));
        fn sent<T: Send>(_: T) {}
        sent(Processes::new());
    }
}

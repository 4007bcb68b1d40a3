//! The Python processes of the tree: found by their mappings; their frames replace those of the
//! interpreter.
//!
//! `python` knows how CPython stores frames; the source that takes stacks reads them.

use super::tree::FrameKey;
use ::python::merge::Whole;
use ::python::record::{Described, Frame, Stack};
use ::python::{Codes, Interpreter, Interpreters, Merged, ProcessMemory, Python, TARGET_LEN, Version, merge};
use code::{FileId, Files, Mapping, RawFrame};
use model::Pid;
use model::recording::CodeLocation;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::untrusted_file;

/// The description of a process for the kernel half.
pub(crate) type PythonTarget = (Pid, [u8; TARGET_LEN]);

/// The limit of files to identify; any further file is assumed not to be an interpreter.
const FILES: usize = 1024;

/// The identity of a file: device, inode and path.
type FileIdentity = ((u32, u32), u64, Vec<u8>);

/// The description of an executable for the kernel half before it runs: its key, and how its frames
/// are read. None when it is not Python, or needs more than its executable to be read.
pub(crate) fn expected(executable: &Path) -> Option<([u8; 16], [u8; TARGET_LEN])> {
    let executable = executable.canonicalize().ok()?;
    let found = executable.metadata().ok().filter(|found| found.is_file())?;
    if !::python::discover::is_named_so(&executable) {
        return None;
    }
    let Interpreter::Python(python) =
        ::python::identify(&executable, untrusted_file::open_any(&executable).ok()?)
    else {
        return None;
    };
    let (major, minor) = (rustix::fs::major(found.dev()), rustix::fs::minor(found.dev()));
    let key = ::python::file_key(major, minor, found.ino());
    Some((key, ::python::target(python.runtime_from_code()?, &python.layout)))
}

#[derive(Default)]
pub(super) struct Pythons {
    /// The result for each mapped file with an interpreter's name.
    files: FxHashMap<FileIdentity, Option<Arc<Python>>>,
    /// By the file's path in `code`.
    by_path: FxHashMap<String, Arc<Python>>,
    running: FxHashMap<Pid, Arc<Python>>,
    codes: Codes,
    /// Pythons whose frames cannot be read, and why.
    pub(super) unread: BTreeSet<String>,
    /// Other interpreters that were found.
    pub(super) others: BTreeSet<&'static str>,
}

impl Pythons {
    /// A process mapped a file. Returns the description for the kernel half, if it is a Python that
    /// can be read.
    pub(super) fn mapped(&mut self, pid: Pid, mapping: &Mapping) -> Option<PythonTarget> {
        let (target, python) = self.target(pid, mapping)?;
        self.running.insert(pid, python);
        Some(target)
    }

    /// As [`Self::mapped`], before the process's turn: nothing is noted of it yet.
    pub(super) fn target(&mut self, pid: Pid, mapping: &Mapping) -> Option<(PythonTarget, Arc<Python>)> {
        let path = Path::new(std::str::from_utf8(&mapping.path).ok()?);
        if !::python::discover::is_named_so(path) {
            return None;
        }
        let key = (mapping.dev, mapping.inode, mapping.path.clone());
        if !self.files.contains_key(&key) {
            let found = if self.files.len() < FILES { self.identify(pid, path) } else { None };
            self.files.insert(key.clone(), found);
        }
        let python = Arc::clone(self.files.get(&key)?.as_ref()?);
        let bias = python.bias(mapping.start, mapping.file_offset)?;
        let runtime = python.runtime.wrapping_add(bias);
        Some(((pid, ::python::target(runtime, &python.layout)), python))
    }

    fn identify(&mut self, pid: Pid, path: &Path) -> Option<Arc<Python>> {
        let inside = PathBuf::from(format!("/proc/{pid}/root")).join(path.strip_prefix("/").unwrap_or(path));
        let file = untrusted_file::open_any(&inside).or_else(|_| untrusted_file::open_any(path)).ok()?;
        match ::python::identify(path, file) {
            Interpreter::Python(python) => {
                let python = Arc::from(python);
                self.by_path.insert(path.to_string_lossy().into_owned(), Arc::clone(&python));
                Some(python)
            }
            Interpreter::Unreadable(why) => {
                self.unread.insert(why);
                None
            }
            Interpreter::Other(name) => {
                self.others.insert(name);
                None
            }
            Interpreter::None => None,
        }
    }

    pub(super) fn forked(&mut self, parent: Pid, child: Pid) {
        if let Some(python) = self.running.get(&parent) {
            self.running.insert(child, Arc::clone(python));
        }
    }

    pub(super) fn gone(&mut self, pid: Pid) {
        self.running.remove(&pid);
    }

    /// A new code object.
    pub(super) fn described(&mut self, described: &Described<'_>) {
        let Some(version) = self.version(described.pid) else { return };
        let Some(code) = self.codes.add(version, described) else { return };
        if let Some((at, len)) = code.missing()
            && let Ok(memory) = ProcessMemory::open(described.pid)
            && let Some(python) = self.running.get(&described.pid)
            && let Ok(lines) =
                (Interpreters { memory: &memory, layout: &python.layout, runtime: 0 }).line_table(at, len)
        {
            code.complete(&lines);
        }
    }

    fn version(&self, pid: Pid) -> Option<Version> {
        self.running.get(&pid).map(|python| python.layout.version)
    }

    /// The native frames, with Python frames in place of the interpreter's, the innermost first.
    pub(super) fn merged(
        &self,
        files: &Files,
        native: &[RawFrame],
        whole: bool,
        stack: &Stack,
    ) -> Vec<FrameKey> {
        let mut evaluations: FxHashSet<(FileId, u64)> = FxHashSet::default();
        for frame in native {
            let python = self.by_path.get(&**files.path(frame.file));
            let evaluation = python.and_then(|python| python.evaluation.as_ref());
            if evaluation.is_some_and(|range| range.contains(&frame.address)) {
                evaluations.insert((frame.file, frame.address));
            }
        }
        let whole = Whole { native: whole, python: stack.end.why().is_none() };
        let is_evaluation = |frame: &RawFrame| evaluations.contains(&(frame.file, frame.address));
        let (merged, _) = merge(native, is_evaluation, &stack.frames, |frame| frame.entry, whole);
        let key = |frame: Merged<'_, RawFrame, Frame>| match frame {
            Merged::Native(frame) => FrameKey::Native(frame.file, frame.address),
            Merged::Python(frame) => FrameKey::Other(self.codes.place(stack.pid, frame)),
        };
        let mut keys: Vec<FrameKey> = merged.into_iter().map(key).collect();
        if let Some(why) = stack.end.why() {
            keys.push(FrameKey::Other(CodeLocation::Broke { why: why.to_owned() }));
        }
        keys
    }
}

//! The files that programs have mapped: opened when first needed, shared by all processes, kept open so that their
//! names can be looked up when program and file are gone.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::bytes::Bytes;
use crate::cfi::Cfi;
use crate::image::{self, Image};
use crate::rule::Rule;
use crate::symbols::debug_file;
use crate::{Mapping, vdso};

/// Files that are open at once; each takes a descriptor. Those after that are not read.
const OPEN_MAX: usize = 512;

/// The limit on distinct files; code of any further file counts as `[jit]`.
const FILES_MAX: usize = 65_536;

/// Rules kept of all files; they take about 100 bytes each.
const RULES_MAX: usize = 100_000;

/// How often opening a file is tried again, with another process that has it mapped.
const TRIES: u8 = 4;

/// A mapped file: the same for the same file in all processes. Only for the [`Processes`](crate::Processes) that
/// gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub(crate) u32);

impl FileId {
    /// Code that is in no file: made by the program itself, its addresses are the process's.
    pub const JIT: FileId = FileId(0);
}

/// What tells files apart.
#[derive(PartialEq, Eq, Hash)]
struct FileKey {
    dev: (u32, u32),
    inode: u64,
    path: Vec<u8>,
}

/// A file, as far as it is known.
struct Entry {
    path: Arc<str>,
    state: State,
}

enum State {
    Unopened {
        tried: u8,
        why: Arc<str>,
    },
    Open(Box<Module>),
    /// It is no program: what runs in it was put there by a JIT.
    NoProgram,
    Failed(Arc<str>),
}

/// An opened file.
pub(crate) struct Module {
    pub(crate) image: Image,
    /// Its separate debug file: searched for at once, while the process leads to it.
    pub(crate) debug: Option<Image>,
    cfi: Option<Cfi>,
    rules: FxHashMap<u64, Option<Arc<Rule>>>,
}

/// All files that were mapped.
pub struct Files {
    entries: Vec<Entry>,
    ids: FxHashMap<FileKey, FileId>,
    open: usize,
    rules: usize,
}

impl Files {
    pub(crate) fn new() -> Self {
        let jit = Entry { path: "[jit]".into(), state: State::NoProgram };
        Files { entries: vec![jit], ids: FxHashMap::default(), open: 0, rules: 0 }
    }

    /// The file's path as the kernel reports it; `[vdso]`, `[jit]`. Text from the program: untrusted.
    pub fn path(&self, id: FileId) -> &Arc<str> {
        &self.entries[id.0 as usize].path
    }

    /// Why a file that code ran in could not be read; none when it could or nobody has tried.
    pub fn failure(&self, id: FileId) -> Option<&str> {
        match &self.entries[id.0 as usize].state {
            State::Failed(why) => Some(why),
            State::Unopened { tried, why } if *tried > 0 => Some(why),
            _ => None,
        }
    }

    /// The number of a mapping's file.
    pub(crate) fn id(&mut self, mapping: &Mapping) -> FileId {
        let path = mapping.path.strip_suffix(b" (deleted)").unwrap_or(&mapping.path);
        if anonymous(path) {
            return FileId::JIT;
        }
        let key = FileKey { dev: mapping.dev, inode: mapping.inode, path: path.to_vec() };
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        if self.entries.len() >= FILES_MAX {
            return FileId::JIT;
        }
        let id = FileId(self.entries.len() as u32);
        let path = String::from_utf8_lossy(path).into();
        self.entries.push(Entry { path, state: State::Unopened { tried: 0, why: "".into() } });
        self.ids.insert(key, id);
        id
    }

    /// Whether its code is a JIT's. Known only when it has been tried to open it.
    pub(crate) fn is_jit(&self, id: FileId) -> bool {
        matches!(self.entries[id.0 as usize].state, State::NoProgram)
    }

    /// The file, if it is open.
    pub(crate) fn module(&self, id: FileId) -> Option<&Module> {
        match &self.entries.get(id.0 as usize)?.state {
            State::Open(module) => Some(module),
            _ => None,
        }
    }

    /// Opens the file, if that has not been tried yet.
    pub(crate) fn open(&mut self, id: FileId, pid: u32, mapping: &Mapping) -> Option<&mut Module> {
        let entry = &mut self.entries[id.0 as usize];
        if let State::Unopened { tried, .. } = &entry.state {
            let tried = tried + 1;
            entry.state = if self.open >= OPEN_MAX {
                State::Failed(format!("more than {OPEN_MAX} different files").into())
            } else {
                match open(pid, mapping) {
                    Ok(bytes) => State::read(bytes, pid, &entry.path),
                    Err(why) if tried >= TRIES => State::Failed(why.into()),
                    Err(why) => State::Unopened { tried, why: why.into() },
                }
            };
            if let State::Open(module) = &entry.state {
                self.open += 1 + usize::from(module.debug.is_some());
            }
        }
        match &mut self.entries[id.0 as usize].state {
            State::Open(module) => Some(module),
            _ => None,
        }
    }

    /// The rule for an address of an open file.
    pub(crate) fn rule(&mut self, id: FileId, address: u64) -> Option<Arc<Rule>> {
        let State::Open(module) = &mut self.entries[id.0 as usize].state else { return None };
        if let Some(rule) = module.rules.get(&address) {
            return rule.clone();
        }
        let cfi = module.cfi.get_or_insert_with(|| Cfi::new(&module.image));
        let rule = cfi.rule(address).map(Arc::new);
        if self.rules >= RULES_MAX {
            self.forget_rules();
        }
        self.rules += 1;
        if let State::Open(module) = &mut self.entries[id.0 as usize].state {
            module.rules.insert(address, rule.clone());
        }
        rule
    }

    fn forget_rules(&mut self) {
        for entry in &mut self.entries {
            if let State::Open(module) = &mut entry.state {
                module.rules = FxHashMap::default();
            }
        }
        self.rules = 0;
    }
}

impl State {
    fn read(bytes: Bytes, pid: u32, path: &str) -> State {
        match Image::read(&Arc::new(bytes)) {
            Ok(image) => {
                let root = PathBuf::from(format!("/proc/{pid}/root"));
                let debug = debug_file::find(&image, path, &root);
                State::Open(Box::new(Module { image, debug, cfi: None, rules: FxHashMap::default() }))
            }
            Err(image::Error::NotElf) => State::NoProgram,
            Err(why) => State::Failed(why.to_string().into()),
        }
    }
}

/// Whether a mapping has no file behind it.
fn anonymous(path: &[u8]) -> bool {
    let marks: [&[u8]; 7] =
        [b"//anon", b"/anon_hugepage", b"anon_inode:", b"/dev/zero", b"/SYSV", b"/memfd:doublemapper", b"["];
    path.is_empty() || (path != b"[vdso]" && marks.iter().any(|mark| path.starts_with(mark)))
}

/// Opens the file of a mapping: this very file, even when its name is now another's or gone.
fn open(pid: u32, mapping: &Mapping) -> Result<Bytes, String> {
    if mapping.path == b"[vdso]" {
        return vdso::read().map(Bytes::of_memory);
    }
    let path = mapping.path.strip_suffix(b" (deleted)").unwrap_or(&mapping.path);
    let path = std::ffi::OsStr::from_bytes(path);
    let mut inside = PathBuf::from(format!("/proc/{pid}/root"));
    inside.push(path.to_string_lossy().trim_start_matches('/'));
    let map = format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end);
    let mut why = None;
    for candidate in [PathBuf::from(map), inside, PathBuf::from(path)] {
        match open_same(&candidate, mapping) {
            Ok(file) => return Bytes::of_file(file).map_err(|error| error.to_string()),
            Err(Other::Replaced) => why = Some("it was replaced by another file since".to_owned()),
            Err(Other::System(error)) => why = why.or(Some(error.to_string())),
        }
    }
    Err(why.unwrap_or_default())
}

enum Other {
    Replaced,
    System(std::io::Error),
}

/// Opens a path if it still leads to the mapping's file.
///
/// The inode decides. The device does not: on btrfs and overlayfs the kernel names another one for a mapping than
/// for the file.
fn open_same(path: &PathBuf, mapping: &Mapping) -> Result<File, Other> {
    // Looked at before it is opened: opening a pipe or a device that took its place could block or do harm.
    let same = |seen: std::fs::Metadata| {
        if !seen.is_file() || (mapping.inode != 0 && seen.ino() != mapping.inode) {
            return Err(Other::Replaced);
        }
        Ok(())
    };
    same(std::fs::metadata(path).map_err(Other::System)?)?;
    let file = File::open(path).map_err(Other::System)?;
    same(file.metadata().map_err(Other::System)?)?;
    Ok(file)
}

//! The files that programs have mapped: opened when first needed, shared by all processes, kept
//! open so that symbols can be looked up when program and file are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::recording::{JIT_MODULE, Runtime};
use rustc_hash::FxHashMap;
use rustix::fs::{CWD, Mode, OFlags, openat};
use sys::untrusted_file::Rights;

use crate::bytes::Bytes;
use crate::cfi::Cfi;
use crate::image::{self, Image};
use crate::rule::Rule;
use crate::symbols::debug_file;
use crate::{Mapping, maps, vdso};

/// The limit of open files; each takes a descriptor. Further files are not read.
const OPEN_MAX: usize = 512;

/// The limit on distinct files; code of any further file counts as `[jit]`.
const FILES_MAX: usize = 65_536;

/// Rules kept of all files; they take about 100 bytes each.
const RULES_MAX: usize = 100_000;

/// How often opening a file is retried, by another process that has it mapped.
const TRIES: u8 = 4;

/// A mapped file: the same for the same file in all processes. Only for the
/// [`Processes`](crate::Processes) that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub(crate) u32);

impl FileId {
    /// Code in no file: made by the program; its addresses are those of the process. Where such
    /// code runs, it has an ID for each process instead: [`Files::made_by`].
    pub const JIT: FileId = FileId(0);
}

/// The identity of a file.
#[derive(PartialEq, Eq, Hash)]
struct FileKey {
    dev: (u32, u32),
    inode: u64,
    path: Vec<u8>,
}

/// A file, as far as it is known.
struct FileEntry {
    path: Arc<str>,
    state: OpenState,
    /// It stands for the code that this process made.
    made_by: Option<(u32, Runtime)>,
}

enum OpenState {
    Unopened {
        tried: u8,
        why: Arc<str>,
    },
    Open(Box<Module>),
    /// It is not an ELF file: the code in it was written by a JIT.
    NoProgram,
    Failed(Arc<str>),
}

/// An opened file.
pub(crate) struct Module {
    pub(crate) image: Image,
    /// Its separate debug file: searched for when the file is opened, while the process gives
    /// access to it.
    pub(crate) debug: Option<Image>,
    cfi: Option<Cfi>,
    rules: FxHashMap<u64, Option<Arc<Rule>>>,
}

impl Module {
    /// Drops what was read of it; it can be read again.
    pub(crate) fn forget_pages(&self) {
        self.debug.iter().chain([&self.image]).for_each(|image| image.bytes().forget());
    }
}

/// All files that were mapped.
pub struct Files {
    entries: Vec<FileEntry>,
    ids: FxHashMap<FileKey, FileId>,
    open: usize,
    rules: usize,
    /// Whose files they are, and whose processes had them.
    users: BTreeSet<u32>,
    /// Devices whose file systems do not answer: none of their files is waited for again.
    silent: BTreeSet<(u32, u32)>,
    /// The root directory in each namespace of mounts that processes had; none for dwell's own.
    roots: BTreeMap<PathBuf, Option<Arc<OwnedFd>>>,
}

impl Files {
    pub(crate) fn new() -> Self {
        let jit = FileEntry { path: JIT_MODULE.into(), state: OpenState::NoProgram, made_by: None };
        Files {
            entries: vec![jit],
            ids: FxHashMap::default(),
            open: 0,
            rules: 0,
            users: BTreeSet::new(),
            silent: BTreeSet::new(),
            roots: BTreeMap::new(),
        }
    }

    /// The file's path as the kernel reports it; `[vdso]`, `[jit]`. Text from the program:
    /// untrusted.
    pub fn path(&self, id: FileId) -> &Arc<str> {
        &self.entries[id.0 as usize].path
    }

    /// The users who could have written what the files say, such as the names of sources: their
    /// owners, and those whose processes had them mapped.
    pub fn users(&self) -> &BTreeSet<u32> {
        &self.users
    }

    /// Why a file in which code ran could not be read; none when it could, or was not tried.
    pub fn failure(&self, id: FileId) -> Option<&str> {
        match &self.entries[id.0 as usize].state {
            OpenState::Failed(why) => Some(why),
            OpenState::Unopened { tried, why } if *tried > 0 => Some(why),
            OpenState::Open(module) if module.image.bytes().silent() => Some(SILENT),
            _ => None,
        }
    }

    /// The root directories in which processes see files, one for each namespace of mounts; `None`
    /// is dwell's own.
    pub fn roots(&self) -> Vec<Option<Arc<OwnedFd>>> {
        self.roots.values().cloned().collect()
    }

    fn sees_files_of(&mut self, pid: u32) {
        const ROOTS_MAX: usize = 16;
        let pid = maps::shown_by(pid);
        let space = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/mnt"));
        let (Ok(theirs), Ok(own)) = (space(&pid.to_string()), space("self")) else { return };
        if self.roots.len() < ROOTS_MAX && !self.roots.contains_key(&theirs) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let root = openat(CWD, format!("/proc/{pid}/root"), flags, Mode::empty()).ok().map(Arc::new);
            let root = if theirs == own { Some(None) } else { root.map(Some) };
            self.roots.extend(root.map(|root| (theirs, root)));
        }
    }

    /// The paths of files that are not read, or not on, as their file systems do not answer. Text
    /// from the program: untrusted.
    pub fn silent(&self) -> impl Iterator<Item = &str> {
        let ids = (0..self.entries.len() as u32).map(FileId);
        let silent = ids.filter(|id| self.failure(*id).is_some_and(|why| why == SILENT));
        silent.map(|id| &**self.path(id))
    }

    /// The ID of a mapping's file.
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
        let state = OpenState::Unopened { tried: 0, why: "".into() };
        self.entries.push(FileEntry { path, state, made_by: None });
        self.ids.insert(key, id);
        id
    }

    /// An ID for the code that a process makes while it runs; [`FileId::JIT`] where there are too
    /// many.
    pub(crate) fn add_made(&mut self, pid: u32, runtime: Runtime) -> FileId {
        if self.entries.len() >= FILES_MAX {
            return FileId::JIT;
        }
        let id = FileId(self.entries.len() as u32);
        let path = Arc::clone(self.path(FileId::JIT));
        self.entries.push(FileEntry { path, state: OpenState::NoProgram, made_by: Some((pid, runtime)) });
        id
    }

    /// Which process made the code, and by what, where it is not from a file.
    pub fn made_by(&self, id: FileId) -> Option<(u32, Runtime)> {
        self.entries[id.0 as usize].made_by
    }

    /// Whether its code is from a JIT. Known only after an attempt to open it.
    pub(crate) fn is_jit(&self, id: FileId) -> bool {
        matches!(self.entries[id.0 as usize].state, OpenState::NoProgram)
    }

    /// The file, if it is open.
    pub(crate) fn module(&self, id: FileId) -> Option<&Module> {
        match &self.entries.get(id.0 as usize)?.state {
            OpenState::Open(module) => Some(module),
            _ => None,
        }
    }

    /// Opens the file, if not tried yet.
    pub(crate) fn open(&mut self, id: FileId, pid: u32, mapping: &Mapping) -> Option<&mut Module> {
        let entry = &mut self.entries[id.0 as usize];
        if let OpenState::Unopened { tried, .. } = &entry.state {
            let tried = tried + 1;
            let mut seen = false;
            entry.state = if self.open >= OPEN_MAX {
                OpenState::Failed(format!("more than {OPEN_MAX} different files").into())
            } else if self.silent.contains(&mapping.dev) {
                OpenState::Failed(SILENT.into())
            } else {
                match open(pid, mapping) {
                    Ok(opened) => {
                        self.users.extend(opened.owner.into_iter().chain(user_of(pid)));
                        seen = true;
                        OpenState::read(opened.bytes, pid, &entry.path)
                    }
                    Err(OpenFailure::Silent) => OpenState::Failed(SILENT.into()),
                    Err(why) if tried >= TRIES => OpenState::Failed(why.to_string().into()),
                    Err(why) => OpenState::Unopened { tried, why: why.to_string().into() },
                }
            };
            if matches!(&entry.state, OpenState::Failed(why) if **why == *SILENT) {
                self.silent.insert(mapping.dev);
            }
            if let OpenState::Open(module) = &entry.state {
                self.open += 1 + usize::from(module.debug.is_some());
            }
            if seen {
                self.sees_files_of(pid);
            }
        }
        match &mut self.entries[id.0 as usize].state {
            OpenState::Open(module) => Some(module),
            _ => None,
        }
    }

    /// Where the function at an address of an open file begins, by its call frame information.
    pub(crate) fn function_start(&mut self, id: FileId, address: u64) -> Option<u64> {
        let OpenState::Open(module) = &mut self.entries[id.0 as usize].state else { return None };
        module.cfi.get_or_insert_with(|| Cfi::new(&module.image)).start(address)
    }

    /// The rule for an address of an open file.
    pub(crate) fn rule(&mut self, id: FileId, address: u64) -> Option<Arc<Rule>> {
        let OpenState::Open(module) = &mut self.entries[id.0 as usize].state else { return None };
        if let Some(rule) = module.rules.get(&address) {
            return rule.clone();
        }
        let cfi = module.cfi.get_or_insert_with(|| Cfi::new(&module.image));
        let rule = cfi.rule(address).map(Arc::new);
        if self.rules >= RULES_MAX {
            self.forget_rules();
        }
        self.rules += 1;
        if let OpenState::Open(module) = &mut self.entries[id.0 as usize].state {
            module.rules.insert(address, rule.clone());
        }
        rule
    }

    fn forget_rules(&mut self) {
        for entry in &mut self.entries {
            if let OpenState::Open(module) = &mut entry.state {
                module.rules = FxHashMap::default();
            }
        }
        self.rules = 0;
    }
}

impl OpenState {
    fn read(bytes: Bytes, pid: u32, path: &str) -> OpenState {
        let bytes = Arc::new(bytes);
        match Image::read(&bytes) {
            Ok(image) => {
                let root = PathBuf::from(format!("/proc/{}/root", maps::shown_by(pid)));
                let debug = debug_file::find(&image, path, &root);
                OpenState::Open(Box::new(Module { image, debug, cfi: None, rules: FxHashMap::default() }))
            }
            Err(_) if bytes.silent() => OpenState::Failed(SILENT.into()),
            Err(image::Error::NotElf) => OpenState::NoProgram,
            Err(why) => OpenState::Failed(why.to_string().into()),
        }
    }
}

/// Whether a mapping has no file behind it.
fn anonymous(path: &[u8]) -> bool {
    let marks: [&[u8]; 7] =
        [b"//anon", b"/anon_hugepage", b"anon_inode:", b"/dev/zero", b"/SYSV", b"/memfd:doublemapper", b"["];
    path.is_empty() || (path != b"[vdso]" && marks.iter().any(|mark| path.starts_with(mark)))
}

/// Opens the file of a mapping: the same inode, even when its path now leads elsewhere or nowhere.
fn open(pid: u32, mapping: &Mapping) -> Result<Opened, OpenFailure> {
    if mapping.path == b"[vdso]" {
        let code = vdso::read().map_err(|error| OpenFailure::System(io::Error::other(error)))?;
        return Ok(Opened { bytes: Bytes::of_memory(code), owner: None });
    }
    let path = mapping.path.strip_suffix(b" (deleted)").unwrap_or(&mapping.path);
    let path = std::ffi::OsStr::from_bytes(path);
    let pid = maps::shown_by(pid);
    let mut inside = PathBuf::from(format!("/proc/{pid}/root"));
    inside.push(path.to_string_lossy().trim_start_matches('/'));
    let map = format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end);
    let mut why = None;
    let apart = sys::apart::may_be_silent(pid, mapping.dev);
    for candidate in [PathBuf::from(map), inside, PathBuf::from(path)] {
        match open_same(&candidate, mapping, apart) {
            Ok(opened) => return Ok(opened),
            Err(OpenFailure::Silent) => return Err(OpenFailure::Silent),
            Err(OpenFailure::Replaced) => why = Some(OpenFailure::Replaced),
            Err(error) => why = why.or(Some(error)),
        }
    }
    Err(why.unwrap_or(OpenFailure::Replaced))
}

/// An opened file, and its owner.
struct Opened {
    bytes: Bytes,
    owner: Option<u32>,
}

/// The user of a living process.
fn user_of(pid: u32) -> Option<u32> {
    Rights::of_process(pid).ok().map(|rights| rights.uid())
}

/// Why a file of a file system that has ceased to answer is not read.
const SILENT: &str = "its file system does not answer";

#[derive(Debug, thiserror::Error)]
enum OpenFailure {
    #[error("it has been replaced by another file")]
    Replaced,
    #[error("{SILENT}")]
    Silent,
    #[error("{0}")]
    System(io::Error),
}

/// Opens a path if it still leads to the mapping's file.
///
/// The inode decides. The device does not: on btrfs and overlayfs the kernel reports different ones
/// for a mapping and for the file.
fn open_same(path: &Path, mapping: &Mapping, apart: bool) -> Result<Opened, OpenFailure> {
    let failure = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidInput => OpenFailure::Replaced,
        io::ErrorKind::TimedOut => OpenFailure::Silent,
        _ => OpenFailure::System(error),
    };
    let (opened, inode) = if apart || sys::apart::may_be_silent_at(path) {
        let file = sys::apart::open(path).map_err(failure)?;
        let (owner, inode) = (Some(file.uid), file.inode);
        (Opened { bytes: Bytes::of_apart(file), owner }, inode)
    } else {
        let (file, found) = sys::untrusted_file::opened(path).map_err(failure)?;
        let bytes = Bytes::of_file_of_len(file, found.len());
        (Opened { bytes, owner: Some(found.uid()) }, found.ino())
    };
    if mapping.inode != 0 && inode != mapping.inode {
        return Err(OpenFailure::Replaced);
    }
    Ok(opened)
}

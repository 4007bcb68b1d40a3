//! Whether a mapped file is an interpreter and, for CPython, its version and the symbols that lead
//! to its frames. Reads the file only; the caller knows the processes that map it.

use crate::described::{COOKIE, DESCRIBED_LEN};
use crate::names::{self, InterpreterName};
use crate::offsets::{Layout, Version};
use code::Image;
use code::Opened;
use code::image::{Segment, SymbolTable};
use std::ops::Range;
use std::path::Path;

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interpreter {
    /// CPython, and its frames can be read.
    Python(Box<Python>),
    /// CPython whose frames cannot be read: why, in words.
    Unreadable(String),
    /// Another interpreter, by its name: its frames are not read.
    Other(&'static str),
    /// None that is known to dwell.
    None,
}

/// A file that has CPython in it: an executable or `libpython`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python {
    /// Its layout.
    pub layout: Layout,
    /// Address of `_PyRuntime` in the file.
    pub runtime: u64,
    /// Address of the evaluation function in the file, where it has a symbol: its native frames
    /// stand for Python frames.
    pub evaluation: Option<Range<u64>>,
    loads: Vec<Segment>,
}

const PAGE: u64 = 4096;

impl Python {
    /// The load bias: the difference between mapped addresses and those in the file, from the start
    /// and file offset of one mapping. None when the file has no such segment.
    #[must_use]
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        let load = self.loads.iter().find(|load| {
            let first = load.offset & !(PAGE - 1);
            (first..load.offset.saturating_add(load.len)).contains(&offset)
        })?;
        Some(start.wrapping_sub(load.address.wrapping_add(offset).wrapping_sub(load.offset)))
    }

    /// The address of `_PyRuntime` relative to the start of the executable's code in the kernel
    /// (`mm->start_code`); may be negative, wrapped around. None when nothing of the file is
    /// executable.
    #[must_use]
    pub fn runtime_from_code(&self) -> Option<u64> {
        let code = self.loads.iter().filter(|load| load.executable).map(|load| load.address).min()?;
        Some(self.runtime.wrapping_sub(code))
    }
}

/// Whether a file is named like an interpreter, so that [`identify`] is worthwhile. `libpython` and
/// `python3.11` are, and other interpreters.
#[must_use]
pub fn is_named_so(path: &Path) -> bool {
    names::of(path) != InterpreterName::Nothing
}

/// Identifies the file. `path` is its path in the mount namespace of the process that maps it;
/// `file` is the file itself. Of a large file only a few parts are read.
#[must_use]
pub fn identify(path: &Path, file: impl Into<Opened>) -> Interpreter {
    interpreter(path, Image::open(file).ok().as_ref())
}

/// The interpreter at this path, with its ELF image, if it is one.
fn interpreter(path: &Path, image: Option<&Image>) -> Interpreter {
    let named = names::of(path);
    if let InterpreterName::Other(name) = named {
        return Interpreter::Other(name);
    }
    let Some(image) = image else { return Interpreter::None };
    let find = |name| {
        // The large symbol table is read only of files that are named like Python, and only when
        // necessary.
        let all = || image.symbol(SymbolTable::All, name);
        let exported = image.symbol(SymbolTable::Exported, name);
        if named == InterpreterName::Nothing { exported } else { exported.or_else(all) }
    };
    let symbol = find("_PyRuntime").map(|(address, _)| address);
    let Some(runtime) = symbol.or_else(|| image.section_address(".PyRuntime")) else {
        return match named {
            InterpreterName::Python2(minor) => Interpreter::Unreadable(format!(
                "frames of Python 2.{minor} are not supported, only those of {} to {}",
                Version::OLDEST,
                Version::NEWEST
            )),
            InterpreterName::Python3(_) if !is_launcher(image) => Interpreter::Unreadable(format!(
                "{} has no symbol _PyRuntime and no section .PyRuntime: it was stripped of them",
                path.display()
            )),
            _ => Interpreter::None,
        };
    };
    let version = || {
        // A constant of the interpreter from 3.11 on.
        let constant = find("Py_Version").and_then(|(address, _)| {
            let bytes = image.bytes_at(address, 4)?;
            Version::from_hex(u32::from_le_bytes(bytes.try_into().ok()?).into())
        });
        constant.or(match named {
            InterpreterName::Python3(version) => version,
            _ => None,
        })
    };
    let described = image.bytes_at(runtime, DESCRIBED_LEN).filter(|bytes| bytes.starts_with(COOKIE));
    let layout = match described.as_deref().map(Layout::described).or_else(|| version().map(Layout::fixed)) {
        Some(Ok(layout)) => layout,
        Some(Err(why)) => return Interpreter::Unreadable(why.to_string()),
        None => {
            let why = format!("{} does not say which version of Python it is", path.display());
            return Interpreter::Unreadable(why);
        }
    };
    let evaluation =
        find("_PyEval_EvalFrameDefault").map(|(address, size)| address..address.saturating_add(size));
    Interpreter::Python(Box::new(Python { layout, runtime, evaluation, loads: image.segments().to_vec() }))
}

/// A small program that only calls into `libpython`, or a library of another kind with such a name:
/// a program that runs Python has megabytes of code.
fn is_launcher(image: &Image) -> bool {
    image.needs("libpython") || image.segments().iter().all(|load| load.len < 1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHT_STRTAB: u32 = 3;
    const SHT_DYNSYM: u32 = 11;
    const HEADER: usize = 64;
    const SECTION: usize = 64;
    const SEGMENT: usize = 56;

    /// A file with two segments, mapped at 0x1000 and (executable) 0x2000, that exports `name` at
    /// 0x1008. What is mapped at 0x1000 begins with 8 bytes of `constant`.
    fn elf(name: &str, constant: u64) -> Vec<u8> {
        let strings = format!("\0{name}\0Py_Version\0");
        let data = HEADER + 2 * SEGMENT;
        let symbols = data + 16;
        let names = symbols + 3 * 24;
        let sections = (names + strings.len()).next_multiple_of(8);
        let mut file = vec![0; sections + 3 * SECTION];
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"\x7fELF\x02\x01\x01");
        put(16, &[3, 0, 62, 0, 1, 0, 0, 0]);
        put(32, &(HEADER as u64).to_le_bytes());
        put(40, &(sections as u64).to_le_bytes());
        put(52, &[64, 0, SEGMENT as u8, 0, 2, 0, SECTION as u8, 0, 3, 0, 2, 0]);
        for (at, flags, address) in [(HEADER, 4_u32, 0x1000_u64), (HEADER + SEGMENT, 5, 0x2000)] {
            put(at, &1_u32.to_le_bytes());
            put(at + 4, &flags.to_le_bytes());
            for (field, value) in [(8, data as u64), (16, address), (32, 16), (40, 16)] {
                put(at + field, &value.to_le_bytes());
            }
        }
        put(data, &constant.to_le_bytes());
        for (index, (name, address)) in [(1, 0x1008_u64), (name.len() + 2, 0x1000)].into_iter().enumerate() {
            let at = symbols + 24 * (index + 1);
            put(at, &(name as u32).to_le_bytes());
            put(at + 4, &[0x11, 0, 1, 0]);
            put(at + 8, &address.to_le_bytes());
        }
        put(names, strings.as_bytes());
        for (index, kind, from, len, link) in
            [(1, SHT_DYNSYM, symbols, 72, 2_u32), (2, SHT_STRTAB, names, strings.len(), 0)]
        {
            let at = sections + index * SECTION;
            put(at + 4, &kind.to_le_bytes());
            put(at + 24, &(from as u64).to_le_bytes());
            put(at + 32, &(len as u64).to_le_bytes());
            put(at + 40, &link.to_le_bytes());
        }
        file
    }

    fn what(path: &str, data: &[u8]) -> Interpreter {
        interpreter(Path::new(path), Image::of_memory(data.to_vec()).ok().as_ref())
    }

    #[test]
    fn a_python_is_found_by_its_symbol_whatever_its_file_is_called() {
        let Interpreter::Python(python) = what("/opt/app", &elf("_PyRuntime", 0x030b_07f0)) else {
            panic!("it exports what makes it Python");
        };
        assert_eq!((python.layout.version, python.runtime), (Version { minor: 11 }, 0x1008));
        assert_eq!(python.runtime_from_code(), Some(0x1008_u64.wrapping_sub(0x2000)));
        assert_eq!(python.bias(0x7000_0000, 0), Some(0x7000_0000 - 0x1000 + (HEADER + 2 * SEGMENT) as u64));
        assert_eq!(python.bias(0x7000_0000, 1 << 20), None, "the file has no such part");
    }

    #[test]
    fn a_name_that_only_begins_alike_is_another_symbol() {
        assert_eq!(what("/opt/app", &elf("_PyRuntimeState", 0x030b_07f0)), Interpreter::None);
    }

    #[test]
    fn versions_that_are_not_known_say_which() {
        for (version, says) in [(0x0307_10f0, "3.7"), (0x030f_00f0, "3.15")] {
            let Interpreter::Unreadable(why) = what("/usr/bin/python3", &elf("_PyRuntime", version)) else {
                panic!("{says} is not to be read");
            };
            assert!(why.contains(says), "{why}");
        }
        let Interpreter::Unreadable(why) = what("/opt/app", &elf("_PyRuntime", 0)) else {
            panic!("no version, no layout");
        };
        assert_eq!(why, "/opt/app does not say which version of Python it is");
    }

    #[test]
    fn others_are_named() {
        assert_eq!(what("/usr/bin/ruby3.1", b""), Interpreter::Other("Ruby"));
        assert_eq!(what("/usr/bin/sleep", b"#!/bin/sh"), Interpreter::None);
        assert_eq!(
            what("/usr/bin/python3", &elf("other", 0)),
            Interpreter::None,
            "a small program of that name"
        );
    }

    proptest! {
        #[test]
        fn a_damaged_file_is_something_or_nothing(
            version in prop::sample::select(vec![0x0308_00f0_u64, 0x030c_00f0, 0x030d_00f0]),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut file = elf("_PyRuntime", version);
            for (at, byte) in damage {
                let at = at.index(file.len());
                file[at] = byte;
            }
            if let Interpreter::Python(python) = what("/usr/bin/python3.8", &file) {
                prop_assert!(python.layout.version <= Version::NEWEST);
            }
        }
    }
}

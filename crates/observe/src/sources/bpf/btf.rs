//! A kernel's BTF, reduced to the types that the kernel half needs: images of bytes to bytes.
//!
//! The format is described in the kernel's Documentation/bpf/btf.rst. `types.rs` gives the images
//! of the running kernel to the loader; `cargo xtask kernel-types` keeps those of other kernels,
//! for which tests resolve the kernel half.

use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::CStr;
use std::mem;

/// The structures of `kernel.h`: the loader relocates their fields to the running kernel.
pub(crate) const STRUCTS: &[&str] = &[
    "address_space",
    "cfs_bandwidth",
    "dentry",
    "fdtable",
    "file",
    "files_struct",
    "folio",
    "fs_struct",
    "gendisk",
    "hlist_head",
    "hlist_node",
    "in6_addr",
    "inet_sock",
    "inode",
    "minmax",
    "minmax_sample",
    "mm_struct",
    "mount",
    "ns_common",
    "path",
    "pid",
    "pid_namespace",
    "pt_regs",
    "qstr",
    "request",
    "request_queue",
    "sched_entity",
    "sched_info",
    "signal_struct",
    "sk_buff",
    "sk_buff_head",
    "sock",
    "sock_common",
    "socket",
    "super_block",
    "task_group",
    "task_struct",
    "tcp_sock",
    "thread_info",
    "thread_struct",
    "unix_address",
    "unix_sock",
    "upid",
    "user_pt_regs",
    "vfsmount",
    "vm_area_struct",
];

/// The structures that `wake.bpf.c` reads besides those.
pub(crate) const STRUCTS_OF_SPIKES: &[&str] = &["hrtimer", "irqaction", "timerqueue_node"];

/// Names of types. A tracepoint has a typedef of its handler's type.
pub(crate) type Names = FxHashSet<Vec<u8>>;

pub(crate) fn wanted<'a>(tracepoints: impl Iterator<Item = &'a str>, others: &[&str]) -> Names {
    let named = STRUCTS.iter().chain(others).map(|name| name.as_bytes().to_vec());
    named.chain(tracepoints.map(|name| handler_of(name).into_bytes())).collect()
}

/// What the type of a tracepoint's handler begins with.
const TRACEPOINT: &str = "btf_trace_";

/// The type of a tracepoint's handler.
pub(crate) fn handler_of(tracepoint: &str) -> String {
    format!("{TRACEPOINT}{tracepoint}")
}

/// The strings of an image; none where it is not valid.
pub(crate) fn strings(btf: &[u8]) -> &[u8] {
    let section = || {
        let [hdr_len, str_off, str_len] = [4, 16, 20].map(|at| word(btf, at).map(|word| word as usize));
        let from = hdr_len?.checked_add(str_off?)?;
        btf.get(from..from.checked_add(str_len?)?)
    };
    section().unwrap_or_default()
}

pub(crate) const MAGIC: u32 = 0x0001_eb9f;
/// Length of the header, and of the common part of a record.
pub(crate) const HEADER: u32 = 24;
pub(crate) const RECORD: usize = 12;

pub(crate) const INTEGER: u32 = 1;
pub(crate) const POINTER: u32 = 2;
pub(crate) const ARRAY: u32 = 3;
pub(crate) const STRUCT: u32 = 4;
pub(crate) const UNION: u32 = 5;
pub(super) const ENUM: u32 = 6;
const FORWARD: u32 = 7;
pub(crate) const TYPEDEF: u32 = 8;
pub(super) const VOLATILE: u32 = 9;
pub(super) const CONST: u32 = 10;
pub(super) const RESTRICT: u32 = 11;
const FUNCTION: u32 = 12;
pub(crate) const PROTOTYPE: u32 = 13;
pub(super) const FLOAT: u32 = 16;
pub(super) const TYPE_TAG: u32 = 18;
pub(super) const ENUM64: u32 = 19;

/// One image to keep: the wanted structures as they are, and the names of all tracepoints and of
/// these functions. Its numbers of types are its own.
#[allow(dead_code, reason = "for xtask")]
pub(crate) fn kept(btf: &[u8], functions: &[&str]) -> Option<Vec<u8>> {
    let (records, strings) = parts(btf)?;
    let structures = records.named(&wanted(std::iter::empty(), STRUCTS_OF_SPIKES), strings)?;
    let mut image = records.image(&structures, strings)?;
    for record in records.iter() {
        let name = name_at(strings, word(record, 0)?)?;
        let is_kept = match kind(record) {
            TYPEDEF => name.starts_with(TRACEPOINT.as_bytes()),
            FUNCTION => functions.iter().any(|function| function.as_bytes() == name),
            _ => false,
        };
        if is_kept {
            image.add(record, strings, |_| 0)?;
        }
    }
    Some(image.bytes())
}

/// The types and the strings.
pub(crate) fn parts(btf: &[u8]) -> Option<(Records<'_>, &[u8])> {
    let [magic, hdr_len, type_off, type_len, str_off, str_len] =
        [0, 4, 8, 12, 16, 20].map(|at| word(btf, at));
    magic.filter(|magic| *magic == MAGIC)?;
    let hdr_len = hdr_len.filter(|len| *len >= HEADER)?;
    let section = |off: u32, len: u32| {
        let from = hdr_len.checked_add(off)?;
        btf.get(from as usize..from.checked_add(len)? as usize)
    };
    let strings = section(str_off?, str_len?)?;
    Some((Records::index(section(type_off?, type_len?)?)?, strings))
}

/// The type section. Types have the numbers 1, 2, … in the order of their records; 0 is `void`.
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
    /// The offset of each record, and of the end of the last one.
    starts: Vec<usize>,
}

impl<'a> Records<'a> {
    pub(crate) fn index(bytes: &'a [u8]) -> Option<Self> {
        let mut starts = Vec::with_capacity(bytes.len() / 24);
        let mut at = 0;
        while at < bytes.len() {
            starts.push(at);
            at += length(word(bytes, at + 4)?)?;
        }
        starts.push(at);
        (at == bytes.len()).then_some(Self { bytes, starts })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a [u8]> {
        self.starts.windows(2).map(|ends| &self.bytes[ends[0]..ends[1]])
    }

    /// Where the record of a type begins.
    pub(crate) fn at(&self, id: u32) -> Option<usize> {
        self.starts.get((id as usize).checked_sub(1)?).copied()
    }

    pub(crate) fn get(&self, id: u32) -> Option<&'a [u8]> {
        let index = (id as usize).checked_sub(1)?;
        self.bytes.get(*self.starts.get(index)?..*self.starts.get(index + 1)?)
    }

    /// The numbers of types with these names.
    pub(crate) fn named(&self, wanted: &Names, strings: &[u8]) -> Option<Vec<u32>> {
        // Nearly all other names differ in their first two bytes: the rest of those is not read.
        let first_two = |name: &[u8]| {
            let byte = |at| name.get(at).copied().unwrap_or(0);
            usize::from(u16::from_ne_bytes([byte(0), byte(1)]))
        };
        let mut begins = vec![false; 1 << 16];
        wanted.iter().for_each(|name| begins[first_two(name)] = true);
        let mut named = Vec::new();
        for (record, id) in self.iter().zip(1..) {
            if !matches!(kind(record), STRUCT | UNION | TYPEDEF | FUNCTION) {
                continue;
            }
            let name = word(record, 0)?;
            if begins[first_two(strings.get(name as usize..)?)] && wanted.contains(name_at(strings, name)?) {
                named.push(id);
            }
        }
        Some(named)
    }

    /// These structures and all that they are made of, numbered anew.
    pub(crate) fn image(&self, named: &[u32], strings: &[u8]) -> Option<Image> {
        let is_layout = |id: &u32| self.get(*id).is_some_and(|record| matches!(kind(record), STRUCT | UNION));
        let mut next: Vec<u32> = named.iter().copied().filter(is_layout).collect();
        let mut kept = vec![false; self.starts.len()];
        while let Some(id) = next.pop() {
            if id == 0 || mem::replace(kept.get_mut(id as usize)?, true) {
                continue;
            }
            let record = self.get(id)?;
            // The loader does not follow pointers, and they lead to all types of the kernel.
            if kind(record) != POINTER {
                each_word(record, |at, is| {
                    if is == Word::Type {
                        next.extend(word(record, at))
                    }
                })?;
            }
        }
        let kept: Vec<u32> = (1..).zip(&kept[1..]).filter(|(_, kept)| **kept).map(|(id, _)| id).collect();
        let numbers: FxHashMap<u32, u32> = kept.iter().copied().zip(1..).collect();
        let mut image = Image::default();
        for id in kept {
            image.add(self.get(id)?, strings, |of| numbers.get(&of).copied().unwrap_or(0))?;
        }
        Some(image)
    }

    /// The typedefs and functions of these under their own numbers, blanks between them.
    pub(crate) fn targets(&self, named: &[u32], strings: &[u8]) -> Option<Vec<u8>> {
        let mut image = Image::default();
        let mut last = 0;
        for &id in named {
            let record = self.get(id)?;
            if matches!(kind(record), TYPEDEF | FUNCTION) {
                (last + 1..id).for_each(|_| image.types.extend(BLANK));
                image.add(record, strings, |_| 0)?;
                last = id;
            }
        }
        Some(image.bytes())
    }
}

/// The record of a forward declaration without a name: it is never looked up.
const BLANK: [u8; RECORD] = {
    let info = (FORWARD << 24).to_ne_bytes();
    [0, 0, 0, 0, info[0], info[1], info[2], info[3], 0, 0, 0, 0]
};

/// BTF that is being written.
#[derive(Default)]
pub(crate) struct Image {
    types: Vec<u8>,
    /// Without the empty one, which comes first.
    strings: Vec<u8>,
    /// The new offsets of strings, by their old ones.
    moved: FxHashMap<u32, u32>,
}

impl Image {
    /// Adds a record with the new numbers of the types that it names.
    fn add(&mut self, record: &[u8], strings: &[u8], number: impl Fn(u32) -> u32) -> Option<()> {
        let from = self.types.len();
        self.types.extend(record);
        let mut all_valid = true;
        each_word(record, |at, is| {
            let old = word(record, at).unwrap_or(0);
            let new = match is {
                Word::Type => Some(number(old)),
                Word::Name => self.name(old, strings),
            };
            all_valid &= new.is_some();
            self.types[from + at..from + at + 4].copy_from_slice(&new.unwrap_or(0).to_ne_bytes());
        })?;
        all_valid.then_some(())
    }

    fn name(&mut self, old: u32, strings: &[u8]) -> Option<u32> {
        if old == 0 {
            return Some(0);
        }
        if let Some(new) = self.moved.get(&old) {
            return Some(*new);
        }
        let new = self.strings.len() as u32 + 1;
        self.strings.extend(name_at(strings, old)?);
        self.strings.push(0);
        self.moved.insert(old, new);
        Some(new)
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        let types = self.types.len() as u32;
        let header = [MAGIC, HEADER, 0, types, types, self.strings.len() as u32 + 1];
        let mut bytes = Vec::with_capacity(HEADER as usize + self.types.len() + 1 + self.strings.len());
        bytes.extend(header.into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend(self.types);
        bytes.push(0);
        bytes.extend(self.strings);
        bytes
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// The offset of a name.
    Name,
    /// The number of a type.
    Type,
}

/// Calls `each` with the offsets of the words of a record that are names or types. None for kinds
/// that no structure is made of.
pub(crate) fn each_word(record: &[u8], mut each: impl FnMut(usize, Word)) -> Option<()> {
    each(0, Word::Name);
    let entries = |size: usize| (RECORD..record.len()).step_by(size);
    match kind(record) {
        INTEGER | FLOAT | FORWARD => {}
        POINTER | TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG | FUNCTION => each(8, Word::Type),
        ARRAY => [RECORD, RECORD + 4].into_iter().for_each(|at| each(at, Word::Type)),
        STRUCT | UNION => entries(12).for_each(|at| {
            each(at, Word::Name);
            each(at + 4, Word::Type);
        }),
        ENUM => entries(8).for_each(|at| each(at, Word::Name)),
        ENUM64 => entries(12).for_each(|at| each(at, Word::Name)),
        _ => return None,
    }
    Some(())
}

pub(crate) fn name_at(strings: &[u8], at: u32) -> Option<&[u8]> {
    Some(CStr::from_bytes_until_nul(strings.get(at as usize..)?).ok()?.to_bytes())
}

pub(crate) fn kind(record: &[u8]) -> u32 {
    word(record, 4).map_or(0, |info| info >> 24 & 0x1f)
}

/// The length of the record with this `info`. None for newer kinds (the newest here is of Linux
/// 6.0).
pub(crate) fn length(info: u32) -> Option<usize> {
    let entries = (info & 0xffff) as usize;
    let of_kind = match info >> 24 & 0x1f {
        POINTER | FORWARD | TYPEDEF | VOLATILE | CONST | RESTRICT | FUNCTION | FLOAT | TYPE_TAG => 0,
        INTEGER | 14 | 17 => 4, // 14 variable, 17 declaration tag
        ARRAY => 12,
        ENUM | PROTOTYPE => 8 * entries,
        STRUCT | UNION | 15 | ENUM64 => 12 * entries, // 15 data section
        _ => return None,
    };
    Some(RECORD + of_kind)
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

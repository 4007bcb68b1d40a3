//! The kernel's BTF, reduced to the types that the kernel half needs.
//!
//! aya keeps a value for each of the kernel's 130,000 types and searches all of them by name for
//! every structure and every tracepoint. A few hundred matter. This file copies those into two
//! small images, which aya parses: the layouts of structures, densely, and what programs are
//! attached to, under the kernel's own numbers. The format is described in the kernel's
//! Documentation/bpf/btf.rst; `sys` has where it is read.

use aya::{Btf, BtfError, Endianness};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::CStr;
use std::mem;
use sys::kernel::btf::{KERNEL_BTF, KernelBtf};

/// The structures of `kernel.h`: the loader relocates their fields to the running kernel.
const STRUCTS: &[&str] = &[
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

/// What of the kernel's types is needed.
pub(crate) struct Types {
    /// None where the kernel's BTF could not be reduced; `targets` then has everything.
    layouts: Option<Btf>,
    targets: Btf,
    /// The strings of `targets`.
    names: Vec<u8>,
}

impl Types {
    /// Reads the types that the kernel half and these tracepoints need, and these functions (attach
    /// targets) and other types.
    ///
    /// # Errors
    /// The kernel has no BTF, or one that aya cannot parse.
    pub(crate) fn read<'a>(
        tracepoints: impl Iterator<Item = &'a str>,
        others: &[&str],
    ) -> Result<Self, BtfError> {
        let whole =
            KernelBtf::read().map_err(|error| BtfError::FileError { path: KERNEL_BTF.into(), error })?;
        let parse = |btf: &[u8]| Btf::parse(btf, Endianness::default());
        // Where this fails, all of it is parsed: that takes longer, and aya reports errors.
        match reduced(&whole, &wanted(tracepoints, others)) {
            Some((layouts, targets)) => {
                let names = strings(&targets).to_vec();
                Ok(Self { layouts: Some(parse(&layouts)?), targets: parse(&targets)?, names })
            }
            None => Ok(Self { layouts: None, targets: parse(&whole)?, names: strings(&whole).to_vec() }),
        }
    }

    /// Whether the kernel has this tracepoint, one of those that were asked for.
    pub(crate) fn has_tracepoint(&self, name: &str) -> bool {
        let handler = handler_of(name);
        self.names.split(|byte| *byte == 0).any(|name| name == handler.as_bytes())
    }

    /// Layouts of structures, for the loader. The numbers of types are not the kernel's.
    pub(crate) fn layouts(&self) -> &Btf {
        self.layouts.as_ref().unwrap_or(&self.targets)
    }

    /// What programs are attached to, under the kernel's numbers.
    pub(crate) fn targets(&self) -> &Btf {
        &self.targets
    }
}

/// Names of types. A tracepoint has a typedef of its handler's type.
type Names = FxHashSet<Vec<u8>>;

fn wanted<'a>(tracepoints: impl Iterator<Item = &'a str>, others: &[&str]) -> Names {
    let named = STRUCTS.iter().chain(others).map(|name| name.as_bytes().to_vec());
    named.chain(tracepoints.map(|name| handler_of(name).into_bytes())).collect()
}

/// The type of a tracepoint's handler.
fn handler_of(tracepoint: &str) -> String {
    format!("btf_trace_{tracepoint}")
}

/// The strings of an image; none where it is not valid.
pub(super) fn strings(btf: &[u8]) -> &[u8] {
    let section = || {
        let [hdr_len, str_off, str_len] = [4, 16, 20].map(|at| word(btf, at).map(|word| word as usize));
        let from = hdr_len?.checked_add(str_off?)?;
        btf.get(from..from.checked_add(str_len?)?)
    };
    section().unwrap_or_default()
}

const MAGIC: u32 = 0x0001_eb9f;
/// Length of the header, and of the common part of a record.
const HEADER: u32 = 24;
const RECORD: usize = 12;

const INTEGER: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FORWARD: u32 = 7;
const TYPEDEF: u32 = 8;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;
const RESTRICT: u32 = 11;
const FUNCTION: u32 = 12;
const PROTOTYPE: u32 = 13;
const FLOAT: u32 = 16;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

/// The images of layouts and of attach targets. None where the BTF is not valid, or has kinds of
/// types that are not known here.
fn reduced(btf: &[u8], wanted: &Names) -> Option<(Vec<u8>, Vec<u8>)> {
    let [magic, hdr_len, type_off, type_len, str_off, str_len] =
        [0, 4, 8, 12, 16, 20].map(|at| word(btf, at));
    magic.filter(|magic| *magic == MAGIC)?;
    let hdr_len = hdr_len.filter(|len| *len >= HEADER)?;
    let section = |off: u32, len: u32| {
        let from = hdr_len.checked_add(off)?;
        btf.get(from as usize..from.checked_add(len)? as usize)
    };
    let strings = section(str_off?, str_len?)?;
    let records = Records::index(section(type_off?, type_len?)?)?;
    let named = records.named(wanted, strings)?;
    Some((records.layouts(&named, strings)?, records.targets(&named, strings)?))
}

/// The type section. Types have the numbers 1, 2, … in the order of their records; 0 is `void`.
struct Records<'a> {
    bytes: &'a [u8],
    /// The offset of each record, and of the end of the last one.
    starts: Vec<usize>,
}

impl<'a> Records<'a> {
    fn index(bytes: &'a [u8]) -> Option<Self> {
        let mut starts = Vec::with_capacity(bytes.len() / 24);
        let mut at = 0;
        while at < bytes.len() {
            starts.push(at);
            at += length(word(bytes, at + 4)?)?;
        }
        starts.push(at);
        (at == bytes.len()).then_some(Self { bytes, starts })
    }

    fn iter(&self) -> impl Iterator<Item = &'a [u8]> {
        self.starts.windows(2).map(|ends| &self.bytes[ends[0]..ends[1]])
    }

    fn get(&self, id: u32) -> Option<&'a [u8]> {
        let index = (id as usize).checked_sub(1)?;
        self.bytes.get(*self.starts.get(index)?..*self.starts.get(index + 1)?)
    }

    /// The numbers of types with these names.
    fn named(&self, wanted: &Names, strings: &[u8]) -> Option<Vec<u32>> {
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
    fn layouts(&self, named: &[u32], strings: &[u8]) -> Option<Vec<u8>> {
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
        Some(image.bytes())
    }

    /// The typedefs and functions of these under their own numbers, blanks between them.
    fn targets(&self, named: &[u32], strings: &[u8]) -> Option<Vec<u8>> {
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
struct Image {
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

    fn bytes(self) -> Vec<u8> {
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
enum Word {
    /// The offset of a name.
    Name,
    /// The number of a type.
    Type,
}

/// Calls `each` with the offsets of the words of a record that are names or types. None for kinds
/// that no structure is made of.
fn each_word(record: &[u8], mut each: impl FnMut(usize, Word)) -> Option<()> {
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

fn name_at(strings: &[u8], at: u32) -> Option<&[u8]> {
    Some(CStr::from_bytes_until_nul(strings.get(at as usize..)?).ok()?.to_bytes())
}

fn kind(record: &[u8]) -> u32 {
    word(record, 4).map_or(0, |info| info >> 24 & 0x1f)
}

/// The length of the record with this `info`. None for newer kinds (the newest here is of Linux
/// 6.0).
fn length(info: u32) -> Option<usize> {
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

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BTF as a compiler would emit it.
    #[derive(Default)]
    struct Made {
        types: Vec<u32>,
        strings: Vec<u8>,
    }

    impl Made {
        fn add(mut self, kind: u32, name: &str, last: u32, rest: &[u32]) -> Self {
            let entries = if matches!(kind, STRUCT | UNION) { rest.len() as u32 / 3 } else { 0 };
            let name_at = self.strings.len() as u32 + 1;
            self.strings.extend(name.bytes().chain([0]));
            self.types.extend([name_at, kind << 24 | entries, last]);
            self.types.extend(rest);
            self
        }

        fn bytes(self) -> Vec<u8> {
            let types = self.types.len() as u32 * 4;
            let header = [MAGIC, HEADER, 0, types, types, self.strings.len() as u32 + 1];
            let words = header.into_iter().chain(self.types).flat_map(u32::to_ne_bytes);
            words.chain([0]).chain(self.strings).collect()
        }
    }

    /// `outer` holds an array of `alias`, which is `inner`, and points to `other`.
    fn made() -> Vec<u8> {
        Made::default()
            .add(INTEGER, "int", 4, &[32])
            .add(STRUCT, "other", 4, &[0, 1, 0])
            .add(TYPEDEF, "alias", 4, &[])
            .add(STRUCT, "inner", 4, &[0, 1, 0])
            .add(POINTER, "", 2, &[])
            .add(ARRAY, "", 0, &[3, 1, 2])
            .add(UNION, "outer", 8, &[0, 6, 0, 0, 5, 0])
            .add(PROTOTYPE, "", 0, &[])
            .add(TYPEDEF, "btf_trace_happened", 10, &[])
            .add(POINTER, "", 8, &[])
            .add(STRUCT, "outer_too", 4, &[0, 1, 0])
            .bytes()
    }

    fn names(names: &[&str]) -> Names {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    /// The types and the strings.
    fn sections(btf: &[u8]) -> (&[u8], &[u8]) {
        let section = |off: usize, len: usize| {
            let from = (HEADER + word(btf, off).unwrap()) as usize;
            &btf[from..from + word(btf, len).unwrap() as usize]
        };
        (section(8, 12), section(16, 20))
    }

    /// The type with this number in words: its kind and name, and those of what it is made of.
    fn told(btf: &[u8], id: u32, depth: u32) -> String {
        let (types, strings) = sections(btf);
        let records = Records::index(types).unwrap();
        let Some(record) = records.get(id) else { return "void".into() };
        let name =
            |at| String::from_utf8(name_at(strings, word(record, at).unwrap()).unwrap().to_vec()).unwrap();
        let mut text = format!("{} {}", kind(record), name(0));
        let mut inner = Vec::new();
        if kind(record) != POINTER && depth > 0 {
            each_word(record, |at, is| match is {
                Word::Name if at > 0 => inner.push(name(at)),
                Word::Name => {}
                Word::Type => inner.push(told(btf, word(record, at).unwrap(), depth - 1)),
            });
        }
        // Sizes and offsets.
        if matches!(kind(record), STRUCT | UNION | INTEGER) {
            inner.push(format!("{:?}", word(record, 8)));
            inner.extend(
                record[RECORD..]
                    .chunks(12)
                    .filter(|chunk| chunk.len() == 12)
                    .map(|member| format!("{:?}", word(member, 8))),
            );
        }
        text.push_str(&format!("({})", inner.join(", ")));
        text
    }

    /// The number of the type with this name, other than a forward declaration.
    fn number(btf: &[u8], name: &str) -> Option<u32> {
        assert!(Btf::parse(btf, Endianness::default()).is_ok());
        let (types, strings) = sections(btf);
        Records::index(types).unwrap().named(&names(&[name]), strings).unwrap().first().copied()
    }

    #[test]
    fn a_layout_is_made_of_the_same_and_a_target_keeps_its_number() {
        let full = made();
        let (layouts, targets) = reduced(&full, &names(&["outer", "btf_trace_happened"])).unwrap();
        let (old, new) = (number(&full, "outer").unwrap(), number(&layouts, "outer").unwrap());
        assert_eq!((old, told(&layouts, new, 9)), (7, told(&full, old, 9)));
        assert_eq!(number(&layouts, "other"), None, "behind a pointer");
        assert_eq!(number(&layouts, "outer_too"), None);
        assert_eq!(number(&targets, "btf_trace_happened"), Some(9));
        assert_eq!(number(&targets, "outer"), None);
    }

    #[test]
    fn a_description_that_is_cut_short_is_not_reduced() {
        let full = made();
        for len in 0..full.len() {
            assert_eq!(reduced(&full[..len], &names(&["outer", "btf_trace_happened"])), None, "{len} bytes");
        }
    }

    #[test]
    fn nonsense_anywhere_is_refused_or_gives_records_again() {
        for at in 0..made().len() {
            for nonsense in [0, 1, 3, 0x7f, 0x80, 0xff] {
                let mut btf = made();
                btf[at] = nonsense;
                for image in reduced(&btf, &names(&["outer", "btf_trace_happened"]))
                    .into_iter()
                    .flat_map(|(a, b)| [a, b])
                {
                    let types = HEADER as usize..HEADER as usize + word(&image, 12).unwrap() as usize;
                    assert!(Records::index(&image[types]).is_some());
                }
            }
        }
    }

    #[test]
    fn every_structure_that_the_kernel_half_declares_is_wanted() {
        let relocated = include_str!("kernel.h").split("clang attribute push").nth(1).unwrap();
        let relocated = relocated.split("clang attribute pop").next().unwrap();
        let declared = relocated.lines().filter_map(|line| line.strip_prefix("struct ")?.split_once(" {"));
        let declared: FxHashSet<_> = declared.map(|(name, _)| name).collect();
        assert_eq!(declared, STRUCTS.iter().copied().collect());
    }

    /// On the running kernel, where it has BTF.
    #[test]
    fn the_kernels_own_types_are_found() {
        let Ok(full) = KernelBtf::read() else { return };
        let (layouts, targets) =
            reduced(&full, &wanted(["sched_switch", "sys_enter"].into_iter(), &[])).unwrap();
        assert!(layouts.len() * 10 < full.len(), "{} of {}", layouts.len(), full.len());
        for name in ["task_struct", "tcp_sock", "qstr"] {
            let (old, new) = (number(&full, name).unwrap(), number(&layouts, name).unwrap());
            assert_eq!(told(&layouts, new, 3), told(&full, old, 3), "{name}");
        }
        for name in ["btf_trace_sched_switch", "btf_trace_sys_enter"] {
            assert_eq!(number(&targets, name), number(&full, name));
        }
        let types = Types::read(["sched_switch"].into_iter(), &[]).unwrap();
        assert!(types.has_tracepoint("sched_switch"));
        assert!(!types.has_tracepoint("sched_switc"));
    }
}

//! The kernel's BTF, reduced to the types that the kernel half needs.
//!
//! aya keeps a value for each of the kernel's 130,000 types and searches all of them by name for
//! every structure and every tracepoint. A few hundred matter. This file reads the BTF and blanks
//! the rest in place, so that each type keeps its ID; aya parses it. This, and not letting the
//! loader parse it all once more, saves 64 of 110 ms of CPU time of `dwell run -- true` (Linux
//! 6.18, 5.5 MB of types). The format is described in the kernel's Documentation/bpf/btf.rst.

use aya::{Btf, BtfError, Endianness};
use rustc_hash::FxHashSet;
use std::ffi::CStr;
use std::{fs, mem};

const PATH: &str = "/sys/kernel/btf/vmlinux";

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

/// Reads the types that the kernel half and these tracepoints need, and these functions (attach
/// targets) and other types. A type keeps the kernel's ID.
///
/// # Errors
/// The kernel has no BTF, or one that aya cannot parse.
pub(crate) fn read<'a>(tracepoints: impl Iterator<Item = &'a str>, others: &[&str]) -> Result<Btf, BtfError> {
    let mut btf = fs::read(PATH).map_err(|error| BtfError::FileError { path: PATH.into(), error })?;
    // Where this fails, all of it is parsed: that takes longer, and aya reports errors.
    let mut names = wanted(tracepoints);
    names.extend(others.iter().map(|name| name.as_bytes().to_vec()));
    let _ = slim(&mut btf, &names);
    Btf::parse(&btf, Endianness::default())
}

/// Names of types. A tracepoint has a typedef of its handler's type.
type Names = FxHashSet<Vec<u8>>;

fn wanted<'a>(tracepoints: impl Iterator<Item = &'a str>) -> Names {
    let structs = STRUCTS.iter().map(|name| name.as_bytes().to_vec());
    structs.chain(tracepoints.map(|name| format!("btf_trace_{name}").into_bytes())).collect()
}

/// Length of the header, and of the common part of a record.
const HEADER: u32 = 24;
const RECORD: usize = 12;
/// The offset in the header of the length of the type section.
const TYPE_LEN: usize = 12;

const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const FORWARD: u32 = 7;
const TYPEDEF: u32 = 8;
const FUNCTION: u32 = 12;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;
const RESTRICT: u32 = 11;
const TYPE_TAG: u32 = 18;

/// Blanks the types that the wanted ones do not need, and truncates after the last that is left.
/// None, without a change, when the BTF is not valid.
fn slim(btf: &mut [u8], wanted: &Names) -> Option<()> {
    let [hdr_len, type_off, type_len, str_off, str_len] = [4, 8, TYPE_LEN, 16, 20].map(|at| word(btf, at));
    let hdr_len = hdr_len.filter(|len| *len >= HEADER)?;
    let section = |off: u32, len: u32| {
        let from = hdr_len.checked_add(off)?;
        Some(from as usize..from.checked_add(len)? as usize)
    };
    let types = section(type_off?, type_len?)?;
    let strings = btf.get(section(str_off?, str_len?)?)?;
    let records = Records::index(btf.get(types.clone())?)?;
    let kept = records.kept(wanted, strings)?;
    let starts = records.starts;

    // Nothing below can fail: a record is at least as long as a blank, so none is overwritten
    // before it is copied.
    let types = &mut btf[types];
    let used = kept.iter().rposition(|kept| *kept).map_or(0, |last| last + 1);
    let mut end = 0;
    for (record, kept) in starts.windows(2).zip(&kept).take(used) {
        let (from, to) = (record[0], record[1]);
        if *kept {
            types.copy_within(from..to, end);
            end += to - from;
        } else {
            types[end..end + RECORD].copy_from_slice(&blank());
            end += RECORD;
        }
    }
    btf[TYPE_LEN..TYPE_LEN + 4].copy_from_slice(&(end as u32).to_ne_bytes());
    Some(())
}

/// The record of a forward declaration without a name: it is never looked up.
fn blank() -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[4..8].copy_from_slice(&(FORWARD << 24).to_ne_bytes());
    record
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

    /// For each type but `void`: whether a wanted one needs it. Pointers are kept but not followed:
    /// the loader does not follow them, and they lead to all types of the kernel.
    fn kept(&self, wanted: &Names, strings: &[u8]) -> Option<Vec<bool>> {
        let mut next = Vec::new();
        for (record, id) in self.iter().zip(1..) {
            if matches!(kind(record), STRUCT | UNION | TYPEDEF | FUNCTION) {
                let name = strings.get(word(record, 0)? as usize..)?;
                if wanted.contains(CStr::from_bytes_until_nul(name).ok()?.to_bytes()) {
                    next.push(id);
                }
            }
        }
        let mut kept = vec![false; self.starts.len() - 1];
        while let Some(id) = next.pop() {
            let Some(index) = (id as usize).checked_sub(1) else { continue };
            if mem::replace(kept.get_mut(index)?, true) {
                continue;
            }
            let record = &self.bytes[self.starts[index]..self.starts[index + 1]];
            match kind(record) {
                STRUCT | UNION => {
                    next.extend(record[RECORD..].chunks_exact(12).filter_map(|member| word(member, 4)))
                }
                ARRAY => next.extend([word(record, RECORD)?, word(record, RECORD + 4)?]),
                TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => next.push(word(record, 8)?),
                _ => {}
            }
        }
        Some(kept)
    }
}

fn kind(record: &[u8]) -> u32 {
    word(record, 4).map_or(0, |info| info >> 24 & 0x1f)
}

/// The length of the record with this `info`. None for newer kinds (the newest here is of Linux
/// 6.0).
fn length(info: u32) -> Option<usize> {
    let entries = (info & 0xffff) as usize;
    let of_kind = match info >> 24 & 0x1f {
        2 | FORWARD | TYPEDEF | VOLATILE | CONST | RESTRICT | FUNCTION | 16 | TYPE_TAG => 0, // 2 pointer, 16 float
        1 | 14 | 17 => 4, // integer, variable, declaration tag
        ARRAY => 12,
        6 | 13 => 8 * entries,                    // enumeration, function prototype
        STRUCT | UNION | 15 | 19 => 12 * entries, // 15 data section, 19 enumeration of 64 bits
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
    use std::collections::BTreeMap;

    const POINTER: u32 = 2;
    const FUNC_PROTO: u32 = 13;

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
            let header = [0x0001_eb9f, HEADER, 0, types, types, self.strings.len() as u32 + 1];
            let words = header.into_iter().chain(self.types).flat_map(u32::to_ne_bytes);
            words.chain([0]).chain(self.strings).collect()
        }
    }

    /// `outer` holds an array of `alias`, which is `inner`, and points to `other`.
    fn made() -> Vec<u8> {
        Made::default()
            .add(1, "int", 4, &[32])
            .add(STRUCT, "other", 4, &[0, 1, 0])
            .add(TYPEDEF, "alias", 4, &[])
            .add(STRUCT, "inner", 4, &[0, 1, 0])
            .add(POINTER, "", 2, &[])
            .add(ARRAY, "", 0, &[3, 1, 2])
            .add(UNION, "outer", 8, &[0, 6, 0, 0, 5, 0])
            .add(FUNC_PROTO, "", 0, &[])
            .add(TYPEDEF, "btf_trace_happened", 10, &[])
            .add(POINTER, "", 8, &[])
            .add(STRUCT, "outer_too", 4, &[0, 1, 0])
            .bytes()
    }

    fn names(names: &[&str]) -> Names {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    /// The records by ID, without the blanks.
    fn records(btf: &[u8]) -> BTreeMap<usize, Vec<u8>> {
        let types = HEADER as usize..HEADER as usize + word(btf, TYPE_LEN).unwrap() as usize;
        let records = Records::index(&btf[types]).unwrap();
        (1..).zip(records.iter().map(<[u8]>::to_vec)).filter(|(_, record)| *record != blank()).collect()
    }

    #[test]
    fn what_a_wanted_type_is_made_of_stays_as_it_was_under_its_number() {
        let full = made();
        let mut slimmed = full.clone();
        slim(&mut slimmed, &names(&["outer", "btf_trace_happened"])).unwrap();
        let mut expected = records(&full);
        expected.retain(|id, _| ![2, 8, 11].contains(id)); // other, the prototype, outer_too
        assert_eq!(records(&slimmed), expected);
        assert!(Btf::parse(&slimmed, Endianness::default()).is_ok());
    }

    #[test]
    fn a_description_that_is_cut_short_is_left_alone() {
        let full = made();
        for len in 0..full.len() {
            let mut cut = full[..len].to_vec();
            assert_eq!(slim(&mut cut, &names(&["outer", "btf_trace_happened"])), None, "{len} bytes");
            assert_eq!(cut, full[..len]);
        }
    }

    #[test]
    fn nonsense_anywhere_is_left_alone_or_gives_records_again() {
        for at in 0..made().len() {
            for nonsense in [0, 1, 3, 0x7f, 0x80, 0xff] {
                let mut btf = made();
                btf[at] = nonsense;
                let before = btf.clone();
                match slim(&mut btf, &names(&["outer", "btf_trace_happened"])) {
                    None => assert_eq!(btf, before),
                    Some(()) if word(&btf, 4) == Some(HEADER) && word(&btf, 8) == Some(0) => {
                        drop(records(&btf))
                    }
                    Some(()) => {}
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
    fn the_kernels_own_types_are_found_under_their_numbers() {
        let Ok(full) = fs::read(PATH) else { return };
        let wanted = wanted(["sched_switch", "sys_enter"].into_iter());
        let mut slimmed = full.clone();
        slim(&mut slimmed, &wanted).unwrap();
        let (all, left) = (records(&full), records(&slimmed));
        assert!(left.len() * 10 < all.len(), "{} of {}", left.len(), all.len());
        assert!(left.iter().all(|(id, record)| all[id] == *record));
        let strings = HEADER as usize + word(&full, 16).unwrap() as usize;
        let is_wanted = |record: &[u8]| {
            let name =
                CStr::from_bytes_until_nul(&full[strings + word(record, 0).unwrap() as usize..]).unwrap();
            matches!(kind(record), STRUCT | UNION | TYPEDEF) && wanted.contains(name.to_bytes())
        };
        assert!(all.iter().filter(|(_, record)| is_wanted(record)).all(|(id, _)| left.contains_key(id)));
    }
}

//! Fields that the kernel half reads, against those that a kernel has.
//!
//! The loader looks up where a field is, and not how long: of a field that has become longer or
//! shorter the programs would read a part, or what is next to it. Such a field counts as one that
//! the kernel does not have: its name is taken out of the description, before the loader sees it.
//! So a program that asks whether the field is there goes on without it, and the verifier refuses
//! one that does not.

use super::btf::{
    ARRAY, CONST, ENUM, ENUM64, FLOAT, HEADER, INTEGER, Names, POINTER, RECORD, RESTRICT, Records, STRUCT,
    TYPE_TAG, TYPEDEF, UNION, VOLATILE, kind, name_at, parts, word,
};
use super::sound::{Member, members};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// These fields may have another size: they are read so that it does not matter, or not at all.
pub(super) const ANY_SIZE: [&str; 2] = ["task_struct.on_cpu", "pt_regs.cs"];

/// Types within types that are looked into.
const DEPTH_MAX: u32 = 32;

/// What stands behind it is not part of a structure's name: there are several flavours of it.
const FLAVOUR: &str = "___";

/// The types that an object describes: what its programs take the kernel's for. None where it has
/// none.
pub(super) fn own_types(elf: &[u8]) -> Option<&[u8]> {
    let long = |at: usize| Some(u64::from_le_bytes(*elf.get(at..)?.first_chunk()?) as usize);
    let short = |at: usize| Some(usize::from(u16::from_le_bytes(*elf.get(at..)?.first_chunk()?)));
    let (table, each, many, names) = (long(40)?, short(58)?, short(60)?, short(62)?);
    let place = |index: usize| -> Option<Range<usize>> {
        let header = table.checked_add(each.checked_mul(index)?)?;
        let from = long(header.checked_add(24)?)?;
        Some(from..from.checked_add(long(header.checked_add(32)?)?)?)
    };
    let names = elf.get(place(names)?)?;
    (0..many).find_map(|index| {
        let name = word(elf, table.checked_add(each.checked_mul(index)?)?)?;
        (name_at(names, name)? == b".BTF").then(|| elf.get(place(index)?)).flatten()
    })
}

/// What a kernel does not have of the fields that an object's types have, and of structures.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lacking {
    /// There is none of this name.
    pub(super) missing: Vec<String>,
    /// There is one of another size; its name is gone from the layouts.
    pub(super) resized: Vec<String>,
}

/// Compares the wanted structures, and takes names of fields of another size out of the layouts.
pub(super) fn fit(layouts: &mut [u8], own: &[u8], wanted: &Names) -> Option<Lacking> {
    let mut found = Compared::default();
    {
        let (own, here) = (Described::of(own)?, Described::of(layouts)?);
        let mut by_name: FxHashMap<&[u8], Vec<u32>> = FxHashMap::default();
        for (record, id) in here.records.iter().zip(1..) {
            if matches!(kind(record), STRUCT | UNION) {
                by_name.entry(here.name(word(record, 0)?)).or_default().push(id);
            }
        }
        for record in own.records.iter().filter(|record| matches!(kind(record), STRUCT | UNION)) {
            let name = flavourless(own.name(word(record, 0)?));
            // The others are the object's own.
            if !wanted.contains(name) {
                continue;
            }
            let name_told = String::from_utf8_lossy(name);
            match by_name.get(name) {
                None => found.missing.push(name_told.into_owned()),
                Some(all) => {
                    all.iter().for_each(|id| found.structure(&own, record, &here, *id, &name_told, 0));
                }
            }
        }
    }
    let known: Vec<usize> = found.same;
    let mut lacking = Lacking { missing: found.missing, ..Lacking::default() };
    for (name, at) in found.differs.into_iter().filter(|(_, at)| !known.contains(at)) {
        if !ANY_SIZE.contains(&&*name) {
            layouts.get_mut(at..at + 4)?.fill(0);
            lacking.resized.push(name);
        }
    }
    Some(lacking)
}

fn flavourless(name: &[u8]) -> &[u8] {
    let at = name.windows(FLAVOUR.len()).position(|three| three == FLAVOUR.as_bytes());
    &name[..at.unwrap_or(name.len())]
}

/// Types, and where their records are.
struct Described<'a> {
    records: Records<'a>,
    strings: &'a [u8],
}

/// How long what a program reads is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    /// A number, or a pointer.
    Bytes(u32),
    /// A field of bits.
    Bits,
    /// Number of elements, and the bytes of each.
    Elements(u32, u32),
    /// A structure, which is looked at itself.
    Parts(u32),
}

impl<'a> Described<'a> {
    fn of(btf: &'a [u8]) -> Option<Self> {
        let (records, strings) = parts(btf)?;
        Some(Self { records, strings })
    }

    fn name(&self, at: u32) -> &'a [u8] {
        name_at(self.strings, at).unwrap_or_default()
    }

    /// The type behind typedefs and qualifiers.
    fn bare(&self, mut id: u32) -> Option<(u32, &'a [u8])> {
        for _ in 0..DEPTH_MAX {
            let record = self.records.get(id)?;
            match kind(record) {
                TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => id = word(record, 8)?,
                _ => return Some((id, record)),
            }
        }
        None
    }

    fn length(&self, member: &Member) -> Option<Length> {
        if member.bits > 0 { Some(Length::Bits) } else { self.length_of(member.of) }
    }

    fn length_of(&self, id: u32) -> Option<Length> {
        let (id, record) = self.bare(id)?;
        Some(match kind(record) {
            POINTER => Length::Bytes(8),
            INTEGER | ENUM | ENUM64 | FLOAT => Length::Bytes(word(record, 8)?),
            STRUCT | UNION => Length::Parts(id),
            ARRAY => match self.length_of(word(record, RECORD)?)? {
                Length::Bytes(bytes) => Length::Elements(word(record, RECORD + 8)?, bytes),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The member of this name, also of a part without a name; and where its record is.
    fn member(&self, of: u32, name: &[u8], depth: u32) -> Option<(usize, Member)> {
        let (id, record) = self.bare(of).filter(|_| depth < DEPTH_MAX)?;
        let at = self.records.at(id)?;
        let direct = members(record).find(|member| self.name(member.name) == name);
        let within = || {
            let nameless = members(record).filter(|member| self.name(member.name).is_empty());
            nameless.into_iter().find_map(|part| self.member(part.of, name, depth + 1))
        };
        direct.map(|member| (at, member)).or_else(within)
    }
}

/// What was found.
#[derive(Default)]
struct Compared {
    missing: Vec<String>,
    /// Where the names of fields are said, in the layouts: those with another size than in one
    /// flavour, and with the same as in one.
    differs: Vec<(String, usize)>,
    same: Vec<usize>,
}

impl Compared {
    fn structure(
        &mut self,
        own: &Described<'_>,
        record: &[u8],
        here: &Described<'_>,
        id: u32,
        of: &str,
        depth: u32,
    ) {
        for asked in members(record).filter(|_| depth < DEPTH_MAX) {
            let name = own.name(asked.name);
            if name.is_empty() {
                if let Some((_, part)) = own.bare(asked.of) {
                    self.structure(own, part, here, id, of, depth + 1);
                }
                continue;
            }
            let whole = format!("{of}.{}", String::from_utf8_lossy(name));
            let Some((record_at, found)) = here.member(id, name, 0) else {
                self.missing.push(whole);
                continue;
            };
            let at = HEADER as usize + record_at + found.name_at;
            match (own.length(&asked), here.length(&found)) {
                (Some(Length::Parts(part)), Some(Length::Parts(theirs))) => {
                    // One with a name is looked at by that.
                    let part = own.records.get(part).unwrap_or_default();
                    if word(part, 0).is_some_and(|at| own.name(at).is_empty()) {
                        self.structure(own, part, here, theirs, &whole, depth + 1);
                    }
                }
                (Some(Length::Elements(few, bytes)), Some(Length::Elements(many, theirs)))
                    if few <= many && bytes == theirs =>
                {
                    self.same.push(at);
                }
                (asked, found) if asked == found => self.same.push(at),
                (Some(asked), Some(found)) if asked != Length::Bits && found != asked => {
                    self.differs.push((whole, at));
                }
                _ => {}
            }
        }
    }
}

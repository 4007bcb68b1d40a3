//! Whether a kernel's types can be as it describes them.
//!
//! The loader believes the description: of one that is wrong it would make programs that the
//! verifier takes, and that read something else. So each structure is looked at before: its fields
//! are within it and not over each other, and nothing is made of itself.

use super::btf::{
    ARRAY, CONST, ENUM, ENUM64, FLOAT, INTEGER, POINTER, RECORD, RESTRICT, Records, STRUCT, TYPE_TAG,
    TYPEDEF, UNION, VOLATILE, kind, name_at, word,
};
use rustc_hash::FxHashMap;

/// Types within types; the loader follows as many. Kernels have a third of it.
const DEPTH_MAX: u32 = 32;
/// As much of a name is told.
const NAME_MAX: usize = 60;

/// A part of a structure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    /// Where its name is in the strings, and where the record has that offset.
    pub(super) name: u32,
    pub(super) name_at: usize,
    /// The number of its type.
    pub(super) of: u32,
    pub(super) bit: u64,
    /// The bits of a bit field; else 0.
    pub(super) bits: u64,
}

/// The members of the record of a structure or union.
pub(super) fn members(record: &[u8]) -> impl Iterator<Item = Member> {
    let has_bits = word(record, 4).is_some_and(|info| info >> 31 == 1);
    let entries = if matches!(kind(record), STRUCT | UNION) { record.len() } else { RECORD };
    (RECORD..entries).step_by(12).filter_map(move |at| {
        let [name, of, place] = [0, 4, 8].map(|word_at| word(record, at + word_at));
        let place = place?;
        let (bit, bits) = if has_bits { (place & 0xff_ffff, place >> 24) } else { (place, 0) };
        Some(Member { name: name?, name_at: at, of: of?, bit: bit.into(), bits: bits.into() })
    })
}

/// Sizes of types in bytes.
pub(super) struct Sizes<'a, 'b> {
    records: &'b Records<'a>,
    strings: &'a [u8],
    /// None while it is looked at.
    known: FxHashMap<u32, Option<u64>>,
}

impl<'a, 'b> Sizes<'a, 'b> {
    pub(super) fn of(records: &'b Records<'a>, strings: &'a [u8]) -> Self {
        Self { records, strings, known: FxHashMap::default() }
    }

    /// The size of this type, with all that it is made of looked at.
    ///
    /// # Errors
    /// In a clause, what cannot be.
    pub(super) fn size(&mut self, id: u32) -> Result<u64, String> {
        self.within(id, 0)
    }

    fn within(&mut self, id: u32, depth: u32) -> Result<u64, String> {
        match self.known.get(&id) {
            Some(Some(size)) => return Ok(*size),
            Some(None) => return Err(format!("{} is a part of itself", self.name(id))),
            None if depth > DEPTH_MAX => {
                return Err(format!("{} is more than {DEPTH_MAX} types deep", self.name(id)));
            }
            None => {}
        }
        self.known.insert(id, None);
        let size = self.measured(id, depth + 1)?;
        self.known.insert(id, Some(size));
        Ok(size)
    }

    fn measured(&mut self, id: u32, depth: u32) -> Result<u64, String> {
        let Some(record) = self.records.get(id) else { return Err(format!("there is no type {id}")) };
        let said = |at| word(record, at).map_or(0, u64::from);
        match kind(record) {
            INTEGER | FLOAT | ENUM | ENUM64 => Ok(said(8)),
            POINTER => Ok(8),
            TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => self.within(said(8) as u32, depth),
            ARRAY => {
                let each = self.within(said(RECORD) as u32, depth)?;
                each.checked_mul(said(RECORD + 8)).ok_or_else(|| format!("{} is too long", self.name(id)))
            }
            STRUCT | UNION => self.composite(id, record, said(8), depth),
            _ => Err(format!("{} has no size, and is a part of something", self.name(id))),
        }
    }

    fn composite(&mut self, id: u32, record: &[u8], bytes: u64, depth: u32) -> Result<u64, String> {
        let mut places = Vec::new();
        for member in members(record) {
            let bits = match member.bits {
                0 => self.bits(member.of, depth)?,
                bits => bits,
            };
            let end = member.bit.checked_add(bits).filter(|end| *end <= bytes.saturating_mul(8));
            let end = end.ok_or_else(|| {
                format!("{} is not within the {bytes} bytes of {}", self.text(member.name), self.name(id))
            })?;
            if bits > 0 {
                places.push((member.bit, end, member.name));
            }
        }
        if kind(record) == STRUCT {
            places.sort_unstable();
            if let Some(two) = places.windows(2).find(|two| two[0].1 > two[1].0) {
                let [first, second] = [two[0].2, two[1].2].map(|name| self.text(name));
                return Err(format!("{first} and {second} of {} have one place", self.name(id)));
            }
        }
        Ok(bytes)
    }

    /// Bits of a member. An integer may say itself that it is of bits, as in older descriptions.
    fn bits(&mut self, id: u32, depth: u32) -> Result<u64, String> {
        let bytes = self.within(id, depth)?;
        let integer = self.records.get(id).filter(|record| kind(record) == INTEGER);
        let own = integer.and_then(|record| word(record, RECORD)).map(|encoded| u64::from(encoded & 0xff));
        let all = bytes.checked_mul(8).ok_or_else(|| format!("{} is too long", self.name(id)))?;
        Ok(own.unwrap_or(all).min(all))
    }

    fn name(&self, id: u32) -> String {
        let name = self.records.get(id).and_then(|record| word(record, 0)).map(|at| self.text(at));
        name.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("type {id}"))
    }

    fn text(&self, at: u32) -> String {
        let name = String::from_utf8_lossy(name_at(self.strings, at).unwrap_or_default());
        name.chars().take(NAME_MAX).collect()
    }
}

//! Entries of debug information that others may have forged: what they say is read without
//! unfolding it, and within a time.

use std::sync::Arc;
use std::time::Instant;

use gimli::constants::{DW_AT_high_pc, DW_AT_low_pc, DW_AT_ranges, DW_AT_stmt_list, DwAt};
use gimli::{
    Attribute, AttributeValue, DebugAbbrev, DebugAbbrevOffset, Dwarf, Range, Reader, Section, UnitHeader,
};

use crate::window::Window;

/// The longest table of abbreviations, and header of a line table, that are read. The parser makes
/// up to 30 and 160 times their lengths of them; large programs have a tenth of either.
const ABBREVIATIONS_MAX: usize = 256 << 10;
const LINE_HEADER_MAX: usize = 512 << 10;

/// How many steps are taken until the clock is read.
const STEPS: u32 = 256;

pub(super) type Unit = gimli::Unit<Window>;

/// Ends what is read of debug information when its time is over.
pub(super) struct Clock {
    deadline: Instant,
    steps: u32,
}

impl Clock {
    pub(super) fn new(deadline: Instant) -> Self {
        Clock { deadline, steps: 0 }
    }

    /// To be called at each step of a loop whose length a file decides.
    ///
    /// # Errors
    /// When time is over.
    pub(super) fn tick(&mut self) -> gimli::Result<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS) && Instant::now() >= self.deadline {
            return Err(gimli::Error::Io);
        }
        Ok(())
    }
}

/// A unit, and the attributes of its first entry.
///
/// # Errors
/// It is damaged, or a table that it needs is longer than in any real file.
pub(super) fn unit(
    dwarf: &Dwarf<Window>,
    header: UnitHeader<Window>,
) -> gimli::Result<(Unit, Vec<Attribute<Window>>)> {
    let mut table = dwarf.debug_abbrev.reader().from(header.debug_abbrev_offset().0 as u64);
    table.truncate(table.len().min(ABBREVIATIONS_MAX))?;
    let abbreviations = Arc::new(DebugAbbrev::from(table).abbreviations(DebugAbbrevOffset(0))?);
    let root = header.root_offset();
    let mut entries = header.entries_raw(&abbreviations, Some(root))?;
    let mut attributes = Vec::new();
    if let Some(first) = entries.read_abbreviation()? {
        entries.read_attributes(first.attributes(), &mut attributes)?;
    }
    if let Some(AttributeValue::DebugLineRef(offset)) = value(&attributes, DW_AT_stmt_list) {
        let mut lines = dwarf.debug_line.reader().from(offset.0 as u64);
        let (_, format) = lines.read_initial_length()?;
        if lines.read_u16()? >= 5 {
            lines.skip(2)?; // sizes of addresses and segments
        }
        if lines.read_length(format)? > LINE_HEADER_MAX {
            return Err(gimli::Error::Io);
        }
    }
    Ok((Unit::new_with_abbreviations(dwarf, header, abbreviations)?, attributes))
}

/// The value of an attribute.
pub(super) fn value(attributes: &[Attribute<Window>], name: DwAt) -> Option<AttributeValue<Window>> {
    attributes.iter().find(|attribute| attribute.name() == name).map(Attribute::value)
}

/// Calls `each` for the ranges of code of an entry. Not those that begin at 0: linkers leave them
/// of functions that they dropped.
///
/// # Errors
/// They are damaged, or those of `each`.
pub(super) fn ranges(
    dwarf: &Dwarf<Window>,
    unit: &Unit,
    attributes: &[Attribute<Window>],
    mut each: impl FnMut(Range) -> gimli::Result<()>,
) -> gimli::Result<()> {
    let mut each = |range: Range| if range.begin == 0 { Ok(()) } else { each(range) };
    if let Some(ranges) = value(attributes, DW_AT_ranges)
        && let Some(mut list) = dwarf.attr_ranges(unit, ranges)?
    {
        while let Some(range) = list.next()? {
            each(range)?;
        }
        return Ok(());
    }
    let Some(low) = value(attributes, DW_AT_low_pc) else { return Ok(()) };
    let Some(begin) = dwarf.attr_address(unit, low)? else { return Ok(()) };
    let end = match value(attributes, DW_AT_high_pc) {
        Some(AttributeValue::Udata(len)) => Some(begin.saturating_add(len)),
        Some(high) => dwarf.attr_address(unit, high)?,
        None => None,
    };
    end.map_or(Ok(()), |end| each(Range { begin, end }))
}

//! Functions of a unit, and those inlined into them, at some addresses.
//!
//! Entries are read one after another, and only those at an address are kept: their number and
//! their nesting are up to whoever made the file.

use std::sync::Arc;

use gimli::constants::{
    DW_AT_MIPS_linkage_name, DW_AT_abstract_origin, DW_AT_call_file, DW_AT_call_line, DW_AT_linkage_name,
    DW_AT_name, DW_AT_specification, DW_TAG_inlined_subroutine, DW_TAG_subprogram,
};
use gimli::{Attribute, AttributeValue, DebugInfoOffset, Dwarf};
use rustc_hash::FxHashMap;

use super::entries::{self, Clock, Unit, value};
use super::units::Units;
use crate::name::demangled;
use crate::window::Window;

/// The limit of functions inlined into each other; inner ones are left out.
const INLINED_MAX: usize = 64;

/// The limit of references from an entry to the one that has the name.
const REFERENCES_MAX: usize = 16;

/// The longest name that is read.
const NAME_MAX: usize = 32 << 10;

/// Other units that are kept while the names of one are read.
const OTHERS_MAX: usize = 16;

/// A function, or where one is inlined.
pub(super) struct Call {
    pub(super) name: Option<String>,
    /// File (its index in the unit's line table) and line of the call that was replaced by it.
    pub(super) file: Option<u64>,
    pub(super) line: u32,
}

/// What was found in a unit.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) all: Vec<Call>,
    /// At each address the function and those inlined into it, outermost first: indexes into `all`.
    pub(super) at: FxHashMap<u64, Vec<usize>>,
}

impl Calls {
    /// Adds what the unit says of `wanted`, which are sorted.
    ///
    /// # Errors
    /// The unit is damaged, or time is over; what was read until then is there.
    pub(super) fn find(
        &mut self,
        names: &mut Names<'_>,
        unit: &Arc<Unit>,
        wanted: &[u64],
        clock: &mut Clock,
    ) -> gimli::Result<()> {
        let mut entries = unit.entries_raw(None)?;
        let mut attributes = Vec::new();
        // The functions around the next entry: how deep each is, and which addresses are in it.
        let mut around: Vec<(isize, Vec<u64>)> = Vec::new();
        while !entries.is_empty() {
            clock.tick()?;
            let depth = entries.next_depth();
            while around.last().is_some_and(|(outer, _)| depth <= *outer) {
                around.pop();
            }
            let Some(kind) = entries.read_abbreviation()? else { continue };
            let outermost = kind.tag() == DW_TAG_subprogram;
            let possible = match around.last() {
                _ if outermost => wanted,
                Some((_, inside)) if kind.tag() == DW_TAG_inlined_subroutine => inside,
                _ => {
                    entries.skip_attributes(kind.attributes())?;
                    continue;
                }
            };
            entries.read_attributes(kind.attributes(), &mut attributes)?;
            let (call, mut inside) = (self.all.len(), Vec::new());
            let read = entries::ranges(names.dwarf, unit, &attributes, |range| {
                let first = possible.partition_point(|address| *address < range.begin);
                for address in possible[first..].iter().take_while(|address| **address < range.end) {
                    clock.tick()?;
                    let at = self.at.entry(*address).or_default();
                    let full = if outermost { !at.is_empty() } else { at.len() >= INLINED_MAX };
                    if !full && at.last() != Some(&call) {
                        at.push(call);
                        inside.push(*address);
                    }
                }
                clock.tick()
            });
            if !inside.is_empty() {
                let file = match value(&attributes, DW_AT_call_file) {
                    // Before DWARF 5, file 0 is none.
                    Some(AttributeValue::FileIndex(file)) if file > 0 || unit.version() >= 5 => Some(file),
                    _ => None,
                };
                let line = value(&attributes, DW_AT_call_line).and_then(|line| line.udata_value());
                let name = names.of(unit, &attributes).map(|name| demangled(&name));
                self.all.push(Call { name, file, line: line.unwrap_or(0) as u32 });
                inside.sort_unstable();
                around.push((depth, inside));
            }
            read?;
        }
        Ok(())
    }
}

/// Reads names, which may be in entries of other units.
pub(super) struct Names<'a> {
    dwarf: &'a Dwarf<Window>,
    units: &'a Units,
    others: FxHashMap<usize, Arc<Unit>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(dwarf: &'a Dwarf<Window>, units: &'a Units) -> Self {
        Names { dwarf, units, others: FxHashMap::default() }
    }

    /// The name of an entry with these attributes: as the linker knows it, where that is there.
    fn of(&mut self, unit: &Arc<Unit>, attributes: &[Attribute<Window>]) -> Option<String> {
        let (mut unit, mut attributes) = (Arc::clone(unit), attributes.to_vec());
        for _ in 0..REFERENCES_MAX {
            for name in [DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name] {
                if let Some(text) = value(&attributes, name)
                    && let Ok(text) = self.dwarf.attr_string(&unit, text)
                {
                    return Some(String::from_utf8_lossy(&text.text(NAME_MAX)?).into_owned());
                }
            }
            let referred = value(&attributes, DW_AT_abstract_origin);
            let offset = match referred.or_else(|| value(&attributes, DW_AT_specification))? {
                AttributeValue::UnitRef(offset) => offset,
                AttributeValue::DebugInfoRef(offset) => {
                    unit = self.other(offset)?;
                    offset.to_unit_offset(&unit.header)?
                }
                _ => return None,
            };
            let mut entries = unit.entries_raw(Some(offset)).ok()?;
            let kind = entries.read_abbreviation().ok()??;
            entries.read_attributes(kind.attributes(), &mut attributes).ok()?;
        }
        None
    }

    /// The unit with an entry.
    fn other(&mut self, offset: DebugInfoOffset) -> Option<Arc<Unit>> {
        let start = self.units.around(offset.0 as u64)?;
        if let Some(known) = self.others.get(&start) {
            return Some(Arc::clone(known));
        }
        let header = self.dwarf.unit_header(DebugInfoOffset(start)).ok()?;
        let mut unit = entries::unit(self.dwarf, header).ok()?.0;
        unit.line_program = None;
        if self.others.len() >= OTHERS_MAX {
            self.others.clear();
        }
        let unit = Arc::new(unit);
        self.others.insert(start, Arc::clone(&unit));
        Some(unit)
    }
}

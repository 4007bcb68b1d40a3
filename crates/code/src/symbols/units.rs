//! Units (source files) of debug information: their offsets, which of them contain the requested
//! addresses, and how many are parsed at once.

use gimli::{Dwarf, UnitType};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::window::Window;

/// The limit of units per address, on average: more means damage.
const CLAIMS_MAX: usize = 4;

/// The limit of units of a file; large programs have tens of thousands.
const UNITS_MAX: usize = 4 << 20;

/// Bytes of units that are parsed in one batch (unless one unit is larger): a parsed unit takes
/// about as much memory as its bytes.
const PARSED_MAX: usize = 8 << 20;

/// The offsets of units, and which contain the requested addresses.
pub(super) struct Units {
    /// The offset of each, in order.
    pub(super) starts: Vec<usize>,
    /// Address and unit, in order.
    claims: Vec<(u64, usize)>,
}

impl Units {
    /// The units that claim any of the addresses; and whether all could be read.
    pub(super) fn find(dwarf: &Dwarf<Window>, addresses: &[u64]) -> (Units, bool) {
        let mut sorted = addresses.to_vec();
        sorted.sort_unstable();
        let mut claims = Claims { sorted, made: Vec::new() };
        let listed = by_list(dwarf, &mut claims);
        let mut starts = Vec::new();
        let walked = by_walk(dwarf, &listed, &mut claims, &mut starts);
        let mut claims = claims.made;
        claims.sort_unstable();
        claims.dedup();
        (Units { starts, claims }, walked.is_ok())
    }

    /// The claims to an address.
    pub(super) fn of(&self, address: u64) -> &[(u64, usize)] {
        let first = self.claims.partition_point(|claim| claim.0 < address);
        let end = self.claims.partition_point(|claim| claim.0 <= address);
        &self.claims[first..end]
    }

    /// The addresses that units claim, grouped by unit, in order; a batch has as many units as may
    /// be parsed at once. `len` is the length of all units.
    pub(super) fn batches(&self, addresses: &[u64], len: usize) -> Vec<Vec<u64>> {
        let mut order: FxHashMap<usize, usize> = FxHashMap::default();
        let mut by_unit: Vec<(usize, Vec<u64>)> = Vec::new();
        for address in addresses {
            let Some((_, unit)) = self.of(*address).first() else { continue };
            let at = *order.entry(*unit).or_insert_with(|| {
                by_unit.push((*unit, Vec::new()));
                by_unit.len() - 1
            });
            by_unit[at].1.push(*address);
        }
        let mut batches: Vec<Vec<u64>> = Vec::new();
        let mut room = 0;
        for (unit, addresses) in by_unit {
            let next = self.starts.get(self.starts.partition_point(|start| *start <= unit));
            let size = next.copied().unwrap_or(len).saturating_sub(unit);
            match batches.last_mut().filter(|_| size <= room) {
                Some(batch) => batch.extend(addresses),
                None => {
                    batches.push(addresses);
                    room = PARSED_MAX;
                }
            }
            room = room.saturating_sub(size);
        }
        batches
    }

    /// The unit that contains an offset.
    pub(super) fn around(&self, offset: u64) -> Option<usize> {
        let next = self.starts.partition_point(|start| *start as u64 <= offset);
        self.starts.get(next.checked_sub(1)?).copied()
    }
}

/// Which units claim which of the requested addresses.
struct Claims {
    sorted: Vec<u64>,
    made: Vec<(u64, usize)>,
}

impl Claims {
    fn add(&mut self, range: gimli::Range, unit: usize) {
        let first = self.sorted.partition_point(|address| *address < range.begin);
        for address in self.sorted[first..].iter().take_while(|address| **address < range.end) {
            if self.made.len() < self.sorted.len() * CLAIMS_MAX {
                self.made.push((*address, unit));
            }
        }
    }
}

/// Claims from `.debug_aranges`. Returns the units that are in it.
fn by_list(dwarf: &Dwarf<Window>, claims: &mut Claims) -> FxHashSet<usize> {
    let mut listed = FxHashSet::default();
    let mut headers = dwarf.debug_aranges.headers();
    while let Ok(Some(header)) = headers.next() {
        let unit = header.debug_info_offset().0;
        let mut entries = header.entries();
        while let Ok(Some(entry)) = entries.next() {
            listed.insert(unit);
            claims.add(entry.range(), unit);
        }
    }
    listed
}

/// The offsets of all units, and the claims of those not listed, from their first entries: about 30
/// µs per unit.
fn by_walk(
    dwarf: &Dwarf<Window>,
    listed: &FxHashSet<usize>,
    claims: &mut Claims,
    starts: &mut Vec<usize>,
) -> gimli::Result<()> {
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let Some(offset) = header.debug_info_offset() else { continue };
        if starts.len() >= UNITS_MAX {
            return Err(gimli::Error::Io);
        }
        starts.push(offset.0);
        let code = matches!(header.type_(), UnitType::Compilation | UnitType::Skeleton(_));
        if !code || listed.contains(&offset.0) {
            continue;
        }
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Ok(mut ranges) = dwarf.unit_ranges(&unit) else { continue };
        while let Ok(Some(range)) = ranges.next() {
            claims.add(range, offset.0);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_each_address_once_and_end_where_enough_is_parsed() {
        let starts = vec![0, PARSED_MAX / 2, PARSED_MAX, PARSED_MAX * 3];
        let claims = vec![(10, PARSED_MAX), (20, 0), (21, 0), (30, PARSED_MAX / 2), (40, PARSED_MAX * 3)];
        let units = Units { starts, claims };
        // The unit of 10 is larger than is parsed at once; 99 has none.
        let batches = units.batches(&[20, 10, 99, 30, 21, 40], PARSED_MAX * 3 + 100);
        assert_eq!(batches, [vec![20, 21], vec![10], vec![30, 40]]);
    }
}

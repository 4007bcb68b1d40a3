//! Units (source files) of debug information: their offsets, and which of them contain the
//! requested addresses.

use std::collections::BTreeMap;
use std::time::Instant;

use gimli::{Dwarf, UnitType};
use rustc_hash::FxHashSet;

use super::entries::{self, Clock};
use crate::window::Window;

/// The limit of units per address, on average: more means damage.
const CLAIMS_MAX: usize = 4;

/// The limit of units of a file; large programs have tens of thousands.
const UNITS_MAX: usize = 4 << 20;

/// The offsets of units, and which contain the requested addresses.
pub(super) struct Units {
    /// The offset of each, in order.
    pub(super) starts: Vec<usize>,
    /// Address and unit, in order.
    claims: Vec<(u64, usize)>,
}

impl Units {
    /// The units that claim any of the addresses; and whether all could be read until `deadline`.
    pub(super) fn find(dwarf: &Dwarf<Window>, addresses: &[u64], deadline: Instant) -> (Units, bool) {
        let mut sorted = addresses.to_vec();
        sorted.sort_unstable();
        let mut claims = Claims { sorted, made: Vec::new(), clock: Clock::new(deadline) };
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

    /// The units that claim addresses, each with these, in order.
    pub(super) fn claimed(&self) -> Vec<(usize, Vec<u64>)> {
        let mut by_unit: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for (address, unit) in &self.claims {
            by_unit.entry(*unit).or_default().push(*address);
        }
        by_unit.into_iter().collect()
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
    clock: Clock,
}

impl Claims {
    /// # Errors
    /// When time is over.
    fn add(&mut self, range: gimli::Range, unit: usize) -> gimli::Result<()> {
        let first = self.sorted.partition_point(|address| *address < range.begin);
        let room = self.sorted.len() * CLAIMS_MAX - self.made.len();
        let inside = self.sorted[first..].iter().take_while(|address| **address < range.end);
        self.made.extend(inside.take(room).map(|address| (*address, unit)));
        self.clock.tick()
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
            if claims.add(entry.range(), unit).is_err() {
                return listed;
            }
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
        claims.clock.tick()?;
        let Ok((unit, first)) = entries::unit(dwarf, header) else { continue };
        let _ = entries::ranges(dwarf, &unit, &first, |range| claims.add(range, offset.0));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_has_the_addresses_that_it_claims() {
        let units = Units { starts: vec![0, 50, 90], claims: vec![(10, 0), (20, 0), (20, 50), (30, 50)] };
        assert_eq!(units.claimed(), [(0, vec![10, 20]), (50, vec![20, 30])]);
        assert_eq!((units.around(0), units.around(60), units.of(20).len()), (Some(0), Some(50), 2));
    }
}

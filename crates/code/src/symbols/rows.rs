//! The line table of a unit: which file and line some addresses are of.
//!
//! A table is the output of a small program, whose length says nothing of its own: rows are looked
//! at as they come and are not kept.

use gimli::{AttributeValue, Dwarf, IncompleteLineProgram, LineInstruction, LineProgramHeader, LineRow};
use rustc_hash::FxHashMap;

use super::entries::{Clock, Unit};
use crate::window::Window;

/// The longest part of a path that is read, and the longest path.
const PATH_MAX: usize = 4_096;

/// File (its index in the table) and line of addresses.
pub(super) type Rows = FxHashMap<u64, (u64, u32)>;

/// Finds the rows of `wanted`, which are sorted, and adds them to `rows`.
///
/// # Errors
/// The table is damaged, or time is over; what was found until then is there.
pub(super) fn find(
    program: &mut IncompleteLineProgram<Window>,
    wanted: &[u64],
    rows: &mut Rows,
    clock: &mut Clock,
) -> gimli::Result<()> {
    let mut left = wanted.to_vec();
    let mut instructions = program.header().instructions();
    let mut row = LineRow::new(program.header());
    // Where the row before this one begins, its file and line.
    let mut before: Option<(u64, u64, u32)> = None;
    while !left.is_empty() {
        clock.tick()?;
        let Some(instruction) = instructions.next_instruction(program.header())? else { break };
        // More files without end could come here; no compiler has used it for long.
        if matches!(instruction, LineInstruction::DefineFile(_)) || !row.execute(instruction, program)? {
            continue;
        }
        let here = row.address();
        if let Some((begin, file, line)) = before
            && begin < here
        {
            let first = left.partition_point(|address| *address < begin);
            let end = left.partition_point(|address| *address < here);
            rows.extend(left.drain(first..end).map(|address| (address, (file, line))));
        }
        let line = row.line().map_or(0, |line| line.get() as u32);
        // Linkers leave rows at 0 of functions that they dropped.
        before = (!row.end_sequence() && here != 0).then_some((here, row.file_index(), line));
        row.reset(program.header());
    }
    Ok(())
}

/// The path of a file of a line table.
pub(super) fn path(
    dwarf: &Dwarf<Window>,
    unit: &Unit,
    header: &LineProgramHeader<Window>,
    file: u64,
) -> Option<String> {
    let file = header.file(file)?;
    let text = |value: AttributeValue<Window>| {
        let text = dwarf.attr_string(unit, value).ok()?.text(PATH_MAX)?;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    let mut path = unit.comp_dir.clone().map(AttributeValue::String).and_then(text).unwrap_or_default();
    // Directory 0 is the unit's own.
    let directory = Some(file.directory_index()).filter(|index| *index != 0);
    let directory = directory.and_then(|index| text(header.directory(index)?));
    for part in [directory, text(file.path_name())].into_iter().flatten() {
        if part.starts_with('/') {
            path.clear();
        } else if !path.is_empty() && !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(&part);
    }
    path.truncate(path.floor_char_boundary(PATH_MAX));
    Some(path)
}

//! From an instruction to its line: CPython's three forms of line table.
//!
//! `co_lnotab` to 3.9 (`Objects/lnotab_notes.txt`), the first `co_linetable` in 3.10 (PEP 626; the same notes, as of
//! that version), the location table from 3.11 on (the interpreter's internal document on code objects; before that its document on locations).
//! The tables come from the measured program: any bytes give an answer, at the cost of one pass over them.

use crate::offsets::Version;

/// The line of the instruction at `offset` bytes into the bytecode. None where the table gives it none (code that
/// the compiler made up), and where the table ends before it. `first_line` is that of the code object; a negative
/// offset is that of a function that has not begun, which is on its first line.
#[must_use]
pub fn line_of(version: Version, table: &[u8], first_line: u32, offset: i32) -> Option<u32> {
    let Ok(offset) = u64::try_from(offset) else { return Some(first_line) };
    let line = i64::from(first_line);
    let line = match version.minor {
        ..=9 => lnotab(table, line, offset),
        10 => linetable(table, line, offset),
        _ => locations(table, line, offset),
    };
    u32::try_from(line?).ok()
}

/// Pairs: bytes of code forward, lines forward or back. A line holds until the next pair.
fn lnotab(table: &[u8], mut line: i64, offset: u64) -> Option<i64> {
    let mut at = 0;
    for pair in table.chunks_exact(2) {
        at += u64::from(pair[0]);
        if at > offset {
            break;
        }
        line += i64::from(pair[1].cast_signed());
    }
    Some(line)
}

/// Pairs: how long a range of code is, and by how much its line differs from the one before; -128 for no line.
fn linetable(table: &[u8], mut line: i64, offset: u64) -> Option<i64> {
    let mut end = 0;
    for pair in table.chunks_exact(2) {
        end += u64::from(pair[0]);
        let delta = pair[1].cast_signed();
        if delta != i8::MIN {
            line += i64::from(delta);
        }
        if offset < end {
            return (delta != i8::MIN).then_some(line);
        }
    }
    None
}

// Kinds of location entries: those below have columns only.
const ONE_LINE: std::ops::RangeInclusive<u8> = 10..=12;
const NO_COLUMNS: u8 = 13;
const LONG: u8 = 14;
const NONE: u8 = 15;

/// Entries of a first byte, with its highest bit set, and others without. The first has the kind and how many units
/// of two bytes the entry is good for.
fn locations(table: &[u8], mut line: i64, offset: u64) -> Option<i64> {
    let mut end = 0;
    let mut rest = table;
    while let Some((first, behind)) = rest.split_first() {
        let len = behind.iter().position(|byte| byte & 0x80 != 0).unwrap_or(behind.len());
        let (entry, next) = behind.split_at(len);
        end += (u64::from(first & 7) + 1) * 2;
        let kind = first >> 3 & 15;
        match kind {
            NO_COLUMNS | LONG => line = line.saturating_add(signed(entry)),
            kind if ONE_LINE.contains(&kind) => {
                line = line.saturating_add(i64::from(kind - ONE_LINE.start()))
            }
            _ => {}
        }
        if offset < end {
            return (kind != NONE).then_some(line);
        }
        rest = next;
    }
    None
}

/// The number at the start of an entry: six bits a byte, the lowest first, as long as bit 6 is set. Its own lowest bit
/// is the sign.
fn signed(entry: &[u8]) -> i64 {
    let mut value = 0_i64;
    for (at, byte) in entry.iter().enumerate().take(10) {
        value |= i64::from(byte & 63) << (at * 6);
        if byte & 64 == 0 {
            break;
        }
    }
    let magnitude = value >> 1;
    if value & 1 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn version(minor: u8) -> Version {
        Version { minor }
    }

    fn lines(minor: u8, table: &[u8], first: u32, offsets: &[i32]) -> Vec<Option<u32>> {
        offsets.iter().map(|offset| line_of(version(minor), table, first, *offset)).collect()
    }

    /// The example of `Objects/lnotab_notes.txt`: offsets 0, 6, 50, 350, 361 are on lines 1, 2, 7, 207, 208.
    #[test]
    fn the_example_of_the_notes_on_lnotab() {
        let table = [0, 0, 6, 1, 44, 5, 255, 0, 45, 127, 0, 73, 11, 1].to_vec();
        let found = lines(9, &table, 1, &[0, 5, 6, 49, 50, 349, 350, 360, 361, 4000]);
        let expected = [1, 1, 2, 2, 7, 7, 207, 207, 208, 208];
        assert_eq!(found, expected.map(Some));
    }

    /// The same notes of 3.10: ranges 0-6, 6-50, 50-350 (no line from 350 on), 360-361 on lines 1, 2, 7, 208.
    #[test]
    fn the_example_of_the_notes_on_3_10() {
        let table = [6, 0, 44, 1, 254, 5, 46, 0, 10, 0x80, 1, 127, 0, 74];
        let found = lines(10, &table, 1, &[0, 5, 6, 49, 50, 349, 350, 359, 361]);
        assert_eq!(found[..8], [Some(1), Some(1), Some(2), Some(2), Some(7), Some(7), None, None]);
        assert_eq!(found[8], None, "the table ends before it");
    }

    #[test]
    fn each_kind_of_location_moves_as_documented() {
        // Two units with columns only; one unit one line on; one unit five lines back; one unit without a line;
        // one unit, long form, 70 lines on; one unit two lines on.
        let table = [0x81, 3, 0xd8, 0, 0, 0xe8, 11, 0xf8, 0xf0, 0x40 | 12, 2, 0, 1, 1, 0xe0, 0, 0];
        let found = lines(11, &table, 10, &[-2, 0, 2, 4, 6, 8, 10, 12, 14]);
        let expected = [Some(10), Some(10), Some(10), Some(11), Some(6), None, Some(76), Some(78), None];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_answer(
            minor in 8u8..=14,
            table in prop::collection::vec(any::<u8>(), 0..600),
            first in any::<u32>(),
            offset in any::<i32>(),
        ) {
            let found = line_of(version(minor), &table, first, offset);
            // Within what so many bytes can move it by, or wrapped to nothing.
            if minor <= 10 && let Some(line) = found {
                prop_assert!(line.abs_diff(first) as usize <= table.len() * 128);
            }
        }
    }
}

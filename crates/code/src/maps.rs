//! `/proc/PID/maps`: the mappings of a living process.

use crate::Mapping;
use std::ops::Range;

/// The process, or a thread of it, by whose number `/proc` shows its memory and its files: nothing
/// is shown any more by that of a first thread which has ended before the others.
pub(crate) fn shown_by(pid: u32) -> u32 {
    let shows = |id: &u32| std::fs::read_link(format!("/proc/{id}/root")).is_ok();
    if shows(&pid) {
        return pid;
    }
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok()).find(shows).unwrap_or(pid)
}

/// Its executable mappings, in order.
///
/// # Errors
/// As reading the file.
pub fn executable(pid: u32) -> std::io::Result<Vec<Mapping>> {
    let text = std::fs::read(format!("/proc/{}/maps", shown_by(pid)))?;
    let lines = text.split(|byte| *byte == b'\n').filter_map(mapping);
    Ok(lines.filter_map(|(executable, mapping)| executable.then_some(mapping)).collect())
}

/// The addresses of its memory that no file backs, in order: stacks and heaps. To read it never
/// waits for a filesystem.
///
/// # Errors
/// As reading the file.
pub fn anonymous(pid: u32) -> std::io::Result<Vec<Range<u64>>> {
    let text = std::fs::read(format!("/proc/{}/maps", shown_by(pid)))?;
    let lines = text.split(|byte| *byte == b'\n').filter_map(mapping);
    Ok(lines
        .filter(|(_, mapping)| mapping.inode == 0)
        .map(|(_, mapping)| mapping.start..mapping.end)
        .collect())
}

/// One line: `start-end rwxp offset major:minor inode   path`; with whether it is executable.
pub(crate) fn mapping(line: &[u8]) -> Option<(bool, Mapping)> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = text()?.split_once('-')?;
    let executable = text()?.contains('x');
    let offset = text()?;
    let (major, minor) = text()?.split_once(':')?;
    let inode = text()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii_start();
    let mapping = Mapping {
        start: hex(start)?,
        end: hex(end)?,
        file_offset: hex(offset)?,
        path: unescaped(path),
        dev: (hex(major)? as u32, hex(minor)? as u32),
        inode,
    };
    Some((executable, mapping))
}

/// Unescapes a path: the kernel writes newlines in it as `\012`.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"\\012") {
            plain.push(b'\n');
            rest = after;
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_line_is_read_with_spaces_and_line_ends_in_its_path() {
        let line = b"7f00-7f10 r-xp 00001000 fe:01 77                 /tmp/a b\\012c (deleted)";
        let (executable, mapping) = super::mapping(line).unwrap();
        assert!(executable);
        assert_eq!((mapping.start, mapping.end, mapping.file_offset), (0x7f00, 0x7f10, 0x1000));
        assert_eq!((mapping.dev, mapping.inode), ((0xfe, 1), 77));
        assert_eq!(mapping.path, b"/tmp/a b\nc (deleted)");
        assert!(!super::mapping(b"7f00-7f10 r--p 00001000 fe:01 77 /x").unwrap().0);
        assert!(super::mapping(b"7f00-7f10 r-xp 00000000 00:00 0 ").unwrap().1.path.is_empty());
        assert!(super::mapping(b"").is_none());
    }

    #[test]
    fn a_stack_is_memory_that_no_file_backs_and_a_program_is_not() {
        let me = std::process::id();
        let anonymous = super::anonymous(me).unwrap();
        let holds = |at: u64| anonymous.iter().any(|range| range.contains(&at));
        let here = std::ptr::from_ref(&anonymous).addr() as u64;
        assert!(holds(here));
        let programs = super::executable(me).unwrap();
        assert!(programs.iter().filter(|mapping| mapping.inode != 0).all(|mapping| !holds(mapping.start)));
    }
}

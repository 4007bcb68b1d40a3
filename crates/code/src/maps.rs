//! `/proc/PID/maps`: the executable mappings of a living process.

use crate::Mapping;

/// Its executable mappings, in order.
///
/// # Errors
/// As reading the file.
pub fn executable(pid: u32) -> std::io::Result<Vec<Mapping>> {
    let text = std::fs::read(format!("/proc/{pid}/maps"))?;
    Ok(text.split(|byte| *byte == b'\n').filter_map(mapping).collect())
}

/// One line: `start-end rwxp offset major:minor inode   path`.
fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = text()?.split_once('-')?;
    let executable = text()?.contains('x');
    let offset = text()?;
    let (major, minor) = text()?.split_once(':')?;
    let inode = text()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii_start();
    executable.then_some(Mapping {
        start: hex(start)?,
        end: hex(end)?,
        file_offset: hex(offset)?,
        path: unescaped(path),
        dev: (hex(major)? as u32, hex(minor)? as u32),
        inode,
    })
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
        let mapping = super::mapping(line).unwrap();
        assert_eq!((mapping.start, mapping.end, mapping.file_offset), (0x7f00, 0x7f10, 0x1000));
        assert_eq!((mapping.dev, mapping.inode), ((0xfe, 1), 77));
        assert_eq!(mapping.path, b"/tmp/a b\nc (deleted)");
        assert!(super::mapping(b"7f00-7f10 r--p 00001000 fe:01 77 /x").is_none());
        assert!(super::mapping(b"7f00-7f10 r-xp 00000000 00:00 0 ").unwrap().path.is_empty());
        assert!(super::mapping(b"").is_none());
    }
}

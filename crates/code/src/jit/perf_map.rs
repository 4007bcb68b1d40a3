//! `/tmp/perf-PID.map`: names of code that a runtime wrote line by line as it made the code.
//!
//! Code moves, and its memory is used again, so several lines may cover an address: the newest is
//! valid. The file is therefore read from its end, until all addresses have names.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

use super::dotnet;
use super::named::Named;

/// The limit of bytes read of one file: the last ones.
const BYTES_MAX: u64 = 64 << 20;

/// The limit of a line; longer ones are skipped.
const LINE_MAX: usize = 16 << 10;

/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// Names the addresses of `named` that have none. Returns whether the file was longer than the
/// limit, and all its last part did not suffice.
///
/// # Errors
/// As reading the file.
pub(crate) fn name(file: &File, named: &mut Named) -> io::Result<bool> {
    let len = file.metadata()?.len();
    let from = len.saturating_sub(BYTES_MAX);
    let mut missing = named.missing();
    newest_first(file, from..len, |line| {
        let Some((start, end, name)) = entry(line) else { return ControlFlow::Continue(()) };
        missing -= named.cover(start, end, || {
            let name = String::from_utf8_lossy(name);
            dotnet::method(&name).unwrap_or(&name).into()
        });
        if missing == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(from > 0 && missing > 0)
}

/// The whole lines of a part of a file, the last one first. One without its line break is not
/// whole: it may be half written.
fn newest_first(
    file: &File,
    part: std::ops::Range<u64>,
    mut each: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<()> {
    // The end of a line that begins in a chunk before; none while that line is to be skipped.
    let mut rest: Option<Vec<u8>> = None;
    let mut chunk = vec![0; CHUNK];
    let mut at = part.end;
    while at > part.start {
        let len = (at - part.start).min(CHUNK as u64) as usize;
        at -= len as u64;
        file.read_exact_at(&mut chunk[..len], at)?;
        let mut unread = &chunk[..len];
        while let Some(line_break) = unread.iter().rposition(|byte| *byte == b'\n') {
            if let Some(line) = joined(&unread[line_break + 1..], rest.take())
                && each(&line).is_break()
            {
                return Ok(());
            }
            rest = Some(Vec::new());
            unread = &unread[..line_break];
        }
        rest = joined(unread, rest);
    }
    if let Some(line) = rest.filter(|_| part.start == 0) {
        let _ = each(&line);
    }
    Ok(())
}

/// A line from its parts; none where it is to be skipped.
fn joined(begin: &[u8], end: Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut end = end?;
    if begin.len() + end.len() > LINE_MAX {
        return None;
    }
    end.splice(0..0, begin.iter().copied());
    Some(end)
}

/// `START SIZE NAME`, numbers in hexadecimal, with or without `0x`.
fn entry(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let mut fields = line.trim_ascii_end().splitn(3, |byte| *byte == b' ');
    let mut number = || {
        let text = std::str::from_utf8(fields.next()?).ok()?;
        u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
    };
    let (start, len) = (number()?, number()?);
    let name = fields.next()?.trim_ascii();
    (!name.is_empty()).then_some((start, start.checked_add(len)?, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    fn written(text: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file
    }

    /// The names of some addresses, and whether the file was too long.
    fn names(file: &File, addresses: &[u64]) -> (Vec<Option<String>>, bool) {
        let mut named = Named::new(addresses.iter().copied());
        let long = name(file, &mut named).unwrap();
        (addresses.iter().map(|address| named.of(*address).map(str::to_owned)).collect(), long)
    }

    #[test]
    fn the_newest_name_for_an_address_is_the_valid_one() {
        let file = written(
            b"1000 100 old\nnonsense\n2000 8 LazyCompile:~f a.js:1\n0x1010 20 new\n1018 4 newest\n\
              ffffffffffffffff 10 x\n2000 0 nothing\n2000 8 \n2000 zz y\n1000 100 half writ",
        );
        let expected = [
            (0x1000, Some("old")),
            (0x1010, Some("new")),
            (0x1018, Some("newest")),
            (0x101c, Some("new")),
            (0x1030, Some("old")),
            (0x1100, None),
            (0x2007, Some("LazyCompile:~f a.js:1")),
            (0x2008, None),
            (0, None),
            (u64::MAX, None),
        ];
        let (found, long) = names(&file, &expected.map(|(address, _)| address));
        assert_eq!(found.iter().map(Option::as_deref).collect::<Vec<_>>(), expected.map(|(_, name)| name));
        assert!(!long);
    }

    #[test]
    fn lines_are_whole_wherever_they_are_cut_into_chunks() {
        let mut text = Vec::new();
        for at in 0..20_000_u64 {
            writeln!(text, "{:x} 10 function {at} {}", at * 16, "x".repeat((at % 97) as usize)).unwrap();
        }
        let (found, _) = names(&written(&text), &[0, 16 * 777 + 3, 16 * 19_999 + 15]);
        let is =
            |name: &Option<String>, start: &str| name.as_ref().is_some_and(|name| name.starts_with(start));
        assert!(is(&found[0], "function 0"), "{found:?}");
        assert!(is(&found[1], "function 777 "), "{found:?}");
        assert!(is(&found[2], "function 19999 "), "{found:?}");
    }

    #[test]
    fn endless_lines_are_skipped_and_control_characters_kept_for_who_shows_them() {
        let mut text = b"1000 10 before\n3000 10 ".to_vec();
        text.resize(text.len() + (200 << 10), b'a');
        text.extend(b"\n2000 10 \x1b[2J\xff\n1000 10 ");
        text.resize(text.len() + (200 << 10), b'b');
        let (found, _) = names(&written(&text), &[0x1000, 0x2000, 0x3000]);
        assert_eq!(found, [Some("before".into()), Some("\u{1b}[2J\u{fffd}".into()), None]);
    }

    #[test]
    fn of_a_huge_file_the_last_part_is_read_and_the_rest_said() {
        let mut file = written(b"1000 10 first\n");
        // A hole: nothing is on disk.
        file.set_len(200 << 20).unwrap();
        file.seek(io::SeekFrom::End(0)).unwrap();
        file.write_all(b"\n2000 10 last\n").unwrap();
        assert_eq!(names(&file, &[0x1000, 0x2000]), (vec![None, Some("last".into())], true));
        assert_eq!(names(&file, &[0x2000]), (vec![Some("last".into())], false));
    }

    #[test]
    fn many_lines_that_cover_everything_take_little_time() {
        let text = b"0 ffffffffffff x\n".repeat(200_000);
        let addresses: Vec<u64> = (0..100_000).collect();
        let began = std::time::Instant::now();
        let (found, _) = names(&written(&text), &addresses);
        assert!(found.iter().all(Option::is_some));
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }
}

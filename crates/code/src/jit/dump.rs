//! `jit-PID.dump`, the jitdump file of perf: code that a runtime made, in order of time.
//!
//! A process maps the file executable, which tells tools where it is. Of its records those of code
//! that was made or moved are read; machine code and lines in it are passed over.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustc_hash::FxHashMap;

use super::named::Named;

/// `JiTD` as a number of the machine's byte order.
const MAGIC: u32 = 0x4a69_5444;

/// Kinds of records.
const LOAD: u32 = 0;
const MOVE: u32 = 1;

/// Lengths: of the file's least header, of a record's header, of what precedes the name of code
/// that was made, and of a record of code that moved.
const HEADER: u64 = 40;
const RECORD: u64 = 16;
const BEFORE_NAME: u64 = 56;
const MOVED: u64 = 64;

/// The limit of records read of one file.
const RECORDS_MAX: usize = 1 << 20;

/// The limit of bytes read of a name.
const NAME_MAX: u64 = 1024;

/// Code, and where its name is in the file.
#[derive(Debug, Clone, Copy)]
struct Made {
    start: u64,
    end: u64,
    name: (u64, u64),
}

/// Names the addresses of `named` that have none; the newest code at an address is valid. Returns
/// whether the file has more records than the limit.
///
/// # Errors
/// As reading the file, and when it is not a jitdump file.
pub(crate) fn name(file: &File, named: &mut Named) -> io::Result<bool> {
    let (mut made, long) = records(file, named)?;
    while let Some(code) = made.pop() {
        let mut failed = None;
        named.cover(code.start, code.end, || {
            read_name(file, code.name).unwrap_or_else(|error| {
                failed = Some(error);
                Box::default()
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
    }
    Ok(long)
}

/// The code that covers an address of `named`, and whether there were too many records.
fn records(file: &File, named: &Named) -> io::Result<(Vec<Made>, bool)> {
    let len = file.metadata()?.len();
    let mut header = [0; HEADER as usize];
    file.read_exact_at(&mut header, 0)?;
    if u32_at(&header, 0) != MAGIC {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a jitdump file of this machine"));
    }
    let mut at = u64::from(u32_at(&header, 8)).max(HEADER);
    let mut made = Vec::new();
    let mut name_of: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
    for _ in 0..RECORDS_MAX {
        let mut record = [0; MOVED as usize];
        let there = len.saturating_sub(at).min(MOVED);
        if there < RECORD {
            return Ok((made, false));
        }
        file.read_exact_at(&mut record[..there as usize], at)?;
        let size = u64::from(u32_at(&record, 4));
        // The last record may be half written.
        if size < RECORD || size > len - at {
            return Ok((made, false));
        }
        let code = match u32_at(&record, 0) {
            LOAD if size > BEFORE_NAME => {
                let (start, code_len) = (u64_at(&record, 32), u64_at(&record, 40));
                let name = (at + BEFORE_NAME, (size - BEFORE_NAME).min(NAME_MAX));
                name_of.insert(u64_at(&record, 48), name);
                Some((start, code_len, name))
            }
            MOVE if size >= MOVED => {
                let name = name_of.get(&u64_at(&record, 56));
                name.map(|name| (u64_at(&record, 40), u64_at(&record, 48), *name))
            }
            _ => None,
        };
        if let Some((start, code_len, name)) = code
            && let Some(end) = start.checked_add(code_len)
            && named.any_in(start, end)
        {
            made.push(Made { start, end, name });
        }
        at += size;
    }
    Ok((made, at < len))
}

/// A name, which ends in a zero byte; the code follows.
fn read_name(file: &File, (at, len): (u64, u64)) -> io::Result<Box<str>> {
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, at)?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Ok(String::from_utf8_lossy(&bytes[..end]).into())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A jitdump file in the making.
    struct Dump(Vec<u8>);

    impl Dump {
        fn new() -> Self {
            let mut bytes = MAGIC.to_ne_bytes().to_vec();
            bytes.extend(1_u32.to_ne_bytes());
            bytes.extend((HEADER as u32).to_ne_bytes());
            bytes.resize(HEADER as usize, 0);
            Dump(bytes)
        }

        fn record(mut self, kind: u32, body: &[u8]) -> Self {
            self.0.extend(kind.to_ne_bytes());
            self.0.extend((RECORD as u32 + body.len() as u32).to_ne_bytes());
            self.0.extend([0; 8]);
            self.0.extend(body);
            self
        }

        fn load(self, index: u64, start: u64, len: u64, name: &str) -> Self {
            let mut body = vec![0; 8];
            [start, start, len, index].iter().for_each(|word| body.extend(word.to_ne_bytes()));
            body.extend(name.as_bytes());
            body.push(0);
            body.resize(body.len() + len.min(4096) as usize, 0xcc);
            self.record(LOAD, &body)
        }

        fn moved(self, index: u64, from: u64, to: u64, len: u64) -> Self {
            let mut body = vec![0; 8];
            [to, from, to, len, index].iter().for_each(|word| body.extend(word.to_ne_bytes()));
            self.record(MOVE, &body)
        }

        fn file(&self) -> File {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&self.0).unwrap();
            file
        }
    }

    fn named(file: &File, addresses: &[u64]) -> Vec<Option<String>> {
        let mut named = Named::new(addresses.iter().copied());
        name(file, &mut named).unwrap();
        addresses.iter().map(|address| named.of(*address).map(str::to_owned)).collect()
    }

    #[test]
    fn the_newest_code_at_an_address_is_valid_also_where_it_moved() {
        let dump = Dump::new()
            .load(1, 0x1000, 0x100, "first")
            .record(2, &[0; 40])
            .load(2, 0x2000, 0x10, "Lorg/Second;f()V")
            .moved(2, 0x2000, 0x1080, 0x10)
            .load(3, 0x1000, 0x10, "third")
            .moved(9, 0, 0x1000, 0x1000)
            .record(3, &[]);
        let found = named(&dump.file(), &[0x1000, 0x1010, 0x1080, 0x1090, 0x2000, 0x3000]);
        let expected = ["third", "first", "Lorg/Second;f()V", "first", "Lorg/Second;f()V"].map(Some);
        assert_eq!(found[..5].iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
        assert_eq!(found[5], None);
    }

    #[test]
    fn a_file_of_any_content_does_no_harm() {
        let whole = Dump::new().load(1, 0x1000, 0x100, "first").load(2, 0x2000, 0x10, "second");
        for len in HEADER as usize..whole.0.len() {
            let cut = Dump(whole.0[..len].to_vec());
            assert_eq!(named(&cut.file(), &[0x2000]), [None], "{len}");
        }
        // Lengths that lie.
        let lies = Dump::new().load(1, u64::MAX - 1, u64::MAX, "far").load(2, 0, u64::MAX, "all");
        assert_eq!(named(&lies.file(), &[0x2000]), [Some("all".to_owned())]);
        let mut endless = whole.0.clone();
        endless[44..48].copy_from_slice(&0_u32.to_ne_bytes());
        assert_eq!(named(&Dump(endless).file(), &[0x2000]), [None]);
        let mut named = Named::new([1].into_iter());
        assert!(name(&Dump(vec![0; 100]).file(), &mut named).is_err());
        assert!(name(&Dump(vec![1; 10]).file(), &mut named).is_err());
    }
}

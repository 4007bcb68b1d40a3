//! The reader of the files that the counted Python processes wrote. `monitor.py` describes the
//! format.
//!
//! The files are untrusted, since the measured program can write to them: each number is checked,
//! and nothing is read beyond the size of a valid file.

use anyhow::Context;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use sys::untrusted_file;

/// What the names of files end with.
const KNOWN: [&str; 3] = ["hits", "old", "failed"];
const MAGIC: u64 = 0x6477_656c_6c68_3031;
const WORD: usize = 8;
const FIRST_WORD: usize = 8;
const TEXT: u64 = 32 << 20;
const SIZE: u64 = TEXT + (64 << 20);
/// What is read of all files: a program may leave any number of them.
const ALL_MOST: u64 = 512 << 20;

/// What all functions and their lines may take in memory, in bytes: 150,000 functions.
const ROOM: u64 = 96 << 20;
/// What a function and a line take beside its text.
const FUNCTION_ROOM: u64 = 640;
const LINE_ROOM: u64 = 40;
/// Different reasons why processes could not count, and versions of Python.
const REASONS: usize = 50;
/// Characters of a version.
const VERSION: usize = 40;

/// A function: file, qualified name, first line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Function {
    pub(super) file: String,
    pub(super) name: String,
    pub(super) first_line: u32,
}

/// The counts of all processes.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Hits of each line of each executed function.
    pub(super) functions: BTreeMap<Function, BTreeMap<u32, u64>>,
    /// Processes that were counted, by Python's version.
    pub(super) versions: BTreeMap<String, u64>,
    /// Hits of lines that did not fit into the file.
    pub(super) lost: u64,
    /// Whether in some process a handler may have run uncounted while a hit was counted.
    pub(super) disturbed: bool,
    /// Python processes that could not count, by reason.
    pub(super) uncounted: BTreeMap<String, u64>,
    /// Why the program itself could not count, and was not run.
    pub(super) refused: Option<String>,
}

impl Counts {
    /// Reads all that is in `directory`.
    ///
    /// # Errors
    /// The directory itself cannot be read.
    pub(super) fn read(directory: &File, root: u32) -> anyhow::Result<Self> {
        let mut counts = Self::default();
        let failed = "cannot read the counts";
        let (mut left, mut room) = (ALL_MOST, ROOM);
        let listed = format!("/proc/self/fd/{}", directory.as_raw_fd());
        for entry in fs::read_dir(listed).context(failed)? {
            let path = PathBuf::from(entry.context(failed)?.file_name());
            let known = path.extension().is_some_and(|ending| KNOWN.iter().any(|known| *known == ending));
            // The counting modules make neither links nor pipes.
            let Some(file) = known.then(|| untrusted_file::open_in(directory, &path).ok()).flatten() else {
                continue;
            };
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("hits") if !counts.add_file(&file, &mut left, &mut room) => {
                    counts.not_counted("damaged count file".to_owned());
                }
                Some("old") => {
                    let (version, python) = note(&file);
                    let why =
                        format!("{python} is Python {version}; exact counts need 3.12 (sys.monitoring)");
                    if path.file_stem().is_some_and(|stem| *stem == *root.to_string()) {
                        counts.refused = Some(why.clone());
                    }
                    counts.not_counted(why);
                }
                Some("failed") => {
                    let (what, python) = note(&file);
                    counts.not_counted(format!("{python}: {what}"));
                }
                _ => {}
            }
        }
        Ok(counts)
    }

    /// Adds a process that could not count.
    fn not_counted(&mut self, why: String) {
        let is_new = self.uncounted.len() >= REASONS && !self.uncounted.contains_key(&why);
        let why = if is_new { "other reasons".to_owned() } else { why };
        *self.uncounted.entry(why).or_default() += 1;
    }

    /// All hits.
    pub(super) fn total(&self) -> u64 {
        self.functions.values().flat_map(BTreeMap::values).fold(0, |sum, hits| sum.saturating_add(*hits))
    }

    /// Adds the counts of one process; false if they cannot be read. `left`: bytes that may be;
    /// `room`: bytes that all counts may still take.
    fn add_file(&mut self, file: &File, left: &mut u64, room: &mut u64) -> bool {
        let mut head = [0; FIRST_WORD * WORD];
        if file.read_exact_at(&mut head, 0).is_err() {
            return false;
        }
        let word = |index: usize| words(&head).nth(index).unwrap_or(0);
        // A process that ended before its start-up was complete has no counts.
        if word(0) == 0 {
            return true;
        }
        let length = word(1);
        if word(0) != MAGIC || length > SIZE - TEXT || !take(left, length) {
            return false;
        }
        let mut text = vec![0; usize::try_from(length).unwrap_or(0)];
        if file.read_exact_at(&mut text, TEXT).is_err() {
            return false;
        }
        let text = String::from_utf8_lossy(&text);
        let last = last_word(&text).min(TEXT as usize / WORD);
        if !take(left, (last * WORD) as u64) {
            return false;
        }
        let mut hits = vec![0; last * WORD];
        if file.read_exact_at(&mut hits, 0).is_err() {
            return false;
        }
        self.add(&text, &words(&hits).collect::<Vec<u64>>(), room);
        self.lost = self.lost.saturating_add(word(2));
        self.disturbed |= word(3) == 0;
        true
    }

    /// Adds the counts of one process: the text of its file, and its words. For what there is no
    /// room, its hits are lost.
    fn add(&mut self, text: &str, words: &[u64], room: &mut u64) {
        let mut records = text.lines();
        let version = records.next().and_then(|head| head.split('\t').next()).unwrap_or_default();
        let version: String = unescaped(version).chars().take(VERSION).collect();
        if self.versions.len() < REASONS || self.versions.contains_key(&version) {
            *self.versions.entry(version).or_default() += 1;
        }
        for record in records {
            let Some((function, first_word, numbers)) = parsed(record) else { continue };
            let takes = FUNCTION_ROOM + (function.file.len() + function.name.len()) as u64;
            let is_known = self.functions.contains_key(&function);
            let mut lines =
                (is_known || take(room, takes)).then(|| self.functions.entry(function).or_default());
            for (index, line) in numbers.split(',').enumerate() {
                let Ok(line) = line.parse() else { continue };
                let hits = first_word.checked_add(index).and_then(|word| words.get(word));
                let hits = hits.copied().unwrap_or(0);
                let mut fits =
                    |lines: &BTreeMap<u32, u64>| lines.contains_key(&line) || take(room, LINE_ROOM);
                let sum = match &mut lines {
                    Some(lines) if fits(lines) => lines.entry(line).or_default(),
                    _ => &mut self.lost,
                };
                *sum = sum.saturating_add(hits);
            }
        }
    }
}

/// Takes this many of the bytes that are left; false, and none, if there are fewer.
fn take(left: &mut u64, bytes: u64) -> bool {
    let rest = left.checked_sub(bytes);
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

/// Reads a count file: its text, and behind the last zero byte of it the words.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzzed(file: &[u8]) {
    let at = file.iter().rposition(|byte| *byte == 0).unwrap_or(file.len());
    let text = String::from_utf8_lossy(&file[..at]);
    let _ = last_word(&text);
    let mut counts = Counts::default();
    counts.add(&text, &words(&file[at..]).collect::<Vec<u64>>(), &mut { ROOM });
    let _ = counts.total();
}

/// A record's function, the word of its first line, and its lines.
fn parsed(record: &str) -> Option<(Function, usize, &str)> {
    let mut fields = record.split('\t');
    let (file, name) = (unescaped(fields.next()?), unescaped(fields.next()?));
    let first_line = fields.next()?.parse().ok()?;
    let first_word = fields.next()?.parse().ok().filter(|word| *word >= FIRST_WORD)?;
    Some((Function { file, name, first_line }, first_word, fields.next()?))
}

/// The word after the last one of any line.
fn last_word(text: &str) -> usize {
    let ends = text.lines().filter_map(parsed);
    let ends = ends.map(|(_, first, numbers)| first.saturating_add(numbers.split(',').count()));
    ends.max().unwrap_or(0)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<WORD>().0.iter().map(|word| u64::from_ne_bytes(*word))
}

/// The note of a process without counts, and which Python it is.
fn note(file: &File) -> (String, String) {
    const LONGEST: u64 = 4096;
    let mut bytes = vec![0; LONGEST as usize];
    let read = file.read_at(&mut bytes, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..read]).trim_end().to_owned();
    let (what, python) = text.rsplit_once('\t').unwrap_or((&text, "a Python"));
    (what.replace('\t', ": "), python.to_owned())
}

/// Decodes Python's `unicode_escape`. An invalid escape becomes a replacement character.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let mut chars = after.chars();
        let kind = chars.next();
        rest = chars.as_str();
        let digits = match kind {
            Some('n') => {
                plain.push('\n');
                continue;
            }
            Some('t') => {
                plain.push('\t');
                continue;
            }
            Some('r') => {
                plain.push('\r');
                continue;
            }
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            Some(char) => {
                plain.push(char);
                continue;
            }
            None => break,
        };
        let number = rest.get(..digits).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        // A lone surrogate stands for a byte that is not UTF-8.
        plain.push(number.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = rest.get(digits..).unwrap_or_default();
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str) -> Function {
        Function { file: "/a b.py".into(), name: name.into(), first_line: 3 }
    }

    #[test]
    fn count_files_that_were_made_up_are_read_or_left() {
        seeds::replay("hits", fuzzed);
    }

    #[test]
    fn names_are_unescaped() {
        for (escaped, plain) in [
            (r"a\\n\tb\n", "a\\n\tb\n"),
            (r"na\xefve \u65e5 \U0001f600", "naïve 日 😀"),
            (r"\udce9.py", "\u{fffd}.py"),
            (r"cut \u65", "cut \u{fffd}"),
            ("é\\xé", "é\u{fffd}"),
            ("\\", ""),
        ] {
            assert_eq!(unescaped(escaped), plain, "{escaped:?}");
        }
    }

    #[test]
    fn the_processes_are_added_up() {
        let mut counts = Counts::default();
        let text = "3.13.0\t/p\n/a b.py\tf\t3\t8\t3,4\n/a b.py\tg\t3\t10\t5\n/a b.py\tf\t3\t11\t9\n";
        counts.add(text, &[0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4], &mut { ROOM });
        counts.add(text, &[0, 0, 0, 0, 0, 0, 0, 0, 10, 20, 30, 40], &mut { ROOM });
        assert_eq!(counts.functions[&function("f")], BTreeMap::from([(3, 11), (4, 22), (9, 44)]));
        assert_eq!(counts.functions[&function("g")], BTreeMap::from([(5, 33)]));
        assert_eq!(counts.versions, BTreeMap::from([("3.13.0".to_owned(), 2)]));
        assert_eq!(counts.total(), 110);
    }

    #[test]
    fn no_more_is_read_than_is_left() {
        let mut left = 10;
        assert!(take(&mut left, 7) && !take(&mut left, 4) && take(&mut left, 3));
        assert_eq!(left, 0);
    }

    #[test]
    fn what_takes_too_much_memory_is_lost_and_counted() {
        let mut counts = Counts::default();
        let text = "3.13.0\t/p\n/a b.py\tf\t3\t8\t3,4\n/a b.py\tg\t3\t10\t5\n";
        let words = [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4];
        // Room for one function and its first line.
        let mut room = FUNCTION_ROOM + 8 + LINE_ROOM;
        counts.add(text, &words, &mut room);
        assert_eq!(counts.functions, BTreeMap::from([(function("f"), BTreeMap::from([(3, 1)]))]));
        // What is known takes none.
        counts.add(text, &words, &mut room);
        assert_eq!((counts.functions[&function("f")][&3], counts.lost), (2, 12));
        for process in 0..200 {
            counts.not_counted(format!("reason {process}"));
            counts.add(&format!("version {process}\n"), &[], &mut room);
        }
        assert_eq!(counts.uncounted.len(), REASONS + 1);
        assert_eq!((counts.uncounted["other reasons"], counts.versions.len()), (150, REASONS));
    }

    #[test]
    fn an_untrusted_file_does_no_harm() {
        let mut counts = Counts::default();
        counts.add("", &[], &mut { ROOM });
        counts.add(
            "v\nx\ny\tz\nf\tg\t-1\t8\t1\nf\tg\t1\t1\t1\nf\tg\t1\t18446744073709551615\t1,2,x,,\n",
            &[7; 9],
            &mut { ROOM },
        );
        assert_eq!(counts.total(), 0);
        let top = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| fs::write(top.path().join(name), bytes).unwrap();
        file("1-1.hits", b"short");
        file("2-1.hits", &[0; 64]);
        file("3-1.hits", &[0xff; 64]);
        let mut head = [0; 64];
        head[..8].copy_from_slice(&MAGIC.to_ne_bytes());
        head[8..16].copy_from_slice(&(64_u64 << 20).to_ne_bytes());
        file("4-1.hits", &head);
        file("5.old", b"3.8.1\t/usr/bin/python3\n");
        file("6.failed", b"");
        std::os::unix::fs::symlink("/dev/zero", top.path().join("7-1.hits")).unwrap();
        let counts = Counts::read(&File::open(top.path()).unwrap(), 5).unwrap();
        assert_eq!(counts.uncounted["damaged count file"], 3);
        assert!(counts.refused.unwrap().starts_with("/usr/bin/python3 is Python 3.8.1; "));
        assert!(counts.functions.is_empty());
    }
}

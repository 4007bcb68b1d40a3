//! `/tmp/perf-PID.map`: symbols of JIT code (Node with `--perf-basic-prof`, Java agents, …).
//!
//! A program writes lines `START SIZE NAME` as it compiles. The file is opened when such code first
//! runs, because in a container only the living process gives access to it, and is read when the
//! process ends or symbols are looked up.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::sync::{Arc, Mutex};

/// The limit of bytes read of one file.
const BYTES_MAX: u64 = 16 << 20;

/// The limit of processes whose files are kept.
const MAPS_MAX: usize = 256;

/// The perf maps of all processes in which JIT code ran.
#[derive(Default)]
pub struct PerfMaps(Vec<Arc<PerfMap>>);

/// The perf map of one process.
pub(crate) struct PerfMap {
    pid: u32,
    reading: Mutex<Reading>,
}

#[derive(Default)]
struct Reading {
    file: Option<File>,
    /// By start address: start, end, name.
    names: Vec<(u64, u64, Box<str>)>,
    len: u64,
    /// The process has ended, and its PID may be reused.
    ended: bool,
}

impl PerfMaps {
    /// The map of a process, opened now if it exists already.
    pub(crate) fn of(&mut self, pid: u32) -> Arc<PerfMap> {
        let file = open(pid);
        let map = Arc::new(PerfMap { pid, reading: Mutex::new(Reading { file, ..Reading::default() }) });
        if self.0.len() < MAPS_MAX {
            self.0.push(Arc::clone(&map));
        }
        map
    }

    /// The name for an address. Where several processes have one, that of the last process.
    pub fn name(&self, address: u64) -> Option<String> {
        self.0.iter().rev().find_map(|map| map.name(address))
    }

    /// Reads all files again.
    pub(crate) fn keep(&self) {
        for map in &self.0 {
            map.keep();
        }
    }
}

impl PerfMap {
    /// The process has ended: reads the file for the last time.
    pub(crate) fn end(&self) {
        self.keep();
        let mut reading = self.reading.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        reading.file = None;
        reading.ended = true;
    }

    /// Reads the file again. Keeps the old content when it cannot be read.
    pub(crate) fn keep(&self) {
        let mut reading = self.reading.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if reading.ended {
            return;
        }
        if reading.file.is_none() {
            reading.file = open(self.pid);
        }
        let len = reading.file.as_ref().and_then(|file| Some(file.metadata().ok()?.len())).unwrap_or(0);
        if len > reading.len
            && let Some(file) = &mut reading.file
        {
            let names = file.rewind().map(|()| read(file)).unwrap_or_default();
            reading.names = names;
            reading.len = len;
        }
    }

    fn name(&self, address: u64) -> Option<String> {
        let reading = self.reading.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let next = reading.names.partition_point(|(start, _, _)| *start <= address);
        let (_, end, name) = reading.names.get(next.checked_sub(1)?)?;
        (address < *end).then(|| name.to_string())
    }
}

/// Opens the file of a process: in its root directory and by its PID in its own namespace, else in
/// ours.
fn open(pid: u32) -> Option<File> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let own = status.lines().find_map(|line| line.strip_prefix("NSpid:")?.split_ascii_whitespace().last());
    let inside = own.map(|own| format!("/proc/{pid}/root/tmp/perf-{own}.map"));
    let paths = inside.into_iter().chain([format!("/tmp/perf-{pid}.map")]);
    paths.into_iter().find_map(|path| {
        // Checked first: opening a pipe in its place would block.
        std::fs::metadata(&path).ok().filter(|seen| seen.is_file())?;
        File::open(&path).ok()
    })
}

/// All well-formed lines, by address. A later line replaces those whose start it covers.
fn read(file: &File) -> Vec<(u64, u64, Box<str>)> {
    let mut names = Vec::new();
    let mut lines = BufReader::new(file.take(BYTES_MAX));
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => names.extend(entry(&line)),
        }
    }
    // A stable sort: of entries with the same start, the last one is valid.
    names.sort_by_key(|(start, _, _)| *start);
    names.reverse();
    names.dedup_by_key(|(start, _, _)| *start);
    names.reverse();
    names
}

/// `START SIZE NAME`, numbers in hexadecimal, with or without `0x`.
fn entry(line: &[u8]) -> Option<(u64, u64, Box<str>)> {
    let line = String::from_utf8_lossy(line.trim_ascii_end());
    let mut fields = line.splitn(3, ' ');
    let mut number = || u64::from_str_radix(fields.next()?.trim_start_matches("0x"), 16).ok();
    let (start, len) = (number()?, number()?);
    Some((start, start.checked_add(len)?, fields.next()?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_last_name_for_an_address_is_the_valid_one() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(
            b"1000 10 old\nnonsense\n2000 8 LazyCompile:~f a.js:1\n0x1000 20 new\nffffffffffffffff 10 x\n",
        )
        .unwrap();
        let map = PerfMap { pid: 0, reading: Mutex::new(Reading { file: Some(file), ..Reading::default() }) };
        map.keep();
        assert_eq!(map.name(0x101f).as_deref(), Some("new"));
        assert_eq!(map.name(0x2007).as_deref(), Some("LazyCompile:~f a.js:1"));
        assert_eq!(map.name(0x2008), None);
        assert_eq!(map.name(0), None);
    }
}

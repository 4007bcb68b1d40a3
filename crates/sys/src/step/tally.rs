//! The counts: executions by address while the program runs, by module and offset in the end; and
//! the memory maps that relate the two.

use super::machine::{self, InstructionKind};
use std::collections::{BTreeMap, HashMap};
use std::fs;

/// The limit of distinct addresses. Only programs that generate code exceed it; the rest is summed.
const ADDRESSES_MAX: usize = 1 << 22;

/// A mapping of the address space.
#[derive(Debug, Clone)]
pub(super) struct Map {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The file offset of `start`.
    pub(super) offset: u64,
    pub(super) executable: bool,
    pub(super) dev: (u32, u32),
    pub(super) inode: u64,
    /// Empty for memory without a name.
    pub(super) path: String,
}

/// The mappings of a process; none when it has ended.
pub(super) fn maps(pid: libc::pid_t) -> Vec<Map> {
    // Paths may contain anything but a newline, which the kernel escapes.
    let text = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(parse_map).collect()
}

/// `7f00-7f10 r-xp 00001000 fe:00 1234    /lib/libc.so.6`.
fn parse_map(line: &str) -> Option<Map> {
    let (fields, path) = match line.find(['/', '[']) {
        Some(at) => line.split_at(at),
        None => (line, ""),
    };
    let mut fields = fields.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = (hex(start)?, hex(end)?);
    let executable = fields.next()?.contains('x');
    let offset = hex(fields.next()?)?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let part = |text: &str| u32::from_str_radix(text, 16).ok();
    let dev = (part(major)?, part(minor)?);
    let inode = fields.next()?.parse().ok()?;
    let path = path.strip_suffix(" (deleted)").unwrap_or(path).to_owned();
    Some(Map { start, end, offset, executable, dev, inode, path })
}

impl Map {
    pub(super) fn has(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// The address of an offset in the file, if this mapping has it.
    pub(super) fn address_of(&self, offset: u64) -> Option<u64> {
        let into = offset.checked_sub(self.offset)?;
        (into < self.end.checked_sub(self.start)?).then(|| self.start + into)
    }
}

/// One address.
#[derive(Debug, Clone, Copy)]
struct AddressCount {
    kind: InstructionKind,
    executions: u64,
    /// An index into the modules.
    module: usize,
    offset: u64,
}

/// All counts.
#[derive(Debug, Default)]
pub(super) struct Tally {
    entries: HashMap<u64, AddressCount>,
    /// Names of modules; empty for code outside of files.
    modules: Vec<String>,
    /// The memory maps, read again whenever an address is not in them.
    maps: Vec<Map>,
    done: BTreeMap<(usize, u64), u64>,
    pub(super) steps: u64,
    pub(super) unlisted: u64,
}

impl Tally {
    /// One execution of the instruction at `ip`. Its kind and mapping are looked up only the first
    /// time.
    pub(super) fn count(
        &mut self,
        ip: u64,
        code: impl FnOnce() -> [u8; machine::LOOKED_AT],
        maps: impl FnOnce() -> Vec<Map>,
    ) -> InstructionKind {
        self.steps += 1;
        if let Some(entry) = self.entries.get_mut(&ip) {
            entry.executions += 1;
            return entry.kind;
        }
        let kind = machine::kind(&code());
        if self.entries.len() >= ADDRESSES_MAX {
            self.unlisted += 1;
            return kind;
        }
        if !self.maps.iter().any(|map| map.has(ip)) {
            self.maps = maps();
        }
        let (path, offset) = match self.maps.iter().find(|map| map.has(ip)) {
            Some(map) => (map.path.as_str(), map.offset.wrapping_add(ip - map.start)),
            None => ("", ip),
        };
        let module = self.modules.iter().position(|module| module == path).unwrap_or_else(|| {
            self.modules.push(path.to_owned());
            self.modules.len() - 1
        });
        self.entries.insert(ip, AddressCount { kind, executions: 1, module, offset });
        kind
    }

    /// Removes the last execution of `ip`: it did not complete, and will be repeated.
    pub(super) fn take_back(&mut self, ip: u64) {
        if let Some(entry) = self.entries.get_mut(&ip) {
            self.steps = self.steps.saturating_sub(1);
            entry.executions = entry.executions.saturating_sub(1);
        }
    }

    /// After `execve`: addresses have another meaning from now on.
    pub(super) fn new_memory(&mut self) {
        for (_, entry) in self.entries.drain() {
            if entry.executions > 0 {
                *self.done.entry((entry.module, entry.offset)).or_default() += entry.executions;
            }
        }
        self.maps.clear();
    }

    /// The counts by module and offset in it.
    pub(super) fn finish(mut self) -> BTreeMap<String, BTreeMap<u64, u64>> {
        self.new_memory();
        let mut modules: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
        for ((module, offset), executions) in self.done {
            modules.entry(self.modules[module].clone()).or_default().insert(offset, executions);
        }
        modules
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_read_as_the_kernel_writes_them() {
        let map = parse_map("55e0-55f0 r-xp 00001000 fe:00 1234      /usr/bin/a b (deleted)").unwrap();
        assert_eq!((map.start, map.end, map.offset, map.inode), (0x55e0, 0x55f0, 0x1000, 1234));
        assert_eq!(map.dev, (0xfe, 0));
        assert!(map.executable && map.path == "/usr/bin/a b");
        assert_eq!(map.address_of(0x1008), Some(0x55e8));
        assert_eq!((map.address_of(0xfff), map.address_of(0x1010)), (None, None));
        assert_eq!(parse_map("7ffd-7ffe r-xp 00000000 00:00 0   [vdso]").unwrap().path, "[vdso]");
        assert_eq!(parse_map("7f00-7f01 rw-p 00000000 00:00 0 ").unwrap().path, "");
        assert!(parse_map("garbage").is_none());
    }

    #[test]
    fn what_is_taken_back_was_not_executed() {
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.count(0x10, || [0x90; 16], Vec::new);
        }
        tally.take_back(0x10);
        assert_eq!(tally.steps, 2);
        assert_eq!(tally.finish()[""], BTreeMap::from([(0x10, 2)]));
    }
}

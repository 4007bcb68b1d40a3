//! Names of Go functions, from `pclntab`, the table that every Go program has for its own stack
//! traces, even when stripped (`-ldflags=-s`). Layout as in Go's `src/debug/gosym/pclntab.go`,
//! since Go 1.18.

use std::ops::Range;
use std::time::{Duration, Instant};

use gimli::Reader;

use crate::image::Image;
use crate::window::Window;

/// The magic numbers of Go 1.18 and 1.20; later versions keep the second.
const MAGIC: [u32; 2] = [0xffff_fff0, 0xffff_fff1];

/// The longest name that is read.
const NAME_MAX: usize = 4 << 10;

/// Functions that are looked at; the largest programs have some 500,000.
const FUNCTIONS_MAX: u64 = 1 << 20;
/// How long: who reads a table has records to read as well.
const FUNCTIONS_WITHIN: Duration = Duration::from_millis(300);

/// The table of functions.
struct GoTable {
    /// Functions by address: offset from `text`, offset of its entry from here; 4 bytes each.
    functions: Window,
    count: u64,
    names: Window,
    /// The address to which offsets of code are relative.
    text: u64,
}

/// Names the addresses that have no name yet.
pub(crate) fn name(image: &Image, addresses: &[u64], names: &mut [Option<String>]) {
    let Some(table) = GoTable::read(image) else { return };
    for (address, name) in addresses.iter().zip(names) {
        if name.is_none() {
            *name = table.name(*address);
        }
    }
}

/// Whether the function at an address is the first on its stack: the start of a program, that of a
/// thread, or where a thread has left a goroutine, which has a stack of its own, to look for other
/// work. They are written in assembly, and have no caller although their call frame information
/// has one.
pub(crate) fn begins_stacks(image: &Image, address: u64) -> bool {
    const FIRST: [&str; 3] = ["runtime.clone", "runtime.mcall", "runtime.rt0_go"];
    let name = GoTable::read(image).and_then(|table| table.name(address));
    name.is_some_and(|name| FIRST.contains(&name.as_str()))
}

impl Image {
    /// Where these functions are in a Go program of version 1.18 or later, each by its whole name;
    /// none where this is no such program. Up to the next function; none that a table has only
    /// after more names than can be read in a while.
    pub fn go_functions<const N: usize>(&self, names: [&str; N]) -> Option<[Option<Range<u64>>; N]> {
        let table = GoTable::read(self)?;
        let mut found = [const { None }; N];
        self.bytes().set_deadline(Some(Instant::now() + FUNCTIONS_WITHIN));
        for at in 0..table.count.min(FUNCTIONS_MAX) {
            let Some((start, name)) = table.function(at) else { break };
            if let Some(which) = names.iter().position(|wanted| name == wanted.as_bytes()) {
                let end = table.entry(at + 1).map_or(start, |(end, _)| end);
                let address = |offset: u32| table.text.checked_add(u64::from(offset));
                found[which] = address(start).zip(address(end)).map(|(start, end)| start..end);
            }
        }
        self.bytes().set_deadline(None);
        Some(found)
    }
}

impl GoTable {
    fn read(image: &Image) -> Option<GoTable> {
        let section = image.section(b".gopclntab").or_else(|| image.section(b".data.rel.ro.gopclntab"))?;
        let whole = image.window(section);
        let mut header = whole.clone();
        if !MAGIC.contains(&header.read_u32().ok()?) || header.read_u32().ok()? >> 24 != 8 {
            return None;
        }
        let mut word = || header.read_u64().ok();
        let (count, _files, text) = (word()?, word()?, word()?);
        let (names, _units, _paths, _tables, functions) = (word()?, word()?, word()?, word()?, word()?);
        // It is relocated in position-independent programs, and Go 1.26 no longer writes it.
        let text = match text {
            0 => image.section(b".text")?.address,
            text => text,
        };
        Some(GoTable { functions: whole.from(functions), count, names: whole.from(names), text })
    }

    /// Offset of a function's code, and of what is told of it.
    fn entry(&self, at: u64) -> Option<(u32, u32)> {
        let mut entry = self.functions.from(at.checked_mul(8)?);
        Some((entry.read_u32().ok()?, entry.read_u32().ok()?))
    }

    /// Offset and name of a function.
    fn function(&self, at: u64) -> Option<(u32, Vec<u8>)> {
        let (start, told) = self.entry(at)?;
        let mut function = self.functions.from(u64::from(told));
        let _start = function.read_u32().ok()?;
        let name = self.names.from(u64::from(function.read_u32().ok()?)).text(NAME_MAX)?;
        Some((start, name.to_vec()))
    }

    fn name(&self, address: u64) -> Option<String> {
        let offset = u32::try_from(address.checked_sub(self.text)?).ok()?;
        // The entry after the last is the end of the code.
        let end = self.functions.from(self.count.checked_mul(8)?).read_u32().ok()?;
        if offset >= end || offset < self.entry(0)?.0 {
            return None;
        }
        let (mut low, mut high) = (0, self.count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.entry(middle)?.0 <= offset { low = middle } else { high = middle }
        }
        let (_, name) = self.function(low)?;
        (!name.is_empty()).then(|| String::from_utf8_lossy(&name).into_owned())
    }
}

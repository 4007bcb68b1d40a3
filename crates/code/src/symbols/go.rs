//! Names of Go functions, from `pclntab`, the table that every Go program has for its own stack
//! traces, even when stripped (`-ldflags=-s`). Layout as in Go's `src/debug/gosym/pclntab.go`,
//! since Go 1.18.

use gimli::Reader;

use crate::image::Image;
use crate::window::Window;

/// The magic numbers of Go 1.18 and 1.20; later versions keep the second.
const MAGIC: [u32; 2] = [0xffff_fff0, 0xffff_fff1];

/// The longest name that is read.
const NAME_MAX: usize = 4 << 10;

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

    fn name(&self, address: u64) -> Option<String> {
        let offset = u32::try_from(address.checked_sub(self.text)?).ok()?;
        let entry = |n: u64| -> Option<(u32, u32)> {
            let mut entry = self.functions.from(n.checked_mul(8)?);
            Some((entry.read_u32().ok()?, entry.read_u32().ok()?))
        };
        // The entry after the last is the end of the code.
        let end = self.functions.from(self.count.checked_mul(8)?).read_u32().ok()?;
        if offset >= end || offset < entry(0)?.0 {
            return None;
        }
        let (mut low, mut high) = (0, self.count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if entry(middle)?.0 <= offset { low = middle } else { high = middle }
        }
        let mut function = self.functions.from(u64::from(entry(low)?.1));
        let _start = function.read_u32().ok()?;
        let name = self.names.from(u64::from(function.read_u32().ok()?)).text(NAME_MAX)?;
        (!name.is_empty()).then(|| String::from_utf8_lossy(&name).into_owned())
    }
}

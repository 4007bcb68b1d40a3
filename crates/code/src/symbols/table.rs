//! Names from the symbol tables of an ELF file: one pass over them for all addresses, nothing kept.

use std::sync::Arc;

use crate::bytes::Bytes;
use crate::elf::{Arch, Elf, Section};
use crate::window::Window;

const SHT_SYMTAB: u32 = 2;
const SHT_DYNSYM: u32 = 11;
const SYMBOL: usize = 24;

/// The longest symbol name that is read.
const NAME_MAX: usize = 32 << 10;

/// The best symbol so far for an address.
#[derive(Clone)]
struct Symbol {
    start: u64,
    sized: bool,
    /// Higher is better: global, weak, local.
    binding: u8,
    name: Vec<u8>,
}

/// For each address (sorted), the raw name of the function that it is in; `names` keeps those that it has.
///
/// Stops where the file's deadline passes.
pub(crate) fn name(bytes: &Arc<Bytes>, elf: &Elf, addresses: &[u64], names: &mut [Option<String>]) {
    for kind in [SHT_SYMTAB, SHT_DYNSYM] {
        if names.iter().all(Option::is_some) {
            return;
        }
        let Some(table) = elf.sections.iter().find(|s| s.kind == kind && s.present()) else { continue };
        let Some(strings) = elf.sections.get(table.link as usize) else { continue };
        let mut search = Search {
            elf,
            strings: Window::new(bytes, strings.offset, strings.len),
            addresses,
            sized: vec![None; addresses.len()],
            nearest: vec![None; addresses.len()],
        };
        search.run(bytes, table);
        for (name, found) in names.iter_mut().zip(search.finish()) {
            if name.is_none() {
                *name = found;
            }
        }
    }
}

struct Search<'a> {
    elf: &'a Elf,
    strings: Window,
    addresses: &'a [u64],
    /// The symbol that covers an address.
    sized: Vec<Option<Symbol>>,
    /// The symbol without a size (of assembly) at or before an address, not yet handed on to later addresses.
    nearest: Vec<Option<Symbol>>,
}

impl Search<'_> {
    fn run(&mut self, bytes: &Bytes, table: &Section) {
        let mut at = table.offset;
        let end = table.offset.saturating_add(table.len).min(bytes.len());
        let mut partial = Vec::new();
        while at < end {
            let Ok(page) = bytes.page(at) else { return };
            let Some(rest) = page.from(at) else { return };
            let rest = &rest[..rest.len().min((end - at) as usize)];
            at += rest.len() as u64;
            // A symbol may begin on the page before.
            let missing = if partial.is_empty() { 0 } else { SYMBOL - partial.len() };
            let (head, rest) = rest.split_at(missing.min(rest.len()));
            partial.extend_from_slice(head);
            if let Some(symbol) = partial.first_chunk::<SYMBOL>() {
                self.consider(symbol);
                partial.clear();
            }
            let (symbols, tail) = rest.as_chunks::<SYMBOL>();
            for symbol in symbols {
                self.consider(symbol);
            }
            partial.extend_from_slice(tail);
        }
    }

    fn consider(&mut self, raw: &[u8; SYMBOL]) {
        let word = |at: usize| u64::from_le_bytes(raw[at..at + 8].try_into().unwrap_or_default());
        let name = word(0) as u32;
        let (kind, binding) = (raw[4] & 0xf, raw[4] >> 4);
        let section = u16::from_le_bytes([raw[6], raw[7]]);
        let (start, len) = (word(8), word(16));
        // Functions (also indirect ones) and labels of assembly.
        if !matches!(kind, 0 | 2 | 10) || section == 0 || start == 0 || name == 0 {
            return;
        }
        let first = self.addresses.partition_point(|address| *address < start);
        if first == self.addresses.len() {
            return;
        }
        let sized = len > 0;
        let mut symbol =
            Symbol { start, sized, binding: [0, 2, 1][usize::from(binding.min(2))], name: Vec::new() };
        if sized {
            let end = start.saturating_add(len);
            let mut at = first;
            while at < self.addresses.len() && self.addresses[at] < end {
                let slot = &mut self.sized[at];
                offer(&self.strings, name, &mut symbol, slot);
                at += 1;
            }
        } else if self.within_section(section, start, self.addresses[first]) {
            if self.elf.arch == Arch::Aarch64
                && self.strings.from(name.into()).text(1).is_none_or(|t| t == b"$")
            {
                return; // `$x` and `$d` only tell code from data
            }
            offer(&self.strings, name, &mut symbol, &mut self.nearest[first]);
        }
    }

    /// Whether an address is in the same section as a symbol.
    fn within_section(&self, section: u16, start: u64, address: u64) -> bool {
        let Some(section) = self.elf.sections.get(usize::from(section)) else { return false };
        let end = section.address.saturating_add(section.len);
        section.flags & 4 != 0 && start >= section.address && address < end
    }

    /// The names.
    fn finish(mut self) -> Vec<Option<String>> {
        for at in 1..self.nearest.len() {
            if self.nearest[at].is_none()
                && let Some(before) = self.nearest[at - 1].clone()
            {
                let section = |s: &Section| s.flags & 4 != 0 && before.start.wrapping_sub(s.address) < s.len;
                let section = self.elf.sections.iter().find(|s| section(s));
                let same = section.is_some_and(|s| self.addresses[at].wrapping_sub(s.address) < s.len);
                // Not across a function that has a size.
                let between = self.sized[at - 1].as_ref().is_some_and(|sized| sized.start > before.start);
                self.nearest[at] = (same && !between).then_some(before);
            }
        }
        let text = |symbol: Symbol| String::from_utf8_lossy(&symbol.name).into_owned();
        self.sized.into_iter().zip(self.nearest).map(|(sized, nearest)| sized.or(nearest).map(text)).collect()
    }
}

/// Puts a symbol into `slot` when it is better than what is there. Its name is read when that comes to matter.
fn offer(strings: &Window, name: u32, symbol: &mut Symbol, slot: &mut Option<Symbol>) {
    let read = |symbol: &mut Symbol| {
        if symbol.name.is_empty() {
            symbol.name = strings.from(name.into()).text(NAME_MAX).unwrap_or_default();
        }
        !symbol.name.is_empty()
    };
    let better = match slot {
        None => read(symbol),
        Some(old) if old.start != symbol.start => symbol.start > old.start && read(symbol),
        Some(old) => read(symbol) && rank(symbol) > rank(old),
    };
    if better {
        *slot = Some(symbol.clone());
    }
}

/// Of several names for one function: that with the fewest leading underscores, a global one, the shortest, and
/// then any, but always the same.
fn rank(symbol: &Symbol) -> impl Ord + '_ {
    let underscores = symbol.name.iter().take_while(|byte| **byte == b'_').count();
    let reverse = std::cmp::Reverse((underscores, symbol.name.len(), &symbol.name));
    (symbol.sized, std::cmp::Reverse(underscores), symbol.binding, reverse)
}

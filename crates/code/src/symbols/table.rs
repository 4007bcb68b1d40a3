//! Names from the symbol tables of an ELF file: one pass over them for all addresses, nothing kept.

use object::LittleEndian as Le;
use object::elf::{SHN_UNDEF, STB_GLOBAL, STB_WEAK, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, Sym64};

use crate::image::{Image, Section, SymbolTable, Symbols};

/// The best symbol so far for an address.
#[derive(Clone)]
struct Symbol {
    start: u64,
    sized: bool,
    /// Higher is better: global, weak, local.
    binding: u8,
    name: Vec<u8>,
}

/// For each address (sorted), the raw name of its function; existing entries of `names` are kept.
///
/// Stops at the file's deadline.
pub(crate) fn name(image: &Image, addresses: &[u64], names: &mut [Option<String>]) {
    for table in SymbolTable::BOTH {
        if names.iter().all(Option::is_some) {
            return;
        }
        let Some(mut symbols) = image.symbols(table) else { continue };
        let mut search = Search {
            image,
            addresses,
            sized: vec![None; addresses.len()],
            nearest: vec![None; addresses.len()],
        };
        while let Some(symbol) = symbols.next() {
            search.consider(&symbol, &mut symbols);
        }
        for (name, found) in names.iter_mut().zip(search.finish()) {
            if name.is_none() {
                *name = found;
            }
        }
    }
}

struct Search<'a> {
    image: &'a Image,
    addresses: &'a [u64],
    /// The symbol that covers an address.
    sized: Vec<Option<Symbol>>,
    /// The symbol without a size (from assembly) at or before an address, not yet passed on to
    /// later addresses.
    nearest: Vec<Option<Symbol>>,
}

impl Search<'_> {
    fn consider(&mut self, raw: &Sym64<Le>, symbols: &mut Symbols) {
        let section = raw.st_shndx.get(Le);
        let (start, len) = (raw.st_value.get(Le), raw.st_size.get(Le));
        // Functions (also indirect ones) and labels of assembly.
        let kind = raw.st_type();
        if !matches!(kind, STT_NOTYPE | STT_FUNC | STT_GNU_IFUNC)
            || section == SHN_UNDEF
            || start == 0
            || raw.st_name.get(Le) == 0
        {
            return;
        }
        let first = self.addresses.partition_point(|address| *address < start);
        if first == self.addresses.len() {
            return;
        }
        let binding = match raw.st_bind() {
            STB_GLOBAL => 2,
            STB_WEAK.. => 1,
            _ => 0,
        };
        let sized = len > 0;
        let mut symbol = Symbol { start, sized, binding, name: Vec::new() };
        if sized {
            let end = start.saturating_add(len);
            let covered = self.addresses[first..].iter().take_while(|address| **address < end).count();
            for slot in &mut self.sized[first..first + covered] {
                offer(symbols, raw, &mut symbol, slot);
            }
        } else if self.within_section(section, start, self.addresses[first]) {
            if self.image.arch.links() && symbols.name(raw).is_none_or(is_mark) {
                return;
            }
            offer(symbols, raw, &mut symbol, &mut self.nearest[first]);
        }
    }

    /// Whether an address is in the same section as a symbol.
    fn within_section(&self, section: u16, start: u64, address: u64) -> bool {
        let Some(section) = self.image.sections.get(usize::from(section)) else { return false };
        let end = section.address.saturating_add(section.len);
        section.executable() && start >= section.address && address < end
    }

    /// The names.
    fn finish(mut self) -> Vec<Option<String>> {
        for at in 1..self.nearest.len() {
            if self.nearest[at].is_none()
                && let Some(before) = self.nearest[at - 1].clone()
            {
                let has_start = |section: &&Section| section.executable() && section.contains(before.start);
                let section = self.image.sections.iter().find(has_start);
                let same = section.is_some_and(|section| section.contains(self.addresses[at]));
                // Not across a function that has a size.
                let between = self.sized[at - 1].as_ref().is_some_and(|sized| sized.start > before.start);
                self.nearest[at] = (same && !between).then_some(before);
            }
        }
        let text = |symbol: Symbol| String::from_utf8_lossy(&symbol.name).into_owned();
        self.sized.into_iter().zip(self.nearest).map(|(sized, nearest)| sized.or(nearest).map(text)).collect()
    }
}

/// Puts a symbol into `slot` when it is better than the current one. Its name is read only when
/// needed.
/// Whether a symbol only marks code and data (`$x`, `$d`), or a place that the linker needed.
fn is_mark(name: &[u8]) -> bool {
    name.starts_with(b"$") || name.starts_with(b".L")
}

fn offer(symbols: &mut Symbols, raw: &Sym64<Le>, symbol: &mut Symbol, slot: &mut Option<Symbol>) {
    let mut read = |symbol: &mut Symbol| {
        if symbol.name.is_empty() {
            symbol.name = symbols.name(raw).unwrap_or_default().to_vec();
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

/// The order of several names for one function: fewest leading underscores, global, shortest, then
/// any but deterministic.
fn rank(symbol: &Symbol) -> impl Ord + '_ {
    let underscores = symbol.name.iter().take_while(|byte| **byte == b'_').count();
    let reverse = std::cmp::Reverse((underscores, symbol.name.len(), &symbol.name));
    (symbol.sized, std::cmp::Reverse(underscores), symbol.binding, reverse)
}

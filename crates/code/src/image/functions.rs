//! The functions of an image: found by name or address, with their machine code.
//!
//! With symbols in a separate file, names come from that one and code from the other: both have the
//! same addresses.

use std::collections::BTreeSet;
use std::ops::Range;

use model::name::Match;
use object::LittleEndian as Le;
use object::elf::{SHN_LORESERVE, SHN_UNDEF, SHN_XINDEX, STT_FUNC, STT_GNU_IFUNC};

use super::headers::{Error, Image};
use super::symbols::SymbolTable;
use crate::name::{bare, signature};

/// A function longer than this is a damaged symbol.
const SIZE_MAX: u64 = 16 << 20;

/// What the symbol of a cold part ends in, after that of its function.
const COLD: &str = ".cold";

/// The limit of functions that match a name; beyond it, the name was too short.
const FOUND_MAX: usize = 100;

/// A function of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its symbol.
    pub symbol: String,
    /// Its name as in the source. Untrusted until escaped, as the symbol is.
    pub name: String,
    /// Its addresses in the file. Where the symbol has no size, up to the next symbol.
    pub code: Range<u64>,
    /// The cold part, which the compiler moved elsewhere: `name.cold`.
    pub cold: Option<Range<u64>>,
    /// Its symbol has a size.
    pub sized: bool,
}

impl Function {
    /// The addresses of its code.
    pub fn ranges(&self) -> impl Iterator<Item = &Range<u64>> {
        std::iter::once(&self.code).chain(&self.cold)
    }
}

impl Image {
    /// The functions that `name` may mean: those that match best, by address. It is a symbol, or a
    /// name as it is in the source, with or without its path and parameters, or a part of such a
    /// name. At most 100.
    pub fn find(&self, name: &str) -> Vec<Function> {
        self.matching(name, Match::Part, true)
    }

    /// The same without functions of which it is only a part of the name, and without names that
    /// stand for one of several functions (STT_GNU_IFUNC).
    pub fn named(&self, name: &str) -> Vec<Function> {
        self.matching(name, Match::Last, false)
    }

    fn matching(&self, name: &str, mut best: Match, chosen: bool) -> Vec<Function> {
        let mut found: Vec<(u64, String, u64)> = Vec::new();
        self.each_function(chosen, |symbol, address, size| {
            let Some(kind) = matched(name, symbol).filter(|kind| *kind <= best) else { return };
            if kind < best {
                found.clear();
                best = kind;
            }
            found.push((address, symbol.to_owned(), size));
        });
        // Aliases of one function are one; one with a size is preferred.
        found.sort_by(|a, b| (a.0, u64::MAX - a.2, &a.1).cmp(&(b.0, u64::MAX - b.2, &b.1)));
        found.dedup_by_key(|(address, ..)| *address);
        // A cold part is not another function.
        let symbols: BTreeSet<String> = found.iter().map(|(_, symbol, _)| symbol.clone()).collect();
        found.retain(|(_, symbol, _)| symbol.strip_suffix(COLD).is_none_or(|of| !symbols.contains(of)));
        found.truncate(FOUND_MAX);
        found.into_iter().map(|(address, symbol, size)| self.function(symbol, address, size)).collect()
    }

    /// The function that contains an address.
    pub fn at(&self, address: u64) -> Option<Function> {
        let mut nearest: Option<(u64, u64, String)> = None;
        self.each_function(true, |symbol, start, size| {
            let has = start <= address && (size == 0 || address - start < size);
            if has && nearest.as_ref().is_none_or(|known| (start, size) >= (known.0, known.1)) {
                nearest = Some((start, size, symbol.to_owned()));
            }
        });
        let (start, size, symbol) = nearest?;
        Some(self.function(symbol, start, size)).filter(|function| function.code.contains(&address))
    }

    /// The bytes at these addresses.
    ///
    /// # Errors
    /// The file has no such code.
    pub fn code(&self, addresses: &Range<u64>) -> Result<Vec<u8>, Error> {
        let size = addresses.end.checked_sub(addresses.start).filter(|size| *size <= SIZE_MAX);
        let read = |size: u64| {
            self.sections.iter().filter(|section| section.present()).find_map(|section| {
                let skip = addresses.start.checked_sub(section.address)?;
                section.len.checked_sub(skip).filter(|room| *room >= size)?;
                self.bytes().read(section.offset.checked_add(skip)?, size, SIZE_MAX).ok()
            })
        };
        size.and_then(read).ok_or(Error::NoCode(addresses.start))
    }

    /// Symbols of code that the file itself defines: name, address, size. `chosen`: also of
    /// functions that choose another one when the file is loaded.
    fn each_function(&self, chosen: bool, mut found: impl FnMut(&str, u64, u64)) {
        for mut symbols in SymbolTable::BOTH.into_iter().filter_map(|kind| self.symbols(kind)) {
            while let Some(symbol) = symbols.next() {
                let section = symbol.st_shndx.get(Le);
                let defined = section != SHN_UNDEF && (section < SHN_LORESERVE || section == SHN_XINDEX);
                let is_function = symbol.st_type() == STT_FUNC || chosen && symbol.st_type() == STT_GNU_IFUNC;
                if !defined || !is_function {
                    continue;
                }
                let name = symbols.name(&symbol).and_then(|name| std::str::from_utf8(name).ok());
                if let Some(name) = name.filter(|name| !name.is_empty() && !name.starts_with('$')) {
                    found(name, symbol.st_value.get(Le), symbol.st_size.get(Le));
                }
            }
        }
    }

    fn function(&self, symbol: String, address: u64, size: u64) -> Function {
        let cold_name = format!("{symbol}{COLD}");
        let mut cold = None;
        // From an address to the next symbol, or the end of its section.
        let section = self.sections.iter().filter(|section| section.contains(address));
        let mut end = section.map(|section| section.address.saturating_add(section.len)).next();
        self.each_function(true, |name, start, size| {
            if cold.is_none() && size > 0 && name == cold_name {
                cold = start.checked_add(size.min(SIZE_MAX)).map(|end| start..end);
            }
            if start > address {
                end = Some(end.map_or(start, |end| end.min(start)));
            }
        });
        let sized = size > 0;
        let size = if sized { size } else { end.map_or(0, |end| end - address) };
        let code = address..address.saturating_add(size.min(SIZE_MAX));
        Function { name: signature(&symbol), symbol, code, cold, sized }
    }
}

/// How well a symbol matches the requested name.
fn matched(wanted: &str, symbol: &str) -> Option<Match> {
    if symbol == wanted {
        return Some(Match::Exact);
    }
    let name = signature(symbol);
    Match::of(wanted, &name, bare(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_match_as_people_write_them() {
        for (wanted, symbol, expected) in [
            ("main", "main", Some(Match::Exact)),
            ("work", "work.constprop.0", Some(Match::Bare)),
            ("main.work", "main.work", Some(Match::Exact)),
            ("work", "main.work", Some(Match::Last)),
            ("grid::step", "_ZN4grid4stepEi", Some(Match::Bare)),
            ("grid::step(int)", "_ZN4grid4stepEi", Some(Match::Exact)),
            ("step", "_ZN4grid4stepEi", Some(Match::Last)),
            ("ste", "_ZN4grid4stepEi", Some(Match::Part)),
            ("grid::step", "_ZN4grid4stepEi.isra.0", Some(Match::Bare)),
            ("core::fmt::write", "_ZN4core3fmt5write17h0123456789abcdefE", Some(Match::Exact)),
            ("other", "main", None),
            ("", "main", None),
        ] {
            assert_eq!(matched(wanted, symbol), expected, "{wanted} for {symbol}");
        }
    }

    #[test]
    fn what_is_no_elf_file_is_an_error() {
        assert_eq!(Image::of_memory(b"#!/bin/sh\n".to_vec()).unwrap_err(), Error::NotElf);
        assert_eq!(Image::of_memory(Vec::new()).unwrap_err(), Error::NotElf);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn a_damaged_file_gives_errors_only(
            at in 0_usize..4096,
            bytes in proptest::collection::vec(any::<u8>(), 1..16),
        ) {
            let mut data = std::fs::read(std::env::current_exe().unwrap()).unwrap();
            data.truncate(1 << 20);
            // The header, where the tables are, most of all.
            let at = if at % 2 == 0 { at % 64 } else { at };
            for (place, byte) in data[at..].iter_mut().zip(bytes) {
                *place = byte;
            }
            if let Ok(image) = Image::of_memory(data) {
                for function in image.find("main").into_iter().take(3) {
                    let _ = image.code(&function.code);
                }
                let _ = (image.at(0x1000), image.offset_of(0x1000), image.address_of(0x1000));
                let _ = (image.needs("libc"), image.bytes_at(0x1000, 8), image.section_address(".text"));
            }
        }
    }
}

//! Functions of ELF files: found by name or address, with their machine code.
//!
//! Nothing is read but headers, symbols and the code asked for, so the file may be a reader of parts
//! (`object::ReadCache`) instead of its bytes. With symbols in a file of their own, names come from that one and
//! code from the other: both count addresses alike.

use crate::instruction::Arch;
use object::read::ReadRef;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use std::ops::Range;

/// A function longer than this is a damaged symbol.
const SIZE_MAX: u64 = 16 << 20;

/// More functions than this are not told apart by anyone: the name was too short.
const FOUND_MAX: usize = 100;

/// Why a file has no functions for us.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// It is no ELF file, or a damaged one.
    #[error("cannot read it as an ELF file: {0}")]
    Damaged(String),
    /// Neither x86_64 nor aarch64.
    #[error("its machine code is neither x86_64 nor aarch64")]
    OtherArch,
    /// The file has no code there: it holds symbols only, or is damaged.
    #[error("the file has no code at {0:#x}")]
    NoCode(u64),
}

/// A function of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its symbol.
    pub symbol: String,
    /// Its name in the source's terms. Hostile until escaped, as the symbol is.
    pub name: String,
    /// Addresses, as the file counts. Where the symbol does not tell a size they go up to the next symbol.
    pub code: Range<u64>,
    /// What the compiler moved elsewhere because it is seldom executed: `name.cold`.
    pub cold: Option<Range<u64>>,
}

/// How well a name fits; better ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Exact,
    /// But for what compilers append (`.constprop.0`), or parameters, or a hash.
    Bare,
    /// Its last parts: `b::c` of `a::b::c`.
    Last,
    Inside,
}

/// An ELF file.
#[derive(Debug)]
pub struct Elf<'d, R: ReadRef<'d>> {
    file: object::File<'d, R>,
    arch: Arch,
}

impl<'d, R: ReadRef<'d>> Elf<'d, R> {
    /// Reads the headers.
    ///
    /// # Errors
    /// It is no ELF file, or of another machine.
    pub fn parse(data: R) -> Result<Self, Error> {
        let file = object::File::parse(data).map_err(|error| Error::Damaged(error.to_string()))?;
        let arch = match file.architecture() {
            object::Architecture::X86_64 => Arch::X86_64,
            object::Architecture::Aarch64 if file.is_little_endian() => Arch::Aarch64,
            _ => return Err(Error::OtherArch),
        };
        Ok(Elf { file, arch })
    }

    /// Its instruction set.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Whether it names functions at all.
    pub fn has_symbols(&self) -> bool {
        self.symbols().next().is_some()
    }

    /// The functions that `name` may mean: those that fit best, by address. It is a symbol, or a name as it is
    /// in the source, with or without its path and parameters, or a part of such a name. At most 100.
    pub fn find(&self, name: &str) -> Vec<Function> {
        let mut best = Fit::Inside;
        let mut found: Vec<(u64, String, u64)> = Vec::new();
        for (symbol, address, size) in self.symbols() {
            let Some(fit) = fit(name, symbol).filter(|fit| *fit <= best) else { continue };
            if fit < best {
                found.clear();
                best = fit;
            }
            found.push((address, symbol.to_owned(), size));
        }
        // Aliases of one function are one; the one with a size knows best.
        found.sort_by(|a, b| (a.0, u64::MAX - a.2, &a.1).cmp(&(b.0, u64::MAX - b.2, &b.1)));
        found.dedup_by_key(|(address, ..)| *address);
        found.truncate(FOUND_MAX);
        found.into_iter().map(|(address, symbol, size)| self.function(symbol, address, size)).collect()
    }

    /// The function that has an address.
    pub fn at(&self, address: u64) -> Option<Function> {
        let before = self
            .symbols()
            .filter(|(_, start, size)| *start <= address && (*size == 0 || address - start < *size));
        let (symbol, start, size) = before.max_by_key(|(_, start, size)| (*start, *size))?;
        Some(self.function(symbol.to_owned(), start, size))
            .filter(|function| function.code.contains(&address))
    }

    /// The bytes at these addresses.
    ///
    /// # Errors
    /// The file has no such code.
    pub fn code(&self, addresses: &Range<u64>) -> Result<&'d [u8], Error> {
        let missing = || Error::NoCode(addresses.start);
        let size = addresses
            .end
            .checked_sub(addresses.start)
            .filter(|size| *size <= SIZE_MAX)
            .ok_or_else(missing)?;
        self.file
            .sections()
            .filter(|section| section.file_range().is_some())
            .find_map(|section| section.data_range(addresses.start, size).ok().flatten())
            .ok_or_else(missing)
    }

    /// Where an address is in the file.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        self.file.segments().find_map(|segment| {
            let (offset, size) = segment.file_range();
            let into = address.checked_sub(segment.address()).filter(|into| *into < size)?;
            offset.checked_add(into)
        })
    }

    /// The address of what is at an offset in the file.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        self.file.segments().find_map(|segment| {
            let (start, size) = segment.file_range();
            let into = offset.checked_sub(start).filter(|into| *into < size)?;
            segment.address().checked_add(into)
        })
    }

    /// Symbols of code: name, address, size.
    fn symbols(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let all = self.file.symbols().chain(self.file.dynamic_symbols());
        all.filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text)
            .filter_map(|symbol| Some((symbol.name().ok()?, symbol.address(), symbol.size())))
            .filter(|(name, ..)| !name.is_empty() && !name.starts_with('$'))
    }

    fn function(&self, symbol: String, address: u64, size: u64) -> Function {
        let name = demangled(&symbol);
        let cold_name = format!("{symbol}.cold");
        let cold = self.symbols().find(|(name, _, size)| *name == cold_name && *size > 0);
        let cold = cold.and_then(|(_, start, size)| Some(start..start.checked_add(size.min(SIZE_MAX))?));
        let size = if size > 0 { size } else { self.room_after(address) };
        let code = address..address.saturating_add(size.min(SIZE_MAX));
        Function { symbol, name, code, cold }
    }

    /// From an address to the next symbol, or the end of its section.
    fn room_after(&self, address: u64) -> u64 {
        let next = self.symbols().map(|(_, start, _)| start).filter(|start| *start > address).min();
        let section = self.file.sections().find_map(|section| {
            let end = section.address().checked_add(section.size())?;
            (section.address()..end).contains(&address).then_some(end)
        });
        next.into_iter().chain(section).min().map_or(0, |end| end - address)
    }
}

/// A symbol as its source has it; itself where it is not mangled, or not well.
fn demangled(symbol: &str) -> String {
    // What is longer is made to be long.
    if symbol.len() > 4096 {
        return symbol.to_owned();
    }
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    if symbol.starts_with("_Z") {
        let (mangled, suffix) =
            symbol.split_once('.').map_or((symbol, ""), |(mangled, suffix)| (mangled, suffix));
        let name = cpp_demangle::Symbol::new(mangled).ok().and_then(|name| name.demangle().ok());
        if let Some(name) = name.filter(|name| name.len() <= 1 << 16) {
            return if suffix.is_empty() { name } else { format!("{name} [.{suffix}]") };
        }
    }
    symbol.to_owned()
}

fn fit(wanted: &str, symbol: &str) -> Option<Fit> {
    if symbol == wanted {
        return Some(Fit::Exact);
    }
    let name = demangled(symbol);
    if name == wanted {
        return Some(Fit::Exact);
    }
    let bare = bare(&name);
    if bare == wanted {
        Some(Fit::Bare)
    } else if bare.strip_suffix(wanted).is_some_and(|path| path.ends_with("::") || path.ends_with('.')) {
        Some(Fit::Last)
    } else if name.contains(wanted) {
        Some(Fit::Inside)
    } else {
        None
    }
}

/// A name without parameters and without what a compiler appended.
fn bare(name: &str) -> &str {
    let name = name.split_once(" [.").map_or(name, |(name, _)| name);
    let name = match name.find('(') {
        // `(anonymous namespace)::f()` begins with a bracket that is no parameter's.
        Some(at) if at > 0 && !name[at..].starts_with("(anonymous") => &name[..at],
        _ => name,
    };
    let appended = [".constprop.", ".isra.", ".part.", ".cold", ".llvm.", ".lto_priv."];
    let end = appended.iter().filter_map(|suffix| name.find(suffix)).min();
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_fit_as_people_write_them() {
        for (wanted, symbol, expected) in [
            ("main", "main", Some(Fit::Exact)),
            ("work", "work.constprop.0", Some(Fit::Bare)),
            ("main.work", "main.work", Some(Fit::Exact)),
            ("work", "main.work", Some(Fit::Last)),
            ("grid::step", "_ZN4grid4stepEi", Some(Fit::Bare)),
            ("grid::step(int)", "_ZN4grid4stepEi", Some(Fit::Exact)),
            ("step", "_ZN4grid4stepEi", Some(Fit::Last)),
            ("ste", "_ZN4grid4stepEi", Some(Fit::Inside)),
            ("grid::step", "_ZN4grid4stepEi.isra.0", Some(Fit::Bare)),
            ("core::fmt::write", "_ZN4core3fmt5write17h0123456789abcdefE", Some(Fit::Exact)),
            ("other", "main", None),
        ] {
            assert_eq!(fit(wanted, symbol), expected, "{wanted} for {symbol}");
        }
    }

    #[test]
    fn what_is_no_elf_file_is_said_so() {
        assert!(matches!(Elf::parse(&b"#!/bin/sh\n"[..]), Err(Error::Damaged(_))));
        assert!(matches!(Elf::parse(&b""[..]), Err(Error::Damaged(_))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn a_damaged_file_gives_errors_only(at in 0_usize..4096, bytes in proptest::collection::vec(any::<u8>(), 1..16)) {
            let mut data = std::fs::read(std::env::current_exe().unwrap()).unwrap();
            data.truncate(1 << 20);
            // The header, where the tables are, most of all.
            let at = if at % 2 == 0 { at % 64 } else { at };
            for (place, byte) in data[at..].iter_mut().zip(bytes) {
                *place = byte;
            }
            if let Ok(elf) = Elf::parse(&*data) {
                for function in elf.find("main").into_iter().take(3) {
                    let _ = elf.code(&function.code);
                }
                let _ = (elf.at(0x1000), elf.offset_of(0x1000), elf.address_of(0x1000), elf.has_symbols());
            }
        }
    }
}

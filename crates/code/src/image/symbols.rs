//! The symbols of an image, read one after another: a table may be too large to hold in memory.

use gimli::Reader;
use object::LittleEndian as Le;
use object::elf::{SHN_UNDEF, SHT_DYNSYM, SHT_SYMTAB, Sym64};

use super::headers::{Image, structure};
use crate::bytes::FilePage;
use crate::window::Window;

/// The longest symbol table that is read; the largest programs have a tenth of it.
const TABLE_MAX: u64 = 256 << 20;

/// The longest that is searched for one name; a Python has 2 MB.
const SEARCHED_MAX: u64 = 64 << 20;

/// The longest name that is read.
const NAME_MAX: usize = 32 << 10;

/// One of the two symbol tables that a file may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolTable {
    /// All symbols; a stripped file has none (`.symtab`).
    All,
    /// Those for the dynamic linker (`.dynsym`).
    Exported,
}

impl SymbolTable {
    /// Both, the larger one first.
    pub(crate) const BOTH: [SymbolTable; 2] = [SymbolTable::All, SymbolTable::Exported];
}

/// The unread part of a symbol table, with its names.
pub(crate) struct Symbols {
    table: Window,
    names: Window,
    /// The page with the last name: names of adjacent symbols are adjacent.
    page: Option<FilePage>,
    /// A name that crosses a page boundary.
    joined: Vec<u8>,
}

impl Image {
    /// The symbols of a table, if it has content and a sane size.
    pub(crate) fn symbols(&self, table: SymbolTable) -> Option<Symbols> {
        let kind = match table {
            SymbolTable::All => SHT_SYMTAB,
            SymbolTable::Exported => SHT_DYNSYM,
        };
        let table = self.sections.iter().find(|section| section.kind == kind && section.present())?;
        let names = self.sections.get(table.link as usize)?;
        (table.len <= TABLE_MAX).then(|| Symbols {
            table: self.window(table),
            names: self.window(names),
            page: None,
            joined: Vec::new(),
        })
    }

    /// Address and size of the symbol with this name in a table, if the file itself defines it.
    pub fn symbol(&self, table: SymbolTable, name: &str) -> Option<(u64, u64)> {
        let mut symbols = self.symbols(table)?;
        if symbols.table.len() as u64 > SEARCHED_MAX {
            return None;
        }
        while let Some(symbol) = symbols.next() {
            if symbol.st_shndx.get(Le) != SHN_UNDEF && symbols.name(&symbol) == Some(name.as_bytes()) {
                return Some((symbol.st_value.get(Le), symbol.st_size.get(Le)));
            }
        }
        None
    }
}

impl Symbols {
    /// The next symbol; none at the end of the table or file, or after the deadline.
    pub(crate) fn next(&mut self) -> Option<Sym64<Le>> {
        if self.table.is_empty() {
            return None;
        }
        structure(&mut self.table).ok()
    }

    /// Its name, at most 32 KiB of it; none where it cannot be read.
    pub(crate) fn name(&mut self, symbol: &Sym64<Le>) -> Option<&[u8]> {
        let rest = self.names.from(symbol.st_name.get(Le).into());
        let at = rest.start();
        if self.page.as_ref().is_none_or(|page| page.from(at).is_none()) {
            self.page = Some(rest.bytes().page(at).ok()?);
        }
        let here = self.page.as_ref()?.from(at)?;
        let here = &here[..here.len().min(rest.len()).min(NAME_MAX)];
        match here.iter().position(|byte| *byte == 0) {
            Some(end) => Some(&here[..end]),
            None => {
                self.joined = rest.text(NAME_MAX)?;
                Some(&self.joined)
            }
        }
    }
}

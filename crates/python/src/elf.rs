//! The few parts of an ELF file that tell what it is. The file is the measured program's: tables are bounded.

use object::elf::{
    DT_NEEDED, FileHeader64, PF_X, PT_LOAD, SHN_UNDEF, SHT_DYNAMIC, SHT_DYNSYM, SectionHeader64, Sym64,
};
use object::read::SectionIndex;
use object::read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _, SectionTable};
use object::{LittleEndian, ReadRef};

/// A part of the file that is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) executable: bool,
}

/// Segments that are looked at: a linker makes four or five.
const LOADS_MAX: usize = 64;
/// Bytes of a table of symbols, or of their names. An interpreter has 2 MB.
const SYMBOLS_MAX: u64 = 64 << 20;

/// The parts of a file that are looked at.
pub(crate) struct Elf<'data, R: ReadRef<'data>> {
    data: R,
    sections: SectionTable<'data, FileHeader64<LittleEndian>, R>,
    pub(crate) exported: Option<Symbols<'data>>,
    pub(crate) loads: Vec<Load>,
}

impl<'data, R: ReadRef<'data>> Elf<'data, R> {
    pub(crate) fn parse(data: R) -> Option<Self> {
        let header = FileHeader64::<LittleEndian>::parse(data).ok()?;
        header.is_little_endian().then_some(())?;
        // Where there are more than these 16 bits can say, the file could have us read any amount.
        (header.e_shnum(LittleEndian) > 0 && header.e_phnum(LittleEndian) < u16::MAX).then_some(())?;
        let segments = header.program_headers(LittleEndian, data).ok()?.iter();
        let loads = segments.filter(|segment| segment.p_type(LittleEndian) == PT_LOAD).take(LOADS_MAX);
        let loads = loads.map(|segment| Load {
            address: segment.p_vaddr(LittleEndian),
            offset: segment.p_offset(LittleEndian),
            len: segment.p_filesz(LittleEndian),
            executable: segment.p_flags(LittleEndian) & PF_X != 0,
        });
        let loads = loads.collect();
        let sections = header.sections(LittleEndian, data).ok()?;
        let mut elf = Self { data, sections, exported: None, loads };
        elf.exported = elf.symbols(SHT_DYNSYM);
        Some(elf)
    }

    /// All symbols of a section of this type, the first such.
    pub(crate) fn symbols(&self, kind: u32) -> Option<Symbols<'data>> {
        let small = |section: &&SectionHeader64<LittleEndian>| section.sh_size(LittleEndian) <= SYMBOLS_MAX;
        let section =
            self.sections.iter().find(|section| section.sh_type(LittleEndian) == kind).filter(small)?;
        let strings = self.sections.section(SectionIndex(section.sh_link(LittleEndian) as usize)).ok();
        let strings = strings.filter(small)?.data(LittleEndian, self.data).ok()?;
        Some(Symbols { table: section.data_as_array(LittleEndian, self.data).ok()?, strings })
    }

    /// Address of a section.
    pub(crate) fn section(&self, name: &str) -> Option<u64> {
        let (_, section) = self.sections.section_by_name(LittleEndian, name.as_bytes())?;
        Some(section.sh_addr(LittleEndian))
    }

    /// It is a small program that only calls into `libpython`, or a library of another kind with such a name.
    pub(crate) fn is_shell(&self) -> bool {
        let needs_library = || {
            let is_large =
                |section: &SectionHeader64<LittleEndian>| section.sh_size(LittleEndian) > SYMBOLS_MAX;
            let mut dynamic =
                self.sections.iter().filter(|section| section.sh_type(LittleEndian) == SHT_DYNAMIC);
            if dynamic.any(is_large) {
                return None;
            }
            let table = self.sections.dynamic_table(LittleEndian, self.data).ok()?;
            let strings = table.strings();
            let needed = table.iter().filter(|entry| entry.tag == DT_NEEDED);
            let mut names = needed.filter_map(|entry| strings.get(entry.val as u32).ok());
            Some(names.any(|name| name.starts_with(b"libpython")))
        };
        // A program that runs Python has megabytes of code.
        needs_library().unwrap_or(false) || self.loads.iter().all(|load| load.len < 1 << 20)
    }

    /// What the file has for an address.
    pub(crate) fn bytes_at(&self, address: u64, len: usize) -> Option<&'data [u8]> {
        let (load, from) = self.loads.iter().find_map(|load| {
            let from = address.checked_sub(load.address)?;
            (from.checked_add(len as u64)? <= load.len).then_some((load, from))
        })?;
        self.data.read_bytes_at(load.offset.checked_add(from)?, len as u64).ok()
    }
}

/// A table of symbols.
pub(crate) struct Symbols<'data> {
    table: &'data [Sym64<LittleEndian>],
    strings: &'data [u8],
}

impl Symbols<'_> {
    /// Address and size of the symbol with this name, if the file itself defines it.
    pub(crate) fn find(&self, name: &str) -> Option<(u64, u64)> {
        let is_it = |symbol: &&Sym64<LittleEndian>| {
            let at = symbol.st_name.get(LittleEndian) as usize;
            let rest = self.strings.get(at..).and_then(|rest| rest.strip_prefix(name.as_bytes()));
            rest.is_some_and(|rest| rest.first() == Some(&0))
                && symbol.st_shndx.get(LittleEndian) != SHN_UNDEF
        };
        let symbol = self.table.iter().find(is_it)?;
        Some((symbol.st_value.get(LittleEndian), symbol.st_size.get(LittleEndian)))
    }
}

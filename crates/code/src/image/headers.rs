//! The headers of an ELF file: the addresses and file offsets of its parts. 64-bit, little-endian.
//!
//! The format's structures are those of the crate `object`; they are read through [`Window`], so
//! that no file is mapped or read whole, and no damaged file makes us read on after a deadline.
//! What is in the parts is left to others.

use std::sync::Arc;

use gimli::Reader;
use model::Arch;
use object::LittleEndian as Le;
use object::elf;
use object::pod::{self, Pod};
use sys::untrusted_file::Opened;

use crate::bytes::Bytes;
use crate::window::Window;

/// The limit of sections; real files have fewer, the format allows more.
const SEGMENTS_MAX: u16 = 512;
const SECTIONS_MAX: u64 = 65_536;

/// Entries of a dynamic table; large programs have some hundred.
const DYNAMIC_MAX: usize = 65_536;

/// The longest name of a section that is kept.
const SECTION_NAME_MAX: usize = 64;

/// The longest structure of the format: the file header and a section header.
const STRUCTURE_MAX: usize = 64;

/// Why a file cannot be used as an image, or has no code at an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// A script, data, anything else.
    #[error("it is not an ELF file")]
    NotElf,
    /// 32-bit or big-endian.
    #[error("it is not a 64-bit little-endian ELF file")]
    OtherClass,
    /// Code for another architecture.
    #[error("it is neither for x86_64 nor for aarch64")]
    OtherArch,
    /// A header refers to data outside the file.
    #[error("its {0} damaged")]
    Damaged(&'static str),
    /// It holds symbols only, or is damaged.
    #[error("the file has no code at {0:#x}")]
    NoCode(u64),
}

/// A segment: a part of the file that is loaded into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its first address.
    pub address: u64,
    /// Its file offset.
    pub offset: u64,
    /// Bytes of it in the file.
    pub len: u64,
    /// Whether it is mapped executable.
    pub executable: bool,
}

/// A section: a part of the file with a name.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) link: u32,
}

impl Section {
    /// A compressed section of this length, right behind the file's header; for fuzzing.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn behind_header(len: u64) -> Self {
        let flags = elf::SHF_COMPRESSED.into();
        Section { name: Vec::new(), kind: elf::SHT_PROGBITS, flags, address: 0, offset: 64, len, link: 0 }
    }

    /// Whether the file has content for it: a stripped file may name it without.
    pub(crate) fn present(&self) -> bool {
        self.kind != elf::SHT_NOBITS && self.len > 0
    }

    /// Whether its content must be decompressed first.
    pub(crate) fn compressed(&self) -> bool {
        self.flags & u64::from(elf::SHF_COMPRESSED) != 0
    }

    /// Whether it is code.
    pub(crate) fn executable(&self) -> bool {
        self.flags & u64::from(elf::SHF_EXECINSTR) != 0
    }

    /// Whether it contains this address. The size is untrusted, so the end is never computed.
    pub(crate) fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < self.len
    }
}

/// An ELF file, kept open, and its headers.
#[derive(Debug)]
pub struct Image {
    bytes: Arc<Bytes>,
    pub(crate) arch: Arch,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section>,
    /// Address of `.eh_frame_hdr`, from the program headers: known without sections too.
    pub(crate) eh_frame_hdr: Option<u64>,
    pub(crate) build_id: Option<Vec<u8>>,
    /// The entry point.
    pub(crate) entry: u64,
}

impl Image {
    /// Reads the headers of a file.
    ///
    /// # Errors
    /// It cannot be read, or is not an ELF file of a known architecture.
    pub fn open(file: impl Into<Opened>) -> Result<Image, Error> {
        let bytes = Bytes::of_opened(file.into()).map_err(|error| Error::Unreadable(error.to_string()))?;
        Image::read(&Arc::new(bytes))
    }

    /// Reads the headers of a file that is in memory.
    ///
    /// # Errors
    /// As [`Image::open`].
    pub fn of_memory(content: Vec<u8>) -> Result<Image, Error> {
        Image::read(&Arc::new(Bytes::of_memory(content)))
    }

    pub(crate) fn read(bytes: &Arc<Bytes>) -> Result<Image, Error> {
        let whole = Window::whole(bytes);
        let (header, arch) = header(&whole)?;
        let mut image = Image {
            bytes: Arc::clone(bytes),
            arch,
            segments: Vec::new(),
            sections: Vec::new(),
            eh_frame_hdr: None,
            build_id: None,
            entry: header.e_entry.get(Le),
        };
        image.read_segments(&whole, &header).map_err(|_| Error::Damaged("program headers are"))?;
        // Some files run without sections, or with damaged ones.
        image.sections = sections(&whole, &header).unwrap_or_default();
        if image.build_id.is_none() {
            let note = image.section(b".note.gnu.build-id");
            image.build_id = note.and_then(|note| build_id(image.window(note)).ok()?);
        }
        Ok(image)
    }

    fn read_segments(&mut self, whole: &Window, header: &elf::FileHeader64<Le>) -> gimli::Result<()> {
        let size = u64::from(header.e_phentsize.get(Le));
        for n in 0..header.e_phnum.get(Le).min(SEGMENTS_MAX) {
            let at = header.e_phoff.get(Le).saturating_add(u64::from(n) * size);
            let segment: elf::ProgramHeader64<Le> = structure(&mut whole.from(at))?;
            let (address, offset) = (segment.p_vaddr.get(Le), segment.p_offset.get(Le));
            let len = segment.p_filesz.get(Le);
            match segment.p_type.get(Le) {
                elf::PT_LOAD => {
                    let executable = segment.p_flags.get(Le) & elf::PF_X != 0;
                    self.segments.push(Segment { address, offset, len, executable });
                }
                elf::PT_GNU_EH_FRAME => self.eh_frame_hdr = Some(address),
                elf::PT_NOTE if self.build_id.is_none() => {
                    let notes = Window::new(&self.bytes, offset, len);
                    self.build_id = build_id(notes).unwrap_or(None);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The architecture that its code is for.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// The parts that are loaded into memory, in the file's order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The file.
    pub(crate) fn bytes(&self) -> &Arc<Bytes> {
        &self.bytes
    }

    /// The content of a section, as it is in the file.
    pub(crate) fn window(&self, section: &Section) -> Window {
        Window::new(&self.bytes, section.offset, section.len)
    }

    /// The address in the file of what is at file offset `offset`.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let within = |segment: &&Segment| {
            // Pages are mapped whole, so a mapping begins before its segment.
            let end = segment.offset.saturating_add(segment.len).saturating_add(0xfff) & !0xfff;
            (segment.offset & !0xfff..end).contains(&offset)
        };
        let exact = |segment: &&Segment| offset.wrapping_sub(segment.offset) < segment.len;
        let segment = self.segments.iter().find(exact).or_else(|| self.segments.iter().find(within))?;
        Some(segment.address.wrapping_add(offset).wrapping_sub(segment.offset))
    }

    /// The file offset of `address`.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        self.content_of(address).map(|(offset, _)| offset)
    }

    /// The file offset of `address`, and how much of its segment follows.
    pub(crate) fn content_of(&self, address: u64) -> Option<(u64, u64)> {
        self.segments.iter().find_map(|segment| {
            let skip = address.checked_sub(segment.address).filter(|skip| *skip < segment.len)?;
            Some((segment.offset.checked_add(skip)?, segment.len - skip))
        })
    }

    /// The `len` bytes of the file at an address, at most a page or two.
    pub fn bytes_at(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        const LEN_MAX: u64 = 64 << 10;
        let (offset, room) = self.content_of(address)?;
        let len = u64::try_from(len).ok().filter(|len| *len <= room)?;
        self.bytes.read(offset, len, LEN_MAX).ok()
    }

    /// The bytes of the file from an address on: up to `len`, where the segment is so long.
    pub(crate) fn code_from(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let (_, room) = self.content_of(address)?;
        self.bytes_at(address, len.min(usize::try_from(room).unwrap_or(usize::MAX)))
    }

    /// The section of that name, when the file has content for it.
    pub(crate) fn section(&self, name: &[u8]) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name && section.present())
    }

    /// The address of the section of that name, with content or without.
    pub fn section_address(&self, name: &str) -> Option<u64> {
        let named = self.sections.iter().find(|section| section.name == name.as_bytes())?;
        Some(named.address)
    }

    /// Whether it needs a shared library whose name has this prefix.
    pub fn needs(&self, library: &str) -> bool {
        let Some(table) = self.sections.iter().find(|section| section.kind == elf::SHT_DYNAMIC) else {
            return false;
        };
        let Some(strings) = self.sections.get(table.link as usize) else { return false };
        let strings = self.window(strings);
        let mut entries = self.window(table);
        // The table ends with a null entry; a damaged one ends where reading fails, or at the
        // limit.
        for _ in 0..DYNAMIC_MAX {
            let Ok(entry) = structure::<elf::Dyn64<Le>>(&mut entries) else { return false };
            let begins = || strings.from(entry.d_val.get(Le)).text(library.len());
            match entry.d_tag.get(Le) {
                elf::DT_NULL => return false,
                elf::DT_NEEDED if begins().is_some_and(|name| name == library.as_bytes()) => return true,
                _ => {}
            }
        }
        false
    }
}

/// Reads one of the format's structures from the front.
pub(crate) fn structure<T: Pod>(from: &mut Window) -> gimli::Result<T> {
    const { assert!(size_of::<T>() <= STRUCTURE_MAX) };
    let mut raw = [0; STRUCTURE_MAX];
    from.read_slice(&mut raw[..size_of::<T>()])?;
    pod::from_bytes(&raw).map(|(structure, _)| *structure).map_err(|()| gimli::Error::Io)
}

/// The file header, and which architecture it names.
fn header(whole: &Window) -> Result<(elf::FileHeader64<Le>, Arch), Error> {
    let mut ident = [0; size_of::<elf::Ident>()];
    whole.clone().read_slice(&mut ident).map_err(|_| Error::NotElf)?;
    if ident[..4] != elf::ELFMAG {
        return Err(Error::NotElf);
    }
    if ident[4..6] != [elf::ELFCLASS64, elf::ELFDATA2LSB] {
        return Err(Error::OtherClass);
    }
    let header: elf::FileHeader64<Le> =
        structure(&mut whole.clone()).map_err(|_| Error::Damaged("ELF header is"))?;
    let arch = match header.e_machine.get(Le) {
        elf::EM_X86_64 => Arch::X86_64,
        elf::EM_AARCH64 => Arch::Aarch64,
        elf::EM_RISCV => Arch::Riscv64,
        _ => return Err(Error::OtherArch),
    };
    Ok((header, arch))
}

/// All sections with their names.
fn sections(whole: &Window, header: &elf::FileHeader64<Le>) -> gimli::Result<Vec<Section>> {
    let (start, size) = (header.e_shoff.get(Le), u64::from(header.e_shentsize.get(Le)));
    if start == 0 || size < size_of::<elf::SectionHeader64<Le>>() as u64 {
        return Ok(Vec::new());
    }
    let read = |n: u64| -> gimli::Result<elf::SectionHeader64<Le>> {
        structure(&mut whole.from(start.saturating_add(n.saturating_mul(size))))
    };
    let first = read(0)?;
    // Counts too large for the header are in the first section.
    let count = match header.e_shnum.get(Le) {
        0 => first.sh_size.get(Le),
        count => count.into(),
    };
    let names = match header.e_shstrndx.get(Le) {
        elf::SHN_XINDEX => first.sh_link.get(Le).into(),
        names => u64::from(names),
    };
    let names = read(names)?.sh_offset.get(Le);
    let section = |n: u64| {
        let header = read(n)?;
        let name = whole.from(names.saturating_add(header.sh_name.get(Le).into()));
        Ok(Section {
            name: name.text(SECTION_NAME_MAX).unwrap_or_default(),
            kind: header.sh_type.get(Le),
            flags: header.sh_flags.get(Le),
            address: header.sh_addr.get(Le),
            offset: header.sh_offset.get(Le),
            len: header.sh_size.get(Le),
            link: header.sh_link.get(Le),
        })
    };
    (0..count.min(SECTIONS_MAX)).map(section).collect()
}

/// Finds the build ID among notes.
fn build_id(mut notes: Window) -> gimli::Result<Option<Vec<u8>>> {
    while notes.len() >= size_of::<elf::NoteHeader64<Le>>() {
        let note: elf::NoteHeader64<Le> = structure(&mut notes)?;
        let (name_len, len) = (note.n_namesz.get(Le) as usize, note.n_descsz.get(Le) as usize);
        let name = notes.split(name_len)?;
        notes.skip((name_len.wrapping_neg() & 3).min(notes.len()))?;
        let content = notes.split(len)?;
        notes.skip((len.wrapping_neg() & 3).min(notes.len()))?;
        if note.n_type.get(Le) == elf::NT_GNU_BUILD_ID
            && (4..=64).contains(&len)
            && name_len == 4
            && *name.to_slice()? == *b"GNU\0"
        {
            return Ok(Some(content.to_slice()?.into_owned()));
        }
    }
    Ok(None)
}

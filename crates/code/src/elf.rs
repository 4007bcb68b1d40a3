//! What an ELF file says of itself: where its parts are in memory and in the file. 64-bit, little-endian.
//!
//! Leaves the meaning of the parts to others: `cfi` for unwinding, `symbols` for names.

use std::sync::Arc;

use gimli::Reader;

use crate::bytes::Bytes;
use crate::window::Window;

/// More than any file in use has; the format allows more.
const SEGMENTS_MAX: u16 = 512;
const SECTIONS_MAX: u64 = 65_536;

const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const NT_GNU_BUILD_ID: u32 = 3;
const SHT_NOBITS: u32 = 8;
const SHF_COMPRESSED: u64 = 0x800;

/// The processor that a file's code is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// AMD64.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

/// A part of the file that is loaded into memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// A part of the file with a name.
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
    /// Whether the file has content for it: a stripped file may name it without.
    pub(crate) fn present(&self) -> bool {
        self.kind != SHT_NOBITS && self.len > 0
    }

    /// Whether its content must be decompressed first.
    pub(crate) fn compressed(&self) -> bool {
        self.flags & SHF_COMPRESSED != 0
    }
}

/// An ELF file's own description.
#[derive(Debug)]
pub(crate) struct Elf {
    pub(crate) arch: Arch,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section>,
    /// Address of `.eh_frame_hdr`, from the program headers: also there when sections are not.
    pub(crate) eh_frame_hdr: Option<u64>,
    pub(crate) build_id: Option<Vec<u8>>,
    /// Where the kernel enters it, as a program or as the loader of one.
    pub(crate) entry: u64,
}

impl Elf {
    /// Reads it; in words why not otherwise.
    pub(crate) fn read(bytes: &Arc<Bytes>) -> Result<Elf, &'static str> {
        let whole = Window::whole(bytes);
        let header = Header::read(whole.clone())?;
        let mut elf = Elf {
            arch: header.arch,
            segments: Vec::new(),
            sections: Vec::new(),
            eh_frame_hdr: None,
            build_id: None,
            entry: header.entry,
        };
        elf.read_segments(&whole, &header).map_err(|_| "its program headers are damaged")?;
        // Some files have no sections, or damaged ones, and run nevertheless.
        elf.sections = sections(&whole, &header).unwrap_or_default();
        if elf.build_id.is_none() {
            let note = elf.sections.iter().find(|section| section.name == b".note.gnu.build-id");
            let note = note.filter(|note| note.present());
            elf.build_id = note.and_then(|note| build_id(Window::new(bytes, note.offset, note.len)).ok()?);
        }
        Ok(elf)
    }

    fn read_segments(&mut self, whole: &Window, header: &Header) -> gimli::Result<()> {
        for n in 0..header.segments.min(SEGMENTS_MAX) {
            let at = header.segments_offset.saturating_add(u64::from(n) * u64::from(header.segment_len));
            let mut entry = whole.from(at);
            let kind = entry.read_u32()?;
            let _flags = entry.read_u32()?;
            let offset = entry.read_u64()?;
            let address = entry.read_u64()?;
            let _physical = entry.read_u64()?;
            let len = entry.read_u64()?;
            match kind {
                PT_LOAD => self.segments.push(Segment { address, offset, len }),
                PT_GNU_EH_FRAME => self.eh_frame_hdr = Some(address),
                PT_NOTE if self.build_id.is_none() => {
                    let mut notes = whole.from(offset);
                    let len = usize::try_from(len).unwrap_or(usize::MAX).min(notes.len());
                    notes.truncate(len)?;
                    self.build_id = build_id(notes).unwrap_or(None);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The address, as the file counts, of what is at `offset` in the file.
    pub(crate) fn address_of(&self, offset: u64) -> Option<u64> {
        let within = |segment: &&Segment| {
            // Pages are mapped whole, so a mapping begins before the segment that it is for.
            let end = segment.offset.saturating_add(segment.len).saturating_add(0xfff) & !0xfff;
            (segment.offset & !0xfff..end).contains(&offset)
        };
        let exact = |segment: &&Segment| offset.wrapping_sub(segment.offset) < segment.len;
        let segment = self.segments.iter().find(exact).or_else(|| self.segments.iter().find(within))?;
        Some(segment.address.wrapping_add(offset).wrapping_sub(segment.offset))
    }

    /// Where in the file the content of `address` is, and how much of its segment follows.
    pub(crate) fn offset_of(&self, address: u64) -> Option<(u64, u64)> {
        self.segments.iter().find_map(|segment| {
            let skip = address.checked_sub(segment.address).filter(|skip| *skip < segment.len)?;
            Some((segment.offset.checked_add(skip)?, segment.len - skip))
        })
    }

    /// The section of that name, when the file has content for it.
    pub(crate) fn section(&self, name: &[u8]) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name && section.present())
    }
}

/// The file header.
struct Header {
    entry: u64,
    arch: Arch,
    segments_offset: u64,
    sections_offset: u64,
    segment_len: u16,
    segments: u16,
    section_len: u16,
    sections: u16,
    names: u16,
}

impl Header {
    fn read(mut from: Window) -> Result<Header, &'static str> {
        let mut ident = [0; 16];
        from.read_slice(&mut ident).map_err(|_| "it is no ELF file")?;
        if ident[..4] != *b"\x7fELF" {
            return Err("it is no ELF file");
        }
        if ident[4..6] != [2, 1] {
            return Err("it is not a 64-bit little-endian ELF file");
        }
        let damaged = |_| "its ELF header is damaged";
        let _kind = from.read_u16().map_err(damaged)?;
        let arch = match from.read_u16().map_err(damaged)? {
            62 => Arch::X86_64,
            183 => Arch::Aarch64,
            _ => return Err("it is neither for x86_64 nor for aarch64"),
        };
        Header::read_rest(from, arch).map_err(damaged)
    }

    fn read_rest(mut from: Window, arch: Arch) -> gimli::Result<Header> {
        from.skip(4)?; // version
        let entry = from.read_u64()?;
        let segments_offset = from.read_u64()?;
        let sections_offset = from.read_u64()?;
        from.skip(4 + 2)?; // flags, length of this header
        Ok(Header {
            arch,
            entry,
            segments_offset,
            sections_offset,
            segment_len: from.read_u16()?,
            segments: from.read_u16()?,
            section_len: from.read_u16()?,
            sections: from.read_u16()?,
            names: from.read_u16()?,
        })
    }
}

/// All sections with their names.
fn sections(whole: &Window, header: &Header) -> gimli::Result<Vec<Section>> {
    if header.sections_offset == 0 || header.section_len < 64 {
        return Ok(Vec::new());
    }
    let read = |n: u64| -> gimli::Result<(u32, Section)> {
        let mut entry = whole.from(header.sections_offset.saturating_add(n * u64::from(header.section_len)));
        let name = entry.read_u32()?;
        let kind = entry.read_u32()?;
        let flags = entry.read_u64()?;
        let address = entry.read_u64()?;
        let offset = entry.read_u64()?;
        let len = entry.read_u64()?;
        let link = entry.read_u32()?;
        Ok((name, Section { name: Vec::new(), kind, flags, address, offset, len, link }))
    };
    let first = read(0)?.1;
    // Counts that do not fit the header are in the first section.
    let count = if header.sections == 0 { first.len } else { u64::from(header.sections) };
    let names = if header.names == u16::MAX { u64::from(first.link) } else { u64::from(header.names) };
    let names = read(names)?.1;
    let mut sections = Vec::new();
    for n in 0..count.min(SECTIONS_MAX) {
        let (name, mut section) = read(n)?;
        let from = names.offset.saturating_add(u64::from(name));
        section.name = whole.from(from).text(64).unwrap_or_default();
        sections.push(section);
    }
    Ok(sections)
}

/// The build id among notes.
fn build_id(mut notes: Window) -> gimli::Result<Option<Vec<u8>>> {
    while notes.len() >= 12 {
        let name_len = notes.read_u32()? as usize;
        let len = notes.read_u32()? as usize;
        let kind = notes.read_u32()?;
        let name = notes.split(name_len)?;
        notes.skip((name_len.wrapping_neg() & 3).min(notes.len()))?;
        let content = notes.split(len)?;
        notes.skip((len.wrapping_neg() & 3).min(notes.len()))?;
        if kind == NT_GNU_BUILD_ID
            && (4..=64).contains(&len)
            && name_len == 4
            && *name.to_slice()? == *b"GNU\0"
        {
            return Ok(Some(content.to_slice()?.into_owned()));
        }
    }
    Ok(None)
}

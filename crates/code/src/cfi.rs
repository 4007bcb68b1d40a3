//! The call frame information of a file, and the rule for an address in it.
//!
//! In this order: `.eh_frame` through its index `.eh_frame_hdr`, as the program's own exception
//! handling finds it; `.eh_frame` without that index; `.debug_frame` (Go, and C without
//! `-funwind-tables`).

use gimli::{BaseAddresses, CieOrFde, DebugFrame, EhFrame, Reader};
use gimli::{FrameDescriptionEntry, UnwindContext, UnwindOffset, UnwindSection, Vendor};

use crate::image::Image;
use crate::inflate;
use crate::rule::Rule;
use crate::window::Window;
use model::Arch;

/// The limit of functions in an index made here; each takes 16 bytes.
const INDEX_MAX: usize = 1 << 20;

/// A file's call frame information.
pub(crate) struct Cfi {
    bases: BaseAddresses,
    eh: Option<(EhFrame<Window>, Finder)>,
    debug: Option<(DebugFrame<Window>, EntryIndex)>,
    context: UnwindContext<usize>,
}

/// Whose instructions there are beside those of the standard: on aarch64 that a return address is
/// signed from here on. Without it no rule of a function that signs its own could be read.
fn vendor(image: &Image) -> Vendor {
    if image.arch == Arch::Aarch64 { Vendor::AArch64 } else { Vendor::Default }
}

/// How the entry for an address is looked up.
enum Finder {
    Header(EhFrameHeader),
    Index(EntryIndex),
}

/// First address and offset of each entry, by address.
struct EntryIndex(Vec<(u64, usize)>);

impl Cfi {
    /// Finds the sections. For a file without an index, one is made here: about 100 ns per entry.
    pub(crate) fn new(image: &Image) -> Cfi {
        let address = |name: &[u8]| image.sections.iter().find(|s| s.name == name).map_or(0, |s| s.address);
        let bases = BaseAddresses::default().set_text(address(b".text")).set_got(address(b".got"));
        let mut cfi = Cfi { bases, eh: None, debug: None, context: UnwindContext::new() };
        cfi.find_eh_frame(image);
        cfi.find_debug_frame(image);
        cfi
    }

    fn find_eh_frame(&mut self, image: &Image) {
        if let Some(address) = image.eh_frame_hdr
            && let Some((offset, len)) = image.content_of(address)
            && let Ok(Some(header)) = EhFrameHeader::read(address, Window::new(image.bytes(), offset, len))
            && let Some((offset, len)) = image.content_of(header.frames)
        {
            self.bases = self.bases.clone().set_eh_frame_hdr(address).set_eh_frame(header.frames);
            let mut section = EhFrame::from(Window::new(image.bytes(), offset, len));
            section.set_address_size(8);
            section.set_vendor(vendor(image));
            self.eh = Some((section, Finder::Header(header)));
            return;
        }
        let Some(section) = image.section(b".eh_frame") else { return };
        self.bases = self.bases.clone().set_eh_frame(section.address);
        let mut frames = EhFrame::from(image.window(section));
        frames.set_address_size(8);
        frames.set_vendor(vendor(image));
        if let Some(index) = EntryIndex::new(&frames, &self.bases) {
            self.eh = Some((frames, Finder::Index(index)));
        }
    }

    fn find_debug_frame(&mut self, image: &Image) {
        let Some(section) = image.section(b".debug_frame") else { return };
        let Some(window) = inflate::section(image, section) else { return };
        let mut frames = DebugFrame::from(window);
        frames.set_address_size(8);
        frames.set_vendor(vendor(image));
        self.debug = EntryIndex::new(&frames, &self.bases).map(|index| (frames, index));
    }

    /// The rule for an address; none when the file has none or it is damaged.
    pub(crate) fn rule(&mut self, address: u64) -> Option<Rule> {
        self.eh_rule(address).or_else(|| {
            let (section, index) = self.debug.as_ref()?;
            let entry = index.entry(section, &self.bases, address)?;
            rule(section, &entry, &self.bases, &mut self.context, address)
        })
    }

    /// The first address of the function that an address is in, where there is an entry for it.
    pub(crate) fn start(&self, address: u64) -> Option<u64> {
        let of =
            |entry: &FrameDescriptionEntry<Window>| entry.contains(address).then(|| entry.initial_address());
        let eh = self.eh.as_ref().and_then(|(section, finder)| of(&self.entry(section, finder, address)?));
        eh.or_else(|| {
            let (section, index) = self.debug.as_ref()?;
            of(&index.entry(section, &self.bases, address)?)
        })
    }

    fn entry(
        &self,
        section: &EhFrame<Window>,
        finder: &Finder,
        address: u64,
    ) -> Option<FrameDescriptionEntry<Window>> {
        match finder {
            Finder::Index(index) => index.entry(section, &self.bases, address),
            Finder::Header(header) => {
                let offset = header.entry(address).ok()??;
                section.fde_from_offset(&self.bases, offset.into(), EhFrame::cie_from_offset).ok()
            }
        }
    }

    fn eh_rule(&mut self, address: u64) -> Option<Rule> {
        let (section, finder) = self.eh.as_ref()?;
        let entry = self.entry(section, finder, address)?;
        rule(section, &entry, &self.bases, &mut self.context, address)
    }
}

/// `.eh_frame_hdr`: pairs of a function's first address and its entry, sorted, in the only form
/// that linkers write. (`gimli` 0.34 reads it too, but overflows on damaged ones.)
struct EhFrameHeader {
    address: u64,
    /// Address of `.eh_frame`.
    frames: u64,
    table: Window,
    count: u64,
}

impl EhFrameHeader {
    /// None when it has another form.
    fn read(address: u64, mut from: Window) -> gimli::Result<Option<EhFrameHeader>> {
        // Version 1; the frames' address relative to here, count and pairs in 4 bytes, pairs
        // relative to the header.
        if from.read_u32()? != u32::from_le_bytes([1, 0x1b, 0x03, 0x3b]) {
            return Ok(None);
        }
        let frames = address.wrapping_add(4).wrapping_add_signed(from.read_i32()?.into());
        let count = u64::from(from.read_u32()?).min(from.len() as u64 / 8);
        Ok((count > 0).then_some(EhFrameHeader { address, frames, table: from, count }))
    }

    /// The offset of the entry for an address in `.eh_frame`, if there is one.
    fn entry(&self, address: u64) -> gimli::Result<Option<usize>> {
        let pair = |n: u64| -> gimli::Result<(u64, u64)> {
            let mut pair = self.table.from(n * 8);
            let mut word = || pair.read_i32().map(|word| self.address.wrapping_add_signed(word.into()));
            Ok((word()?, word()?))
        };
        let (mut low, mut high) = (0, self.count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if pair(middle)?.0 <= address { low = middle } else { high = middle }
        }
        let (start, entry) = pair(low)?;
        let offset = entry.checked_sub(self.frames).filter(|_| start <= address);
        Ok(offset.and_then(|offset| usize::try_from(offset).ok()))
    }
}

impl EntryIndex {
    /// Of all entries up to the first damage; none when there are none.
    fn new<S: UnwindSection<Window>>(section: &S, bases: &BaseAddresses) -> Option<EntryIndex>
    where
        S::Offset: UnwindOffset<usize>,
    {
        let mut index = Vec::new();
        let mut entries = section.entries(bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let Ok(entry) = partial.parse(S::cie_from_offset) else { continue };
            if entry.len() > 0 {
                index.push((entry.initial_address(), entry.offset()));
            }
            if index.len() >= INDEX_MAX {
                break;
            }
        }
        index.sort_unstable();
        (!index.is_empty()).then_some(EntryIndex(index))
    }

    fn entry<S: UnwindSection<Window>>(
        &self,
        section: &S,
        bases: &BaseAddresses,
        address: u64,
    ) -> Option<FrameDescriptionEntry<Window>> {
        let next = self.0.partition_point(|(start, _)| *start <= address);
        let (_, offset) = self.0.get(next.checked_sub(1)?)?;
        section.fde_from_offset(bases, S::Offset::from(*offset), S::cie_from_offset).ok()
    }
}

/// The row for an address in its entry.
fn rule<S: UnwindSection<Window>>(
    section: &S,
    entry: &FrameDescriptionEntry<Window>,
    bases: &BaseAddresses,
    context: &mut UnwindContext<usize>,
    address: u64,
) -> Option<Rule> {
    let row = entry.unwind_info_for_address(section, bases, context, address).ok()?;
    Rule::new(section, row, entry.cie()).ok()
}

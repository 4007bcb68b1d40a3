//! Compressed sections: debug information of Go and of some distributions.

use std::io::Read;
use std::sync::Arc;

use gimli::Reader;
use object::LittleEndian as Le;
use object::elf::{CompressionHeader64, ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD};

use crate::bytes::Bytes;
use crate::image::{Image, Section, structure};
use crate::window::Window;

/// The largest section, compressed or not, that is read; it is held in memory.
const SECTION_MAX: u64 = 256 << 20;

/// The largest embedded file, unpacked.
const PACKED_MAX: u64 = 128 << 20;

/// Memory for unpacking; `xz -9` needs 65 MiB.
const XZ_MEMORY_MAX_KIB: u32 = 128 << 10;

/// The content of a section; none when it is compressed in an unknown way, is damaged, or is above
/// 256 MiB.
pub(crate) fn section(image: &Image, section: &Section) -> Option<Window> {
    let mut window = image.window(section);
    if !section.compressed() {
        return Some(window);
    }
    let header: CompressionHeader64<Le> = structure(&mut window).ok()?;
    let len = Some(header.ch_size.get(Le)).filter(|len| *len <= SECTION_MAX)?;
    let from = Stream(window);
    let plain = match header.ch_type.get(Le) {
        ELFCOMPRESS_ZLIB => all(flate2::read::ZlibDecoder::new(from), len)?,
        ELFCOMPRESS_ZSTD => all(ruzstd::decoding::StreamingDecoder::new(from).ok()?, len)?,
        _ => return None,
    };
    Some(Window::whole(&Arc::new(Bytes::of_memory(plain))))
}

/// A file embedded in a section, compressed by xz: Fedora's `.gnu_debugdata`, the symbol table of a
/// stripped file. None when it is damaged or above 128 MiB.
pub(crate) fn packed_file(image: &Image, section: &Section) -> Option<Bytes> {
    let from = Stream(image.window(section));
    let mut plain = Vec::new();
    let unpacking = lzma_rust2::XzReader::new_mem_limit(from, false, XZ_MEMORY_MAX_KIB);
    unpacking.take(PACKED_MAX).read_to_end(&mut plain).ok()?;
    ((plain.len() as u64) < PACKED_MAX).then(|| Bytes::of_memory(plain))
}

/// Exactly `len` bytes. Memory is allocated as they arrive, since the file's length field is
/// untrusted.
fn all(from: impl Read, len: u64) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    from.take(len).read_to_end(&mut plain).ok()?;
    (plain.len() as u64 == len).then_some(plain)
}

/// A window as a stream.
struct Stream(Window);

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let taken = into.len().min(self.0.len());
        self.0.read_slice(&mut into[..taken]).map_err(|_| std::io::ErrorKind::InvalidData)?;
        Ok(taken)
    }
}

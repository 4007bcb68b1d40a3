//! Compressed sections: debug information of Go and of some distributions.

use std::io::Read;
use std::sync::{Arc, Mutex};

use gimli::Reader;
use object::LittleEndian as Le;
use object::elf::{CompressionHeader64, ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD};

use crate::bytes::Bytes;
use crate::image::{Image, Section, structure};
use crate::room::Room;
use crate::window::Window;

/// The largest section, compressed or not, that is read; it is held in memory.
const SECTION_MAX: u64 = 256 << 20;

/// The largest embedded file, unpacked.
const PACKED_MAX: u64 = 128 << 20;

/// Memory for unpacking; `xz -9` needs 65 MiB.
const XZ_MEMORY_MAX_KIB: u32 = 128 << 10;

/// One file at a time is unpacked by xz, which takes as much memory again.
static UNPACKING: Mutex<()> = Mutex::new(());

/// The content of a section; none when it is compressed in an unknown way, is damaged, is above
/// 256 MiB, or with all others above 384 MiB; and when the time for the image is over.
pub(crate) fn section(image: &Image, section: &Section) -> Option<Window> {
    let mut window = image.window(section);
    if !section.compressed() {
        return Some(window);
    }
    let header: CompressionHeader64<Le> = structure(&mut window).ok()?;
    let len = Some(header.ch_size.get(Le)).filter(|len| *len <= SECTION_MAX)?;
    let room = Room::of(len)?;
    let from = Stream(window);
    let plain = match header.ch_type.get(Le) {
        ELFCOMPRESS_ZLIB => all(flate2::read::ZlibDecoder::new(from), len, image)?,
        ELFCOMPRESS_ZSTD => all(ruzstd::decoding::StreamingDecoder::new(from).ok()?, len, image)?,
        _ => return None,
    };
    Some(Window::whole(&Arc::new(Bytes::unpacked(plain, room))))
}

/// A file embedded in a section, compressed by xz: Fedora's `.gnu_debugdata`, the symbol table of a
/// stripped file. None when it is damaged or above 128 MiB, and as [`section`].
pub(crate) fn packed_file(image: &Image, section: &Section) -> Option<Bytes> {
    let _alone = UNPACKING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let room = Room::of(PACKED_MAX)?;
    let from = Stream(image.window(section));
    let unpacking = lzma_rust2::XzReader::new_mem_limit(from, false, XZ_MEMORY_MAX_KIB);
    let plain = up_to(unpacking, PACKED_MAX, image)?;
    ((plain.len() as u64) < PACKED_MAX).then(|| Bytes::unpacked(plain, room))
}

/// Exactly `len` bytes.
fn all(from: impl Read, len: u64, image: &Image) -> Option<Vec<u8>> {
    let plain = up_to(from, len, image)?;
    (plain.len() as u64 == len).then_some(plain)
}

/// Up to `max` bytes. They take memory as they arrive, since what a file says of their number is
/// untrusted.
fn up_to(from: impl Read, max: u64, image: &Image) -> Option<Vec<u8>> {
    const STEP: u64 = 4 << 20;
    let mut plain = Vec::new();
    plain.try_reserve_exact(usize::try_from(max).ok()?).ok()?;
    let mut from = from.take(max);
    while from.by_ref().take(STEP).read_to_end(&mut plain).ok()? > 0 {
        image.bytes().page(0).ok()?; // not after the deadline
    }
    Some(plain)
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

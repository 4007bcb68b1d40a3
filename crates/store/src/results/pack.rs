//! JSON as it lies in the store, and recordings as they lie beside it: deflated, with a checksum.

use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::Path;

/// Half the time of the default, and a tenth more bytes.
const LEVEL: Compression = Compression::new(3);

/// A larger result is none of dwell's: the file is damaged, or was made to fill the memory.
const JSON_MAX: u64 = 256 << 20;

pub(super) fn packed(json: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(json.len() / 4), LEVEL);
    encoder.write_all(json)?;
    encoder.finish()
}

/// # Errors
/// It is damaged, or too large to be a result.
pub(crate) fn json(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut json = Vec::new();
    ZlibDecoder::new(packed).take(JSON_MAX + 1).read_to_end(&mut json)?;
    if json.len() as u64 > JSON_MAX {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(json)
}

/// Packs the content of a file into another one, until `late` says that there is no more time.
pub(super) fn pack_file(from: &Path, to: &mut File, late: &dyn Fn() -> bool) -> io::Result<u64> {
    let mut from = File::open(from)?;
    let mut encoder = GzEncoder::new(&mut *to, Compression::fast());
    let mut piece = vec![0; 1 << 18];
    loop {
        match from.read(&mut piece)? {
            0 => break,
            read => encoder.write_all(&piece[..read])?,
        }
        if late() {
            return Err(io::Error::new(ErrorKind::TimedOut, "it takes too long to pack"));
        }
    }
    encoder.finish()?;
    Ok(to.metadata()?.len())
}

/// Reads a packed recording to its end.
///
/// # Errors
/// It cannot be read, is damaged, or is not `len` bytes long.
pub(super) fn check(path: &Path, len: u64) -> io::Result<()> {
    if path.metadata()?.len() != len {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is not as long as it was"));
    }
    io::copy(&mut unpacked(path)?, &mut io::sink()).map(drop)
}

/// The content of a recording that lies beside a store, as it is read.
///
/// # Errors
/// The system's error.
pub fn unpacked(path: &Path) -> io::Result<impl Read + use<>> {
    Ok(BufReader::with_capacity(1 << 18, GzDecoder::new(BufReader::new(File::open(path)?))))
}

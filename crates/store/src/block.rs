//! The block: `kind: u8, length: u32 (little endian), payload, crc32 of all of these: u32`.

use std::io::{self, Read};

/// Bytes before and after the payload.
const BEFORE: usize = 5;
const AFTER: usize = 4;

/// No block is longer. An event block ends with the event that makes it longer than [`FULL`]; the
/// largest event is a snapshot of all threads of a host.
const LONGEST: u32 = 64 << 20;

/// An event block that has grown to this is written.
pub(crate) const FULL: usize = 64 << 10;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Header,
    Events,
    Trailer,
    /// The report of the run, as JSON.
    Run,
    /// A kind of a later version.
    Unknown,
}

impl BlockKind {
    fn tag(self) -> u8 {
        match self {
            BlockKind::Header => b'H',
            BlockKind::Events => b'E',
            BlockKind::Trailer => b'T',
            BlockKind::Run => b'R',
            BlockKind::Unknown => b'?',
        }
    }

    fn of_tag(tag: u8) -> Self {
        [BlockKind::Header, BlockKind::Events, BlockKind::Trailer, BlockKind::Run]
            .into_iter()
            .find(|kind| kind.tag() == tag)
            .unwrap_or(BlockKind::Unknown)
    }
}

/// A block being filled, with room for the header.
pub(crate) fn start() -> Vec<u8> {
    vec![0; BEFORE]
}

/// Empties a block, to be filled again.
pub(crate) fn restart(block: &mut Vec<u8>) {
    block.truncate(BEFORE);
}

/// Bytes of payload so far.
pub(crate) fn payload_len(block: &[u8]) -> usize {
    block.len() - BEFORE
}

/// Completes a block that [`start`] began.
pub(crate) fn seal(kind: BlockKind, block: &mut Vec<u8>) -> io::Result<()> {
    let length = u32::try_from(payload_len(block)).ok().filter(|length| *length <= LONGEST);
    let length = length.ok_or_else(|| io::Error::other("a block of more than 64 MiB"))?;
    block[0] = kind.tag();
    block[1..BEFORE].copy_from_slice(&length.to_le_bytes());
    let crc = crc32fast::hash(block);
    block.extend_from_slice(&crc.to_le_bytes());
    Ok(())
}

/// The outcome of reading a block.
pub(crate) enum BlockRead {
    Block(BlockKind, Vec<u8>),
    /// The file ends here, as it should.
    End,
    /// The file ends within the block.
    CutOff,
    /// Length or checksum are wrong.
    Damaged,
}

/// Reads the next block. Allocates no more than the file has, whatever its length field says.
pub(crate) fn read(from: &mut impl Read) -> io::Result<BlockRead> {
    let mut block = Vec::new();
    from.by_ref().take(BEFORE as u64).read_to_end(&mut block)?;
    if block.is_empty() {
        return Ok(BlockRead::End);
    }
    let Ok([tag, length @ ..]) = <[u8; BEFORE]>::try_from(block.as_slice()) else {
        return Ok(BlockRead::CutOff);
    };
    let length = u32::from_le_bytes(length);
    if length > LONGEST {
        return Ok(BlockRead::Damaged);
    }
    let rest = length as usize + AFTER;
    from.by_ref().take(rest as u64).read_to_end(&mut block)?;
    if block.len() < BEFORE + rest {
        return Ok(BlockRead::CutOff);
    }
    let crc = block.split_off(BEFORE + length as usize);
    if crc != crc32fast::hash(&block).to_le_bytes() {
        return Ok(BlockRead::Damaged);
    }
    block.drain(..BEFORE);
    Ok(BlockRead::Block(BlockKind::of_tag(tag), block))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(kind: BlockKind, payload: &[u8]) -> Vec<u8> {
        let mut block = start();
        block.extend_from_slice(payload);
        seal(kind, &mut block).unwrap();
        block
    }

    #[test]
    fn a_block_comes_back() {
        let bytes = [sealed(BlockKind::Run, b"{}"), sealed(BlockKind::Events, b"")].concat();
        let mut from = bytes.as_slice();
        assert!(
            matches!(read(&mut from).unwrap(), BlockRead::Block(BlockKind::Run, payload) if payload == b"{}")
        );
        assert!(
            matches!(read(&mut from).unwrap(), BlockRead::Block(BlockKind::Events, payload) if payload.is_empty())
        );
        assert!(matches!(read(&mut from).unwrap(), BlockRead::End));
    }

    #[test]
    fn a_length_beyond_the_file_is_cut_off_and_beyond_reason_is_damage() {
        let mut bytes = sealed(BlockKind::Events, b"12345");
        bytes[1..5].copy_from_slice(&LONGEST.to_le_bytes());
        assert!(matches!(read(&mut bytes.as_slice()).unwrap(), BlockRead::CutOff));
        bytes[1..5].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(read(&mut bytes.as_slice()).unwrap(), BlockRead::Damaged));
    }

    #[test]
    fn a_later_kind_can_be_passed_over() {
        let mut bytes = sealed(BlockKind::Events, b"12345");
        let end = bytes.len() - AFTER;
        bytes[0] = b'Z';
        let crc = crc32fast::hash(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&crc);
        assert!(matches!(read(&mut bytes.as_slice()).unwrap(), BlockRead::Block(BlockKind::Unknown, _)));
    }
}

//! Probes that a program has in its code (USDT): what `<sys/sdt.h>` notes of each.
//!
//! The notes are in the section `.note.stapsdt`, as SystemTap's wiki describes it under "User Space
//! Probe Implementation". A probe is a `nop`; code that is compiled in several places has several.

use super::headers::Image;

/// The longest section that is read; large programs have some 100 KiB.
const SECTION_MAX: u64 = 4 << 20;
/// The type of a note of a probe, and whose it is.
const KIND: u32 = 3;
const OWNER: &[u8] = b"stapsdt\0";
/// A note begins with the length of its owner, that of its content, and its type.
const HEAD_LEN: usize = 12;
/// Its content begins with three addresses; texts follow.
const ADDRESSES_LEN: usize = 24;

/// One place in the code where a probe is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticProbe {
    /// Whose probe it is, and its name. Untrusted until escaped.
    pub provider: String,
    /// Its name, likewise: `query__start`.
    pub name: String,
    /// Its address in the file.
    pub address: u64,
    /// The address of the counter of those who listen; code that is expensive looks at it first.
    pub semaphore: Option<u64>,
}

impl Image {
    /// All of them; none where they cannot be read.
    pub fn static_probes(&self) -> Vec<StaticProbe> {
        let Some(section) = self.section(b".note.stapsdt") else { return Vec::new() };
        let read = self.bytes().read(section.offset, section.len, SECTION_MAX);
        // Where the file was linked anew (prelink), all has moved with this section.
        let base = self.section_address(".stapsdt.base");
        read.map(|notes| probes(&notes, base)).unwrap_or_default()
    }
}

fn probes(mut notes: &[u8], base: Option<u64>) -> Vec<StaticProbe> {
    let mut found = Vec::new();
    while let Some((note, rest)) = note(notes) {
        found.extend(note.and_then(|content| probe(content, base)));
        notes = rest;
    }
    found
}

/// The next note's content, if it is a probe's, and what follows.
fn note(notes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let word = |at: usize| Some(u32::from_le_bytes(*notes.get(at..)?.first_chunk()?));
    let (owner_len, len) = (usize::try_from(word(0)?).ok()?, usize::try_from(word(4)?).ok()?);
    let begins = HEAD_LEN.checked_add(owner_len.checked_next_multiple_of(4)?)?;
    let ends = begins.checked_add(len)?;
    let content = notes.get(begins..ends)?;
    let is_probe = word(8)? == KIND && notes.get(HEAD_LEN..HEAD_LEN + owner_len)? == OWNER;
    let rest = notes.get(ends.checked_next_multiple_of(4)?..).unwrap_or_default();
    Some((is_probe.then_some(content), rest))
}

fn probe(content: &[u8], base: Option<u64>) -> Option<StaticProbe> {
    let address = |at: usize| Some(u64::from_le_bytes(*content.get(at..)?.first_chunk()?));
    let moved = base.map_or(0, |base| base.wrapping_sub(address(8).unwrap_or(base)));
    let mut texts = content.get(ADDRESSES_LEN..)?.split(|byte| *byte == 0);
    let mut text = || Some(str::from_utf8(texts.next()?).ok()?.to_owned());
    Some(StaticProbe {
        address: address(0)?.wrapping_add(moved),
        semaphore: address(16).filter(|at| *at != 0),
        provider: text()?,
        name: text()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note_of(owner: &[u8], kind: u32, content: &[u8]) -> Vec<u8> {
        let padded = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let words = [owner.len() as u32, content.len() as u32, kind];
        let head: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        [head, padded(owner), padded(content)].concat()
    }

    fn content(addresses: [u64; 3], texts: &[u8]) -> Vec<u8> {
        let mut bytes: Vec<u8> = addresses.into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.extend(texts);
        bytes
    }

    #[test]
    fn a_probe_has_a_provider_a_name_and_an_address_that_moves_with_the_base() {
        let first = content([0x1000, 0x5000, 0], b"shop\0order__start\0-4@%edi\0");
        let second = content([0x1010, 0x5000, 0x9000], b"shop\0order__done\0\0");
        let notes =
            [note_of(OWNER, 3, &first), note_of(b"GNU\0", 3, &first), note_of(OWNER, 3, &second)].concat();
        let found = probes(&notes, Some(0x5100));
        let told: Vec<_> = found.iter().map(|probe| (&*probe.name, probe.address, probe.semaphore)).collect();
        assert_eq!(told, [("order__start", 0x1100, None), ("order__done", 0x1110, Some(0x9000))]);
        assert!(found.iter().all(|probe| probe.provider == "shop"));
    }

    #[test]
    fn damaged_notes_are_none() {
        let whole = note_of(OWNER, 3, &content([1, 2, 3], b"a\0b\0c\0"));
        for len in 0..whole.len() - 4 {
            assert_eq!(probes(&whole[..len], None), [], "{len} bytes");
        }
        let huge = [u32::MAX, u32::MAX, 3].into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
        assert_eq!(probes(&huge, None), []);
        assert_eq!(probes(&note_of(OWNER, 3, &content([1, 2, 3], b"\xff\0b\0")), None), []);
    }

    #[test]
    fn the_c_library_has_some_where_its_distribution_built_it_so() {
        let path = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"];
        let Some(file) = path.iter().find_map(|path| std::fs::File::open(path).ok()) else { return };
        let image = Image::open(file).unwrap();
        for probe in image.static_probes().iter().filter(|probe| probe.provider == "libc") {
            assert!(image.offset_of(probe.address).is_some(), "{probe:?}");
        }
    }
}

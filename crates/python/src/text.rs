//! CPython's strings, copied from a process: one, two or four bytes per character.

/// A string, or the part of one that was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    /// Length of the whole string, in characters.
    pub length: u32,
    /// Bytes per character.
    pub kind: u8,
    /// What was copied.
    pub bytes: &'a [u8],
}

impl Text<'_> {
    /// The characters; invalid ones are replaced. None when nothing could be read. Untrusted:
    /// control characters are kept, so escape before printing.
    #[must_use]
    pub fn decode(&self) -> Option<String> {
        if self.bytes.is_empty() && self.length > 0 {
            return None;
        }
        let replace = |point: u32| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
        Some(match self.kind {
            1 => self.bytes.iter().map(|byte| char::from(*byte)).collect(),
            2 => {
                self.bytes.chunks_exact(2).map(|c| replace(u16::from_le_bytes([c[0], c[1]]).into())).collect()
            }
            4 => self
                .bytes
                .chunks_exact(4)
                .map(|c| replace(u32::from_le_bytes([c[0], c[1], c[2], c[3]])))
                .collect(),
            _ => return None,
        })
    }

    /// It is longer than what was copied.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        u64::from(self.length) * u64::from(self.kind) > self.bytes.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(kind: u8, bytes: &[u8]) -> Option<String> {
        Text { length: 9, kind, bytes }.decode()
    }

    #[test]
    fn each_width_is_decoded_and_what_is_none_is_replaced() {
        assert_eq!(decode(1, b"caf\xe9").as_deref(), Some("caf\u{e9}"));
        assert_eq!(decode(2, &[0x3b, 0x04, 0x00, 0xd8, 0x41]).as_deref(), Some("\u{43b}\u{fffd}"));
        assert_eq!(
            decode(4, &[0x00, 0xf6, 0x01, 0x00, 0xff, 0xff, 0xff, 0xff]).as_deref(),
            Some("\u{1f600}\u{fffd}")
        );
        assert_eq!(decode(3, b"abc"), None, "there is no such kind");
        assert_eq!(decode(1, b""), None, "nothing was read");
        assert_eq!(Text { length: 0, kind: 1, bytes: b"" }.decode().as_deref(), Some(""));
    }
}

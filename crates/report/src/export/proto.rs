//! Messages of protocol buffers, written only: a few kinds of fields are all that the formats here
//! need (`https://protobuf.dev/programming-guides/encoding/`). Fields that are 0 or empty are left
//! out, as proto3 does.

/// A message in the making.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message(Vec<u8>);

const VARINT: u64 = 0;
const FIXED: u64 = 1;
const BYTES: u64 = 2;

impl Message {
    /// A number, of any of the types with variable length but `sint`.
    pub fn number(&mut self, field: u32, value: u64) -> &mut Self {
        if value != 0 {
            self.key(field, VARINT);
            varint(&mut self.0, value);
        }
        self
    }

    /// Writes a varint field, also where it is 0.
    pub fn always(&mut self, field: u32, value: u64) -> &mut Self {
        self.key(field, VARINT);
        varint(&mut self.0, value);
        self
    }

    /// A number of eight bytes.
    pub fn fixed(&mut self, field: u32, value: u64) -> &mut Self {
        self.key(field, FIXED);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A number of eight bytes with a fraction, also where it is 0.
    pub fn double(&mut self, field: u32, value: f64) -> &mut Self {
        self.fixed(field, value.to_bits())
    }

    /// A number of the types `sint32` and `sint64`.
    pub fn signed(&mut self, field: u32, value: i64) -> &mut Self {
        self.number(field, (value << 1 ^ value >> 63) as u64)
    }

    /// Bytes, or text.
    pub fn bytes(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        if !bytes.is_empty() { self.item(field, bytes) } else { self }
    }

    /// One of several texts or messages, which may be empty.
    pub fn item(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        self.key(field, BYTES);
        varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// A message within it.
    pub fn message(&mut self, field: u32, message: &Message) -> &mut Self {
        self.item(field, &message.0)
    }

    /// Several numbers, packed.
    pub fn numbers(&mut self, field: u32, values: impl IntoIterator<Item = u64>) -> &mut Self {
        let mut packed = Vec::new();
        values.into_iter().for_each(|value| varint(&mut packed, value));
        self.bytes(field, &packed)
    }

    /// The encoded message.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    fn key(&mut self, field: u32, kind: u64) {
        varint(&mut self.0, u64::from(field) << 3 | kind);
    }
}

fn varint(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_encoding_guide() {
        let mut message = Message::default();
        message.number(1, 150).bytes(2, b"testing").number(3, 0).bytes(4, b"");
        let expected = b"\x08\x96\x01\x12\x07testing";
        assert_eq!(message.clone().finish(), expected);
        let mut outer = Message::default();
        outer.message(3, &message).numbers(4, [3, 270, 86_942]).item(5, b"");
        let bytes = outer.finish();
        assert_eq!(bytes[..2], [0x1a, expected.len() as u8]);
        assert_eq!(bytes[2 + expected.len()..], *b"\x22\x06\x03\x8e\x02\x9e\xa7\x05\x2a\x00");
        let mut others = Message::default();
        others.always(1, 0).fixed(47, 1);
        assert_eq!(others.finish(), *b"\x08\x00\xf9\x02\x01\0\0\0\0\0\0\0");
        let mut signs = Message::default();
        signs.signed(1, -1).signed(1, 1).signed(1, -2).signed(1, 0).double(2, 1.0);
        assert_eq!(signs.finish(), *b"\x08\x01\x08\x02\x08\x03\x11\0\0\0\0\0\0\xf0\x3f");
        let mut most = Message::default();
        most.number(1, u64::MAX);
        assert_eq!(most.finish().len(), 11);
    }
}

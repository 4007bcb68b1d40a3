//! The header and the question of a DNS message (RFC 1035 section 4), from the bytes of a packet.
//!
//! Pure. Invalid bytes give none; a message cut after the header has no question. Answer records
//! are not parsed: a wait needs only the time and code of a response.

/// The limit of labels of a name, and of compression pointers: a name of 255 bytes has no more
/// labels, and valid questions have no pointers.
const LABELS_MAX: usize = 128;
/// Bytes of a name on the wire (RFC 1035 section 2.3.4).
const NAME_MAX: usize = 255;
const HEAD: usize = 12;

/// The used parts of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) id: u16,
    /// Whether it is a response.
    pub(super) answers: bool,
    /// `RCODE`.
    pub(super) code: u8,
    /// The first question, where it is complete.
    pub(super) question: Option<DnsQuestion>,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DnsQuestion {
    /// In presentation form; see [`model::network::Lookup`].
    pub(super) name: String,
    pub(super) kind: u16,
}

/// Parses a message. None when it is too short for a header, or not a query (`OPCODE` 0).
pub(super) fn read(bytes: &[u8]) -> Option<Message> {
    let head: &[u8; HEAD] = bytes.first_chunk()?;
    if head[2] >> 3 & 15 != 0 {
        return None;
    }
    let questions = u16::from_be_bytes([head[4], head[5]]);
    Some(Message {
        id: u16::from_be_bytes([head[0], head[1]]),
        answers: head[2] & 0x80 != 0,
        code: head[3] & 15,
        question: (questions > 0).then(|| question(bytes)).flatten(),
    })
}

fn question(bytes: &[u8]) -> Option<DnsQuestion> {
    let (name, end) = name(bytes, HEAD)?;
    let kind = bytes.get(end..)?.first_chunk()?;
    Some(DnsQuestion { name, kind: u16::from_be_bytes(*kind) })
}

/// The name at `at`, and the offset of its end.
fn name(bytes: &[u8], mut at: usize) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut end = None;
    let mut length = 1;
    for _ in 0..LABELS_MAX {
        let first = *bytes.get(at)?;
        match first >> 6 {
            0 if first == 0 => {
                if text.is_empty() {
                    text.push('.');
                }
                return Some((text, end.unwrap_or(at + 1)));
            }
            0 => {
                let label = bytes.get(at + 1..at + 1 + usize::from(first))?;
                length += 1 + label.len();
                if length > NAME_MAX {
                    return None;
                }
                if !text.is_empty() {
                    text.push('.');
                }
                label.iter().for_each(|byte| show(*byte, &mut text));
                at += 1 + label.len();
            }
            3 => {
                end = end.or(Some(at + 2));
                at = usize::from(first & 0x3f) << 8 | usize::from(*bytes.get(at + 1)?);
            }
            _ => return None,
        }
    }
    None
}

/// Converts a name from a program to presentation form: its dots separate labels.
pub(super) fn presentation(name: &[u8]) -> String {
    let name = name.strip_suffix(b".").unwrap_or(name);
    let mut text = String::new();
    for (number, label) in name.split(|byte| *byte == b'.').enumerate() {
        if number > 0 {
            text.push('.');
        }
        label.iter().for_each(|byte| show(*byte, &mut text));
    }
    text
}

/// A byte of a label in presentation form (RFC 4343 section 2.1).
fn show(byte: u8, text: &mut String) {
    match byte {
        b'.' | b'\\' => text.extend(['\\', char::from(byte)]),
        0x21..=0x7e => text.push(char::from(byte)),
        _ => text.push_str(&format!("\\{byte:03}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `dig +noedns example.org`, captured by tcpdump.
    const ASKS: &[u8] = b"\xbe\xef\x01\x20\0\x01\0\0\0\0\0\0\x07example\x03org\0\0\x01\0\x01";
    /// A server's response: no such name, with the authority section cut off.
    const NO_SUCH: &[u8] =
        b"\x1a\x2b\x81\x83\0\x01\0\0\0\x01\0\0\x04nope\x07example\x03org\0\0\x1c\0\x01\xc0\x11\0\x06";

    fn asked(name: &[u8]) -> Option<DnsQuestion> {
        let mut bytes = ASKS[..HEAD].to_vec();
        bytes.extend(name);
        bytes.extend([0, 28, 0, 1]);
        read(&bytes).unwrap().question
    }

    #[test]
    fn questions_and_answers_of_the_wire_are_read() {
        let question = DnsQuestion { name: "example.org".into(), kind: 1 };
        let expected = Message { id: 0xbeef, answers: false, code: 0, question: Some(question) };
        assert_eq!(read(ASKS), Some(expected));
        let question = DnsQuestion { name: "nope.example.org".into(), kind: 28 };
        let expected = Message { id: 0x1a2b, answers: true, code: 3, question: Some(question) };
        assert_eq!(read(NO_SUCH), Some(expected));
    }

    #[test]
    fn what_is_cut_off_is_a_message_without_a_question_or_nothing() {
        for len in 0..ASKS.len() - 2 {
            let message = read(&ASKS[..len]);
            assert_eq!(message.is_some(), len >= HEAD, "{len}");
            assert!(message.is_none_or(|message| message.question.is_none()), "{len}");
        }
        // The class is not needed.
        assert!(read(&ASKS[..ASKS.len() - 2]).unwrap().question.is_some());
        let mut update = ASKS.to_vec();
        update[2] = 5 << 3;
        assert_eq!(read(&update), None);
    }

    #[test]
    fn a_name_is_shown_so_that_it_can_be_told_from_every_other() {
        let name = |wire: &[u8]| asked(wire).map(|question| question.name);
        assert_eq!(name(b"\0").as_deref(), Some("."));
        assert_eq!(name(b"\x03a.b\x01\\\0").as_deref(), Some("a\\.b.\\\\"));
        assert_eq!(name(b"\x05\x1b[1m \0").as_deref(), Some("\\027[1m\\032"));
        assert_eq!(name(b"\x02\xff\0\0").as_deref(), Some("\\255\\000"));
    }

    #[test]
    fn a_name_that_a_program_wrote_is_shown_as_one_of_the_wire() {
        assert_eq!(presentation(b"www.example.org."), "www.example.org");
        assert_eq!(presentation(b"a\x1b[2J b.c"), "a\\027[2J\\032b.c");
    }

    #[test]
    fn jumps_are_followed_backwards_and_forwards_and_never_for_ever() {
        let name = |wire: &[u8]| asked(wire).map(|question| question.name);
        assert_eq!(name(b"\xc0\x0c"), None); // to itself
        assert_eq!(name(b"\x01a\xc0\x0c"), None); // to its own beginning
        assert_eq!(name(b"\xc0\xff"), None); // out of the message
        assert_eq!(name(b"\x80\0"), None); // an undefined type of label
        let mut bytes = ASKS[..HEAD].to_vec();
        bytes.extend(b"\x01a\xc0\x14\0\x1c\0\x01\x01b\0");
        assert_eq!(read(&bytes).unwrap().question, Some(DnsQuestion { name: "a.b".into(), kind: 28 }));
        let long: Vec<u8> = [63].into_iter().chain([b'x'; 63]).cycle().take(64 * 4).chain([0]).collect();
        assert_eq!(name(&long), None);
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_printable_name_of_bounded_length_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut bytes = bytes;
            if let Some(first) = bytes.get_mut(2) { *first &= 0x87; }
            if let Some(question) = read(&bytes).and_then(|message| message.question) {
                prop_assert!(!question.name.is_empty() && question.name.len() <= 4 * NAME_MAX);
                prop_assert!(question.name.bytes().all(|byte| byte.is_ascii_graphic()), "{:?}", question.name);
            }
        }
    }
}

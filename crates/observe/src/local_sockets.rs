//! Which end of its connection a local socket is, by the names that it and its other end are bound
//! to. The kernel does not say it otherwise.
//!
//! A socket that listens has a name, and those that it accepts have the same. Who connects has none
//! as a rule; those that bind theirs too cannot be told apart.

use model::recording::Event;

/// A name of this length is the kernel's own: a zero and five digits, given to a client that asks
/// for credentials.
const MADE_UP: usize = 6;

/// What is to be recorded of the socket with this inode, where it is known which end it is. A name
/// is as in `sockaddr_un`, without the family; of no bytes where there is none.
pub(crate) fn event(ino: u64, own: &[u8], peer: &[u8]) -> Option<Event> {
    let (serves, name) = match (name(own), name(peer)) {
        (Some(own), None) => (true, own),
        (None, Some(peer)) => (false, peer),
        _ => return None,
    };
    Some(Event::LocalSocket { ino, serves, name })
}

/// A name that was asked for, as `/proc/net/unix` writes it.
fn name(address: &[u8]) -> Option<String> {
    let is_made_up = |digits: &[u8]| address.len() == MADE_UP && digits.iter().all(u8::is_ascii_hexdigit);
    match address {
        [] => None,
        [0, digits @ ..] if is_made_up(digits) => None,
        [0, ..] => Some(text(address).replace('\0', "@")),
        path => {
            let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
            Some(text(&path[..end]))
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(own: &[u8], peer: &[u8]) -> Option<(bool, String)> {
        event(7, own, peer).map(|event| match event {
            Event::LocalSocket { ino: 7, serves, name } => (serves, name),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn the_end_with_a_name_serves() {
        assert_eq!(end(b"/run/x", b""), Some((true, "/run/x".into())));
        assert_eq!(end(b"", b"/run/x\0"), Some((false, "/run/x".into())));
        assert_eq!(end(b"\0bus\0x", b"\x0000a1f"), Some((true, "@bus@x".into())), "a client of the bus");
        assert_eq!(end(b"", b"\x00zzzzz"), Some((false, "@zzzzz".into())));
        assert_eq!(end(b"a\xff\n", b""), Some((true, "a\u{fffd}\n".into())));
    }

    #[test]
    fn a_pair_and_two_that_are_bound_are_not_told_apart() {
        assert_eq!(end(b"", b""), None);
        assert_eq!(end(b"/run/x", b"/tmp/y"), None);
        assert_eq!(end(b"\x00000a1", b""), None);
    }
}

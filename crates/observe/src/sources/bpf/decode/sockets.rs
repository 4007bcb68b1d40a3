//! Local sockets, each reported once.

use super::super::wire;
use super::fields::{Malformed, first, read};
use crate::local_sockets;
use model::recording::Event;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// The limit of sockets that are remembered, so that they are not reported again. Beyond it all are
/// forgotten.
const KNOWN: usize = 65_536;

/// What was reported so far.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    /// By inode: a digest of both names.
    known: FxHashMap<u64, u64>,
}

impl Sockets {
    pub(super) fn decode(&mut self, record: &[u8]) -> Result<Option<Event>, Malformed> {
        let (names, _): (&wire::SocketNames, _) = read(record)?;
        let (own, peer) = (first(&names.own, names.own_len)?, first(&names.peer, names.peer_len)?);
        let digest = FxBuildHasher.hash_one((own, peer));
        if self.known.len() >= KNOWN {
            self.known.clear();
        }
        let news = self.known.insert(names.ino, digest) != Some(digest);
        Ok(news.then(|| local_sockets::event(names.ino, own, peer)).flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Head, Kind, SOCKET_NAME_MAX};
    use zerocopy::IntoBytes;

    fn record(own_len: u32) -> wire::SocketNames {
        let head = Head { at: 1, kind: Kind::SocketNames as u8, a: 0, flags: 0, calls: 0, tid: 7 };
        let mut own = [b'x'; SOCKET_NAME_MAX];
        own[0] = b'/';
        let peer = [0; SOCKET_NAME_MAX];
        wire::SocketNames { head, ino: 9, own_len, peer_len: 0, own, peer }
    }

    #[test]
    fn a_socket_is_told_once_and_again_when_the_number_has_another() {
        let mut sockets = Sockets::default();
        let mut told = |len| sockets.decode(record(len).as_bytes()).ok().flatten();
        let expected = Event::LocalSocket { ino: 9, serves: true, name: "/x".into() };
        assert_eq!(told(2), Some(expected));
        assert_eq!(told(2), None);
        let Some(Event::LocalSocket { name, .. }) = told(SOCKET_NAME_MAX as u32) else { panic!() };
        assert_eq!(name.len(), SOCKET_NAME_MAX);
        assert!(sockets.decode(record(SOCKET_NAME_MAX as u32 + 1).as_bytes()).is_err());
    }
}

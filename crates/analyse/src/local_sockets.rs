//! The local sockets that threads wait on: which end of its connection each is, and what its
//! server is called.

use crate::keys::SocketName;
use model::Seen;
use model::recording::Object;
use rustc_hash::FxHashMap;

/// Names that are kept apart.
const NAMES: usize = 4096;
/// Sockets that are remembered. Beyond it all are forgotten: a wait on one of them then has no
/// name.
const SOCKETS: usize = 65_536;

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalEnd {
    /// Whether it is the server's.
    pub(crate) serves: bool,
    /// What the server is called.
    pub(crate) server: SocketName,
}

/// What was said of them.
#[derive(Debug, Default)]
pub(crate) struct LocalSockets {
    by_inode: FxHashMap<u64, LocalEnd>,
    by_name: FxHashMap<String, SocketName>,
    /// In the order of their numbers.
    names: Vec<String>,
}

impl LocalSockets {
    /// Takes a socket: from now on the one with this inode is this end.
    pub(crate) fn observe(&mut self, ino: u64, serves: bool, name: &str) {
        let server = self.name(name);
        if self.by_inode.len() >= SOCKETS {
            self.by_inode.clear();
        }
        self.by_inode.insert(ino, LocalEnd { serves, server });
    }

    fn name(&mut self, name: &str) -> SocketName {
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        if self.names.len() >= NAMES {
            return SocketName::MANY;
        }
        let number = SocketName(self.names.len() as u32);
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), number);
        number
    }

    /// Which end an object is, where it is a local socket of which that was said, or of whose other
    /// end.
    pub(crate) fn end(&self, object: &Object) -> Option<LocalEnd> {
        let Object::Unix { ino, peer } = object else { return None };
        let other = || self.by_inode.get(peer).map(|end| LocalEnd { serves: !end.serves, ..*end });
        self.by_inode.get(ino).copied().or_else(other)
    }

    /// What the server is called.
    pub(crate) fn path(&self, name: SocketName) -> Seen<String> {
        match self.names.get(name.0 as usize) {
            Some(name) => Seen::Value(name.clone()),
            None => Seen::unseen("too many different ones to track"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: Object = Object::Unix { ino: 5, peer: 6 };
    const CLIENT: Object = Object::Unix { ino: 6, peer: 5 };

    #[test]
    fn both_ends_are_known_by_what_is_said_of_either() {
        for (ino, serves) in [(5, true), (6, false)] {
            let mut sockets = LocalSockets::default();
            assert_eq!(sockets.end(&SERVER), None);
            sockets.observe(ino, serves, "/run/x");
            let [server, client] = [SERVER, CLIENT].map(|end| sockets.end(&end).unwrap());
            assert!(server.serves && !client.serves);
            assert_eq!(server.server, client.server);
            assert_eq!(sockets.path(server.server), Seen::Value("/run/x".into()));
            assert_eq!(sockets.end(&Object::Unix { ino: 0, peer: 0 }), None);
        }
    }

    #[test]
    fn an_inode_that_is_used_again_is_another_socket() {
        let mut sockets = LocalSockets::default();
        sockets.observe(5, true, "/run/x");
        sockets.observe(5, false, "/run/y");
        let end = sockets.end(&SERVER).unwrap();
        assert!(!end.serves);
        assert_eq!(sockets.path(end.server), Seen::Value("/run/y".into()));
    }

    #[test]
    fn past_the_bounds_names_are_one_of_many_and_sockets_are_forgotten() {
        let mut sockets = LocalSockets::default();
        for ino in 1..=SOCKETS as u64 {
            sockets.observe(ino, true, &ino.to_string());
        }
        assert_eq!(sockets.end(&SERVER).map(|end| sockets.path(end.server)), Some(Seen::Value("5".into())));
        let last = sockets.end(&Object::Unix { ino: SOCKETS as u64, peer: 0 }).unwrap();
        assert!(last.serves && matches!(sockets.path(last.server), Seen::Unseen(_)));
        sockets.observe(SOCKETS as u64 + 1, true, "5");
        assert_eq!(sockets.end(&SERVER), None);
        assert_eq!(sockets.by_inode.len(), 1);
    }
}

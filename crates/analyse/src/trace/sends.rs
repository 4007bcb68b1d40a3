//! What threads of the tree were last known to have sent, for the other end that a softirq
//! wakes later.

use crate::account::{Clocks, Path, Slot};
use crate::what_if::program::Token;
use model::Ns;
use model::recording::{Object, SocketEnds, WaitContext};
use rustc_hash::FxHashMap;

/// Connections within this host whose last send is remembered. Past it all are forgotten: an
/// answer still on its way then stays a wait.
const SENDS: usize = 8192;

/// The last send of each connection within this host.
#[derive(Debug, Default)]
pub(super) struct Sends {
    last: FxHashMap<SocketEnds, Sent>,
}

/// What was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) sender: Slot,
    pub(super) at: Ns,
    pub(super) path: Path,
    pub(super) clocks: Clocks,
    /// Its place among the sender's steps, where these are kept.
    pub(super) token: Option<Token>,
}

/// Where a woken thread's path continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// On a thread that runs now.
    Running(Slot),
    /// On what was last sent by this end.
    Sent(SocketEnds),
}

impl Sends {
    /// Something was sent by this end: `fill` says what.
    pub(super) fn add(&mut self, ends: SocketEnds, fill: impl FnOnce(&mut Sent)) {
        if !is_local(ends) {
            return;
        }
        if self.last.len() >= SENDS && !self.last.contains_key(&ends) {
            self.last.clear();
        }
        let none =
            || Sent { sender: 0, at: 0, path: Path::default(), clocks: Clocks::default(), token: None };
        fill(self.last.entry(ends).or_insert_with(none));
    }

    /// What was last sent by this end.
    pub(super) fn last(&self, ends: SocketEnds) -> Option<&Sent> {
        self.last.get(&ends)
    }

    /// Which thread of the tree is at the other end of a socket that became ready in a soft
    /// interrupt over thread `over`, which was in a call that can have sent something or not.
    pub(super) fn source(
        &self,
        wait: &WaitContext,
        ready: Option<SocketEnds>,
        over: Option<Slot>,
        in_a_peer_call: bool,
    ) -> Option<Source> {
        let ends = match (&wait.on, ready) {
            (_, Some(ready)) => Some(ready),
            (Object::Net(ends), None) => Some(*ends),
            _ => None,
        };
        let other = ends.map(SocketEnds::reversed);
        let last = other.and_then(|other| self.last(other));
        let sender_runs = over.filter(|over| {
            let known = last.is_some_and(|sent| sent.sender == *over);
            // Its first send on a connection is not known as such before its call ends: being in a
            // call that can have done it, while a socket of this host became ready, is taken for
            // it.
            known || (ends.is_none_or(is_local) && last.is_none() && in_a_peer_call)
        });
        sender_runs.map(Source::Running).or(other.filter(|_| last.is_some()).map(Source::Sent))
    }
}

/// Whether both ends are on this host: the same address, a loopback one, or those of a local
/// socket.
pub(super) fn is_local(ends: SocketEnds) -> bool {
    let loopback = |address: [u8; 16]| {
        let address = std::net::Ipv6Addr::from(address);
        address.to_canonical().is_loopback()
    };
    ends.local == ends.remote
        || loopback(ends.remote)
        || loopback(ends.local)
        || ends.local_socket().is_some()
}

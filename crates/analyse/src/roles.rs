//! Which end of a connection asks and which serves, where the ports do not tell.
//!
//! The service has the lower port as a rule, since the kernel gives clients high ones. Where it has
//! not, the recording says so. Older ones say it of two high ports.

use model::recording::SocketEnds;
use rustc_hash::FxHashMap;

/// Ports from here on are given by the kernel to who asks for none (`ip_local_port_range`, ip(7)).
pub(crate) const EPHEMERAL_PORT_MIN: u16 = 32_768;

/// Connections that are remembered. Beyond it all are forgotten.
const CONNECTIONS: usize = 65_536;

/// The ends that the tree has of connections of which the recording says who serves.
#[derive(Debug, Default)]
pub(crate) struct Roles {
    serves: FxHashMap<SocketEnds, bool>,
}

impl Roles {
    /// Takes who opened a connection; `serves`: not the tree's end.
    pub(crate) fn observe(&mut self, ends: SocketEnds, serves: bool) {
        if self.serves.len() >= CONNECTIONS && !self.serves.contains_key(&ends) {
            self.serves.clear();
        }
        self.serves.insert(ends, serves);
    }

    /// Whether this end is the service of a connection.
    pub(crate) fn serves(&self, ends: SocketEnds) -> bool {
        self.serves.get(&ends).copied().unwrap_or_else(|| serves_by_ports(ends))
    }
}

/// The same as the ports of a connection have it.
pub(crate) fn serves_by_ports(ends: SocketEnds) -> bool {
    ends.local_port != 0 && ends.local_port < ends.remote_port
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(local_port: u16, remote_port: u16) -> SocketEnds {
        SocketEnds { protocol: 6, local: [0; 16], local_port, remote: [0; 16], remote_port }
    }

    #[test]
    fn what_was_told_counts_before_the_ports() {
        let mut roles = Roles::default();
        assert!(roles.serves(ends(40_000, 50_000)) && !roles.serves(ends(40_000, 80)));
        roles.observe(ends(40_000, 50_000), false);
        roles.observe(ends(50_000, 40_000), true);
        assert!(!roles.serves(ends(40_000, 50_000)) && roles.serves(ends(50_000, 40_000)));
    }
}

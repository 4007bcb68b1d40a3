//! Packets and connections: within this host over loopback, and to hosts that the user names.
//! Nothing leaves this host otherwise.

mod hosts;
mod http;
mod loopback;
mod tcp;
mod tls;
mod udp;

use crate::{LadderRequest, Rung, RungDescription, RungGroup};

pub(crate) fn rungs(asked: &LadderRequest) -> Vec<Rung> {
    let mut rungs =
        vec![udp::round_trip(), tcp::round_trip(), tcp::connect(), tls::handshake(), http::request()];
    rungs.extend(asked.hosts.iter().flat_map(|host| hosts::rungs(host)));
    rungs
}

fn about(id: &str, what: &str) -> RungDescription {
    crate::about(id, RungGroup::Network, what)
}

/// A rung within this host.
fn about_loopback(id: &str, what: &str) -> RungDescription {
    RungDescription { needs: "the loopback interface".into(), ..about(id, what) }
}

//! Requests to the server of the lab.

use crate::Setting;
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// A connection to the server, on which nothing is held back (`TCP_NODELAY`).
pub(crate) fn connected(setting: &Setting) -> io::Result<TcpStream> {
    let peer = TcpStream::connect((setting.host, setting.port))?;
    peer.set_nodelay(true)?;
    Ok(peer)
}

/// Sends a request that the server takes so long for.
pub(crate) fn send(mut peer: &TcpStream, us: u64) -> io::Result<()> {
    peer.write_all(&us.to_ne_bytes())
}

/// Waits for an answer.
pub(crate) fn receive(mut peer: &TcpStream) -> io::Result<()> {
    peer.read_exact(&mut [0; 8])
}

/// A request and its answer.
pub(crate) fn ask(peer: &TcpStream, us: u64) -> io::Result<()> {
    send(peer, us)?;
    receive(peer)
}

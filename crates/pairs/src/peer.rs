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

/// Asks for a path by HTTP, on a connection that stays open, and takes the answer.
pub(crate) fn fetch(mut peer: &TcpStream, path: &str) -> io::Result<()> {
    peer.write_all(format!("GET {path} HTTP/1.1\r\nHost: lab\r\n\r\n").as_bytes())?;
    let (mut answer, mut piece, mut end) = (0, [0; 64 << 10], None);
    while end.is_none_or(|end| answer < end) {
        let len = peer.read(&mut piece)?;
        if len == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        answer += len;
        // The server writes the head at once.
        end = end.or_else(|| length(&piece[..len]));
    }
    Ok(())
}

/// The length of an answer that begins like this, with its head.
fn length(begin: &[u8]) -> Option<usize> {
    let head = begin.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&begin[..head]).ok()?;
    let length = text.lines().find_map(|line| line.strip_prefix("Content-Length: "))?;
    Some(head + 4 + length.parse::<usize>().ok()?)
}

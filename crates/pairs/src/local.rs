//! The server's local socket: the peer of programs that wait for another one on the same machine.
//!
//! Its name is in no directory, so nothing stays behind. A piece is asked for as of the server on
//! loopback: 8 bytes, a number of microseconds, that come back after that time.

use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread;

/// Serves beside the server on that port, from a thread of its own.
pub(crate) fn serve(port: u16, answer: fn(UnixStream) -> io::Result<()>) -> io::Result<()> {
    let listener = UnixListener::bind_addr(&address(port)?)?;
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || answer(connection));
        }
    });
    Ok(())
}

/// A connection to the server on that port.
pub(crate) fn connect(port: u16) -> io::Result<UnixStream> {
    UnixStream::connect_addr(&address(port)?)
}

/// Asks for a piece that takes the other end so long.
pub(crate) fn ask(peer: &mut UnixStream, us: u64) -> io::Result<()> {
    peer.write_all(&us.to_ne_bytes())?;
    peer.read_exact(&mut [0; 8])
}

fn address(port: u16) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("dwell-lab-{port}"))
}

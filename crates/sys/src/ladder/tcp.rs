//! The kernel's state of a TCP connection: TCP_INFO of tcp(7).
#![allow(unsafe_code)]

use model::Ns;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The offset of the end of `tcpi_rtt` in `struct tcp_info` of linux/tcp.h: after 8 bytes and 15
/// words. The structure has only grown at its end, so this holds for every kernel.
const RTT_AT: usize = 8 + 15 * 4;
const RTT_END: usize = RTT_AT + 4;

/// The current smoothed round-trip time of a connection: right after `connect`, that from the SYN
/// to the SYN-ACK. The kernel keeps it in microseconds.
///
/// # Errors
/// The error of `getsockopt`; that it is not a TCP connection, or has no round-trip time yet.
pub fn round_trip_ns(connection: BorrowedFd<'_>) -> io::Result<Ns> {
    let mut info = [0u8; RTT_END];
    let mut len = RTT_END as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to the buffer, which has as many, and then how
    // many they were.
    let failed = unsafe {
        libc::getsockopt(
            connection.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &mut len,
        )
    };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut word = [0; 4];
    word.copy_from_slice(&info[RTT_AT..RTT_END]);
    match u32::from_ne_bytes(word) {
        _ if (len as usize) < RTT_END => Err(io::Error::other("the kernel reports no round-trip time")),
        0 => Err(io::Error::other("the connection has no round-trip time yet")),
        us => Ok(Ns::from(us) * 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;

    #[test]
    fn a_connection_within_this_host_has_a_short_round_trip() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let rtt_ns = round_trip_ns(stream.as_fd()).unwrap();
        // Microseconds; a wrong offset would give 0, an address or a time of seconds.
        assert!((1_000..500_000_000).contains(&rtt_ns), "{rtt_ns} ns");
    }

    #[test]
    fn what_is_no_connection_has_none() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(round_trip_ns(socket.as_fd()).is_err());
    }
}

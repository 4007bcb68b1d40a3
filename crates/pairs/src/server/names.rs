//! A name server: each address has the name `host-A-B-C-D.example`, told 5 ms after the question,
//! or as long as is chosen.
//!
//! RFC 1035, section 4: one question a message, of kind PTR; its answer repeats the question and
//! points to its name. Questions of several clients are answered at the same time.

use super::{told, until_input_ends};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// As long as a name server in the same country takes.
const DELAY: Duration = Duration::from_millis(5);
/// Who asks gives up after 2 s.
const DELAY_MS_MAX: u64 = 1500;
/// The port of DNS.
const PORT: u16 = 53;
const HEAD: usize = 12;
/// A question: PTR, of the internet.
const PTR_IN: [u8; 4] = [0, 12, 0, 1];
const HOUR_S: u32 = 3600;

pub(super) fn serve(
    latency_ms: Option<u64>,
    at: Option<SocketAddrV4>,
    say: impl FnOnce(&str) -> io::Result<()>,
) -> io::Result<()> {
    let socket = match at {
        Some(at) => UdpSocket::bind(at),
        None => UdpSocket::bind(SocketAddr::from((own_address(), PORT))).or_else(|_| {
            // Without privileges.
            UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        }),
    };
    let socket = Arc::new(socket?);
    let delay = latency_ms.map_or(DELAY, |ms| Duration::from_millis(ms.min(DELAY_MS_MAX)));
    until_input_ends();
    told(socket.local_addr()?, say)?;
    let mut message = [0; 512];
    loop {
        let (len, from) = socket.recv_from(&mut message)?;
        let Some(answer) = answer(&message[..len]) else { continue };
        let socket = Arc::clone(&socket);
        thread::spawn(move || {
            thread::sleep(delay);
            socket.send_to(&answer, from)
        });
    }
}

/// Of loopback, and no other server's.
fn own_address() -> Ipv4Addr {
    let [_, b, c, d] = process::id().to_be_bytes();
    Ipv4Addr::new(127, 64 + b % 64, c, d.max(1))
}

/// None of what is no such question.
fn answer(message: &[u8]) -> Option<Vec<u8>> {
    let (labels, end) = labels(message)?;
    let question = message.get(HEAD..end + PTR_IN.len())?;
    if message[2] & 0x80 != 0 || message[4..6] != [0, 1] || !question.ends_with(&PTR_IN) {
        return None;
    }
    let host = format!("host-{}-{}-{}-{}", labels[3], labels[2], labels[1], labels[0]);
    let name = [&[host.len() as u8], host.as_bytes(), b"\x07example\0"].concat();
    let counts = [0, 1, 0, 1, 0, 0, 0, 0];
    let mut answer = [&message[..2], &[0x84, 0], &counts, question].concat();
    answer.extend([0xc0, HEAD as u8]);
    answer.extend(PTR_IN);
    answer.extend(HOUR_S.to_be_bytes());
    answer.extend((name.len() as u16).to_be_bytes());
    answer.extend(name);
    Some(answer)
}

/// The four numbers of an address, the last one first, and where the name ends.
fn labels(message: &[u8]) -> Option<([u8; 4], usize)> {
    let (mut at, mut numbers) = (HEAD, Vec::new());
    loop {
        let len = usize::from(*message.get(at)?);
        at += 1;
        if len == 0 {
            break;
        }
        let label = message.get(at..at + len)?;
        numbers.extend(std::str::from_utf8(label).ok()?.parse::<u8>().ok());
        at += len;
    }
    Some((numbers.try_into().ok()?, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_name() {
        let head = [7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let question = [&head[..], b"\x014\x013\x012\x03192\x07in-addr\x04arpa\0", &PTR_IN].concat();
        let told = answer(&question).unwrap();
        assert_eq!(told[..4], [7, 9, 0x84, 0]);
        assert!(told.ends_with(b"\x0ehost-192-2-3-4\x07example\0"));
        assert_eq!(answer(&question[..20]), None);
        assert_eq!(answer(&[&head[..], b"\x04arpa\0", &PTR_IN].concat()), None);
    }
}

//! What dwell tells the starter, as bytes of a socket: a kind, a length, and for a run the order,
//! with the descriptors of its standard streams beside the first bytes.
//!
//! A stream and not packets: arguments and environment may be larger than the longest packet.

use super::order::Order;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;

/// A request.
#[derive(Debug)]
pub(super) enum Request {
    /// Run a command.
    Run {
        /// Which.
        order: Order,
        /// Its environment.
        environment: Vec<OsString>,
        /// Its standard streams.
        streams: [OwnedFd; 3],
    },
    /// Say how many processes that were left behind still live.
    Count,
}

/// The kind, and the length of what follows.
const HEAD: usize = 9;
const RUN: u8 = b'R';
const COUNT: u8 = b'C';

/// Asks how many processes that were left behind still live.
pub(super) fn send_count(mut socket: &UnixStream) -> io::Result<()> {
    socket.write_all(&head(COUNT, 0))
}

/// Sends the request to run a command.
pub(super) fn send_run(
    mut socket: &UnixStream,
    order: &Order,
    environment: &[OsString],
    streams: [BorrowedFd<'_>; 3],
) -> io::Result<()> {
    let body = encode(order, environment);
    let head = head(RUN, body.len());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(&streams));
    let sent = sendmsg(socket, &[IoSlice::new(&head)], &mut beside, SendFlags::NOSIGNAL)?;
    if sent != HEAD {
        return Err(io::ErrorKind::WriteZero.into());
    }
    socket.write_all(&body)
}

/// Waits for the next request; none when dwell has ended, or what comes makes no sense.
pub(super) fn receive(mut socket: &UnixStream) -> Option<Request> {
    let mut head = [0; HEAD];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let into = &mut [IoSliceMut::new(&mut head)];
    let read = recvmsg(socket, into, &mut beside, RecvFlags::CMSG_CLOEXEC).ok()?.bytes;
    let mut streams = Vec::with_capacity(3);
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            streams.extend(descriptors);
        }
    }
    if read != HEAD {
        return None;
    }
    let [kind, length @ ..] = head;
    if kind == COUNT {
        return Some(Request::Count);
    }
    let mut body = vec![0; usize::try_from(u64::from_le_bytes(length)).ok()?];
    socket.read_exact(&mut body).ok()?;
    let (order, environment) = decode(&body)?;
    Some(Request::Run { order, environment, streams: streams.try_into().ok()? })
}

fn head(kind: u8, length: usize) -> [u8; HEAD] {
    let mut head = [kind; HEAD];
    head[1..].copy_from_slice(&(length as u64).to_le_bytes());
    head
}

/// Whether it is a script, its path, its arguments and its environment: each with its length, lists
/// with their number of entries before.
fn encode(order: &Order, environment: &[OsString]) -> Vec<u8> {
    let mut body = vec![u8::from(order.is_script)];
    put(&mut body, order.path.as_os_str());
    for list in [&order.argv[..], environment] {
        body.extend((list.len() as u64).to_le_bytes());
        list.iter().for_each(|word| put(&mut body, word));
    }
    body
}

fn put(body: &mut Vec<u8>, word: &OsStr) {
    body.extend((word.len() as u64).to_le_bytes());
    body.extend(word.as_bytes());
}

fn decode(body: &[u8]) -> Option<(Order, Vec<OsString>)> {
    let (is_script, mut rest) = body.split_first()?;
    let path = word(&mut rest)?.into();
    let argv = words(&mut rest)?;
    let environment = words(&mut rest)?;
    Some((Order { path, is_script: *is_script != 0, argv }, environment))
}

fn words(rest: &mut &[u8]) -> Option<Vec<OsString>> {
    (0..number(rest)?).map(|_| word(rest)).collect()
}

fn word(rest: &mut &[u8]) -> Option<OsString> {
    let length = usize::try_from(number(rest)?).ok()?;
    let (word, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(OsString::from_vec(word.to_vec()))
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u64::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::thread;

    #[test]
    fn an_order_and_its_streams_arrive_whole() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let null = File::open("/dev/null").unwrap();
        let order = Order {
            path: "/bin/x".into(),
            is_script: true,
            argv: vec!["x".into(), OsString::from_vec(vec![0xff, b' ']), "".into()],
        };
        // Larger than any buffer of a socket.
        let environment = vec![OsString::from("A=1"), "B=2".repeat(1_000_000).into()];
        let got = thread::scope(|scope| {
            let receiver = scope.spawn(|| (receive(&theirs), receive(&theirs)));
            let streams = [null.as_fd(); 3];
            send_run(&ours, &order, &environment, streams).unwrap();
            send_count(&ours).unwrap();
            receiver.join().unwrap()
        });
        let (Some(Request::Run { order: ordered, environment: its, .. }), Some(Request::Count)) = got else {
            panic!("{got:?}");
        };
        assert_eq!((ordered, its), (order, environment));
        drop(ours);
        assert!(receive(&theirs).is_none());
    }

    #[test]
    fn what_is_cut_off_is_no_order() {
        let whole = encode(
            &Order { path: "p".into(), is_script: false, argv: vec!["p".into()] },
            &[OsString::from("A=1")],
        );
        assert!(decode(&whole).is_some());
        assert!((0..whole.len()).all(|length| decode(&whole[..length]).is_none()));
    }
}

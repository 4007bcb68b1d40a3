//! Round trips over TCP on the loopback: in each pair of threads one sends a message and the other
//! sends it back.

use crate::room::{WORKER_BYTES, allow_files, enough_memory};
use crate::team::{Stop, together};
use crate::{RunLimit, Tally, Work, while_doing};
use model::wake::load::Mismatch;
use rustix::thread::sched_getcpu;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::time::Duration;

/// One end of a connection.
enum End {
    Client(TcpStream),
    Server(TcpStream),
}

/// Descriptors of a pair: both ends, and a copy of one to wake them.
const FILES: u64 = 3;
/// Copies of a message per pair: sent, in flight, answered, received.
const COPIES: u64 = 4;

pub(crate) fn run(threads: u32, message_bytes: usize, mut limit: RunLimit<'_>) -> io::Result<Tally> {
    let pairs = u64::from(threads);
    allow_files(pairs * FILES, "fewer threads")?;
    let needed = pairs * (COPIES * message_bytes as u64 + 2 * WORKER_BYTES);
    enough_memory(&format!("network with {threads} threads"), needed, "fewer threads, or smaller messages")?;
    let (mut ends, mut hands) = (Vec::new(), Vec::new());
    for _ in 0..threads {
        limit.check_wanted(Duration::ZERO)?;
        let (near, far) = pair().map_err(|error| while_doing("cannot connect over the loopback", &error))?;
        hands.push(near.try_clone()?);
        ends.extend([End::Client(near), End::Server(far)]);
    }
    // Each end may be blocked on the other, so both must be woken to stop.
    let wake = || hands.iter().for_each(|hand| _ = hand.shutdown(Shutdown::Both));
    together("network", ends, limit, &wake, &|end, stop| match end {
        End::Client(stream) => client(stream, message_bytes, stop),
        End::Server(stream) => server(stream, message_bytes, stop),
    })
}

/// A connected pair. A connection from another port is not ours.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (far, from) = listener.accept()?;
        if from == near.local_addr()? {
            near.set_nodelay(true)?;
            far.set_nodelay(true)?;
            return Ok((near, far));
        }
    }
}

fn client(mut stream: TcpStream, message_bytes: usize, stop: &Stop) -> io::Result<Work> {
    let mut work = Work::default();
    let mut message: Vec<u8> = (0..message_bytes).map(|at| at as u8).collect();
    let mut back = vec![0; message_bytes];
    while !stop.is_set() {
        message[0] = work.done as u8;
        if let Err(error) = stream.write_all(&message).and_then(|()| stream.read_exact(&mut back)) {
            return if stop.is_set() { Ok(work) } else { Err(error) };
        }
        if back != message {
            let differ = back.iter().zip(&message).position(|(back, sent)| back != sent).unwrap_or_default();
            work.mismatch(Mismatch {
                at: differ as u64,
                expected: message[differ].into(),
                actual: back[differ].into(),
                cpu: sched_getcpu() as u32,
            });
        }
        work.done += 1;
    }
    Ok(work)
}

fn server(mut stream: TcpStream, message_bytes: usize, stop: &Stop) -> io::Result<Work> {
    let mut message = vec![0; message_bytes];
    loop {
        match stream.read_exact(&mut message).and_then(|()| stream.write_all(&message)) {
            Ok(()) => {}
            // The other end has closed.
            Err(error) if stop.is_set() || error.kind() == ErrorKind::UnexpectedEof => {
                return Ok(Work::default());
            }
            Err(error) => return Err(error),
        }
    }
}

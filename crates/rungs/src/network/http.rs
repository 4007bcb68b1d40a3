//! A request and its answer over a connection that is kept.

use super::about_loopback;
use super::loopback::{ENDS, Server, limits, refused};
use crate::bench::Bench;
use crate::{Rung, RungDescription, Samples, Unmeasured};
use std::io::{self, Read, Write};
use std::net::TcpStream;

const REQUEST: &[u8] = b"GET /ladder HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";
const BODY_BYTES: usize = 100;
const END: &[u8] = b"\r\n\r\n";

pub(super) fn request() -> Rung {
    let about = RungDescription {
        excludes: "the connection, and what a real server and a real client do beside the bare protocol"
            .into(),
        method: format!(
            "an HTTP/1.1 GET over a kept connection and an answer of 100 bytes behind its headers, both written \
                         by hand, {ENDS}"
        ),
        source: "wrk with one connection".into(),
        ..about_loopback("http-request", "an HTTP request within this host and its answer")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(measure) }
}

fn measure(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let server = Server::start(bench, |stream| {
        // It ends with the connection, which is the end of file or an error.
        let _ = serve(stream);
    })?;
    let mut stream = server.connect()?;
    let mut buffer = Vec::new();
    let samples = bench.sample(|ops| {
        (0..ops)
            .try_for_each(|_| ask(&mut stream, &mut buffer))
            .map_err(|error| refused("send an HTTP request", &error))
    });
    drop(stream);
    Ok(Samples { limits: limits(bench), ..samples? })
}

/// Answers requests until the other end closes.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let head = head(&mut stream, &mut buffer)?;
        if !buffer.starts_with(b"GET ") {
            return Err(io::Error::other("not a request"));
        }
        buffer.drain(..head);
        let mut answer =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {BODY_BYTES}\r\n\r\n");
        answer.extend(std::iter::repeat_n('x', BODY_BYTES));
        stream.write_all(answer.as_bytes())?;
    }
}

/// Asks once, and reads the answer to its last byte.
fn ask(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    stream.write_all(REQUEST)?;
    let head = head(stream, buffer)?;
    let text = std::str::from_utf8(&buffer[..head]).map_err(io::Error::other)?;
    let length = text.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let length: usize = length.and_then(|length| length.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
    if !text.starts_with("HTTP/1.1 200 ") || length != BODY_BYTES {
        return Err(io::Error::other("not the answer that was expected"));
    }
    while buffer.len() < head + length {
        more(stream, buffer)?;
    }
    Ok(())
}

/// Reads until the headers are complete; gives where they end.
fn head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        if let Some(at) = buffer.windows(END.len()).position(|four| four == END) {
            return Ok(at + END.len());
        }
        more(stream, buffer)?;
    }
}

fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut piece = [0; 1024];
    match stream.read(&mut piece)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        bytes => {
            buffer.extend_from_slice(&piece[..bytes]);
            Ok(())
        }
    }
}

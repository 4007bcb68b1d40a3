//! Downloads over HTTP/1.1: whole, checked, and resumed where the connection was cut.
//!
//! A connection each, as a function of a library makes it, secret where the URL says so ([`tls`]).
//! What they amount to while they run is shown by [`progress`].

mod body;
mod progress;
mod tls;
mod url;

use crate::server::http::checksum_from;
use body::{Body, BodyEnd};
pub(crate) use progress::{Progress, amount};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
pub(crate) use url::Url;

/// How long a download may take.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// For a connection, and for each piece of an answer.
    silence: Duration,
    /// For all of it.
    longest: Duration,
}

const LIMITS: Limits = Limits { silence: Duration::from_secs(10), longest: Duration::from_secs(60) };
/// A download that is cut is asked for again this many times.
const CUTS_MAX: u32 = 3;
/// Lines of the head of an answer.
const HEAD_MAX: usize = 200;

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Got {
    pub(crate) bytes: u64,
    /// How often it was resumed.
    pub(crate) resumed: u32,
    /// The server told a checksum, and it is right.
    pub(crate) checked: bool,
}

/// The head of an answer.
#[derive(Debug, Default)]
struct Head {
    status: String,
    /// Of this answer, if told.
    length: Option<u64>,
    /// Where in the whole it begins.
    from: u64,
    chunked: bool,
    crc32: Option<u32>,
    location: Option<String>,
}

/// What the URL names, after the first `kept` bytes, which are those of the server of the lab.
///
/// # Errors
/// With the URL, and why: it failed, was too slow, or came out wrong.
pub(crate) fn download(url: &Url, kept: u64, progress: &Progress) -> io::Result<Got> {
    within(LIMITS, url, kept, progress)
}

fn within(limits: Limits, url: &Url, kept: u64, progress: &Progress) -> io::Result<Got> {
    whole(limits, url, kept, progress)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {}", url.text, said(limits, &error))))
}

fn said(limits: Limits, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("nothing came for {} s", limits.silence.as_secs_f64())
        }
        _ => tls::refusal(error).unwrap_or_else(|| error.to_string()),
    }
}

/// Bytes both ways: over TCP, or TLS on it.
trait Connection: Read + Write {}

impl<T: Read + Write> Connection for T {}

/// A connection that is read for no longer than that after the download began, however little
/// comes at a time.
struct Bounded {
    connection: Box<dyn Connection>,
    begun: Instant,
    longest: Duration,
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.begun.elapsed() > self.longest {
            return Err(io::Error::other(format!("it takes longer than {} s", self.longest.as_secs_f64())));
        }
        self.connection.read(into)
    }
}

fn whole(limits: Limits, url: &Url, kept: u64, progress: &Progress) -> io::Result<Got> {
    let begun = Instant::now();
    let (mut hasher, mut at, mut resumed, mut told) = (crc32fast::Hasher::new(), kept, 0, None);
    checksum_from(&mut hasher, kept);
    loop {
        let connection = ask(limits, url, at)?;
        let mut lines = BufReader::new(Bounded { connection, begun, longest: limits.longest });
        let head = head(&mut lines)?;
        if head.from != at {
            return Err(io::Error::other("it was cut, and the server gives no rest of it"));
        }
        if resumed == 0 {
            progress.expects(head.length);
        }
        told = told.or(head.crc32);
        let mut body = Body::new(lines, &head);
        let ended = body.each(|piece| {
            hasher.update(piece);
            at += piece.len() as u64;
            progress.came(piece.len() as u64);
            Ok(())
        })?;
        match ended {
            BodyEnd::Whole => break,
            BodyEnd::Cut if resumed < CUTS_MAX && !head.chunked => resumed += 1,
            BodyEnd::Cut => return Err(io::Error::other(format!("it was cut after {at} bytes"))),
        }
    }
    progress.is_whole();
    let crc32 = hasher.finalize();
    match told {
        Some(told) if told != crc32 => {
            Err(io::Error::other(format!("its checksum is {crc32:08x}, and should be {told:08x}")))
        }
        _ => Ok(Got { bytes: at - kept, resumed, checked: told.is_some() }),
    }
}

/// Asks for what follows after this many bytes.
fn ask(limits: Limits, url: &Url, from: u64) -> io::Result<Box<dyn Connection>> {
    let mut last = io::Error::other("the host has no address");
    for address in (url.host.as_str(), url.port).to_socket_addrs()? {
        let connection = match TcpStream::connect_timeout(&address, limits.silence) {
            Ok(connection) => connection,
            Err(error) => {
                last = error;
                continue;
            }
        };
        connection.set_read_timeout(Some(limits.silence))?;
        connection.set_write_timeout(Some(limits.silence))?;
        let range = if from > 0 { format!("Range: bytes={from}-\r\n") } else { String::new() };
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: dwell-lab\r\nConnection: close\r\n{range}\r\n",
            url.path,
            url.authority()
        );
        let mut connection: Box<dyn Connection> =
            if url.secure { Box::new(tls::over(connection, &url.host)?) } else { Box::new(connection) };
        connection.write_all(request.as_bytes())?;
        connection.flush()?;
        return Ok(connection);
    }
    Err(last)
}

fn head(lines: &mut impl BufRead) -> io::Result<Head> {
    let mut head = Head { status: line(lines)?, ..Head::default() };
    for _ in 0..HEAD_MAX {
        let text = line(lines)?;
        if text.is_empty() {
            return answers(head);
        }
        let Some((name, value)) = text.split_once(':') else { continue };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => head.length = value.parse().ok(),
            "content-range" => {
                let from = value.trim_start_matches("bytes").trim_start().split('-').next();
                head.from = from.and_then(|from| from.parse().ok()).unwrap_or(0);
            }
            "transfer-encoding" => head.chunked = value.eq_ignore_ascii_case("chunked"),
            "x-crc32" => head.crc32 = u32::from_str_radix(value, 16).ok(),
            "location" => head.location = Some(value.to_owned()),
            _ => {}
        }
    }
    Err(io::Error::other("its answer is no HTTP"))
}

fn answers(head: Head) -> io::Result<Head> {
    let status = head.status.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..)).unwrap_or_default();
    match (status.split(' ').next(), &head.location) {
        (Some("200" | "206"), _) => Ok(head),
        (Some("301" | "302" | "303" | "307" | "308"), Some(to)) => {
            Err(io::Error::other(format!("it is at {to} now")))
        }
        (Some(code), _) if !code.is_empty() => Err(io::Error::other(format!("the server says {status}"))),
        _ => Err(io::Error::other("its answer is no HTTP")),
    }
}

/// A line of the head, without its end.
fn line(lines: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    Read::take(&mut *lines, 8 << 10).read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

#[cfg(test)]
mod tests;

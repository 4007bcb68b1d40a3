//! Downloads: `GET /BYTES?latency_ms=N&rate=N&cut=1` is answered after the latency with this many
//! bytes, at that rate in bytes a second, by HTTP/1.1 (RFC 9112).
//!
//! A part may be asked for (`Range: bytes=N-`). The checksum of the whole is in `X-Crc32`. With
//! `cut` an answer that begins at 0 ends in the middle, so that the rest has to be asked for.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

/// The most that is served.
pub const BYTES_MAX: u64 = 256 << 20;
/// Written at once, and the distance of a byte to the next that is the same.
const CHUNK: usize = 16 << 10;
/// Longest latency.
const LATENCY_MS_MAX: u64 = 5_000;

/// What is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    bytes: u64,
    latency_ms: u64,
    /// Bytes a second, 0 for as fast as possible.
    rate: u64,
    cut: bool,
    /// Where the answer begins in the whole.
    from: u64,
    closes: bool,
}

/// Answers requests on a connection until it is closed.
pub(crate) fn answer(connection: &TcpStream) -> io::Result<()> {
    // A last small piece would wait for an acknowledgement.
    connection.set_nodelay(true)?;
    let mut lines = BufReader::new(connection.try_clone()?);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line)? == 0 || head.len() > 100 {
                return Ok(());
            }
            if line.trim_end().is_empty() {
                break;
            }
            head.push(line.trim_end().to_owned());
        }
        let Some(asked) = read(&head) else {
            return (&*connection).write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        };
        give(connection, &asked)?;
        if asked.closes || asked.cut {
            return connection.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// None of a path that there is not.
fn read(head: &[String]) -> Option<Asked> {
    let target = head.first()?.split(' ').nth(1)?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let bytes = path.strip_prefix('/')?.parse().ok().filter(|bytes| *bytes <= BYTES_MAX)?;
    let mut asked = Asked { bytes, ..Asked::default() };
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let value: u64 = value.parse().ok()?;
        match name {
            "latency_ms" => asked.latency_ms = value.min(LATENCY_MS_MAX),
            "rate" => asked.rate = value,
            "cut" => asked.cut = value > 0,
            _ => {}
        }
    }
    for (name, value) in head.iter().skip(1).filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("range") {
            asked.from = value.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()?;
        }
        asked.closes |= name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close");
    }
    asked.cut &= asked.from == 0;
    (asked.from <= asked.bytes).then_some(asked)
}

fn give(mut connection: &TcpStream, asked: &Asked) -> io::Result<()> {
    if asked.latency_ms > 0 {
        thread::sleep(Duration::from_millis(asked.latency_ms));
    }
    let Asked { bytes, from, .. } = *asked;
    let part = match from {
        0 => "200 OK\r\n".to_owned(),
        _ => format!("206 Partial Content\r\nContent-Range: bytes {from}-{}/{bytes}\r\n", bytes.max(1) - 1),
    };
    let head = format!(
        "HTTP/1.1 {part}Content-Length: {}\r\nAccept-Ranges: bytes\r\nX-Crc32: {:08x}\r\n\r\n",
        bytes - from,
        checksum(bytes)
    );
    connection.write_all(head.as_bytes())?;
    let pattern = pattern();
    let end = if asked.cut { bytes / 2 } else { bytes };
    let (begun, mut at) = (Instant::now(), from);
    while at < end {
        let here = (at % CHUNK as u64) as usize;
        let len = (CHUNK - here).min((end - at) as usize);
        if asked.rate > 0 {
            // What was sent by now is due at that rate.
            let due = Duration::from_secs_f64((at - from + len as u64) as f64 / asked.rate as f64);
            thread::sleep(due.saturating_sub(begun.elapsed()));
        }
        connection.write_all(&pattern[here..here + len])?;
        at += len as u64;
    }
    Ok(())
}

fn pattern() -> Vec<u8> {
    (0..CHUNK).map(|at| (at % 251) as u8).collect()
}

/// Of this many bytes that this server gives.
pub(crate) fn checksum(bytes: u64) -> u32 {
    checksum_from(&mut crc32fast::Hasher::new(), bytes)
}

/// Goes on with a checksum of the same bytes.
pub(crate) fn checksum_from(hasher: &mut crc32fast::Hasher, bytes: u64) -> u32 {
    let pattern = pattern();
    for at in (0..bytes).step_by(CHUNK) {
        hasher.update(&pattern[..(bytes - at).min(CHUNK as u64) as usize]);
    }
    hasher.clone().finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(lines: &[&str]) -> Option<Asked> {
        read(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_request_has_its_size_latency_rate_and_range() {
        let whole = asked(&["GET /4096?latency_ms=7&rate=100&cut=1 HTTP/1.1", "Host: x"]).unwrap();
        assert_eq!(whole, Asked { bytes: 4096, latency_ms: 7, rate: 100, cut: true, from: 0, closes: false });
        let rest = asked(&["GET /4096?cut=1 HTTP/1.1", "range: bytes=2048-", "Connection: close"]).unwrap();
        assert_eq!((rest.from, rest.cut, rest.closes), (2048, false, true));
        assert_eq!(asked(&["GET /etc/passwd HTTP/1.1"]), None);
        assert_eq!(asked(&["GET /4096 HTTP/1.1", "Range: bytes=5000-"]), None);
        assert_eq!(asked(&["GET /99999999999 HTTP/1.1"]), None, "too much");
    }
}

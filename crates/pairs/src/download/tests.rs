//! Against the server of the lab, and servers that answer otherwise.

use super::*;
use crate::server::http;
use std::io::Read;
use std::net::TcpListener;
use std::thread;

/// The port of a server that answers each connection so.
fn server(answer: impl Fn(TcpStream) -> io::Result<()> + Send + 'static) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().flatten().for_each(|connection| drop(answer(connection))));
    port
}

/// A server whose answer is always this.
fn saying(text: &'static str) -> u16 {
    server(move |mut connection| {
        let mut request = [0; 4096];
        let _ = connection.read(&mut request)?;
        connection.write_all(text.as_bytes())
    })
}

fn get(port: u16, path: &str) -> io::Result<Got> {
    download(&Url::read(&format!("http://127.0.0.1:{port}{path}")).unwrap(), 0, &Progress::new(1))
}

#[test]
fn a_download_is_whole_and_checked_and_resumed_after_a_cut() {
    let port = server(|connection| http::answer(&connection));
    assert_eq!(get(port, "/100000").unwrap(), Got { bytes: 100_000, resumed: 0, checked: true });
    let cut = get(port, "/100001?cut=1&rate=50000000").unwrap();
    assert_eq!(cut, Got { bytes: 100_001, resumed: 1, checked: true });
    let url = Url::read(&format!("http://127.0.0.1:{port}/100000")).unwrap();
    let rest = download(&url, 60_000, &Progress::new(1)).unwrap();
    assert_eq!(rest, Got { bytes: 40_000, resumed: 0, checked: true });
    let error = get(port, "/etc/passwd").unwrap_err().to_string();
    assert!(error.ends_with("/etc/passwd: the server says 404 Not Found"), "{error}");
}

#[test]
fn what_comes_out_wrong_is_said_with_the_url() {
    for (answer, says) in [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Crc32: 00000001\r\n\r\nab",
            "its checksum is 9e83486d, and should be 00000001",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "it was cut, and the server gives no rest of it"),
        ("HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n", "it is at http://x/ now"),
        ("SSH-2.0-x\r\n\r\n", "its answer is no HTTP"),
    ] {
        let error = get(saying(answer), "/").unwrap_err().to_string();
        assert!(error.starts_with("http://127.0.0.1:") && error.ends_with(says), "{error}");
    }
}

#[test]
fn a_server_that_is_silent_or_slow_is_left_and_said_with_the_url() {
    let limits = |silence, longest| Limits {
        silence: Duration::from_millis(silence),
        longest: Duration::from_millis(longest),
    };
    let told = |limits, port: u16| {
        let url = Url::read(&format!("http://127.0.0.1:{port}/")).unwrap();
        within(limits, &url, 0, &Progress::new(1)).unwrap_err().to_string()
    };
    // It reads until the other side has gone.
    let silent = server(|mut connection| io::copy(&mut connection, &mut io::sink()).map(drop));
    let error = told(limits(200, 60_000), silent);
    assert!(error.ends_with("/: nothing came for 0.2 s"), "{error}");
    // Both in its head and in its body it sends a byte at a time, and never ends.
    for begins in ["HTTP/1.1 200 OK\r\nX-Slow: ", "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"] {
        let slow = server(move |mut connection| {
            connection.write_all(begins.as_bytes())?;
            loop {
                connection.write_all(b"a")?;
                thread::sleep(Duration::from_millis(5));
            }
        });
        let error = told(limits(60_000, 300), slow);
        assert!(error.ends_with("/: it takes longer than 0.3 s"), "{error}");
    }
}

#[test]
fn chunks_and_bodies_without_a_length_are_whole() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    assert_eq!(get(saying(chunked), "/").unwrap(), Got { bytes: 5, resumed: 0, checked: false });
    let closed = "HTTP/1.0 200 OK\r\n\r\nabcd";
    assert_eq!(get(saying(closed), "/").unwrap(), Got { bytes: 4, resumed: 0, checked: false });
}

#[test]
fn what_ends_without_its_end_is_cut() {
    for answer in [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabcde",
    ] {
        let error = get(saying(answer), "/").unwrap_err().to_string();
        assert!(error.ends_with("/: it was cut after 5 bytes"), "{error}");
    }
}

#[test]
fn urls_are_of_http_or_https() {
    let url = Url::read("http://[::1]:8080?q=1#part").unwrap();
    assert_eq!((url.host.as_str(), url.port, url.path.as_str()), ("::1", 8080, "/?q=1"));
    assert_eq!(url.authority(), "[::1]:8080");
    assert_eq!(Url::read("http://a/b").unwrap().authority(), "a");
    let secure = Url::read("https://a/b").unwrap();
    assert_eq!((secure.secure, secure.port, secure.authority().as_str()), (true, 443, "a"));
    assert_eq!(Url::read("https://a:80/").unwrap().authority(), "a:80");
    for wrong in ["ftp://a/", "a", "http://", "http://a:b/", "http://a/\r\nX: y"] {
        assert!(Url::read(wrong).is_err(), "{wrong}");
    }
}

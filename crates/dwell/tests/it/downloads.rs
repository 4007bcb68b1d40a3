//! `dwell lab downloads --url https://…`, against a server on loopback whose certificate is made
//! here: what comes is whole and checked, and a certificate that does not verify is an error.

use rcgen::{BasicConstraints, CertificateParams, CertifiedKey, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use tempfile::{TempDir, tempdir_in};

const DWELL: &str = env!("CARGO_BIN_EXE_dwell");
const LEN: usize = 30_000;

/// A certificate for this name, and the file that has it.
struct Made {
    own: CertifiedKey<KeyPair>,
    place: TempDir,
}

fn made(name: &str, last_year: i32) -> Made {
    made_with(name, last_year, IsCa::ExplicitNoCa)
}

fn made_with(name: &str, last_year: i32, is_ca: IsCa) -> Made {
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = is_ca;
    params.not_after = date_time_ymd(last_year, 1, 1);
    let signing_key = KeyPair::generate().expect("a key");
    let cert = params.self_signed(&signing_key).expect("a certificate");
    let place = tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    fs::write(place.path().join("roots.pem"), cert.pem()).expect("a file");
    Made { own: CertifiedKey { cert, signing_key }, place }
}

/// The port of a server with that certificate.
fn server(made: &Made) -> u16 {
    let key = PrivatePkcs8KeyDer::from(made.own.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|config| {
            let config = config.with_no_client_auth();
            config.with_single_cert(vec![made.own.cert.der().clone()], key.into())
        })
        .expect("a server's settings");
    let (config, listener) = (Arc::new(config), TcpListener::bind(("127.0.0.1", 0)).expect("a port"));
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // A client that refuses the certificate goes away.
            let _ = answer(connection, Arc::clone(&config));
        }
    });
    port
}

/// `/whole`; `/cut`, whose first half ends without a farewell; `/endless`, the same of no told
/// length; `/wrong`, whose checksum is not the told one; `/long`, of less than the told length.
fn answer(connection: TcpStream, config: Arc<ServerConfig>) -> io::Result<()> {
    let session = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut lines = BufReader::new(StreamOwned::new(session, connection));
    let (mut path, mut from) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        match line.trim().split_once(' ') {
            Some(("GET", rest)) => path = rest.split(' ').next().unwrap_or_default().to_owned(),
            Some(("Range:", range)) => {
                from = range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap_or(0);
            }
            _ => {}
        }
    }
    let body: Vec<u8> = (0..LEN).map(|at| (at % 251) as u8).collect();
    let to = if path == "/whole" || path == "/wrong" || from > 0 { LEN } else { LEN / 2 };
    let connection = lines.get_mut();
    let ranged = match path.as_str() {
        "/cut" if from > 0 => {
            format!("206 Partial Content\r\nContent-Range: bytes {from}-{}/{LEN}\r\n", LEN - 1)
        }
        _ => {
            from = 0;
            "200 OK\r\n".to_owned()
        }
    };
    let length =
        if path == "/endless" { String::new() } else { format!("Content-Length: {}\r\n", LEN - from) };
    let sum = if path == "/wrong" { "X-Crc32: 00000001\r\n" } else { "" };
    connection.write_all(format!("HTTP/1.1 {ranged}{length}{sum}\r\n").as_bytes())?;
    connection.write_all(&body[from..to])?;
    if to == LEN {
        connection.conn.send_close_notify();
    }
    connection.flush()
}

/// Of these URLs, by who trusts that certificate.
fn downloads(trusted: &Made, urls: &[String]) -> Output {
    let place = tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "60", DWELL, "lab", "downloads", "--run", "one-by-one"]);
    command.args(urls.iter().flat_map(|url| ["--url", url])).current_dir(place.path());
    command.env("SSL_CERT_FILE", trusted.place.path().join("roots.pem")).env_remove("SSL_CERT_DIR");
    command.stdin(Stdio::null()).output().expect("dwell starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn downloads_over_https_are_whole_resumed_and_checked() {
    let own = made("localhost", 4000);
    let port = server(&own);
    let url = |path: &str| format!("https://localhost:{port}/{path}");
    let done = downloads(&own, &[url("whole"), url("cut")]);
    assert!(done.status.success(), "{}", stderr(&done));
    let out = String::from_utf8_lossy(&done.stdout);
    let (whole, cut) = out.split_once('\n').expect("two lines");
    assert!(whole.contains("/whole: 30 kB in ") && whole.ends_with("length right"), "{out}");
    assert!(cut.contains("/cut: 30 kB in ") && cut.ends_with("length right, resumed\n"), "{out}");

    let wrong = downloads(&own, &[url("endless"), url("wrong"), url("long")]);
    assert_eq!(wrong.status.code(), Some(125), "{}", stderr(&wrong));
    for says in [
        "/endless: it was cut, and the server gives no rest of it",
        "/wrong: its checksum is ",
        "/long: it was cut, and the server gives no rest of it",
    ] {
        assert!(stderr(&wrong).contains(says), "{says:?} in {}", stderr(&wrong));
    }
}

#[test]
fn a_certificate_that_does_not_verify_is_an_error_with_the_url_and_what_to_do() {
    let (own, other) = (made("localhost", 4000), made("other.example", 4000));
    let old = made("localhost", 1990);
    for (server_of, trusted, says) in [
        (&own, &other, "who signed it is not known to this host\ntry: SSL_CERT_FILE="),
        (&other, &other, "it is for another host\ntry: the name that it is for"),
        (&old, &old, "it has expired\ntry: date"),
    ] {
        let url = format!("https://localhost:{}/whole", server(server_of));
        let done = downloads(trusted, std::slice::from_ref(&url));
        assert_eq!((done.status.code(), done.stdout.len()), (Some(125), 0));
        let whole = format!("{url}: its certificate does not verify: {says}");
        assert!(stderr(&done).contains(&whole), "{whole:?} in {}", stderr(&done));
    }
    let authority = made_with("localhost", 4000, IsCa::Ca(BasicConstraints::Unconstrained));
    let url = format!("https://localhost:{}/whole", server(&authority));
    let done = downloads(&authority, &[url]);
    assert!(stderr(&done).contains("that of an authority, not of a server\ntry: "), "{}", stderr(&done));
    let none = Made { place: tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(), ..other };
    let done = downloads(&none, &["https://localhost:1/".to_owned()]);
    assert!(stderr(&done).contains("Connection refused"), "{}", stderr(&done));
    let plain = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let url = format!("https://localhost:{}/", plain.local_addr().unwrap().port());
    thread::spawn(move || {
        for connection in plain.incoming().flatten() {
            let _ = (&connection).write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let done = downloads(&own, std::slice::from_ref(&url));
    assert!(
        stderr(&done).contains(&format!("{url}: it does not speak TLS\ntry: http://")),
        "{}",
        stderr(&done)
    );
    let done = downloads(&none, &[url]);
    assert!(stderr(&done).contains("this host has no certificates of authorities"), "{}", stderr(&done));
}

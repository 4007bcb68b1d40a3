//! A web server on loopback that answers as a test wants.

use rcgen::{CertificateParams, CertifiedKey, IsCa, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    /// Names in small letters.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }
}

/// What the server does.
pub(super) enum Say {
    /// Answers so.
    This(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Closes the connection without an answer.
    Nothing,
    /// Closes it in the middle of the answer.
    Half,
    /// Answers after a while.
    Late(Duration),
}

impl Say {
    pub(super) fn status(status: u16) -> Self {
        Self::This(status, Vec::new(), Vec::new())
    }
}

/// A certificate that nobody else has.
pub(super) fn certificate() -> CertifiedKey<KeyPair> {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    params.is_ca = IsCa::ExplicitNoCa;
    let signing_key = KeyPair::generate().expect("a key");
    CertifiedKey { cert: params.self_signed(&signing_key).expect("a certificate"), signing_key }
}

pub(super) struct Server {
    pub(super) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

type Answers = Arc<dyn Fn(&Asked, usize) -> Say + Send + Sync>;

impl Server {
    /// A server; `says` is given each request, and how many came before it.
    pub(super) fn new(says: impl Fn(&Asked, usize) -> Say + Send + Sync + 'static) -> Self {
        Self::with(None, says)
    }

    /// The same over TLS.
    pub(super) fn secure(
        own: &CertifiedKey<KeyPair>,
        says: impl Fn(&Asked, usize) -> Say + Send + Sync + 'static,
    ) -> Self {
        let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| {
                config.with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key.into())
            })
            .expect("a server's settings");
        Self::with(Some(Arc::new(config)), says)
    }

    fn with(
        secure: Option<Arc<ServerConfig>>,
        says: impl Fn(&Asked, usize) -> Say + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (all, says): (_, Answers) = (Arc::clone(&asked), Arc::new(says));
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                connection.set_nodelay(true).expect("a socket");
                let (all, says, secure) = (Arc::clone(&all), Arc::clone(&says), secure.clone());
                thread::spawn(move || {
                    // A client that goes away, or is killed.
                    let _ = match secure {
                        Some(config) => ServerConnection::new(config)
                            .map_err(io::Error::other)
                            .and_then(|session| serve(StreamOwned::new(session, connection), &all, &says)),
                        None => serve(connection, &all, &says),
                    };
                });
            }
        });
        Self { port, asked }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What was asked so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(connection: impl Read + Write, all: &Mutex<Vec<Asked>>, says: &Answers) -> io::Result<()> {
    let mut lines = BufReader::new(connection);
    loop {
        let mut first = String::new();
        if lines.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let mut words = first.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            lines.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut asked = Asked { method, path, headers, body: Vec::new() };
        let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        asked.body.resize(length, 0);
        lines.read_exact(&mut asked.body)?;
        let before = {
            let mut all = all.lock().unwrap();
            all.push(asked.clone());
            all.len() - 1
        };
        let to = lines.get_mut();
        match says(&asked, before) {
            Say::This(status, headers, body) => answer(to, status, &headers, &body)?,
            Say::Late(time) => {
                thread::sleep(time);
                answer(to, 200, &[], b"")?;
            }
            Say::Nothing => return Ok(()),
            Say::Half => {
                to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")?;
                return to.flush();
            }
        }
    }
}

fn answer(to: &mut impl Write, status: u16, headers: &[(&str, String)], body: &[u8]) -> io::Result<()> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("HTTP/1.1 {status} x\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    to.write_all(&[head.as_bytes(), body].concat())?;
    to.flush()
}

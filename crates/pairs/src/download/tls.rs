//! TLS on a connection, with a server whose certificate is verified by the host's roots.
//!
//! The roots are those of the system, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`; read once, at the
//! first use.

use rustls::crypto::ring::default_provider;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, ClientConnection, Error, RootCertStore, StreamOwned};
use std::fmt;
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, OnceLock};

/// What is done about an authority that is not known.
const ROOTS: &str = "try: SSL_CERT_FILE=FILE, the certificate of its authority as PEM";

/// Shaking hands comes with the first request.
pub(super) fn over(
    connection: TcpStream,
    host: &str,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    let config = CONFIG.get_or_init(config).as_ref().map_err(|why| io::Error::other(why.clone()))?;
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let client = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    Ok(StreamOwned::new(client, connection))
}

fn config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why: String = found.errors.iter().map(|error| format!(": {error}")).collect();
        return Err(format!("this host has no certificates of authorities{why}\n{ROOTS}"));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// What is wrong with the certificate, or what the other end says instead, with what can be done.
/// None of other errors.
pub(super) fn refusal(error: &io::Error) -> Option<String> {
    match error.get_ref()?.downcast_ref::<Error>()? {
        Error::InvalidCertificate(why) => Some(format!("its certificate does not verify: {}", Why(why))),
        Error::InvalidMessage(_) => Some("it does not speak TLS\ntry: http:// in place of https://".into()),
        other => Some(format!("TLS: {other}")),
    }
}

struct Why<'a>(&'a CertificateError);

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            CertificateError::UnknownIssuer => {
                write!(f, "who signed it is not known to this host\n{ROOTS}")
            }
            CertificateError::BadSignature => {
                write!(f, "its signature is not that of who it says signed it\n{ROOTS}")
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                f.write_str("it has expired\ntry: date; a clock that is wrong does this too")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                f.write_str("it is not valid yet\ntry: date; a clock that is wrong does this too")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                f.write_str("it is for another host\ntry: the name that it is for")
            }
            // What `openssl req -x509` makes.
            other if other.to_string().contains("CaUsedAsEndEntity") => {
                f.write_str("it is that of an authority, not of a server\ntry: one with CA:FALSE, or http://")
            }
            other => write!(f, "{other}"),
        }
    }
}

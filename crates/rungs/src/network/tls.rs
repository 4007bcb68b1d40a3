//! What it takes until a connection is secret: the handshake of TLS 1.3, with a certificate made
//! for this one time.

use super::about_loopback;
use super::loopback::{CONNECTIONS, ENDS, Server, a_few, limits, refused};
use crate::bench::Bench;
use crate::{Rung, RungDescription, Samples, Unmeasured};
use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use std::error::Error;
use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::Arc;
use sys::clock::monotonic_ns;

const NAME: &str = "localhost";

pub(super) fn handshake() -> Rung {
    let about = RungDescription {
        excludes: "the TCP connection below it, a network's round trip, a chain of certificates, and what a resumed session saves"
            .into(),
        method: format!(
            "a full TLS 1.3 handshake of rustls with ring, {ENDS}, until the client may send: X25519, one self-made ECDSA \
             P-256 certificate that the client checks, no tickets; {CONNECTIONS} times at most"
        ),
        source: "openssl s_time -new; rustls's own benchmarks".into(),
        ..about_loopback("tls-handshake", "making a connection within this host secret")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(measure) }
}

/// The settings of both sides; the client trusts only the server's certificate.
fn configs() -> Result<(Arc<ClientConfig>, Arc<ServerConfig>), Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone())?;
    let provider = Arc::new(default_provider());
    let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.resumption = Resumption::disabled();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    server.send_tls13_tickets = 0;
    Ok((Arc::new(client), Arc::new(server)))
}

fn serve(config: &Arc<ServerConfig>, mut stream: TcpStream) -> Option<()> {
    let mut connection = ServerConnection::new(Arc::clone(config)).ok()?;
    stream.set_nodelay(true).ok()?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).ok()?;
    }
    // Until the client has closed it.
    while matches!(stream.read(&mut [0; 64]), Ok(1..)) {}
    Some(())
}

fn measure(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let (client, theirs) =
        configs().map_err(|error| Unmeasured::Unseen(format!("cannot create a certificate: {error}")))?;
    let server = Server::start(bench, move |stream| {
        // What fails here fails on the client's side too, which says so.
        let _ = serve(&theirs, stream);
    })?;
    let once = || -> Result<u64, Unmeasured> {
        let mut stream = server.connect()?;
        shake(&client, &mut stream).map_err(|error| refused("complete a TLS handshake", &error))
    };
    let samples = a_few(bench, CONNECTIONS, once)?;
    Ok(Samples { limits: limits(bench), ..samples })
}

/// One handshake over a connection; gives how long it took.
fn shake(config: &Arc<ClientConfig>, stream: &mut TcpStream) -> io::Result<u64> {
    let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
    let from = monotonic_ns();
    let mut connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        connection.complete_io(stream)?;
    }
    Ok(monotonic_ns() - from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::loopback::ANY_PORT;
    use std::net::TcpListener;

    /// A handshake of a client with a server of these settings.
    fn between(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> io::Result<u64> {
        let listener = TcpListener::bind(ANY_PORT)?;
        let address = listener.local_addr()?;
        let server = Arc::clone(server);
        let thread = std::thread::spawn(move || listener.accept().map(|(stream, _)| serve(&server, stream)));
        let mut stream = TcpStream::connect(address)?;
        let took = shake(client, &mut stream);
        drop(stream);
        thread.join().unwrap()?;
        took
    }

    #[test]
    fn the_client_checks_whom_it_speaks_to() {
        let ((client, server), (stranger, _)) = (configs().unwrap(), configs().unwrap());
        assert!(between(&client, &server).unwrap() > 1_000);
        assert!(between(&stranger, &server).is_err(), "a certificate that it does not know");
    }
}

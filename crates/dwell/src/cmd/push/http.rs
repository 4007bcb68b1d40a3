//! Requests over HTTP: bounded in time and in what is read of the answer. No redirect is followed:
//! a token would go to whom it is not for.

use anyhow::{Context, bail};
use rustls::crypto::ring::default_provider;
use send::{Answer, HttpAnswer, Url};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{HeaderName, HeaderValue, Request};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Error};

/// The largest file of authorities, or of a token.
pub(super) const FILE_MAX: u64 = 1 << 20;
/// The part of an answer that is read: what it says, and how much it refused.
const ANSWER_MAX: u64 = 64 << 10;

/// Who sends.
const AGENT: &str = concat!("dwell/", env!("CARGO_PKG_VERSION"));

/// A client with its headers.
pub(super) struct Client {
    agent: Agent,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// What is sent.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    pub(super) media: &'static str,
    pub(super) bytes: &'a [u8],
}

/// What came back.
pub(super) struct Got {
    pub(super) status: u16,
    retry_after: Option<String>,
    location: Option<String>,
    body: Vec<u8>,
}

impl Got {
    /// Whether the server failed in a way that may pass at once, and asked for no time.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self.status, 500 | 502..=504) && self.retry_after.is_none()
    }

    /// What it means.
    pub(super) fn read(&self, meaning: impl Fn(&HttpAnswer<'_>) -> Answer) -> Answer {
        meaning(&HttpAnswer {
            status: self.status,
            retry_after: self.retry_after.as_deref(),
            location: self.location.as_deref(),
            body: &self.body,
            now_s: sys::clock::unix_s(),
        })
    }
}

impl Client {
    /// For requests below `url`. `ca`: a file of authorities in place of those of the host.
    ///
    /// # Errors
    /// There are no authorities, or a header is none.
    pub(super) fn new(url: &Url, ca: Option<&Path>, headers: Vec<(String, String)>) -> anyhow::Result<Self> {
        let roots = if url.is_secure() { authorities(ca)? } else { Vec::new() };
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&roots))
            .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .allow_non_standard_methods(true)
            .user_agent(AGENT)
            .build();
        let header = |(name, value): (String, String)| -> anyhow::Result<_> {
            // Its value may be a secret.
            let mut value = HeaderValue::from_str(&value).with_context(|| format!("the header {name:?}"))?;
            value.set_sensitive(true);
            Ok((HeaderName::try_from(&name).with_context(|| format!("the header {name:?}"))?, value))
        };
        let headers = headers.into_iter().map(header).collect::<anyhow::Result<_>>()?;
        Ok(Self { agent: config.new_agent(), headers })
    }

    /// Asks once.
    ///
    /// # Errors
    /// There is no answer.
    pub(super) fn ask(
        &self,
        method: &str,
        url: &str,
        body: Option<Body<'_>>,
        within: Duration,
    ) -> Result<Got, Answer> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            request = request.header("content-type", body.media);
        }
        let bytes = body.map_or(&[][..], |body| body.bytes);
        let request = request.body(bytes).map_err(|error| Answer::Stop(error.to_string()))?;
        let request = self.agent.configure_request(request).timeout_global(Some(within)).build();
        let mut answer = self.agent.run(request).map_err(failed)?;
        let header = |name: &str| answer.headers().get(name)?.to_str().ok().map(str::to_owned);
        let (retry_after, location) = (header("retry-after"), header("location"));
        let status = answer.status().as_u16();
        let mut body = Vec::new();
        let read = answer.body_mut().as_reader().take(ANSWER_MAX).read_to_end(&mut body);
        match read {
            // It was taken, or refused, whatever was to be said further.
            Err(error) if !(200..300).contains(&status) && body.is_empty() => Err(later(&error.to_string())),
            // A success that ends early may have refused a part, which would not be counted.
            Err(error) if (200..300).contains(&status) => Err(later(&error.to_string())),
            _ => Ok(Got { status, retry_after, location, body }),
        }
    }
}

fn later(why: &str) -> Answer {
    Answer::Later { why: report::clean(why, true), after: None }
}

/// Why there is no answer.
fn failed(error: Error) -> Answer {
    let tls = match &error {
        Error::Rustls(error) => Some(error),
        Error::Io(error) => error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()),
        _ => None,
    };
    match (tls, &error) {
        (Some(rustls::Error::InvalidCertificate(why)), _) => Answer::Stop(format!(
            "its certificate does not verify: {}; try: --ca FILE, the certificate of its authority as PEM",
            report::clean(&why.to_string(), true)
        )),
        (Some(error), _) => Answer::Stop(format!("TLS: {}", report::clean(&error.to_string(), true))),
        (None, Error::Timeout(_)) => later("it does not answer in time"),
        (None, Error::HostNotFound) => later("there is no host of that name"),
        (None, Error::Io(error)) => later(&error.to_string()),
        (None, Error::Tls(_) | Error::BadUri(_) | Error::InvalidProxyUrl | Error::Http(_)) => {
            Answer::Stop(report::clean(&error.to_string(), true))
        }
        (None, _) => later(&error.to_string()),
    }
}

/// The certificates of the authorities that are trusted.
fn authorities(ca: Option<&Path>) -> anyhow::Result<Vec<Certificate<'static>>> {
    let Some(path) = ca else {
        let found = rustls_native_certs::load_native_certs();
        if found.certs.is_empty() {
            let why: String = found.errors.iter().map(|error| format!(": {error}")).collect();
            bail!("this host has no certificates of authorities{why}\ntry: --ca FILE");
        }
        return Ok(found.certs.iter().map(|cert| Certificate::from_der(cert).to_owned()).collect());
    };
    let pem = store::read(path, FILE_MAX).with_context(|| format!("cannot read {path:?}"))?;
    let certificates = parse_pem(&pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = certificates.collect();
    if certificates.is_empty() {
        bail!("{path:?} has no certificate\ntry: a file of PEM");
    }
    Ok(certificates)
}

//! `http://HOST[:PORT][/PATH]`, or `https://`.

use std::io;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    /// As it was given.
    pub(crate) text: String,
    /// Over TLS.
    pub(crate) secure: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) path: String,
}

impl Url {
    /// # Errors
    /// If it is none, or none of HTTP or HTTPS.
    pub(crate) fn read(text: &str) -> io::Result<Url> {
        let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{text:?} {why}"));
        if text.bytes().any(|byte| byte.is_ascii_control() || byte == b' ') {
            return Err(wrong("is no URL"));
        }
        let (secure, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => return Err(wrong("is no URL that begins with http:// or https://")),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
            _ => (authority, Some(usual(secure))),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match port {
            Some(port) if !host.is_empty() && !host.contains('@') => Ok(Url {
                text: text.to_owned(),
                secure,
                host: host.to_owned(),
                port,
                path: if path.starts_with('/') { path.to_owned() } else { format!("/{path}") },
            }),
            _ => Err(wrong("is no URL of a host")),
        }
    }

    /// For the head of a request.
    pub(super) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == usual(self.secure) { host } else { format!("{host}:{}", self.port) }
    }
}

/// The port where the URL names none.
fn usual(secure: bool) -> u16 {
    if secure { 443 } else { 80 }
}

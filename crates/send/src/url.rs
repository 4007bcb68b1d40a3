//! Where results are sent over HTTP.

use std::fmt;

/// `https://HOST[:PORT][/PATH]`, without a slash at its end. It has no secrets: a name, a password
/// or a token in it would be kept in the store and shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url(String);

impl Url {
    /// Whether a text is meant as one: else it is a directory.
    pub fn is_meant(text: &str) -> bool {
        ["http://", "https://"]
            .iter()
            .any(|scheme| text.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme)))
    }

    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it: a part of a sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        if !Self::is_meant(text) {
            return Err("is no URL that begins with http:// or https://".to_owned());
        }
        if text.bytes().any(|byte| !byte.is_ascii_graphic()) || text.contains(['\\', '"', '<', '>']) {
            return Err("has characters that a URL has not; try: %20 in place of a blank".to_owned());
        }
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.is_empty() || authority.starts_with(':') {
            return Err("names no host".to_owned());
        }
        if authority.contains('@') {
            return Err("has a user in it, and would be kept; try: --token-file FILE".to_owned());
        }
        if path.contains(['?', '#']) {
            return Err("has more than a path; try: it up to the ? or #".to_owned());
        }
        let (scheme, authority) = (scheme.to_ascii_lowercase(), authority.to_ascii_lowercase());
        Ok(Self(format!("{scheme}://{authority}{}", path.trim_end_matches('/'))))
    }

    /// Whether it is of TLS.
    pub fn is_secure(&self) -> bool {
        self.0.starts_with("https:")
    }

    /// What is below it. `path` has no characters that need escapes.
    pub fn below(&self, path: &str) -> String {
        format!("{}/{path}", self.0)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_and_written_in_one_way() {
        for (text, url) in [
            ("http://a", "http://a"),
            ("HTTPS://Host:8443/Lake//", "https://host:8443/Lake"),
            ("https://[::1]:4318/", "https://[::1]:4318"),
        ] {
            assert_eq!(Url::read(text).unwrap().to_string(), url);
        }
        assert_eq!(Url::read("http://a/b/").unwrap().below("v1/logs"), "http://a/b/v1/logs");
        for wrong in [
            "",
            "lake",
            "ftp://a",
            "http://",
            "http://:80",
            "https://me:secret@a/",
            "http://a/?x=1",
            "http://a/b c",
        ] {
            assert!(Url::read(wrong).is_err(), "{wrong}");
        }
        assert!(!Url::is_meant("http:/x") && !Url::is_meant("é") && Url::is_meant("HTTP://x"));
    }
}

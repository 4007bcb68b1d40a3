//! The skeleton of a page: what it may do, its style and script, and the results in it.
//!
//! The content policy allows nothing but this style and this script, by their hashes: no network,
//! no other script, no handler in an attribute. So a name that came through all escapes would
//! still not run.

use super::escape;
use crate::json::compact;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");

/// Around each result. The text between is JSON, as it is: `<` is escaped in it.
const BEFORE: &str = "<script type=\"application/json\" class=\"result\">";
const AFTER: &str = "</script>";
/// The first characters of a page.
const DOCTYPE: &str = "<!doctype html>";
/// What tells a page of dwell from any other.
const MARK: &str = "<meta name=\"generator\" content=\"dwell\">";

/// A page.
pub(super) struct Document {
    /// `run`, `compare`.
    pub(super) kind: &'static str,
    /// Untrusted.
    pub(super) title: String,
    /// HTML, one for each result.
    pub(super) articles: Vec<String>,
    /// The results, embedded.
    pub(super) results: Vec<String>,
}

/// A result as JSON that no text in it can end: in JSON, `<`, `>` and `&` are in strings only.
pub(super) fn embedded<T: Serialize>(result: &T) -> String {
    embedded_json(&compact(result))
}

/// The same of one that is JSON already.
pub(super) fn embedded_json(json: &str) -> String {
    let json = json.trim_end();
    let mut safe = String::with_capacity(json.len());
    for char in json.chars() {
        match char {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            char => safe.push(char),
        }
    }
    safe
}

/// The page.
pub(super) fn page(document: &Document) -> String {
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    let title = escape::text(&document.title);
    let kind = document.kind;
    let several = if document.articles.len() > 1 { " several" } else { "" };
    let mut html = format!(
        "{DOCTYPE}\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n{MARK}\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body class=\"{kind}{several}\">\n<main>\n"
    );
    for article in &document.articles {
        html.push_str(article);
    }
    html.push_str("</main>\n");
    for result in &document.results {
        html.push_str(BEFORE);
        html.push_str(result);
        html.push_str(AFTER);
        html.push('\n');
    }
    html.push_str("<script>");
    html.push_str(SCRIPT);
    html.push_str("</script>\n</body>\n</html>\n");
    html
}

/// The hash of a style or a script, as a policy names it.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// Whether a file begins as a page of HTML does.
pub fn is_page(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    bytes.get(..DOCTYPE.len()).is_some_and(|first| first.eq_ignore_ascii_case(DOCTYPE.as_bytes()))
}

/// The results in a page, each as JSON; none where it is not a page of dwell.
pub fn results(page: &str) -> Vec<&str> {
    if !page.contains(MARK) {
        return Vec::new();
    }
    let between = |rest: &&str| rest.find(AFTER);
    page.split(BEFORE).skip(1).filter_map(|rest| Some(&rest[..between(&rest)?])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_comes_out_as_it_went_in_and_cannot_end_its_script() {
        let hostile = "</script><script>alert(1)</script><!-- &amp; \u{2028}";
        let document = Document {
            kind: "run",
            title: hostile.to_owned(),
            articles: vec![String::new()],
            results: vec![embedded(&[hostile]), embedded(&["second"])],
        };
        let html = page(&document);
        assert_eq!(html.matches("<script").count(), 3, "the results and the script");
        let out = results(&html);
        let read = |json: &str| serde_json::from_str::<Vec<String>>(json).unwrap();
        assert_eq!(read(out[0]), [hostile]);
        assert_eq!(read(out[1]), ["second"]);
        assert!(is_page(html.as_bytes()) && is_page(b"  <!DOCTYPE HTML>") && !is_page(b"{}"));
        assert!(results("<!doctype html><p>another page").is_empty());
    }

    #[test]
    fn hashes_are_as_browsers_make_them() {
        // `printf 'alert(1)' | openssl dgst -sha256 -binary | base64`.
        assert_eq!(hash("alert(1)"), "sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI=");
    }

    #[test]
    fn style_and_script_cannot_end_their_elements() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</"));
    }
}

//! What the answer of a destination means for what was sent.

use std::time::Duration;

/// What becomes of what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is there. Of what it holds, this many records or points were refused, for a reason.
    Accepted {
        /// How many.
        rejected: u64,
        /// Why.
        why: String,
    },
    /// It is not taken, and would never be.
    Refused(String),
    /// Not now: for a reason, and not before this time, if one was given.
    Later {
        /// Why.
        why: String,
        /// How long to wait at least.
        after: Option<Duration>,
    },
    /// The destination takes nothing as it is asked: all else would fail alike.
    Stop(String),
}

impl Answer {
    /// It is there, all of it.
    pub const DONE: Self = Self::Accepted { rejected: 0, why: String::new() };
}

/// An answer over HTTP.
#[derive(Debug, Clone, Copy)]
pub struct HttpAnswer<'a> {
    /// 200.
    pub status: u16,
    /// The header `Retry-After`.
    pub retry_after: Option<&'a str>,
    /// The header `Location`.
    pub location: Option<&'a str>,
    /// The beginning of the body.
    pub body: &'a [u8],
    /// Now, in seconds since 1970.
    pub now_s: u64,
}

/// The part of what a destination says that is kept, in bytes.
const WORDS: usize = 200;

impl HttpAnswer<'_> {
    /// What the answer to a file (PUT) means.
    pub fn of_file(&self) -> Answer {
        match self.status {
            200..=299 => Answer::DONE,
            501 => Answer::Stop(self.with("the server has no PUT")),
            500..=599 => self.later(),
            _ => self.other(),
        }
    }

    /// What the answer to a request of OpenTelemetry means. Its specification lets no other errors
    /// of a server be tried again (`https://opentelemetry.io/docs/specs/otlp/#failures-1`).
    pub fn of_otlp(&self) -> Answer {
        match self.status {
            200..=299 => self.partly(),
            502..=504 => self.later(),
            500..=599 => Answer::Refused(self.words()),
            404 => Answer::Stop(self.with("try: another URL, or --only metrics if it takes no logs")),
            _ => self.other(),
        }
    }

    /// What all have in common.
    fn other(&self) -> Answer {
        match self.status {
            408 | 425 | 429 => self.later(),
            300..=399 => {
                let to = report::clean(self.location.unwrap_or("another place"), true);
                Answer::Stop(self.with(&format!("it is at {to} now, which is not followed; try: that URL")))
            }
            401 | 403 | 407 => {
                Answer::Stop(self.with("try: --token-file FILE with a token that is allowed to"))
            }
            404 | 405 => Answer::Stop(self.with("try: another URL")),
            _ => Answer::Refused(self.words()),
        }
    }

    fn later(&self) -> Answer {
        let after = self.retry_after.and_then(|text| retry_after(text.trim(), self.now_s));
        Answer::Later { why: self.words(), after }
    }

    fn with(&self, more: &str) -> String {
        format!("{}; {more}", self.words())
    }

    /// The status, and what was said with it.
    fn words(&self) -> String {
        // A message of OpenTelemetry's has its text in its second field; others are text.
        let message = fields(self.body).and_then(|fields| {
            fields.into_iter().find_map(|field| match field {
                (2, Field::Bytes(text)) => Some(text),
                _ => None,
            })
        });
        let text = String::from_utf8_lossy(message.unwrap_or(self.body));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = (0..=WORDS.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let more = if end < text.len() { "…" } else { "" };
        let name = name(self.status);
        match &text[..end] {
            // A page says no more than the status.
            page if page.is_empty() || page.starts_with('<') => format!("{}{name}", self.status),
            said => report::clean(&format!("{}{name}: {said}{more}", self.status), true),
        }
    }

    /// A success, of which a part may have been refused: `partial_success` is the first field, and
    /// has a count and a message.
    fn partly(&self) -> Answer {
        let mut rejected = 0;
        let mut why = String::new();
        for (number, field) in fields(self.body).unwrap_or_default() {
            let (1, Field::Bytes(partial)) = (number, field) else { continue };
            for (number, field) in fields(partial).unwrap_or_default() {
                match (number, field) {
                    (1, Field::Number(count)) => rejected = count,
                    (2, Field::Bytes(text)) => {
                        let text = String::from_utf8_lossy(text);
                        why = report::clean(&text.chars().take(WORDS).collect::<String>(), true);
                    }
                    _ => {}
                }
            }
        }
        // A negative number is none.
        let rejected = if i64::try_from(rejected).is_ok() { rejected } else { 0 };
        Answer::Accepted { rejected, why }
    }
}

/// What a status is called.
fn name(status: u16) -> &'static str {
    match status {
        400 => " Bad Request",
        401 => " Unauthorized",
        403 => " Forbidden",
        404 => " Not Found",
        405 => " Method Not Allowed",
        409 => " Conflict",
        413 => " Content Too Large",
        415 => " Unsupported Media Type",
        429 => " Too Many Requests",
        500 => " Internal Server Error",
        501 => " Not Implemented",
        502 => " Bad Gateway",
        503 => " Service Unavailable",
        504 => " Gateway Timeout",
        507 => " Insufficient Storage",
        _ => "",
    }
}

/// `Retry-After`: seconds, or a date.
fn retry_after(text: &str, now_s: u64) -> Option<Duration> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let at = jiff::fmt::rfc2822::parse(text).ok()?.timestamp().as_second();
    Some(Duration::from_secs(u64::try_from(at).unwrap_or(0).saturating_sub(now_s)))
}

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message of protocol buffers; none where it is none. Numbers of fixed length are
/// left out.
fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, Field<'_>)>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        match key & 7 {
            0 => fields.push((key >> 3, Field::Number(varint(&mut bytes)?))),
            1 => bytes = bytes.get(8..)?,
            2 => {
                let len = usize::try_from(varint(&mut bytes)?).ok()?;
                let (field, rest) = bytes.split_at_checked(len)?;
                fields.push((key >> 3, Field::Bytes(field)));
                bytes = rest;
            }
            5 => bytes = bytes.get(4..)?,
            _ => return None,
        }
    }
    Some(fields)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 784_111_777;

    fn answer(status: u16, body: &[u8]) -> HttpAnswer<'_> {
        HttpAnswer { status, retry_after: None, location: None, body, now_s: NOW }
    }

    fn later(status: u16, retry_after: &str) -> Option<Duration> {
        let answer = HttpAnswer { retry_after: Some(retry_after), ..answer(status, b"") };
        match (answer.of_file(), answer.of_otlp()) {
            (Answer::Later { after, .. }, Answer::Later { after: also, .. }) if after == also => after,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_may_be_tried_again_is_and_nothing_else() {
        for status in [408, 425, 429, 502, 503, 504] {
            assert_eq!(later(status, "7"), Some(Duration::from_secs(7)), "{status}");
        }
        for status in [400, 409, 410, 413, 415, 418, 422, 499] {
            assert!(matches!(answer(status, b"").of_file(), Answer::Refused(_)), "{status}");
            assert!(matches!(answer(status, b"").of_otlp(), Answer::Refused(_)), "{status}");
        }
        for status in [301, 302, 307, 308, 401, 403, 404, 405, 407] {
            assert!(matches!(answer(status, b"").of_file(), Answer::Stop(_)), "{status}");
            assert!(matches!(answer(status, b"").of_otlp(), Answer::Stop(_)), "{status}");
        }
        assert!(matches!(answer(500, b"").of_file(), Answer::Later { .. }));
        assert!(matches!(answer(507, b"").of_file(), Answer::Later { .. }));
        assert!(matches!(answer(501, b"").of_file(), Answer::Stop(_)));
        assert!(matches!(answer(500, b"").of_otlp(), Answer::Refused(_)));
        assert_eq!(answer(204, b"").of_file(), Answer::DONE);
    }

    #[test]
    fn a_time_to_wait_is_a_number_or_a_date() {
        assert_eq!(later(503, "Sun, 06 Nov 1994 08:50:37 GMT"), Some(Duration::from_secs(60)));
        assert_eq!(later(503, "Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(later(429, "99999999999999999999"), Some(Duration::from_secs(u64::MAX)));
        for wrong in ["", "soon", "-1", "1.5"] {
            assert_eq!(later(429, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_said_is_short_and_plain() {
        assert_eq!(answer(400, b" <html>no</html>").of_file(), answer(400, b"").of_file());
        let long = format!("\x1b[31m no\n{}", "é".repeat(10_000));
        let Answer::Refused(why) = answer(400, long.as_bytes()).of_file() else { panic!() };
        assert!(why.starts_with("400 Bad Request: ") && !why.contains('\x1b'), "{why}");
        assert!(why.len() < 260 && why.ends_with('…'), "{why}");
        // google.rpc.Status
        let Answer::Refused(why) = answer(400, b"\x08\x03\x12\x07bad one").of_otlp() else { panic!() };
        assert_eq!(why, "400 Bad Request: bad one");
        assert_eq!(answer(429, b"\xff\xfe").of_otlp(), answer(429, b"\xff\xfe").of_file());
    }

    /// Whoever answers may say anything.
    #[test]
    fn no_answer_ends_dwell() {
        let mut random = 1_u64;
        let mut bytes = Vec::new();
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Often what a message begins with.
            bytes.push(if random >> 62 == 0 { 0x0a } else { (random >> 40) as u8 >> ((random >> 32) & 7) });
            if random >> 59 == 0 {
                bytes.clear();
            }
            let text = String::from_utf8_lossy(&bytes);
            for status in [200, 301, 400, 503, 999] {
                let all =
                    HttpAnswer { retry_after: Some(&text), location: Some(&text), ..answer(status, &bytes) };
                let _ = (all.of_file(), all.of_otlp());
            }
        }
    }

    #[test]
    fn a_success_may_refuse_a_part() {
        let partly = |body: &[u8]| match answer(200, body).of_otlp() {
            Answer::Accepted { rejected, why } => (rejected, why),
            other => panic!("{other:?}"),
        };
        assert_eq!(partly(b""), (0, String::new()));
        assert_eq!(partly(b"\x0a\x08\x08\x03\x12\x04old\x1b"), (3, "old\\x1b".to_owned()));
        assert_eq!(partly(b"\x0a\x02\x08\x00"), (0, String::new()));
        // Cut, not a message, or a negative number.
        for wrong in [
            &b"\x0a\x08\x08\x03"[..],
            b"{\"partialSuccess\":{}}",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            assert_eq!(partly(wrong).0, 0, "{wrong:?}");
        }
        assert_eq!(partly(b"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").0, 0);
    }
}

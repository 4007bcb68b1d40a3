//! What a request asks for, from its first bytes: `GET /orders/{n}`, `SELECT accounts`.
//!
//! HTTP/1, the text protocols of Redis and memcached, and PostgreSQL's messages. What may name a
//! person or an object is folded, and values of statements are not looked at. The bytes come from
//! the network: whatever does not read as one of these has no kind.

const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"];
const MEMCACHED: [&str; 13] = [
    "get", "gets", "set", "add", "replace", "append", "prepend", "cas", "delete", "incr", "decr", "touch",
    "gat",
];

/// Segments of a path, and characters of a word of one.
const SEGMENTS: usize = 8;
const WORD: usize = 20;
/// Characters of a word that has digits and letters, and may be a name (`v2`, `mp3`, `h264`).
const SHORT: usize = 4;
/// Characters of a command's name.
const COMMAND: usize = 24;

/// The kind of a request that begins with these bytes.
pub(crate) fn of(bytes: &[u8]) -> Option<String> {
    http(bytes).or_else(|| redis(bytes)).or_else(|| postgres(bytes)).or_else(|| memcached(bytes))
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| text.bytes().all(|byte| (0x20..0x7f).contains(&byte)))
}

/// What comes before the first of these, and what comes after it.
fn before(bytes: &[u8], is_end: impl Fn(u8) -> bool) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| is_end(*byte))?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

/// RFC 9112: `GET /orders/17?sort=asc HTTP/1.1`.
fn http(bytes: &[u8]) -> Option<String> {
    let (method, rest) = before(bytes, |byte| byte == b' ')?;
    let method = text(method).filter(|method| METHODS.contains(method))?;
    let end = before(rest, |byte| matches!(byte, b' ' | b'?' | b'#'));
    let (target, cut) = end.map_or((rest, true), |(target, _)| (target, false));
    if let Some((line, _)) = before(rest, |byte| byte == b'\r') {
        let version = line.rsplit(|byte| *byte == b' ').next()?;
        version.strip_prefix(b"HTTP/")?;
    }
    let target = text(target)?;
    // A host, and what people do there is between them and the host.
    if method == "CONNECT" {
        return Some(method.to_owned());
    }
    // To a proxy: with a scheme and a host.
    let absolute = target.split_once("://").filter(|_| !target.starts_with('/'));
    let path = absolute.map_or(target, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
    let mut kind = format!("{method} ");
    let segments: Vec<&str> = path.split('/').collect();
    // Of one that was cut the last segment may be half of a name.
    let known = if cut { segments.len() - 1 } else { segments.len() };
    for (at, segment) in segments[..known.min(SEGMENTS)].iter().enumerate() {
        if at > 0 {
            kind.push('/');
        }
        fold(segment, &mut kind);
    }
    if cut || segments.len() > SEGMENTS {
        kind.push_str("/...");
    }
    Some(kind)
}

/// A segment of a path, or the name of a table, word by word: numbers, and words that are none of a
/// language, may name an object or a person.
fn fold(segment: &str, into: &mut String) {
    if !segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~:+*$,()!".contains(&byte)) {
        return into.push_str("{id}");
    }
    for piece in segment.split_inclusive(|char: char| !char.is_ascii_alphanumeric()) {
        let word = piece.trim_end_matches(|char: char| !char.is_ascii_alphanumeric());
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let folded = match digits {
            _ if word.len() > WORD => "{id}",
            0 => word,
            all if all == word.len() => "{n}",
            _ if word.len() <= SHORT => word,
            _ => "{id}",
        };
        into.push_str(folded);
        into.push_str(&piece[word.len()..]);
    }
}

/// RESP, an array of strings: `*2\r\n$3\r\nGET\r\n$4\r\nname\r\n`.
fn redis(bytes: &[u8]) -> Option<String> {
    let (count, rest) = before(bytes.strip_prefix(b"*")?, |byte| byte == b'\r')?;
    let (length, rest) = before(rest.strip_prefix(b"\n$")?, |byte| byte == b'\r')?;
    let number = |bytes| text(bytes)?.parse::<usize>().ok();
    number(count)?;
    let name = rest.strip_prefix(b"\n")?.get(..number(length)?)?;
    command(name).map(|name| name.to_ascii_uppercase())
}

fn memcached(bytes: &[u8]) -> Option<String> {
    let (name, _) = before(bytes, |byte| byte == b' ')?;
    text(name).filter(|name| MEMCACHED.contains(name)).map(str::to_owned)
}

/// The name of a command.
fn command(bytes: &[u8]) -> Option<&str> {
    let fits = (1..=COMMAND).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_alphabetic);
    text(bytes).filter(|_| fits)
}

/// PostgreSQL's frontend messages ("Message Formats" of its manual): Query, Parse, Bind, and what a
/// connection begins with.
fn postgres(bytes: &[u8]) -> Option<String> {
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let fits = |length: u32| (4..1 << 30).contains(&length);
    match bytes.first()? {
        b'Q' if fits(word(1)?) => statement(&bytes[5..]),
        b'P' if fits(word(1)?) => statement(before(&bytes[5..], |byte| byte == 0)?.1),
        b'B' if fits(word(1)?) => {
            let (_, rest) = before(&bytes[5..], |byte| byte == 0)?;
            let (name, _) = before(rest, |byte| byte == 0)?;
            // Those that drivers number mean something else on each connection.
            let name = text(name)?;
            let is_given = !name.is_empty() && !name.bytes().any(|byte| byte.is_ascii_digit());
            let mut kind = "execute".to_owned();
            if is_given {
                kind.push(' ');
                fold(name, &mut kind);
            }
            Some(kind)
        }
        0 => matches!(word(4)?, 196_608 | 80_877_103 | 80_877_104).then(|| "connect".to_owned()),
        _ => None,
    }
}

/// The command of a statement, and the table that it names first.
fn statement(sql: &[u8]) -> Option<String> {
    let flat = outermost(sql);
    let mut words = flat.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let command = command(words.next()?)?.to_ascii_uppercase();
    let before = match command.as_str() {
        "SELECT" | "DELETE" => "from",
        "INSERT" => "into",
        "UPDATE" => "",
        _ => return Some(command),
    };
    if !before.is_empty() {
        words.find(|word| word.eq_ignore_ascii_case(before.as_bytes()));
    }
    let mut words = words.skip_while(|word| word.eq_ignore_ascii_case(b"only"));
    let table = words.next().and_then(text).map(|table| table.replace('"', ""));
    let mut kind = command;
    // What ends where the bytes end may be half of a name.
    let is_name = |table: &String| table.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
    if let Some(table) = table.filter(|table| is_name(table) && words.next().is_some()) {
        kind.push(' ');
        fold(&table, &mut kind);
    }
    Some(kind)
}

/// A statement up to its first literal or comment, without what is in parentheses: `(` stands for
/// that. What ends it is a word of its own.
fn outermost(sql: &[u8]) -> Vec<u8> {
    let (mut flat, mut depth) = (Vec::new(), 0_u32);
    for (at, byte) in sql.iter().enumerate() {
        let two = [*byte, sql.get(at + 1).copied().unwrap_or(0)];
        match byte {
            0 | b'\'' | b';' => {
                flat.extend(b" ;");
                break;
            }
            _ if [b"$$", b"--", b"/*"].contains(&&two) => break,
            b'(' => {
                depth += 1;
                flat.extend(b" ( ");
            }
            b')' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            b',' => flat.extend(b" , "),
            byte => flat.push(*byte),
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(bytes: &[u8]) -> String {
        of(bytes).unwrap_or_default()
    }

    #[test]
    fn http_is_known_by_method_and_path_without_what_names_an_object() {
        for (line, expected) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n", "GET /"),
            ("GET /orders/17?token=secret HTTP/1.1\r\n", "GET /orders/{n}"),
            ("POST /v2/users/anna@example.org/mail HTTP/1.1\r\n", "POST /v2/users/{id}/mail"),
            ("PUT /a/9f86d081884c7d659a2feaa0c55ad015 HTTP/1.0\r\n", "PUT /a/{id}"),
            ("DELETE /order-10234.json HTTP/1.1\r\n", "DELETE /order-{n}.json"),
            ("GET /caf%C3%A9 HTTP/1.1\r\n", "GET /{id}"),
            ("GET http://shop.example/cart HTTP/1.1\r\n", "GET /cart"),
            ("GET /a/b/c/d/e/f/g/h/i/j HTTP/1.1\r\n", "GET /a/b/c/d/e/f/g/..."),
            ("GET /api/reports/quarter", "GET /api/reports/..."),
            ("GET /commit/3c7304dd HTTP/1.1\r\n", "GET /commit/{id}"),
            ("POST /hooks/T02B4E7LD/x9Kq HTTP/1.1\r\n", "POST /hooks/{id}/x9Kq"),
            ("GET /reset/abcDefGhiJklMnoPqrStu HTTP/1.1\r\n", "GET /reset/{id}"),
            ("GET /video.mp4 HTTP/1.1\r\n", "GET /video.mp4"),
            ("GET /proxy/http://u:p@h/x HTTP/1.1\r\n", "GET /proxy/http://{id}/x"),
            ("CONNECT bank.example:443 HTTP/1.1\r\n", "CONNECT"),
        ] {
            assert_eq!(kind(line.as_bytes()), expected, "{line}");
        }
        for none in [
            "GET",
            "GOT / HTTP/1.1\r\n",
            "HTTP/1.1 200 OK\r\n",
            "GET /\x1b[2J HTTP/1.1\r\n",
            "GET / FTP/1\r\n",
        ] {
            assert_eq!(of(none.as_bytes()), None, "{none:?}");
        }
    }

    #[test]
    fn statements_are_known_by_command_and_table() {
        let message = |kind: u8, text: &str| {
            let mut bytes = vec![kind];
            bytes.extend((text.len() as u32 + 4).to_be_bytes());
            bytes.extend(text.as_bytes());
            bytes
        };
        for (of, text, expected) in [
            (b'Q', "select a, b from accounts where id = 17;\0", "SELECT accounts"),
            (b'P', "s1\0INSERT INTO \"log\"(a) VALUES ($1)\0\0\0", "INSERT log"),
            (b'Q', "UPDATE pgbench_accounts SET abalance = 1;\0", "UPDATE pgbench_accounts"),
            (b'Q', "DELETE FROM part_20240101 WHERE a;\0", "DELETE part_{n}"),
            (b'Q', "BEGIN;\0", "BEGIN"),
            (b'Q', "SELECT 'mail from anna smith' FROM t;\0", "SELECT"),
            (b'Q', "SELECT extract(year from birthday) FROM users;\0", "SELECT users"),
            (b'Q', "SELECT a FROM ONLY logs;\0", "SELECT logs"),
            (b'Q', "SELECT a FROM (SELECT 1) AS x;\0", "SELECT"),
            (b'B', "\0S_17\0\0", "execute"),
            (b'Q', "SELECT 1;\0", "SELECT"),
            (b'B', "\0find_user\0\0", "execute find_user"),
            (b'B', "\0\0\0", "execute"),
        ] {
            assert_eq!(kind(&message(of, text)), expected, "{text}");
        }
        assert_eq!(kind(&message(b'Q', "SELECT a FROM accou")[..24]), "SELECT", "half of a name is none");
        assert_eq!(kind(&[0, 0, 0, 8, 4, 210, 22, 47]), "connect");
    }

    #[test]
    fn stores_are_known_by_command() {
        assert_eq!(kind(b"*2\r\n$3\r\nget\r\n$4\r\nname\r\n"), "GET");
        assert_eq!(kind(b"set key 0 0 3\r\nabc\r\n"), "set");
        for none in [
            &b"*2\r\n$99999999999999999999\r\n"[..],
            b"*1\r\n$3\r\n\x1b[2\r\n",
            b"+OK\r\n",
            b"*",
            b"",
            b"\0",
            b"Q",
        ] {
            assert_eq!(of(none), None, "{none:?}");
        }
    }
}

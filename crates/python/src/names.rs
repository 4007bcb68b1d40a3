//! What the name of a file says about which interpreter it is.

use crate::offsets::Version;
use std::path::Path;

/// An interpreter by its file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// CPython 2, with its minor version.
    Python2(u8),
    /// CPython 3, with its version where the name has it.
    Python3(Option<Version>),
    /// Another.
    Other(&'static str),
    /// Nothing.
    Nothing,
}

/// Beginnings of names, and what they stand for; a version, a suffix or nothing may follow.
const OTHERS: &[(&str, &str)] = &[
    ("ruby", "Ruby"),
    ("libruby", "Ruby"),
    ("perl", "Perl"),
    ("libperl", "Perl"),
    ("node", "Node.js"),
    ("nodejs", "Node.js"),
    ("libnode", "Node.js"),
    ("deno", "Deno"),
    ("bun", "Bun"),
    ("java", "Java"),
    ("libjvm", "Java"),
    ("php", "PHP"),
    ("libphp", "PHP"),
    ("lua", "Lua"),
    ("liblua", "Lua"),
    ("luajit", "LuaJIT"),
    ("libluajit", "LuaJIT"),
    ("pypy", "PyPy"),
    ("libpypy", "PyPy"),
];

pub(crate) fn of(path: &Path) -> Named {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // What the kernel adds to the name of a file that was removed or replaced.
    let name = name.strip_suffix(" (deleted)").unwrap_or(&name);
    if let Some(rest) = name.strip_prefix("libpython").or_else(|| name.strip_prefix("python")) {
        return python(rest);
    }
    let is = |start: &str| {
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
    };
    OTHERS.iter().find(|(start, _)| is(start)).map_or(Named::Nothing, |(_, name)| Named::Other(name))
}

/// By what follows `python`: nothing, `3`, `3.11`, `3.13t`, `3.11.so.1.0`.
fn python(rest: &str) -> Named {
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    };
    match rest.as_bytes() {
        [b'3', b'.', ..] => Named::Python3(digits(&rest[2..]).map(|minor| Version { minor })),
        [b'2', b'.', ..] => digits(&rest[2..]).map_or(Named::Nothing, Named::Python2),
        [] | [b'3', ..] => Named::Python3(None),
        _ => Named::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_stand_for() {
        let python = |minor| Named::Python3(Some(Version { minor }));
        for (path, expected) in [
            ("/usr/bin/python3.11", python(11)),
            ("/usr/lib/libpython3.9.so.1.0", python(9)),
            ("/opt/python3.13t", python(13)),
            ("/opt/python3.12 (deleted)", python(12)),
            ("/usr/bin/python", Named::Python3(None)),
            ("/usr/lib/libpython3.so", Named::Python3(None)),
            ("/usr/bin/python2.7", Named::Python2(7)),
            ("/usr/bin/python3.999", Named::Python3(None)),
            ("/usr/bin/pythonic", Named::Nothing),
            ("/usr/bin/ruby3.1", Named::Other("Ruby")),
            ("/usr/lib/jvm/lib/server/libjvm.so", Named::Other("Java")),
            ("/usr/bin/php-fpm8.2", Named::Other("PHP")),
            ("/usr/lib/libpypy3.10-c.so", Named::Other("PyPy")),
            ("/usr/bin/node", Named::Other("Node.js")),
            ("/usr/bin/node_exporter", Named::Nothing),
            ("/usr/bin/perlbrew", Named::Nothing),
            ("/usr/bin/sleep", Named::Nothing),
        ] {
            assert_eq!(of(Path::new(path)), expected, "{path}");
        }
    }
}

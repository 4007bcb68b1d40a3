//! Which interpreter a file is, by its name.

use crate::offsets::Version;
use std::path::Path;

/// An interpreter by its file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InterpreterName {
    /// CPython 2, with its minor version.
    Python2(u8),
    /// CPython 3, with its version where the name has it.
    Python3(Option<Version>),
    /// Another.
    Other(&'static str),
    /// Nothing.
    Nothing,
}

/// Prefixes of names, and their interpreters; a version, a suffix or nothing may follow.
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

pub(crate) fn of(path: &Path) -> InterpreterName {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The kernel's suffix for a file that was removed or replaced.
    let name = name.strip_suffix(" (deleted)").unwrap_or(&name);
    if let Some(rest) = name.strip_prefix("libpython").or_else(|| name.strip_prefix("python")) {
        return python(rest);
    }
    let is = |start: &str| {
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
    };
    OTHERS
        .iter()
        .find(|(start, _)| is(start))
        .map_or(InterpreterName::Nothing, |(_, name)| InterpreterName::Other(name))
}

/// By what follows `python`: nothing, `3`, `3.11`, `3.13t`, `3.11.so.1.0`.
fn python(rest: &str) -> InterpreterName {
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    };
    match rest.as_bytes() {
        [b'3', b'.', ..] => InterpreterName::Python3(digits(&rest[2..]).map(|minor| Version { minor })),
        [b'2', b'.', ..] => digits(&rest[2..]).map_or(InterpreterName::Nothing, InterpreterName::Python2),
        [] | [b'3', ..] => InterpreterName::Python3(None),
        _ => InterpreterName::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_stand_for() {
        let python = |minor| InterpreterName::Python3(Some(Version { minor }));
        for (path, expected) in [
            ("/usr/bin/python3.11", python(11)),
            ("/usr/lib/libpython3.9.so.1.0", python(9)),
            ("/opt/python3.13t", python(13)),
            ("/opt/python3.12 (deleted)", python(12)),
            ("/usr/bin/python", InterpreterName::Python3(None)),
            ("/usr/lib/libpython3.so", InterpreterName::Python3(None)),
            ("/usr/bin/python2.7", InterpreterName::Python2(7)),
            ("/usr/bin/python3.999", InterpreterName::Python3(None)),
            ("/usr/bin/pythonic", InterpreterName::Nothing),
            ("/usr/bin/ruby3.1", InterpreterName::Other("Ruby")),
            ("/usr/lib/jvm/lib/server/libjvm.so", InterpreterName::Other("Java")),
            ("/usr/bin/php-fpm8.2", InterpreterName::Other("PHP")),
            ("/usr/lib/libpypy3.10-c.so", InterpreterName::Other("PyPy")),
            ("/usr/bin/node", InterpreterName::Other("Node.js")),
            ("/usr/bin/node_exporter", InterpreterName::Nothing),
            ("/usr/bin/perlbrew", InterpreterName::Nothing),
            ("/usr/bin/sleep", InterpreterName::Nothing),
        ] {
            assert_eq!(of(Path::new(path)), expected, "{path}");
        }
    }
}

//! Which runtime makes a process's code: known by the files that it has mapped.

use model::recording::Runtime;

/// The starts of file names, and what they stand for, the surest first. A version, a suffix or
/// nothing may follow.
const NAMES: &[(&str, Runtime)] = &[
    ("libjvm", Runtime::HotSpot),
    ("libcoreclr", Runtime::DotNet),
    ("node", Runtime::Node),
    ("nodejs", Runtime::Node),
    ("libnode", Runtime::Node),
    ("deno", Runtime::V8),
    ("d8", Runtime::V8),
    ("libv8", Runtime::V8),
    ("chrome", Runtime::V8),
    ("chromium", Runtime::V8),
    ("electron", Runtime::V8),
    ("pypy", Runtime::PyPy),
    ("libpypy", Runtime::PyPy),
    ("luajit", Runtime::LuaJit),
    ("libluajit", Runtime::LuaJit),
];

/// The runtime of a process that has mapped these files.
pub(super) fn of<'a>(paths: impl Iterator<Item = &'a str>) -> Runtime {
    let known = paths.filter_map(|path| {
        let name = path.rsplit('/').next()?;
        NAMES.iter().position(|(start, _)| {
            let rest = name.strip_prefix(start);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        })
    });
    known.min().map_or(Runtime::Other, |surest| NAMES[surest].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_known_by_its_files() {
        for (paths, expected) in [
            (&["/usr/bin/node", "/usr/lib/libc.so.6"][..], Runtime::Node),
            (&["/usr/lib/jvm/bin/java", "/usr/lib/jvm/lib/server/libjvm.so"], Runtime::HotSpot),
            (&["/usr/lib/libluajit-5.1.so.2", "/opt/libjvm.so"], Runtime::HotSpot),
            (&["/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.0/libcoreclr.so"], Runtime::DotNet),
            (&["/usr/bin/luajit-2.1.0"], Runtime::LuaJit),
            (&["/opt/pypy3.10", "/opt/libpypy3.10-c.so"], Runtime::PyPy),
            (&["/usr/bin/node_exporter", "/usr/bin/nodes"], Runtime::Other),
            (&["/usr/lib/libpcre2-8.so.0", "[vdso]", ""], Runtime::Other),
            (&[], Runtime::Other),
        ] {
            assert_eq!(of(paths.iter().copied()), expected, "{paths:?}");
        }
    }
}

//! Demangling: names as in the source, from symbols.

use std::fmt::{self, Write};

/// The longest demangled name; templates can expand to any length.
const NAME_MAX: usize = 2_048;

/// The same for a name with its parameters.
const SIGNATURE_MAX: usize = 64 << 10;

/// The longest symbol that is demangled to a signature; longer ones are not from real compilers.
const SYMBOL_MAX: usize = 4_096;

/// How deep a C++ name may be nested.
const DEPTH_MAX: u32 = 64;

/// Suffixes of compilers for a part or copy of a function.
const COPIES: [&str; 7] = [".cold", ".constprop.", ".isra.", ".part.", ".llvm.", ".lto_priv.", ".localalias"];

/// The text before such a suffix in a signature.
const COPY: &str = " [.";

/// The demangled name, without suffixes of copies (`.cold`, `.isra.0`) and without a symbol
/// version. C++ names lose their parameters, as in `perf report`, and Rust names their hash.
pub(crate) fn demangled(raw: &str) -> String {
    let name = raw.split('@').next().filter(|name| !name.is_empty()).unwrap_or(raw);
    let name = without_copy(name);
    rust(name, NAME_MAX)
        .or_else(|| cpp(name, NAME_MAX, cpp_demangle::DemangleOptions::new().no_params().no_return_type()))
        .unwrap_or_else(|| Short::of(NAME_MAX, |short| short.write_str(name)).text())
}

/// The signature as in the source: with parameters, and the suffix of a copy in brackets (`f(int)
/// [.isra.0]`). A symbol that is not mangled, or not validly, stays.
pub(crate) fn signature(symbol: &str) -> String {
    if symbol.len() > SYMBOL_MAX {
        return symbol.to_owned();
    }
    let (mangled, copy) = symbol.split_once('.').unwrap_or((symbol, ""));
    let plain = || {
        let mangled = Some(mangled).filter(|mangled| mangled.starts_with("_Z"))?;
        cpp(mangled, SIGNATURE_MAX, cpp_demangle::DemangleOptions::new())
    };
    match (rust(symbol, SIGNATURE_MAX), copy) {
        (Some(name), _) => name,
        (None, "") => plain().unwrap_or_else(|| symbol.to_owned()),
        (None, copy) => plain().map_or(symbol.to_owned(), |name| format!("{name}{COPY}{copy}]")),
    }
}

/// A signature without parameters and without the suffix of a copy.
pub(crate) fn bare(signature: &str) -> &str {
    let name = signature.split_once(COPY).map_or(signature, |(name, _)| name);
    let name = match name.find('(') {
        // `(anonymous namespace)::f()` begins with a parenthesis that is not of parameters.
        Some(at) if at > 0 && !name[at..].starts_with("(anonymous") => &name[..at],
        _ => name,
    };
    without_copy(name)
}

fn without_copy(name: &str) -> &str {
    let cut = COPIES.iter().filter_map(|copy| name.find(copy)).filter(|at| *at > 0).min();
    &name[..cut.unwrap_or(name.len())]
}

/// A mangled Rust name, without its hash.
fn rust(symbol: &str, max: usize) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    Some(Short::of(max, |short| write!(short, "{name:#}")).text())
}

/// A mangled C++ name.
fn cpp(symbol: &str, max: usize, options: cpp_demangle::DemangleOptions) -> Option<String> {
    if !["_Z", "__Z", "_GLOBAL_"].iter().any(|mark| symbol.starts_with(mark)) {
        return None;
    }
    let parsing = cpp_demangle::ParseOptions::default().recursion_limit(DEPTH_MAX);
    let parsed = cpp_demangle::Symbol::new_with_options(symbol, &parsing).ok()?;
    let mut done = true;
    let short = Short::of(max, |short| {
        done = parsed.structured_demangle(short, &options.recursion_limit(DEPTH_MAX)).is_ok();
        Ok(())
    });
    (done || short.cut).then(|| short.text())
}

/// Text that is cut with `…` where it would become too long.
struct Short {
    text: String,
    max: usize,
    cut: bool,
}

impl Short {
    /// Collects at most `max` bytes. An error of the writer means only that it was cut.
    fn of(max: usize, write: impl FnOnce(&mut Short) -> fmt::Result) -> Short {
        let mut short = Short { text: String::new(), max, cut: false };
        let _ = write(&mut short);
        short
    }

    fn text(mut self) -> String {
        if self.cut {
            self.text.push('…');
        }
        self.text
    }
}

impl Write for Short {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.cut {
            return Err(fmt::Error);
        }
        let room = self.max.saturating_sub(self.text.len());
        let fits = more.floor_char_boundary(room);
        self.text.push_str(&more[..fits]);
        self.cut = fits < more.len();
        if self.cut { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_demangled_as_people_write_them() {
        let cases = [
            ("main", "main"),
            ("work.constprop.0", "work"),
            ("work.part.0.cold", "work"),
            (".cold", ".cold"),
            ("main.work.func1", "main.work.func1"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("_ZN3foo3barEi", "foo::bar"),
            ("_ZN3foo3barEi.cold", "foo::bar"),
            ("_Z3addIiET_S0_S0_", "add<int>"),
            (
                "_ZN4core3ops8function6FnOnce9call_once17h0123456789abcdefE",
                "core::ops::function::FnOnce::call_once",
            ),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_Znonsense", "_Znonsense"),
            ("", ""),
        ];
        for (raw, name) in cases {
            assert_eq!(demangled(raw), name, "{raw}");
        }
    }

    #[test]
    fn a_signature_has_parameters_and_the_mark_of_a_copy() {
        let cases = [
            ("main", "main", "main"),
            ("work.constprop.0", "work.constprop.0", "work"),
            ("_ZN3foo3barEi", "foo::bar(int)", "foo::bar"),
            ("_ZN3foo3barEi.isra.0", "foo::bar(int) [.isra.0]", "foo::bar"),
            ("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()", "(anonymous namespace)::f()"),
            ("_Znonsense.x", "_Znonsense.x", "_Znonsense.x"),
        ];
        for (symbol, whole, without) in cases {
            assert_eq!(signature(symbol), whole, "{symbol}");
            assert_eq!(bare(whole), without, "{symbol}");
        }
    }

    #[test]
    fn a_name_that_unfolds_without_end_is_cut() {
        assert!(demangled(&"x".repeat(1 << 20)).len() < 3_000);
        let deep = format!("_ZN{}E", "1aI".repeat(50_000));
        assert!(demangled(&deep).len() < 3_000);
        // Each pair is made of two of the last: the length doubles with each.
        let mut doubling = "_Z1fI1PIiiE".to_owned();
        for n in 0..30 {
            let last = if n == 0 { "S_".to_owned() } else { format!("S{}_", radix36(n - 1)) };
            doubling.push_str(&format!("1PI{last}{last}E"));
        }
        doubling.push_str("EvT_");
        assert!(demangled(&doubling).len() < 3_000);
        assert!(signature(&doubling).len() < SIGNATURE_MAX + 10);
    }

    fn radix36(n: u32) -> String {
        char::from_digit(n, 36).unwrap().to_ascii_uppercase().to_string()
    }
}

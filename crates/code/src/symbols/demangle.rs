//! Names as people write them, from names as linkers see them.

use std::fmt::{self, Write};

/// The longest name that is made; templates can unfold to any length.
const NAME_MAX: usize = 2_048;

/// How deep a C++ name may be nested.
const DEPTH_MAX: u32 = 64;

/// What compilers put behind the name of a part or copy of a function.
const COPIES: [&str; 7] = [".cold", ".constprop.", ".isra.", ".part.", ".llvm.", ".lto_priv.", ".localalias"];

/// The name without mangling, without the marks of copies (`.cold`, `.isra.0`) and without a symbol's version.
/// C++ names lose their parameters, as in `perf report`, and Rust names their hash.
pub(crate) fn demangled(raw: &str) -> String {
    let mut name = raw.split('@').next().filter(|name| !name.is_empty()).unwrap_or(raw);
    let cut = COPIES.iter().filter_map(|copy| name.find(copy)).filter(|at| *at > 0).min();
    name = &name[..cut.unwrap_or(name.len())];
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        let mut short = Short::default();
        // An error only says that it was cut.
        let _ = write!(short, "{rust:#}");
        return short.text();
    }
    if name.starts_with("_Z") || name.starts_with("__Z") || name.starts_with("_GLOBAL_") {
        let parsing = cpp_demangle::ParseOptions::default().recursion_limit(DEPTH_MAX);
        if let Ok(symbol) = cpp_demangle::Symbol::new_with_options(name, &parsing) {
            let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
            let mut short = Short::default();
            let done = symbol.structured_demangle(&mut short, &options.recursion_limit(DEPTH_MAX));
            if done.is_ok() || short.cut {
                return short.text();
            }
        }
    }
    let mut short = Short::default();
    let _ = short.write_str(name);
    short.text()
}

/// Text that ends with `…` where it would become too long.
#[derive(Default)]
struct Short {
    text: String,
    cut: bool,
}

impl Short {
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
        let room = NAME_MAX - self.text.len().min(NAME_MAX);
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
    }

    fn radix36(n: u32) -> String {
        char::from_digit(n, 36).unwrap().to_ascii_uppercase().to_string()
    }
}

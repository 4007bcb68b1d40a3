//! Short names of functions: without template arguments, parameters and return types, which run to
//! hundreds of characters in demangled C++ and Rust names.
//!
//! Names are untrusted, so their brackets may not match. The result is *not* yet cleaned for a
//! terminal. Functions are compared by their full names, not by short ones.

use crate::Look;
use crate::clean::{clean, fit, width};
use crate::jit;
use model::profile::Frame;
use model::recording::Language;

/// Characters of a name that are used; some names are longer.
const NAME_MAX: usize = 4096;

/// Nested leading qualified types (`<A as B>::f`) that are resolved.
const QUALIFIED_MAX: usize = 8;

/// A frame's function in at most `columns` columns, cleaned: whole if it fits, else without its
/// leading modules, else cut at its end.
pub(super) fn short(frame: &Frame, columns: usize, look: Look) -> String {
    let sign = look.rest();
    let name = clean(&plain(frame, sign), true);
    // The sign is chosen for the page; everything else outside ASCII is the program's.
    let name = if look.unicode { name } else { clean(&name, false) };
    if width(&name) <= columns {
        return name;
    }
    let mut rest = name.as_str();
    while let Some(at) = rest.find("::").filter(|at| rest.is_char_boundary(at + 2)) {
        rest = &rest[at + 2..];
        let shorter = format!("{sign}{rest}");
        if !rest.is_empty() && width(&shorter) <= columns {
            return shorter;
        }
    }
    // No part fits: the last one matters most.
    let last = if rest.is_empty() { name.as_str() } else { rest };
    fit(last, columns, look.unicode)
}

/// A frame's function: of compiled code without arguments of templates and functions, others
/// unchanged.
pub(super) fn plain(frame: &Frame, sign: &str) -> String {
    if let Some(code) = frame.unnamed {
        return jit::unnamed(code.runtime);
    }
    let name: String = frame.function.trim().chars().take(NAME_MAX).collect();
    match frame.language {
        _ if name.is_empty() => "(no name)".into(),
        _ if frame.broke => format!("(cut: {name})"),
        Language::Native => match fold(&unqualified(&name), sign) {
            (folded, true) => without_return_type(&folded).to_owned(),
            (folded, false) => folded,
        },
        _ => name,
    }
}

/// `<alloc::vec::Vec<T> as core::ops::Drop>::drop` is `alloc::vec::Vec<T>::drop`.
fn unqualified(name: &str) -> String {
    let mut name = name.to_owned();
    for _ in 0..QUALIFIED_MAX {
        let Some(end) = name.strip_prefix('<').and_then(|_| brackets(&name)[0]) else { break };
        let (inner, rest) = (&name[1..end], &name[end + 1..]);
        if !rest.starts_with("::") {
            break;
        }
        // The `as` of an inner qualified type is within its brackets.
        let from = if inner.starts_with('<') { brackets(inner)[0].unwrap_or(0) } else { 0 };
        let end = inner[from..].find(" as ").map_or(inner.len(), |at| from + at);
        name = format!("{}{rest}", &inner[..end]);
    }
    name
}

/// For each byte that is an opening bracket, the position of its closing one; none for other bytes
/// and for brackets that do not match.
fn brackets(name: &str) -> Vec<Option<usize>> {
    let bytes = name.as_bytes();
    let mut closing = vec![None; bytes.len()];
    let mut open = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        let opens = match byte {
            b'<' | b'>' if ends_with_operator(&name[..at]) => continue,
            // `->` closes nothing.
            b'>' if at > 0 && bytes[at - 1] == b'-' => continue,
            b'<' | b'(' | b'[' | b'{' => {
                open.push(at);
                continue;
            }
            b'>' => b'<',
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            _ => continue,
        };
        // Brackets opened since, and not closed, are none.
        if let Some(matching) = open.iter().rposition(|open| bytes[*open] == opens) {
            closing[open[matching]] = Some(at);
            open.truncate(matching);
        }
    }
    closing
}

/// Whether the next character belongs to the name of an operator: `operator<`, `operator()`.
fn ends_with_operator(before: &str) -> bool {
    // At most two symbols precede the last of `<=>`.
    (0..3).any(|symbols| {
        let (name, symbols) =
            before.split_at_checked(before.len().saturating_sub(symbols)).unwrap_or((before, ""));
        name.ends_with("operator") && symbols.chars().all(|char| "<>=-".contains(char))
    })
}

/// The name without arguments: those of templates become `<…>`, those of functions and the
/// compiler's notes (`[clone .cold]`) are removed. And whether it had function arguments: only then
/// can it begin with a return type.
fn fold(name: &str, sign: &str) -> (String, bool) {
    let closing = brackets(name);
    let mut folded = String::new();
    let mut at = 0;
    let mut arguments = false;
    while let Some(char) = name[at..].chars().next() {
        let matching = match char {
            '<' if ends_with_operator(&folded) => None,
            '(' if folded.ends_with("operator") => None,
            '<' | '(' | '[' => closing[at],
            _ => None,
        };
        match (char, matching) {
            ('<', Some(end)) => {
                // Also where nothing precedes it, as in `<impl Trait for T>`, as a mark of the
                // place.
                folded.push('<');
                folded.push_str(sign);
                folded.push('>');
                at = end + 1;
            }
            ('(', Some(end)) if !name[at..].starts_with("(anonymous ") && !folded.is_empty() => {
                arguments = true;
                at = end + 1;
                // Qualifiers of a method: ` const`, ` &&`.
                for qualifier in [" const", " volatile", " &&", " &", " noexcept"] {
                    if name[at..].starts_with(qualifier) {
                        at += qualifier.len();
                    }
                }
            }
            ('[', Some(end)) if folded.ends_with(' ') || name[at..].starts_with("[abi:") => {
                folded.truncate(folded.trim_end().len());
                at = end + 1;
            }
            _ => {
                folded.push(char);
                at += char.len_utf8();
                if char == '(' && folded.ends_with("operator(") && name[at..].starts_with(')') {
                    folded.push(')');
                    at += 1;
                }
            }
        }
    }
    (folded, arguments)
}

/// The name of a template function without its return type, with which it begins.
fn without_return_type(name: &str) -> &str {
    // `virtual thunk to f` is not `f`, and `(anonymous namespace)` contains a blank.
    if name.contains(" to ") || name.contains(" for ") {
        return name;
    }
    let words = || name.match_indices(' ').map(|(at, _)| at + 1);
    let operator = |at: &usize| name[*at..].starts_with("operator") || name[*at..].contains("::operator");
    let begins = std::iter::once(0).chain(words());
    match begins.clone().rfind(operator).or_else(|| begins.last()) {
        Some(at) if !name[at..].contains(')') || operator(&at) => &name[at..],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(name: &str) -> Frame {
        Frame::new(name, "", Language::Native)
    }

    #[test]
    fn arguments_are_folded() {
        for (name, short) in [
            ("main", "main"),
            ("std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<…>::push_back"),
            ("void sort<int*>(int*, int*)", "sort<…>"),
            (
                "std::ostream& operator<< <std::char_traits<char> >(std::ostream&, char const*)",
                "operator<< <…>",
            ),
            ("foo::operator()(int) const", "foo::operator()"),
            ("foo::operator->() const", "foo::operator->"),
            ("foo::operator bool() const", "foo::operator bool"),
            ("operator new(unsigned long)", "operator new"),
            ("(anonymous namespace)::work(int)", "(anonymous namespace)::work"),
            ("run(int)::{lambda(int)#1}::operator()(int) const", "run::{lambda#1}::operator()"),
            ("work(int) [clone .isra.0]", "work"),
            ("str[abi:cxx11](int)", "str"),
            ("<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop", "alloc::vec::Vec<…>::drop"),
            ("<<A as B>::C as D>::f", "A::C::f"),
            ("core::slice::<impl [T]>::sort_by", "core::slice::<…>::sort_by"),
            ("run::{{closure}}", "run::{{closure}}"),
            ("app.so+0x1f0", "app.so+0x1f0"),
            ("guard variable for x", "guard variable for x"),
            ("a<b", "a<b"),
            ("a>b)c", "a>b)c"),
            ("a<(b>::c", "a<…>::c"),
            ("", "(no name)"),
            (" \u{3000}", "(no name)"),
        ] {
            assert_eq!(plain(&native(name), "…"), short, "{name}");
        }
    }

    #[test]
    fn a_name_that_does_not_fit_loses_its_modules_first() {
        let look = Look { width: 80, colour: false, unicode: true, height: Look::HEIGHT };
        let name = native("std::collections::hash::map::HashMap<K, V>::insert");
        assert_eq!(short(&name, 60, look), "std::collections::hash::map::HashMap<…>::insert");
        assert_eq!(short(&name, 30, look), "…hash::map::HashMap<…>::insert");
        assert_eq!(short(&name, 8, look), "…insert");
        assert_eq!(short(&name, 4, look), "ins…");
        let ascii = Look { unicode: false, ..look };
        assert_eq!(short(&name, 30, ascii), "..map::HashMap<..>::insert");
        assert_eq!(short(&native("f\u{202e}\x1b[2J"), 40, look), "f\\u{202e}\\x1b[2J");
    }

    #[test]
    fn endless_brackets_are_read_in_linear_time() {
        let name = native(&"<(".repeat(100_000));
        assert!(plain(&name, "…").len() <= NAME_MAX);
    }
}

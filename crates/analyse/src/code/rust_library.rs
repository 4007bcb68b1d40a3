//! Methods of Rust's own library by their names (RFC 2603 and the older form, demangled): those of
//! `std::…` and `core::…` are told by their paths, and here those of types of the language, as
//! `<u64 as core::cmp::PartialOrd>::lt`. It is linked into each program, so no file tells them.

/// Whether a method is one of a type of the language, by a trait of the library or by none: no
/// other crate may have it (the rule for orphans of the Rust reference, "Implementations").
pub(super) fn has(function: &str) -> bool {
    let Some((of, by)) = function.strip_prefix('<').and_then(of_and_by) else { return false };
    let by_library = |by: &str| {
        let path = by.trim_start_matches('<').trim_start_matches('&');
        ["std::", "core::", "alloc::"].iter().any(|start| path.starts_with(start)) || is_of_language(path)
    };
    is_of_language(of) && by.is_none_or(by_library)
}

/// `T` and `U` of `T as U>::method`, or only the first.
fn of_and_by(rest: &str) -> Option<(&str, Option<&str>)> {
    let mut depth = 0;
    let mut by = None;
    for (at, letter) in rest.char_indices() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            // Of `fn() -> T` it ends nothing.
            '>' if rest[..at].ends_with('-') => {}
            '>' if depth == 0 => {
                let of = by.map_or(&rest[..at], |by| &rest[..by]);
                return Some((of, by.map(|by| &rest[by + AS.len()..at])));
            }
            '>' | ')' | ']' => depth -= 1,
            ' ' if depth == 0 && by.is_none() && rest[at..].starts_with(AS) => by = Some(at),
            _ => {}
        }
    }
    None
}

const AS: &str = " as ";

/// A reference, a pointer, an array, a tuple, a number or the like; or what stands for any type.
fn is_of_language(of: &str) -> bool {
    const NAMES: &[&str] = &[
        "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128",
        "isize", "f32", "f64",
    ];
    let is_any = || of.len() == 1 && of.starts_with(|letter: char| letter.is_ascii_uppercase());
    of.starts_with(['&', '*', '[', '(']) || NAMES.contains(&of) || is_any()
}

#[cfg(test)]
mod tests {
    use super::has;

    #[test]
    fn methods_of_types_of_the_language_are_the_librarys() {
        for function in [
            "<u64 as core::cmp::PartialOrd>::lt",
            "<&std::path::Path as std::ffi::os_str::OsString>::push::SpecPushTo>::spec_push_to",
            "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>",
            "<*const u8>::copy_to_nonoverlapping",
            "<[crate_of_mine::Row]>::sort_by::<crate_of_mine::order>",
            "<&crate_of_mine::Row as core::fmt::Debug>::fmt",
            "<(u32, u64) as core::hash::Hash>::hash::<rustc_hash::FxHasher>",
            "<I as core::iter::traits::collect::IntoIterator>::into_iter",
            "<[fn() -> u8]>::len",
        ] {
            assert!(has(function), "{function}");
        }
    }

    #[test]
    fn a_trait_or_a_type_of_a_crate_is_the_crates() {
        for function in [
            "<u64 as crate_of_mine::Key>::key",
            "<crate_of_mine::Row as core::cmp::PartialOrd>::lt",
            "<crate_of_mine::Row>::new",
            "<T as crate_of_mine::Key>::key",
            "crate_of_mine::u64::lt",
            "u64",
            "<u64",
            "",
        ] {
            assert!(!has(function), "{function}");
        }
    }
}

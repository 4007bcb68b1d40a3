//! Layouts that a kernel half in C and user space in Rust share: written once, in Rust, with
//! [`layout!`].
//!
//! The macro makes constants, enums and structs for this side, and a description of them.
//! [`header`] turns the description into the C header for the other side, with an assertion for
//! each size and each offset, so that clang refuses a header with a different memory layout. The
//! headers are committed: `cargo xtask bpf` writes them, and a test of each layout compares.
//!
//! The layouts, `sources/bpf/wire.rs` and `spikes/wire.rs`, document the fields. `xtask` compiles
//! this file and the layouts, too, so they use nothing of this crate.
#![allow(dead_code, reason = "descriptions are read by tests and by xtask only")]

use std::fmt::Write;

/// One entry of a header.
pub(crate) enum Item {
    Constant {
        doc: &'static [&'static str],
        name: &'static str,
        value: u64,
    },
    Enum {
        doc: &'static [&'static str],
        name: &'static str,
        prefix: &'static str,
        variants: &'static [Variant],
    },
    Struct {
        doc: &'static [&'static str],
        name: &'static str,
        size: usize,
        fields: &'static [Field],
        /// A declaration, where elements follow the struct in memory.
        tail: Option<&'static str>,
    },
}

pub(crate) struct Variant {
    pub(crate) doc: &'static [&'static str],
    pub(crate) name: &'static str,
    pub(crate) value: u64,
}

pub(crate) struct Field {
    pub(crate) doc: &'static [&'static str],
    pub(crate) name: &'static str,
    pub(crate) of: (&'static str, Option<usize>),
    pub(crate) offset: usize,
}

/// A type that exists in C as well.
pub(crate) trait InC {
    /// Its name in C, or that of its elements.
    const NAME: &'static str;
    /// The number of elements of an array.
    const ELEMENTS: Option<usize> = None;
}

impl InC for u8 {
    const NAME: &'static str = "u8";
}

impl InC for u16 {
    const NAME: &'static str = "u16";
}

impl InC for u32 {
    const NAME: &'static str = "u32";
}

impl InC for i32 {
    const NAME: &'static str = "s32";
}

impl InC for u64 {
    const NAME: &'static str = "u64";
}

impl<T: InC, const N: usize> InC for [T; N] {
    const NAME: &'static str = T::NAME;
    const ELEMENTS: Option<usize> = Some(N);
}

/// Declares constants, enums and structs, and describes them in `ITEMS`, in this order.
///
/// - `const NAME: type = value;`
/// - `enum Name as c_name, PREFIX_: type { Variant = value, }`. In C a variant has the prefix and
///   its name in capitals. `Name::from_wire` gives none for other values.
/// - `struct Name as c_name { field: type, }`, with `field: [u8; N] as char` for text. The struct
///   is read in place (`zerocopy`), so it must not have padding that is not a field: the derive
///   refuses it. `struct Name as c_name, then "u8 rest[]"` declares in C what follows the fields.
macro_rules! layout {
    (@[$($done:expr,)*]) => {
        /// The items of the header.
        #[allow(dead_code, reason = "read by tests and by xtask only")]
        pub(crate) static ITEMS: &[$crate::layout::Item] = &[$($done,)*];
    };
    (@[$($done:expr,)*]
        $(#[doc = $doc:literal])*
        const $name:ident: $type:ty = $value:expr;
        $($rest:tt)*
    ) => {
        $(#[doc = $doc])*
        #[allow(dead_code, reason = "some are for the kernel half alone")]
        pub(crate) const $name: $type = $value;
        layout! {
            @[$($done,)* $crate::layout::Item::Constant {
                doc: &[$($doc),*],
                name: stringify!($name),
                value: $name as u64,
            },]
            $($rest)*
        }
    };
    (@[$($done:expr,)*]
        $(#[doc = $doc:literal])*
        enum $name:ident as $c:ident, $prefix:ident: $type:ty {
            $($(#[doc = $of:literal])* $variant:ident = $value:literal,)*
        }
        $($rest:tt)*
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[doc = $of])* $variant = $value,)*
        }

        impl $name {
            /// None for a value that has no meaning.
            #[allow(dead_code, reason = "some are only written on this side")]
            pub(crate) fn from_wire(value: $type) -> Option<Self> {
                match value {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        layout! {
            @[$($done,)* $crate::layout::Item::Enum {
                doc: &[$($doc),*],
                name: stringify!($c),
                prefix: stringify!($prefix),
                variants: &[$($crate::layout::Variant {
                    doc: &[$($of),*],
                    name: stringify!($variant),
                    value: $value,
                },)*],
            },]
            $($rest)*
        }
    };
    (@[$($done:expr,)*]
        $(#[doc = $doc:literal])*
        struct $name:ident as $c:ident $(, then $tail:literal)? {
            $($(#[doc = $of:literal])* $field:ident: $type:ty $(as $char:ident)?,)*
        }
        $($rest:tt)*
    ) => {
        $(#[doc = $doc])*
        #[derive(
            Debug, Clone, Copy, zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout,
        )]
        #[repr(C)]
        #[allow(dead_code, reason = "every field of the layout is declared here, read or not")]
        pub(crate) struct $name {
            $($(#[doc = $of])* pub(crate) $field: $type,)*
        }

        impl $crate::layout::InC for $name {
            const NAME: &'static str = concat!("struct ", stringify!($c));
        }

        layout! {
            @[$($done,)* $crate::layout::Item::Struct {
                doc: &[$($doc),*],
                name: stringify!($c),
                size: size_of::<$name>(),
                fields: &[$($crate::layout::Field {
                    doc: &[$($of),*],
                    name: stringify!($field),
                    of: (
                        [$(stringify!($char),)? <$type as $crate::layout::InC>::NAME][0],
                        <$type as $crate::layout::InC>::ELEMENTS,
                    ),
                    offset: std::mem::offset_of!($name, $field),
                },)*],
                tail: [$(Some($tail),)? None][0],
            },]
            $($rest)*
        }
    };
    ($($items:tt)*) => { layout! { @[] $($items)* } };
}

/// The C header of a layout: `about` describes it, `kernel` is the path of `kernel.h` relative to
/// it.
pub(crate) fn header(about: &str, kernel: &str, items: &[Item]) -> String {
    let mut text = String::from("/* SPDX-License-Identifier: MIT OR Apache-2.0 */\n");
    let made = "Made from `wire.rs` by `cargo xtask bpf`: changes are made there.";
    let _ = write!(text, "/*\n * {about}\n *\n * {made}\n */\n#pragma once\n#include \"{kernel}\"\n");
    for item in items {
        text.push_str(&item.declaration());
    }
    text.push_str("\n/* As the other side lays it out. */\n");
    text.push_str("#define SIZE(of, bytes) _Static_assert(sizeof(struct of) == bytes, #of)\n");
    text.push_str("#define AT(of, field, bytes) ");
    text.push_str("_Static_assert(__builtin_offsetof(struct of, field) == bytes, #of \".\" #field)\n");
    for item in items {
        text.push_str(&item.assertions());
    }
    text.push_str("#undef SIZE\n#undef AT\n");
    text
}

impl Item {
    fn declaration(&self) -> String {
        match self {
            Item::Constant { doc, name, value } => {
                format!("\n{}#define {name} {}\n", comment(doc, ""), literal(*value))
            }
            Item::Enum { doc, name, prefix, variants } => {
                let variants: String = variants.iter().map(|variant| variant.declaration(prefix)).collect();
                format!("\n{}enum {name} {{\n{variants}}};\n", comment(doc, ""))
            }
            Item::Struct { doc, name, fields, tail, .. } => {
                let fields: String = fields.iter().map(Field::declaration).collect();
                let tail = tail.map(|tail| format!("\t{tail};\n")).unwrap_or_default();
                format!("\n{}struct {name} {{\n{fields}{tail}}};\n", comment(doc, ""))
            }
        }
    }

    fn assertions(&self) -> String {
        let Item::Struct { name, size, fields, tail, .. } = self else { return String::new() };
        let at = |field: &str, offset: usize| format!("AT({name}, {field}, {offset});\n");
        let end = match tail.and_then(|tail| tail.split(['[', ' ']).nth_back(1)) {
            None => format!("SIZE({name}, {size});\n"),
            Some(tail) => at(tail, *size),
        };
        fields.iter().map(|field| at(field.name, field.offset)).chain([end]).collect()
    }
}

impl Variant {
    fn declaration(&self, prefix: &str) -> String {
        let Self { doc, name, value } = self;
        format!("{}\t{prefix}{} = {value},\n", comment(doc, "\t"), capitals(name))
    }
}

impl Field {
    fn declaration(&self) -> String {
        let (name, (of, elements)) = (self.name, self.of);
        let elements = elements.map(|elements| format!("[{elements}]")).unwrap_or_default();
        format!("{}\t{of} {name}{elements};\n", comment(self.doc, "\t"))
    }
}

/// `OtherTask` is `OTHER_TASK`.
fn capitals(name: &str) -> String {
    let mut capitals = String::new();
    for (place, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && place > 0 {
            capitals.push('_');
        }
        capitals.push(letter.to_ascii_uppercase());
    }
    capitals
}

/// As an `int` where it is one, so that comparisons with it are those of `int`.
fn literal(value: u64) -> String {
    match (i32::try_from(value), u32::try_from(value)) {
        (Ok(value), _) => value.to_string(),
        (_, Ok(value)) => format!("{value:#x}u"),
        _ => format!("{value:#x}ull"),
    }
}

fn comment(doc: &[&str], indent: &str) -> String {
    match doc {
        [] => String::new(),
        [line] => format!("{indent}/* {} */\n", line.trim()),
        lines => {
            let lines: String = lines.iter().map(|line| format!("{indent} * {}\n", line.trim())).collect();
            format!("{indent}/*\n{lines}{indent} */\n").replace(" * \n", " *\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    mod example {
        layout! {
            /// Beyond an `int`.
            const FAR: u32 = u32::MAX;
            /// A kind.
            enum Kind as kind, K_: u8 {
                /// The first.
                First = 1,
                SecondOne = 7,
            }
            struct Inner as inner { of: u16, name: [u8; 6] as char, }
            /// Two lines,
            /// with a tail.
            struct Outer as outer, then "u8 rest[FAR]" { at: u64, inner: [Inner; 2], }
        }
    }

    #[test]
    fn a_header_declares_each_item_and_asserts_each_offset() {
        let expected = "\
/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * An example.
 *
 * Made from `wire.rs` by `cargo xtask bpf`: changes are made there.
 */
#pragma once
#include \"kernel.h\"

/* Beyond an `int`. */
#define FAR 0xffffffffu

/* A kind. */
enum kind {
\t/* The first. */
\tK_FIRST = 1,
\tK_SECOND_ONE = 7,
};

struct inner {
\tu16 of;
\tchar name[6];
};

/*
 * Two lines,
 * with a tail.
 */
struct outer {
\tu64 at;
\tstruct inner inner[2];
\tu8 rest[FAR];
};

/* As the other side lays it out. */
#define SIZE(of, bytes) _Static_assert(sizeof(struct of) == bytes, #of)
#define AT(of, field, bytes) _Static_assert(__builtin_offsetof(struct of, field) == bytes, #of \".\" #field)
AT(inner, of, 0);
AT(inner, name, 2);
SIZE(inner, 8);
AT(outer, at, 0);
AT(outer, inner, 8);
AT(outer, rest, 24);
#undef SIZE
#undef AT
";
        assert_eq!(header("An example.", "kernel.h", example::ITEMS), expected);
        assert_eq!(
            [0, 1, 7].map(example::Kind::from_wire),
            [None, Some(example::Kind::First), Some(example::Kind::SecondOne)]
        );
    }
}

//! Inputs that are made up here rather than kept: source files for compilers, a text for gzip.

use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Writes them into `here`.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn write_all(here: &Path) -> Result<()> {
    let files = [
        ("generated.c", c_source(120)),
        ("generated.rs", rust_source(8)),
        ("generated.text", words(40 << 20)),
    ];
    for (name, text) in files {
        let path = here.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// A C file of many functions with loops, branches and calls: a second or two of an optimising
/// compiler.
fn c_source(functions: u32) -> String {
    let mut text =
        String::from("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n\n");
    text.push_str("struct item { int kind; double weight; char name[32]; struct item *next; };\n\n");
    for n in 0..functions {
        let (a, b) = (n * 7 % 31 + 2, n * 13 % 17 + 1);
        let callee = if n == 0 { "0".to_owned() } else { format!("work{}(head, n / 2, out)", n - 1) };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "double work{n}(struct item *head, int n, double *out)\n{{\n\tdouble sum = 0;\n\
             \tfor (struct item *i = head; i; i = i->next) {{\n\
             \t\tswitch (i->kind % 5) {{\n\
             \t\tcase 0: sum += i->weight * {a}; break;\n\
             \t\tcase 1: sum -= sqrt(fabs(i->weight)) / {b}; break;\n\
             \t\tcase 2: sum += strlen(i->name) % {a}; break;\n\
             \t\tcase 3: snprintf(i->name, sizeof i->name, \"item %d of %d\", i->kind, n); break;\n\
             \t\tdefault: sum *= 1.0 / ({b} + i->kind * i->kind);\n\t\t}}\n\t}}\n\
             \tfor (int x = 0; x < n; x++)\n\t\tfor (int y = 0; y < {a}; y++)\n\
             \t\t\tout[(x * {b} + y) % n] += sum * (x ^ y) + out[(x + y * {a}) % n];\n\
             \treturn n > {b} ? sum + {callee} : sum;\n}}\n\n"
        );
    }
    text
}

/// Rust with generic code for several types: some seconds of an optimising compiler.
fn rust_source(functions: u32) -> String {
    let mut text = String::from("use std::collections::{BTreeMap, HashMap};\n\n");
    for n in 0..functions {
        let (a, b) = (n * 7 % 31 + 2, n * 13 % 17 + 1);
        let key = ["u32", "u64", "String", "(u8, u16)", "Vec<u8>"][n as usize % 5];
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]\n\
             pub struct Item{n} {{ pub key: {key}, pub count: usize, pub text: String }}\n\
             pub fn work{n}(items: &[Item{n}]) -> String {{\n\
             \x20   let mut seen: HashMap<Item{n}, Vec<usize>> = HashMap::new();\n\
             \x20   let mut order: BTreeMap<{key}, usize> = BTreeMap::new();\n\
             \x20   for (at, item) in items.iter().enumerate().filter(|(at, _)| at % {a} != {b}) {{\n\
             \x20       seen.entry(item.clone()).or_default().push(at * {b});\n\
             \x20       *order.entry(item.key.clone()).or_insert({a}) += item.count;\n\
             \x20   }}\n\
             \x20   let mut all: Vec<_> = seen.into_iter().collect();\n\
             \x20   all.sort_by(|x, y| y.1.len().cmp(&x.1.len()).then_with(|| x.0.cmp(&y.0)));\n\
             \x20   format!(\"{{all:?}} {{order:?}}\")\n}}\n\n"
        );
    }
    text
}

/// Words in an order without a pattern, some more frequent than others: what gzip finds in a text.
fn words(size: usize) -> String {
    let mut text = String::with_capacity(size + 32);
    let mut state = 1_u64;
    while text.len() < size {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The product of two even draws is small more often than large.
        let rank = ((state >> 33 & 0x3ff) * (state >> 48 & 0x3ff)) >> 8;
        let _ = write!(text, "{}{}", WORD_PARTS[rank as usize % WORD_PARTS.len()], rank);
        text.push(if state >> 60 == 0 { '\n' } else { ' ' });
    }
    text
}

const WORD_PARTS: &[&str] =
    &["time", "of", "the", "waiting", "lock", "page", "is", "read", "and", "thread", "in", "a"];

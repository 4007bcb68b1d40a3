//! Every pair is whole: its texts are there, its ways do the work.

use super::*;
use std::collections::BTreeSet;

#[test]
fn names_are_unique_and_each_way_has_its_text() {
    let names: BTreeSet<_> = ALL.iter().map(|pair| pair.name).collect();
    assert_eq!(names.len(), ALL.len());
    for pair in ALL {
        assert!(pair.ways.len() >= 2 || pair.cause.is_none(), "{} has no fast way", pair.name);
        for way in pair.ways {
            assert!(!pair.text(way).is_empty(), "{}: there is no fn {}", pair.name, way.name);
        }
        assert!(pair.size.least <= pair.size.usual && pair.size.usual <= pair.size.most, "{}", pair.name);
    }
}

#[test]
fn a_function_is_found_from_its_head_to_its_end() {
    let source = "// fn a(\n\nfn ab() {\n}\n\nfn a() {\n    if b {\n    }\n}\n\nfn c() {}\n";
    assert_eq!(function(source, "a"), Some("fn a() {\n    if b {\n    }\n}"));
    assert_eq!(function(source, "d"), None);
}

#[test]
fn the_function_of_a_program_in_another_language_is_found() {
    let of = |language, text| Source { language, file: "", text }.function("a");
    let python = "import b\n\n\ndef a(n):\n    b()\n\n    c()\n\n\ndef d():\n    a()\n";
    assert_eq!(of(Language::Python, python), Some("def a(n):\n    b()\n\n    c()"));
    let c = "int a;\n\nstatic void a(long n) {\n    if (n) {\n    }\n}\n\nint main() {\n}\n";
    assert_eq!(of(Language::C, c), Some("static void a(long n) {\n    if (n) {\n    }\n}"));
}

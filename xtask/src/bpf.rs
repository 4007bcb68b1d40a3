//! The committed BPF objects, used where there is no clang, and the headers made from Rust layouts:
//! building them, and checking that they match the sources.
//!
//! `crates/observe/bpf_build.rs`, which the build script uses too, compiles the source;
//! `crates/observe/src/layout.rs` makes headers from layouts.

mod stack;

use crate::bpf_build::{Clang, SOURCES, compile, digest, find_clang, noted, prebuilt};
use crate::shell::{root, target};
use crate::{spikes_wire, wire};
use anyhow::{Context, Result, anyhow, bail};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const ARCHES: [&str; 2] = ["x86_64", "aarch64"];

/// The C files that are a BPF program each.
pub(crate) fn sources() -> Vec<PathBuf> {
    SOURCES.iter().map(|source| root().join("crates/observe").join(source)).collect()
}

/// The headers that are made from a layout, with their text.
fn headers() -> [(PathBuf, String); 2] {
    let made = [("sources/bpf/wire.h", wire::header()), ("spikes/wire.h", spikes_wire::header())];
    made.map(|(path, text)| (root().join("crates/observe/src").join(path), text))
}

/// Makes the headers, then compiles each program for both architectures into the `prebuilt/` beside
/// it, with a note of the clang and the sources they are from.
///
/// # Errors
/// When a header cannot be written, there is no clang, or it refuses a source.
pub(crate) fn build() -> Result<()> {
    for (path, text) in headers() {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let clang = clang()?;
    sources().iter().try_for_each(|source| build_one(source, &clang))
}

fn build_one(source: &Path, clang: &Clang) -> Result<()> {
    let directory = prebuilt(source);
    fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    for arch in ARCHES {
        let object = directory.join(format!("{arch}.bpf.o"));
        compile(clang, source, arch, &object).map_err(|error| anyhow!(error))?;
        println!("{} ({} bytes)", object.display(), fs::metadata(&object)?.len());
    }
    let digest = digest(source).map_err(|error| anyhow!(error))?;
    let note = format!("clang: {}\ndigest: {digest}\n", clang.version);
    fs::write(directory.join("built-with.txt"), note).context("cannot write built-with.txt")
}

/// Checks that the committed headers and objects match the sources.
///
/// With the clang they were built with: the same instructions, relocations, maps, data and types.
/// Another clang generates other instructions; then only the digest of the sources and the programs
/// and maps are compared.
///
/// # Errors
/// When they do not match, or there is no clang.
pub(crate) fn check() -> Result<()> {
    for (path, text) in headers() {
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            bail!("{} does not match its wire.rs\ntry: cargo xtask bpf", path.display());
        }
    }
    let clang = clang()?;
    sources().iter().try_for_each(|source| check_one(source, &clang))
}

fn check_one(source: &Path, clang: &Clang) -> Result<()> {
    let of = source.display();
    if noted(source, "digest") != Some(digest(source).map_err(|error| anyhow!(error))?) {
        bail!("the committed BPF objects of {of} do not match these sources\ntry: cargo xtask bpf");
    }
    let noted_clang = noted(source, "clang").unwrap_or_default();
    let directory = target().join("bpf-check");
    fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    for arch in ARCHES {
        let fresh = directory.join(format!("{arch}.bpf.o"));
        compile(clang, source, arch, &fresh).map_err(|error| anyhow!(error))?;
        let committed = prebuilt(source).join(format!("{arch}.bpf.o"));
        let how = compare(&committed, &fresh, noted_clang == clang.version)
            .with_context(|| format!("{} does not match {of}\ntry: cargo xtask bpf", committed.display()))?;
        let bytes = fs::read(&committed).with_context(|| format!("cannot read {}", committed.display()))?;
        stack::check(&bytes).with_context(|| format!("{} would be refused", committed.display()))?;
        println!("{of}: {arch}: {how} (built with clang {noted_clang}, checked with {})", clang.version);
    }
    Ok(())
}

fn clang() -> Result<Clang> {
    find_clang().context("there is no clang 12 or newer\ntry: apt-get install clang llvm")
}

/// Compares two object files, and returns how far they are equal.
fn compare(committed: &Path, fresh: &Path, same_clang: bool) -> Result<&'static str> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let (committed, fresh) = (read(committed)?, read(fresh)?);
    if committed == fresh {
        return Ok("the same bytes");
    }
    let (committed, fresh) = (sections(&committed)?, sections(&fresh)?);
    let names = |sections: &Sections| sections.keys().cloned().collect::<Vec<_>>();
    if names(&committed) != names(&fresh) {
        bail!("the sections are {:?} and {:?}", names(&committed), names(&fresh));
    }
    for (name, section) in &committed {
        let other = &fresh[name];
        if section.symbols != other.symbols {
            bail!("{name} holds {:?} and {:?}", section.symbols, other.symbols);
        }
        let comparable = same_clang || section.kind != SectionKind::Text;
        if comparable && (&section.bytes, &section.relocations) != (&other.bytes, &other.relocations) {
            bail!("the contents of {name} differ");
        }
    }
    Ok(if same_clang {
        "the same instructions, maps and data"
    } else {
        "the same sources, programs, maps and data"
    })
}

type Sections = BTreeMap<String, Section>;

/// A section as seen by the loader, without its file offset.
struct Section {
    kind: SectionKind,
    bytes: Vec<u8>,
    /// Offset and the name of the relocation target.
    relocations: Vec<(u64, String)>,
    /// Programs or maps: name, offset, size.
    symbols: Vec<(String, u64)>,
}

/// The sections that are loaded. BTF and DWARF are left out: they follow from the sources, and
/// their layout depends on the strip.
fn sections(bytes: &[u8]) -> Result<Sections> {
    let file = object::File::parse(bytes)?;
    let loaded = |section: &object::Section<'_, '_>| {
        let name = section.name().unwrap_or_default();
        !name.is_empty()
            && ![".BTF", ".debug", ".rel", ".symtab", ".strtab", ".llvm"]
                .iter()
                .any(|start| name.starts_with(start))
    };
    let mut found = Sections::new();
    for section in file.sections().filter(loaded) {
        let target = |relocation: &object::Relocation| match relocation.target() {
            RelocationTarget::Symbol(index) => {
                file.symbol_by_index(index).ok().and_then(|symbol| symbol.name().ok().map(str::to_owned))
            }
            _ => None,
        };
        let relocations = section
            .relocations()
            .map(|(offset, relocation)| (offset, target(&relocation).unwrap_or_default()));
        let symbols = file.symbols().filter(|symbol| symbol.section_index() == Some(section.index()));
        let symbols = symbols.filter(|symbol| symbol.is_global());
        let mut symbols: Vec<_> =
            symbols.map(|symbol| (symbol.name().unwrap_or_default().to_owned(), symbol.address())).collect();
        symbols.sort();
        let section = (
            section.name()?.to_owned(),
            Section {
                kind: section.kind(),
                bytes: section.uncompressed_data()?.into_owned(),
                relocations: relocations.collect(),
                symbols,
            },
        );
        found.insert(section.0, section.1);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles `text` for x86_64 in a separate directory; none where there is no clang.
    fn object_of(name: &str, text: &str) -> Option<PathBuf> {
        let clang = find_clang()?;
        let directory = target().join("bpf-test").join(name);
        fs::create_dir_all(&directory).expect("cannot create a directory for a test");
        let source = directory.join("small.bpf.c");
        fs::write(&source, text).expect("cannot write a source for a test");
        let object = directory.join("small.bpf.o");
        compile(&clang, &source, "x86_64", &object).expect("clang refused a source that is right");
        Some(object)
    }

    const SMALL: &str =
        "__attribute__((section(\"raw_tp/sys_enter\"), used)) int enter(void *c) { return 1; }";

    #[test]
    fn what_a_source_includes_from_elsewhere_is_an_input() {
        let inputs = |source: &PathBuf| crate::bpf_build::inputs(source).expect("the sources are there");
        let of: Vec<_> = sources().iter().map(inputs).collect();
        assert!(of.iter().all(|inputs| inputs.iter().any(|path| path.ends_with("sources/bpf/kernel.h"))));
        assert!(of[1].iter().any(|path| path.ends_with("spikes/wire.h")), "{:?}", of[1]);
    }

    #[test]
    fn an_object_equals_itself_built_elsewhere() {
        let (Some(one), Some(two)) = (object_of("one", SMALL), object_of("two", SMALL)) else { return };
        assert_eq!(compare(&one, &two, true).expect("they are of one source"), "the same bytes");
    }

    #[test]
    fn a_changed_instruction_is_found_with_the_same_clang() {
        let changed = SMALL.replace("return 1", "return 2");
        let (Some(one), Some(two)) = (object_of("three", SMALL), object_of("four", &changed)) else { return };
        assert!(compare(&one, &two, true).is_err());
        assert!(compare(&one, &two, false).is_ok(), "another clang may choose other instructions");
    }

    #[test]
    fn a_missing_program_is_found_with_any_clang() {
        let changed = SMALL.replace("enter(", "leave(");
        let (Some(one), Some(two)) = (object_of("five", SMALL), object_of("six", &changed)) else { return };
        assert!(compare(&one, &two, false).is_err());
    }
}

//! The committed objects on other kernels than the one that runs the tests, as far as their types
//! tell: `crates/observe/tests/kernels` has what matters of them (see its README).
//!
//! Whether the verifier takes a program only a kernel can tell: `cargo xtask kernels --verify`.

mod relocations;

use super::fields::ANY_SIZE;
use aya_obj::Object;
use aya_obj::btf::Btf;
use flate2::read::GzDecoder;
use object::Endianness;
use relocations::{Asked, Found, Types};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What is expected of all kernels, in the order of their names.
const EXPECTED: &str = "tests/kernels/expected.txt";

/// Before Linux 5.15 no program of the tier can be loaded, whatever its types are.
const BEFORE: &str = "5.10-";

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The names of kept kernels, and their types.
pub(super) fn kernels() -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(place("tests/kernels")).unwrap().map(|entry| entry.unwrap().path());
    let mut kernels: Vec<_> = files
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".btf.gz")?.to_owned();
            let mut types = Vec::new();
            GzDecoder::new(fs::File::open(&path).unwrap()).read_to_end(&mut types).unwrap();
            Some((name, types))
        })
        .collect();
    kernels.sort_by_key(|(name, _)| {
        let numbers: Vec<u32> = name.split(['.', '-']).map_while(|part| part.parse().ok()).collect();
        (numbers, name.clone())
    });
    kernels
}

/// The committed objects for the architecture of this kernel.
pub(super) fn objects(kernel: &str) -> [(&'static str, Vec<u8>); 2] {
    let arch = if kernel.ends_with("arm64") { "aarch64" } else { "x86_64" };
    [("dwell", "src/sources/bpf"), ("wake", "src/spikes")].map(|(name, directory)| {
        let path = place(directory).join("prebuilt").join(format!("{arch}.bpf.o"));
        // Aligned as ELF wants it.
        (name, fs::read(path).unwrap())
    })
}

/// Resolves all relocations with the loader's own code.
pub(super) fn relocate(elf: &[u8], types: &[u8]) -> Result<(), String> {
    let mut object = Object::parse(elf).map_err(|error| format!("{error:?}"))?;
    let types = Btf::parse(types, Endianness::Little).map_err(|error| format!("{error:?}"))?;
    object.relocate_btf(&types).map_err(|error| format!("{error:?}"))
}

#[test]
fn the_loader_resolves_both_objects_on_every_kernel() {
    let kernels = kernels();
    assert!(kernels.len() >= 19, "{}", kernels.len());
    for (kernel, types) in &kernels {
        for (object, elf) in objects(kernel) {
            assert_eq!(relocate(&elf, types), Ok(()), "{object} on {kernel}");
        }
    }
}

/// What the loader does not tell: a field that a kernel lacks is an instruction that its verifier
/// refuses, unless the program asks for it first; and one of another size is read wrongly.
#[test]
fn a_field_that_a_kernel_lacks_is_asked_for_first_and_all_have_their_sizes() {
    for (kernel, types) in kernels().into_iter().filter(|(kernel, _)| !kernel.starts_with(BEFORE)) {
        let types = Types(&types);
        for (object, elf) in objects(&kernel) {
            let asked = Asked::of(&elf);
            assert!(asked.fields.len() > 10, "{object}: {asked:?}");
            for field in &asked.fields {
                let name = field.name();
                match types.find(field) {
                    Found::Same => {}
                    Found::Missing => assert!(asked.is_guarded(field), "{object} on {kernel}: no {name}"),
                    Found::Bytes(bytes) => {
                        assert!(ANY_SIZE.contains(&&*name), "{object} on {kernel}: {name} has {bytes} bytes");
                    }
                }
            }
        }
    }
}

/// The fields and tracepoints that each kernel lacks, against what is kept: so that a change of one
/// is looked at. `BLESS=1` keeps what is.
#[test]
fn what_each_kernel_lacks_is_known() {
    let mut told = String::from("# Fields and tracepoints of the kernel half that a kernel does not have.\n");
    for (kernel, types) in kernels() {
        let types = Types(&types);
        for (object, elf) in objects(&kernel) {
            let asked = Asked::of(&elf);
            let fields = asked.fields.iter().filter(|field| types.find(field) == Found::Missing);
            let fields = fields.map(|field| field.name());
            let tracepoints =
                asked.tracepoints.iter().filter(|name| !types.has(&format!("btf_trace_{name}")));
            let lacks = fields.chain(tracepoints.cloned()).map(|name| format!(" {name}"));
            told.push_str(&format!("{kernel} {object}:{}\n", lacks.collect::<String>()));
        }
    }
    let path = place(EXPECTED);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &told).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(told, kept, "look at the difference, then: BLESS=1");
}

/// User space turns the tracing of calls off and on while programs run. One that asks twice may be
/// told both: `sched_switch` then took a call for a traced one with the time of another's entry.
#[test]
fn at_a_switch_it_is_asked_once_whether_calls_are_traced() {
    use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
    for kernel in ["x86_64", "arm64"] {
        let [(_, elf), _] = objects(kernel);
        let file = object::File::parse(&*elf).unwrap();
        let program = file.section_by_name("tp_btf/sched_switch").unwrap();
        let of_settings = |target| match target {
            RelocationTarget::Symbol(index) => file.symbol_by_index(index).unwrap().name() == Ok("settings"),
            _ => false,
        };
        let asked = program.relocations().filter(|(_, one)| of_settings(one.target())).count();
        assert_eq!(asked, 1, "{kernel}");
    }
}

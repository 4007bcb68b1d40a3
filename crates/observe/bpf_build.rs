//! How the BPF programs are compiled: the one place that knows clang's name and its flags.
//!
//! Shared by `build.rs` (which builds for the target, or uses the committed object) and by `cargo
//! xtask bpf` (which makes and checks the committed objects), so that the two cannot differ. They
//! decide when to compile.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Each is a BPF program of its own. Relative to the package `observe`, where Cargo runs its build
/// script.
pub(crate) const SOURCES: [&str; 2] = ["src/sources/bpf/dwell.bpf.c", "src/spikes/wake.bpf.c"];

/// The oldest clang whose BPF back end has what CO-RE needs.
const CLANG_MAJOR_MIN: u32 = 12;
/// The newest versioned name (`clang-22`) that is tried; a plain `clang` of any version is
/// preferred.
const CLANG_MAJOR_MAX: u32 = 22;

/// Everything about a compilation that is not a path. Part of the digest: an object built with
/// other flags is another object.
const FLAGS: &[&str] =
    &["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror", "-fno-ident", "-fno-stack-protector"];

/// A clang with a BPF back end.
#[derive(Debug, Clone)]
pub(crate) struct Clang {
    /// Name or path of the program.
    pub(crate) program: PathBuf,
    /// Its version, for example `14.0.6`.
    pub(crate) version: String,
}

/// Finds a clang of version 12 or newer: `$CLANG`, then `clang`, then `clang-22` down to
/// `clang-12`.
pub(crate) fn find_clang() -> Option<Clang> {
    let versioned = (CLANG_MAJOR_MIN..=CLANG_MAJOR_MAX).rev().map(|major| format!("clang-{major}").into());
    env::var_os("CLANG")
        .into_iter()
        .chain(["clang".into()])
        .chain(versioned)
        .find_map(|name| try_clang(&name))
}

fn try_clang(program: &OsStr) -> Option<Clang> {
    let output =
        Command::new(program).arg("--version").output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split("clang version ").nth(1)?;
    let version: String = version.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    (major(&version)? >= CLANG_MAJOR_MIN).then(|| Clang { program: program.into(), version })
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

/// How the sources are told the architecture.
///
/// # Errors
/// They do not know it.
pub(crate) fn define(arch: &str) -> Result<&'static str, String> {
    match arch {
        "x86_64" => Ok("-D__TARGET_ARCH_x86"),
        "aarch64" => Ok("-D__TARGET_ARCH_arm64"),
        other => Err(format!("no BPF object is built for {other}: only x86_64 and aarch64")),
    }
}

/// Compiles `source` to the BPF object `out` for programs that run on `arch` (`x86_64` or
/// `aarch64`).
///
/// BTF is kept, DWARF is dropped where there is an `llvm-strip` (it only costs size), and no path
/// of this machine gets into the object, so the same clang gives the same bytes anywhere.
///
/// # Errors
/// In words: an unknown architecture, a clang that cannot be started, or clang's error.
pub(crate) fn compile(clang: &Clang, source: &Path, arch: &str, out: &Path) -> Result<(), String> {
    let define = define(arch)?;
    let directory = source.parent().unwrap_or(Path::new("."));
    let name = source.file_name().unwrap_or(source.as_os_str());
    let mut command = Command::new(&clang.program);
    command.current_dir(directory).args(FLAGS).arg(define);
    command.arg(format!("-ffile-prefix-map={}=.", directory.display()));
    command.arg("-c").arg(name).arg("-o").arg(out);
    let output =
        command.output().map_err(|error| format!("cannot start {}: {error}", clang.program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{} {} refused {}:\n{said}",
            clang.program.display(),
            clang.version,
            source.display()
        ));
    }
    strip(clang, out);
    Ok(())
}

/// Drops DWARF and keeps BTF. An object that is not stripped works as well, so a failure is no
/// error.
fn strip(clang: &Clang, object: &Path) -> bool {
    let versioned = major(&clang.version).map(|major| format!("llvm-strip-{major}"));
    let names = versioned.into_iter().chain(["llvm-strip".to_owned()]);
    names.into_iter().any(|name| {
        Command::new(name).arg("-g").arg(object).output().is_ok_and(|output| output.status.success())
    })
}

/// The C files of a BPF program: `source` and its includes, recursively; sorted.
///
/// # Errors
/// In words, when one cannot be read.
pub(crate) fn inputs(source: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = BTreeSet::new();
    let mut next = vec![source.to_owned()];
    while let Some(path) = next.pop() {
        let unread = |error| format!("cannot read {}: {error}", path.display());
        let path = fs::canonicalize(&path).map_err(unread)?;
        if !found.insert(path.clone()) {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(unread)?;
        let included = text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
        next.extend(included.map(|included| path.with_file_name(included)));
    }
    Ok(found.into_iter().collect())
}

/// A digest of the sources and the flags, to check that a committed object was made from them. It
/// guards against mistakes, not against malice: FNV-1a, 64 bits.
///
/// # Errors
/// In words, when a source cannot be read.
pub(crate) fn digest(source: &Path) -> Result<String, String> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes.iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for path in inputs(source)? {
        let text = fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        add(path.file_name().unwrap_or_default().as_encoded_bytes());
        add(&text);
    }
    add(FLAGS.join(" ").as_bytes());
    Ok(format!("{hash:016x}"))
}

/// The directory of the committed objects and of the note about them, beside `source`.
pub(crate) fn prebuilt(source: &Path) -> PathBuf {
    source.with_file_name("prebuilt")
}

/// The value of `key` (`clang` or `digest`) in the note beside the committed objects, if there is a
/// note.
pub(crate) fn noted(source: &Path, key: &str) -> Option<String> {
    let note = fs::read_to_string(prebuilt(source).join("built-with.txt")).ok()?;
    let line = note.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

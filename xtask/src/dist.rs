//! The static binaries that users download: built for both architectures, checked, put into
//! `target/dist`.

use crate::bpf_build::find_clang;
use crate::setup;
use crate::shell::{self, cargo, output, program, target};
use anyhow::{Context, Result, bail};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, elf};
use std::fs;
use std::path::{Path, PathBuf};

/// The architectures of the binaries.
const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

/// The profile of what users download.
const RELEASED: &str = "release";
/// The profile of what only has to link and start: a fifth of the time.
const LINKED: &str = "linked";

/// Builds both and copies them to `target/dist/dwell-ARCH`.
///
/// # Errors
/// When one does not build, is not static, or does not start.
pub(crate) fn run() -> Result<()> {
    build(RELEASED)?;
    let directory = target().join("dist");
    fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    for arch in ARCHITECTURES {
        let (built, kept) = (binary(RELEASED, arch), directory.join(format!("dwell-{arch}")));
        fs::copy(&built, &kept).with_context(|| format!("cannot copy {}", built.display()))?;
        println!("{} ({} bytes)", kept.display(), fs::metadata(&kept)?.len());
    }
    Ok(())
}

/// Checks that static binaries can be built: unoptimised ones.
///
/// # Errors
/// When one does not build, is not static, or does not start.
pub(crate) fn check() -> Result<()> {
    build(LINKED)
}

/// Builds the static binaries, in one call of Cargo, so that one is compiled while the other is
/// linked. Checks that each needs no loader and starts, in the emulator where it is for another
/// architecture. A missing emulator is reported, and no error.
fn build(profile: &str) -> Result<()> {
    let mut build = cargo(&["build", "--profile", profile, "--locked", "--package", "dwell"]);
    for arch in ARCHITECTURES {
        let triple = triple(arch);
        build.args(["--target", &triple]);
        // The cryptography of TLS has parts in C, which need no headers of a C library for musl:
        // the host's compiler is used for its own architecture, and clang for any other.
        let host = arch == std::env::consts::ARCH;
        let compiler = if host { Some("cc".into()) } else { find_clang().map(|clang| clang.program) };
        if let Some(compiler) = compiler {
            let underscored = triple.replace('-', "_");
            build.env(format!("CC_{underscored}"), compiler).env(format!("AR_{underscored}"), "ar");
        }
    }
    shell::run(&mut build)?;
    ARCHITECTURES.iter().try_for_each(|arch| check_one(&binary(profile, arch), arch))
}

fn triple(arch: &str) -> String {
    format!("{arch}-unknown-linux-musl")
}

fn binary(profile: &str, arch: &str) -> PathBuf {
    target().join(triple(arch)).join(profile).join("dwell")
}

/// Checks that the binary for `arch` is static and starts.
fn check_one(binary: &Path, arch: &str) -> Result<()> {
    if wants_loader(binary)? {
        bail!("{} is not static: it names a loader", binary.display());
    }
    let path = binary.to_string_lossy().into_owned();
    let version = if arch == std::env::consts::ARCH {
        output(&mut program(binary, &["--version"]))?
    } else if let Some(emulator) = setup::emulator().filter(|_| arch == "aarch64") {
        output(&mut program(emulator, &[&path, "--version"]))?
    } else {
        println!("NOT STARTED: {path}, without an emulator");
        return Ok(());
    };
    if !version.starts_with("dwell ") {
        bail!("{path} --version says {version:?}");
    }
    println!("{arch}: {}", version.trim());
    Ok(())
}

fn wants_loader(binary: &Path) -> Result<bool> {
    let bytes = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
    let header = elf::FileHeader64::<Endianness>::parse(&*bytes)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, &*bytes)?;
    Ok(segments.iter().any(|segment| segment.p_type(endian) == elf::PT_INTERP))
}

//! The static binaries that users download: built for both architectures, checked, and packaged in
//! `target/dist`.

use crate::bpf_build::find_clang;
use crate::package::{self, Built};
use crate::programs::TESTED;
use crate::setup;
use crate::shell::{self, cargo, output, program, target};
use anyhow::{Context, Result, bail};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, elf};
use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The architectures of the binaries.
const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

/// Packages of the binary that the profile of the tests names with a level of their own: they are
/// judged by their rate.
const OPTIMISED: [&str; 4] = ["loads", "rungs", "stats", "wakes"];

/// The binary.
const NAME: &str = "dwell";

/// The profile of what users download.
const RELEASED: &str = "packaged";

/// Builds both and packages them in `target/dist`. `arguments`: architectures, all by default; with
/// `=FILE` one that is built already, elsewhere for instance. `--tested` takes the profile of the
/// tests, to try the packaging.
///
/// # Errors
/// When one does not build, is not static, or does not start; when it cannot be packaged.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let profile = if arguments.contains(&"--tested") { TESTED } else { RELEASED };
    let mut named: Vec<&str> = arguments.iter().copied().filter(|word| *word != "--tested").collect();
    if named.is_empty() {
        named = ARCHITECTURES.to_vec();
    }
    let mut built = Vec::new();
    let mut to_build = Vec::new();
    for word in named {
        let (arch, file) = word.split_once('=').map_or((word, None), |(arch, file)| (arch, Some(file)));
        if !ARCHITECTURES.contains(&arch) {
            bail!("no such architecture: {arch}\ntry: {}", ARCHITECTURES.join(", "));
        }
        match file {
            Some(file) => check_one(Path::new(file), arch)?,
            None => to_build.push(arch),
        }
        built.push(Built { binary: file.map_or_else(|| binary(profile, arch, NAME), PathBuf::from), arch });
    }
    if !to_build.is_empty() {
        build(profile, &to_build, &[])?;
    }
    let of_host = built.iter().find(|built| built.arch == ARCH).map(|built| built.binary.clone());
    let of_host = of_host.unwrap_or_else(|| binary(profile, ARCH, NAME));
    if !of_host.is_file() {
        bail!("manual pages are written by the binary for {ARCH}\ntry: cargo xtask dist {ARCH} ...");
    }
    for file in package::package(&built, &of_host, &target().join("dist"))? {
        println!("{} ({} bytes)", file.display(), fs::metadata(&file)?.len());
    }
    Ok(())
}

/// Checks that the binaries of architectures other than the host's can be built: unoptimised ones,
/// since they only have to link and start. The tests run with that of the host, and check it.
///
/// # Errors
/// When one does not build, is not static, or does not start.
pub(crate) fn check_foreign() -> Result<()> {
    let others: Vec<&str> = ARCHITECTURES.into_iter().filter(|arch| *arch != ARCH).collect();
    // Build scripts and procedural macros stay those of the tests, and are built once.
    let plain = ["opt-level=0", "debug=false"].map(str::to_owned).into_iter();
    let of_packages = OPTIMISED.iter().map(|name| format!("package.dwell-{name}.opt-level=0"));
    let plain: Vec<_> = plain.chain(of_packages).map(|line| format!("profile.{TESTED}.{line}")).collect();
    build(TESTED, &others, &plain)
}

/// Checks the binary that the tests run with.
///
/// # Errors
/// When it is not static or does not start.
pub(crate) fn check_tested() -> Result<()> {
    check_one(&binary(TESTED, ARCH, NAME), ARCH)
}

/// Builds the static binaries, in one call of Cargo, so that one is compiled while the other is
/// linked. Checks that each needs no loader and starts, in the emulator where it is for another
/// architecture. A missing emulator is reported, and no error.
fn build(profile: &str, architectures: &[&str], config: &[String]) -> Result<()> {
    let mut build = cargo(&["build", "--profile", profile, "--locked", "--package", "dwell"]);
    build.args(config.iter().flat_map(|line| ["--config", line]));
    for arch in architectures {
        target_of(&mut build, arch);
    }
    shell::run(&mut build)?;
    architectures.iter().try_for_each(|arch| check_one(&binary(profile, arch, NAME), arch))
}

/// Names the C compiler for an architecture: the host's for its own, and clang for any other. The
/// cryptography of TLS has parts in C, which need no headers of a C library; SQLite needs some.
/// Those of the GNU library for the same architecture do for musl, since its structures are the
/// kernel's and what else it declares is left out (`.cargo/config.toml`).
fn set_compiler(build: &mut Command, arch: &str) {
    let compiler = if arch == ARCH { Some("cc".into()) } else { find_clang().map(|clang| clang.program) };
    if let Some(compiler) = compiler {
        let underscored = triple(arch).replace('-', "_");
        build.env(format!("CC_{underscored}"), compiler).env(format!("AR_{underscored}"), "ar");
        if arch != ARCH {
            let headers = format!("-isystem /usr/{arch}-linux-gnu/include");
            build.env(format!("CFLAGS_{underscored}"), headers);
        }
    }
}

/// Makes a command of Cargo build static programs for this machine.
pub(crate) fn target_static(build: &mut Command) {
    target_of(build, ARCH);
}

/// Makes a command of Cargo build static programs for an architecture.
pub(crate) fn target_of(build: &mut Command, arch: &str) {
    build.args(["--target", &triple(arch)]);
    set_compiler(build, arch);
}

fn triple(arch: &str) -> String {
    format!("{arch}-unknown-linux-musl")
}

/// Where Cargo puts a static program.
pub(crate) fn binary(profile: &str, arch: &str, name: &str) -> PathBuf {
    target().join(triple(arch)).join(profile).join(name)
}

/// Checks that the binary for `arch` is static and starts.
fn check_one(binary: &Path, arch: &str) -> Result<()> {
    if wants_loader(binary)? {
        bail!("{} is not static: it names a loader", binary.display());
    }
    let path = binary.to_string_lossy().into_owned();
    let version = if arch == ARCH {
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

//! What the tests need from the machine: finds what is missing and installs it, or says how to.
//!
//! Only what is missing is installed, and only as root with apt; on any other machine the list is printed.

use crate::bpf_build;
use crate::shell::{self, find, output, program, run, succeeds};
use anyhow::{Result, bail};
use std::fs;
use std::path::Path;

/// A thing looked for, and the Debian or Ubuntu packages that bring it, best first.
struct Need {
    name: &'static str,
    packages: &'static [&'static str],
    present: fn() -> bool,
}

const NEEDS: &[Need] = &[
    Need { name: "clang 12 or newer", packages: &["clang"], present: || bpf_build::find_clang().is_some() },
    Need { name: "llvm-strip", packages: &["llvm"], present: || any_version_of("llvm-strip") },
    Need { name: "bpf/bpf_helpers.h", packages: &["libbpf-dev"], present: libbpf_headers_or_no_wish },
    Need { name: "cc", packages: &["gcc"], present: || find("cc").is_some() },
    Need { name: "C library headers", packages: &["libc6-dev"], present: || exists("/usr/include/stdio.h") },
    Need { name: "strace", packages: &["strace"], present: || find("strace").is_some() },
    Need {
        name: "perf",
        packages: &["linux-perf", "linux-tools-generic"],
        present: || find("perf").is_some(),
    },
    Need { name: "bpftrace", packages: &["bpftrace"], present: || find("bpftrace").is_some() },
    Need {
        name: "bpftool",
        packages: &["bpftool", "linux-tools-generic"],
        present: || find("bpftool").is_some(),
    },
    Need { name: "tmux", packages: &["tmux"], present: || find("tmux").is_some() },
    Need { name: "python3", packages: &["python3"], present: || find("python3").is_some() },
    Need { name: "hyperfine", packages: &["hyperfine"], present: || find("hyperfine").is_some() },
    Need {
        name: "qemu-aarch64",
        packages: &["qemu-user", "qemu-user-static"],
        present: || emulator().is_some(),
    },
];

const RUST_TARGETS: &[&str] = &["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// Makes everything the tests need present.
///
/// # Errors
/// With the list of what is missing and the commands that would bring it, when they cannot be run here.
pub(crate) fn run_all() -> Result<()> {
    rust()?;
    packages()
}

/// The emulator that runs aarch64 programs here, if installed.
pub(crate) fn emulator() -> Option<std::path::PathBuf> {
    find("qemu-aarch64").or_else(|| find("qemu-aarch64-static"))
}

fn packages() -> Result<()> {
    let missing: Vec<&Need> = NEEDS.iter().filter(|need| !(need.present)()).collect();
    if missing.is_empty() {
        println!("nothing is missing");
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|need| need.name).collect();
    println!("missing: {}", names.join(", "));
    let first: Vec<_> = missing.iter().map(|need| need.packages[0]).collect();
    let by_hand = format!("try: sudo apt-get install --no-install-recommends {}", first.join(" "));
    if find("apt-get").is_none() {
        bail!("{} missing, and this is no Debian or Ubuntu; install what brings them", names.join(", "));
    }
    if !is_root() {
        bail!("{} missing, and only root can install\n{by_hand}", names.join(", "));
    }
    run(program("apt-get", &["update", "--quiet"]).env("DEBIAN_FRONTEND", "noninteractive"))?;
    let mut chosen: Vec<&str> = missing.iter().map(|need| available(need.packages)).collect();
    chosen.dedup();
    let mut install = program("apt-get", &["install", "--quiet", "--yes", "--no-install-recommends"]);
    run(install.args(&chosen).env("DEBIAN_FRONTEND", "noninteractive"))?;
    let still: Vec<_> = missing.iter().filter(|need| !(need.present)()).map(|need| need.name).collect();
    if !still.is_empty() {
        bail!("{} still missing after installing {}", still.join(", "), chosen.join(" "));
    }
    Ok(())
}

/// The first of the packages that apt knows, so that Debian's and Ubuntu's names both do.
fn available(packages: &[&'static str]) -> &'static str {
    let known = packages.iter().find(|name| succeeds(&mut program("apt-cache", &["show", name])));
    known.unwrap_or(&packages[0])
}

/// Adds the compilation targets and the tools that a minimal installation of Rust leaves out.
fn rust() -> Result<()> {
    let tools: Vec<&str> = [("cargo-fmt", "rustfmt"), ("cargo-clippy", "clippy")]
        .into_iter()
        .filter(|(program_name, _)| !succeeds(&mut program(program_name, &["--version"])))
        .map(|(_, component)| component)
        .collect();
    let sysroot = output(&mut program("rustc", &["--print", "sysroot"]))?;
    let libraries = Path::new(sysroot.trim()).join("lib/rustlib");
    let targets: Vec<&str> =
        RUST_TARGETS.iter().copied().filter(|target| !libraries.join(target).join("lib").is_dir()).collect();
    if tools.is_empty() && targets.is_empty() {
        return Ok(());
    }
    if find("rustup").is_none() {
        bail!(
            "this Rust lacks {} and was not installed by rustup, which could add them\ntry: https://rustup.rs",
            [tools, targets].concat().join(", ")
        );
    }
    if !tools.is_empty() {
        run(program("rustup", &["component", "add"]).args(&tools))?;
    }
    if !targets.is_empty() {
        run(program("rustup", &["target", "add"]).args(&targets))?;
    }
    Ok(())
}

/// True when the BPF sources include no header of libbpf, or it is installed.
fn libbpf_headers_or_no_wish() -> bool {
    let sources = crate::bpf::sources();
    let mut inputs = sources.iter().flat_map(|source| bpf_build::inputs(source).unwrap_or_default());
    let wished = inputs.any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("<bpf/")));
    !wished || exists("/usr/include/bpf/bpf_helpers.h")
}

/// Debian puts the version into the name of its LLVM tools, and the plain name into a package of its own.
fn any_version_of(name: &str) -> bool {
    find(name).is_some() || (12..=22).any(|major| find(&format!("{name}-{major}")).is_some())
}

fn exists(path: &str) -> bool {
    Path::new(path).exists()
}

fn is_root() -> bool {
    output(&mut shell::program("id", &["-u"])).is_ok_and(|id| id.trim() == "0")
}

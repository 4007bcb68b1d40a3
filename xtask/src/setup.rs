//! The requirements of the tests: finds what is missing and installs it, or prints how to.
//!
//! Only what is missing is installed, and only as root with apt; on any other machine the list is
//! printed.

use crate::bpf_build;
use crate::kernels;
use crate::shell::{cargo, find, output, program, run, succeeds, target};
use anyhow::{Context, Result, bail};
use object::Object;
use rustix::process::geteuid;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{env, fs};
use workshop::machine::tracefs;
use workshop::packages::{apt_get, available};

/// A requirement, and the Debian or Ubuntu packages that provide it, best first.
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
    Need {
        name: "C library headers for aarch64",
        packages: &["libc6-dev-arm64-cross"],
        present: || cfg!(target_arch = "aarch64") || exists("/usr/aarch64-linux-gnu/include/stdio.h"),
    },
    Need { name: "a C++ compiler", packages: &["g++"], present: || find("c++").is_some() },
    Need { name: "symbols of the C library", packages: &["libc6-dbg"], present: symbols_of_libc },
    Need { name: "gdb", packages: &["gdb"], present: || find("gdb").is_some() },
    Need { name: "strace", packages: &["strace"], present: || find("strace").is_some() },
    Need { name: "ps", packages: &["procps"], present: || find("ps").is_some() },
    Need { name: "ip", packages: &["iproute2"], present: || find("ip").is_some() },
    Need { name: "mount", packages: &["mount"], present: || find("mount").is_some() },
    Need { name: "setpriv", packages: &["util-linux"], present: || find("setpriv").is_some() },
    Need { name: "script", packages: &["bsdutils"], present: || find("script").is_some() },
    Need { name: "tcpdump", packages: &["tcpdump"], present: || find("tcpdump").is_some() },
    Need { name: "go", packages: &["golang-go"], present: || find("go").is_some() },
    Need { name: "node", packages: &["nodejs"], present: || find("node").is_some() },
    Need {
        name: "javac",
        packages: &["default-jdk-headless"],
        present: || find("javac").is_some() && find("java").is_some(),
    },
    Need {
        name: "HdrHistogram for Java",
        packages: &["libhdrhistogram-java"],
        present: || exists("/usr/share/java/hdrhistogram.jar"),
    },
    Need { name: "npm", packages: &["npm"], present: || find("npm").is_some() },
    Need { name: "chromium", packages: &["chromium"], present: || exists("/usr/bin/chromium") },
    Need { name: "perl", packages: &["perl-base"], present: || find("perl").is_some() },
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
    Need {
        name: "pip",
        packages: &["python3-pip"],
        present: || succeeds(&mut program("python3", &["-m", "pip", "--version"])),
    },
    Need { name: "symbols of python3", packages: &["python3-dbg"], present: symbols_of_python },
    Need { name: "hyperfine", packages: &["hyperfine"], present: || find("hyperfine").is_some() },
    Need {
        name: "qemu-aarch64",
        packages: &["qemu-user", "qemu-user-static"],
        present: || emulator().is_some(),
    },
    Need {
        name: "qemu-system-x86_64",
        packages: &["qemu-system-x86"],
        present: || find("qemu-system-x86_64").is_some(),
    },
    Need {
        name: "the keys of Debian's archive",
        packages: &["debian-archive-keyring"],
        present: || exists(kernels::KEYS),
    },
];

/// The directories of the C library, on Debian and elsewhere.
const LIBRARIES: &[&str] =
    &["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"];

const RUST_TARGETS: &[&str] = &["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// Installs everything that the tests need.
///
/// # Errors
/// With the list of what is missing and the commands to install it, when they cannot be run here.
pub(crate) fn run_all() -> Result<()> {
    rust()?;
    packages(|_| true)?;
    browser()?;
    readers()?;
    kernels::fetch_whole()?;
    tracefs()
}

/// Installs what drives the browser, and what checks that people with disabilities can use a page:
/// into `target/browser`, by the versions and sums in `tests/browser`.
fn browser() -> Result<()> {
    let place = target().join("browser");
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/dwell/tests/browser");
    let lock = fs::read_to_string(beside.join("package-lock.json"))?;
    let installed = place.join("installed");
    if fs::read_to_string(&installed).is_ok_and(|of| of == lock) {
        return Ok(());
    }
    fs::create_dir_all(&place)?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(beside.join(name), place.join(name))?;
    }
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    run(program("npm", &arguments).current_dir(&place))?;
    fs::write(installed, lock)?;
    Ok(())
}

/// Versions of hyperfine, one for each version of its JSON, whose scripts read exports.
const HYPERFINES: &[&str] = &["1.20.0", "2.0.0"];

/// Installs what reads exports in the tests: into `target/readers`, by the sums in `tests/readers`.
/// A download of 43 megabytes: 25 of them DuckDB, 17 numpy, which hyperfine's scripts need.
fn readers() -> Result<()> {
    let place = target().join("readers");
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/dwell/tests/readers/requirements.txt");
    let wanted = fs::read_to_string(&list)?;
    let installed = place.join("installed");
    if fs::read_to_string(&installed).is_ok_and(|of| of == wanted) {
        return Ok(());
    }
    let quiet =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"];
    let by_sums = ["--require-hashes", "--only-binary=:all:", "--no-deps", "--upgrade"];
    run(program("python3", &quiet).args(by_sums).arg("--target").arg(&place).arg("-r").arg(list))?;
    HYPERFINES.iter().try_for_each(|version| scripts_of_hyperfine(version, &place))?;
    fs::write(installed, wanted)?;
    Ok(())
}

/// Copies the scripts that the crate of hyperfine has: nothing of it is built. Cargo unpacks a
/// crate to tell what it is, after its sum.
fn scripts_of_hyperfine(version: &str, place: &Path) -> Result<()> {
    let name = format!("hyperfine@{version}");
    let mut info = cargo(&["info", "--quiet", "--registry", "crates-io", &name]);
    run(info.current_dir("/").stdout(Stdio::null()))?;
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    let sources = home.context("there is no home of cargo")?.join("registry/src");
    let unpacked = format!("hyperfine-{version}");
    let scripts = |index: fs::DirEntry| index.path().join(&unpacked).join("scripts");
    let mut scripts = fs::read_dir(sources)?.map_while(Result::ok).map(scripts);
    let scripts = scripts.find(|path| path.is_dir()).with_context(|| format!("{name} has no scripts"))?;
    let to = place.join(unpacked);
    fs::create_dir_all(&to)?;
    for script in fs::read_dir(scripts)? {
        let script = script?;
        fs::copy(script.path(), to.join(script.file_name()))?;
    }
    Ok(())
}

/// Installs what compiles libFuzzer, which is C++.
///
/// # Errors
/// As [`run_all`].
pub(crate) fn run_for_fuzzing() -> Result<()> {
    packages(|need| need.packages.contains(&"g++") || need.packages.contains(&"gcc"))
}

/// The emulator that runs aarch64 programs here, if installed.
pub(crate) fn emulator() -> Option<std::path::PathBuf> {
    find("qemu-aarch64").or_else(|| find("qemu-aarch64-static"))
}

fn packages(wanted: fn(&Need) -> bool) -> Result<()> {
    let missing: Vec<&Need> =
        NEEDS.iter().filter(|need| wanted(need)).filter(|need| !(need.present)()).collect();
    if missing.is_empty() {
        println!("nothing is missing");
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|need| need.name).collect();
    println!("missing: {}", names.join(", "));
    let first: Vec<_> = missing.iter().map(|need| need.packages[0]).collect();
    let by_hand = format!("try: sudo apt-get install --no-install-recommends {}", first.join(" "));
    if find("apt-get").is_none() {
        bail!(
            "{} missing, and this is not Debian or Ubuntu; install packages that provide them",
            names.join(", ")
        );
    }
    if !geteuid().is_root() {
        bail!("{} missing, and only root can install\n{by_hand}", names.join(", "));
    }
    run(&mut apt_get(&["update"]))?;
    let mut chosen: Vec<&str> = missing.iter().map(|need| available(need.packages)).collect();
    chosen.dedup();
    run(apt_get(&["install", "--yes", "--no-install-recommends"]).args(&chosen))?;
    let still: Vec<_> = missing.iter().filter(|need| !(need.present)()).map(|need| need.name).collect();
    if !still.is_empty() {
        bail!("{} still missing after installing {}", still.join(", "), chosen.join(" "));
    }
    Ok(())
}

/// Adds the compilation targets and the tools that a minimal installation of Rust lacks.
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

/// Whether the BPF sources include no header of libbpf, or it is installed.
fn libbpf_headers_or_no_wish() -> bool {
    let sources = crate::bpf::sources();
    let mut inputs = sources.iter().flat_map(|source| bpf_build::inputs(source).unwrap_or_default());
    let wished = inputs.any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("<bpf/")));
    !wished || exists("/usr/include/bpf/bpf_helpers.h")
}

/// Debian puts the version into the name of its LLVM tools, and the plain name into a package of
/// its own.
fn any_version_of(name: &str) -> bool {
    find(name).is_some() || (12..=22).any(|major| find(&format!("{name}-{major}")).is_some())
}

fn exists(path: &str) -> bool {
    Path::new(path).exists()
}

/// Whether the symbols of the C library in use are installed.
fn symbols_of_libc() -> bool {
    let mut libraries = LIBRARIES.iter().map(|dir| Path::new(dir).join("libc.so.6"));
    libraries.find(|path| path.exists()).is_some_and(|libc| has_symbols(&libc))
}

/// Whether the symbols of the interpreter in use are installed: that which `python3` runs, since
/// what has that name may be a script.
fn symbols_of_python() -> bool {
    let python = ["-c", "import sys; print(sys.executable)"];
    output(&mut program("python3", &python)).is_ok_and(|path| has_symbols(Path::new(path.trim())))
}

/// Whether a program or library has a table of symbols, or a file with them is installed: by its
/// build id, where Debian's packages of symbols have it.
fn has_symbols(file: &Path) -> bool {
    let Ok(bytes) = fs::read(file) else { return false };
    let Ok(file) = object::File::parse(&*bytes) else { return false };
    if file.symbols().next().is_some() {
        return true;
    }
    let id = file.build_id().ok().flatten().unwrap_or_default();
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (Some(first), Some(rest)) = (hex.get(..2), hex.get(2..)) else { return false };
    exists(&format!("/usr/lib/debug/.build-id/{first}/{rest}.debug"))
}

//! Kernels from Debian's packages, fetched once: by the machine's own apt, with lists of that suite
//! in a directory of ours. Nothing of the machine's own apt changes.

use super::which::Kernel;
use crate::shell::{find, output, program, run, target};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use workshop::packages::apt_get;

/// The archive, and the keys that its lists are signed with.
const ARCHIVE: &str = "http://deb.debian.org/debian";
pub(crate) const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Lists are asked for again after this long.
const LISTS_OLD: Duration = Duration::from_secs(24 * 3600);

/// A smaller package is empty, and names another one.
const BYTES_MIN: u64 = 1 << 20;

/// A kernel on disk.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) image: PathBuf,
    /// Name and version of its package.
    pub(crate) package: String,
}

/// Where fetched kernels are kept: `$DWELL_KERNELS`, or below `target`.
fn place() -> PathBuf {
    std::env::var_os("DWELL_KERNELS").map_or_else(|| target().join("kernels"), PathBuf::from)
}

/// The kernel, fetched unless it is there.
///
/// # Errors
/// When its suite has it no longer, or it cannot be fetched.
pub(crate) fn fetch(kernel: &Kernel) -> Result<Fetched> {
    let place = place().join(kernel.name);
    let (image, noted) = (place.join("vmlinuz"), place.join("package"));
    if let Ok(package) = fs::read_to_string(&noted) {
        return Ok(Fetched { image, package: package.trim().to_owned() });
    }
    let package = newest(kernel)?;
    let parts = place.join("parts");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&parts).with_context(|| format!("cannot create {}", parts.display()))?;
    let which = format!("{}:{}={}", package.name, package.arch, package.version);
    run(apt(kernel.suite, "apt-get")?.args(["download", &which]).current_dir(&parts))?;
    let fetched = files(&parts)?.into_iter().find(|path| path.extension().is_some_and(|end| end == "deb"));
    let fetched = fetched.with_context(|| format!("apt-get download {which} left no package"))?;
    run(program("dpkg-deb", &["--extract"]).arg(&fetched).arg(&parts))?;
    let unpacked = unpacked(&parts)?;
    fs::rename(&unpacked, &image)?;
    fs::remove_dir_all(&parts)?;
    let package = format!("{} {}", package.name, package.version);
    // Written last: what is there before may be a part.
    fs::write(noted, &package)?;
    Ok(Fetched { image, package })
}

/// The kernel among what was in the package.
fn unpacked(parts: &Path) -> Result<PathBuf> {
    let mut places = vec![parts.join("boot")];
    places.extend(files(&parts.join("usr/lib/modules")).unwrap_or_default());
    let found = places.iter().flat_map(|place| files(place).unwrap_or_default());
    let is_kernel = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("vmlinuz") || name.starts_with("vmlinux")
    };
    found.into_iter().find(is_kernel).context("the package has no kernel")
}

fn files(place: &Path) -> Result<Vec<PathBuf>> {
    Ok(fs::read_dir(place)?.flatten().map(|entry| entry.path()).collect())
}

/// A package, as lists name it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Package {
    name: String,
    version: String,
    arch: String,
    bytes: u64,
}

/// The newest package of this kernel.
fn newest(kernel: &Kernel) -> Result<Package> {
    refresh(kernel.suite)?;
    let lists = output(apt(kernel.suite, "apt-cache")?.arg("dumpavail"))?;
    let of_arch = |package: &Package| package.arch == kernel.debian_arch() && package.bytes >= BYTES_MIN;
    let found = packages(&lists).into_iter().filter(of_arch).filter(|package| kernel.is_in(&package.name));
    found.max_by_key(|package| numbers(&package.version)).with_context(|| {
        format!(
            "{} has no package of Linux {} for {} any more; where no suite has it, its row in \
             xtask/src/kernels/which.rs goes",
            kernel.suite,
            kernel.name,
            kernel.debian_arch()
        )
    })
}

/// The paragraphs of `apt-cache dumpavail`.
fn packages(lists: &str) -> Vec<Package> {
    let one = |paragraph: &str| {
        let field = |name: &str| {
            let mut lines = paragraph.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap_or_default().to_owned()
        };
        Package {
            name: field("Package"),
            version: field("Version"),
            arch: field("Architecture"),
            bytes: field("Size").parse().unwrap_or(0),
        }
    };
    lists.split("\n\n").filter(|paragraph| paragraph.starts_with("Package: linux-")).map(one).collect()
}

/// The numbers of a version, in which later ones of a series are larger.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// The suite's lists, asked for again where they are old. Old ones do where there is no network.
fn refresh(suite: &str) -> Result<()> {
    let noted = lists(suite).join("asked");
    let age = fs::metadata(&noted).and_then(|file| file.modified()).ok();
    let age = age.and_then(|at| SystemTime::now().duration_since(at).ok());
    if age.is_some_and(|age| age < LISTS_OLD) {
        return Ok(());
    }
    // Not the descriptions of programs with icons.
    let few =
        ["-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false", "-o", "Acquire::Languages=none"];
    let asked = run(apt(suite, "apt-get")?.args(few).arg("update"));
    if age.is_none() {
        asked.with_context(|| format!("Debian's lists of {suite} cannot be fetched"))?;
    }
    fs::write(noted, "")?;
    Ok(())
}

fn lists(suite: &str) -> PathBuf {
    place().join("apt").join(suite)
}

/// `apt-get` or `apt-cache` that knows nothing but this suite.
fn apt(suite: &str, tool: &str) -> Result<Command> {
    if find(tool).is_none() {
        bail!("kernels are fetched with apt, and this is not Debian or Ubuntu");
    }
    ensure!(
        Path::new(KEYS).exists(),
        "Debian's keys are missing\ntry: sudo apt-get install debian-archive-keyring"
    );
    let place = lists(suite);
    for part in ["lists/partial", "archives/partial"] {
        fs::create_dir_all(place.join(part)).with_context(|| format!("cannot create {}", place.display()))?;
    }
    let source = place.join("sources.list");
    fs::write(&source, format!("deb [signed-by={KEYS}] {ARCHIVE} {suite} main\n"))?;
    let mut command = if tool == "apt-get" { apt_get(&[]) } else { program(tool, &[]) };
    let option = |name: &str, value: &Path| {
        let mut option = OsString::from(format!("{name}="));
        option.push(value);
        option
    };
    let paths = [
        ("Dir::Etc::sourcelist", source.as_path()),
        ("Dir::Etc::sourceparts", Path::new("/dev/null")),
        ("Dir::State::Lists", &place.join("lists")),
        ("Dir::State::status", Path::new("/dev/null")),
        ("Dir::Cache", &place),
    ];
    for (name, value) in paths {
        command.arg("-o").arg(option(name, value));
    }
    command.args(["-o", "APT::Architectures=amd64,arm64", "-o", "APT::Sandbox::User=root"]);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(numbers("6.1.192-2") > numbers("6.1.99-3"));
        assert!(numbers("7.2.12-1~bpo13+1") > numbers("7.2.9-1~bpo13+1"));
    }

    #[test]
    fn a_list_has_paragraphs() {
        let lists = "Package: linux-image-6.1.0-1-cloud-amd64\nArchitecture: amd64\nVersion: 6.1.9-1\n\
                     Size: 26000000\n\nPackage: zsh\nVersion: 5\n";
        let all = packages(lists);
        assert_eq!(all.len(), 1);
        assert_eq!(
            (all[0].version.as_str(), all[0].bytes, all[0].arch.as_str()),
            ("6.1.9-1", 26_000_000, "amd64")
        );
    }
}

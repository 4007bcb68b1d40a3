//! What users install: static binaries stripped, their debug information beside them, tarballs and
//! Debian packages with manual pages, completions, systemd units, JSON Schemas, a skill for agents
//! and licences, and the checksums of all.
//!
//! llvm-objcopy, tar and dpkg-deb do the work: the first strips for any architecture.

use crate::schema;
use crate::shell::{self, output, program, root};
use anyhow::{Context, Result, bail};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// What completions are called, by shell, and where Debian keeps them.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/dwell"),
    ("zsh", "usr/share/zsh/vendor-completions/_dwell"),
    ("fish", "usr/share/fish/vendor_completions.d/dwell.fish"),
];

/// Whose the packages are.
const DEVELOPERS: &str = "The dwell developers";

/// The units in `systemd` of the repository. Nothing enables them.
const UNITS: [&str; 2] = ["dwell-window@.service", "dwell-window@.timer"];

/// Files of the repository that go into each package, and their names there.
const TEXTS: [(&str, &str); 5] = [
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    // The font in the binary asks for it.
    ("crates/report/fonts/LICENSE", "LICENSE-FONT"),
];

/// What agents read of how to use dwell, in the repository, in a tarball and in a Debian package.
const SKILL: [&str; 3] =
    ["skills/dwell/SKILL.md", "skills/dwell/SKILL.md", "usr/share/dwell/skills/dwell/SKILL.md"];

/// A built binary, and what it is for.
pub(crate) struct Built<'a> {
    /// Where Cargo left it.
    pub(crate) binary: PathBuf,
    /// As in the triple: `aarch64`.
    pub(crate) arch: &'a str,
}

/// Packages the binaries into `directory`, which holds nothing else afterwards. `runs` is one of
/// them that this machine can start: it writes the manual pages and completions. Returns the files.
///
/// # Errors
/// When a tool is missing or fails.
pub(crate) fn package(built: &[Built<'_>], runs: &Path, directory: &Path) -> Result<Vec<PathBuf>> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("cannot empty {}", directory.display()))?;
    }
    fs::create_dir_all(directory)?;
    let mut files = Vec::new();
    for built in built {
        files.extend(one(built, runs, directory)?);
    }
    let names: Vec<String> = files.iter().map(|file| name(file)).collect();
    let mut sums = program("sha256sum", &[]);
    sums.args(&names).current_dir(directory);
    fs::write(directory.join("SHA256SUMS"), output(&mut sums)?)?;
    files.push(directory.join("SHA256SUMS"));
    Ok(files)
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

fn one(built: &Built<'_>, runs: &Path, directory: &Path) -> Result<Vec<PathBuf>> {
    let top = format!("dwell-{}-{}-linux", version(), built.arch);
    let tree = directory.join(&top);
    fs::create_dir_all(&tree)?;
    let stripped = tree.join("dwell");
    let debug = directory.join(format!("{top}.debug"));
    strip(&built.binary, &stripped, &debug)?;
    for (text, name) in TEXTS {
        fs::copy(root().join(text), tree.join(name)).with_context(|| format!("cannot copy {text}"))?;
    }
    documents(runs, &tree)?;
    fs::create_dir_all(tree.join("systemd"))?;
    for unit in UNITS {
        let from = root().join("systemd").join(unit);
        fs::copy(&from, tree.join("systemd").join(unit))
            .with_context(|| format!("cannot copy {}", from.display()))?;
    }
    let [skill, in_tree, _] = SKILL;
    fs::create_dir_all(tree.join(in_tree).parent().context("no directory")?)?;
    fs::copy(root().join(skill), tree.join(in_tree)).with_context(|| format!("cannot copy {skill}"))?;
    readable(&tree)?;
    let deb = deb(built.arch, &tree, directory)?;
    let archive = directory.join(format!("{top}.tar.gz"));
    pack(directory, &top, &archive)?;
    let loose = directory.join(format!("dwell-{}", built.arch));
    fs::copy(&stripped, &loose)?;
    fs::remove_dir_all(&tree)?;
    Ok(vec![loose, archive, deb, debug])
}

/// Splits a binary: the program, which names its debug information, and that.
fn strip(binary: &Path, stripped: &Path, debug: &Path) -> Result<()> {
    let tool = shell::find("llvm-objcopy").context("no llvm-objcopy\ntry: apt-get install llvm")?;
    let (from, to, beside) = (text(binary), text(stripped), text(debug));
    shell::run(&mut program(
        &tool,
        &["--only-keep-debug", "--compress-debug-sections=zlib", &from, &beside],
    ))?;
    let link = format!("--add-gnu-debuglink={beside}");
    shell::run(&mut program(&tool, &["--strip-all", &link, &from, &to]))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Manual pages, completions and schemas, into `man`, `completions` and `schema`.
fn documents(runs: &Path, tree: &Path) -> Result<()> {
    let (man, completions) = (tree.join("man"), tree.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    shell::run(&mut program(runs, &["man", &text(&man)]))?;
    for (shell, path) in COMPLETIONS {
        let written = output(&mut program(runs, &["completions", shell]))?;
        fs::write(completions.join(name(Path::new(path))), written)?;
    }
    schema::write(&tree.join("schema"))
}

/// Whatever the umask was: everybody may read what was installed.
fn readable(tree: &Path) -> Result<()> {
    shell::run(&mut program("chmod", &["-R", "u=rwX,go=rX", &text(tree)]))
}

/// A tar archive whose bytes do not depend on when and by whom it was made.
fn pack(directory: &Path, top: &str, archive: &Path) -> Result<()> {
    // Without -n gzip writes the time.
    let arguments =
        ["-I", "gzip -n", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
    let mut tar = program("tar", &arguments);
    tar.arg("-cf").arg(archive).arg("-C").arg(directory).arg(top);
    shell::run(&mut tar)
}

/// The Debian package of what lies in `tree`.
fn deb(arch: &str, tree: &Path, directory: &Path) -> Result<PathBuf> {
    let of_debian = match arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => bail!("no Debian name is known for {other}"),
    };
    let place = directory.join("deb");
    let put = |from: &Path, to: &str| -> Result<()> {
        let to = place.join(to);
        fs::create_dir_all(to.parent().context("no directory")?)?;
        fs::copy(from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        Ok(())
    };
    put(&tree.join("dwell"), "usr/bin/dwell")?;
    for (_, path) in COMPLETIONS {
        put(&tree.join("completions").join(name(Path::new(path))), path)?;
    }
    for (directory, installed) in [("man", "man/man1"), ("schema", "doc/dwell/schema")] {
        for file in fs::read_dir(tree.join(directory))? {
            let file = file?.path();
            put(&file, &format!("usr/share/{installed}/{}", name(&file)))?;
        }
    }
    for unit in UNITS {
        put(&tree.join("systemd").join(unit), &format!("usr/lib/systemd/system/{unit}"))?;
    }
    for (_, text) in TEXTS {
        put(&tree.join(text), &format!("usr/share/doc/dwell/{text}"))?;
    }
    put(&tree.join(SKILL[1]), SKILL[2])?;
    let licences = "dwell is licensed under either of Apache-2.0 (LICENSE-APACHE) or MIT (LICENSE-MIT), in this \
                    directory, at your option. The font of its pictures is under LICENSE-FONT.\n";
    fs::write(place.join("usr/share/doc/dwell/copyright"), licences)?;
    fs::create_dir_all(place.join("DEBIAN"))?;
    fs::write(place.join("DEBIAN/control"), control(of_debian, &maintainer(env::var("DEBEMAIL").ok())))?;
    readable(&place)?;
    let package = directory.join(format!("dwell_{}_{of_debian}.deb", version()));
    let arguments = ["--build", "--root-owner-group", "-Zxz", &text(&place), &text(&package)];
    shell::run(program("dpkg-deb", &arguments).env("SOURCE_DATE_EPOCH", "0"))?;
    fs::remove_dir_all(&place)?;
    Ok(package)
}

fn control(arch: &str, maintainer: &str) -> String {
    format!(
        "Package: dwell\nVersion: {}\nArchitecture: {arch}\nMaintainer: {maintainer}\n\
         Section: utils\nPriority: optional\nSuggests: iproute2, util-linux\nDescription: shows where a program's \
         wall-clock time goes\n dwell runs a program, or attaches to a running one, and shows what it waited for, \
         what\n bounds it, and what each change would save. The binary is static.\n",
        version()
    )
}

/// Who made the package. The project has no mail address: one is there only if the packager has
/// set it, as for other tools of Debian.
fn maintainer(address: Option<String>) -> String {
    let address = address.filter(|address| address.contains('@') && !address.contains(['\n', '<', '>']));
    address.map_or_else(|| DEVELOPERS.to_owned(), |address| format!("{DEVELOPERS} <{address}>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_packagers_or_none() {
        assert_eq!(maintainer(Some("a@b.org".to_owned())), "The dwell developers <a@b.org>");
        assert_eq!(maintainer(Some("a@b\nPre-Depends: x".to_owned())), "The dwell developers");
        assert_eq!(maintainer(None), "The dwell developers");
    }

    #[test]
    fn a_control_file_has_a_field_a_line_and_an_indented_description() {
        let control = control("arm64", &maintainer(None));
        assert!(control.contains("\nArchitecture: arm64\n") && control.ends_with('\n'), "{control}");
        let mut fields = control.lines().filter(|line| !line.starts_with(' '));
        assert!(fields.clone().all(|line| line.split_once(": ").is_some()), "{control}");
        assert!(control.contains("\nMaintainer: The dwell developers\n"), "{control}");
        assert_eq!(fields.next_back().map(|line| line.starts_with("Description: ")), Some(true));
    }
}

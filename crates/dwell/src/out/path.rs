//! Paths of outputs, and the check that no two are the same file.

use anyhow::bail;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Where each form goes, by the name of its option.
pub(crate) type Paths = BTreeMap<String, OutputPath>;

/// Where an output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OutputPath {
    Stdout,
    File(PathBuf),
}

impl From<OsString> for OutputPath {
    fn from(text: OsString) -> Self {
        if text == "-" { OutputPath::Stdout } else { OutputPath::File(text.into()) }
    }
}

impl OutputPath {
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            OutputPath::Stdout => None,
            OutputPath::File(path) => Some(path),
        }
    }

    /// What the name of a file ends in: `json`.
    pub(crate) fn ending(&self) -> Option<&str> {
        self.path()?.extension()?.to_str()
    }

    /// As on the command line.
    pub(crate) fn text(&self) -> OsString {
        self.path().map_or_else(|| "-".into(), |path| path.as_os_str().to_owned())
    }
}

/// Checks that no two outputs are the same file, by any names, and that none is `written` at the
/// same time or an input.
pub(crate) fn distinct<'a>(
    outputs: impl IntoIterator<Item = &'a OutputPath>,
    written: Option<&Path>,
    read: &[&Path],
) -> anyhow::Result<()> {
    let mut seen: HashSet<Identity> = written.and_then(identity_of_file).into_iter().collect();
    if !outputs.into_iter().filter_map(identity).all(|one| seen.insert(one)) {
        bail!("two outputs are the same file\ntry: a file for each");
    }
    let over = |path: &&&Path| identity_of_file(path).is_some_and(|one| seen.contains(&one));
    if let Some(path) = read.iter().find(over) {
        bail!("{path:?} is an input and would be overwritten\ntry: another file for the output");
    }
    Ok(())
}

/// Endings of names that say what is in a file.
const TOLD: [&str; 7] = ["json", "svg", "png", "csv", "dwell", "xml", "html"];

/// Checks that a page of text does not go to a file whose name says otherwise. `forms`: the other
/// forms of the result, of which `paths` has those that are asked for.
pub(super) fn is_text(output: &OutputPath, forms: &[&str], paths: &Paths) -> anyhow::Result<()> {
    let Some(ending) = output.ending().filter(|ending| TOLD.contains(ending)) else { return Ok(()) };
    let path = output.text();
    if let Some(other) = paths.get(ending) {
        let other = other.text();
        bail!("-o {path:?} and --{ending} {other:?} ask for the same form\ntry: one of them");
    }
    let has = forms.iter().filter(|form| TOLD.contains(form)).map(|form| format!(".{form}, "));
    let has: String = has.collect();
    let has = has.strip_suffix(", ").map(|has| format!("{has} or ")).unwrap_or_default();
    bail!("this result has no {ending}, and {path:?} is called so\ntry: a file that ends in {has}.txt")
}

/// Checks that a file whose name says what is in it gets that: `--png x.svg` is a slip.
pub(super) fn is_of_form(form: &str, output: &OutputPath) -> anyhow::Result<()> {
    let told = output.ending().filter(|ending| TOLD.contains(ending));
    let own = match form {
        "json" | "firefox" | "speedscope" | "hyperfine" | "hyperfine-1" | "otlp" => "json",
        "junit" => "xml",
        "svg" | "png" | "csv" | "html" => form,
        _ => return Ok(()),
    };
    match told {
        Some(told) if told != own => {
            let path = output.text();
            bail!(
                "{form} is written as {own}, and {path:?} is called otherwise\ntry: a file that ends in .{own}"
            )
        }
        _ => Ok(()),
    }
}

/// The identity of an output.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    /// A terminal or a device.
    Stdout,
    /// Device and inode.
    File(u64, u64),
    /// A file that does not exist yet.
    New(PathBuf),
}

fn identity(output: &OutputPath) -> Option<Identity> {
    output.path().map_or_else(|| Some(identity_of_stdout()), identity_of_file)
}

/// What `/dev/stdout` and, where it is a file, other names lead to as well.
fn identity_of_stdout() -> Identity {
    let found = io::stdout().as_fd().try_clone_to_owned().and_then(|stdout| File::from(stdout).metadata());
    found.ok().as_ref().and_then(of_open).unwrap_or(Identity::Stdout)
}

/// The identity of a file, a pipe or a socket. Two outputs to one device, such as `/dev/null`, do
/// no harm.
fn of_open(found: &Metadata) -> Option<Identity> {
    let kind = found.file_type();
    let mixes = kind.is_file() || kind.is_fifo() || kind.is_socket();
    mixes.then(|| Identity::File(found.dev(), found.ino()))
}

fn identity_of_file(path: &Path) -> Option<Identity> {
    match fs::metadata(path) {
        Ok(found) => of_open(&found),
        Err(_) => {
            let above = store::above(path).and_then(fs::canonicalize);
            Some(Identity::New(match (above, path.file_name()) {
                (Ok(above), Some(name)) => above.join(name),
                _ => path.to_owned(),
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_file_is_recognised_by_all_its_names() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| OutputPath::File(top.path().join(name));
        let same = |a: &str, b: &str| distinct(&[at(a), at(b)], None, &[]).is_err();
        fs::write(top.path().join("old"), "").unwrap();
        fs::create_dir(top.path().join("dir")).unwrap();
        std::os::unix::fs::symlink("old", top.path().join("link")).unwrap();
        fs::hard_link(top.path().join("old"), top.path().join("hard")).unwrap();
        for (a, b) in [("old", "link"), ("old", "hard"), ("new", "./new"), ("new", "dir/../new")] {
            assert!(same(a, b), "{a} {b}");
        }
        assert!(!same("old", "new") && !same("new", "dir/new"));
        assert!(distinct(&[OutputPath::Stdout, OutputPath::Stdout], None, &[]).is_err());
        let null = || OutputPath::File("/dev/null".into());
        assert!(distinct(&[null(), null(), OutputPath::Stdout], None, &[]).is_ok());
        let (reader, _writer) = io::pipe().unwrap();
        let pipe = || PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
        assert!(distinct(&[OutputPath::File(pipe())], Some(&pipe()), &[]).is_err());
    }

    #[test]
    fn a_name_that_says_another_form_is_a_slip() {
        let ok = |form, name: &str| is_of_form(form, &OutputPath::from(OsString::from(name))).is_ok();
        assert!(!ok("png", "x.svg") && !ok("json", "run.dwell") && !ok("svg", "a/b.png"));
        assert!(ok("png", "x.png") && ok("png", "x") && ok("png", "-") && ok("json", "x.txt"));
        assert!(ok("junit", "x.xml") && ok("firefox", "x.json") && ok("folded", "x.svg"));
    }

    #[test]
    fn inputs_and_the_recording_are_no_outputs() {
        let top = tempfile::tempdir().unwrap();
        let old = top.path().join("old");
        fs::write(&old, "").unwrap();
        let output = [OutputPath::File(old.clone())];
        assert!(distinct(&output, Some(&old), &[]).unwrap_err().to_string().contains("same file"));
        let read = distinct(&output, None, &[Path::new("/dev/null"), &old]).unwrap_err().to_string();
        assert!(read.contains("would be overwritten"), "{read}");
        assert!(distinct(&[], None, &[&old, &old]).is_ok());
    }
}

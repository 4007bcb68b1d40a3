//! The version that `dwell --version` says: with the commit, where this is built from the project's
//! repository, and the target.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let target = env::var("TARGET").unwrap_or_default();
    let built = match commit() {
        Some(commit) => format!("{commit}, {target}"),
        None => target,
    };
    println!("cargo::rustc-env=DWELL_VERSION={version} ({built})");
    println!("cargo::rerun-if-changed=build.rs");
}

/// The abbreviated commit; none without git or a repository. A repository that this source only
/// lies in, as a vendored one does, is not meant.
fn commit() -> Option<String> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR")?;
    let top = Path::new(&manifest).parent()?.parent()?;
    let found = git(top, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&found).canonicalize().ok()? != top.canonicalize().ok()? {
        return None;
    }
    // HEAD names a branch, whose file changes with each commit; a packed one has no file, and Cargo
    // would build anew each time for a file that does not exist. The log of HEAD grows with each
    // commit, also where the branch is packed; a repository may be without it.
    let reference = git(top, &["rev-parse", "--symbolic-full-name", "HEAD"]).unwrap_or_default();
    for name in ["HEAD", reference.as_str(), "packed-refs", "logs/HEAD"] {
        let path = git(top, &["rev-parse", "--git-path", name])?;
        let path = top.join(path);
        if path.is_file() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(top, &["rev-parse", "--short=10", "HEAD"])
}

fn git(top: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(top).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}

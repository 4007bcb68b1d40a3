//! Rules that a reader can rely on: the layers hold, imports have no circle, documents cite
//! existing files, files are short and state their purpose, and words are plain.
//!
//! Every check returns its complaints; all are shown before it fails.

mod columns;
mod comments;
mod files;
mod graph;
mod imports;
mod words;

use crate::shell::{output, program, root};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;

/// A text file of the repository.
pub(crate) struct Source {
    /// Relative to the root, with `/`.
    path: String,
    text: String,
}

impl Source {
    fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, end)| end)
    }
}

/// Runs all checks.
///
/// # Errors
/// When one of them complains, or the repository cannot be read.
pub(crate) fn run() -> Result<()> {
    let sources = sources()?;
    let mut complaints = graph::check(&root())?;
    complaints.extend(imports::check(&sources));
    complaints.extend(sources.iter().flat_map(files::check));
    complaints.extend(sources.iter().flat_map(columns::check));
    complaints.extend(sources.iter().flat_map(words::check));
    let paths: Vec<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    complaints.extend(sources.iter().flat_map(|source| comments::check(source, &paths)));
    for complaint in &complaints {
        println!("{complaint}");
    }
    if !complaints.is_empty() {
        bail!("tidy: {} complaints", complaints.len());
    }
    println!("tidy: {} files", sources.len());
    Ok(())
}

/// All text files that git has or would add.
fn sources() -> Result<Vec<Source>> {
    let listed =
        output(&mut program("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))
            .context("tidy reads the files that git knows")?;
    let paths = listed.split('\0').filter(|path| !path.is_empty());
    let mut sources = Vec::new();
    for path in paths {
        let full: PathBuf = root().join(path);
        // Removed but not yet committed, a symbolic link, or not text.
        if full.is_symlink() || !full.is_file() {
            continue;
        }
        let bytes = fs::read(&full).with_context(|| format!("cannot read {path}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            sources.push(Source { path: path.to_owned(), text });
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources.dedup_by(|a, b| a.path == b.path);
    Ok(sources)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        super::run().expect("the complaints are above");
    }
}

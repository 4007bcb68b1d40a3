//! Revisions of a git repository as trees to run commands in: checked out in worktrees of their
//! own, built before anything is timed, kept by commit.

use crate::cli::RevisionArgs;
use crate::output;
use crate::progress::ProgressLine;
use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The name of the tree as it is.
const AS_IT_IS: &str = ".";
/// Lines of a failed build that are shown.
const LINES: usize = 40;

/// A revision and where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    /// As on the command line.
    pub(super) revision: String,
    /// The directory that is in it what the current one is in the repository.
    pub(super) directory: String,
}

/// The repository that the current directory is in.
struct Repository {
    top: PathBuf,
    /// The current directory in it: `sub/`, or nothing.
    prefix: String,
    /// Where worktrees are kept.
    kept: PathBuf,
}

/// The trees of the revisions, built; none where no revision was asked for.
pub(super) fn trees(args: &RevisionArgs, quiet: bool) -> anyhow::Result<Vec<Tree>> {
    if args.revisions.is_empty() {
        return Ok(Vec::new());
    }
    let repository = Repository::here()?;
    // All of them are looked up before the first is built.
    let commit = |revision: &String| Ok((revision.clone(), repository.commit(revision)?));
    let commits: anyhow::Result<Vec<(String, Option<String>)>> = args.revisions.iter().map(commit).collect();
    let line = ProgressLine::new(quiet);
    let tree = |(revision, commit): (String, Option<String>)| {
        let top = match &commit {
            Some(commit) => repository.worktree(commit)?,
            None => repository.top.clone(),
        };
        if let Some(build) = &args.build {
            line.put(|| format!("building {}; Ctrl-C to stop", report::clean(&revision, false)));
            built(&revision, &top, commit.is_some(), build)?;
        }
        let directory = top.join(&repository.prefix);
        let directory = directory.to_str().context("the path of the worktree is not UTF-8")?.to_owned();
        Ok(Tree { revision, directory })
    };
    commits?.into_iter().map(tree).collect()
}

impl Repository {
    fn here() -> anyhow::Result<Self> {
        let top = git(None, &["rev-parse", "--show-toplevel"]).context("--rev needs a git repository")?;
        let prefix = git(None, &["rev-parse", "--show-prefix"])?;
        let top = PathBuf::from(top);
        let name = top.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        // Repositories of the same name are told apart by their paths.
        let of_path = top.to_string_lossy().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let cache =
            crate::kept::cache().context("no directory for worktrees\ntry: XDG_CACHE_HOME set to one")?;
        let kept = cache.join("revisions").join(format!("{name}-{of_path:016x}"));
        Ok(Self { top, prefix, kept })
    }

    /// The commit of a revision; none for the tree as it is.
    fn commit(&self, revision: &str) -> anyhow::Result<Option<String>> {
        if revision == AS_IT_IS {
            return Ok(None);
        }
        let name = format!("{revision}^{{commit}}");
        let found = git(Some(&self.top), &["rev-parse", "--verify", "--quiet", "--end-of-options", &name]);
        match found {
            Ok(commit) if !commit.is_empty() => Ok(Some(commit)),
            _ => bail!("{revision:?} is no revision of {:?}\ntry: a branch, a tag, a commit, or .", self.top),
        }
    }

    /// The worktree of a commit: the kept one, or a new one.
    fn worktree(&self, commit: &str) -> anyhow::Result<PathBuf> {
        let path = self.kept.join(commit);
        if path.join(".git").exists() {
            return Ok(path);
        }
        fs::create_dir_all(&self.kept).with_context(|| format!("cannot make {:?}", self.kept))?;
        // What was removed by hand is forgotten.
        git(Some(&self.top), &["worktree", "prune"])?;
        let text = path.to_str().context("the path of the worktree is not UTF-8")?;
        git(Some(&self.top), &["worktree", "add", "--quiet", "--detach", text, commit])
            .with_context(|| format!("cannot check out {commit}"))?;
        Ok(path)
    }
}

/// Builds a tree, unless it was kept with the same build.
fn built(revision: &str, top: &Path, kept: bool, build: &str) -> anyhow::Result<()> {
    // Beside the worktree: within it, it would be a file of the repository.
    let mark = top.with_extension("built");
    if kept && fs::read_to_string(&mark).is_ok_and(|before| before == build) {
        return Ok(());
    }
    let made = Command::new("sh").args(["-c", build]).current_dir(top).stdin(Stdio::null()).output();
    let made = made.context("cannot run sh to build a revision")?;
    if !made.status.success() {
        show(&made);
        bail!("the build of {revision:?} failed in {top:?} ({})\ntry: cd {top:?} && {build}", made.status);
    }
    if kept {
        fs::write(&mark, build).with_context(|| format!("cannot write {mark:?}"))?;
    }
    Ok(())
}

/// The end of what a failed build said.
fn show(made: &Output) {
    let text = [String::from_utf8_lossy(&made.stdout), String::from_utf8_lossy(&made.stderr)].concat();
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
    output::to_stderr(&format!("{}\n", output::clean_lines(&last)));
}

/// Runs git; gives the first line of its output.
fn git(directory: Option<&Path>, args: &[&str]) -> anyhow::Result<String> {
    let mut git = Command::new("git");
    git.args(args).stdin(Stdio::null());
    if let Some(directory) = directory {
        git.current_dir(directory);
    }
    let said = git.output().context("cannot run git\ntry: install it, or without --rev")?;
    if !said.status.success() {
        let why = String::from_utf8_lossy(&said.stderr);
        bail!("{}", report::clean(why.lines().next().unwrap_or("git failed"), false));
    }
    Ok(String::from_utf8_lossy(&said.stdout).lines().next().unwrap_or_default().to_owned())
}

//! Asking git.

use anyhow::{anyhow, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Variables by which git tells its hooks which repository they are for. In another tree they lead
/// to the wrong one.
const OWN: [&str; 5] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"];

/// The repository that the current directory is in.
pub(super) struct Git {
    pub(super) top: PathBuf,
    /// The current directory in it: `sub/`, or nothing.
    pub(super) prefix: String,
    /// Its own directory: `.git`.
    directory: String,
}

impl Git {
    /// # Errors
    /// There is none, or no git.
    pub(super) fn here() -> anyhow::Result<Self> {
        let ask = |what: &str| first_line(Command::new("git").args(["rev-parse", what]));
        let top = match ask("--show-toplevel")? {
            Ok(top) => PathBuf::from(top),
            Err(said) => {
                bail!("--rev needs a repository of git: {said}\ntry: cd to one, or compare without --rev")
            }
        };
        let known = |what: &str| ask(what)?.map_err(|said| anyhow!("git rev-parse {what}: {said}"));
        Ok(Self { top, prefix: known("--show-prefix")?, directory: known("--absolute-git-dir")? })
    }

    /// Runs git for this repository; gives the first line of its output.
    pub(super) fn run(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut git = Command::new("git");
        git.args(["--git-dir", &self.directory]).args(args).current_dir(&self.top);
        first_line(without_own_variables(&mut git))?.map_err(|said| anyhow!(said))
    }

    /// The same in another tree of it.
    pub(super) fn run_in(&self, tree: &Path, args: &[&str]) -> anyhow::Result<String> {
        let mut git = Command::new("git");
        git.args(args).current_dir(tree);
        first_line(without_own_variables(&mut git))?.map_err(|said| anyhow!(said))
    }
}

/// The command without what a hook of git says of its own repository.
pub(super) fn without_own_variables(command: &mut Command) -> &mut Command {
    OWN.into_iter().fold(command, |command, name| command.env_remove(name))
}

/// The first line of git's output, or what it said as it failed.
///
/// # Errors
/// There is no git.
fn first_line(git: &mut Command) -> anyhow::Result<Result<String, String>> {
    let done = match git.stdin(Stdio::null()).output() {
        Ok(done) => done,
        Err(error) => bail!("cannot run git: {error}\ntry: install git, or compare without --rev"),
    };
    if done.status.success() {
        return Ok(Ok(String::from_utf8_lossy(&done.stdout).lines().next().unwrap_or_default().to_owned()));
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let lines: Vec<String> = said.lines().map(|line| report::clean(line, false)).collect();
    Ok(Err(if lines.is_empty() { format!("git failed ({})", done.status) } else { lines.join("\n") }))
}

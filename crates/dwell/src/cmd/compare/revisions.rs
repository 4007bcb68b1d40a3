//! Revisions of a git repository as trees to run commands in: checked out in worktrees of their
//! own, built before anything is timed, kept by commit.

mod git;

use crate::cli::RevisionArgs;
use crate::output;
use crate::private;
use crate::progress::{self, ProgressLine};
use anyhow::{Context, bail};
use git::Git;
use std::cell::Cell;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The name of the tree as it is.
const AS_IT_IS: &str = ".";
/// Lines of a failed build that are shown.
const LINES: usize = 40;
/// How often the time of a build is shown.
const TICK: Duration = Duration::from_secs(1);

/// A revision and where it lies.
#[derive(Debug)]
pub(super) struct Tree {
    /// As on the command line.
    pub(super) revision: String,
    /// The directory that is in it what the current one is in the repository.
    pub(super) directory: String,
    /// While it is held nobody builds another program in the directory. None of the tree as it is.
    #[expect(dead_code, reason = "it is held, and nothing is read of it")]
    pub(super) lock: Option<File>,
}

/// The trees of the revisions, built; none where no revision was asked for.
pub(super) fn trees(args: &RevisionArgs, quiet: bool) -> anyhow::Result<Vec<Tree>> {
    if args.revisions.is_empty() {
        return Ok(Vec::new());
    }
    let git = Git::here()?;
    // All of them are looked up before the first is built.
    let commit = |revision: &String| Ok((revision.clone(), commit(&git, revision)?));
    let commits: anyhow::Result<Vec<(String, Option<String>)>> = args.revisions.iter().map(commit).collect();
    let trees = Trees {
        kept: kept(&git)?,
        git,
        build: args.build.as_deref(),
        line: ProgressLine::new(quiet),
        many: args.revisions.len(),
        longest: Cell::new(None),
    };
    let commits = commits?;
    let mut made: Vec<Tree> = Vec::new();
    for (at, (revision, commit)) in commits.iter().enumerate() {
        // Its lock would wait for that of the same tree.
        let same = commits[..at].iter().position(|(_, other)| other == commit);
        let tree = match same {
            Some(same) => {
                Tree { revision: revision.clone(), directory: made[same].directory.clone(), lock: None }
            }
            None => trees.tree(at, revision.clone(), commit.as_deref())?,
        };
        made.push(tree);
    }
    Ok(made)
}

/// The commit of a revision; none for the tree as it is.
fn commit(git: &Git, revision: &str) -> anyhow::Result<Option<String>> {
    if revision == AS_IT_IS {
        return Ok(None);
    }
    let name = format!("{revision}^{{commit}}");
    match git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name]) {
        Ok(commit) if !commit.is_empty() => Ok(Some(commit)),
        _ => bail!("{revision:?} is no revision of {:?}\ntry: a branch, a tag, a commit, or .", git.top),
    }
}

/// The directory of the trees of this repository.
fn kept(git: &Git) -> anyhow::Result<PathBuf> {
    let cache =
        crate::cache::directory().context("no directory for builds\ntry: XDG_CACHE_HOME set to one")?;
    let name = git.top.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    // Repositories of the same name are told apart by their paths.
    let hash = model::origin::fnv_1a(git.top.as_os_str().as_encoded_bytes());
    private::directory(&cache, &["revisions", &format!("{name}-{hash:016x}")])
}

struct Trees<'a> {
    git: Git,
    /// Where they are kept.
    kept: PathBuf,
    build: Option<&'a str>,
    line: ProgressLine,
    /// How many revisions there are.
    many: usize,
    /// How long the longest build took so far.
    longest: Cell<Option<Duration>>,
}

impl Trees<'_> {
    /// The tree of a commit, or the one as it is, built.
    fn tree(&self, at: usize, revision: String, commit: Option<&str>) -> anyhow::Result<Tree> {
        let name = format!("{} of {}, {}", at + 1, self.many, report::clean(&revision, false));
        let (top, lock) = match commit {
            Some(commit) => self.kept_tree(&name, &revision, commit).map(|(top, lock)| (top, Some(lock)))?,
            None => {
                self.build(&name, &revision, &self.git.top)?;
                (self.git.top.clone(), None)
            }
        };
        let directory = top.join(&self.git.prefix);
        let directory = directory.to_str().context("the path of the tree is not UTF-8")?.to_owned();
        Ok(Tree { revision, directory, lock })
    }

    /// The tree of a commit, and its lock: the one that was kept, if it was built by the same
    /// command. Who uses a tree shares the lock, who makes one has it alone. `name` is the revision
    /// in the progress.
    fn kept_tree(&self, name: &str, revision: &str, commit: &str) -> anyhow::Result<(PathBuf, File)> {
        let path = self.kept.join(commit);
        let lock = path.with_extension("lock");
        let cannot = || format!("cannot lock {lock:?}");
        let file = File::create(&lock).with_context(cannot)?;
        // Beside the tree: within it, it would be a file of the repository.
        let mark = path.with_extension("built");
        loop {
            file.lock_shared().with_context(cannot)?;
            if is_ready(&path, &mark, self.build) {
                return Ok((path, file));
            }
            file.unlock().with_context(cannot)?;
            self.lock(name, &file).with_context(cannot)?;
            // It may have made the same.
            if is_ready(&path, &mark, self.build) {
                continue;
            }
            remove(&mark)?;
            self.line.put(|| format!("checking out {name}; Ctrl-C to stop"));
            self.check_out(&path, commit)?;
            self.build(name, revision, &path)?;
            let Some(build) = self.build else {
                // Nothing says that it is ready, and nobody else takes it as it is.
                return Ok((path, file));
            };
            fs::write(&mark, build).with_context(|| format!("cannot write {mark:?}"))?;
        }
    }

    /// Takes the lock of a tree: another dwell may build it, or run in it.
    fn lock(&self, name: &str, file: &File) -> io::Result<()> {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => {
                self.line.put(|| format!("waiting for another dwell that uses {name}; Ctrl-C to stop"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.lock()
    }

    /// Makes the files of the repository in a tree those of the commit. What else a build left
    /// there stays.
    fn check_out(&self, path: &Path, commit: &str) -> anyhow::Result<()> {
        let again = ["checkout", "--quiet", "--force", "--detach", commit];
        if path.exists() && self.git.run_in(path, &again).is_ok() {
            return Ok(());
        }
        // It was being made when dwell was killed, or its repository is another one now.
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {path:?}"));
            }
            _ => {}
        }
        let text = path.to_str().context("the path of the tree is not UTF-8")?;
        // Twice: also where git still has a worktree of this path in its list.
        let add = ["worktree", "add", "--quiet", "--force", "--force", "--detach", text, commit];
        self.git.run(&add).map(drop).with_context(|| format!("cannot check out {commit}"))
    }

    /// Builds a tree, if that was asked for.
    fn build(&self, name: &str, revision: &str, top: &Path) -> anyhow::Result<()> {
        let Some(build) = self.build else { return Ok(()) };
        let mut shell = Command::new("sh");
        shell.args(["-c", build]).current_dir(top).stdin(Stdio::null());
        let begun = Instant::now();
        let made = self.watched(name, begun, git::without_own_variables(&mut shell));
        let made = made.context("cannot run sh to build a revision")?;
        self.longest.set(self.longest.get().max(Some(begun.elapsed())));
        self.line.put(String::new);
        if !made.status.success() {
            show(&made);
            bail!(
                "the build of {revision:?} failed in {top:?} ({})\ntry: cd {top:?} && {build}",
                made.status
            );
        }
        Ok(())
    }
}

impl Trees<'_> {
    /// Runs a build, and shows for how long it has run; how much longer, if one before tells it.
    fn watched(&self, name: &str, begun: Instant, shell: &mut Command) -> io::Result<Output> {
        let waiting = thread::current();
        thread::scope(|scope| {
            let builder = thread::Builder::new().spawn_scoped(scope, || {
                let made = shell.output();
                waiting.unpark();
                made
            })?;
            while !builder.is_finished() {
                let part = self.longest.get().map_or(0.0, |all| begun.elapsed().div_duration_f64(all));
                // One that takes longer than those before says nothing of its end.
                let left = if part < 1.0 { progress::left(begun.elapsed(), part) } else { String::new() };
                let so_far = progress::running(begun.elapsed().as_nanos() as u64, None);
                self.line.put(|| format!("building {name}{so_far}{left}; Ctrl-C to stop"));
                thread::park_timeout(TICK);
            }
            builder.join().unwrap_or_else(|_| Err(io::Error::other("the thread that waits for it failed")))
        })
    }
}

/// Whether a tree was built by this command. One that was built by some command will do for none.
fn is_ready(path: &Path, mark: &Path, build: Option<&str>) -> bool {
    let built = fs::read_to_string(mark).ok();
    path.is_dir() && built.is_some_and(|by| build.is_none_or(|build| by == build))
}

fn remove(file: &Path) -> anyhow::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {file:?}"))
        }
        _ => Ok(()),
    }
}

/// The end of what a failed build said.
fn show(made: &Output) {
    let text = [String::from_utf8_lossy(&made.stdout), String::from_utf8_lossy(&made.stderr)].concat();
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
    output::to_stderr(&format!("{}\n", output::clean_lines(&last)));
}

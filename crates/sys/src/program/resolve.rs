//! Finds the file of a program's name, before anything is started.
//!
//! It follows the rules of shells, without trying: the child then makes a single `execve`, which
//! reports what only the kernel can check (a wrong architecture, a missing interpreter).

use super::user::User;
use crate::untrusted_file::{self, Rights};
use rustix::fs::{Access, AtFlags, CWD};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The search path of `execvp` when `PATH` is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// It cannot stand in a word that is quoted with it.
const QUOTE: char = '\'';

/// Why a program cannot start.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NotRunnable {
    /// No file of that name.
    #[error("cannot run {program:?}: {why}")]
    NotFound {
        /// As it was given.
        program: OsString,
        /// Where it was searched for, or the system's error.
        why: String,
    },
    /// There is one, but it cannot be executed.
    #[error("cannot run {path:?}: {why}")]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and a remedy.
        why: String,
    },
}

impl NotRunnable {
    /// The exit status of shells for it.
    pub fn exit_code(&self) -> u8 {
        match self {
            NotRunnable::NotFound { .. } => 127,
            NotRunnable::NotExecutable { .. } => 126,
        }
    }
}

/// The file that `program` means: itself when it has a slash, else the first executable of that
/// name along `PATH`.
///
/// # Errors
/// There is no such file, or it may not be executed.
pub fn resolve(program: &OsStr) -> Result<PathBuf, NotRunnable> {
    let path = env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    resolve_along(program, &path)
}

/// The file that `program` means to a user that it is started as: what that user may not execute is
/// passed over. Root's `PATH` may begin with directories of root's own.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_as(program: &OsStr, user: Option<&User>) -> Result<PathBuf, NotRunnable> {
    let Some(user) = user.filter(|user| user.is_another()) else { return resolve(program) };
    let found = Rights::of_user(user).within(|| resolve(program));
    found.unwrap_or_else(|error| {
        let why = format!("its file cannot be looked for as user {}: {}", user.name, text(&error));
        Err(NotRunnable::NotFound { program: program.to_owned(), why })
    })
}

fn resolve_along(program: &OsStr, path: &OsStr) -> Result<PathBuf, NotRunnable> {
    let not_found = |why: &str| NotRunnable::NotFound { program: program.to_owned(), why: why.to_owned() };
    if program.is_empty() {
        return Err(not_found("the name is empty"));
    }
    if program.as_bytes().contains(&b'/') {
        return match refusal(Path::new(program)) {
            None => Ok(program.into()),
            Some(Refusal::Missing(why)) => Err(not_found(&command_line(program).unwrap_or(why))),
            Some(Refusal::NotExecutable(why) | Refusal::Unreachable(why)) => {
                Err(NotRunnable::NotExecutable { path: program.into(), why })
            }
        };
    }
    let mut first_refused = None;
    for directory in env::split_paths(path) {
        // An empty element means the current directory; "./" keeps the result a path.
        let directory = if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory };
        let candidate = directory.join(program);
        match refusal(&candidate) {
            None => return Ok(candidate),
            // Root's PATH often remains after a change of user. `execvp` would report the directory
            // that cannot be searched; shells, as users expect, report that there is no such
            // program.
            Some(Refusal::Missing(_) | Refusal::Unreachable(_)) => {}
            Some(Refusal::NotExecutable(why)) => {
                first_refused.get_or_insert(NotRunnable::NotExecutable { path: candidate, why });
            }
        }
    }
    let nowhere = if let Some(said) = command_line(program) {
        said
    } else if Path::new(program).is_file() {
        let interpreter = interpreter(Path::new(program)).map(|name| format!("{name} "));
        let before = interpreter.unwrap_or_else(|| "./".to_owned());
        format!("no such program in PATH\ntry: {before}{}", program.display())
    } else {
        "no such program in PATH".to_owned()
    };
    Err(first_refused.unwrap_or_else(|| not_found(&nowhere)))
}

/// What to say of a whole command line in quotes: it has blanks or other characters of a shell, as
/// names of programs do not.
fn command_line(program: &OsStr) -> Option<String> {
    let is_line = program.as_bytes().iter().any(|byte| b" |;&<>$".contains(byte));
    let line = program.to_string_lossy().replace(QUOTE, r"'\''");
    is_line.then(|| format!("it is a command line, not a program\ntry: sh -c '{line}'"))
}

/// The interpreter of a script, by the end of its name.
fn interpreter(path: &Path) -> Option<&'static str> {
    Some(match path.extension()?.to_str()? {
        "py" => "python3",
        "js" | "mjs" | "cjs" => "node",
        "rb" => "ruby",
        "pl" => "perl",
        "php" => "php",
        "sh" => "sh",
        "jar" => "java -jar",
        _ => return None,
    })
}

/// Why a file cannot be executed.
enum Refusal {
    Missing(String),
    /// Unknown whether it exists: a directory above it may not be searched.
    Unreachable(String),
    NotExecutable(String),
}

fn refusal(path: &Path) -> Option<Refusal> {
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Some(Refusal::Unreachable(text(&error)));
        }
        Err(error) => return Some(Refusal::Missing(text(&error))),
    };
    if metadata.is_dir() {
        return Some(Refusal::NotExecutable("it is a directory".to_owned()));
    }
    if !metadata.is_file() {
        return Some(Refusal::NotExecutable("it is not a regular file".to_owned()));
    }
    match rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS) {
        Ok(()) => None,
        Err(errno) => {
            let shown = path.display();
            let try_this = match interpreter(path) {
                Some(interpreter) => format!("{interpreter} {shown}"),
                None if is_no_program(path) => {
                    let what = "it is no program, nor a script that says by what it is run";
                    return Some(Refusal::NotExecutable(format!(
                        "{what}\ntry: sh {shown}, if it is one of sh"
                    )));
                }
                None => format!("chmod +x {shown}"),
            };
            let remedy = format!("{}\ntry: {try_this}", text(&errno.into()));
            Some(Refusal::NotExecutable(remedy))
        }
    }
}

/// The system's error in dwell's style: lower case, without the number.
pub(crate) fn text(error: &io::Error) -> String {
    let whole = error.to_string();
    let words = whole.split(" (os error").next().unwrap_or(&whole);
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Whether a file begins as nothing does that the kernel executes. One that cannot be read may.
fn is_no_program(path: &Path) -> bool {
    const ELF: &[u8] = b"\x7fELF";
    let mut start = Vec::with_capacity(ELF.len());
    let read = untrusted_file::open(path).and_then(|file| file.take(4).read_to_end(&mut start));
    read.is_ok() && !start.starts_with(b"#!") && start != ELF
}

/// Whether a file that the kernel refuses to execute (`ENOEXEC`) is a script that shells would
/// still run: its first line is text. An ELF file for another machine is not.
pub(crate) fn is_bare_script(path: &Path) -> bool {
    let mut start = Vec::with_capacity(128);
    let Ok(file) = untrusted_file::open(path) else { return false };
    if file.take(128).read_to_end(&mut start).is_err() {
        return false;
    }
    let first_line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    !start.starts_with(b"#!") && !first_line.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn write(path: PathBuf, text: &[u8], mode: u32) {
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    /// A directory `a` where `tool` is a directory, `b` where it cannot be executed, and `c` where
    /// it can.
    fn three_places() -> (tempfile::TempDir, OsString) {
        let top = tempfile::tempdir().unwrap();
        for name in ["a/tool", "b", "c"] {
            fs::create_dir_all(top.path().join(name)).unwrap();
        }
        write(top.path().join("b/tool"), b"", 0o644);
        write(top.path().join("c/tool"), b"", 0o755);
        write(top.path().join("b/data"), b"#!/bin/sh\n", 0o644);
        let places = ["a", "b", "c"].map(|name| top.path().join(name));
        let path = env::join_paths(places).unwrap();
        (top, path)
    }

    #[test]
    fn the_first_that_can_be_executed_wins() {
        let (top, path) = three_places();
        assert_eq!(resolve_along("tool".as_ref(), &path).unwrap(), top.path().join("c/tool"));
    }

    #[test]
    fn one_that_cannot_be_executed_is_126_and_none_is_127() {
        let (top, path) = three_places();
        let refused = resolve_along("data".as_ref(), &path).unwrap_err();
        assert_eq!(refused.exit_code(), 126);
        assert!(refused.to_string().contains("permission denied\ntry: chmod +x "), "{refused}");
        assert_eq!(resolve_along("nothing".as_ref(), &path).unwrap_err().exit_code(), 127);
        assert_eq!(resolve_along(top.path().as_ref(), &path).unwrap_err().exit_code(), 126);
        assert_eq!(resolve_along("/dev/null".as_ref(), &path).unwrap_err().exit_code(), 126);
        assert_eq!(resolve_along("".as_ref(), &path).unwrap_err().exit_code(), 127);
        let below_a_file = top.path().join("c/tool/x");
        assert_eq!(resolve_along(below_a_file.as_ref(), &path).unwrap_err().exit_code(), 127);
    }

    #[test]
    fn what_is_no_program_is_not_made_one() {
        let (top, path) = three_places();
        for (content, remedy) in [
            (&b"root:x:0:0:root:/root:/bin/bash\n"[..], "try: sh "),
            (b"", "try: sh "),
            (b"#!/bin/sh\n", "try: chmod +x "),
            (b"\x7fELF\x02\x01\x01\0", "try: chmod +x "),
        ] {
            write(top.path().join("b/file"), content, 0o644);
            let said = resolve_along("file".as_ref(), &path).unwrap_err();
            assert!(said.exit_code() == 126 && said.to_string().contains(remedy), "{said}");
        }
    }

    #[test]
    fn a_command_line_and_a_script_are_told_how_to_run_them() {
        let (top, path) = three_places();
        for line in ["ls -l | wc", "echo $HOME", "a;b", "/bin/ls -l"] {
            let said = resolve_along(line.as_ref(), &path).unwrap_err();
            assert_eq!(said.exit_code(), 127);
            assert!(said.to_string().ends_with(&format!("try: sh -c '{line}'")), "{said}");
        }
        write(top.path().join("b/slow.py"), b"print(1)", 0o644);
        let script = top.path().join("b/slow.py");
        let said = resolve_along(script.as_ref(), &path).unwrap_err().to_string();
        assert!(said.ends_with(&format!("try: python3 {}", script.display())), "{said}");
    }

    #[test]
    fn a_name_with_a_slash_is_not_looked_for() {
        let (_top, path) = three_places();
        assert_eq!(resolve_along("./tool".as_ref(), &path).unwrap_err().exit_code(), 127);
        assert_eq!(resolve_along("/bin/sh".as_ref(), &path).unwrap(), Path::new("/bin/sh"));
    }

    #[test]
    fn another_user_gets_what_that_user_may_execute() {
        assert!(rustix::process::geteuid().is_root(), "this test needs root");
        let (top, path) = three_places();
        let nobody = Rights::of_uid(65_534);
        let found = || resolve_along("tool".as_ref(), &path);
        let set = |place: &str, mode| {
            fs::set_permissions(top.path().join(place), PermissionsExt::from_mode(mode)).unwrap();
        };
        set("", 0o700);
        assert_eq!(nobody.within(found).unwrap().unwrap_err().exit_code(), 127);
        set("", 0o755);
        set("c", 0o700);
        set("b/tool", 0o755);
        assert_eq!(nobody.within(found).unwrap().unwrap(), top.path().join("b/tool"));
        set("b/tool", 0o700);
        assert_eq!(nobody.within(found).unwrap().unwrap_err().exit_code(), 126);
        assert_eq!(found().unwrap(), top.path().join("b/tool"));
    }

    #[test]
    fn text_without_an_interpreter_is_a_script_and_a_foreign_binary_is_not() {
        let top = tempfile::tempdir().unwrap();
        for (name, text, script) in [
            ("plain", b"echo hi\n".as_slice(), true),
            ("empty", b"", true),
            ("shebang", b"#!/bin/sh\n", false),
            ("elf", b"\x7fELF\x02\x01\x01\0\0\0", false),
        ] {
            write(top.path().join(name), text, 0o755);
            assert_eq!(is_bare_script(&top.path().join(name)), script, "{name}");
        }
    }
}

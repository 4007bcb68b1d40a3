//! The arguments of `execve`, prepared before the fork: the child must not allocate.

use super::command::Command;
use crate::resolve::is_bare_script;
use std::env;
use std::ffi::{CStr, CString, OsStr, OsString, c_char};
use std::io;
use std::iter;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// The shell for scripts without an interpreter line, as in `execvp`.
const SHELL: &CStr = c"/bin/sh";

/// A path, arguments and an environment in the kernel's form.
pub(crate) struct ExecImage {
    pub(crate) path: CString,
    pub(crate) argv: StringTable,
    pub(crate) envp: StringTable,
    /// The shell's arguments, for a script whose format the kernel does not know.
    pub(crate) script: Option<StringTable>,
}

/// Strings with the null-terminated table of pointers to them.
pub(crate) struct StringTable {
    table: Vec<*const c_char>,
    _strings: Vec<CString>,
}

impl StringTable {
    fn new(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> io::Result<Self> {
        let strings: Vec<CString> =
            words.into_iter().map(|word| terminated(word.as_ref())).collect::<Result<_, _>>()?;
        // The pointers are to each string's own heap memory and stay valid when the vector moves.
        let table = strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect();
        Ok(Self { table, _strings: strings })
    }

    pub(crate) fn as_ptr(&self) -> *const *const c_char {
        self.table.as_ptr()
    }
}

impl ExecImage {
    /// The image for `command`, whose program is at `path`, with `variables` in its environment.
    ///
    /// # Errors
    /// A zero byte in an argument.
    pub(super) fn new(
        command: &Command,
        path: &Path,
        variables: &[(OsString, OsString)],
    ) -> io::Result<Self> {
        let argv: Vec<&OsStr> =
            iter::once(&command.program).chain(&command.args).map(OsString::as_os_str).collect();
        Self::of(path, is_bare_script(path), &argv, &environment(command, variables))
    }

    /// The image for the program at `path` with these arguments, its name first, and this
    /// environment, of entries `NAME=value`.
    ///
    /// # Errors
    /// A zero byte in one of them.
    pub(crate) fn of(
        path: &Path,
        is_script: bool,
        argv: &[impl AsRef<OsStr>],
        environment: &[impl AsRef<OsStr>],
    ) -> io::Result<Self> {
        let script = is_script.then(|| {
            let shell = [OsStr::from_bytes(SHELL.to_bytes()), path.as_os_str()];
            StringTable::new(shell.into_iter().chain(argv.iter().skip(1).map(AsRef::as_ref)))
        });
        Ok(Self {
            path: terminated(path.as_os_str())?,
            argv: StringTable::new(argv)?,
            envp: StringTable::new(environment)?,
            script: script.transpose()?,
        })
    }

    pub(crate) fn shell(&self) -> &'static CStr {
        SHELL
    }
}

fn terminated(word: &OsStr) -> io::Result<CString> {
    CString::new(word.as_bytes())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a zero byte inside"))
}

/// dwell's own environment; for another user, with that user's name and home; and with `variables`.
fn environment(command: &Command, variables: &[(OsString, OsString)]) -> Vec<OsString> {
    let theirs: Vec<(&str, &str)> = match &command.user {
        Some(user) => vec![("HOME", &user.home), ("USER", &user.name), ("LOGNAME", &user.name)],
        None => Vec::new(),
    };
    let set = theirs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let set: Vec<(OsString, OsString)> = set.chain(variables.iter().cloned()).collect();
    let kept: Vec<(OsString, OsString)> =
        env::vars_os().filter(|(name, _)| set.iter().all(|(set, _)| name != set)).collect();
    kept.into_iter()
        .chain(set)
        .map(|(mut entry, value)| {
            entry.push("=");
            entry.push(value);
            entry
        })
        .collect()
}

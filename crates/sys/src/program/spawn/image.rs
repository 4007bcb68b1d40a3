//! The arguments of `execve`, prepared before the fork: the child must not allocate.

use super::command::Command;
use crate::origin;
use crate::resolve::is_bare_script;
use crate::user::User;
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
        Self::of(path, is_bare_script(path), &argv, &environment(command, variables)?)
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

/// Variables that another user's program gets of dwell's environment, besides those that begin with
/// `LC_`: where programs are, the language, the terminal, the time zone.
const SHARED: [&str; 6] = ["PATH", "LANG", "LANGUAGE", "TERM", "COLORTERM", "TZ"];

/// dwell's own environment; for another user, what of it is no secret, with that user's name and
/// home; and with `variables`.
fn environment(command: &Command, variables: &[(OsString, OsString)]) -> io::Result<Vec<OsString>> {
    let theirs: Vec<(&str, &str)> = match &command.user {
        Some(user) => vec![("HOME", &user.home), ("USER", &user.name), ("LOGNAME", &user.name)],
        None => Vec::new(),
    };
    let set = theirs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let set: Vec<(OsString, OsString)> = set.chain(variables.iter().cloned()).collect();
    let own = origin::environment()?;
    let all = command.user.as_ref().is_none_or(|user| !user.is_another() || is_called_by(user, &own));
    let given = |name: &OsString| {
        let shared = |name: &str| SHARED.contains(&name) || name.starts_with("LC_");
        all || name.to_str().is_some_and(shared)
    };
    let kept = own.into_iter().filter(|(name, _)| given(name) && set.iter().all(|(set, _)| name != set));
    let kept: Vec<(OsString, OsString)> = kept.collect();
    Ok(kept
        .into_iter()
        .chain(set)
        .map(|(mut entry, value)| {
            entry.push("=");
            entry.push(value);
            entry
        })
        .collect())
}

/// Whether the user called dwell, by sudo(8): then the environment is what sudo left of that user's
/// own.
fn is_called_by(user: &User, environment: &[(OsString, OsString)]) -> bool {
    let uid = environment.iter().find(|(name, _)| name == "SUDO_UID");
    uid.and_then(|(_, uid)| uid.to_str()?.parse().ok()) == Some(user.uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_user_gets_no_secrets_of_dwells_environment() {
        let user = User { name: "x".into(), uid: 54_321, gid: 7, groups: vec![7], home: "/home/x".into() };
        let command = |user| Command { program: "p".into(), args: Vec::new(), user };
        let names = |user| -> Vec<String> {
            let entries = environment(&command(user), &[("ADDED".into(), "1".into())]).unwrap();
            let name = |entry: &OsString| entry.to_str().unwrap().split('=').next().unwrap().to_owned();
            entries.iter().map(name).collect()
        };
        let own = names(None);
        assert!(own.contains(&"PATH".into()), "{own:?}");
        let all = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        assert_eq!(own.len(), all.count() + 1, "all of it, and what was added");
        let theirs = names(Some(user.clone()));
        for name in ["PATH", "HOME", "USER", "LOGNAME", "ADDED"] {
            assert!(theirs.contains(&name.into()), "{name}: {theirs:?}");
        }
        let known = |name: &String| SHARED.contains(&name.as_str()) || name.starts_with("LC_");
        assert_eq!(theirs.iter().filter(|name| !known(name)).count(), 4, "{theirs:?}");
        let called = |uid: &str| is_called_by(&user, &[("SUDO_UID".into(), uid.into())]);
        assert!(called("54321") && !called("0") && !called("") && !is_called_by(&user, &[]));
    }
}

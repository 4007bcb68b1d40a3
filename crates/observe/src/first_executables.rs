//! The executables that a command will execute first, known before it starts: the program, or the
//! interpreter in its first line.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use sys::resolve::resolve;
use sys::untrusted_file;

/// Bytes that the kernel reads of a script's first line (`BINPRM_BUF_SIZE`).
const LINE_LEN: u64 = 256;

/// The executables, as far as they can be predicted.
pub(crate) fn executables(path: &Path) -> Vec<PathBuf> {
    [Some(path.to_owned()), interpreter(path)].into_iter().flatten().collect()
}

/// The interpreter in a script's first line; for `env`, the program that it will find.
fn interpreter(path: &Path) -> Option<PathBuf> {
    // A pipe or a device is not a script, and must not be read.
    let file = untrusted_file::open(path).ok()?;
    let mut head = Vec::new();
    file.take(LINE_LEN).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r')).filter(|word| !word.is_empty());
    let first = Path::new(OsStr::from_bytes(words.next()?));
    if first.file_name() != Some(OsStr::new("env")) {
        return Some(first.to_owned());
    }
    let program = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
    resolve(OsStr::from_bytes(program)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_scripts_interpreter_is_foreseen_also_through_env() {
        let top = std::env::temp_dir().join(format!("dwell-likely-{}", std::process::id()));
        std::fs::create_dir_all(&top).unwrap();
        let script = top.join("script");
        let of = |text: &str| {
            std::fs::write(&script, text).unwrap();
            std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
            executables(&script)
        };
        let sh = resolve(OsStr::new("sh")).unwrap();
        assert_eq!(of("#!/bin/x -u\nrest"), [script.clone(), "/bin/x".into()]);
        assert_eq!(of("#! /usr/bin/env -S A=1 sh -e\n"), [script.clone(), sh]);
        assert_eq!(of("plain"), std::slice::from_ref(&script));
        assert_eq!(of("#!"), std::slice::from_ref(&script));
        std::fs::remove_dir_all(&top).unwrap();
    }
}

//! Options of dwell behind the program: all words there are the program's, as with env(1) and
//! nice(1). Who did not know that is told, where it shows that it was a mistake.

use crate::cli;
use std::ffi::OsString;

/// Options that other programs hardly have: who types them means dwell.
const ONLY_OURS: &[&str] = &[
    "annotate",
    "causes",
    "count-blocks",
    "firefox",
    "flame",
    "folded",
    "hits",
    "max-overhead",
    "no-store",
    "speedscope",
];

/// What was meant, where a word behind the program is an option of `dwell run`, and the program
/// failed or has hardly such an option. `typed` is the whole command line: after `--` what follows
/// is meant as it is.
pub(super) fn meant(command: &[OsString], typed: &[OsString], failed: bool) -> Option<String> {
    let before = typed.len().checked_sub(command.len() + 1)?;
    if typed[before] == "--" {
        return None;
    }
    let (program, words) = command.split_first()?;
    let (at, name) = words.iter().enumerate().find_map(|(at, word)| {
        let name = word.to_str()?.strip_prefix("--")?.split('=').next()?;
        (ONLY_OURS.contains(&name) || failed && cli::takes(name).is_some()).then_some((at, name))
    })?;
    let with_value = cli::takes(name)? && words[at] == *format!("--{name}");
    let until = words.len().min(at + 1 + usize::from(with_value));
    let ours = words[at..until].iter();
    let theirs = [program].into_iter().chain(&words[..at]).chain(&words[until..]);
    let all = ours.chain(theirs).map(|word| word.to_string_lossy().into_owned());
    let all: Vec<String> = ["dwell".to_owned(), "run".to_owned()].into_iter().chain(all).collect();
    let line = shlex::try_join(all.iter().map(String::as_str)).ok()?;
    let program = program.to_string_lossy();
    Some(format!("--{name} went to {program}, as all words behind the program do\ntry: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, failed: bool) -> Option<String> {
        let typed: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let from = typed.iter().position(|word| word == "prog").unwrap();
        meant(&typed[from..], &typed, failed).map(|said| said.split_once("\ntry: ").unwrap().1.to_owned())
    }

    #[test]
    fn an_option_behind_the_program_is_told_where_it_was_a_mistake() {
        let json = "dwell run prog a --json - b";
        assert_eq!(of(json, true).unwrap(), "dwell run --json - prog a b");
        assert_eq!(of(json, false), None, "many programs have it");
        assert_eq!(of("dwell run prog --flame x", false).unwrap(), "dwell run --flame prog x");
        let value = "dwell run --quiet prog --annotate=f x";
        assert_eq!(of(value, false).unwrap(), "dwell run '--annotate=f' prog x");
        assert_eq!(of("dwell run prog --json", true).unwrap(), "dwell run --json prog");
        assert_eq!(of("dwell run -- prog --flame", true), None, "it was meant so");
        assert_eq!(of("dwell run prog --nope -x --", true), None);
    }

    #[test]
    fn each_option_that_only_dwell_has_is_one() {
        assert!(ONLY_OURS.iter().all(|name| cli::takes(name).is_some()));
    }
}

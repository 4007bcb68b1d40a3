//! Exit statuses: the program's own if it ran, and those of timeout(1) if not.

use crate::{cli, output, suggest};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use model::recording::Ending;
use observe::LeftProgram;
use std::env;
use std::ffi::OsStr;
use std::process::ExitCode;
use sys::resolve::resolve;

/// dwell itself failed, or its command line is wrong.
pub(crate) const DWELL_FAILED: u8 = 125;

/// Nothing was measured as the host was short of CPUs or memory: `EX_TEMPFAIL` of sysexits(3), try
/// again later.
pub(crate) const SKIPPED: u8 = 75;

/// The exit status of the program: its own, or 128 plus the signal number.
pub(crate) fn of_program(ending: Ending) -> u8 {
    match ending {
        Ending::Code(code) => u8::try_from(code).unwrap_or(DWELL_FAILED),
        Ending::Signal(signal) => of_signal(signal),
        Ending::Window(_) => 0,
    }
}

/// The exit status after a signal.
pub(crate) fn of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(DWELL_FAILED)
}

/// The exit status where the program goes on in spite of a signal: as if it had ended by it, for
/// whoever sent it to dwell. `otherwise` where it has ended.
pub(crate) fn of_left(left: Option<LeftProgram>, otherwise: u8) -> u8 {
    left.map_or(otherwise, |left| of_signal(left.signal))
}

/// Prints the error; returns its exit status.
pub(crate) fn failure(error: &anyhow::Error) -> ExitCode {
    // It may quote names of the program's.
    let text = output::told(error);
    let lines: Vec<String> = text.lines().map(|line| report::clean(line, true)).collect();
    output::complain(&lines.join("\n"));
    let observed = error.downcast_ref::<observe::Error>().map(observe::Error::exit_code);
    let timed = error.downcast_ref::<timings::Error>().map(timings::Error::exit_code);
    let status = observed.or(timed).unwrap_or(DWELL_FAILED);
    ExitCode::from(status)
}

/// Prints help, or the error in the command line, with what was probably meant. clap would exit
/// with 2, which could be the program's status.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let words: Vec<String> = env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && words.len() <= 1 {
        output::to_stderr(&cli::start(&called()));
        return ExitCode::from(DWELL_FAILED);
    }
    if error.kind() == ErrorKind::DisplayHelp && words.len() == 2 {
        // What dwell itself has to say fits a screen: `dwell help` has no longer form of it.
        // A failure to print has nowhere to go.
        let _ = output::to_stdout(cli::command().render_help().to_string());
        return ExitCode::SUCCESS;
    }
    if let Some(meant) = meant(error, &words) {
        output::complain(&output::clean_lines(&meant));
        return ExitCode::from(DWELL_FAILED);
    }
    // A failure to print has nowhere to go.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { DWELL_FAILED } else { 0 })
}

/// How this dwell is called from a shell: by its name where that is in PATH, else by its path.
fn called() -> String {
    let in_path = resolve(OsStr::new("dwell")).map(|path| path.canonicalize().ok());
    match (in_path, env::current_exe().and_then(|path| path.canonicalize())) {
        (Ok(Some(found)), Ok(own)) if found == own => "dwell".to_owned(),
        _ => observe::access::this_binary(),
    }
}

/// What was probably meant by a command line with this error: a program without `run`, an option of
/// another tool.
fn meant(error: &clap::Error, words: &[String]) -> Option<String> {
    let given = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = given(ContextKind::InvalidSubcommand)?;
            let at = words.iter().position(|other| other == word)?;
            if resolve(OsStr::new(word)).is_err() {
                return no_verb(word, &words[at + 1..]);
            }
            let command: Vec<&str> = words[at..].iter().map(String::as_str).collect();
            let command = shlex::try_join(command).ok()?;
            Some(format!(
                "there is no command {word:?}; to run a program of this name\ntry: dwell run {command}"
            ))
        }
        ErrorKind::UnknownArgument => {
            let option = given(ContextKind::InvalidArg)?;
            let verb = words.get(1)?;
            if verb.starts_with('-') {
                return before_the_verb(words);
            }
            let ours = cli::of_other_tools(verb, option)?;
            Some(format!(
                "dwell {verb} has no option {option}, as other tools have; here it is\n  {ours}\n\
                 For all options: dwell help {verb}"
            ))
        }
        ErrorKind::MissingRequiredArgument => {
            let verb = words.get(1)?;
            let missing = match error.get(ContextKind::InvalidArg)? {
                ContextValue::Strings(missing) => missing.join(" "),
                _ => return None,
            };
            let example = cli::example(verb)?;
            Some(format!(
                "dwell {verb} needs {missing}\ntry: {example}\nFor its options: dwell {verb} --help"
            ))
        }
        _ => None,
    }
}

/// What was meant by a word that is no verb and no program, with what follows it.
fn no_verb(word: &str, rest: &[String]) -> Option<String> {
    if word == "version" {
        return Some("there is no command \"version\"\ntry: dwell --version".to_owned());
    }
    let names = cli::verbs();
    let near = *suggest::nearest(word, names.iter().map(String::as_str)).first()?;
    let all = [near].into_iter().chain(rest.iter().map(String::as_str));
    let meant = shlex::try_join(all).ok()?;
    Some(format!("there is no command {word:?}\ntry: dwell {meant}"))
}

/// The same words with the options after the verb, where they belong.
fn before_the_verb(words: &[String]) -> Option<String> {
    let names = cli::verbs();
    let at = words.iter().position(|word| names.contains(word))?;
    let all = [&words[at]].into_iter().chain(&words[1..at]).chain(&words[at + 1..]);
    let meant = shlex::try_join(all.map(String::as_str)).ok()?;
    Some(format!("options stand after the command\ntry: dwell {meant}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn meant_by(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        meant(&cli::Cli::try_parse_from(&words).unwrap_err(), &words)
    }

    #[test]
    fn a_program_without_run_and_an_option_of_another_tool_are_understood() {
        let said = meant_by("dwell ls -l /usr").unwrap();
        assert!(said.ends_with("try: dwell run ls -l /usr"), "{said}");
        let said = meant_by("dwell wake -D 10s").unwrap();
        assert!(said.contains("no option -D") && said.contains("--for TIME"), "{said}");
        assert!(meant_by("dwell run -f true").unwrap().contains("child processes"));
        assert!(meant_by("dwell rnu ls -l").unwrap().ends_with("try: dwell run ls -l"));
        assert!(meant_by("dwell version").unwrap().ends_with("try: dwell --version"));
        assert!(meant_by("dwell -v run true").unwrap().ends_with("try: dwell run -v true"));
        let said = meant_by("dwell run").unwrap();
        assert!(said.starts_with("dwell run needs <CMD>...\ntry: dwell run ls -lR /usr\n"), "{said}");
        let said = meant_by("dwell diff a.json").unwrap();
        assert!(said.starts_with("dwell diff needs <B>\ntry: dwell diff "), "{said}");
        assert_eq!(meant_by("dwell no-such-program-anywhere"), None);
        assert_eq!(meant_by("dwell wake --nope"), None);
    }

    #[test]
    fn the_exit_status_is_the_programs() {
        assert_eq!(of_program(Ending::Code(0)), 0);
        assert_eq!(of_program(Ending::Code(255)), 255);
        assert_eq!(of_program(Ending::Signal(9)), 137);
        assert_eq!(of_program(Ending::Signal(64)), 192);
        assert_eq!(of_program(Ending::Code(-1)), DWELL_FAILED);
    }
}

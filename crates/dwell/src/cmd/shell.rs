//! `dwell completions` and `dwell man`: what a shell and man(1) know of the command line, from its
//! definition.

use crate::cli::{self, CompletionsArgs, ManArgs};
use crate::output;
use anyhow::{Context, bail};
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use std::os::unix::fs::MetadataExt;
use sys::output_file::Caller;
use sys::user;

/// Prints the completions for a shell; returns the exit status.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut with_names(cli::command()), "dwell", &mut text);
    output::to_stdout(text)?;
    Ok(0)
}

/// The command line with the names that two verbs take: for completions only, since what is typed
/// may be wrong, and then those verbs know what is meant.
fn with_names(command: Command) -> Command {
    let one_of =
        |names: Vec<&'static str>| move |arg: Arg| arg.value_parser(PossibleValuesParser::new(names));
    let causes = || analyse::judge::causes::ALL.iter().map(|cause| &*cause.name.id);
    let pairs = pairs::ALL.iter().map(|pair| pair.name);
    command
        .mut_subcommand("explain", |verb| verb.mut_arg("cause", one_of(causes().collect())))
        .mut_subcommand("lab", |verb| verb.mut_arg("name", one_of(pairs.chain(causes()).collect())))
}

/// Writes `dwell.1` and a page for each verb; returns the exit status.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<u8> {
    if !args.dir.is_dir() {
        bail!("{:?} is not a directory\ntry: mkdir -p {}", args.dir, args.dir.display());
    }
    let owner = args.dir.metadata().with_context(|| format!("cannot use {:?}", args.dir))?.uid();
    let caller = Caller::of_sudo().map(|caller| caller.uid);
    if user::is_root() && owner != 0 && Some(owner) != caller {
        bail!(
            "{:?} belongs to the user {owner}, whose links would be followed\ntry: a directory of root's",
            args.dir
        );
    }
    clap_mangen::generate_to(cli::command(), &args.dir)
        .with_context(|| format!("cannot write manual pages into {:?}", args.dir))?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_know_causes_and_pairs() {
        let mut text = Vec::new();
        clap_complete::generate(
            clap_complete::Shell::Bash,
            &mut with_names(cli::command()),
            "dwell",
            &mut text,
        );
        let text = String::from_utf8(text).unwrap();
        let is_offered = |name: &str| text.split_whitespace().any(|word| word.trim_matches('"') == name);
        assert!(is_offered("lock-contention") && is_offered(pairs::ALL[0].name));
    }
}

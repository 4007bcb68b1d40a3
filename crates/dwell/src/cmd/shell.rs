//! `dwell completions` and `dwell man`: what a shell and man(1) know of the command line, from its
//! definition.

use crate::cli::{self, CompletionsArgs, ManArgs};
use crate::output;
use anyhow::{Context, bail};
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, Id};
use clap_complete::Shell;
use std::os::unix::fs::MetadataExt;
use sys::output_file::Caller;
use sys::user;

/// Prints the completions for a shell; returns the exit status.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<u8> {
    output::to_stdout(offered(args.shell))?;
    Ok(0)
}

fn offered(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut shown(&with_names(cli::command())), "dwell", &mut text);
    match shell {
        Shell::Bash => text.extend_from_slice(IDS_IN_BASH.as_bytes()),
        Shell::Fish => text.extend_from_slice(IDS_IN_FISH.as_bytes()),
        _ => {}
    }
    text
}

/// After the names of files, those of results: asked for when they are offered.
const IDS_IN_BASH: &str = r#"
_dwell_or_id() {
    _dwell "$@"
    case "${COMP_WORDS[1]}:$2" in
        *:-*) ;;
        show:*|report:*|export:*|diff:*|tag:*|note:*|rm:*)
            COMPREPLY+=($(compgen -W "last last-1 $("$1" list --color never 2>/dev/null | awk 'NR > 1 && /^[0-9a-f]/ && length($1) == 8 { print $1 }')" -- "$2")) ;;
    esac
}
complete -F _dwell_or_id -o bashdefault -o default dwell
"#;
const IDS_IN_FISH: &str = r#"complete -c dwell -n "__fish_seen_subcommand_from show report export diff tag note rm" -a "last last-1 (dwell list --color never 2>/dev/null | awk 'NR > 1 && /^[0-9a-f]/ && length(\$1) == 8 { print \$1 }')"
"#;

/// The command without what is of no use by hand: generators offer options that no help has.
fn shown(command: &Command) -> Command {
    // They are made once, and clap takes no other text than what lives as long.
    let text = |text: &str| &*text.to_owned().leak();
    let is_shown = |id: &Id| command.get_arguments().any(|arg| arg.get_id() == id && !arg.is_hide_set());
    let mut only = Command::new(text(command.get_name()))
        .disable_help_flag(true)
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()).cloned())
        .groups(command.get_groups().filter(|group| group.get_args().all(is_shown)).cloned())
        .subcommands(command.get_subcommands().map(shown));
    if let Some(about) = command.get_about() {
        only = only.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        only = only.version(text(version));
    }
    only
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
        let text = String::from_utf8(offered(Shell::Bash)).unwrap();
        let is_offered = |name: &str| text.split_whitespace().any(|word| word.trim_matches('"') == name);
        assert!(is_offered("lock-contention") && is_offered(pairs::ALL[0].name));
    }

    #[test]
    fn shells_know_ids_and_no_option_that_help_leaves_out() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = String::from_utf8(offered(shell)).unwrap();
            assert!(text.contains("no-store") && text.contains("flame"), "{shell}");
            assert!(!text.contains("id-to"), "{shell}");
            assert!(shell == Shell::Zsh || text.contains("list --color never"), "{shell}");
        }
    }
}

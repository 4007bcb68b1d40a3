//! The options of `dwell compare`. What commands they make is left to
//! [`cmd::compare`](crate::cmd::compare).

mod values;

use crate::out::OutputArgs;
use clap::Args;
use model::compare::commands::Comparison;
use model::units;
use std::path::PathBuf;
pub(crate) use values::{FigureArg, IgnoredStatuses, StreamArg};
use values::{ignored, stream, variable};

/// Find out which of several commands is faster, by how much, and why
///
/// Each command is compared with the first. The verdict is faster, slower, same (within --margin),
/// or undecided, with the ratio, its 95 % interval and the difference in time. One command alone is
/// measured too.
///
/// The commands run in alternation, in random order within each pair. The runs stop when the
/// verdict is decided, after 3 seconds at the earliest. No run is dropped as an outlier. Then a few
/// pairs are observed, as by `dwell run`, to find where the difference lies.
///
/// A command is one argument. It is split into words as a shell does, and executed without a shell;
/// -S uses one. The first run of each command does not count: it warms up, and shows whether the
/// commands do the same.
///
/// The exit status is 0. With --fail-if-slower it is 0 if no command is slower, 1 if one is, and 2
/// if that is undecided. It is 128 plus the signal number if the comparison was ended early (the
/// result so far is shown), 125 if dwell itself or a command failed, 126 if a command cannot be
/// executed, 127 if it is not found.
#[derive(Debug, Args)]
#[command(
    // `--output` is what commands print, as in hyperfine.
    mut_arg("page_to", |arg| arg.long("page")),
    after_help = "Examples:\n  dwell compare './old input' './new input'\n  dwell compare --fail-if-slower 3% --json cmp.json './old' './new'\n  dwell compare -L threads 1,2,4,8 'make -B -j {threads}'\n  dwell compare -S 'sort big | uniq' 'sort -u big'\n  dwell compare -p 'git clean -fdx' 'make' 'ninja'\n  dwell compare --rev main --rev . --build 'cargo build --release' 'target/release/prog input'\n  dwell compare --metric 'fps: ([0-9.]+)' './old' './new'\n  dwell compare --pairs 30 --no-why --hyperfine times.json './old' './new'"
)]
pub(crate) struct CompareArgs {
    /// Commands; each is compared with the first
    #[arg(value_name = "COMMAND", required = true)]
    pub(crate) commands: Vec<String>,

    /// Run exactly N pairs. One more runs before them, and does not count [default: until it is
    /// decided]
    #[arg(short = 'r', long, visible_alias = "runs", value_name = "N", conflicts_with_all = ["min_pairs", "max_pairs"],
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pairs: Option<u32>,

    /// Run at least N pairs
    #[arg(short, long = "min-runs", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) min_pairs: Option<u32>,

    /// Run at most N pairs
    #[arg(short = 'M', long = "max-runs", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_pairs: Option<u32>,

    /// Start no pair after this time [default: 60s, or 12 pairs of longer commands]
    #[arg(long = "for", value_name = "TIME", conflicts_with = "pairs", value_parser = units::seconds_ns)]
    pub(crate) for_ns: Option<u64>,

    /// Run each command N times before the pairs that count, at least once
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub(crate) warmup: u32,

    /// Largest difference called same. If a command differs from the first by up to PERCENT, the
    /// verdict is same
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = units::share)]
    pub(crate) margin: f64,

    /// The figure to compare
    #[arg(long, value_enum, default_value_t, value_name = "FIGURE", conflicts_with = "metric")]
    pub(crate) on: FigureArg,

    /// Compare numbers that the commands print. A number is what the first group of REGEX matches,
    /// in standard output and standard error. If one run prints several, their median decides, and
    /// p90 and p99 are compared as well
    #[arg(long, value_name = "REGEX")]
    pub(crate) metric: Option<String>,

    /// Exit with 1 if any is slower by over PERCENT. Each command is compared with the first. The
    /// exit status is 0 if none is slower, 2 if that is undecided
    #[arg(long, value_name = "PERCENT", value_parser = units::share)]
    pub(crate) fail_if_slower: Option<f64>,

    /// Also compare the first command with itself
    #[arg(long)]
    pub(crate) floor: bool,

    /// Do not find out where the difference lies. No pairs are observed
    #[arg(long)]
    pub(crate) no_why: bool,

    /// Check the savings that a result of `dwell run` predicted. The result is a file written by
    /// --json, or the ID of a kept result (in `dwell list`; `last` and `last-1` work as well)
    #[arg(long, value_name = "FILE|ID")]
    pub(crate) predicted: Option<PathBuf>,

    /// Seed of the random order [default: random]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) parts: CommandArgs,

    #[command(flatten)]
    pub(crate) revisions: RevisionArgs,

    #[command(flatten)]
    pub(crate) outputs: OutputArgs<Comparison>,
}

/// How commands are made and run, by hyperfine's letters.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Commands")]
pub(crate) struct CommandArgs {
    /// Run CMD in a shell before everything else. With parameters, it runs once for each distinct
    /// expansion of CMD
    #[arg(short, long, value_name = "CMD")]
    pub(crate) setup: Option<String>,

    /// Run CMD in a shell before each run. It may be given once for each command
    #[arg(short, long, value_name = "CMD")]
    pub(crate) prepare: Vec<String>,

    /// Run CMD in a shell after each run. It may be given once for each command
    #[arg(short = 'C', long, value_name = "CMD")]
    pub(crate) conclude: Vec<String>,

    /// Run CMD in a shell after everything else
    #[arg(short, long, value_name = "CMD")]
    pub(crate) cleanup: Option<String>,

    /// Run each command with each value from MIN to MAX in place of {VAR}
    #[arg(short = 'P', long, value_names = ["VAR", "MIN", "MAX"], num_args = 3, allow_hyphen_values = true)]
    pub(crate) parameter_scan: Vec<String>,

    /// Step of --parameter-scan [default: 1]
    #[arg(short = 'D', long, value_name = "DELTA", requires = "parameter_scan")]
    pub(crate) parameter_step_size: Option<String>,

    /// Run with each of VALUES in place of {VAR}. VALUES are separated by commas. Each command runs
    /// with each value; repeat the option for all combinations
    #[arg(short = 'L', long, value_names = ["VAR", "VALUES"], num_args = 2, allow_hyphen_values = true)]
    pub(crate) parameter_list: Vec<String>,

    /// Run commands in `sh`. For pipes, redirections and variables
    #[arg(short = 'S', conflicts_with_all = ["shell", "no_shell"])]
    pub(crate) default_shell: bool,

    /// Run commands in this shell: a program with arguments, such as `bash --norc`
    #[arg(long, value_name = "SHELL", conflicts_with = "no_shell")]
    pub(crate) shell: Option<String>,

    /// Run commands without a shell, which is the default
    #[arg(short = 'N')]
    pub(crate) no_shell: bool,

    /// Count runs that fail as well: with any status, or with one of CODES
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true, default_missing_value = "all",
          value_parser = ignored)]
    pub(crate) ignore_failure: Option<IgnoredStatuses>,

    /// Name of a command on the page. It may be given once for each command
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(crate) command_name: Vec<String>,

    /// Set an environment variable for the commands
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,

    /// Standard input of commands: `null` or a file
    #[arg(long, value_name = "WHERE", default_value = "null", value_parser = stream)]
    pub(crate) input: StreamArg,

    /// Output of commands: `null`, `pipe` (read and thrown away), `inherit`, or a file. The page
    /// goes to the file of -o
    #[arg(long, value_name = "WHERE", default_value = "null", conflicts_with = "show_output", value_parser = stream)]
    pub(crate) output: StreamArg,

    /// Show the output of all runs (--output inherit)
    #[arg(long)]
    pub(crate) show_output: bool,
}

/// Revisions of a git repository.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Revisions")]
pub(crate) struct RevisionArgs {
    /// Run the command in this git revision, built by --build. Give --rev at least twice. `.` is
    /// the working tree as it is
    #[arg(long = "rev", value_name = "REV")]
    pub(crate) revisions: Vec<String>,

    /// Build a revision with CMD, in a shell in its own worktree. Builds are kept for each commit
    #[arg(long, value_name = "CMD", requires = "revisions")]
    pub(crate) build: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use crate::out::OutputPath;
    use clap::{CommandFactory, Parser};

    fn parsed(line: &[&str]) -> CompareArgs {
        match Cli::try_parse_from([&["dwell", "compare"], line].concat()).unwrap().verb {
            Verb::Compare(args) => *args,
            _ => panic!("not a comparison"),
        }
    }

    fn refused(line: &[&str]) -> String {
        Cli::try_parse_from([&["dwell", "compare"], line].concat()).unwrap_err().to_string()
    }

    #[test]
    fn the_page_goes_to_a_file_by_o_and_what_commands_print_by_output() {
        let args = parsed(&["-o", "page.html", "--output", "out.txt", "a", "b"]);
        assert_eq!(args.outputs.page_to, Some(OutputPath::File("page.html".into())));
        assert_eq!(args.parts.output, StreamArg::File("out.txt".into()));
        assert_eq!(parsed(&["--page", "-", "a", "b"]).outputs.page_to, Some(OutputPath::Stdout));
    }

    #[test]
    fn hyperfines_letters_mean_the_same() {
        let line =
            "-w 3 -m 5 -M 90 -s make -p sync -C ls -c rm -P n 1 8 -D 2 -L x a,b -N -i=1,2 -n one -n two a b";
        let args = parsed(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((args.warmup, args.min_pairs, args.max_pairs, args.pairs), (3, Some(5), Some(90), None));
        let CommandArgs { setup, prepare, conclude, cleanup, command_name, .. } = args.parts.clone();
        assert_eq!((setup.as_deref(), cleanup.as_deref()), (Some("make"), Some("rm")));
        assert_eq!((prepare, conclude), (vec!["sync".to_owned()], vec!["ls".to_owned()]));
        assert_eq!(command_name, ["one", "two"]);
        assert_eq!(args.parts.parameter_scan, ["n", "1", "8"]);
        assert_eq!(args.parts.parameter_list, ["x", "a,b"]);
        assert_eq!(args.parts.ignore_failure, Some(IgnoredStatuses::These(vec![1, 2])));
        assert_eq!(args.commands, ["a", "b"]);
        assert_eq!(parsed(&["-r", "30", "a"]).pairs, Some(30));
        assert_eq!(parsed(&["--runs", "30", "a"]).pairs, Some(30));
    }

    #[test]
    fn a_letter_with_optional_codes_takes_no_command() {
        let args = parsed(&["-i", "a", "b"]);
        assert_eq!((args.parts.ignore_failure, args.commands.len()), (Some(IgnoredStatuses::All), 2));
        let args = parsed(&["-S", "a | b", "c"]);
        assert!(args.parts.default_shell && args.commands.len() == 2);
        assert_eq!(parsed(&["--shell", "bash -e", "a"]).parts.shell.as_deref(), Some("bash -e"));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for line in [
            &["-r", "3", "-m", "2", "a"][..],
            &["-r", "3", "--for", "1s", "a"],
            &["-S", "-N", "a"],
            &["--on", "memory", "--metric", "x", "a"],
            &["--show-output", "--output", "pipe", "a"],
        ] {
            assert!(refused(line).contains("cannot be used with"), "{line:?}");
        }
        assert!(refused(&["-D", "2", "a"]).contains("--parameter-scan"));
        assert!(refused(&["--build", "make", "a"]).contains("--rev"));
        assert!(refused(&["--pairs", "0", "a"]).contains("pairs"));
        assert!(refused(&["--margin", "100%", "a"]).contains("margin"));
        assert!(refused(&[]).contains("COMMAND"));
    }

    #[test]
    fn arguments_may_follow_two_dashes() {
        assert_eq!(parsed(&["-q", "--", "-odd 1", "b"]).commands, ["-odd 1", "b"]);
        assert_eq!(parsed(&["--json", "-", "a"]).margin, 0.01);
    }

    #[test]
    fn the_examples_are_command_lines() {
        let verb = Cli::command().find_subcommand("compare").unwrap().clone();
        let examples = verb.get_after_help().unwrap().to_string();
        let lines = examples.lines().filter_map(|line| line.trim().strip_prefix("dwell compare "));
        let mut seen = 0;
        for line in lines {
            let words = shlex::split(line).unwrap();
            let args = parsed(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(!args.commands.is_empty(), "{line}");
            seen += 1;
        }
        assert!(seen >= 5, "{examples}");
    }
}

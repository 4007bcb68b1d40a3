//! How right dwell is and what it costs, beside other tools: `cargo xtask truth`, `bench`,
//! `attack`, `corpus`, `score`, which build this first and pass their arguments on.
//!
//! A file for each; this one only selects. dwell is seen from outside: what it says is its pages,
//! and its JSON as the types of `model`. Only `score` judges by itself, from recordings.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool of the developers")]

mod attack;
mod bench;
mod corpus;
#[cfg(test)]
mod sample;
mod truth;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, Subcommand};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

/// How right dwell is and what it costs, beside other tools.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", disable_version_flag = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// dwell, bare runs and the tools people use today
    Bench(bench::Bench),
    /// Each verb ended at random moments, by SIGKILL and seven signals; under limits, and in
    /// restricted environments (root): what is left, what hangs, who is harmed
    Attack(attack::Options),
    /// Accounts and classes of real programs against perf sched and other oracles, quiet or beside
    /// a busy loop on each CPU (root)
    Truth(truth::Options),
    /// Record the cases of corpus/ that have no recording of this host, and measure what their
    /// changes save (root)
    Corpus(corpus::RecordOptions),
    /// How right dwell is about the recordings of corpus/; fails where it is worse than
    /// corpus/score.txt
    Score(corpus::ScoreOptions),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().verb {
        Verb::Bench(asked) => bench::run(asked),
        Verb::Attack(options) => attack::run(&options),
        Verb::Truth(options) => truth::run(&options),
        Verb::Corpus(options) => corpus::record(options),
        Verb::Score(options) => corpus::score(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("evaluation: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The options of all that measures and prints tables.
#[derive(Args)]
struct Measuring {
    /// Print Markdown
    #[arg(long)]
    markdown: bool,
    /// Measure this dwell, and not what the sources give
    #[arg(long, value_name = "FILE")]
    dwell: Option<PathBuf>,
}

/// Reads a number that is not 0.
fn some() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// Reads the name of one of these.
fn one_of<T: Sync>(
    all: &'static [T],
    name: fn(&T) -> &'static str,
) -> impl Fn(&str) -> Result<&'static T, String> + Clone + Send + Sync {
    move |word| {
        all.iter().find(|one| name(one) == word).ok_or_else(|| {
            let names: BTreeSet<&str> = all.iter().map(name).collect();
            format!("there are {}", names.into_iter().collect::<Vec<_>>().join(", "))
        })
    }
}

/// Options as the words of a command line give them.
#[cfg(test)]
fn read<T: Args>(words: &[&str]) -> Result<T, clap::Error> {
    #[derive(Parser)]
    struct Alone<T: Args> {
        #[command(flatten)]
        options: T,
    }
    Alone::try_parse_from(["it"].iter().chain(words)).map(|alone| alone.options)
}

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

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask bench|attack|truth|corpus|score …

  bench [--quick] [--markdown] [--rounds N] [--without PEER,…] [--dwell FILE] [NAME…]
                                     dwell, bare runs and the tools people use today; NAME is a
                                     program or a set: cost, stacks, python-lines, ends; --without
                                     strace,perf-trace leaves out the slow ones
  bench pairs --before FILE [--quick] [--markdown] [--rounds N] [--dwell FILE] [NAME…]
                                     the same programs under two versions of dwell, by turns
  bench memory [--for 1h] [--dwell FILE]
                                     dwell's memory over a long run at 100,000 events a second
  bench bounds [--dwell FILE]
                                     results, memory and ends where programs do very much
  bench ladder [--rounds N] [--markdown] [--dwell FILE] [--dir DIR] [RUNG…]
                                     the ladder's rungs against other tools on the same operation
  bench loads [--rounds N] [--seconds N] [--markdown] [--dwell FILE] [LOAD…]
                                     what loads get done, against hackbench and stressapptest
  bench wake [--rounds N] [--seconds N] [--cpu N] [--spikes] [--markdown] [--dwell FILE] [LOAD…]
                                     wake-ups against cyclictest
  bench compare [--sittings N] [--markdown] [--dwell FILE] [QUESTION…]
                                     how right dwell compare is: same, beside, planted, why, hyperfine
  bench what-if [--rounds N] [--markdown] [--dwell FILE] [NAME…]
                                     what recordings say of edits, against programs without the thing
  attack [--kills N] [--seed N] [--markdown] [--dwell FILE] [verbs] [limits] [environments] [VERB…]
                                     each verb ended at random moments, by SIGKILL and seven signals; under
                                     limits, and in restricted environments (root): what is left, what
                                     hangs, who is harmed
  truth [--markdown] [--busy] [--kept] [--findings] [--dwell FILE] [PROGRAM…]
                                     accounts and classes of real programs against perf sched and
                                     other oracles, quiet or beside a busy loop on each CPU (root);
                                     --kept shows what was measured before
  corpus --host WORD [--busy] [--again] [--dwell FILE] [CASE…]
                                     records the cases of corpus/ that have no recording of this host,
                                     and measures what their changes save (root)
  score [--bless] [--misses] [CASE…] how right dwell is about the recordings of corpus/; fails where it
                                     is worse than corpus/score.txt, which --bless writes; --misses says
                                     instead what stood first where that is wrong, and why
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        [_, "help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        ["bench", options @ ..] => bench::run(options),
        ["attack", options @ ..] => attack::run(options),
        ["truth", options @ ..] => truth::run(options),
        ["corpus", options @ ..] => corpus::record(options),
        ["score", options @ ..] => corpus::score(options),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("evaluation: {error:#}");
            ExitCode::FAILURE
        }
    }
}

//! dwell shows where a program's wall-clock time goes.
//!
//! This crate is the wiring: it parses the command line, connects the stages (`observe`, `analyse`,
//! `report`, `store`) for each verb, and is the only one that prints or exits. It measures and
//! concludes nothing.

mod annotate;
mod child;
mod cli;
mod cmd;
mod exit;
mod kept;
mod look;
mod out;
mod output;
mod private;
mod progress;

mod stop;
mod suggest;
mod trial;

use cli::Verb;
use std::panic;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    // A panic of dwell must not look like an exit status of the program: Rust's would be 101.
    let done = panic::catch_unwind(|| match cli.verb {
        Verb::Run(args) => cmd::run::run(args),
        Verb::Attach(args) => cmd::attach::attach(args),
        Verb::Show(args) => cmd::report::show(args),
        Verb::Report(args) => cmd::report::report(&args),
        Verb::Ladder(args) => cmd::ladder::ladder(&args),
        Verb::Wake(args) => cmd::wake::wake(&args),
        Verb::Compare(args) => cmd::compare::compare(&args),
        Verb::Diff(args) => cmd::diff::diff(&args),
        Verb::Explain(args) => cmd::explain::explain(&args),
        Verb::Lab(args) => cmd::lab::lab(&args),
        Verb::Load(args) => cmd::load::load(&args),
        Verb::Doctor(args) => cmd::doctor::doctor(&args),
        Verb::Completions(args) => cmd::shell::completions(&args),
        Verb::Man(args) => cmd::shell::man(&args),
    });
    match done {
        Ok(Ok(status)) => ExitCode::from(status),
        Ok(Err(error)) => exit::failure(&error),
        Err(_) => ExitCode::from(exit::DWELL_FAILED),
    }
}

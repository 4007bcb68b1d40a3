//! dwell shows where a program's wall-clock time goes.
//!
//! This crate is the wiring: it parses the command line, connects the stages (`observe`, `analyse`,
//! `report`, `store`) for each verb, and is the only one that prints or exits. It measures and
//! concludes nothing.

mod annotate;
mod cache;
mod child;
mod cli;
mod cmd;
mod exit;
mod keep;
mod ladder_file;
mod last_ladder;
mod look;
mod out;
mod output;
mod private;
mod progress;

mod live_run;
mod stop;
mod suggest;
mod to_reader;

use cli::Verb;
use keep::ResultStore;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: sys::allocator::Allocator = sys::allocator::Allocator;

fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    if cli.store.id_to.is_some() {
        // `dwell mcp` holds signals back, and what it started inherits that.
        sys::signals::unblock();
        let _ = sys::worker::interrupted_with_parent();
    }
    let mut keeper = ResultStore::new(&cli.store);
    let kept = &mut keeper;
    // A panic of dwell must not look like an exit status of the program: Rust's would be 101.
    let done = panic::catch_unwind(AssertUnwindSafe(|| match cli.verb {
        Verb::Run(args) => cmd::run::run(args, kept),
        Verb::Attach(args) => cmd::attach::attach(args, kept),
        Verb::Show(args) => cmd::show::show(args, kept),
        Verb::Report(args) => cmd::report::report(&args, kept),
        Verb::Export(args) => cmd::export::export(&args, kept),
        Verb::Push(args) => cmd::push::push(&args, kept),
        Verb::Ladder(args) => cmd::ladder::ladder(&args, kept),
        Verb::Wake(args) => cmd::wake::wake(&args, kept),
        Verb::Compare(args) => cmd::compare::compare(&args, kept),
        Verb::Diff(args) => cmd::diff::diff(args, kept),
        Verb::Explain(args) => cmd::explain::explain(&args),
        Verb::Lab(args) => cmd::lab::lab(&args, kept),
        Verb::Load(args) => cmd::load::load(&args, kept),
        Verb::Mcp(args) => cmd::mcp::mcp(&args, &cli.store),
        Verb::List(args) => cmd::list::list(&args, kept),
        Verb::Tag(args) => cmd::tag::tag(&args, kept),
        Verb::Note(args) => cmd::note::note(&args, kept),
        Verb::Rm(args) => cmd::rm::rm(&args, kept),
        Verb::Store(args) => cmd::store::store(&args, kept),
        Verb::Doctor(args) => cmd::doctor::doctor(&args, kept),
        Verb::Completions(args) => cmd::shell::completions(&args),
        Verb::Man(args) => cmd::shell::man(&args),
    }));
    // Everything is out, and whatever becomes of this changes no status.
    if done.is_ok() {
        keeper.write();
    }
    let status = match done {
        Ok(Ok(status)) => ExitCode::from(status),
        Ok(Err(error)) => exit::failure(&error),
        Err(_) => ExitCode::from(exit::DWELL_FAILED),
    };
    sys::apart::leave_behind();
    status
}

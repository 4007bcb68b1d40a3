//! `dwell-work NAME [ARGS]` runs one program of known truth; without arguments it lists them all.

use dwell_work::{Failure, all, find, process};
use std::io::Write;
use std::process::ExitCode;

/// No program takes longer, on the slowest machine; one that does is stuck.
const LIMIT_S: u32 = 120;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "dwell-work {}: {error}", args.join(" "));
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    let Some((name, rest)) = args.split_first() else {
        for program in all() {
            writeln!(out, "{}\t{}\t{}", program.name, program.what, program.truth)?;
        }
        return Ok(());
    };
    let program = find(name).ok_or("no such program; without arguments dwell-work lists them")?;
    process::end_after(LIMIT_S);
    if let Some(truth) = (program.run)(rest)? {
        // One write: lines of several processes on one pipe do not mix.
        out.write_all(truth.line(program.name).as_bytes())?;
    }
    Ok(())
}

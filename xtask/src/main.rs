//! The project's own chores: `cargo xtask fast`, `test`, `setup`, `ci`, `bpf`, `tidy`, `dist`,
//! `schema`, `fuzz`, `kernels`; `bench`, `attack` and `truth` are the evaluation's (`evaluation/`).
//!
//! One file for each subcommand; this one only selects. Nothing here is part of the released dwell.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool of the developers")]

#[macro_use]
#[path = "../../crates/observe/src/layout.rs"]
mod layout;

mod bpf;
#[path = "../../crates/observe/bpf_build.rs"]
mod bpf_build;
#[path = "../../crates/observe/src/sources/bpf/btf.rs"]
#[allow(dead_code, reason = "observe uses the rest")]
mod btf;
mod deny;
mod dist;
mod fuzz;
mod kernel_types;
mod kernels;
mod lanes;
mod package;
mod privilege;
mod programs;
mod schema;
mod setup;
#[path = "../../crates/observe/src/spikes/wire.rs"]
mod spikes_wire;
mod supervise;
mod test;
mod tidy;
#[path = "../../crates/observe/src/sources/bpf/wire.rs"]
mod wire;

use anyhow::Context;
use programs::TESTED;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use workshop::shell;

const USAGE: &str = "\
cargo xtask VERB

  fast                               at each change, without root: formatting, layers, the tests
                                     of the pure crates
  test [--no-setup] [--keep-going]   install what the tests need, then run every check (root)
  setup                              install what the tests need, and no more
  ci                                 what CI does: test
  bpf [--check]                      make the headers of layouts and the committed BPF objects, or check
                                     them against the source
  kernel-types NAME=FILE…            keep what tests need of other kernels' types: of a vmlinuz, or of
                                     its /sys/kernel/btf/vmlinux
  tidy                               the checks on layers, documents and files alone
  dist [--tested] [ARCH[=FILE]…]     static binaries, tarballs and Debian packages for both
                                     architectures, with checksums, into target/dist
  schema DIR                         the JSON Schemas of what dwell writes, into a directory
  bench, attack, truth …             what dwell costs, what is left when it is killed, how right it is:
                                     the evaluation, built for that; `cargo xtask bench help` lists it
  fuzz [--for 60s] [--in-all 60s] [--markdown] [--kept] [TARGET…]
                                     libFuzzer on every decoder of what others can forge, this long each,
                                     or all of them together; --kept prints the sums of all runs so far
  kernels --verify [--bless] [KERNEL…]
                                     every BPF program of dwell on Debian's kernels, in QEMU: which each
                                     takes, and the work of its verifier, against what is kept; --bless
                                     keeps what is there now
  kernels --doctor [KERNEL…]         what `dwell doctor` says there as root, as a user, and with the
                                     capabilities that it recommends: printed, and kept in
                                     target/kernels-run/KERNEL.doctor.txt
  kernels [--markdown] [--kept] [--jobs N] [--cpus N] [KERNEL…]
                                     dwell on programs of known truth on these kernels: as root, with the
                                     capabilities that it recommends, as a user; --kept shows what was
                                     measured before
  kernels --record FILE KERNEL -- [OPTION…] PROGRAM [ARGUMENT…]
                                     what dwell run records there of a static program
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["supervise", command @ ..] = arguments.as_slice() {
        return supervise::run(command).unwrap_or_else(|error| complain(&error));
    }
    let done = match arguments.as_slice() {
        ["fast"] => test::run_fast(),
        ["test", options @ ..] => test::run_whole(options),
        ["ci"] => test::run_whole(&[]),
        ["setup"] => setup::run_all(),
        ["bpf"] => bpf::build(),
        ["bpf", "--check"] => bpf::check(),
        ["kernel-types", of @ ..] => kernel_types::run(of),
        ["tidy"] => tidy::run(),
        ["dist", rest @ ..] => dist::run(rest),
        ["schema", directory] => schema::write(Path::new(directory)),
        ["bench" | "attack" | "truth" | "corpus" | "score", ..] => evaluate(&arguments),
        ["fuzz", options @ ..] => fuzz::fuzz(options),
        ["kernels", options @ ..] => kernels::run(options),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

/// Builds the evaluation and becomes it.
fn evaluate(arguments: &[&str]) -> anyhow::Result<()> {
    let run = ["run", "--quiet", "--profile", TESTED, "--package", "dwell-evaluation", "--"];
    // Its arguments name files as seen from here.
    let mut evaluation = shell::cargo(&run);
    Err(evaluation.args(arguments).current_dir(".").stdin(Stdio::inherit()).exec())
        .context("cannot start cargo")
}

fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("xtask: {error:#}");
    ExitCode::FAILURE
}

//! The project's own tasks: `cargo xtask fast`, `test`, `setup`, `ci`, `bpf`, `tidy`, `dist`,
//! `bench`, `attack`, `fuzz`, `truth`, `kernels`.
//!
//! One file for each subcommand; this one only selects. Nothing here is part of the released dwell.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool of the developers")]

#[macro_use]
#[path = "../../crates/observe/src/layout.rs"]
mod layout;

mod attack;
mod bench;
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
mod setup;
mod shell;
#[path = "../../crates/observe/src/spikes/wire.rs"]
mod spikes_wire;
mod supervise;
mod test;
mod tidy;
mod truth;
#[path = "../../crates/observe/src/sources/bpf/wire.rs"]
mod wire;

use std::process::ExitCode;

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
  truth [--markdown] [--busy] [--kept] [--findings] [--dwell FILE] [PROGRAM…]
                                     accounts and classes of real programs against perf sched and
                                     other oracles, quiet or beside a busy loop on each CPU (root);
                                     --kept shows what was measured before
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
        ["bench", options @ ..] => bench::run(options),
        ["attack", options @ ..] => attack::run(options),
        ["fuzz", options @ ..] => fuzz::fuzz(options),
        ["truth", options @ ..] => truth::run(options),
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

fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("xtask: {error:#}");
    ExitCode::FAILURE
}

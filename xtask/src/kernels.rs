//! `cargo xtask kernels`: dwell on other kernels than this machine's, booted in QEMU.
//!
//! `--verify` loads every BPF program with dwell's own loader and holds what the verifier did
//! against what is kept; two kernels of it are part of the whole lane. `--doctor` prints what
//! `dwell doctor` says there, `--record` keeps what dwell records there of a program, for the
//! golden recordings that need what this machine lacks. Without these dwell runs on programs of
//! known truth, and a table is made.

mod checks;
mod doctors;
mod fetch;
mod initramfs;
mod lane;
mod plans;
mod qemu;
mod record;
mod table;
mod verified;
mod verify;
mod which;

pub(crate) use fetch::KEYS;

use crate::dist;
use crate::programs::TESTED;
use crate::shell::{cargo, run as run_shown};
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use which::Kernel;

#[derive(Debug, Default)]
struct Options {
    verify: bool,
    doctor: bool,
    bless: bool,
    markdown: bool,
    kept: bool,
    /// CPUs of the machines that have two as a rule.
    cpus: Option<u32>,
    /// Where the recording of a program goes.
    record: Option<PathBuf>,
    /// That program with its arguments, after the options of `dwell run`.
    program: Vec<String>,
    /// Machines at a time; 0: one for each CPU.
    jobs: usize,
    kernels: Vec<Kernel>,
}

/// Boots kernels.
///
/// # Errors
/// For options that are not understood; when a kernel cannot be fetched or booted, or does not do
/// what is kept.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let options = options(arguments)?;
    if options.kept {
        return show(&options);
    }
    build(&options.kernels)?;
    if let Some(to) = &options.record {
        return record::run(&options.kernels, to, &options.program);
    }
    if options.verify {
        return verify::run(&options.kernels, options.bless);
    }
    if options.doctor {
        return doctors::run(&options.kernels);
    }
    lane::run(&options.kernels, options.jobs, options.cpus)?;
    show(&options)
}

/// What was kept of these kernels.
fn show(options: &Options) -> Result<()> {
    let rows: Vec<_> = options.kernels.iter().filter_map(|kernel| lane::kept(kernel.name)).collect();
    println!("{}", table::render(&rows, options.markdown));
    let wrong = rows.iter().filter(|row| !table::wrong(row).is_empty()).map(|row| row.kernel);
    let wrong: Vec<&str> = wrong.collect();
    if wrong.is_empty() { Ok(()) } else { bail!("not right on {}", wrong.join(", ")) }
}

/// Fetches the kernels of the whole lane.
///
/// # Errors
/// When one cannot be fetched.
pub(crate) fn fetch_whole() -> Result<()> {
    which::named(which::WHOLE)?.iter().try_for_each(|kernel| fetch::fetch(kernel).map(drop))
}

/// The kernels of the whole lane take every program of dwell; process 1 is built already.
///
/// # Errors
/// As [`run`].
pub(crate) fn check() -> Result<()> {
    verify::run(&which::named(which::WHOLE)?, false)
}

fn options(arguments: &[&str]) -> Result<Options> {
    let mut options = Options::default();
    let mut names = Vec::new();
    let mut words = arguments.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "--jobs" => {
                options.jobs =
                    words.next().and_then(|word| word.parse().ok()).context("--jobs wants a number")?;
            }
            "--cpus" => {
                options.cpus =
                    Some(words.next().and_then(|word| word.parse().ok()).context("--cpus wants a number")?);
            }
            "--record" => options.record = Some(words.next().context("--record wants a file")?.into()),
            "--" => options.program = words.by_ref().map(str::to_owned).collect(),
            "--verify" => options.verify = true,
            "--doctor" => options.doctor = true,
            "--bless" => options.bless = true,
            "--markdown" => options.markdown = true,
            "--kept" => options.kept = true,
            name if name.starts_with('-') => bail!("unknown option {name}"),
            name => names.push(name),
        }
    }
    ensure!(options.record.is_some() != options.program.is_empty(), "--record FILE KERNEL -- PROGRAM");
    options.kernels = which::named(&names)?;
    Ok(options)
}

/// Builds what runs in the machines.
fn build(kernels: &[Kernel]) -> Result<()> {
    for arch in ["x86_64", "aarch64"] {
        if kernels.iter().any(|kernel| kernel.arch == arch) {
            let mut build = cargo(&["build", "--profile", TESTED, "--locked", "--bins"]);
            build.args(["dwell", "dwell-guest", "dwell-work"].map(|name| format!("--package={name}")));
            dist::target_of(&mut build, arch);
            run_shown(&mut build)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_chosen_by_name() {
        let chosen = options(&["--verify", "6.1", "7.2"]).unwrap();
        assert_eq!((chosen.verify, chosen.kernels.len()), (true, 2));
        assert_eq!(options(&["--bless"]).unwrap().kernels.len(), which::ALL.len());
        let recorded = options(&["--record", "x", "6.12-arm64", "--", "--rate", "9", "./a"]).unwrap();
        assert_eq!((recorded.program.len(), recorded.kernels.len()), (3, 1));
        assert!(options(&["--record", "x", "6.1"]).is_err() && options(&["6.1", "--", "./a"]).is_err());
        assert_eq!(options(&["--cpus", "1", "6.1"]).unwrap().cpus, Some(1));
        assert!(options(&["2.4"]).is_err() && options(&["--verfiy"]).is_err());
    }
}

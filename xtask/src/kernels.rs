//! `cargo xtask kernels`: dwell on other kernels than this machine's, booted in QEMU.
//!
//! `--verify` loads every BPF program with dwell's own loader and holds what the verifier did
//! against what is kept; two kernels of it are part of the whole lane.

mod fetch;
mod initramfs;
mod qemu;
mod verified;
mod which;

pub(crate) use fetch::KEYS;

use crate::dist;
use crate::programs::TESTED;
use crate::shell::{cargo, root, run as run_shown};
use anyhow::{Context, Result, bail};
use initramfs::Archive;
use qemu::{Machine, Said};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use verified::Kept;
use which::Kernel;

/// A machine that only loads programs; most of it is the boot.
const VERIFY_LIMIT: Duration = Duration::from_secs(300);
const VERIFY_MEMORY_MB: u32 = 768;

#[derive(Debug, Default)]
struct Options {
    verify: bool,
    bless: bool,
    kernels: Vec<Kernel>,
}

/// Boots kernels.
///
/// # Errors
/// For options that are not understood; when a kernel cannot be fetched or booted, or does not do
/// what is kept.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let options = options(arguments)?;
    build(&options.kernels)?;
    if options.verify {
        return verify(&options.kernels, options.bless);
    }
    bail!("only --verify is there")
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
    verify(&which::named(which::WHOLE)?, false)
}

fn options(arguments: &[&str]) -> Result<Options> {
    let mut options = Options::default();
    let mut names = Vec::new();
    for &word in arguments {
        match word {
            "--verify" => options.verify = true,
            "--bless" => options.bless = true,
            name if name.starts_with('-') => bail!("unknown option {name}"),
            name => names.push(name),
        }
    }
    options.kernels = which::named(&names)?;
    Ok(options)
}

/// Builds what runs in the machines.
fn build(kernels: &[Kernel]) -> Result<()> {
    for arch in ["x86_64", "aarch64"] {
        if kernels.iter().any(|kernel| kernel.arch == arch) {
            let mut build = cargo(&["build", "--profile", TESTED, "--locked", "--package", "dwell-guest"]);
            dist::target_of(&mut build, arch);
            run_shown(&mut build)?;
        }
    }
    Ok(())
}

fn kept_path() -> PathBuf {
    root().join("xtask/src/kernels/verified.txt")
}

/// Loads every program on each kernel.
fn verify(kernels: &[Kernel], bless: bool) -> Result<()> {
    let path = kept_path();
    let mut kept = Kept::read(&fs::read_to_string(&path).unwrap_or_default())?;
    let mut failed = Vec::new();
    for kernel in kernels {
        let said = verify_one(kernel);
        let complaints = match &said {
            Err(error) => vec![format!("{error:#}")],
            Ok((package, said)) => {
                let outcomes = verified::outcomes(said);
                if bless {
                    kept.bless(kernel.name, &outcomes);
                }
                let refused =
                    outcomes.values().filter(|outcome| matches!(outcome, verified::Outcome::Refused(_)));
                println!(
                    "{:<10} {} programs, {} refused, {:.0} s: Linux {} ({package})",
                    kernel.name,
                    outcomes.len(),
                    refused.count(),
                    said.took.as_secs_f64(),
                    said.release(),
                );
                kept.complaints(kernel.name, &outcomes)
            }
        };
        complaints.iter().for_each(|complaint| println!("{:<10} {complaint}", kernel.name));
        if !complaints.is_empty() {
            failed.push(kernel.name);
        }
    }
    if bless {
        let order: Vec<&str> = which::ALL.iter().map(|kernel| kernel.name).collect();
        fs::write(&path, kept.text(&order)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!(
        "not as kept on {}\nwhat is right so: cargo xtask kernels --verify --bless {}",
        failed.join(", "),
        failed.join(" ")
    )
}

fn verify_one(kernel: &Kernel) -> Result<(String, Said)> {
    let fetched = fetch::fetch(kernel)?;
    let mut archive = Archive::new();
    archive.program("init", &dist::binary(TESTED, kernel.arch, "dwell-guest"))?;
    archive.file("plan.json", br#"[{"do":"verify"}]"#);
    let machine = Machine {
        kernel,
        image: &fetched.image,
        name: &format!("verify-{}", kernel.name),
        cpus: 2,
        memory_mb: VERIFY_MEMORY_MB,
        counted: false,
        append: "",
        more: &[],
        limit: VERIFY_LIMIT,
    };
    Ok((fetched.package, qemu::boot(&machine, &archive.bytes())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_chosen_by_name() {
        let chosen = options(&["--verify", "6.1", "7.2"]).unwrap();
        assert_eq!((chosen.verify, chosen.kernels.len()), (true, 2));
        assert_eq!(options(&["--bless"]).unwrap().kernels.len(), which::ALL.len());
        assert!(options(&["2.4"]).is_err() && options(&["--verfiy"]).is_err());
    }

    #[test]
    fn what_is_kept_is_read() {
        let kept = fs::read_to_string(kept_path()).unwrap();
        let order: Vec<&str> = which::ALL.iter().map(|kernel| kernel.name).collect();
        assert_eq!(Kept::read(&kept).unwrap().text(&order), kept);
    }
}

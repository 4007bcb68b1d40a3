//! Every BPF program on each kernel, against what is kept (`verified.rs`).

use super::fetch;
use super::initramfs::Archive;
use super::qemu::{self, Machine, Said};
use super::verified::{Kept, Outcome, outcomes};
use super::which::{self, Kernel};
use crate::dist;
use crate::programs::TESTED;
use crate::shell::root;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// A machine that only loads programs; most of it is the boot. Beside a load of 10 on two CPUs an
/// emulated aarch64 takes 200 s and more.
const LIMIT: Duration = Duration::from_secs(900);
const MEMORY_MB: u32 = 768;

fn kept_path() -> PathBuf {
    root().join("xtask/src/kernels/verified.txt")
}

/// Loads every program on each kernel.
pub(super) fn run(kernels: &[Kernel], bless: bool) -> Result<()> {
    let path = kept_path();
    let mut kept = Kept::read(&fs::read_to_string(&path).unwrap_or_default())?;
    let mut failed = Vec::new();
    for kernel in kernels {
        let said = one(kernel);
        let complaints = match &said {
            Err(error) => vec![format!("{error:#}")],
            Ok((package, said)) => {
                let outcomes = outcomes(said);
                if bless {
                    kept.bless(kernel.name, &outcomes);
                }
                let refused = outcomes.values().filter(|outcome| matches!(outcome, Outcome::Refused(_)));
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

fn one(kernel: &Kernel) -> Result<(String, Said)> {
    let fetched = fetch::fetch(kernel)?;
    let mut archive = Archive::new();
    archive.program("init", &dist::binary(TESTED, kernel.arch, "dwell-guest"))?;
    archive.file("plan.json", br#"[{"do":"verify"}]"#);
    let machine = Machine {
        kernel,
        image: &fetched.image,
        name: &format!("verify-{}", kernel.name),
        cpus: 2,
        memory_mb: MEMORY_MB,
        counted: false,
        append: "",
        more: &[],
        limit: LIMIT,
    };
    Ok((fetched.package, qemu::boot(&machine, &archive.bytes())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read() {
        let kept = fs::read_to_string(kept_path()).unwrap();
        let order: Vec<&str> = which::ALL.iter().map(|kernel| kernel.name).collect();
        assert_eq!(Kept::read(&kept).unwrap().text(&order), kept);
    }
}

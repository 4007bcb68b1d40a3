//! `cargo xtask kernels`: dwell on other kernels than this machine's, booted in QEMU.
//!
//! `--verify` loads every BPF program with dwell's own loader and holds what the verifier did
//! against what is kept; two kernels of it are part of the whole lane. Without it dwell runs there
//! on programs of known truth, and a table is made.

mod checks;
mod fetch;
mod initramfs;
mod plans;
mod qemu;
mod table;
mod verified;
mod which;

pub(crate) use fetch::KEYS;

use crate::dist;
use crate::programs::TESTED;
use crate::shell::{cargo, program, root, run as run_shown, target};
use anyhow::{Context, Result, bail};
use initramfs::Archive;
use qemu::{Machine, Said};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use table::Row;
use verified::Kept;
use which::Kernel;

/// A machine that runs dwell. Under icount it takes one CPU of this machine.
const LIMIT: Duration = Duration::from_secs(900);
const MEMORY_MB: u32 = 1536;
const DISK_BYTES: u64 = 256 << 20;

/// The kernel on which what is stricter or older than usual is tried, and that which has many CPUs.
const VARIED: &str = "6.12";
const LARGE: &str = "6.18";

/// A machine that only loads programs; most of it is the boot.
const VERIFY_LIMIT: Duration = Duration::from_secs(300);
const VERIFY_MEMORY_MB: u32 = 768;

#[derive(Debug, Default)]
struct Options {
    verify: bool,
    bless: bool,
    markdown: bool,
    kept: bool,
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
    if options.verify {
        return verify(&options.kernels, options.bless);
    }
    for kernel in &options.kernels {
        let said = machines(kernel);
        let row = Row { kernel: kernel.name, said: said.map_err(|error| format!("{error:#}")) };
        let wrong = table::wrong(&row);
        let took = row.said.as_ref().map_or(0, |said| said.took.as_secs());
        println!("{}: {} wrong, {took} s", kernel.name, wrong.len());
        wrong.iter().for_each(|what| println!("  {what}"));
        keep(&row)?;
    }
    show(&options)
}

/// What was kept of these kernels.
fn show(options: &Options) -> Result<()> {
    let rows: Vec<Row> = options.kernels.iter().filter_map(|kernel| kept_row(kernel.name)).collect();
    println!("{}", table::render(&rows, options.markdown));
    let wrong = rows.iter().filter(|row| !table::wrong(row).is_empty()).map(|row| row.kernel);
    let wrong: Vec<&str> = wrong.collect();
    if wrong.is_empty() { Ok(()) } else { bail!("not right on {}", wrong.join(", ")) }
}

fn row_path(name: &str) -> PathBuf {
    target().join("kernels-run").join(format!("{name}.row.json"))
}

/// Keeps what a kernel's machines said, so that the lane can be run in parts.
fn keep(row: &Row) -> Result<()> {
    let lines = match &row.said {
        Ok(said) => json!({"lines": said.lines, "seconds": said.took.as_secs()}),
        Err(why) => json!({"why": why}),
    };
    let path = row_path(row.kernel);
    fs::write(&path, lines.to_string()).with_context(|| format!("cannot write {}", path.display()))
}

fn kept_row(kernel: &'static str) -> Option<Row> {
    let kept: Value = serde_json::from_slice(&fs::read(row_path(kernel)).ok()?).ok()?;
    let said = match kept["why"].as_str() {
        Some(why) => Err(why.to_owned()),
        None => Ok(Said {
            lines: kept["lines"].as_array()?.clone(),
            took: Duration::from_secs(kept["seconds"].as_u64()?),
        }),
    };
    Some(Row { kernel, said })
}

/// All machines of a kernel, and what they said together.
fn machines(kernel: &Kernel) -> Result<Said> {
    let mut said = machine(kernel, &Plan { name: "usual", steps: plans::usual(kernel), ..Plan::COUNTED })?;
    let mut more = Vec::new();
    if kernel.name == VARIED {
        more.push(Plan { name: "stricter", steps: plans::stricter(), ..Plan::COUNTED });
        more.push(Plan { name: "older", steps: plans::older(), append: plans::OLDER, ..Plan::COUNTED });
    }
    if kernel.name == LARGE {
        more.push(Plan { name: "many", steps: plans::many(), cpus: 64, more: MANY, ..Plan::COUNTED });
    }
    for plan in more {
        match machine(kernel, &plan) {
            Ok(more) => {
                said.lines.extend(more.lines);
                said.took += more.took;
            }
            // The others stand nevertheless.
            Err(error) => said.lines.push(json!({"step": plan.name, "error": format!("{error:#}")})),
        }
    }
    Ok(said)
}

/// Two nodes with half of the CPUs and of the memory each.
const MANY: &[&str] = &[
    "-object",
    "memory-backend-ram,id=m0,size=768M",
    "-object",
    "memory-backend-ram,id=m1,size=768M",
    "-numa",
    "node,nodeid=0,cpus=0-31,memdev=m0",
    "-numa",
    "node,nodeid=1,cpus=32-63,memdev=m1",
];

/// What a machine is to do, and how it is made.
struct Plan {
    name: &'static str,
    steps: Value,
    counted: bool,
    cpus: u32,
    append: &'static str,
    more: &'static [&'static str],
}

impl Plan {
    const COUNTED: Self =
        Self { name: "", steps: Value::Null, counted: true, cpus: 2, append: "", more: &[] };
}

fn machine(kernel: &Kernel, plan: &Plan) -> Result<Said> {
    let fetched = fetch::fetch(kernel)?;
    let mut archive = Archive::new();
    archive.program("init", &dist::binary(TESTED, kernel.arch, "dwell-guest"))?;
    archive.program("bin/dwell", &without_symbols(kernel.arch)?)?;
    archive.program("bin/dwell-work", &dist::binary(TESTED, kernel.arch, "dwell-work"))?;
    archive.file("etc/passwd", b"root:x:0:0::/:/bin/false\nuser:x:1000:1000::/tmp:/bin/false\n");
    archive.file("etc/group", b"root:x:0:\nuser:x:1000:\n");
    archive.file("plan.json", plan.steps.to_string().as_bytes());
    let disk = disk()?;
    let drive = format!("file={},if=none,id=disk,format=raw,snapshot=on", disk.display());
    let mut more = vec!["-drive", &drive, "-device", "nvme,drive=disk,serial=1"];
    more.extend(plan.more);
    let machine = Machine {
        kernel,
        image: &fetched.image,
        name: &format!("{}-{}", kernel.name, plan.name),
        cpus: plan.cpus,
        memory_mb: MEMORY_MB,
        counted: plan.counted,
        append: plan.append,
        more: &more,
        limit: LIMIT,
    };
    qemu::boot(&machine, &archive.bytes())
}

/// The binary without its symbols, which are most of it: each boot copies it into memory.
fn without_symbols(arch: &str) -> Result<PathBuf> {
    let (from, to) = (dist::binary(TESTED, arch, "dwell"), dist::binary(TESTED, arch, "dwell-small"));
    let when = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
    if when(&to) < when(&from) {
        run_shown(program("llvm-strip", &["-o"]).arg(&to).arg(&from))?;
    }
    Ok(to)
}

/// A disk with an empty ext4; machines change copies of it.
fn disk() -> Result<PathBuf> {
    let path = target().join("kernels-run/disk.img");
    if !path.exists() {
        fs::create_dir_all(target().join("kernels-run"))?;
        fs::File::create(&path)?.set_len(DISK_BYTES)?;
        run_shown(program("mkfs.ext4", &["-q", "-F"]).arg(&path))?;
    }
    Ok(path)
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
            "--markdown" => options.markdown = true,
            "--kept" => options.kept = true,
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
            let mut build = cargo(&["build", "--profile", TESTED, "--locked", "--bins"]);
            build.args(["dwell", "dwell-guest", "dwell-work"].map(|name| format!("--package={name}")));
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

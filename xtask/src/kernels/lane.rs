//! The lane: each kernel's machines, several kernels at a time. What they said is kept, so that it
//! can be run in parts.

use super::fetch;
use super::initramfs::Archive;
use super::plans;
use super::qemu::{self, Machine, Said};
use super::table::{self, Row};
use super::which::Kernel;
use crate::dist;
use crate::programs::TESTED;
use crate::shell::{program, run as run_shown, target};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::available_parallelism;
use std::time::Duration;

/// A machine that runs dwell. Under icount it takes one CPU of this machine.
const LIMIT: Duration = Duration::from_secs(1800);
const MEMORY_MB: u32 = 1536;
const DISK_BYTES: u64 = 256 << 20;

/// The kernel on which what is stricter or older than usual is tried, and that which has many CPUs.
const VARIED: &str = "6.12";
const LARGE: &str = "6.18";

/// Runs the machines of these kernels, this many at a time (0: one for each CPU); `cpus`: with so
/// many where they have two as a rule.
///
/// # Errors
/// When there is no room for results. A kernel that does not boot is a row that says so.
pub(super) fn run(kernels: &[Kernel], jobs: usize, cpus: Option<u32>) -> Result<()> {
    let jobs = if jobs == 0 { available_parallelism().map_or(1, NonZero::get) } else { jobs };
    // Before any two need it.
    disk()?;
    for kernel in kernels {
        without_symbols(kernel.arch)?;
    }
    let queue = Mutex::new(kernels.iter());
    let next = || queue.lock().ok().and_then(|mut queue| queue.next());
    std::thread::scope(|scope| {
        let work = || {
            while let Some(kernel) = next() {
                let said = machines(kernel, cpus).map_err(|error| format!("{error:#}"));
                let row = Row { kernel: kernel.name, said };
                report(&row);
                keep(&row)?;
            }
            anyhow::Ok(())
        };
        let all: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        all.into_iter().try_for_each(|one| one.join().expect("no machine panics"))
    })
}

fn report(row: &Row) {
    let wrong = table::wrong(row);
    let took = row.said.as_ref().map_or(0, |said| said.took.as_secs());
    let lines: String = wrong.iter().map(|what| format!("\n  {what}")).collect();
    println!("{}: {} wrong, {took} s{lines}", row.kernel, wrong.len());
}

/// This machine's C library: doctor tries uprobes in one.
const LIBRARY: &str = "lib/x86_64-linux-gnu/libc.so.6";

/// The machine that is only asked for what doctor says: nothing is timed in it.
///
/// # Errors
/// As of [`qemu::boot`].
pub(super) fn doctors(kernel: &Kernel) -> Result<Said> {
    disk()?;
    without_symbols(kernel.arch)?;
    let plan = Plan { name: "doctors", steps: plans::doctors(kernel), ..Plan::COUNTED };
    // With two CPUs at once kernels of 6.18 and 7.2 panicked in code that they write over to attach
    // to tracepoints (`Oops: int3`).
    machine(kernel, &Plan { counted: false, cpus: 1, ..plan })
}

/// All machines of a kernel, and what they said together.
fn machines(kernel: &Kernel, cpus: Option<u32>) -> Result<Said> {
    let cpus = cpus.unwrap_or(Plan::COUNTED.cpus);
    let usual = Plan { name: "usual", steps: plans::usual(kernel), cpus, ..Plan::COUNTED };
    let mut said = machine(kernel, &usual)?;
    let mut more = Vec::new();
    if kernel.name == VARIED {
        more.push(Plan { name: "stricter", steps: plans::stricter(), ..Plan::COUNTED });
        more.push(Plan { name: "older", steps: plans::older(), append: plans::OLDER, ..Plan::COUNTED });
    }
    if kernel.arch != "x86_64" {
        // With two CPUs in one thread of the emulator, clocks of one pass while the other runs:
        // then samples of the first are lost.
        more.push(Plan { name: "verbs", steps: Value::Array(plans::verbs()), cpus: 1, ..Plan::COUNTED });
    }
    if kernel.name == LARGE {
        more.push(Plan { name: "many", steps: plans::many(), cpus: 64, more: NODES, ..Plan::COUNTED });
        more.push(Plan { name: "late", steps: plans::late(), ..Plan::COUNTED });
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
const NODES: &[&str] = &[
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
    let library = Path::new("/").join(LIBRARY);
    if !plan.counted && kernel.arch == "x86_64" && library.exists() {
        ["lib", "lib/x86_64-linux-gnu"].iter().for_each(|name| archive.directory(name));
        archive.program(LIBRARY, &library)?;
    }
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
pub(super) fn without_symbols(arch: &str) -> Result<PathBuf> {
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

/// What was kept of a kernel.
pub(super) fn kept(kernel: &'static str) -> Option<Row> {
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

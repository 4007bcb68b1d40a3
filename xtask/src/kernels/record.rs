//! A program recorded by dwell on another kernel, in time that is made of instructions: for golden
//! recordings of what this machine lacks, such as a processor with counters.

use super::fetch;
use super::initramfs::Archive;
use super::lane::without_symbols;
use super::qemu::{self, Machine};
use super::which::Kernel;
use crate::dist;
use crate::programs::TESTED;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A short program; most of it is the boot, and loading dwell's own.
const LIMIT: Duration = Duration::from_secs(900);
const LIMIT_S: u64 = 300;
const MEMORY_MB: u32 = 1536;

/// Records a static program of the kernel's architecture into `to`. `words`: options of `dwell
/// run`, then the program, as a path with a slash, with its arguments.
///
/// # Errors
/// The machine does not boot, or nothing was recorded.
pub(super) fn run(kernels: &[Kernel], to: &Path, words: &[String]) -> Result<()> {
    let [kernel] = kernels else { bail!("a recording is made on one kernel") };
    let fetched = fetch::fetch(kernel)?;
    let at = words.iter().position(|word| word.contains('/')).context("no program with a path")?;
    let (options, program) = words.split_at(at);
    let from = Path::new(&program[0]);
    let name = from.file_name().context("the program has no name")?.to_string_lossy().into_owned();
    let mut archive = Archive::new();
    archive.program("init", &dist::binary(TESTED, kernel.arch, "dwell-guest"))?;
    archive.program("bin/dwell", &without_symbols(kernel.arch)?)?;
    archive.program(&format!("bin/{name}"), from)?;
    archive.file("etc/passwd", b"root:x:0:0::/:/bin/false\n");
    let kept = "/tmp/kept.dwell";
    let mut argv: Vec<String> = ["/bin/dwell", "run", "--keep", kept].map(str::to_owned).into();
    argv.extend(options.iter().cloned());
    argv.extend(["--".to_owned(), format!("/bin/{name}")]);
    argv.extend(program[1..].iter().cloned());
    let plan = json!([
        {"do": "mount", "kind": "cgroup2", "at": "/sys/fs/cgroup"},
        {"do": "run", "name": "record", "argv": argv, "limit_s": LIMIT_S},
        {"do": "send", "path": kept},
    ]);
    archive.file("plan.json", plan.to_string().as_bytes());
    let machine = Machine {
        kernel,
        image: &fetched.image,
        name: &format!("record-{}-{name}", kernel.name),
        cpus: 1,
        memory_mb: MEMORY_MB,
        counted: true,
        append: "",
        more: &[],
        limit: LIMIT,
    };
    let said = qemu::boot(&machine, &archive.bytes())?;
    let page = said.of("record").next().and_then(|line| line["said"].as_str()).unwrap_or_default();
    println!("{page}");
    let sent = said.of("send").next().and_then(|line| bytes(line["hex"].as_str()?));
    let sent = sent.context("nothing was recorded")?;
    fs::write(to, &sent).with_context(|| format!("cannot write {}", to.display()))?;
    println!("{}: {} bytes, Linux {}", to.display(), sent.len(), said.release());
    Ok(())
}

/// From hexadecimal.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_in_hexadecimal() {
        assert_eq!(bytes("000aff"), Some(vec![0, 10, 255]));
        assert_eq!(bytes("0x"), None);
    }
}

//! Boots a kernel in QEMU, without KVM, with an initramfs, and reads what its process 1 says.
//!
//! With `counted` the guest's time is made of its instructions (`-icount`): what is measured in it
//! does not depend on what else this machine does.

use super::which::Kernel;
use crate::shell::{find, program, target};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Begins the lines of process 1 (`crates/guest/src/main.rs`).
const MARK: &str = "@dwell ";
/// As much of what the kernel said is shown where it did not boot.
const SAID_MAX: usize = 3000;

/// A machine.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) image: &'a Path,
    /// Names its files.
    pub(crate) name: &'a str,
    pub(crate) cpus: u32,
    pub(crate) memory_mb: u32,
    pub(crate) counted: bool,
    /// More of the kernel's command line, and of QEMU's.
    pub(crate) append: &'a str,
    pub(crate) more: &'a [&'a str],
    pub(crate) limit: Duration,
}

/// What process 1 said, and how long it all took.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) lines: Vec<Value>,
    pub(crate) took: Duration,
}

impl Said {
    /// The lines of a step.
    pub(crate) fn of<'a>(&'a self, step: &'a str) -> impl Iterator<Item = &'a Value> {
        self.lines.iter().filter(move |line| line["step"] == step)
    }

    /// The version that the kernel gives itself.
    pub(crate) fn release(&self) -> &str {
        self.of("booted").next().and_then(|line| line["release"].as_str()).unwrap_or("unknown")
    }
}

/// Boots it with this initramfs, until it is switched off.
///
/// # Errors
/// When there is no QEMU, or the machine did not come to the end of its plan, with what it said.
pub(crate) fn boot(machine: &Machine<'_>, initramfs: &[u8]) -> Result<Said> {
    let place = target().join("kernels-run");
    fs::create_dir_all(&place).with_context(|| format!("cannot create {}", place.display()))?;
    let archive = place.join(format!("{}.cpio", machine.name));
    fs::write(&archive, initramfs).with_context(|| format!("cannot write {}", archive.display()))?;
    let mut command = command(machine, &archive)?;
    let begun = Instant::now();
    let mut child = command.spawn().context("cannot start QEMU")?;
    let console = child.stdout.take().context("QEMU has no output")?;
    let (send, lines) = mpsc::channel();
    std::thread::spawn(move || {
        // A kernel may print bytes that are no text.
        let mut reader = BufReader::new(console);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if send.send(text).is_err() {
                break;
            }
            line.clear();
        }
    });
    let mut all = Vec::new();
    let ended = loop {
        let Some(left) = machine.limit.checked_sub(begun.elapsed()) else { break "did not end in time" };
        match lines.recv_timeout(left) {
            Ok(line) => all.push(line),
            Err(mpsc::RecvTimeoutError::Timeout) => break "did not end in time",
            Err(mpsc::RecvTimeoutError::Disconnected) => break "stopped before the end of its plan",
        }
    };
    let _ = child.kill();
    child.wait()?;
    let _ = fs::remove_file(&archive);
    let took = begun.elapsed();
    fs::write(place.join(format!("{}.console", machine.name)), all.join("\n"))?;
    let said = Said { lines: all.iter().filter_map(|line| told(line)).collect(), took };
    if said.of("end").next().is_none() {
        let mut complaint = String::new();
        if let Some(mut errors) = child.stderr.take() {
            errors.read_to_string(&mut complaint)?;
        }
        let text = all.join("\n");
        let from = (0..=text.len().saturating_sub(SAID_MAX)).rev().find(|at| text.is_char_boundary(*at));
        bail!(
            "Linux {} {ended} ({} s): {complaint}{}",
            machine.kernel.name,
            took.as_secs(),
            &text[from.unwrap_or(0)..]
        );
    }
    Ok(said)
}

/// What process 1 said in this line, if it is one of its.
fn told(line: &str) -> Option<Value> {
    let (_, json) = line.split_once(MARK)?;
    Some(serde_json::from_str(json).unwrap_or_else(
        |error| serde_json::json!({"step": "unreadable", "error": format!("{error}: {json}")}),
    ))
}

fn command(machine: &Machine<'_>, archive: &Path) -> Result<Command> {
    let Machine { kernel, cpus, memory_mb, .. } = machine;
    let arm = kernel.arch == "aarch64";
    let name = if arm { "qemu-system-aarch64" } else { "qemu-system-x86_64" };
    let package = if arm { "qemu-system-arm" } else { "qemu-system-x86" };
    let Some(qemu) = find(name) else { bail!("{name} is missing\ntry: sudo apt-get install {package}") };
    ensure!(machine.image.exists(), "{} is missing", machine.image.display());
    // With QEMU's own default machine, kernels from 6.12 on do not find their clock under icount.
    let (kind, console) = if arm { ("virt", "ttyAMA0") } else { ("q35", "ttyS0") };
    let mut command = program("nice", &["-n", "5"]);
    command.arg(qemu).args(["-machine", kind, "-cpu", "max", "-nodefaults", "-nographic", "-no-reboot"]);
    command.args(["-accel", if machine.counted { "tcg,thread=single" } else { "tcg,thread=multi" }]);
    if machine.counted {
        command.args(["-icount", "shift=1,sleep=off"]);
    }
    // Up to 6.1 a second CPU waits for the first for ever where time is counted.
    let cpus = if machine.counted && kernel.is_up_to(6, 1) { 1 } else { *cpus };
    command.args(["-m", &memory_mb.to_string(), "-smp", &cpus.to_string(), "-serial", "stdio"]);
    command.arg("-kernel").arg(machine.image).arg("-initrd").arg(archive).args(machine.more);
    let quiet = "panic=-1 no_timer_check quiet loglevel=1 edd=off";
    let clock = if machine.counted && !arm && !kernel.is_up_to(6, 1) { " tsc=reliable" } else { "" };
    command.args(["-append", &format!("console={console} {quiet}{clock} {}", machine.append)]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_not_what_process_1_says() {
        assert_eq!(told("[    1.0] Run /init"), None);
        assert_eq!(told("[1.0] x@dwell {\"step\":\"end\"}").unwrap()["step"], "end");
        assert_eq!(told("@dwell {\"step\":\"e").unwrap()["step"], "unreadable");
    }
}

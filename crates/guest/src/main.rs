//! Process 1 of the small machines in which `cargo xtask kernels` tests kernels.
//!
//! Its plan is `/plan.json`, a list of steps (`plan.rs`). Each gives a line of JSON on the console,
//! behind a mark; then the machine is switched off. There is no shell and no C library in it.
#![allow(clippy::print_stderr, reason = "process 1 has nobody else to tell")]

mod loopback;
mod plan;
mod run;

use anyhow::{Context, Result};
use plan::Step;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};
use serde_json::json;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Begins the lines that are for xtask: the kernel writes to the same console.
const MARK: &str = "@dwell ";

/// What every machine has: the type, and where it is mounted.
const MOUNTS: &[(&str, &str)] = &[
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/run"),
    ("tmpfs", "/tmp"),
    ("tracefs", "/sys/kernel/tracing"),
    ("debugfs", "/sys/kernel/debug"),
    ("bpf", "/sys/fs/bpf"),
    ("securityfs", "/sys/kernel/security"),
];

fn main() -> ExitCode {
    if std::process::id() != 1 {
        eprintln!("dwell-guest is process 1 of a machine of its own, which it switches off at its end");
        return ExitCode::FAILURE;
    }
    for (kind, at) in MOUNTS {
        // What a kernel lacks is what it is tested without.
        let _ = fs::create_dir_all(at);
        let _ = mount(*kind, *at, *kind, MountFlags::empty(), None);
    }
    if let Err(error) = loopback::up() {
        tell(&json!({"step": "loopback", "error": error.to_string()}));
    }
    if let Err(error) = follow(Path::new("/plan.json")) {
        tell(&json!({"step": "plan", "error": format!("{error:#}")}));
    }
    tell(&json!({"step": "end"}));
    let _ = reboot(RebootCommand::PowerOff);
    ExitCode::FAILURE
}

fn follow(plan: &Path) -> Result<()> {
    let steps: Vec<Step> = serde_json::from_slice(&fs::read(plan)?).context("the plan")?;
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    tell(&json!({"step": "booted", "release": release.trim()}));
    let mut earlier = plan::Earlier::new();
    for step in &steps {
        for mut said in plan::done(step, &mut earlier) {
            if said["step"].is_null() {
                said["step"] = step.name().into();
            }
            tell(&said);
        }
    }
    Ok(())
}

/// A line on the console.
fn tell(said: &serde_json::Value) {
    // Where there is no console there is nobody to tell.
    let Ok(mut console) = File::options().write(true).open("/dev/console") else { return };
    let _ = console.write_all(format!("{MARK}{said}\n").as_bytes());
}

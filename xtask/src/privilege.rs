//! Whether the tests can succeed here: checked before anything is built for them.

use anyhow::{Result, bail};
use rustix::process::geteuid;
use std::fs;
use std::path::Path;

/// The capabilities that the tests need, by their bits in linux/capability.h.
const CAPABILITIES: &[(u32, &str)] = &[
    (12, "CAP_NET_ADMIN"),
    (19, "CAP_SYS_PTRACE"),
    (21, "CAP_SYS_ADMIN"),
    (38, "CAP_PERFMON"),
    (39, "CAP_BPF"),
];

/// The kernel's types, without which no BPF program of dwell loads.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

const WITHOUT: &str = "\nwithout root: cargo xtask fast (formatting, layers, the tests of the pure crates)";

/// Checks for root, its capabilities and the kernel's types.
///
/// # Errors
/// When one is missing, with what would work.
pub(crate) fn check() -> Result<()> {
    if !geteuid().is_root() {
        bail!(
            "the tests load BPF programs and need root; nothing was built\n\
             try: sudo env \"PATH=$PATH\" cargo xtask test{WITHOUT}"
        );
    }
    let missing = missing(&fs::read_to_string("/proc/self/status").unwrap_or_default());
    if !missing.is_empty() {
        bail!("the tests need {}, which root lacks here (a container?){WITHOUT}", missing.join(", "));
    }
    if !Path::new(TYPES).exists() {
        bail!("the tests need a kernel with BTF in {TYPES}{WITHOUT}");
    }
    Ok(())
}

/// The capabilities that a process with this status lacks; none when the status does not list them.
fn missing(status: &str) -> Vec<&'static str> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let Some(held) = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()) else { return Vec::new() };
    CAPABILITIES.iter().filter(|(bit, _)| held & (1 << bit) == 0).map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn a_containers_root_lacks_some() {
        assert!(missing("Name:\tx\nCapEff:\t000001ffffffffff\n").is_empty());
        assert!(missing("CapEff:\t00000000a80425fb\n").contains(&"CAP_BPF"));
        assert!(missing("").is_empty());
    }
}

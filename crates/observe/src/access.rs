//! What this process may look at, found out before it tries, with what would change it.

use model::Pid;
use model::coverage::{Extent, Source};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Capabilities by bit, from capabilities(7).
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// What gives an ordinary user everything.
pub(crate) const MORE: &str =
    "sudo dwell …, or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep $(command -v dwell)";

/// A wall, and the door in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wall {
    /// What the system said, or would say.
    pub why: String,
    /// What would change it.
    pub remedy: String,
}

/// Whether BPF is worth trying: reading the kernel's types takes long enough to ask first. Being allowed here is no
/// promise; a container or a locked-down kernel may still refuse.
///
/// # Errors
/// The capability that is missing.
pub fn bpf() -> Result<(), Wall> {
    bpf_for(effective_capabilities(Path::new("/proc")), Path::new("/sys"))
}

fn bpf_for(capabilities: u64, sys: &Path) -> Result<(), Wall> {
    let has = |bit: u32| capabilities >> bit & 1 == 1;
    let may = has(CAP_SYS_ADMIN) || has(CAP_BPF) && has(CAP_PERFMON);
    if !may {
        return Err(Wall {
            why: "bpf(2) needs CAP_BPF and CAP_PERFMON, which this process does not have".to_owned(),
            remedy: MORE.to_owned(),
        });
    }
    if !sys.join("kernel/btf/vmlinux").exists() {
        return Err(Wall {
            why: "this kernel does not describe its types (no /sys/kernel/btf/vmlinux)".to_owned(),
            remedy: "a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions have it since 2020"
                .to_owned(),
        });
    }
    Ok(())
}

/// Whether what a process does may be read: all but what everybody may know of it.
///
/// # Errors
/// Whose it is.
pub(crate) fn looking_at(pid: Pid) -> Result<(), Wall> {
    // Needs what perf events and descriptors need, whatever hardening says of tracers.
    match fs::read_link(format!("/proc/{pid}/exe")) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let owner = fs::metadata(format!("/proc/{pid}")).map(|of| of.uid());
            let own = rustix::process::geteuid().as_raw();
            let why = match owner {
                Ok(owner) if owner != own => {
                    format!("it is user {owner}'s, and user {own} may not look into it")
                }
                _ => "it has more privileges than this process, or hides from its own user".to_owned(),
            };
            Err(Wall { why, remedy: MORE.to_owned() })
        }
        // A thread of the kernel has none.
        _ => Ok(()),
    }
}

/// What is missing where some of these processes may not be looked into; none when all may.
pub(crate) fn partly(pids: &[Pid]) -> Option<Source> {
    let closed = pids.iter().filter(|pid| looking_at(**pid).is_err()).count();
    (closed > 0).then(|| Source {
        name: "other users' processes".to_owned(),
        seen: Extent::Partial,
        why: format!(
            "{closed} of {} processes may not be looked into: their states and times are seen, not their calls or what \
             they wait for",
            pids.len()
        ),
        remedy: MORE.to_owned(),
    })
}

/// proc(5): `CapEff` in `status`, hexadecimal. None when it cannot be read.
fn effective_capabilities(proc: &Path) -> u64 {
    let status = fs::read_to_string(proc.join("self/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_all_of_root_or_the_two_capabilities_will_do() {
        let sys = Path::new("/sys");
        assert!(bpf_for(1 << CAP_SYS_ADMIN, sys).is_ok());
        assert!(bpf_for(1 << CAP_BPF | 1 << CAP_PERFMON, sys).is_ok());
        assert!(bpf_for(1 << CAP_BPF, sys).unwrap_err().why.contains("CAP_PERFMON"));
    }

    #[test]
    fn a_kernel_without_types_is_told_from_a_missing_capability() {
        let wall = bpf_for(u64::MAX, Path::new("/nonexistent")).unwrap_err();
        assert!(wall.why.contains("vmlinux"), "{wall:?}");
    }
}

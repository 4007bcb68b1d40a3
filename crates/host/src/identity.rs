//! What a machine is: its name, kernel, size, and what it runs on.

use crate::{Error, Roots, cpus, fields, seen, text};
use model::Seen;
use model::recording::Host;
use std::path::Path;

/// The description that recordings and results carry.
pub fn identity(roots: Roots<'_>) -> Host {
    let uname = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    Host {
        name: text(uname.nodename()),
        kernel: text(uname.release()),
        arch: text(uname.machine()),
        cpus: cpus::online(roots).len() as u32,
        memory_bytes: seen(memory_bytes(roots.proc)),
        virtualisation: virtualisation(roots),
    }
}

fn memory_bytes(proc: &Path) -> Result<u64, Error> {
    let path = proc.join("meminfo");
    let bytes = fields::kib(&text(&path)?, "MemTotal:");
    bytes.ok_or(Error::Missing { path, what: "MemTotal" })
}

/// What translates this program's instructions, if the kernel says that its machine has others.
/// `machine`: as the kernel writes it, from Linux 6.1 on.
fn emulator(machine: Option<&str>, own: &str) -> Option<String> {
    let machine = machine.filter(|machine| *machine != own)?;
    Some(format!("{} of {own} on {machine}", Host::EMULATOR))
}

/// An emulator; else a container by the marks that runtimes leave, and a hypervisor by what it
/// calls itself or by the bit that it sets for the guest's CPU: both, where both are there.
fn virtualisation(roots: Roots<'_>) -> Seen<String> {
    let machine = text(&roots.proc.join("sys/kernel/arch")).ok();
    if let Some(kind) = emulator(machine.as_deref(), std::env::consts::ARCH) {
        return Seen::Value(kind);
    }
    let root = roots.proc.join("1/root");
    let marks = [(".dockerenv", "docker"), ("run/.containerenv", "podman")];
    let container = marks.iter().find(|(mark, _)| root.join(mark).exists()).map(|(_, kind)| *kind);
    match (container, hypervisor(roots)) {
        (Some(container), Seen::Value(machine)) => Seen::Value(format!("{container} in {machine}")),
        (Some(container), _) => Seen::Value(container.to_owned()),
        (None, machine) => machine,
    }
}

/// The hypervisor: by its name, as Xen's, or by its bit.
fn hypervisor(roots: Roots<'_>) -> Seen<String> {
    if let Ok(kind) = text(&roots.sys.join("hypervisor/type")) {
        return Seen::Value(format!("{} ({})", Host::VIRTUAL, kind.trim()));
    }
    match under_hypervisor(roots.proc) {
        Ok(Some(true)) => Seen::Value(Host::VIRTUAL.into()),
        Ok(Some(false)) => Seen::Absent,
        Ok(None) => Seen::unseen("this architecture's cpuinfo does not tell"),
        Err(error) => Seen::unseen(error.to_string()),
    }
}

/// Whether a hypervisor has set its bit for the guest's CPU; none where the architecture has no
/// such bit.
///
/// # Errors
/// cpuinfo cannot be read.
pub fn under_hypervisor(proc: &Path) -> Result<Option<bool>, Error> {
    let cpuinfo = text(&proc.join("cpuinfo"))?;
    let flags = fields::cpuinfo(&cpuinfo, "flags");
    Ok(flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here;
    use crate::tests::Kept;

    #[test]
    fn this_machine_has_a_name_memory_and_a_cpu() {
        let host = identity(here());
        assert!(!host.kernel.is_empty() && host.cpus >= 1);
        assert!(host.memory_bytes.value().is_some_and(|bytes| *bytes > 1 << 20));
    }

    #[test]
    fn a_guest_is_told_from_a_board_that_has_no_such_bit() {
        let guest = Kept::new("guest");
        assert_eq!(identity(guest.roots()).virtualisation, Seen::Value("a virtual machine".into()));
        assert_eq!(under_hypervisor(guest.roots().proc), Ok(Some(true)));
        assert!(identity(guest.roots()).is_virtual() && !identity(Kept::new("board").roots()).is_virtual());
        let board = Kept::new("board");
        assert!(matches!(identity(board.roots()).virtualisation, Seen::Unseen(_)));
        assert_eq!(identity(board.roots()).memory_bytes, Seen::Value(8_000_000 << 10));
        assert!(under_hypervisor(Path::new("/nonexistent")).is_err());
    }

    #[test]
    fn another_machine_than_that_of_the_instructions_is_emulated() {
        let said = emulator(Some("x86_64"), "aarch64");
        assert_eq!(said.as_deref(), Some("an emulator of aarch64 on x86_64"));
        assert_eq!(emulator(Some("x86_64"), "x86_64"), None);
        assert_eq!(emulator(None, "x86_64"), None);
    }

    #[test]
    fn memory_that_cannot_be_read_is_unseen_and_not_none() {
        let guest = identity(Kept::new("guest").roots());
        let why = guest.memory_bytes;
        assert!(matches!(&why, Seen::Unseen(why) if why.contains("meminfo")), "{why:?}");
    }
}

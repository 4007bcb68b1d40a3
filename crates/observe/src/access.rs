//! What this process may observe, checked in advance, with a remedy where it may not.

use host::fields;
use model::Pid;
use model::coverage::Source;
use model::doctor::{CONTAINER_OPTIONS, Capabilities, ENOUGH, setcap};
use rustix::fs::{StatVfsMountFlags, getxattr, statvfs};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::perf_event;

/// The inode of the initial PID namespace: PROC_PID_INIT_INO, the same on every host.
const FIRST_PID_NAMESPACE: u64 = 0xeffffffc;
/// That of the initial user namespace: PROC_USER_INIT_INO.
const FIRST_USER_NAMESPACE: u64 = 0xeffffffd;

/// The absolute path of dwell's file, as a shell takes it: for commands that can be pasted, whether
/// or not it is in PATH.
pub fn this_binary() -> String {
    let path = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("dwell"));
    let path = path.to_string_lossy();
    shlex::try_quote(&path).map_or_else(|_| "dwell".to_owned(), |quoted| quoted.into_owned())
}

/// The remedy for too few open files, and the number that BPF needs on a machine with many CPUs.
pub(crate) const MORE_FILES: &str = "ulimit -n 1024";
const FILES: u64 = 256;

/// That few files may be open, where that is so: each BPF program, map and perf event is one.
pub(crate) fn few_files() -> Option<String> {
    let most = getrlimit(Resource::Nofile).current?;
    (most < FILES).then(|| format!("only {most} files may be open,"))
}

/// Why access is denied, and a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessDenial {
    /// The system's error, or the reason that leads to it.
    pub why: String,
    /// What would change it.
    pub remedy: String,
}

/// The remedy that gives full access.
pub(crate) fn more() -> String {
    // Who is root and may open few files lacks these.
    if sys::user::is_root() && few_files().is_some() {
        return MORE_FILES.to_owned();
    }
    more_of(&own_status(), &this_binary())
}

/// The remedy for an ordinary user, and for one in a container, whose own root gets no more by
/// sudo: who is root and lacks access, or has a filter of system calls, is in one as a rule. Never
/// one that would run the user's program as root.
fn more_of(status: &str, binary: &str) -> String {
    let uid = fields::value(status, "Uid:").and_then(|ids| ids.split_ascii_whitespace().nth(1));
    if uid == Some("0") || filtered(status) {
        return in_container(binary);
    }
    let once = setcap(binary, perf_event::paranoid());
    format!("sudo {binary} attach …, sudo {binary} run --user \"$USER\" …, or once: {once}")
}

/// The same for `dwell wake`, which starts no program of the user's.
pub(crate) fn more_to_wake(remedy: String) -> String {
    if sys::user::is_root() || filtered(&own_status()) {
        return remedy;
    }
    let binary = this_binary();
    format!("sudo {binary} wake …, or once: {}", setcap(&binary, perf_event::paranoid()))
}

fn in_container(binary: &str) -> String {
    format!("{binary} outside of the container, as root; or start the container with {CONTAINER_OPTIONS}")
}

/// Why the kernel may have refused what dwell is privileged for, and what helps.
pub(crate) fn sandboxed() -> Option<String> {
    filtered(&own_status()).then(|| in_container(&this_binary()))
}

/// Whether the kernel is locked down to confidentiality: then no BPF program may read its memory.
pub(crate) fn locked_down() -> bool {
    fs::read_to_string("/sys/kernel/security/lockdown").is_ok_and(|text| text.contains("[confidentiality]"))
}

/// What gives perf events to who may use BPF, of which the system said this.
pub(crate) fn perf_remedy(error: Option<Errno>) -> String {
    perf_remedy_of(error, &own_status(), perf_event::paranoid(), &this_binary())
}

fn perf_remedy_of(error: Option<Errno>, status: &str, paranoid: Option<i32>, binary: &str) -> String {
    match (error, paranoid) {
        (Some(Errno::MFILE), _) => MORE_FILES.to_owned(),
        (_, None) => "a kernel with CONFIG_PERF_EVENTS=y".to_owned(),
        _ if filtered(status) => in_container(binary),
        // Not of the kernel itself, but of Debian's and others: then the capability is not enough.
        (Some(Errno::ACCESS), Some(level)) if level > ENOUGH => {
            format!("sudo sysctl kernel.perf_event_paranoid={ENOUGH}")
        }
        // The rings of perf events are locked memory.
        (Some(Errno::PERM | Errno::NOMEM | Errno::AGAIN), _) => setcap(binary, paranoid),
        _ => more_of(status, binary),
    }
}

/// Those of this process in effect.
pub(crate) fn capabilities() -> Capabilities {
    effective_capabilities(Path::new("/proc"))
}

/// Whether this is another user namespace than the host's: its root has all capabilities, and none
/// of them counts for BPF, perf events or devices.
pub(crate) fn own_users() -> bool {
    fs::metadata("/proc/self/ns/user").is_ok_and(|metadata| metadata.ino() != FIRST_USER_NAMESPACE)
}

/// proc(5): `Seccomp` is 2 where a filter decides which system calls a process may make.
fn filtered(status: &str) -> bool {
    fields::number(status, "Seccomp:") == Some(2)
}

fn own_status() -> String {
    fs::read_to_string("/proc/self/status").unwrap_or_default()
}

/// Whether BPF is worth trying: reading the kernel's types takes long enough to check first.
/// Success here is no guarantee; a container or a locked-down kernel may still refuse.
///
/// # Errors
/// The capability that is missing.
pub fn bpf() -> Result<(), AccessDenial> {
    bpf_for(capabilities(), Path::new("/sys"))
}

/// Whether `/proc` is of dwell's PID namespace. In a new PID namespace with the `/proc` of the old
/// one it is not, and a PID there refers to another process.
///
/// # Errors
/// It is not, or there is no `/proc`.
pub(crate) fn numbers() -> Result<(), AccessDenial> {
    numbers_of(Path::new("/proc"), std::process::id())
}

fn numbers_of(proc: &Path, own: u32) -> Result<(), AccessDenial> {
    let found = fs::read_link(proc.join("self"));
    let why = match &found {
        Ok(name) if *name == Path::new(&own.to_string()) => return Ok(()),
        Ok(name) => format!(
            "it is of another PID namespace: there dwell is process {}, here it is process {own}",
            name.display()
        ),
        Err(error) => format!("/proc/self: {error}"),
    };
    Err(AccessDenial { why, remedy: "mount -t proc proc /proc (or unshare with --mount-proc)".to_owned() })
}

/// The PID namespace of dwell; 0 for the initial one.
pub(crate) fn pid_namespace() -> u32 {
    let number = fs::metadata("/proc/self/ns/pid").map_or(FIRST_PID_NAMESPACE, |metadata| metadata.ino());
    if number == FIRST_PID_NAMESPACE { 0 } else { u32::try_from(number).unwrap_or(0) }
}

/// Whether the program gains privileges from its file that `root`, the child held for it, lacks:
/// those of its owner or group (set-user-ID), or capabilities. Then only BPF can trace it: the
/// kernel removes perf events at `execve`.
pub(crate) fn entrusted(path: &Path, root: Pid) -> Option<AccessDenial> {
    let found = fs::metadata(path).ok()?;
    let (uid, gid) = effective_ids(Path::new("/proc"), root)?;
    let of_owner = found.mode() & 0o4000 != 0 && found.uid() != uid;
    let of_group = found.mode() & 0o2010 == 0o2010 && found.gid() != gid;
    let capable = uid != 0 && getxattr(path, "security.capability", &mut [0_u8; 0][..]).is_ok();
    let counts = !statvfs(path).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::NOSUID));
    (counts && (of_owner || of_group || capable)).then(|| AccessDenial {
        why: format!(
            "{} gains privileges (set-user-ID, or capabilities): the kernel removes perf events at its execve",
            path.display()
        ),
        remedy: format!("sudo {} run --user \"$USER\" …, which traces it with BPF", this_binary()),
    })
}

/// proc(5): the second number of `Uid` and `Gid` in `status`.
fn effective_ids(proc: &Path, pid: Pid) -> Option<(u32, u32)> {
    let status = fs::read_to_string(proc.join(pid.to_string()).join("status")).ok()?;
    let second = |name: &str| fields::value(&status, name)?.split_ascii_whitespace().nth(1)?.parse().ok();
    Some((second("Uid:")?, second("Gid:")?))
}

fn bpf_for(capabilities: Capabilities, sys: &Path) -> Result<(), AccessDenial> {
    if !capabilities.may_trace() {
        return Err(AccessDenial {
            why: "bpf(2) needs CAP_BPF and CAP_PERFMON, which this process does not have".to_owned(),
            remedy: more(),
        });
    }
    if !sys.join("kernel/btf/vmlinux").exists() {
        return Err(AccessDenial {
            why: "this kernel does not describe its types (no /sys/kernel/btf/vmlinux)".to_owned(),
            remedy: "a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions have it since 2020"
                .to_owned(),
        });
    }
    Ok(())
}

/// Whether the protected files of a process in `/proc` may be read.
///
/// # Errors
/// Its owner, in words.
pub(crate) fn looking_at(pid: Pid) -> Result<(), AccessDenial> {
    // Needs the same access as perf events and descriptors, whatever ptrace restrictions are in
    // effect.
    match fs::read_link(format!("/proc/{pid}/exe")) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let owner = fs::metadata(format!("/proc/{pid}")).map(|of| of.uid());
            let own = rustix::process::geteuid().as_raw();
            let why = match owner {
                Ok(owner) if owner != own => {
                    format!("it belongs to user {owner}, and user {own} may not inspect it")
                }
                _ => "it has more privileges than this process, or hides from its own user".to_owned(),
            };
            Err(AccessDenial { why, remedy: more() })
        }
        // A kernel thread has none.
        _ => Ok(()),
    }
}

/// The coverage where some of these processes may not be inspected; none when all may.
pub(crate) fn partly(pids: &[Pid]) -> Option<Source> {
    let closed = pids.iter().filter(|pid| looking_at(**pid).is_err()).count();
    (closed > 0).then(|| {
        let why = format!(
            "{closed} of {} processes may not be inspected: their states and times are observed, not their calls or \
             what they wait for",
            pids.len()
        );
        Source::partial("other users' processes", why, more())
    })
}

/// proc(5): `CapEff` in `status`, hexadecimal. None when it cannot be read.
fn effective_capabilities(proc: &Path) -> Capabilities {
    let status = fs::read_to_string(proc.join("self/status")).unwrap_or_default();
    let bits = fields::value(&status, "CapEff:").and_then(|text| u64::from_str_radix(text, 16).ok());
    Capabilities(bits.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_all_of_root_or_the_two_capabilities_will_do() {
        let sys = Path::new("/sys");
        let bpf_with = |bits| bpf_for(Capabilities(bits), sys);
        assert!(bpf_with(1 << Capabilities::SYS_ADMIN).is_ok());
        assert!(bpf_with(1 << Capabilities::BPF | 1 << Capabilities::PERFMON).is_ok());
        assert!(bpf_with(1 << Capabilities::BPF).unwrap_err().why.contains("CAP_PERFMON"));
    }

    #[test]
    fn who_is_in_a_container_is_told_how_to_start_it() {
        let said = |uid, seccomp| {
            let status = format!("Name:\tdwell\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nSeccomp:\t{seccomp}\n");
            more_of(&status, "/opt/dwell")
        };
        assert!(said(1000, 0).contains("sudo /opt/dwell run --user \"$USER\""), "{}", said(1000, 0));
        assert!(said(1000, 0).ends_with(&setcap("/opt/dwell", perf_event::paranoid())), "{}", said(1000, 0));
        assert_eq!(said(0, 0), in_container("/opt/dwell"), "sudo gives root no more");
        assert_eq!(said(1000, 2), in_container("/opt/dwell"));
        assert_eq!(more_of("", "/opt/dwell"), said(1000, 0));
    }

    /// Tried on Debian's 6.1 and 6.12: at 3 the capabilities are not enough, at 2 they are.
    #[test]
    fn the_remedy_for_perf_events_is_what_refuses_them() {
        let remedy = |error, paranoid| perf_remedy_of(error, "Uid:\t1000\t1000\n", paranoid, "/opt/dwell");
        assert_eq!(remedy(Some(Errno::ACCESS), Some(3)), "sudo sysctl kernel.perf_event_paranoid=2");
        assert!(remedy(Some(Errno::ACCESS), Some(2)).contains("sudo setcap"));
        assert!(remedy(Some(Errno::PERM), Some(2)).contains("cap_ipc_lock"), "its rings are locked memory");
        assert_eq!(remedy(Some(Errno::MFILE), Some(3)), MORE_FILES);
        assert!(remedy(Some(Errno::NOENT), None).contains("CONFIG_PERF_EVENTS"));
        let filtered = "Uid:\t0\t0\nSeccomp:\t2\n";
        assert_eq!(perf_remedy_of(None, filtered, Some(3), "/opt/dwell"), in_container("/opt/dwell"));
    }

    #[test]
    fn a_proc_of_another_namespace_is_told_with_what_helps() {
        assert_eq!(numbers(), Ok(()));
        let wall = numbers_of(Path::new("/proc"), std::process::id() + 1).unwrap_err();
        assert!(wall.why.contains(&std::process::id().to_string()), "{wall:?}");
        let wall = numbers_of(Path::new("/nonexistent"), 1).unwrap_err();
        assert!(wall.why.contains("/proc/self"), "{wall:?}");
    }

    #[test]
    fn ids_are_those_in_effect() {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        assert_eq!(effective_ids(Path::new("/proc"), std::process::id()), Some((uid, gid)));
        assert_eq!(effective_ids(Path::new("/nonexistent"), 1), None);
    }

    #[test]
    fn a_kernel_without_types_is_told_from_a_missing_capability() {
        let wall = bpf_for(Capabilities(u64::MAX), Path::new("/nonexistent")).unwrap_err();
        assert!(wall.why.contains("vmlinux"), "{wall:?}");
    }
}

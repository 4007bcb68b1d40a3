//! What this process may observe, checked in advance, with a remedy where it may not.

use host::fields;
use model::Pid;
use model::container::{Container, Launcher, OWN_EVENTS, TRACING, Wants};
use model::coverage::Source;
use model::doctor::{Capabilities, ENOUGH, FILES_ENOUGH, setcap};
use rustix::fs::{StatVfsMountFlags, getxattr, statvfs};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
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

/// The number of open files that BPF needs on a machine with many CPUs.
const FILES: u64 = 256;

/// While it lives dwell may have as many files open as its hard limit allows. It is made when the
/// program has been forked, and is gone before the next one is, so that no program has this limit
/// from dwell.
#[derive(Debug)]
pub(crate) struct MoreFiles(Rlimit);

impl MoreFiles {
    pub(crate) fn allow() -> Self {
        let before = getrlimit(Resource::Nofile);
        // If that fails, the old limit stays.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before });
        Self(before)
    }
}

impl Drop for MoreFiles {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Nofile, self.0);
    }
}

/// How many files may be open.
pub(crate) fn files_max() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The remedy for too few open files.
pub(crate) fn more_files() -> String {
    so_many_files(FILES_ENOUGH)
}

/// What lets dwell have this many files open.
pub(crate) fn so_many_files(files: u32) -> String {
    // Who is root and may not raise a limit is in a container, marked as one or not.
    let unmarked = Container { launcher: Launcher::Engine, own_users: false, is_root: true };
    let container = container().or(sys::user::is_root().then_some(unmarked));
    model::doctor::more_files(files, capabilities(), container, &this_binary())
}

/// That few files may be open, where that is so: each BPF program, map and perf event is one.
pub(crate) fn few_files() -> Option<String> {
    let most = getrlimit(Resource::Nofile).maximum?;
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
        return more_files();
    }
    more_of(container(), &this_binary())
}

/// The remedy for an ordinary user, and for one in a container, whose own root gets no more by
/// sudo. Never one that would run the user's program as root.
fn more_of(container: Option<Container>, binary: &str) -> String {
    if let Some(container) = container {
        return container.remedy(TRACING, binary);
    }
    let once = setcap(binary, perf_event::paranoid());
    format!("sudo {binary} run --user \"$USER\" …, sudo {binary} attach …, or once: {once}")
}

/// The same for `dwell wake`, which starts no program of the user's.
pub(crate) fn more_to_wake(remedy: String) -> String {
    if sys::user::is_root() || container().is_some() {
        return remedy;
    }
    let binary = this_binary();
    format!("sudo {binary} wake …, or once: {}", setcap(&binary, perf_event::paranoid()))
}

/// What keeps dwell from the host.
pub(crate) fn container() -> Option<Container> {
    let environment = |name: &str| std::env::var(name).ok();
    container_of(&own_status(), own_users(), Path::new("/"), &environment)
}

/// A user namespace, or a filter of system calls; root without root's capabilities; or the marks
/// that launchers leave.
fn container_of(
    status: &str,
    own_users: bool,
    root: &Path,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Option<Container> {
    let uid = fields::value(status, "Uid:").and_then(|ids| ids.split_ascii_whitespace().nth(1));
    let is_root = uid == Some("0");
    let bereft = is_root && !capabilities_of(status).may_trace();
    let launcher = launcher(root, environment);
    (own_users || filtered(status) || bereft || launcher.is_some()).then_some(Container {
        launcher: launcher.unwrap_or(Launcher::Engine),
        own_users,
        is_root,
    })
}

/// Who left a mark: Kubernetes in the environment of each container and by its account; systemd's
/// interface for containers (<https://systemd.io/CONTAINER_INTERFACE>). Docker's and Podman's files
/// are none: virtual machines made of an image have them too.
fn launcher(root: &Path, environment: &dyn Fn(&str) -> Option<String>) -> Option<Launcher> {
    let is_there = |path: &str| root.join(path).exists();
    if environment("KUBERNETES_SERVICE_HOST").is_some()
        || is_there("var/run/secrets/kubernetes.io/serviceaccount")
    {
        return Some(Launcher::Kubernetes);
    }
    let manager = fs::read_to_string(root.join("run/host/container-manager"));
    if manager.is_ok_and(|name| name.trim() == "systemd-nspawn") {
        return Some(Launcher::Nspawn);
    }
    None
}

/// Why the kernel refuses, without looking further, what dwell is privileged for, and what helps.
pub(crate) fn sandboxed() -> Option<String> {
    filtered(&own_status()).then(|| more_of(container(), &this_binary()))
}

/// What else than the kernel's own rules forbids this process what it has the capabilities for, in
/// a clause.
pub(crate) fn forbidden_by() -> Option<&'static str> {
    if own_users() {
        Some("capabilities of a user namespace do not count for BPF")
    } else {
        filtered(&own_status()).then_some("a seccomp filter is in force")
    }
}

/// Whether the kernel is locked down to confidentiality: then no BPF program may read its memory.
pub(crate) fn locked_down() -> bool {
    fs::read_to_string("/sys/kernel/security/lockdown").is_ok_and(|text| text.contains("[confidentiality]"))
}

/// What gives perf events to who may use BPF, of which the system said this.
pub(crate) fn perf_remedy(error: Option<Errno>) -> String {
    perf_remedy_of(error, container(), perf_event::paranoid(), &this_binary())
}

fn perf_remedy_of(
    error: Option<Errno>,
    container: Option<Container>,
    paranoid: Option<i32>,
    binary: &str,
) -> String {
    match (error, paranoid) {
        (Some(Errno::MFILE), _) => more_files(),
        (_, None) if container.is_none() => "a kernel with CONFIG_PERF_EVENTS=y".to_owned(),
        _ if container.is_some() => more_of(container, binary),
        // Not of the kernel itself, but of Debian's and others: then the capability is not enough.
        (Some(Errno::ACCESS), Some(level)) if level > ENOUGH => {
            format!("sudo sysctl kernel.perf_event_paranoid={ENOUGH}")
        }
        // The rings of perf events are locked memory.
        (Some(Errno::PERM | Errno::NOMEM | Errno::AGAIN), _) => setcap(binary, paranoid),
        _ => more_of(container, binary),
    }
}

/// What gives perf events of one's own processes to who has none.
pub(crate) fn own_events() -> String {
    match container() {
        Some(container) if container.own_users && filtered(&own_status()) => {
            container.remedy(OWN_EVENTS, &this_binary())
        }
        _ => more(),
    }
}

/// What shows the processes of the host to who sees those of a PID namespace.
pub(crate) fn of_the_host() -> String {
    let binary = this_binary();
    let pids = Wants { capabilities: &["SYS_PTRACE"], host_pids: true, ..Wants::NOTHING };
    match container() {
        Some(container) => container.remedy(pids, &binary),
        None => format!("use {binary} outside of this PID namespace"),
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

/// No option of a container shows what a sandbox hides, or has a kernel of its own for.
fn outside_of_hiding(container: Option<Container>, binary: &str) -> String {
    let outside = container.map_or("outside of the sandbox", |of| of.launcher.outside());
    format!("use {binary} {outside}, which hides the kernel")
}

fn bpf_for(capabilities: Capabilities, sys: &Path) -> Result<(), AccessDenial> {
    if !sys.join("kernel").exists() {
        return Err(AccessDenial {
            why: format!("{} is hidden from this process: it shows nothing of the kernel", sys.display()),
            remedy: outside_of_hiding(container(), &this_binary()),
        });
    }
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

fn effective_capabilities(proc: &Path) -> Capabilities {
    capabilities_of(&fs::read_to_string(proc.join("self/status")).unwrap_or_default())
}

/// proc(5): `CapEff` in `status`, hexadecimal. None when it cannot be read.
fn capabilities_of(status: &str) -> Capabilities {
    let bits = fields::value(status, "CapEff:").and_then(|text| u64::from_str_radix(text, 16).ok());
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

    fn status(uid: u32, capabilities: u64, seccomp: u32) -> String {
        format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\nCapEff:\t{capabilities:016x}\nSeccomp:\t{seccomp}\n")
    }

    fn is_in(status: &str, own_users: bool) -> Option<Container> {
        container_of(status, own_users, Path::new("/nonexistent"), &|_| None)
    }

    #[test]
    fn who_is_in_a_container_is_told_how_to_start_it() {
        let said = |uid, all, seccomp| more_of(is_in(&status(uid, all, seccomp), false), "/opt/dwell");
        let user = said(1000, 0, 0);
        assert!(user.contains("sudo /opt/dwell run --user \"$USER\""), "{user}");
        assert!(user.ends_with(&setcap("/opt/dwell", perf_event::paranoid())), "{user}");
        let bereft = said(0, 0x8004_05fb, 0);
        assert!(
            bereft.starts_with("start the container with --cap-add=BPF"),
            "sudo gives root no more: {bereft}"
        );
        assert!(said(1000, 0, 2).contains("--user=0 --cap-add=BPF"), "a filter");
        assert!(said(0, u64::MAX, 0).contains("sudo"), "root of the host is in no container");
        let rootless = more_of(is_in(&status(0, u64::MAX, 0), true), "/opt/dwell");
        assert!(!rootless.contains("--cap-add") && rootless.contains("outside"), "{rootless}");
    }

    #[test]
    fn a_container_is_known_by_the_marks_of_who_started_it() {
        let here = tempfile::tempdir().unwrap();
        let found = |environment: &dyn Fn(&str) -> Option<String>| {
            container_of(&status(1000, 0, 0), false, here.path(), environment).map(|it| it.launcher)
        };
        let none: &dyn Fn(&str) -> Option<String> = &|_| None;
        assert_eq!(found(none), None);
        let leave = |path: &str, text: &str| {
            let path = here.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        // A virtual machine made of an image has this as well.
        leave(".dockerenv", "");
        assert_eq!(found(none), None);
        leave("run/host/container-manager", "systemd-nspawn\n");
        assert_eq!(found(none), Some(Launcher::Nspawn));
        let pod = |name: &str| (name == "KUBERNETES_SERVICE_HOST").then(|| "10.96.0.1".to_owned());
        assert_eq!(found(&pod), Some(Launcher::Kubernetes));
        leave("var/run/secrets/kubernetes.io/serviceaccount/token", "");
        assert_eq!(found(none), Some(Launcher::Kubernetes));
    }

    /// Tried on Debian's 6.1 and 6.12: at 3 the capabilities are not enough, at 2 they are.
    #[test]
    fn the_remedy_for_perf_events_is_what_refuses_them() {
        let remedy = |error, paranoid| perf_remedy_of(error, None, paranoid, "/opt/dwell");
        assert_eq!(remedy(Some(Errno::ACCESS), Some(3)), "sudo sysctl kernel.perf_event_paranoid=2");
        assert!(remedy(Some(Errno::ACCESS), Some(2)).contains("sudo setcap"));
        assert!(remedy(Some(Errno::PERM), Some(2)).contains("cap_ipc_lock"), "its rings are locked memory");
        assert_eq!(remedy(Some(Errno::MFILE), Some(3)), more_files());
        assert!(remedy(Some(Errno::NOENT), None).contains("CONFIG_PERF_EVENTS"));
        let filtered = is_in(&status(0, u64::MAX, 2), false);
        for paranoid in [Some(3), None] {
            let told = perf_remedy_of(None, filtered, paranoid, "/opt/dwell");
            assert!(told.contains("--cap-add=PERFMON"), "{told}");
        }
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
        let sys = tempfile::tempdir().unwrap();
        let wall = || bpf_for(Capabilities(u64::MAX), sys.path()).unwrap_err();
        // As a sandbox shows it.
        assert!(wall().why.contains("is hidden"), "{:?}", wall());
        fs::create_dir(sys.path().join("kernel")).unwrap();
        assert!(wall().why.contains("vmlinux"), "{:?}", wall());
    }
}

//! What follows from what was tried on a host: the source that a run would use, and for each
//! ability that is missing the command that would change it.

use crate::kernel_faults;
use model::container::{Container, Launcher, OWN_EVENTS, TRACING, Wants};
use model::coverage::Extent;
use model::doctor::{
    Ability, Attempt, Capabilities, Check, Doctor, ENOUGH, FILES_ENOUGH, KERNELS, OTHER_PROCESSOR,
    SCHEMA_DOCTOR, Standing, more_files, setcap,
};
use model::recording::{Host, Tier};

/// The result of `dwell doctor`.
pub fn doctor(version: &str, host: Host, standing: &Standing, attempts: &[Attempt]) -> Doctor {
    let works = |ability| attempts.iter().any(|one| one.ability == ability && one.works != Extent::None);
    let tier = if works(Ability::Bpf) {
        Tier::Bpf
    } else if works(Ability::PerfEvents) {
        Tier::Perf
    } else {
        Tier::Proc
    };
    let check = |attempt: &Attempt| Check {
        ability: attempt.ability,
        works: attempt.works,
        why: attempt.why.clone(),
        remedy: match attempt.works {
            Extent::Full => String::new(),
            Extent::Partial | Extent::None => {
                // What rests on another is had with that, unless it says what else it lacks.
                let first = rests_on(attempt.ability).filter(|ability| !works(*ability));
                let first = first.filter(|_| attempt.remedy.is_empty());
                // Capabilities give BPF, and no uprobes.
                let by_capabilities = standing.uid != 0
                    && standing.container.is_none()
                    && standing.btf
                    && !standing.kernel_too_old
                    && !standing.sys_hidden;
                let first = first.filter(|_| attempt.ability != Ability::Uprobes || !by_capabilities);
                let first = first.unwrap_or(attempt.ability);
                let told = attempts.iter().find(|one| one.ability == first);
                remedy(first, standing, told.map_or("", |attempt| &attempt.remedy))
            }
        },
    };
    let kernel_faults = kernel_faults::known(&host.kernel);
    Doctor {
        schema: SCHEMA_DOCTOR.to_owned(),
        version: version.to_owned(),
        binary: standing.binary.clone(),
        host,
        uid: standing.uid,
        tier,
        checks: attempts.iter().map(check).collect(),
        kernel_faults,
    }
}

/// The ability without which this one cannot be had.
fn rests_on(ability: Ability) -> Option<Ability> {
    match ability {
        Ability::BpfClock
        | Ability::Mappings
        | Ability::Sockets
        | Ability::Disks
        | Ability::Network
        | Ability::Pages
        | Ability::Uprobes => Some(Ability::Bpf),
        Ability::HardwareCounters => Some(Ability::PerfEvents),
        _ => None,
    }
}

/// What would change it. Commands have the path of this dwell, and none runs the user's program as
/// root.
///
/// Tried on Linux 6.18, locked down to integrity, each in a place where the ability is refused and
/// then with the remedy: `setcap`; `sudo dwell …`, as root, without sudo; capabilities of a
/// container, by its default ones, without and with what the option adds (`--device`: in a mount
/// namespace); `ulimit -n`; `perf_event_paranoid=1`; cgroup2, mounted in a mount namespace; huge
/// pages; `preempt=` on a command line that is put in place of the kernel's; a C library of another
/// user. Of filters of system calls, that they refuse, and that it works without one.
///
/// In containers of podman, runc, crun and systemd-nspawn: `docs/results/containers.md`.
///
/// Not tried: dockerd, a kubelet, sudo and `apt-get` themselves; the other sysctls; `psi=1`, but
/// that this host boots with it; and what takes another kernel or machine: versions of Linux,
/// options of its configuration, debugfs (a kernel that is locked down refuses its file), lockdown,
/// counters, and more open files than a hard limit that is lowered.
fn remedy(ability: Ability, standing: &Standing, told: &str) -> String {
    let binary = &standing.binary;
    let root = standing.uid == 0;
    let inside = standing.container.is_some();
    let ordinary = !root && !inside;
    let has = |capability: u32| standing.capabilities.has(capability);
    // Where dwell is root, there may be no sudo.
    let sudo = if root { "" } else { "sudo " };
    // Who is root and lacks a capability is in a container, marked as one or not.
    let unmarked = Container { launcher: Launcher::Engine, own_users: false, is_root: root };
    let of_bpf = ability == Ability::Bpf || rests_on(ability) == Some(Ability::Bpf);
    let container = |wants: Wants| standing.container.unwrap_or(unmarked).remedy(wants, binary);
    let own_users = standing.container.is_some_and(|of| of.own_users);
    let cannot_mount = own_users || (inside || root) && !has(Capabilities::SYS_ADMIN);
    let capability = |names| Wants { capabilities: names, ..Wants::NOTHING };
    let file = |path| Wants { file: Some(path), ..Wants::NOTHING };
    match ability {
        // A sandbox that shows nothing of the kernel has no option that would.
        _ if standing.sys_hidden && is_of_the_kernel(ability) => {
            let outside = standing.container.map_or("outside of the sandbox", |of| of.launcher.outside());
            format!("use {binary} {outside}, which hides the kernel")
        }
        Ability::Bpf if !standing.btf => {
            "a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions have it since 2020".to_owned()
        }
        Ability::Bpf if standing.kernel_too_old => KERNELS.to_owned(),
        Ability::Bpf if ordinary && !standing.capabilities.may_trace() => setcap(binary, standing.paranoid),
        // Rootless: what no capability is needed for.
        Ability::PerfEvents if own_users && standing.filtered && standing.paranoid <= Some(ENOUGH) => {
            container(OWN_EVENTS)
        }
        Ability::Bpf | Ability::BpfClock | Ability::PerfEvents | Ability::KernelSamples
            if standing.filtered || own_users || (inside || root) && !standing.capabilities.may_trace() =>
        {
            container(TRACING)
        }
        // Each program, map and perf event is one.
        _ if of_bpf && standing.few_files => more_files(
            FILES_ENOUGH,
            standing.capabilities,
            standing.container.or(root.then_some(unmarked)),
            binary,
        ),
        // What the attempt told of its refusal; that of uprobes is not the programs'.
        _ if of_bpf && ability != Ability::Uprobes && !told.is_empty() => told.to_owned(),
        Ability::Bpf if ordinary => {
            format!("sudo {binary} run --user \"$USER\" …, or sudo {binary} attach …")
        }
        Ability::Bpf => format!("{KERNELS}, not locked down (/sys/kernel/security/lockdown)"),
        // Buffers of perf events are locked memory, which all processes of a user share.
        Ability::Mappings if standing.filtered || own_users => {
            container(Wants { calls: TRACING.calls, ..capability(&["IPC_LOCK"]) })
        }
        Ability::Mappings if !has(Capabilities::IPC_LOCK) && ordinary => setcap(binary, standing.paranoid),
        Ability::Mappings if !has(Capabilities::IPC_LOCK) => container(capability(&["IPC_LOCK"])),
        Ability::BpfClock | Ability::Mappings => "a kernel with CONFIG_PERF_EVENTS=y".to_owned(),
        Ability::PerfEvents | Ability::KernelSamples if standing.paranoid.is_none() => {
            "a kernel with CONFIG_PERF_EVENTS=y".to_owned()
        }
        Ability::PerfEvents => format!("{sudo}sysctl kernel.perf_event_paranoid=2"),
        Ability::KernelSamples => format!("{sudo}sysctl kernel.perf_event_paranoid=1"),
        Ability::Sockets => "Linux 6.3 or newer".to_owned(),
        Ability::Disks => "a kernel with the block layer's tracepoints".to_owned(),
        Ability::Network => "a kernel with CONFIG_NET=y".to_owned(),
        Ability::Pages => "Linux 6.12 or newer".to_owned(),
        // The kernel takes uprobes only of who has CAP_SYS_ADMIN.
        Ability::Uprobes if ordinary => {
            format!("sudo {binary} run --user \"$USER\" --names …: capabilities of the file are not enough")
        }
        Ability::Uprobes if standing.filtered || own_users || !has(Capabilities::SYS_ADMIN) => {
            container(Wants { calls: TRACING.calls, ..capability(&["SYS_ADMIN"]) })
        }
        Ability::Uprobes => {
            "a kernel with CONFIG_UPROBES=y, and a C library that only root can change".to_owned()
        }
        Ability::KernelNames if own_users || (inside || root) && !has(Capabilities::SYSLOG) => {
            container(capability(&["SYSLOG"]))
        }
        Ability::KernelNames if ordinary => "sudo sysctl kernel.kptr_restrict=0 \
                                             kernel.perf_event_paranoid=1"
            .to_owned(),
        Ability::KernelNames => {
            "sysctl kernel.kptr_restrict=1; and a kernel with CONFIG_KALLSYMS=y".to_owned()
        }
        Ability::OtherUsers if !told.is_empty() => told.to_owned(),
        Ability::OtherUsers if ordinary => format!("sudo {binary} attach …"),
        Ability::OtherUsers if own_users || !has(Capabilities::SYS_PTRACE) => {
            container(Wants { host_pids: true, ..capability(&["SYS_PTRACE"]) })
        }
        Ability::OtherUsers => {
            "none is known: CAP_SYS_PTRACE is there, and the kernel protects process 1 all the same"
                .to_owned()
        }
        Ability::Pressure => {
            "boot with psi=1 on the kernel's command line; and a kernel with CONFIG_PSI=y".to_owned()
        }
        Ability::Cgroup if cannot_mount => container(file("/sys/fs/cgroup")),
        Ability::Cgroup => format!("{sudo}mount -t cgroup2 none /sys/fs/cgroup"),
        Ability::HardwareCounters => OTHER_PROCESSOR.to_owned(),
        Ability::RealTime | Ability::LockedMemory | Ability::IdleStates if ordinary => {
            format!("sudo {binary} wake …")
        }
        // With version 1 of control groups, a new one has none (CONFIG_RT_GROUP_SCHED).
        Ability::RealTime if has(Capabilities::SYS_NICE) && !own_users => {
            "real-time for its control group: cpu.rt_runtime_us above 0, there and above it".to_owned()
        }
        Ability::RealTime => container(capability(&["SYS_NICE"])),
        Ability::LockedMemory => container(capability(&["IPC_LOCK"])),
        Ability::IdleStates => container(Wants { device: Some("/dev/cpu_dma_latency"), ..Wants::NOTHING }),
        // The root of a user namespace may not look into the host's.
        Ability::Preemption if own_users => container(capability(&["SYS_ADMIN"])),
        Ability::Preemption if !standing.debugfs && cannot_mount => container(file("/sys/kernel/debug")),
        Ability::Preemption if !standing.debugfs && root => {
            "mount -t debugfs none /sys/kernel/debug".to_owned()
        }
        Ability::Preemption if !standing.debugfs => {
            format!("sudo mount -t debugfs none /sys/kernel/debug, and sudo {binary} wake …")
        }
        Ability::Preemption if ordinary => format!("sudo {binary} wake …"),
        Ability::Preemption if !standing.preempt_dynamic => {
            "grep CONFIG_PREEMPT /boot/config-$(uname -r): this kernel has no switch for it".to_owned()
        }
        Ability::Preemption => {
            "boot with preempt=none, voluntary, lazy or full on the kernel's command line, which says it too"
                .to_owned()
        }
        Ability::HugePages if !told.is_empty() => told.to_owned(),
        Ability::HugePages if root => "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled".to_owned(),
        Ability::HugePages => {
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled".to_owned()
        }
        // Of an ordinary user they may be installed, and not in PATH.
        Ability::Links if ordinary && standing.link_programs => format!("sudo {binary} lab …"),
        Ability::Links if ordinary => {
            format!("sudo {binary} lab …; and: sudo apt-get install iproute2 util-linux")
        }
        // What a package is called, and whether there are any, is up to the image.
        Ability::Links if inside && !own_users && !standing.link_programs => {
            format!("an image with iproute2 and util-linux; then {}", container(LINKS))
        }
        Ability::Links if !own_users && !standing.link_programs => {
            format!("{sudo}apt-get install iproute2 util-linux")
        }
        Ability::Links => container(LINKS),
    }
}

/// A network of its own, with a link that delays.
const LINKS: Wants = Wants { capabilities: &["NET_ADMIN", "SYS_ADMIN"], ..Wants::NOTHING };

/// What a sandbox takes away that has its own kernel, or hides the host's.
fn is_of_the_kernel(ability: Ability) -> bool {
    !matches!(
        ability,
        Ability::OtherUsers | Ability::RealTime | Ability::LockedMemory | Ability::HugePages | Ability::Links
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seen;

    fn standing(uid: u32) -> Standing {
        Standing {
            binary: "/opt/dwell".into(),
            uid,
            capabilities: Capabilities(if uid == 0 { u64::MAX } else { 0 }),
            container: None,
            filtered: false,
            sys_hidden: false,
            few_files: false,
            debugfs: true,
            link_programs: true,
            paranoid: Some(2),
            btf: true,
            kernel_too_old: false,
            preempt_dynamic: true,
        }
    }

    /// It has users of its own, or not.
    fn container(launcher: Launcher, own_users: bool) -> Option<Container> {
        Some(Container { launcher, own_users, is_root: true })
    }

    fn concluded(standing: &Standing, refused: &[Ability]) -> Doctor {
        let attempt = |ability: Ability| match refused.contains(&ability) {
            true => Attempt { ability, works: Extent::None, why: "no".into(), remedy: String::new() },
            false => Attempt { ability, works: Extent::Full, why: String::new(), remedy: String::new() },
        };
        let host = Host {
            name: "vm".into(),
            kernel: "6.1".into(),
            arch: "x86_64".into(),
            cpus: 2,
            memory_bytes: Seen::Absent,
            virtualisation: Seen::Absent,
        };
        doctor("1", host, standing, &Ability::ALL.map(attempt))
    }

    #[test]
    fn the_best_source_that_works_is_used() {
        assert_eq!(concluded(&standing(0), &[]).tier, Tier::Bpf);
        assert_eq!(concluded(&standing(0), &[Ability::Bpf]).tier, Tier::Perf);
        assert_eq!(concluded(&standing(0), &[Ability::Bpf, Ability::PerfEvents]).tier, Tier::Proc);
    }

    #[test]
    fn what_works_has_no_remedy_and_what_does_not_has_one() {
        for uid in [0, 1000] {
            let it = || standing(uid);
            for standing in [
                it(),
                Standing { filtered: true, container: container(Launcher::Engine, false), ..it() },
                Standing { container: container(Launcher::Kubernetes, false), ..it() },
                Standing { container: container(Launcher::Nspawn, false), debugfs: false, ..it() },
                Standing { container: container(Launcher::Engine, true), ..it() },
                Standing { sys_hidden: true, btf: false, ..it() },
                Standing { capabilities: Capabilities(0), ..it() },
                Standing { few_files: true, debugfs: false, link_programs: false, ..it() },
            ] {
                for check in concluded(&standing, &Ability::ALL).checks {
                    assert!(!check.remedy.is_empty(), "{check:?}");
                    // A bare name may not be in PATH, and may be another dwell.
                    assert!(!check.remedy.contains(" dwell"), "{check:?}");
                    assert!(!check.remedy.contains("run …"), "{check:?}");
                    let mut words = check.remedy.split_whitespace();
                    let runs = words.any(|word| word == "run");
                    assert!(!runs || check.remedy.contains("--user \"$USER\""), "{check:?}");
                    assert!(uid != 0 || !check.remedy.contains("sudo "), "{check:?}: root is root");
                }
                assert!(concluded(&standing, &[]).checks.iter().all(|check| check.remedy.is_empty()));
            }
        }
    }

    #[test]
    fn the_remedy_fits_the_reason() {
        let bpf = |standing: &Standing| concluded(standing, &[Ability::Bpf]).checks[0].remedy.clone();
        assert_eq!(bpf(&standing(1000)), "sudo setcap cap_bpf,cap_perfmon,cap_ipc_lock+ep /opt/dwell");
        let enough = Capabilities(1 << Capabilities::BPF | 1 << Capabilities::PERFMON);
        let capable = Standing { capabilities: enough, ..standing(1000) };
        assert!(bpf(&capable).starts_with("sudo /opt/dwell run --user"));
        let docker = || container(Launcher::Engine, false);
        let filtered = Standing { filtered: true, container: docker(), ..standing(0) };
        assert!(bpf(&filtered).contains("--cap-add=BPF"));
        assert!(bpf(&Standing { btf: false, ..standing(0) }).contains("BTF"));
        // No option gives a container's root rights over the host where it has users of its own.
        let rootless = bpf(&Standing { container: container(Launcher::Engine, true), ..standing(0) });
        assert!(rootless.starts_with("use /opt/dwell outside of the container"), "{rootless}");
        // No capability makes a kernel newer.
        let old = |uid| bpf(&Standing { kernel_too_old: true, ..standing(uid) });
        assert_eq!([old(0), old(1000)], [KERNELS, KERNELS]);
        let few = |uid| bpf(&Standing { few_files: true, capabilities: enough, ..standing(uid) });
        assert!(few(0).starts_with("start the container with --ulimit=nofile=1024, or"));
        assert_eq!(few(1000), "sudo prlimit --pid $$ --nofile=1024");
        let one = |ability, standing: &Standing| {
            let checks = concluded(standing, &[ability]).checks;
            checks.into_iter().find(|check| !check.remedy.is_empty()).expect("it is refused").remedy
        };
        // A capability that root lacks is one of its container; that it has is not what is missing.
        let bare = Standing { capabilities: Capabilities(0), ..standing(0) };
        for (ability, option) in [
            (Ability::Mappings, "--cap-add=IPC_LOCK"),
            (Ability::Uprobes, "--cap-add=SYS_ADMIN"),
            (Ability::KernelNames, "--cap-add=SYSLOG"),
            (Ability::OtherUsers, "--cap-add=SYS_PTRACE"),
        ] {
            assert!(one(ability, &bare).contains(option), "{ability:?}");
            assert!(!one(ability, &standing(0)).contains("--cap-add"), "{ability:?}");
        }
        assert_eq!(
            one(Ability::Mappings, &capable),
            "sudo setcap cap_bpf,cap_perfmon,cap_ipc_lock+ep /opt/dwell"
        );
        let hidden = Standing { debugfs: false, ..standing(0) };
        assert_eq!(one(Ability::Preemption, &hidden), "mount -t debugfs none /sys/kernel/debug");
        assert!(one(Ability::Preemption, &standing(0)).contains("preempt="));
        // A capability that is there already is not what is missing.
        assert!(
            one(Ability::OtherUsers, &Standing { container: docker(), ..standing(0) }).starts_with("none")
        );
        // At Debian's own level: what gives perf events gives no samples of the kernel. Where the
        // machine has no counters, no perf events would give them.
        let strictest = Standing { paranoid: Some(3), ..standing(1000) };
        let refused = [Ability::PerfEvents, Ability::KernelSamples, Ability::HardwareCounters];
        let told = |ability: Ability, attempts: &[Attempt]| {
            let host = concluded(&strictest, &[]).host;
            let checks = doctor("1", host, &strictest, attempts).checks;
            checks.into_iter().find(|check| check.ability == ability).expect("it was tried").remedy
        };
        let mut attempts = refused.map(|ability| Attempt {
            ability,
            works: Extent::None,
            why: "no".into(),
            remedy: String::new(),
        });
        let paranoid = |level| format!("sudo sysctl kernel.perf_event_paranoid={level}");
        assert_eq!(told(Ability::KernelSamples, &attempts), paranoid(1));
        assert_eq!(told(Ability::HardwareCounters, &attempts), paranoid(2));
        attempts[2].remedy = OTHER_PROCESSOR.to_owned();
        assert_eq!(told(Ability::HardwareCounters, &attempts), OTHER_PROCESSOR);
        let budget = one(Ability::RealTime, &Standing { container: docker(), ..standing(0) });
        assert!(budget.contains("cpu.rt_runtime_us"), "{budget}");
        let rootless =
            Standing { debugfs: false, container: container(Launcher::Engine, true), ..standing(0) };
        for ability in [Ability::Preemption, Ability::RealTime, Ability::Links, Ability::OtherUsers] {
            let told = one(ability, &rootless);
            assert!(told.starts_with("use /opt/dwell outside"), "{ability:?}: {told}");
        }
        // By default a container may mount nothing.
        let hidden =
            Standing { debugfs: false, capabilities: Capabilities(0), container: docker(), ..standing(0) };
        assert!(one(Ability::Preemption, &hidden).contains("--volume=/sys/kernel/debug:"));
        assert!(one(Ability::Cgroup, &hidden).contains("--volume=/sys/fs/cgroup:"));
        // Rootless: perf events of one's own processes need no capability.
        let filtered =
            Standing { filtered: true, container: container(Launcher::Engine, true), ..standing(0) };
        let events = one(Ability::PerfEvents, &filtered);
        assert!(
            events.starts_with("start the container with --security-opt=seccomp=unconfined, or"),
            "{events}"
        );
        let strict = Standing { paranoid: Some(3), ..filtered };
        assert!(one(Ability::PerfEvents, &strict).starts_with("use /opt/dwell outside"), "Debian's level");
        // No kernel of another configuration would help in a sandbox without one.
        let hidden = Standing { sys_hidden: true, btf: false, ..standing(0) };
        assert!(bpf(&hidden).contains("outside of the sandbox"), "{}", bpf(&hidden));
        let fixed = Standing { preempt_dynamic: false, ..standing(0) };
        assert!(one(Ability::Preemption, &fixed).contains("no switch"));
        // Debian's own level, at which the capabilities are not enough.
        assert!(bpf(&Standing { paranoid: Some(3), ..standing(1000) }).ends_with("perf_event_paranoid=2"));
        assert!(bpf(&standing(0)).contains("lockdown"));
        let names = concluded(&capable, &[Ability::Uprobes]).checks;
        let names = names.iter().find(|check| !check.remedy.is_empty()).expect("it is refused");
        assert!(names.remedy.starts_with("sudo /opt/dwell run --user \"$USER\" --names"), "{names:?}");
        let promised = concluded(&standing(1000), &[Ability::Bpf, Ability::Uprobes]).checks;
        let promised = promised.iter().find(|check| check.ability == Ability::Uprobes).expect("it was tried");
        assert!(promised.remedy.starts_with("sudo /opt/dwell run"), "{promised:?}");
        // What rests on BPF is had with it.
        let both = concluded(&standing(1000), &[Ability::Bpf, Ability::Sockets]);
        let remedies: Vec<&str> = both
            .checks
            .iter()
            .map(|check| check.remedy.as_str())
            .filter(|remedy| !remedy.is_empty())
            .collect();
        assert_eq!(remedies, ["sudo setcap cap_bpf,cap_perfmon,cap_ipc_lock+ep /opt/dwell"; 2]);
        assert_eq!(concluded(&standing(0), &[Ability::Sockets]).checks[3].remedy, "Linux 6.3 or newer");
    }
}

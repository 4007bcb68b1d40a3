//! What follows from what was tried on a host: the source that a run would use, and for each
//! ability that is missing the command that would change it.

use model::coverage::Extent;
use model::doctor::{Ability, Attempt, Check, Doctor, SCHEMA_DOCTOR, Standing};
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
                // What rests on another ability is had with that.
                let first = rests_on(attempt.ability).filter(|ability| !works(*ability));
                remedy(first.unwrap_or(attempt.ability), standing)
            }
        },
    };
    Doctor {
        schema: SCHEMA_DOCTOR.to_owned(),
        version: version.to_owned(),
        binary: standing.binary.clone(),
        host,
        uid: standing.uid,
        tier,
        checks: attempts.iter().map(check).collect(),
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
        Ability::KernelSamples => Some(Ability::PerfEvents),
        _ => None,
    }
}

/// What would change it. Commands have the path of this dwell, and none runs the user's program as
/// root.
fn remedy(ability: Ability, standing: &Standing) -> String {
    let binary = &standing.binary;
    let ordinary = standing.uid != 0 && !standing.filtered;
    let container =
        |options: &str| format!("start the container with {options}, or use {binary} outside of it");
    match ability {
        Ability::Bpf if !standing.btf => {
            "a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions have it since 2020".to_owned()
        }
        Ability::Bpf if ordinary && !standing.capable => {
            format!("sudo setcap cap_bpf,cap_perfmon+ep {binary}")
        }
        Ability::Bpf if ordinary => {
            format!("sudo {binary} run --user \"$USER\" …, or sudo {binary} attach …")
        }
        Ability::Bpf | Ability::PerfEvents if standing.filtered || !standing.capable => container(
            "--cap-add=BPF --cap-add=PERFMON --cap-add=SYS_PTRACE --security-opt=seccomp=unconfined",
        ),
        Ability::Bpf => "Linux 5.15 or newer, not locked down (/sys/kernel/security/lockdown)".to_owned(),
        Ability::PerfEvents if standing.paranoid.is_none() => "a kernel with CONFIG_PERF_EVENTS=y".to_owned(),
        Ability::PerfEvents => "sudo sysctl kernel.perf_event_paranoid=2".to_owned(),
        Ability::KernelSamples => "sudo sysctl kernel.perf_event_paranoid=1".to_owned(),
        Ability::BpfClock | Ability::Mappings => "sudo sysctl kernel.perf_event_paranoid=0".to_owned(),
        Ability::Sockets => "Linux 6.3 or newer".to_owned(),
        Ability::Disks => "a kernel with the block layer's tracepoints".to_owned(),
        Ability::Network => "a kernel with CONFIG_NET=y".to_owned(),
        Ability::Pages => "Linux 6.13 or newer".to_owned(),
        // The kernel resolves the descriptor that names a probe's file only for root.
        Ability::Uprobes if ordinary => {
            format!("sudo {binary} run --user \"$USER\" --names …: capabilities of the file are not enough")
        }
        Ability::Uprobes => {
            "a kernel with CONFIG_UPROBES=y, and a C library that only root can change".to_owned()
        }
        Ability::KernelNames if standing.uid != 0 => "sudo sysctl kernel.kptr_restrict=0 \
                                                      kernel.perf_event_paranoid=1"
            .to_owned(),
        Ability::KernelNames => {
            "sysctl kernel.kptr_restrict=1; and a kernel with CONFIG_KALLSYMS=y".to_owned()
        }
        Ability::OtherUsers if ordinary => format!("sudo {binary} attach …"),
        Ability::OtherUsers => container("--cap-add=SYS_PTRACE --pid=host"),
        Ability::Pressure => {
            "boot with psi=1 on the kernel's command line; and a kernel with CONFIG_PSI=y".to_owned()
        }
        Ability::Cgroup => "sudo mount -t cgroup2 none /sys/fs/cgroup".to_owned(),
        Ability::HardwareCounters => {
            "a machine, or a virtual machine, that has performance counters".to_owned()
        }
        Ability::RealTime | Ability::LockedMemory | Ability::IdleStates if ordinary => {
            format!("sudo {binary} wake …")
        }
        Ability::RealTime => container("--cap-add=SYS_NICE --ulimit rtprio=99"),
        Ability::LockedMemory => container("--cap-add=IPC_LOCK --ulimit memlock=-1"),
        Ability::IdleStates => container("--device /dev/cpu_dma_latency"),
        Ability::Preemption if ordinary => format!("sudo {binary} wake …"),
        Ability::Preemption => "mount -t debugfs none /sys/kernel/debug".to_owned(),
        Ability::HugePages => {
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled".to_owned()
        }
        Ability::Links if standing.uid != 0 => {
            format!("sudo {binary} lab …; and: sudo apt-get install iproute2 util-linux")
        }
        Ability::Links => "apt-get install iproute2 util-linux; in a container: --cap-add=NET_ADMIN \
                           --cap-add=SYS_ADMIN"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seen;

    fn standing(uid: u32) -> Standing {
        Standing {
            binary: "/opt/dwell".into(),
            uid,
            capable: uid == 0,
            filtered: false,
            paranoid: Some(2),
            btf: true,
        }
    }

    fn concluded(standing: &Standing, refused: &[Ability]) -> Doctor {
        let attempt = |ability: Ability| match refused.contains(&ability) {
            true => Attempt { ability, works: Extent::None, why: "no".into() },
            false => Attempt { ability, works: Extent::Full, why: String::new() },
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
            for filtered in [false, true] {
                let standing = Standing { filtered, ..standing(uid) };
                for check in concluded(&standing, &Ability::ALL).checks {
                    assert!(!check.remedy.is_empty(), "{check:?}");
                    // A bare name may not be in PATH, and may be another dwell.
                    assert!(!check.remedy.contains(" dwell"), "{check:?}");
                    assert!(!check.remedy.contains("run …"), "{check:?}");
                    let mut words = check.remedy.split_whitespace();
                    let runs = words.any(|word| word == "run");
                    assert!(!runs || check.remedy.contains("--user \"$USER\""), "{check:?}");
                    assert!(uid != 0 || !check.remedy.contains("sudo /opt"), "{check:?}: root is root");
                }
                assert!(concluded(&standing, &[]).checks.iter().all(|check| check.remedy.is_empty()));
            }
        }
    }

    #[test]
    fn the_remedy_fits_the_reason() {
        let bpf = |standing: &Standing| concluded(standing, &[Ability::Bpf]).checks[0].remedy.clone();
        assert_eq!(bpf(&standing(1000)), "sudo setcap cap_bpf,cap_perfmon+ep /opt/dwell");
        assert!(bpf(&Standing { capable: true, ..standing(1000) }).starts_with("sudo /opt/dwell run --user"));
        assert!(bpf(&Standing { filtered: true, ..standing(0) }).contains("--cap-add=BPF"));
        assert!(bpf(&Standing { btf: false, ..standing(0) }).contains("BTF"));
        assert!(bpf(&standing(0)).contains("lockdown"));
        let capable = Standing { capable: true, ..standing(1000) };
        let names = concluded(&capable, &[Ability::Uprobes]).checks;
        let names = names.iter().find(|check| !check.remedy.is_empty()).expect("it is refused");
        assert!(names.remedy.starts_with("sudo /opt/dwell run --user \"$USER\" --names"), "{names:?}");
        // What rests on BPF is had with it.
        let both = concluded(&standing(1000), &[Ability::Bpf, Ability::Sockets]);
        let remedies: Vec<&str> = both
            .checks
            .iter()
            .map(|check| check.remedy.as_str())
            .filter(|remedy| !remedy.is_empty())
            .collect();
        assert_eq!(remedies, ["sudo setcap cap_bpf,cap_perfmon+ep /opt/dwell"; 2]);
        assert_eq!(concluded(&standing(0), &[Ability::Sockets]).checks[3].remedy, "Linux 6.3 or newer");
    }
}

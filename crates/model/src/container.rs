//! What keeps dwell from its host: a container, pod or sandbox, and the options with which each
//! would let it do more.

/// Who started the container: each has options of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    /// Docker, Podman, or one that is not known: their options are the most common.
    Engine,
    /// Kubernetes.
    Kubernetes,
    /// systemd-nspawn.
    Nspawn,
}

/// What dwell would need of a container.
#[derive(Debug, Clone, Copy)]
pub struct Wants {
    /// Capabilities, without `CAP_`.
    pub capabilities: &'static [&'static str],
    /// System calls that its filter forbids.
    pub calls: &'static [&'static str],
    /// The processes of the host.
    pub host_pids: bool,
    /// A file of the host.
    pub file: Option<&'static str>,
    /// A device of the host.
    pub device: Option<&'static str>,
    /// Number of open files.
    pub files: Option<u32>,
}

impl Wants {
    /// Nothing.
    pub const NOTHING: Self =
        Self { capabilities: &[], calls: &[], host_pids: false, file: None, device: None, files: None };
}

/// BPF and perf events, of all processes that it can see.
pub const TRACING: Wants = Wants {
    capabilities: &["BPF", "PERFMON", "SYS_PTRACE"],
    calls: &["bpf", "perf_event_open"],
    ..Wants::NOTHING
};

/// Perf events of one's own processes, for which no capability is needed.
pub const OWN_EVENTS: Wants = Wants { calls: &["perf_event_open"], ..Wants::NOTHING };

impl Launcher {
    /// What to do to get it, in a clause: `start the container with --cap-add=BPF`. Nothing where
    /// this launcher has no option for it.
    fn gives(self, wants: Wants, is_root: bool) -> Option<String> {
        match self {
            Self::Engine => Some(format!("start the container with {}", engine(wants, is_root))),
            Self::Kubernetes => kubernetes(wants, is_root),
            Self::Nspawn => nspawn(wants),
        }
    }

    /// Where dwell is without the container.
    pub fn outside(self) -> &'static str {
        match self {
            Self::Engine | Self::Nspawn => "outside of the container",
            Self::Kubernetes => "on the node, outside of the pod",
        }
    }
}

fn engine(wants: Wants, is_root: bool) -> String {
    let mut options = Vec::new();
    // Docker gives added capabilities to root only.
    if !wants.capabilities.is_empty() && !is_root {
        options.push("--user=0".to_owned());
    }
    options.extend(wants.capabilities.iter().map(|name| format!("--cap-add={name}")));
    // Neither engine takes single calls: another filter is a file.
    if !wants.calls.is_empty() {
        options.push("--security-opt=seccomp=unconfined".to_owned());
    }
    if wants.host_pids {
        options.push("--pid=host".to_owned());
    }
    options.extend(wants.file.map(|file| format!("--volume={file}:{file}:ro")));
    options.extend(wants.device.map(|device| format!("--device {device}")));
    options.extend(wants.files.map(|files| format!("--ulimit=nofile={files}")));
    options.join(" ")
}

fn kubernetes(wants: Wants, is_root: bool) -> Option<String> {
    // A volume of the node takes two lists of the pod: no line, and no pod should have one for
    // this. There is no option for limits.
    if wants.file.is_some() || wants.device.is_some() || wants.files.is_some() {
        return None;
    }
    let mut fields = Vec::new();
    if !wants.capabilities.is_empty() && !is_root {
        fields.push("runAsUser: 0".to_owned());
    }
    if !wants.capabilities.is_empty() {
        fields.push(format!("capabilities: {{add: [{}]}}", wants.capabilities.join(", ")));
    }
    if !wants.calls.is_empty() {
        fields.push("seccompProfile: {type: Unconfined}".to_owned());
    }
    let mut clauses = Vec::new();
    if !fields.is_empty() {
        clauses.push(format!("give the container securityContext: {{{}}}", fields.join(", ")));
    }
    if wants.host_pids {
        clauses.push("give the pod hostPID: true".to_owned());
    }
    Some(clauses.join(", and "))
}

fn nspawn(wants: Wants) -> Option<String> {
    // It always has PIDs of its own, and keeps devices from who is bound to them.
    if wants.host_pids || wants.device.is_some() {
        return None;
    }
    let mut options = Vec::new();
    if !wants.capabilities.is_empty() {
        let names: Vec<_> = wants.capabilities.iter().map(|name| format!("CAP_{name}")).collect();
        options.push(format!("--capability={}", names.join(",")));
    }
    options.extend(wants.calls.iter().map(|call| format!("--system-call-filter={call}")));
    options.extend(wants.file.map(|file| format!("--bind-ro={file}")));
    options.extend(wants.files.map(|files| format!("--rlimit=NOFILE={files}")));
    Some(format!("start the container with systemd-nspawn {}", options.join(" ")))
}

/// A container, or something like it, that dwell is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Container {
    /// Who started it.
    pub launcher: Launcher,
    /// Whether it has users of its own (rootless): its capabilities do not count for the host, and
    /// no option changes it.
    pub own_users: bool,
    /// Whether dwell is root in it.
    pub is_root: bool,
}

impl Container {
    /// What would give it to the dwell with this path, in a sentence that ends with the one thing
    /// that always does: dwell outside.
    pub fn remedy(self, wants: Wants, binary: &str) -> String {
        let outside = self.launcher.outside();
        if self.own_users && (!wants.capabilities.is_empty() || wants.host_pids || wants.device.is_some()) {
            return format!("use {binary} {outside}: its user namespace has no such rights");
        }
        match self.launcher.gives(wants, self.is_root) {
            Some(clause) => format!("{clause}, or use {binary} {outside}"),
            None => format!("use {binary} {outside}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINARY: &str = "/opt/dwell";

    fn remedy(launcher: Launcher, own_users: bool, wants: Wants) -> String {
        Container { launcher, own_users, is_root: true }.remedy(wants, BINARY)
    }

    /// As they were given to podman, and systemd-nspawn; of Kubernetes the options that a pod with
    /// these lines has.
    #[test]
    fn each_launcher_has_its_own_options() {
        assert_eq!(
            remedy(Launcher::Engine, false, TRACING),
            "start the container with --cap-add=BPF --cap-add=PERFMON --cap-add=SYS_PTRACE \
             --security-opt=seccomp=unconfined, or use /opt/dwell outside of the container"
        );
        assert_eq!(
            remedy(Launcher::Kubernetes, false, TRACING),
            "give the container securityContext: {capabilities: {add: [BPF, PERFMON, SYS_PTRACE]}, \
             seccompProfile: {type: Unconfined}}, or use /opt/dwell on the node, outside of the pod"
        );
        assert_eq!(
            remedy(Launcher::Nspawn, false, TRACING),
            "start the container with systemd-nspawn --capability=CAP_BPF,CAP_PERFMON,CAP_SYS_PTRACE \
             --system-call-filter=bpf --system-call-filter=perf_event_open, or use /opt/dwell outside of \
             the container"
        );
    }

    #[test]
    fn who_is_not_root_is_told_to_be() {
        let of = |launcher| Container { launcher, own_users: false, is_root: false }.remedy(TRACING, BINARY);
        assert!(of(Launcher::Engine).contains("with --user=0 --cap-add=BPF"));
        assert!(of(Launcher::Kubernetes).contains("{runAsUser: 0, capabilities"));
    }

    #[test]
    fn what_no_option_gives_is_had_outside() {
        let pids = Wants { host_pids: true, ..Wants::NOTHING };
        assert!(remedy(Launcher::Engine, false, pids).contains("--pid=host"));
        assert!(remedy(Launcher::Kubernetes, false, pids).starts_with("give the pod hostPID: true"));
        assert_eq!(remedy(Launcher::Nspawn, false, pids), "use /opt/dwell outside of the container");
        let device = Wants { device: Some("/dev/cpu_dma_latency"), ..Wants::NOTHING };
        assert_eq!(
            remedy(Launcher::Kubernetes, false, device),
            "use /opt/dwell on the node, outside of the pod"
        );
    }

    #[test]
    fn capabilities_of_a_user_namespace_are_not_recommended_and_its_filter_is() {
        assert!(!remedy(Launcher::Engine, true, TRACING).contains("--cap-add"));
        let own = remedy(Launcher::Engine, true, OWN_EVENTS);
        assert!(own.starts_with("start the container with --security-opt=seccomp=unconfined,"), "{own}");
    }
}

//! Finds cgroups by path, systemd unit or container.
//!
//! It reads only the directories, so it works without systemctl, docker or kubectl, and in each
//! layout: version 2; version 1, with one hierarchy per controller; or both. Names follow
//! systemd.unit(5) and the schemes of Docker, Podman, containerd and CRI-O.

use crate::mounts::{Mount, mounts_of};
use crate::pods::uid_of_group;
use model::Pid;
use std::fs;
use std::path::{Path, PathBuf};

/// The mount point of cgroups: file-hierarchy(7).
const MOUNTED: &str = "/sys/fs/cgroup";
/// Types of units that have processes; a name without one is a service, as in systemctl(1).
const KINDS: [&str; 6] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];
/// The limit of nesting.
const DEPTH_MAX: usize = 32;
/// Length of a container's identifier, in hexadecimal digits.
const ID_LEN: usize = 64;
/// The shortest accepted prefix of one.
const ID_LEN_MIN: usize = 3;

/// The cgroup hierarchies.
#[derive(Debug, Clone)]
pub struct Hierarchies {
    roots: Vec<PathBuf>,
    /// Their mounts, where only a part of each is mounted: in a container.
    parts: Vec<Mount>,
}

/// Why no group was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFound {
    /// There is none.
    None,
    /// The name is ambiguous: these match.
    Several(Vec<PathBuf>),
}

impl Hierarchies {
    /// Those of this host, as far as visible in this namespace.
    pub fn here() -> Self {
        let mounts = mounts_of(host::here(), std::process::id());
        let is_part = |mount: &Mount| matches!(&*mount.name, "cgroup" | "cgroup2") && mount.root != "/";
        Self { parts: mounts.into_iter().filter(is_part).collect(), ..Self::below(Path::new(MOUNTED)) }
    }

    /// Those mounted here or directly below.
    fn below(mounted: &Path) -> Self {
        let is_group = |path: &PathBuf| path.join("cgroup.procs").exists();
        let whole = mounted.to_owned();
        if is_group(&whole) {
            return Self { roots: vec![whole], parts: Vec::new() };
        }
        let mut roots: Vec<PathBuf> = directories(mounted).into_iter().filter(is_group).collect();
        // The hierarchy of systemd's units comes first.
        let rank = |path: &PathBuf| match path.file_name().and_then(|name| name.to_str()) {
            Some("unified") => 0,
            Some("systemd") => 1,
            _ => 2,
        };
        roots.sort_by_key(|path| (rank(path), path.clone()));
        Self { roots, parts: Vec::new() }
    }

    /// The group at this path: a file-system path, or one from the root of a hierarchy, as in
    /// `/proc/PID/cgroup` and systemd-cgls(1).
    pub fn at(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix("/").unwrap_or(path);
        let given = std::iter::once(path.to_owned()).filter(|path| path.is_absolute());
        let all = given.chain(self.roots.iter().map(|root| root.join(below)));
        // Without a namespace of control groups, paths begin at the host's root.
        let path = path.to_str().unwrap_or_default();
        let all = all.chain(self.parts.iter().filter_map(|part| part.place(path)).map(PathBuf::from));
        let there: Vec<PathBuf> = all.filter(|path| path.join("cgroup.procs").exists()).collect();
        // With several hierarchies, one that has processes.
        there.iter().find(|path| !processes(path).is_empty()).or(there.first()).cloned()
    }

    /// The group of a systemd unit: of the system manager, else of a user manager, else of a
    /// manager in a container.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn service(&self, unit: &str) -> Result<PathBuf, NotFound> {
        let unit = if KINDS.iter().any(|kind| unit.ends_with(kind)) {
            unit.to_owned()
        } else {
            format!("{unit}.service")
        };
        // systemd escapes names that could collide with the kernel's files.
        let escaped = format!("_{unit}");
        self.find(|name| name == unit || name == escaped, rank_of_unit)
    }

    /// The group of a container by its ID or a prefix of it.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn container(&self, id: &str) -> Result<PathBuf, NotFound> {
        let id = id.to_ascii_lowercase();
        if id.len() < ID_LEN_MIN {
            return Err(NotFound::None);
        }
        // Of nested ones that both match, the outer one is meant.
        self.find(|name| container_id(name).is_some_and(|of| of.starts_with(&id)), |above| above.len())
    }

    /// The group of a pod that has one of these UIDs, in small letters.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn pod(&self, uids: &[String]) -> Result<PathBuf, NotFound> {
        // A node in a container (kind, minikube) has pods too: the outer one is meant.
        self.find(|name| uid_of_group(name).is_some_and(|uid| uids.contains(&uid)), |above| above.len())
    }

    /// The groups whose name matches, with the best rank by their ancestors' names; one that has
    /// processes if any has.
    fn find(
        &self,
        wanted: impl Fn(&str) -> bool,
        rank: impl Fn(&[String]) -> usize,
    ) -> Result<PathBuf, NotFound> {
        let mut best = Vec::new();
        for root in &self.roots {
            let mut found = Vec::new();
            search(root, &mut Vec::new(), &wanted, &mut |path, above| found.push((rank(above), path)));
            let least = found.iter().map(|(rank, _)| *rank).min();
            let found: Vec<PathBuf> =
                found.into_iter().filter(|(rank, _)| Some(*rank) == least).map(|(_, path)| path).collect();
            let lives = found.iter().any(|path| !processes(path).is_empty());
            if best.is_empty() || lives {
                best = found;
            }
            if lives {
                break;
            }
        }
        match best.as_slice() {
            [] => Err(NotFound::None),
            [one] => Ok(one.clone()),
            _ => Err(NotFound::Several(best)),
        }
    }
}

/// The manager of a unit, by its ancestors: 0 the system's, 1 a user's, 2 one within a container.
fn rank_of_unit(above: &[String]) -> usize {
    let is_slice = |name: &String| name.ends_with(".slice");
    let is_manager = |name: &String| name.starts_with("user@") && name.ends_with(".service");
    let inner = above.iter().position(is_manager);
    match inner {
        _ if above.iter().all(is_slice) => 0,
        Some(at) if above[..at].iter().chain(&above[at + 1..]).all(is_slice) => 1,
        _ => 2,
    }
}

/// The identifier in the name of a container's group: `ID`, `docker-ID.scope`, `libpod-ID.scope`,
/// `cri-containerd-ID.scope`, `crio-ID`. The group of a container's monitor
/// (`crio-conmon-ID.scope`) is not one.
fn container_id(name: &str) -> Option<&str> {
    let name = name.strip_suffix(".scope").unwrap_or(name);
    let (engine, id) = name.rsplit_once('-').unwrap_or(("", name));
    let is_id = id.len() == ID_LEN && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && !engine.ends_with("conmon")).then_some(id)
}

/// Calls `each` for the descendants whose name matches, with the names of their ancestors.
fn search(
    group: &Path,
    above: &mut Vec<String>,
    wanted: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(PathBuf, &[String]),
) {
    for below in directories(group) {
        let Some(name) = below.file_name().and_then(|name| name.to_str()).map(str::to_owned) else {
            continue;
        };
        if wanted(&name) {
            each(below.clone(), above);
        }
        if above.len() < DEPTH_MAX {
            above.push(name);
            search(&below, above, wanted, each);
            above.pop();
        }
    }
}

/// Directories directly below this one, in order. Symbolic links are skipped.
fn directories(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    all.sort();
    all
}

/// The processes of a group and of its descendants.
pub(crate) fn processes(group: &Path) -> Vec<Pid> {
    let mut pids = own_processes(group);
    for below in directories(group) {
        pids.extend(processes(&below));
    }
    pids
}

fn own_processes(group: &Path) -> Vec<Pid> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    // 0 is a process outside this PID namespace.
    text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid != 0).collect()
}

/// The processes of a group, without dwell itself.
pub fn members(group: &Path) -> Vec<Pid> {
    let own = std::process::id();
    processes(group).into_iter().filter(|pid| *pid != own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Directories like the kernel's, removed with the test.
    struct Made(tempfile::TempDir);

    impl Made {
        /// Groups with the processes that each has.
        fn new(groups: &[(&str, &str)]) -> Self {
            let made = Self(tempfile::tempdir().unwrap());
            for (path, pids) in groups {
                let mut group = made.0.path().to_owned();
                for name in Path::new(path) {
                    group.push(name);
                    fs::create_dir_all(&group).unwrap();
                    if !group.join("cgroup.procs").exists() {
                        fs::write(group.join("cgroup.procs"), "").unwrap();
                    }
                }
                fs::write(group.join("cgroup.procs"), pids).unwrap();
            }
            made
        }

        fn hierarchies(&self) -> Hierarchies {
            Hierarchies::below(self.0.path())
        }

        /// What was found, from the top.
        fn short(&self, found: Result<PathBuf, NotFound>) -> Result<String, Vec<String>> {
            let short =
                |path: &PathBuf| path.strip_prefix(self.0.path()).unwrap().to_str().unwrap().to_owned();
            match found {
                Ok(path) => Ok(short(&path)),
                Err(NotFound::None) => Err(Vec::new()),
                Err(NotFound::Several(paths)) => Err(paths.iter().map(short).collect()),
            }
        }

        fn service(&self, unit: &str) -> Result<String, Vec<String>> {
            self.short(self.hierarchies().service(unit))
        }

        fn container(&self, id: &str) -> Result<String, Vec<String>> {
            self.short(self.hierarchies().container(id))
        }
    }

    fn id(begins: &str) -> String {
        format!("{begins:a<64}")
    }

    const MANAGER: &str = "user.slice/user-1000.slice/user@1000.service";

    #[test]
    fn units_are_found_wherever_systemd_puts_them() {
        let app = format!("{MANAGER}/app.slice/notes.service");
        let made = Made::new(&[
            ("", ""),
            ("system.slice/nginx.service", "12\n"),
            ("system.slice/system-getty.slice/getty@tty1.service", "13\n"),
            ("system.slice/_cpu.service", "14\n"),
            ("init.scope", "1\n"),
            (&app, "15\n"),
            // A system in a container has the same names.
            ("machine.slice/machine-a.scope/system.slice/nginx.service", "16\n"),
            ("machine.slice/machine-a.scope/system.slice/inner.service", "17\n"),
        ]);
        let found = |unit: &str| made.service(unit).unwrap();
        assert_eq!(found("nginx"), "system.slice/nginx.service");
        assert_eq!(found("nginx.service"), "system.slice/nginx.service");
        assert_eq!(found("getty@tty1"), "system.slice/system-getty.slice/getty@tty1.service");
        assert_eq!(found("cpu"), "system.slice/_cpu.service");
        assert_eq!(found("init.scope"), "init.scope");
        assert_eq!(found("system.slice"), "system.slice");
        assert_eq!(found("user@1000"), MANAGER);
        assert_eq!(found("notes"), app);
        assert_eq!(found("inner"), "machine.slice/machine-a.scope/system.slice/inner.service");
        for none in ["ngin", "../system.slice/nginx", "", "getty@.service", "org.example.nginx"] {
            assert_eq!(made.service(none), Err(vec![]), "{none:?}");
        }
    }

    #[test]
    fn a_unit_that_two_users_run_is_no_one_unit() {
        let other = MANAGER.replace("1000", "1001");
        let [one, two] = [MANAGER, &other].map(|of| format!("{of}/app.slice/notes.service"));
        let made = Made::new(&[("", ""), (&one, "15\n"), (&two, "16\n")]);
        assert_eq!(made.service("notes"), Err(vec![one, two]));
    }

    #[test]
    fn hierarchies_side_by_side_are_searched_from_systemds_on() {
        let made = Made::new(&[
            ("memory/system.slice/nginx.service", "12\n"),
            ("memory/docker/apart", "18\n"),
            ("systemd/system.slice/nginx.service", "12\n"),
            ("unified/system.slice", ""),
        ]);
        assert_eq!(made.service("nginx"), Ok("systemd/system.slice/nginx.service".to_owned()));
        let at = |path: &str| made.short(made.hierarchies().at(Path::new(path)).ok_or(NotFound::None));
        assert_eq!(at("/system.slice/nginx.service"), Ok("systemd/system.slice/nginx.service".to_owned()));
        assert_eq!(at("system.slice"), Ok("systemd/system.slice".to_owned()), "the one that has processes");
        assert_eq!(at("docker/apart"), Ok("memory/docker/apart".to_owned()));
        let whole = made.0.path().join("unified/system.slice");
        assert_eq!(at(whole.to_str().unwrap()), Ok("unified/system.slice".to_owned()));
        assert_eq!(at("no/such/group"), Err(vec![]));
    }

    /// As Docker and Podman mount version 1.
    #[test]
    fn a_path_of_the_host_is_found_where_a_container_has_its_part() {
        let made = Made::new(&[("memory", "5\n"), ("memory/inner", "6\n")]);
        let at = made.0.path().join("memory");
        let mountinfo = format!("88 87 0:29 /docker/c0 {} ro - cgroup cgroup rw,memory", at.display());
        let parts = crate::mounts::parse(&mountinfo);
        let hierarchies = Hierarchies { parts, ..made.hierarchies() };
        assert_eq!(hierarchies.at(Path::new("/docker/c0")), Some(at.clone()));
        assert_eq!(hierarchies.at(Path::new("/docker/c0/inner")), Some(at.join("inner")));
        assert_eq!(hierarchies.at(Path::new("/docker/c1")), None);
        assert_eq!(made.hierarchies().at(Path::new("/docker/c0")), None);
    }

    #[test]
    fn containers_are_found_by_the_beginning_of_their_identifier() {
        let pod = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice";
        let names = [
            format!("system.slice/docker-{}.scope", id("d0c")),
            format!("docker/{}", id("cf5")),
            format!("machine.slice/libpod-{}.scope", id("b0d")),
            format!("{pod}/cri-containerd-{}.scope", id("c1d")),
            format!("{pod}/crio-{}.scope", id("c10")),
        ];
        let watcher = format!("{pod}/crio-conmon-{}.scope", id("c10"));
        let inner = format!("{}/init/docker-{}.scope", names[0], id("d0c1"));
        let mut groups: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "5\n")).collect();
        groups.extend([("", ""), (&watcher, "6\n"), (&inner, "7\n")]);
        let made = Made::new(&groups);
        for (begins, name) in ["d0c", "cf5", "b0d", "c1d", "c10"].iter().zip(&names) {
            assert_eq!(made.container(begins).as_ref(), Ok(name));
            assert_eq!(made.container(&id(begins).to_uppercase()).as_ref(), Ok(name));
        }
        assert_eq!(made.container("d0c1"), Ok(inner));
        for none in ["", "d0", "fff", "docker", "system.slice"] {
            assert_eq!(made.container(none), Err(vec![]), "{none:?}");
        }
        let twin = format!("{pod}/cri-containerd-{}.scope", id("c1d5"));
        let made = Made::new(&[("", ""), (&names[3], "5\n"), (&twin, "8\n")]);
        assert_eq!(made.container("c1d"), Err(vec![twin, names[3].clone()]));
    }

    #[test]
    fn a_pod_is_all_of_its_containers_whichever_runtime_made_the_groups() {
        let uids: Vec<String> =
            (1..=4).map(|at| format!("0f1e2d3c-aaaa-bbbb-cccc-00000000000{at}")).collect();
        let by_systemd = |at: usize| {
            let uid = uids[at].replace('-', "_");
            format!("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice")
        };
        let [one, gone] = [by_systemd(0), by_systemd(1)];
        let plain = format!("kubepods/besteffort/pod{}", uids[2]);
        let containers = [
            format!("{one}/cri-containerd-{}.scope", id("c1d")),
            format!("{one}/crio-{}.scope", id("c10")),
            format!("{plain}/{}", id("d0c")),
        ];
        let mut groups: Vec<(&str, &str)> = containers.iter().map(|name| (name.as_str(), "5\n")).collect();
        groups.extend([("", ""), (one.as_str(), ""), (plain.as_str(), ""), (gone.as_str(), "")]);
        let made = Made::new(&groups);
        let found = |uids: &[String]| made.short(made.hierarchies().pod(uids));
        assert_eq!(found(&uids[..1]), Ok(one.clone()));
        assert_eq!(processes(&made.0.path().join(&one)).len(), 2);
        assert_eq!(found(&uids[2..3]), Ok(plain.clone()));
        assert_eq!(found(&uids[3..]), Err(vec![]));
        assert_eq!(found(&[]), Err(vec![]));
    }

    #[test]
    fn a_groups_processes_are_those_below_it_too() {
        let made = Made::new(&[("a", "12\n0\n"), ("a/b", "13\n")]);
        assert_eq!(processes(&made.0.path().join("a")), [12, 13]);
    }
}

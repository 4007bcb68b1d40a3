//! How much memory there is to work with: what the host has free, and what the control groups above us leave.

use std::fs;
use std::path::Path;

/// A load takes no more than so many hundredths of what is free.
const PERCENT: u64 = 90;

/// Memory that a load may take, in bytes; none where the system does not say what is free.
pub(crate) fn memory_bytes() -> Option<u64> {
    free(Path::new("/proc"), Path::new("/sys/fs/cgroup")).map(|free| free / 100 * PERCENT)
}

fn free(proc: &Path, groups: &Path) -> Option<u64> {
    let meminfo = fs::read_to_string(proc.join("meminfo")).ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let host = line.split_whitespace().next()?.parse::<u64>().ok()? * 1024;
    let ours = fs::read_to_string(proc.join("self/cgroup")).unwrap_or_default();
    Some(ours.lines().filter_map(|line| left(groups, line)).fold(host, u64::min))
}

/// What the group of this line of `/proc/self/cgroup`, and those above it, leave: the least of them. See cgroups(7).
fn left(groups: &Path, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (top, limit, usage) = match parts.next()? {
        "" => (groups.to_owned(), "memory.max", "memory.current"),
        "memory" => (groups.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
        _ => return None,
    };
    // In a container the path may lead nowhere; the top then is its own group.
    let group = top.join(parts.next()?.trim_start_matches('/'));
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let above = group.ancestors().take_while(|group| group.starts_with(&top));
    above
        .filter_map(|group| {
            let used = number(&group.join(usage)).unwrap_or(0);
            Some(number(&group.join(limit))?.saturating_sub(used))
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Option<u64> {
        let top = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = top.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        free(&top.path().join("proc"), &top.path().join("groups"))
    }

    #[test]
    fn the_tightest_limit_counts() {
        let meminfo = ("proc/meminfo", "MemTotal: 8000 kB\nMemAvailable:    6000 kB\n");
        let ours = ("proc/self/cgroup", "0::/a/b\n");
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[meminfo]), Some(6_144_000));
        assert_eq!(of(&[meminfo, ours, ("groups/a/b/memory.max", "max\n")]), Some(6_144_000));
        let above = [("groups/a/memory.max", "3000\n"), ("groups/a/memory.current", "1000\n")];
        assert_eq!(of(&[meminfo, ours, above[0], above[1], ("groups/a/b/memory.max", "2500\n")]), Some(2000));
        let old = [
            ("proc/self/cgroup", "5:cpu:/x\n4:memory:/y\n"),
            ("groups/memory/y/memory.limit_in_bytes", "700\n"),
        ];
        assert_eq!(of(&[meminfo, old[0], old[1]]), Some(700));
        // A container that sees its own group as the top.
        assert_eq!(of(&[meminfo, ours, ("groups/memory.max", "99\n")]), Some(99));
    }
}

//! How much room there is for whoever asks: on a filesystem, and of memory.

use rustix::fs::statvfs;
use std::fs;
use std::io;
use std::path::Path;

/// Bytes that may still be written where `path` is.
///
/// # Errors
/// What `statvfs` says: there is no such place.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let room = statvfs(path)?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}

/// Memory that is free, in bytes: what the host has available, or what the control groups above us leave, if that is less.
///
/// # Errors
/// When a file that would say so cannot be read, with its name.
pub fn memory_free_bytes() -> io::Result<u64> {
    memory_free_bytes_in(Path::new("/proc"), Path::new("/sys"))
}

/// The same, from where a machine's `/proc` and `/sys` are.
///
/// # Errors
/// As above.
pub fn memory_free_bytes_in(proc: &Path, sys: &Path) -> io::Result<u64> {
    let meminfo = text(&proc.join("meminfo"))?;
    let available = field(&meminfo, "MemAvailable:").ok_or_else(|| {
        io::Error::other(format!("{} does not state MemAvailable", proc.join("meminfo").display()))
    })?;
    let mut least = available * 1024;
    // Without control groups there is no such file.
    let ours = fs::read_to_string(proc.join("self/cgroup")).unwrap_or_default();
    for line in ours.lines() {
        least = least.min(left(&sys.join("fs/cgroup"), line)?.unwrap_or(u64::MAX));
    }
    Ok(least)
}

/// What the group of this line of `/proc/self/cgroup`, and those above it, leave: the least of them; none where nothing is
/// limited. See cgroups(7).
fn left(groups: &Path, line: &str) -> io::Result<Option<u64>> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Ok(None) };
    // Above memory.high nothing is refused, but everything waits.
    let (top, limits, usage, cache) = match controllers {
        "" => (groups.to_owned(), &["memory.max", "memory.high"][..], "memory.current", "inactive_file"),
        "memory" => (
            groups.join("memory"),
            &["memory.limit_in_bytes"][..],
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
        _ => return Ok(None),
    };
    // A container may see its own group as the top: then the path leads nowhere, and the top has the limit.
    let group = top.join(path.trim_start_matches('/'));
    let mut least = None;
    for group in group.ancestors().take_while(|group| group.starts_with(&top)) {
        let limit = |name: &&str| text(&group.join(name)).ok()?.trim().parse::<u64>().ok();
        let Some(limit) = limits.iter().filter_map(limit).min() else { continue };
        let path = group.join(usage);
        let used = text(&path)?.trim().parse::<u64>();
        let used = used.map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        // What of it is cache that nobody used again is given back first, and is available as the host's is. Where it is not
        // said, less is free than there could be.
        let stat = text(&group.join("memory.stat")).unwrap_or_default();
        let used = used.saturating_sub(field(&stat, cache).unwrap_or(0));
        let left = limit.saturating_sub(used);
        least = Some(least.map_or(left, |least: u64| least.min(left)));
    }
    Ok(least)
}

/// The number after this word at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    lines.find_map(|mut words| (words.next()? == name).then(|| words.next()?.parse().ok())?)
}

fn text(path: &Path) -> io::Result<String> {
    fs::read_to_string(path)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_where_there_is_a_place() {
        assert!(free_bytes(Path::new("/")).is_ok());
        assert!(free_bytes(Path::new("/no/such/place")).is_err());
        assert!(memory_free_bytes().unwrap() > 0);
    }

    /// Memory that is free by these files, and none else.
    fn free(files: &[(&str, &str)]) -> Result<u64, String> {
        let top = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = top.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let free = memory_free_bytes_in(&top.path().join("proc"), &top.path().join("sys"));
        free.map_err(|error| error.to_string())
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal: 8000 kB\nMemAvailable:    6000 kB\n");
    const OURS: (&str, &str) = ("proc/self/cgroup", "1:name=systemd:/x\n0::/a/b\n");
    const ABOVE: [(&str, &str); 2] =
        [("sys/fs/cgroup/a/memory.max", "3000\n"), ("sys/fs/cgroup/a/memory.current", "1000\n")];

    #[test]
    fn the_tightest_limit_counts() {
        assert_eq!(free(&[MEMINFO]), Ok(6_144_000));
        assert_eq!(free(&[MEMINFO, OURS, ("sys/fs/cgroup/a/b/memory.max", "max\n")]), Ok(6_144_000));
        assert_eq!(free(&[MEMINFO, OURS, ABOVE[0], ABOVE[1]]), Ok(2000));
        let high = ("sys/fs/cgroup/a/memory.high", "1700\n");
        assert_eq!(free(&[MEMINFO, OURS, ABOVE[0], ABOVE[1], high]), Ok(700));
        let below =
            [("sys/fs/cgroup/a/b/memory.max", "900\n"), ("sys/fs/cgroup/a/b/memory.current", "950\n")];
        assert_eq!(free(&[MEMINFO, OURS, ABOVE[0], ABOVE[1], below[0], below[1]]), Ok(0));
        let old = [
            ("proc/self/cgroup", "5:cpu:/x\n4:memory:/y\n"),
            ("sys/fs/cgroup/memory/y/memory.limit_in_bytes", "700\n"),
            ("sys/fs/cgroup/memory/y/memory.usage_in_bytes", "200\n"),
            ("sys/fs/cgroup/memory/y/memory.stat", "inactive_file 7\ntotal_inactive_file 50\n"),
        ];
        assert_eq!(free(&[MEMINFO, old[0], old[1], old[2], old[3]]), Ok(550));
        // A container that sees its own group as the top.
        let top = [("sys/fs/cgroup/memory.max", "99\n"), ("sys/fs/cgroup/memory.current", "9\n")];
        assert_eq!(free(&[MEMINFO, OURS, top[0], top[1]]), Ok(90));
    }

    #[test]
    fn cache_that_is_given_back_first_is_free() {
        let stat =
            ("sys/fs/cgroup/a/memory.stat", "anon 100\nfile 900\nactive_file 100\ninactive_file 800\n");
        assert_eq!(free(&[MEMINFO, OURS, ABOVE[0], ABOVE[1], stat]), Ok(2800));
    }

    #[test]
    fn what_cannot_be_read_is_not_nothing() {
        let error = free(&[MEMINFO, OURS, ABOVE[0]]).unwrap_err();
        assert!(error.contains("/a/memory.current"), "{error}");
        assert!(free(&[]).unwrap_err().contains("proc/meminfo"));
        let error = free(&[("proc/meminfo", "MemTotal: 1 kB\n")]).unwrap_err();
        assert!(error.contains("does not state MemAvailable"), "{error}");
    }
}

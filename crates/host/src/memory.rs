//! Free resources: memory, by the host and by the cgroups above this process; space of a
//! filesystem.

use crate::{Error, Roots, fields, text};
use rustix::fs::statvfs;
use std::io;
use std::path::Path;

/// Bytes that may still be written where `path` is.
///
/// # Errors
/// What statvfs(2) says: there is no such place.
pub fn disk_free_bytes(path: &Path) -> io::Result<u64> {
    let room = statvfs(path)?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}

/// Free memory: what the host has available, or what the cgroups above this process leave, if that
/// is less.
///
/// # Errors
/// A file that would say so cannot be read, or does not say it.
pub fn free_bytes(roots: Roots<'_>) -> Result<u64, Error> {
    let path = roots.proc.join("meminfo");
    let available = fields::kib(&text(&path)?, "MemAvailable:");
    let mut least = available.ok_or(Error::Missing { path, what: "MemAvailable" })?;
    // Without cgroups there is no such file.
    let ours = present(text(&roots.proc.join("self/cgroup")))?.unwrap_or_default();
    for line in ours.lines() {
        least = least.min(left(&roots.sys.join("fs/cgroup"), line)?.unwrap_or(u64::MAX));
    }
    Ok(least)
}

/// The files of a hierarchy that limit memory.
struct Files {
    limits: &'static [&'static str],
    usage: &'static str,
    cache: &'static str,
}

// Above memory.high nothing is refused, but everything waits.
const V2: Files =
    Files { limits: &["memory.max", "memory.high"], usage: "memory.current", cache: "inactive_file" };
const V1: Files = Files {
    limits: &["memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    cache: "total_inactive_file",
};

/// What the group of this line of `/proc/self/cgroup`, and those above it, leave: the least of
/// them; none where nothing is limited. See cgroups(7).
fn left(groups: &Path, line: &str) -> Result<Option<u64>, Error> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Ok(None) };
    let (top, files) = match controllers {
        "" => (groups.to_owned(), V2),
        "memory" => (groups.join("memory"), V1),
        _ => return Ok(None),
    };
    // A container may see its own group as the top: then the path leads nowhere, and the top has
    // the limit.
    let group = top.join(path.trim_start_matches('/'));
    let mut least = None;
    for group in group.ancestors().take_while(|group| group.starts_with(&top)) {
        if let Some(left) = left_by(group, &files)? {
            least = Some(least.map_or(left, |least: u64| least.min(left)));
        }
    }
    Ok(least)
}

/// What one group leaves; none where it has no limit.
fn left_by(group: &Path, files: &Files) -> Result<Option<u64>, Error> {
    let mut limit = None;
    for name in files.limits {
        let own = limit_in(&group.join(name))?;
        limit = limit.into_iter().chain(own).min();
    }
    let Some(limit) = limit else { return Ok(None) };
    let path = group.join(files.usage);
    let used = text(&path)?.parse::<u64>().map_err(|_| Error::Missing { path, what: "a number" })?;
    // Cache that was not used again is given back first, and is available as the host's is. Where
    // it is not said, less is free than there could be.
    let stat = text(&group.join("memory.stat")).unwrap_or_default();
    let used = used.saturating_sub(fields::number(&stat, files.cache).unwrap_or(0));
    Ok(Some(limit.saturating_sub(used)))
}

/// A limit; none where there is no such file (the group does not control memory, or is seen from
/// another namespace) or it says `max`.
fn limit_in(path: &Path) -> Result<Option<u64>, Error> {
    match present(text(path))?.as_deref() {
        None | Some("max") => Ok(None),
        Some(limit) => {
            let limit = limit.parse().map_err(|_| Error::Missing { path: path.to_owned(), what: "a limit" });
            limit.map(Some)
        }
    }
}

/// A file that need not be there.
fn present(read: Result<String, Error>) -> Result<Option<String>, Error> {
    match read {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here;
    use crate::tests::Kept;
    use std::fs;

    #[test]
    fn there_is_room_where_there_is_a_place() {
        assert!(disk_free_bytes(Path::new("/")).is_ok());
        assert!(disk_free_bytes(Path::new("/no/such/place")).is_err());
        assert!(free_bytes(here()).unwrap() > 1 << 20);
        // The group above has the limit, and less is left of it than the board has.
        assert_eq!(free_bytes(Kept::new("board").roots()), Ok(600_000_000));
    }

    /// The machine that has these files, and none else.
    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = top.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        top
    }

    fn free_on(top: &tempfile::TempDir) -> Result<u64, String> {
        let (proc, sys) = (top.path().join("proc"), top.path().join("sys"));
        free_bytes(Roots { proc: &proc, sys: &sys }).map_err(|error| error.to_string())
    }

    fn free(files: &[(&str, &str)]) -> Result<u64, String> {
        free_on(&machine(files))
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

    #[test]
    fn a_limit_that_cannot_be_read_is_not_no_limit() {
        let error = free(&[MEMINFO, OURS, ("sys/fs/cgroup/a/memory.max", "some\n")]).unwrap_err();
        assert!(error.contains("/a/memory.max does not state a limit"), "{error}");
        // A directory in its place cannot be read by anybody, root included.
        let top = machine(&[MEMINFO, OURS]);
        fs::create_dir_all(top.path().join("sys/fs/cgroup/a/memory.high")).unwrap();
        let error = free_on(&top).unwrap_err();
        assert!(error.starts_with("cannot read") && error.contains("/a/memory.high"), "{error}");
        let top = machine(&[MEMINFO]);
        fs::create_dir_all(top.path().join("proc/self/cgroup")).unwrap();
        assert!(free_on(&top).unwrap_err().contains("proc/self/cgroup"));
    }
}

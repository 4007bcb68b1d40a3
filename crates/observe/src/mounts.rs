//! Mounts, the names of devices, and whether there is swap: read from `/proc` and `/sys`, whose
//! paths are parameters.

use host::Roots;
use model::Tid;
use model::recording::Device;
use std::collections::BTreeMap;
use std::fs;

/// One line of `mountinfo` (proc_pid_mountinfo(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Device number of its files.
    pub(crate) dev: u32,
    /// The directory of its filesystem that is mounted.
    pub(crate) root: String,
    /// The mount point.
    pub(crate) at: String,
    /// The source of the mount, or its type where that is not a device.
    pub(crate) name: String,
}

impl Mount {
    /// The path at which a path of its filesystem is visible, if it is.
    pub(crate) fn place(&self, inside: &str) -> Option<String> {
        let below = inside.strip_prefix(self.root.trim_end_matches('/'))?;
        (below.is_empty() || below.starts_with('/')).then(|| self.at.trim_end_matches('/').to_owned() + below)
    }
}

/// The mounts in a thread's mount namespace; dwell's own when it has ended.
pub(crate) fn mounts_of(roots: Roots<'_>, tid: Tid) -> Vec<Mount> {
    let read = |of: &str| fs::read(roots.proc.join(of).join("mountinfo"));
    let text = read(&tid.to_string()).or_else(|_| read("self")).unwrap_or_default();
    parse(&String::from_utf8_lossy(&text))
}

pub(crate) fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Mount> {
    let (place, filesystem) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(2);
    let dev = number(place.next()?)?;
    let (root, at) = (unescape(place.next()?), unescape(place.next()?));
    let mut filesystem = filesystem.split(' ');
    let (kind, source) = (filesystem.next()?, unescape(filesystem.next()?));
    let name = match source.strip_prefix("/dev/") {
        Some(device) => device.to_owned(),
        None if source.contains([':', '/']) => source,
        None => kind.to_owned(),
    };
    Some(Mount { dev, root, at, name })
}

/// `254:1`, in the kernel's internal form.
fn number(text: &str) -> Option<u32> {
    let (major, minor) = text.split_once(':')?;
    Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
}

/// Unescapes blanks and backslashes, which are written as three octal digits.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(&part.as_bytes()[3..]);
            }
            None => {
                bytes.push(b'\\');
                bytes.extend(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Names of all block devices and mounted filesystems.
pub(crate) fn devices(roots: Roots<'_>) -> Vec<Device> {
    let text = fs::read(roots.proc.join("self/mountinfo")).unwrap_or_default();
    let mounts = parse(&String::from_utf8_lossy(&text));
    let mut names: BTreeMap<u32, String> = mounts.into_iter().map(|mount| (mount.dev, mount.name)).collect();
    // The name of a partition or disk is preferred to the source of its mount (`/dev/root`,
    // `/dev/disk/by-uuid/…`).
    for entry in fs::read_dir(roots.sys.join("dev/block")).into_iter().flatten().flatten() {
        let target = fs::read_link(entry.path()).ok();
        let name = target.as_ref().and_then(|target| target.file_name()).map(|name| name.to_string_lossy());
        if let (Some(dev), Some(name)) = (entry.file_name().to_str().and_then(number), name) {
            names.insert(dev, name.into_owned());
        }
    }
    names.into_iter().map(|(dev, name)| Device { dev, name }).collect()
}

/// Whether the host has swap: a header, then a line for each file or device (proc_swaps(5)).
pub(crate) fn swaps(roots: Roots<'_>) -> bool {
    fs::read_to_string(roots.proc.join("swaps")).is_ok_and(|text| text.lines().count() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::here;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn mounts_have_roots_and_names() {
        let text = "36 35 98:0 /mnt1 /mnt\\040two rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n\
                    40 35 0:45 / /home rw - nfs4 server:/export rw\n\
                    41 35 0:46 / /tmp rw - tmpfs swap rw\n\
                    nonsense\n";
        let mounts = parse(text);
        let names: Vec<_> = mounts.iter().map(|mount| mount.name.as_str()).collect();
        assert_eq!(names, ["root", "server:/export", "tmpfs"]);
        assert_eq!((mounts[0].dev, mounts[0].at.as_str()), (98 << 20, "/mnt two"));
        assert_eq!(mounts[0].place("/mnt1/a/b"), Some("/mnt two/a/b".into()));
        assert_eq!(mounts[0].place("/mnt10"), None);
        assert_eq!(mounts[1].place("/x"), Some("/home/x".into()));
    }

    #[test]
    fn the_disk_under_this_machines_root_has_a_name() {
        let dev = fs::metadata("/proc/self/exe").unwrap().dev();
        // As makedev(3) has it.
        let (major, minor) = ((dev >> 8 & 0xfff) as u32, (dev & 0xff | dev >> 12 & 0xfff00) as u32);
        let dev = major << 20 | minor;
        assert!(devices(here()).iter().any(|device| device.dev == dev && !device.name.is_empty()));
    }
}

//! Which file a mapping is of.
//!
//! The kernel names a file in the maps of processes by a device and an inode that differ from those
//! of stat(2) on btrfs and overlayfs, and by a path that means something else in another root
//! directory. So the file is opened once and mapped here, and this process's own maps say what to
//! look for. While it is open, no other file can get its inode.
#![allow(unsafe_code)]

use super::tally::{self, Map};
use crate::untrusted_file;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr;

/// A file, as maps name it.
#[derive(Debug)]
pub(super) struct FileIdentity {
    dev: (u32, u32),
    inode: u64,
    _open: File,
}

impl FileIdentity {
    /// The identity of a file; none where it cannot be read.
    pub(super) fn of(path: &Path) -> Option<Self> {
        const LEN: usize = 1;
        let file = untrusted_file::open(path).ok()?;
        // SAFETY: a new mapping, whose memory nobody touches.
        let start = unsafe {
            libc::mmap(ptr::null_mut(), LEN, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let maps = tally::maps(libc::pid_t::try_from(std::process::id()).ok()?);
        // SAFETY: the mapping made above.
        unsafe { libc::munmap(start, LEN) };
        let map = maps.iter().find(|map| map.has(start as u64)).filter(|map| map.inode != 0)?;
        Some(FileIdentity { dev: map.dev, inode: map.inode, _open: file })
    }

    /// Whether a mapping is of this file.
    pub(super) fn is_of(&self, map: &Map) -> bool {
        (self.dev, self.inode) == (map.dev, map.inode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::tempdir;

    #[test]
    fn a_file_is_known_in_maps_by_all_its_names_and_no_other_is() {
        let exe = fs::canonicalize("/proc/self/exe").unwrap();
        let maps = tally::maps(std::process::id() as libc::pid_t);
        let of_exe = |file: &FileIdentity| maps.iter().filter(|map| file.is_of(map)).count();
        let identity = FileIdentity::of(&exe).unwrap();
        assert!(of_exe(&identity) > 1);
        let named = maps.iter().filter(|map| Path::new(&map.path) == exe).count();
        assert_eq!(of_exe(&identity), named);
        let top = tempdir().unwrap();
        let link = top.path().join("link");
        std::os::unix::fs::symlink(&exe, &link).unwrap();
        assert_eq!(of_exe(&FileIdentity::of(&link).unwrap()), named);
        let copy = top.path().join("copy");
        fs::copy(&exe, &copy).unwrap();
        assert_eq!(of_exe(&FileIdentity::of(&copy).unwrap()), 0);
        assert!(FileIdentity::of(Path::new("/nowhere")).is_none());
        assert!(FileIdentity::of(Path::new("/dev/zero")).is_none());
    }

    #[test]
    fn the_same_inode_number_on_another_device_is_another_file() {
        let identity = FileIdentity::of(&fs::canonicalize("/proc/self/exe").unwrap()).unwrap();
        let maps = tally::maps(std::process::id() as libc::pid_t);
        let mut map = maps.into_iter().find(|map| identity.is_of(map)).unwrap();
        map.dev.1 += 1;
        assert!(!identity.is_of(&map));
    }
}

//! Paths from the components that the kernel half records (`paths.h`), each reported once.
//!
//! For a page fault the path is known only within the file's filesystem: its mount point is read
//! from `/proc`, for the faulting thread.

use crate::mounts::{Mount, mounts_of};
use host::here;
use model::Tid;
use model::recording::{Comm, Event, FileKind, Object};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// The limit of files whose paths are remembered, so that they are not reported again. Beyond it
/// all are forgotten.
const KNOWN: usize = 65_536;

/// The content of one record.
pub(super) struct PathParts<'a> {
    /// The components, the last one first, each terminated by a zero.
    pub(super) parts: &'a [u8],
    /// Leading components are missing.
    pub(super) cut: bool,
    /// The file has been deleted.
    pub(super) deleted: bool,
    /// The thread that it was reported for.
    pub(super) tid: Tid,
}

impl PathParts<'_> {
    /// From the root, or from the first component that is known.
    fn path(&self) -> String {
        let mut parts: Vec<_> = self.parts.split(|byte| *byte == 0).collect();
        // Nothing follows the last zero.
        parts.pop();
        let given = parts.first().is_some_and(|part| part.starts_with(b"/"));
        parts.reverse();
        let mut path = match (self.cut, given) {
            (true, _) => "…/".to_owned(),
            (false, true) => String::new(),
            (false, false) => "/".to_owned(),
        };
        let parts: Vec<_> = parts.into_iter().map(String::from_utf8_lossy).collect();
        path.push_str(&parts.join("/"));
        path
    }

    /// As the kernel marks them in `/proc`.
    fn mark(&self) -> &'static str {
        if self.deleted { " (deleted)" } else { "" }
    }
}

/// Paths reported so far.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// By device and inode: a digest of the path.
    known: FxHashMap<(u32, u64), u64>,
    /// Mount points by device, as far as they were read.
    mounts: FxHashMap<u32, Vec<Mount>>,
}

impl Paths {
    /// For a file that was found through its mount.
    pub(super) fn of_file(&mut self, dev: u32, ino: u64, told: &PathParts<'_>) -> Option<Event> {
        self.tell(dev, ino, told.path() + told.mark())
    }

    /// For a file whose path is known only within its filesystem.
    pub(super) fn in_filesystem(&mut self, dev: u32, ino: u64, told: &PathParts<'_>) -> Option<Event> {
        let mounts = self.mounts.entry(dev).or_insert_with(|| {
            let mut found = mounts_of(here(), told.tid);
            found.retain(|mount| mount.dev == dev);
            found
        });
        let inside = told.path();
        let path = if told.cut {
            inside
        } else {
            mounts.iter().find_map(|mount| mount.place(&inside)).unwrap_or(inside)
        };
        self.tell(dev, ino, path + told.mark())
    }

    /// For a path given to a call. The file is not known, so it gets a synthetic inode.
    pub(super) fn given(&mut self, told: &PathParts<'_>) -> (Object, Option<Event>) {
        let path = told.path();
        let name = Comm::from(path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("/"));
        let ino = digest(&path);
        let object = Object::File { kind: FileKind::Disk, dev: 0, ino, name };
        (object, self.tell(0, ino, path))
    }

    fn tell(&mut self, dev: u32, ino: u64, path: String) -> Option<Event> {
        let digest = digest(&path);
        if self.known.len() >= KNOWN {
            self.known.clear();
        }
        let news = self.known.insert((dev, ino), digest) != Some(digest);
        news.then_some(Event::Path { dev, ino, path })
    }
}

fn digest(path: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(path.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(parts: &[u8]) -> PathParts<'_> {
        PathParts { parts, cut: false, deleted: false, tid: 1 }
    }

    #[test]
    fn parts_are_turned_round_and_what_is_cut_or_gone_is_marked() {
        assert_eq!(told(b"file\0dir\0home\0").path(), "/home/dir/file");
        assert_eq!(told(b"").path(), "/");
        assert_eq!(PathParts { cut: true, ..told(b"file\0dir\0") }.path(), "…/dir/file");
        assert_eq!(told(b"/etc/../etc/x\0").path(), "/etc/../etc/x");
        assert_eq!(told(b"../x\0dir\0").path(), "/dir/../x");
        assert_eq!(told(b"a\xff\nb\0").path(), "/a\u{fffd}\nb");
        let path = Paths::default().of_file(1, 2, &PathParts { deleted: true, ..told(b"x\0tmp\0") });
        assert_eq!(path, Some(Event::Path { dev: 1, ino: 2, path: "/tmp/x (deleted)".into() }));
    }

    #[test]
    fn a_path_is_told_once_and_again_when_the_number_has_another() {
        let mut paths = Paths::default();
        assert!(paths.of_file(1, 2, &told(b"a\0")).is_some());
        assert!(paths.of_file(1, 2, &told(b"a\0")).is_none());
        assert!(paths.of_file(1, 2, &told(b"b\0")).is_some());
        let (object, event) = paths.given(&told(b"/x/long-name-of-a-file\0"));
        let Some(Event::Path { dev: 0, ino, path }) = event else { panic!("{event:?}") };
        assert_eq!(path, "/x/long-name-of-a-file");
        assert_eq!(
            object,
            Object::File { kind: FileKind::Disk, dev: 0, ino, name: "long-name-of-a-".into() }
        );
    }

    #[test]
    fn within_a_filesystem_a_path_is_put_where_that_is_mounted() {
        let mut paths = Paths::default();
        let mount =
            |root: &str, at: &str| Mount { dev: 7, root: root.into(), at: at.into(), name: String::new() };
        paths.mounts.insert(7, vec![mount("/srv", "/data"), mount("/", "/mnt")]);
        let path = |event| match event {
            Some(Event::Path { path, .. }) => path,
            other => panic!("{other:?}"),
        };
        assert_eq!(path(paths.in_filesystem(7, 1, &told(b"x\0srv\0"))), "/data/x");
        assert_eq!(path(paths.in_filesystem(7, 2, &told(b"x\0srv2\0"))), "/mnt/srv2/x");
    }
}

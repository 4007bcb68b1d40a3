//! The directory of the file rungs: one new directory with an unpredictable name, below the one
//! that was named; and what may be written there.

use crate::Unmeasured;
use crate::bench::Bench;
use crate::memory::free_memory_bytes;
use rustix::fs::{AtFlags, Mode, OFlags, fstat, fstatfs, fstatvfs, major, minor, openat, unlinkat};
use std::cell::OnceCell;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use sys::scratch::{Kind, Scratch};

/// What most rungs of files read and write in.
pub(super) const BLOCK_BYTES: usize = 4 << 10;

/// All rungs together write no more than this part of what is free. Half of it is for the one large
/// working file, the other half for what the other rungs write, one after another.
const SHARE: u64 = 20;
/// And no more than this part of the memory that is free, for what goes through the page cache.
const MEMORY_SHARE: u64 = 4;

/// `f_type` of statfs(2), as far as a name says more than the number.
const KINDS: [(i64, &str); 15] = [
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0xf2f5_2010, "f2fs"),
    (0x2fc1_2fc1, "zfs"),
    (0xca45_1a4e, "bcachefs"),
    (0x794c_7630, "overlay"),
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb3"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0x4d44, "vfat"),
];
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];
const ELSEWHERE: [&str; 4] = ["nfs", "cifs", "smb3", "9p"];

/// A directory that was named; nothing is made there before it is needed.
#[derive(Debug)]
pub(super) struct Site {
    named: PathBuf,
    made: OnceCell<Result<Made, Unmeasured>>,
}

impl Site {
    pub(super) fn new(named: &str) -> Self {
        Self { named: PathBuf::from(named), made: OnceCell::new() }
    }

    /// The made directory, which is the same for all rungs.
    pub(super) fn made(&self) -> Result<&Made, Unmeasured> {
        let made = self.made.get_or_init(|| Made::below(&self.named));
        made.as_ref().map_err(Clone::clone)
    }
}

/// The made directory. It goes with this, and all that is in it.
#[derive(Debug)]
pub(super) struct Made {
    /// Everything is opened relative to this: should somebody put something else in the path's
    /// place, nothing is written there.
    dir: OwnedFd,
    /// The caveat about the directory.
    named: String,
    kind: &'static str,
    device: Option<String>,
    free_bytes: u64,
    /// Files that may still be made; none where the filesystem has no such limit.
    free_files: Option<u64>,
    /// Last, so that it is removed when the directory is closed.
    _place: Scratch,
}

impl Made {
    fn below(named: &Path) -> Result<Self, Unmeasured> {
        let place = Scratch::new(named, Kind::Ladder);
        let place = place.map_err(|error| refused("make a directory", named, &error))?;
        let open = || -> rustix::io::Result<_> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let dir = rustix::fs::open(place.path(), flags, Mode::empty())?;
            let (system, room, device) = (fstatfs(&dir)?, fstatvfs(&dir)?, fstat(&dir)?.st_dev);
            Ok((dir, system.f_type, room, device))
        };
        let (dir, number, room, device) = open().map_err(|error| refused("look", named, &error.into()))?;
        let known = KINDS.iter().find(|(known, _)| *known == number & 0xffff_ffff);
        Ok(Self {
            dir,
            named: fs::canonicalize(named)
                .unwrap_or_else(|_| named.to_owned())
                .to_string_lossy()
                .into_owned(),
            kind: known.map_or("a filesystem without a known name", |(_, name)| name),
            device: device_name(device),
            free_bytes: room.f_bavail.saturating_mul(room.f_frsize),
            free_files: (room.f_files > 0).then_some(room.f_favail),
            _place: place,
        })
    }

    /// Where it is, for the limits of a figure.
    pub(super) fn said(&self) -> String {
        let device = self.device.as_ref().map_or_else(String::new, |device| format!(" on {device}"));
        let more = match self.kind {
            kind if IN_MEMORY.contains(&kind) => ", which is memory: these are not figures of a disk",
            kind if ELSEWHERE.contains(&kind) => {
                ", which is another machine's: the way there is in the figures"
            }
            _ => "",
        };
        format!("in {} ({}{device}){more}", self.named, self.kind)
    }

    /// That there is a disk below it.
    pub(super) fn on_disk(&self) -> Result<(), Unmeasured> {
        if IN_MEMORY.contains(&self.kind) {
            return Err(Unmeasured::Unseen(format!(
                "{} is in memory ({}), not on a disk\ntry: dwell ladder --dir DIR, with DIR on a disk",
                self.named, self.kind
            )));
        }
        Ok(())
    }

    /// Bytes that a rung may write, in whole blocks: as many as it wants, or as many as there is
    /// room for.
    pub(super) fn room(&self, wanted: u64, least: u64) -> Result<u64, Unmeasured> {
        let room = (self.free_bytes / SHARE / 2).min(wanted) / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
        if room < least {
            return Err(Unmeasured::Unseen(format!(
                "{} has {} KiB free; dwell takes a {SHARE}th of it at most, and this needs {} KiB\n\
                 try: dwell ladder --dir DIR, with DIR where there is more room",
                self.named,
                self.free_bytes >> 10,
                (least * SHARE * 2) >> 10
            )));
        }
        Ok(room)
    }

    /// The same for what goes through the page cache, which is memory of our control group.
    pub(super) fn cached_room(&self, bench: &Bench<'_>, wanted: u64, least: u64) -> Result<u64, Unmeasured> {
        let free_bytes = free_memory_bytes(bench.machine)?;
        let memory = free_bytes / MEMORY_SHARE;
        if memory < least {
            return Err(Unmeasured::Unseen(format!(
                "{} KiB of memory are free; dwell takes a quarter at most, and this needs {} KiB of page cache",
                free_bytes >> 10,
                least >> 10
            )));
        }
        self.room(wanted.min(memory), least)
    }

    /// Checks that this number of files may be created.
    pub(super) fn room_for_files(&self, files: u64) -> Result<(), Unmeasured> {
        match self.free_files {
            Some(free) if free / SHARE < files => Err(Unmeasured::Unseen(format!(
                "{} has room for {free} files; dwell takes a {SHARE}th of them at most, and this needs {files}\n\
                 try: dwell ladder --dir DIR, with DIR where there is more room",
                self.named
            ))),
            _ => Ok(()),
        }
    }

    /// A new file that goes when it is closed: it has no name any more, so that even a killed dwell
    /// leaves nothing.
    pub(super) fn nameless(&self, name: &str) -> Result<File, Unmeasured> {
        let file = self.create(name).map_err(|error| self.refused("make a file", error))?;
        self.remove(name).map_err(|error| self.refused("remove a file", error))?;
        Ok(File::from(file))
    }

    /// A new file, open for both.
    pub(super) fn create(&self, name: &str) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        openat(&self.dir, name, flags, Mode::RUSR | Mode::WUSR)
    }

    /// An old file, to read.
    pub(super) fn open(&self, name: &str) -> rustix::io::Result<OwnedFd> {
        openat(&self.dir, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
    }

    /// What stat(2) says of a file.
    pub(super) fn stat(&self, name: &str) -> rustix::io::Result<()> {
        rustix::fs::statat(&self.dir, name, AtFlags::empty()).map(drop)
    }

    pub(super) fn remove(&self, name: &str) -> rustix::io::Result<()> {
        unlinkat(&self.dir, name, AtFlags::empty())
    }

    /// Why a rung cannot go on.
    pub(super) fn refused(&self, what: &str, error: impl Into<io::Error>) -> Unmeasured {
        refused(what, Path::new(&self.named), &error.into())
    }
}

/// The device below a filesystem that has one of its own.
fn device_name(device: u64) -> Option<String> {
    let link = format!("/sys/dev/block/{}:{}", major(device), minor(device));
    Some(fs::read_link(link).ok()?.file_name()?.to_string_lossy().into_owned())
}

fn refused(what: &str, dir: &Path, error: &io::Error) -> Unmeasured {
    let why = match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => "mounted read-only".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::StorageFull => "no space left".to_owned(),
        io::ErrorKind::QuotaExceeded => "disk quota exceeded".to_owned(),
        io::ErrorKind::NotFound => "no such directory".to_owned(),
        io::ErrorKind::NotADirectory => "not a directory".to_owned(),
        _ => error.to_string(),
    };
    let place = dir.display();
    Unmeasured::Unseen(format!(
        "cannot {what} in {place}: {why}\ntry: dwell ladder --dir DIR, with DIR where files may be written"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_has_a_name_of_its_own_and_goes() {
        let below = tempfile::tempdir().unwrap();
        let named = below.path().to_str().unwrap();
        let (one, other) = (Site::new(named), Site::new(named));
        assert_eq!(fs::read_dir(below.path()).unwrap().count(), 0, "nothing is made before it is needed");
        one.made().unwrap().create("left").unwrap();
        other.made().unwrap();
        assert_eq!(fs::read_dir(below.path()).unwrap().count(), 2);
        drop((one, other));
        assert_eq!(fs::read_dir(below.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_nameless_file_is_in_no_directory() {
        let below = tempfile::tempdir().unwrap();
        let site = Site::new(below.path().to_str().unwrap());
        let made = site.made().unwrap();
        let file = made.nameless("f").unwrap();
        assert_eq!(fs::read_dir(made._place.path()).unwrap().count(), 0);
        assert_eq!(file.metadata().unwrap().len(), 0);
    }

    #[test]
    fn where_nothing_can_be_made_it_says_why() {
        for (dir, said) in [("/no/such/place", "no such directory"), ("/dev/null", "not a directory")] {
            let Err(Unmeasured::Unseen(why)) = Site::new(dir).made().map(drop) else { panic!("{dir}") };
            assert!(why.contains(said) && why.contains("\ntry: "), "{why}");
        }
    }

    #[test]
    fn no_more_is_taken_than_a_share_of_what_is_free() {
        let below = tempfile::tempdir().unwrap();
        let mut made = Made::below(below.path()).unwrap();
        made.free_bytes = 40 << 20;
        assert_eq!(made.room(4 << 10, 1), Ok(4 << 10));
        assert_eq!(made.room(1 << 30, 1), Ok(1 << 20));
        let Err(Unmeasured::Unseen(why)) = made.room(1 << 30, 2 << 20) else { panic!("too much") };
        assert!(why.contains("40960 KiB free") && why.contains("81920 KiB"), "{why}");
        made.free_files = Some(100);
        assert_eq!(made.room_for_files(5), Ok(()));
        assert!(made.room_for_files(6).is_err());
        made.free_files = None;
        assert_eq!(made.room_for_files(6_000_000), Ok(()));
    }

    #[test]
    fn memory_is_no_disk() {
        let made = Made::below(Path::new("/dev/shm")).unwrap();
        assert!(made.said().contains("(tmpfs), which is memory"), "{}", made.said());
        assert!(matches!(made.on_disk(), Err(Unmeasured::Unseen(why)) if why.contains("not on a disk")));
    }
}

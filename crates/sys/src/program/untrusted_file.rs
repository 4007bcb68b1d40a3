//! Opening what another user can influence: the one rule, for every reader of a file that a
//! measured program names, maps, or leaves somewhere.
//!
//! A file is opened once, and everything is asked of its descriptor: what stands at a path may be
//! another file a moment later. Opening waits for nobody (a pipe without a writer) and takes no
//! terminal. Only regular files are read, and none of the kernel's own (`/proc/self/environ` is
//! dwell's, whoever names it). A file system that does not answer is left: [`super::patience`],
//! [`super::apart`]. What a program only *names* is read with the rights of its user: [`Rights`].
//! How much is read is up to the caller; [`Rights::read`] has a limit and a deadline.
#![allow(unsafe_code)]

use super::apart::{self, ApartFile};
use super::patience;
use super::user::User;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::process::Gid;
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// File systems that are the kernel's own, of statfs(2): `/proc`, `/sys` and below, BPF's, those of
/// control groups and of firmware.
const KERNELS: [i64; 11] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0xcafe_4a11,
    0x6265_6570,
    0x6367_7270,
    0x0027_e0eb,
    0x6165_676c,
    0xde5e_81e4,
];

/// File systems of statfs(2) that several hosts may have at once, or a program: 9p, AFS, Ceph, CIFS
/// and SMB, Coda, FUSE, GFS2, GPFS, Lustre, NCP, NFS, OCFS2, folders of virtual machines.
const SHARED: [i64; 17] = [
    0x0102_1997,
    0x5346_414f,
    0x6b41_4653,
    0x00c3_6400,
    0xff53_4d42,
    0xfe53_4d42,
    0x517b,
    0x7375_7245,
    0x6573_5546,
    0x0116_1970,
    0x4750_4653,
    0x0bd0_0bd0,
    0x564c,
    0x6969,
    0x7461_636f,
    0x786f_4256,
    0xbacb_acbc,
];

/// Mode bits by which others than the owner write.
const OTHERS_WRITE: u32 = 0o022;

/// The rights of a user over files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
}

/// An open file, however it is read.
#[derive(Debug)]
pub enum Opened {
    /// One that is read here.
    Here(File),
    /// One whose file system may not answer.
    Apart(ApartFile),
}

impl From<File> for Opened {
    fn from(file: File) -> Self {
        Opened::Here(file)
    }
}

impl Opened {
    /// Which file it is: device (0 where it is read apart) and inode.
    ///
    /// # Errors
    /// The system's error.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        match self {
            Opened::Here(file) => file.metadata().map(|found| (found.dev(), found.ino())),
            Opened::Apart(file) => Ok((0, file.inode)),
        }
    }
}

/// As [`open`], for who reads it by [`Opened`].
///
/// # Errors
/// As [`open`].
pub fn open_any(path: &Path) -> io::Result<Opened> {
    if apart::may_be_silent_at(path) {
        Ok(Opened::Apart(apart::open(path)?))
    } else {
        open(path).map(Opened::Here)
    }
}

/// Opens the regular file at a path, also through links: whose it is and which it is, the caller
/// asks of the descriptor.
///
/// # Errors
/// The system's error, that it is no regular file, or that its file system does not answer.
pub fn open(path: &Path) -> io::Result<File> {
    opened(path).map(|(file, _)| file)
}

/// As [`open`], with what the file system says of it: asked again, it may answer no more.
///
/// # Errors
/// As [`open`].
pub fn opened(path: &Path) -> io::Result<(File, Metadata)> {
    if apart::may_be_silent_at(path) {
        return checked(apart::open(path)?.into());
    }
    if !path.starts_with("/proc") {
        return open_here(None, path);
    }
    // By way of another process's root or directory it may lie anywhere.
    let path = path.to_owned();
    patience::in_time(move || open_here(None, &path))
}

/// Links lead nowhere out of a `root`.
fn open_here(root: Option<&OwnedFd>, path: &Path) -> io::Result<(File, Metadata)> {
    let opened = match root {
        Some(root) => openat2(root, path, flags(), Mode::empty(), ResolveFlags::IN_ROOT)?,
        None => openat(CWD, path, flags(), Mode::empty())?,
    };
    checked(opened.into())
}

/// Opens the regular file of this name in an open directory. A link is an error.
///
/// # Errors
/// As [`open`].
pub fn open_in(directory: impl AsFd, name: &Path) -> io::Result<File> {
    let file = openat(directory, name, flags() | OFlags::NOFOLLOW, Mode::empty())?;
    checked(file.into()).map(|(file, _)| file)
}

/// Whether the file system of a path may be one that other hosts have as well: then they share no
/// memory with this one.
///
/// # Errors
/// The system's error.
pub fn is_shared(path: &Path) -> io::Result<bool> {
    Ok(SHARED.contains(&(rustix::fs::statfs(path)?.f_type & 0xffff_ffff)))
}

/// Opening neither waits for the writer of a pipe nor makes a terminal ours.
fn flags() -> OFlags {
    OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
}

fn checked(file: File) -> io::Result<(File, Metadata)> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let kind = rustix::fs::fstatfs(&file)?.f_type & 0xffff_ffff;
    if KERNELS.contains(&kind) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is a file of the kernel"));
    }
    Ok((file, found))
}

/// Who else than root can change a file, in words; none if nobody can.
pub fn changed_by_others(found: &Metadata) -> Option<String> {
    if found.uid() != 0 {
        return Some(format!("it belongs to user {}", found.uid()));
    }
    let mode = found.mode() & 0o7777;
    (mode & OTHERS_WRITE != 0).then(|| format!("others than root may write to it (mode {mode:o})"))
}

impl Rights {
    /// Those of dwell's own user.
    pub fn own() -> Self {
        let groups = rustix::process::getgroups().unwrap_or_default();
        Rights {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            groups: groups.into_iter().map(Gid::as_raw).collect(),
        }
    }

    /// Those of a user that a program is run as.
    pub fn of_user(user: &User) -> Self {
        Rights { uid: user.uid, gid: user.gid, groups: user.groups.clone() }
    }

    /// Those of a user of whom only the number is known: with the groups of the user table, if any
    /// has them.
    pub fn of_uid(uid: u32) -> Self {
        /// The group of those without one, as Linux has it by default.
        const NOBODY: u32 = 65_534;
        User::of_uid(uid).map_or(Rights { uid, gid: NOBODY, groups: Vec::new() }, |user| Self::of_user(&user))
    }

    /// Those of a process.
    ///
    /// # Errors
    /// It has ended.
    pub fn of_process(pid: u32) -> io::Result<Self> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        parse(&status).ok_or_else(|| ErrorKind::InvalidData.into())
    }

    /// Whose they are.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Whether they are root's.
    pub fn is_root(&self) -> bool {
        self.uid == 0
    }

    /// The content of the regular file at a path that a program of this user named, if that user
    /// may read it and it is no longer than `most_bytes`.
    ///
    /// # Errors
    /// The system's error; that it is no regular file, is too large, or takes too long.
    pub fn read(&self, path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
        self.read_in(None, path, most_bytes).map(|(bytes, _)| bytes)
    }

    /// The same of a path in another root directory (dwell's own where it is none), and when the
    /// file was changed last.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_in(
        &self,
        root: Option<&Arc<OwnedFd>>,
        path: &Path,
        most_bytes: u64,
    ) -> io::Result<(Vec<u8>, SystemTime)> {
        if root.is_none() && apart::may_be_silent_at(path) {
            let file = self.open_apart(path)?;
            if file.len > most_bytes {
                return Err(ErrorKind::FileTooLarge.into());
            }
            return Ok((file.all()?, file.modified));
        }
        let (root, path) = (root.cloned(), path.to_owned());
        self.in_time(move || all(open_here(root.as_deref(), &path)?, most_bytes))
    }

    /// Opens the regular file at a path that a program of this user named, if that user may read
    /// it.
    ///
    /// # Errors
    /// The system's error; that it is no regular file, or takes too long.
    pub fn open(&self, path: &Path) -> io::Result<Opened> {
        self.open_in(None, path)
    }

    /// The same of a path in another root directory; dwell's own where it is none.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_in(&self, root: Option<&Arc<OwnedFd>>, path: &Path) -> io::Result<Opened> {
        if root.is_none() && apart::may_be_silent_at(path) {
            return self.open_apart(path).map(Opened::Apart);
        }
        let (root, path) = (root.cloned(), path.to_owned());
        self.in_time(move || Ok(Opened::Here(open_here(root.as_deref(), &path)?.0)))
    }

    /// Opens a file of a file system with a server: that one may not answer.
    fn open_apart(&self, path: &Path) -> io::Result<ApartFile> {
        let groups = self.groups();
        apart::open_after(path, || self.take(&groups))
    }

    fn groups(&self) -> Vec<Gid> {
        self.groups.iter().map(|gid| Gid::from_raw(*gid)).collect()
    }

    /// What a file system in a program's hands may never answer.
    fn in_time<T: Send + 'static>(
        &self,
        what: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        // In a thread of its own, which never gets its rights back.
        let rights = self.clone();
        patience::in_thread(move || rights.take(&rights.groups()).and_then(|()| what()))
    }

    /// Does something with these rights and no others, in a thread of its own. The caller waits for
    /// it, so it must not wait for anybody.
    ///
    /// # Errors
    /// The rights cannot be taken, or there is no thread to be had.
    pub fn within<T: Send>(&self, what: impl FnOnce() -> T + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("dwell-rights".into());
            let done = thread.spawn_scoped(scope, move || self.take(&self.groups()).map(|()| what()))?;
            done.join().unwrap_or_else(|_| Err(io::Error::other("a thread of its own failed")))
        })
    }

    /// Gives the calling thread these rights and no others, for good. `groups` are its own: this
    /// does not allocate.
    fn take(&self, groups: &[Gid]) -> io::Result<()> {
        if rustix::process::geteuid().is_root() {
            if self.is_root() {
                return Ok(());
            }
            rustix::thread::set_thread_groups(groups)?;
            set_of_files(libc::SYS_setfsgid, self.gid)?;
            set_of_files(libc::SYS_setfsuid, self.uid)?;
        }
        let none = CapabilitySet::empty();
        rustix::thread::set_capabilities(
            None,
            CapabilitySets { effective: none, permitted: none, inheritable: none },
        )?;
        Ok(())
    }
}

/// Sets the user or the group that files are accessed as, of this thread alone. The user's own ID
/// stays: with another one that user could signal dwell.
fn set_of_files(call: libc::c_long, id: u32) -> io::Result<()> {
    const ASK: u32 = u32::MAX;
    // SAFETY: takes a number and changes the calling thread alone. It says nothing of a failure, so
    // it is asked, with a number that nobody has, what it is now.
    let now = unsafe {
        libc::syscall(call, id);
        libc::syscall(call, ASK)
    };
    if now == libc::c_long::from(id) { Ok(()) } else { Err(ErrorKind::PermissionDenied.into()) }
}

/// The content of a file, and when it was changed last.
fn all((file, found): (File, Metadata), most_bytes: u64) -> io::Result<(Vec<u8>, SystemTime)> {
    if found.len() > most_bytes {
        return Err(ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new();
    file.take(most_bytes).read_to_end(&mut bytes)?;
    Ok((bytes, found.modified()?))
}

/// The rights over files in proc_pid_status(5): the last of the four IDs is that of files.
fn parse(status: &str) -> Option<Rights> {
    let numbers = |name: &str| -> Option<Vec<u32>> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().map(|number| number.parse().ok()).collect()
    };
    let (uids, gids) = (numbers("Uid:")?, numbers("Gid:")?);
    Some(Rights { uid: *uids.get(3)?, gid: *gids.get(3)?, groups: numbers("Groups:")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use tempfile::tempdir;

    const NOBODY: u32 = 65_534;

    fn nobody() -> Rights {
        Rights { uid: NOBODY, gid: NOBODY, groups: Vec::new() }
    }

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let top = tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::write(at("file"), "x").unwrap();
        assert!(open(&at("file")).is_ok());
        // Opening it in the usual way would wait for a writer for ever.
        rustix::fs::mknodat(CWD, at("pipe"), rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        for other in ["pipe", "."] {
            assert_eq!(open(&at(other)).unwrap_err().kind(), ErrorKind::InvalidInput, "{other}");
        }
        for kernels in ["/dev/null", "/dev/zero", "/proc/self/environ", "/proc/self/mem", "/sys/kernel/mm"] {
            assert!(open(Path::new(kernels)).is_err(), "{kernels}");
        }
        symlink("/proc/self/environ", at("link")).unwrap();
        assert!(open(&at("link")).is_err());
        assert!(open(&at("none")).is_err_and(|error| error.kind() == ErrorKind::NotFound));
    }

    #[test]
    fn of_a_directory_no_link_is_followed() {
        let top = tempdir().unwrap();
        fs::write(top.path().join("file"), "x").unwrap();
        symlink("file", top.path().join("link")).unwrap();
        let directory = File::open(top.path()).unwrap();
        assert!(open_in(&directory, Path::new("file")).is_ok());
        assert!(open_in(&directory, Path::new("link")).is_err());
    }

    #[test]
    fn what_others_may_change_is_told() {
        let top = tempdir().unwrap();
        let path = top.path().join("file");
        fs::write(&path, "x").unwrap();
        let said = |mode: u32| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            changed_by_others(&path.metadata().unwrap())
        };
        if !rustix::process::geteuid().is_root() {
            assert!(said(0o644).unwrap().contains("belongs to user"));
            return;
        }
        assert_eq!((said(0o755), said(0o644)), (None, None));
        assert!(said(0o664).unwrap().contains("664") && said(0o646).is_some());
        chown(&path, Some(NOBODY), None).unwrap();
        assert!(said(0o644).unwrap().contains("65534"));
    }

    #[test]
    fn a_file_is_read_with_the_rights_of_the_user_who_named_it() {
        let top = tempdir().unwrap();
        fs::set_permissions(top.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (open, secret) = (top.path().join("open"), top.path().join("secret"));
        for (path, mode) in [(&open, 0o644), (&secret, 0o600)] {
            fs::write(path, "text").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        assert_eq!(Rights::own().read(&secret, 9).unwrap(), b"text");
        assert_eq!(Rights::own().read(&secret, 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert!(Rights::own().open(&secret).is_ok());
        if rustix::process::geteuid().is_root() {
            assert_eq!(nobody().read(&open, 9).unwrap(), b"text");
            assert_eq!(nobody().read(&secret, 9).unwrap_err().kind(), ErrorKind::PermissionDenied);
            assert!(nobody().open(&open).is_ok());
            assert_eq!(nobody().open(&secret).unwrap_err().kind(), ErrorKind::PermissionDenied);
            // A group of theirs counts, and one of dwell's does not.
            chown(&secret, None, Some(7)).unwrap();
            fs::set_permissions(&secret, fs::Permissions::from_mode(0o640)).unwrap();
            assert!(nobody().read(&secret, 9).is_err());
            assert!(Rights { groups: vec![7], ..nobody() }.read(&secret, 9).is_ok());
        }
        // This thread has kept its own.
        assert!(fs::read(&secret).is_ok());
    }

    #[test]
    fn a_process_says_whose_it_is() {
        let status = "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t8 9 \n";
        assert_eq!(parse(status), Some(Rights { uid: 4, gid: 8, groups: vec![8, 9] }));
        assert_eq!(parse("Uid:\t1\t2\t3\t4\nGid:\t5\n"), None);
        assert_eq!(Rights::of_process(std::process::id()).unwrap().uid, Rights::own().uid);
        assert!(Rights::of_process(u32::MAX).is_err());
        assert_eq!(Rights::of_uid(NOBODY - 7).groups, Vec::<u32>::new());
    }
}

//! Files of file systems that may never answer, opened and read by processes that can be left
//! behind.
//!
//! Once a server has taken a request of the kernel's, whoever waits for the answer cannot even be
//! killed, and a process cannot end before its threads. So another process waits, which shares
//! dwell's open files and none of its memory. Closing such a file asks the server too: these
//! descriptors stay open, and at the end of dwell a process that closes them is left behind with
//! them.
#![allow(unsafe_code)]

use super::patience::{WITHIN, WITHIN_AFTER_SIGNAL, silent};
use super::signals;
use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::ffi::CString;
use std::fs;
use std::io::{self, ErrorKind};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How often it is asked whether a process has done its work.
const STEP: Duration = Duration::from_micros(100);

/// Descriptors that are not to be closed by dwell.
static LEFT: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

/// An open regular file of such a file system.
#[derive(Debug)]
pub struct ApartFile {
    fd: ManuallyDrop<OwnedFd>,
    /// Its length when it was opened, in bytes.
    pub len: u64,
    /// Its inode.
    pub inode: u64,
    /// Its owner.
    pub uid: u32,
    /// When it was changed last.
    pub modified: SystemTime,
}

/// What the types of file systems with a server, of a network or of a program, begin with.
const KINDS: [&str; 11] =
    ["fuse", "nfs", "cifs", "smb", "9p", "ceph", "afs", "lustre", "ncp", "coda", "orangefs"];

/// Device and mount point of the file systems in a `mountinfo` of proc(5) that may never answer.
fn servers(mounts: &str) -> impl Iterator<Item = (&str, &str)> {
    mounts.lines().filter_map(|line| {
        let kind = line.split_once(" - ")?.1;
        let mut fields = line.split(' ').skip(2);
        let (device, point) = (fields.next()?, fields.nth(1)?);
        KINDS.iter().any(|known| kind.starts_with(known)).then_some((device, point))
    })
}

/// Whether the file system of this device, as a process has it mounted, may never answer. Its
/// server is not asked.
pub fn may_be_silent(pid: u32, (major, minor): (u32, u32)) -> bool {
    let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
    let device = format!("{major}:{minor}");
    servers(&mounts).any(|(of, _)| of == device)
}

/// The same of a path, by where file systems were mounted when this was first asked.
pub fn may_be_silent_at(path: &Path) -> bool {
    static POINTS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let points = POINTS.get_or_init(|| {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        servers(&mounts).map(|(_, point)| point.replace("\\040", " ").into()).collect()
    });
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    points.iter().any(|point| whole.starts_with(point))
}

/// What a process apart did: 0 or the number of an error, and what else there is to tell.
#[repr(C)]
#[derive(Clone, Copy)]
struct Told {
    error: i32,
    fd: RawFd,
    len: u64,
    inode: u64,
    uid: u32,
    modified_s: i64,
    regular: bool,
}

/// Memory that both have, with room for what is read behind what is told.
struct Shared {
    at: *mut u8,
    len: usize,
}

impl Shared {
    fn new(room: usize) -> io::Result<Self> {
        let len = size_of::<Told>() + room;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, at no address in particular.
        let at = unsafe { libc::mmap(ptr::null_mut(), len, access, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { at: at.cast(), len })
    }

    fn room(&mut self) -> &mut [u8] {
        let told = size_of::<Told>();
        // SAFETY: within the mapping, whose bytes are initialised, and which nobody else writes to:
        // the other process is not begun, is this one, or has ended.
        unsafe { std::slice::from_raw_parts_mut(self.at.add(told), self.len - told) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's own.
        unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

/// Has another process do it. `what` must neither allocate nor lock: other threads of this process,
/// which are not in that one, may hold what it would wait for.
fn apart(room: usize, what: impl Fn(&mut [u8]) -> Told) -> io::Result<(Told, Vec<u8>)> {
    let mut shared = Shared::new(room)?;
    // SAFETY: a process with a copy of this memory, and this one's open files. It runs `what`,
    // which keeps to what is allowed then, and ends at once.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_FILES, 0, 0, 0, 0) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    if pid == 0 {
        let told = what(shared.room());
        // SAFETY: the beginning of the mapping is for this, and aligned as a page is.
        unsafe { shared.at.cast::<Told>().write(told) };
        // SAFETY: ends this process and nothing else.
        unsafe { libc::_exit(0) };
    }
    let pid = pid as libc::pid_t;
    let begun = Instant::now();
    loop {
        // SAFETY: waits for that process, which tells nobody of its end.
        let ended = unsafe { libc::waitpid(pid, ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
        if ended != 0 {
            break;
        }
        let within = if signals::asked_to_end() { WITHIN_AFTER_SIGNAL } else { WITHIN };
        if begun.elapsed() >= within {
            signals::kill(pid.unsigned_abs());
            // It may still write there.
            std::mem::forget(shared);
            return Err(silent());
        }
        std::thread::sleep(STEP);
    }
    // SAFETY: it has ended; without having written, all of it is 0, which is a value of the type.
    let told = unsafe { shared.at.cast::<Told>().read() };
    match told.error {
        0 => Ok((told, shared.room()[..told.len.min(room as u64) as usize].to_vec())),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

impl Told {
    const NOTHING: Told = Told { error: 0, fd: -1, len: 0, inode: 0, uid: 0, modified_s: 0, regular: false };

    fn failed(error: rustix::io::Errno) -> Self {
        Told { error: error.raw_os_error(), ..Told::NOTHING }
    }
}

/// Opens the regular file at a path.
///
/// # Errors
/// The system's error, that it is no regular file, or that its file system does not answer.
pub fn open(path: &Path) -> io::Result<ApartFile> {
    open_after(path, || Ok(()))
}

/// The same after something is done in the process that opens it. That must not allocate.
pub(super) fn open_after(path: &Path, before: impl Fn() -> io::Result<()>) -> io::Result<ApartFile> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let (told, _) = apart(0, |_| {
        if let Err(error) = before() {
            return Told { error: error.raw_os_error().unwrap_or(libc::EACCES), ..Told::NOTHING };
        }
        let opened = rustix::fs::openat(CWD, &*path, flags, Mode::empty()).map(ManuallyDrop::new);
        let fd = match opened {
            Ok(fd) => fd,
            Err(error) => return Told::failed(error),
        };
        match rustix::fs::fstat(&*fd) {
            Err(error) => Told::failed(error),
            Ok(found) => Told {
                error: 0,
                fd: std::os::fd::AsRawFd::as_raw_fd(&*fd),
                len: found.st_size.unsigned_abs(),
                inode: found.st_ino,
                uid: found.st_uid,
                modified_s: found.st_mtime,
                regular: FileType::from_raw_mode(found.st_mode) == FileType::RegularFile,
            },
        }
    })?;
    // SAFETY: that process opened it in the table that it shares with this one.
    let fd = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(told.fd) });
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(told.modified_s.try_into().unwrap_or(0));
    let file = ApartFile { fd, len: told.len, inode: told.inode, uid: told.uid, modified };
    if told.regular {
        Ok(file)
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

impl ApartFile {
    /// Up to `len` bytes from `start` on; fewer where it ends, or more than the kernel gives at
    /// once.
    ///
    /// # Errors
    /// The system's error, or that its file system does not answer.
    pub fn read_at(&self, start: u64, len: usize) -> io::Result<Vec<u8>> {
        let (_, bytes) = apart(len, |room| match rustix::io::pread(&*self.fd, room, start) {
            Err(error) => Told::failed(error),
            Ok(read) => Told { len: read as u64, ..Told::NOTHING },
        })?;
        Ok(bytes)
    }

    /// The whole file, as long as it was when it was opened.
    ///
    /// # Errors
    /// As [`read_at`](Self::read_at).
    pub(super) fn all(&self) -> io::Result<Vec<u8>> {
        const PIECE: usize = 1 << 20;
        let (mut all, begun) = (Vec::new(), Instant::now());
        while (all.len() as u64) < self.len {
            let piece = self.read_at(all.len() as u64, PIECE)?;
            if piece.is_empty() {
                break;
            }
            all.extend(piece);
            if begun.elapsed() > WITHIN {
                return Err(silent());
            }
        }
        Ok(all)
    }
}

impl From<ApartFile> for fs::File {
    /// It closes when it is dropped, as any other.
    fn from(file: ApartFile) -> Self {
        let mut file = ManuallyDrop::new(file);
        // SAFETY: the file is not used again, and its `drop` does not run.
        unsafe { ManuallyDrop::take(&mut file.fd) }.into()
    }
}

impl Drop for ApartFile {
    fn drop(&mut self) {
        let fd = std::os::fd::AsRawFd::as_raw_fd(&*self.fd);
        LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(fd);
    }
}

/// To be called when all that is left to do is to end: closes all descriptors but those whose file
/// systems may not answer, and leaves these to a process that closes them.
pub fn leave_behind() {
    let left = std::mem::take(&mut *LEFT.lock().unwrap_or_else(PoisonError::into_inner));
    if left.is_empty() {
        return;
    }
    // SAFETY: as in `apart`: the process closes descriptors, and ends.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_FILES, 0, 0, 0, 0) };
    if pid == 0 {
        for fd in left {
            // SAFETY: nobody uses it any more.
            unsafe { libc::close(fd) };
        }
        // SAFETY: ends this process and nothing else.
        unsafe { libc::_exit(0) };
    }
    // Readers of pipes wait for the end of all who have them open: that process, too.
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<RawFd> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in open.into_iter().filter(|fd| !left.contains(fd)) {
        // SAFETY: nobody uses it any more.
        unsafe { libc::close(fd) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_opened_and_read_by_another_process() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("file");
        fs::write(&path, "0123456789").unwrap();
        let file = open(&path).unwrap();
        assert_eq!(file.len, 10);
        assert_eq!(file.read_at(2, 3).unwrap(), b"234");
        assert_eq!(file.read_at(8, 5).unwrap(), b"89");
        assert_eq!(file.read_at(10, 5).unwrap(), b"");
        assert_eq!(file.all().unwrap(), b"0123456789");
        assert_eq!(open(&top.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(open(top.path()).unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn who_never_answers_is_left_behind() {
        // As reading a file of a server that has stopped: nobody writes to the pipe.
        let (reader, _writer) = io::pipe().unwrap();
        let waits = apart(1, |room| match rustix::io::read(&reader, room) {
            Ok(_) => Told::NOTHING,
            Err(error) => Told::failed(error),
        });
        assert_eq!(waits.err().map(|error| error.kind()), Some(ErrorKind::TimedOut));
    }

    #[test]
    fn only_file_systems_with_a_server_may_be_silent() {
        let own = fs::metadata("/proc/self").unwrap();
        let device = std::os::unix::fs::MetadataExt::dev(&own);
        let device = (rustix::fs::major(device), rustix::fs::minor(device));
        assert!(!may_be_silent(std::process::id(), device));
        assert!(!may_be_silent(u32::MAX, device));
        let mounts = "36 35 98:0 / /mnt rw - ext3 /dev/x rw\n37 36 0:52 /x /mnt/far rw shared:7 - nfs4 host:/x rw\n\
                      38 36 0:53 / /mnt/own rw - fuse.sshfs me@host: rw\n39 36 0:54 / /tmp rw - tmpfs tmpfs rw\nodd\n";
        assert_eq!(servers(mounts).collect::<Vec<_>>(), [("0:52", "/mnt/far"), ("0:53", "/mnt/own")]);
    }
}

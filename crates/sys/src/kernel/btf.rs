//! The kernel's own description of its types (BTF), as bytes.
//!
//! Several MB: mapped where the kernel can do that (Linux 6.16 and newer), else read.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::slice;

/// Where it is.
pub const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";

/// More is no description of types: those of distributions have 5 to 10 MB.
const BYTES_MAX: u64 = 256 << 20;

/// What `statfs` says of sysfs (linux/magic.h).
const SYSFS_MAGIC: i64 = 0x6265_6572;

/// The bytes.
#[derive(Debug)]
pub struct KernelBtf(Bytes);

#[derive(Debug)]
enum Bytes {
    Mapped(Mapping),
    Read(Vec<u8>),
}

impl KernelBtf {
    /// Maps or reads it.
    ///
    /// # Errors
    /// It cannot be read: `ENOENT` where the kernel was built without. Or something else stands
    /// there: no file, or one that does not end.
    pub fn read() -> io::Result<Self> {
        Self::of(Path::new(KERNEL_BTF))
    }

    fn of(path: &Path) -> io::Result<Self> {
        // Without waiting for the writer of a pipe.
        let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let too_long = || {
            let most = BYTES_MAX >> 20;
            io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} MiB"))
        };
        if file.metadata()?.len() > BYTES_MAX {
            return Err(too_long());
        }
        if let Ok(mapping) = Mapping::new(&file) {
            return Ok(Self(Bytes::Mapped(mapping)));
        }
        let mut bytes = Vec::new();
        file.by_ref().take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > BYTES_MAX { Err(too_long()) } else { Ok(Self(Bytes::Read(bytes))) }
    }
}

impl Deref for KernelBtf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Mapped(mapping) => mapping.bytes(),
            Bytes::Read(bytes) => bytes,
        }
    }
}

/// A private mapping of a file of sysfs, read only.
#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

impl Mapping {
    /// Fails for files of other file systems: those can change or shrink while they are mapped, the
    /// kernel's types cannot.
    fn new(file: &File) -> io::Result<Self> {
        let is_sysfs = rustix::fs::fstatfs(file)?.f_type == SYSFS_MAGIC;
        let len = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        if !is_sysfs || len == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // SAFETY: a fresh private mapping of an open descriptor, placed by the kernel, touches
        // nothing of ours.
        let base = unsafe {
            libc::mmap(ptr::null_mut(), len, libc::PROT_READ, libc::MAP_PRIVATE, file.as_fd().as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { base, len })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: `new` made a readable mapping of `len` bytes, which lives as long as `self`. The
        // kernel never changes them, and the file is of sysfs, so it does not shrink.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`; no reference into it outlives `self`. A
        // failure would leave it mapped, which harms nothing.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_the_file_has() {
        let Ok(read) = std::fs::read(KERNEL_BTF) else { return };
        assert!(*KernelBtf::read().unwrap() == *read);
    }

    #[test]
    fn what_is_no_file_or_too_long_is_refused_without_reading_it() {
        let why = |path: &str| KernelBtf::of(Path::new(path)).unwrap_err().to_string();
        assert_eq!(why("/dev/zero"), "it is not a regular file");
        assert_eq!(why("/"), "it is not a regular file");
        let directory = tempfile::tempdir().unwrap();
        let long = directory.path().join("long");
        File::create(&long).unwrap().set_len(BYTES_MAX + 1).unwrap();
        assert_eq!(why(long.to_str().unwrap()), "it has more than 256 MiB");
        let pipe = directory.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(why(pipe.to_str().unwrap()), "it is not a regular file");
    }

    #[test]
    fn no_other_file_is_mapped() {
        assert!(Mapping::new(&File::open("/proc/self/exe").unwrap()).is_err());
    }
}

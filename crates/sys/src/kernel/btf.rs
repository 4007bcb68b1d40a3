//! The kernel's own description of its types (BTF), as bytes.
//!
//! Several MB: mapped where the kernel can do that (Linux 6.16 and newer), else read.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::{self, NonNull};
use std::slice;

/// Where it is.
pub const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";

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
    /// It cannot be read: `ENOENT` where the kernel was built without.
    pub fn read() -> io::Result<Self> {
        let file = File::open(KERNEL_BTF)?;
        match Mapping::new(&file) {
            Ok(mapping) => Ok(Self(Bytes::Mapped(mapping))),
            Err(_) => Ok(Self(Bytes::Read(fs::read(KERNEL_BTF)?))),
        }
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
        let Ok(read) = fs::read(KERNEL_BTF) else { return };
        assert!(*KernelBtf::read().unwrap() == *read);
    }

    #[test]
    fn no_other_file_is_mapped() {
        assert!(Mapping::new(&File::open("/proc/self/exe").unwrap()).is_err());
    }
}

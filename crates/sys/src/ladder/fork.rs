//! Children that do nothing: the cost of a process, and of `execve` of the smallest program.
//!
//! The caller decides how often. Each child is waited for before the call returns.
#![allow(unsafe_code)]

use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

/// The exit status of a child that could not execute.
const NOT_EXECUTED: c_int = 113;
/// The address of the smallest program in memory.
const ADDRESS: u64 = 0x40_0000;
const ELF_HEADER_BYTES: u64 = 64;
const PROGRAM_HEADER_BYTES: u64 = 56;

/// Machine code that ends the process with status 0: `exit_group(0)`.
#[cfg(target_arch = "x86_64")]
const CODE: &[u8] = &[
    0x31, 0xff, // xor edi, edi
    0xb8, 0xe7, 0x00, 0x00, 0x00, // mov eax, 231
    0x0f, 0x05, // syscall
];
#[cfg(target_arch = "aarch64")]
const CODE: &[u8] = &[
    0x00, 0x00, 0x80, 0xd2, // mov x0, #0
    0xc8, 0x0b, 0x80, 0xd2, // mov x8, #94
    0x01, 0x00, 0x00, 0xd4, // svc #0
];
#[cfg(target_arch = "riscv64")]
const CODE: &[u8] = &[
    0x13, 0x05, 0x00, 0x00, // li a0, 0
    0x93, 0x08, 0xe0, 0x05, // li a7, 94
    0x73, 0x00, 0x00, 0x00, // ecall
];
#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;
#[cfg(target_arch = "riscv64")]
const MACHINE: u16 = 243;

/// Forks a child that exits at once, and waits for it.
///
/// # Errors
/// The error of `fork` or `waitpid`.
pub fn fork_and_wait() -> io::Result<()> {
    // SAFETY: `_exit` is async-signal-safe and does not return.
    match unsafe { child_status(|| libc::_exit(0)) }? {
        0 => Ok(()),
        status => Err(ended(status)),
    }
}

/// The smallest static program, in memory: it has no file on a disk, no interpreter, no libraries,
/// and exits at once.
#[derive(Debug)]
pub struct Smallest {
    program: OwnedFd,
}

impl Smallest {
    /// Writes it.
    ///
    /// # Errors
    /// The error of `memfd_create`: the kernel may forbid executable files in memory
    /// (`vm.memfd_noexec`).
    pub fn new() -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC;
        // Linux before 6.3 does not know that flag; later versions log a warning without it.
        let program =
            memfd_create("dwell-smallest", flags | MemfdFlags::EXEC).or_else(|error| match error {
                rustix::io::Errno::INVAL => memfd_create("dwell-smallest", flags),
                error => Err(error),
            })?;
        let mut file = File::from(program);
        file.write_all(&image())?;
        Ok(Self { program: file.into() })
    }

    /// The same as the bytes of a file.
    pub fn image() -> Vec<u8> {
        image()
    }

    /// Forks a child that executes it, and waits for it.
    ///
    /// # Errors
    /// The error of `fork`, `execveat` or `waitpid`.
    pub fn fork_exec_and_wait(&self) -> io::Result<()> {
        const NAME: &CStr = c"dwell-smallest";
        let program = self.program.as_raw_fd();
        let argv: [*const c_char; 2] = [NAME.as_ptr(), ptr::null()];
        let envp: [*const c_char; 1] = [ptr::null()];
        // SAFETY: a system call and `_exit`, both async-signal-safe, with pointers to what lives on
        // this stack, which the child has a copy of.
        let status = unsafe {
            child_status(|| {
                libc::syscall(
                    libc::SYS_execveat,
                    program,
                    c"".as_ptr(),
                    argv.as_ptr(),
                    envp.as_ptr(),
                    libc::AT_EMPTY_PATH,
                );
            })
        }?;
        match status {
            0 => Ok(()),
            status if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == NOT_EXECUTED => {
                Err(io::Error::other("the kernel refused to execute it"))
            }
            status => Err(ended(status)),
        }
    }
}

impl AsFd for Smallest {
    /// Its file.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.program.as_fd()
    }
}

/// Forks, runs `what` in the child, which exits when it returns, and returns the child's wait
/// status.
///
/// # Safety
/// `what` is async-signal-safe: another thread may have held any lock at the fork.
unsafe fn child_status(what: impl FnOnce()) -> io::Result<c_int> {
    // SAFETY: the child runs only what the caller vouches for, and exits.
    let child = match unsafe { libc::fork() } {
        0 => {
            what();
            // SAFETY: async-signal-safe, and does not return.
            unsafe { libc::_exit(NOT_EXECUTED) }
        }
        child if child < 0 => return Err(io::Error::last_os_error()),
        child => child,
    };
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writes; the child is ours and no other thread waits for it.
        if unsafe { libc::waitpid(child, &mut status, 0) } == child {
            return Ok(status);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn ended(status: c_int) -> io::Error {
    io::Error::other(format!("a child that does nothing ended with wait status {status}"))
}

/// An ELF file with one segment: the whole file. See elf(5).
fn image() -> Vec<u8> {
    let entry = ADDRESS + ELF_HEADER_BYTES + PROGRAM_HEADER_BYTES;
    let bytes = ELF_HEADER_BYTES + PROGRAM_HEADER_BYTES + CODE.len() as u64;
    let mut image = Vec::with_capacity(bytes as usize);
    // 64 bits, little endian, version 1, System V.
    image.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let (executable, version, flags) = (2_u16, 1_u32, 0_u32);
    image.extend(executable.to_le_bytes());
    image.extend(MACHINE.to_le_bytes());
    image.extend(version.to_le_bytes());
    let (sections, one, none) = (0_u64, 1_u16, 0_u16);
    [entry, ELF_HEADER_BYTES, sections].into_iter().for_each(|field| image.extend(field.to_le_bytes()));
    image.extend(flags.to_le_bytes());
    [ELF_HEADER_BYTES as u16, PROGRAM_HEADER_BYTES as u16, one, none, none, none]
        .into_iter()
        .for_each(|field| image.extend(field.to_le_bytes()));
    let (load, read_and_execute, page_bytes) = (1_u32, 5_u32, 0x1_0000_u64);
    image.extend(load.to_le_bytes());
    image.extend(read_and_execute.to_le_bytes());
    // Offset in the file, address, physical address, bytes in the file, bytes in memory, alignment.
    [0, ADDRESS, ADDRESS, bytes, bytes, page_bytes]
        .into_iter()
        .for_each(|field| image.extend(field.to_le_bytes()));
    image.extend(CODE);
    image
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSegment};

    #[test]
    fn a_child_ends_and_is_waited_for() {
        fork_and_wait().unwrap();
    }

    #[test]
    fn the_smallest_program_is_an_elf_file_that_runs() {
        let image = image();
        let elf = object::File::parse(&*image).unwrap();
        assert_eq!(elf.segments().map(|segment| segment.size()).sum::<u64>(), image.len() as u64);
        assert_eq!(&image[(elf.entry() - ADDRESS) as usize..], CODE);
        Smallest::new().unwrap().fork_exec_and_wait().unwrap();
    }

    #[test]
    fn what_is_not_executed_is_not_mistaken_for_a_program_that_ran() {
        let program = File::open("/proc/self/status").unwrap().into();
        assert!(Smallest { program }.fork_exec_and_wait().is_err());
    }
}

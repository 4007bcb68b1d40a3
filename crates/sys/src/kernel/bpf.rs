//! The one `bpf(2)` command that the loader lacks: running a loaded program once, on this CPU or on
//! a given one.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `BPF_PROG_TEST_RUN` (include/uapi/linux/bpf.h).
const PROG_TEST_RUN: libc::c_int = 10;

/// `BPF_F_TEST_RUN_ON_CPU`: on a given CPU, in an interrupt.
const ON_CPU: u32 = 1;

/// `union bpf_attr` of that command: no data, no context, no repetition.
#[repr(C)]
#[derive(Default)]
struct TestRun {
    prog_fd: u32,
    retval: u32,
    none: [u64; 7],
    flags: u32,
    cpu: u32,
    batch_size: u32,
    pad: u32,
}

/// Runs a loaded BPF program once, without a context. For raw tracepoint programs, which Linux can
/// run this way since 5.10.
///
/// # Errors
/// What the system says.
pub fn run_once(program: BorrowedFd<'_>) -> io::Result<()> {
    run(program, TestRun::default())
}

/// The same on a given CPU: in an interrupt, so that the task that runs there is stopped in the
/// meantime.
///
/// # Errors
/// The system's error: the CPU may be offline.
pub fn run_once_on(program: BorrowedFd<'_>, cpu: u32) -> io::Result<()> {
    run(program, TestRun { flags: ON_CPU, cpu, ..TestRun::default() })
}

fn run(program: BorrowedFd<'_>, attr: TestRun) -> io::Result<()> {
    let attr = TestRun { prog_fd: program.as_raw_fd().cast_unsigned(), ..attr };
    // SAFETY: `attr` is initialised, of the stated size and outlives the call. All pointers in it
    // are null with a size of zero, so the kernel reads and writes nothing else of this process.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, PROG_TEST_RUN, &raw const attr, size_of::<TestRun>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

//! System calls, many and small, and through the 32-bit table.
#![allow(unsafe_code)]

use crate::clock;
use crate::{Failure, Program, Truth, number, process};
use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        name: "one-byte-reads",
        what: "reads /dev/zero one byte at a time, [N=1000000] times",
        truth: "ns.loop; counts.reads",
        run: one_byte_reads,
    },
    Program {
        name: "ping-pong",
        what: "[N=50000] round trips with a child over two pipes, both on one CPU",
        truth: "ns.loop; counts.trips; ids main, child",
        run: ping_pong,
    },
    Program {
        name: "calls-32",
        what: "[N=1000] calls of getpid, and half as many of close that fail, through the 32-bit table",
        truth: "counts.getpid, counts.close (all of which fail)",
        run: calls_32,
    },
    Program {
        name: "results",
        what: "calls that move bytes, that give nothing or an error, and that repeat, each a known number",
        truth: "counts.writes (writev of counts.bytes each), counts.empty (readv), counts.polls (ppoll, \
                finding nothing), counts.yields, counts.again (recvfrom, EAGAIN), counts.missing and \
                counts.invalid (unlinkat, ENOENT and EINVAL)",
        run: results,
    },
];

const WRITES: u64 = 1000;
const BYTES: usize = 100;
const EMPTY: u64 = 200;
const POLLS: u64 = 400;
const YIELDS: u64 = 500;
const AGAIN: u64 = 50;
const MISSING: u64 = 300;
const INVALID: u64 = 20;

fn results(_: &[String]) -> Result<Option<Truth>, Failure> {
    let mut nothing = File::options().read(true).write(true).open("/dev/null")?;
    let mut bytes = [0; BYTES];
    for _ in 0..WRITES {
        if nothing.write_vectored(&[IoSlice::new(&bytes)])? != BYTES {
            return Err("a write to /dev/null was short".into());
        }
    }
    for _ in 0..EMPTY {
        if nothing.read_vectored(&mut [IoSliceMut::new(&mut bytes)])? != 0 {
            return Err("there was something in /dev/null".into());
        }
    }
    let (reader, _writer) = process::pipe()?;
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let mut polled = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    for _ in 0..POLLS {
        // SAFETY: one descriptor to poll, a time and no signals: all live longer than the call.
        process::check(unsafe { libc::ppoll(&raw mut polled, 1, &raw const at_once, std::ptr::null()) })?;
    }
    for _ in 0..YIELDS {
        // SAFETY: takes and keeps no memory.
        process::check(unsafe { libc::sched_yield() })?;
    }
    let (socket, _other) = UnixStream::pair()?;
    for _ in 0..AGAIN {
        // SAFETY: `bytes` is valid for writes of its length.
        let got = unsafe {
            libc::recv(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT)
        };
        refused(got, libc::EAGAIN)?;
    }
    let unlink = |flags| {
        // SAFETY: a string that ends with a zero, and numbers.
        unsafe { libc::unlinkat(libc::AT_FDCWD, c"/nowhere/nothing".as_ptr(), flags) as isize }
    };
    (0..MISSING).try_for_each(|_| refused(unlink(0), libc::ENOENT))?;
    (0..INVALID).try_for_each(|_| refused(unlink(1), libc::EINVAL))?;
    Ok(Some(
        Truth::new()
            .count("writes", WRITES)
            .count("bytes", BYTES as u64)
            .count("empty", EMPTY)
            .count("polls", POLLS)
            .count("yields", YIELDS)
            .count("again", AGAIN)
            .count("missing", MISSING)
            .count("invalid", INVALID),
    ))
}

/// A call failed with this error.
fn refused(result: isize, error: i32) -> Result<(), Failure> {
    let last = std::io::Error::last_os_error();
    if result < 0 && last.raw_os_error() == Some(error) {
        return Ok(());
    }
    Err(format!("a call gave {result} ({last}), not error {error}").into())
}

fn one_byte_reads(args: &[String]) -> Result<Option<Truth>, Failure> {
    let reads = number(args, 0, 1_000_000)?;
    let mut zero = File::open("/dev/zero")?;
    let (read, spent) = clock::time(|| (0..reads).try_for_each(|_| zero.read_exact(&mut [0])));
    read?;
    Ok(Some(Truth::new().spent("loop", spent).count("reads", reads)))
}

fn ping_pong(args: &[String]) -> Result<Option<Truth>, Failure> {
    let trips = number(args, 0, 50_000)?;
    process::pin(process::cpu())?;
    let (mut there, mut to) = process::pipe()?;
    let (mut from, mut back) = process::pipe()?;
    let child = process::fork(|| {
        for _ in 0..trips {
            if there.read_exact(&mut [0]).is_err() || back.write_all(b"x").is_err() {
                return;
            }
        }
    })?;
    let (done, spent) = clock::time(|| -> std::io::Result<()> {
        for _ in 0..trips {
            to.write_all(b"x")?;
            from.read_exact(&mut [0])?;
        }
        Ok(())
    });
    done?;
    process::wait(child)?;
    Ok(Some(
        Truth::new()
            .spent("loop", spent)
            .count("trips", trips)
            .id("main", process::tid())
            .id("child", child as u64),
    ))
}

#[cfg(target_arch = "x86_64")]
fn calls_32(args: &[String]) -> Result<Option<Truth>, Failure> {
    /// `int 0x80` takes numbers of the 32-bit table even from 64-bit code.
    fn call(number: i64, argument: i64) -> i64 {
        let result: i64;
        // SAFETY: getpid and close (of -1) touch no memory. rbx is not to be named as an operand,
        // so it is swapped in and out; r8 to r11 are lost on old kernels.
        unsafe {
            std::arch::asm!(
                "xchg rbx, {argument}",
                "int 0x80",
                "xchg rbx, {argument}",
                argument = inout(reg) argument => _,
                inout("rax") number => result,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            );
        }
        result
    }
    const GETPID: i64 = 20;
    const CLOSE: i64 = 6;
    let calls = number(args, 0, 1000)?;
    for _ in 0..calls {
        if call(GETPID, 0) != process::pid() as i64 {
            return Err("the kernel has no 32-bit system calls".into());
        }
    }
    for _ in 0..calls / 2 {
        call(CLOSE, -1);
    }
    Ok(Some(Truth::new().count("getpid", calls).count("close", calls / 2)))
}

#[cfg(not(target_arch = "x86_64"))]
fn calls_32(_: &[String]) -> Result<Option<Truth>, Failure> {
    Err("64-bit code of this architecture cannot call through the 32-bit table".into())
}

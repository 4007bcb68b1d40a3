//! System calls, many and small, and through the 32-bit table.
#![allow(unsafe_code)]

use crate::clock;
use crate::{Failure, Program, Truth, number, process};
use std::fs::File;
use std::io::{Read, Write};

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
];

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

//! Files that are asked for by their paths, once and again.
#![allow(unsafe_code)]

use crate::process;
use crate::{Failure, Program, Truth, number};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::AsRawFd;

pub(super) static PROGRAMS: &[Program] = &[Program {
    name: "paths",
    what: "asks for paths, by calls that tell how often each: [ROUNDS=400] of 100 paths by the last",
    truth: "counts.missing (faccessat of one path that is not there), counts.once (the same of others), \
            counts.each (readlinkat of one name in each of two directories), counts.distinct (lgetxattr, of \
            another path each), counts.rounds and counts.paths (statx)",
    run: paths,
}];

const MISSING: u64 = 600;
const ONCE: u64 = 300;
const EACH: u64 = 100;
const DISTINCT: u64 = 60_000;
const PATHS: u64 = 100;

fn paths(args: &[String]) -> Result<Option<Truth>, Failure> {
    let rounds = number(args, 0, 400)?;
    // All calls of one CPU are one sample.
    process::pin(process::cpu())?;
    (0..MISSING).for_each(|_| access(c"/nowhere/again"));
    for number in 0..ONCE {
        access(&path("/nowhere/once", number)?);
    }
    let directories = [File::open("/")?, File::open("/proc")?];
    for at in 0..2 * EACH {
        let directory = directories[(at % 2) as usize].as_raw_fd();
        let mut bytes = [0_u8; 16];
        // SAFETY: a string that ends with a zero, and a buffer of the length that is told.
        unsafe { libc::readlinkat(directory, c"nothing".as_ptr(), bytes.as_mut_ptr().cast(), bytes.len()) };
    }
    for number in 0..DISTINCT {
        let path = path("/nowhere/distinct", number)?;
        // SAFETY: strings that end with a zero; no buffer.
        unsafe { libc::lgetxattr(path.as_ptr(), c"user.none".as_ptr(), std::ptr::null_mut(), 0) };
    }
    let asked: Vec<CString> =
        (0..PATHS).map(|number| path("/proc/self/", number)).collect::<Result<_, _>>()?;
    for path in (0..rounds).flat_map(|_| &asked) {
        // SAFETY: all zeros are a valid `statx`.
        let mut told: libc::statx = unsafe { std::mem::zeroed() };
        // SAFETY: a string that ends with a zero, and room for the answer.
        unsafe { libc::statx(libc::AT_FDCWD, path.as_ptr(), 0, libc::STATX_TYPE, &raw mut told) };
    }
    Ok(Some(
        Truth::new()
            .count("missing", MISSING)
            .count("once", ONCE)
            .count("each", EACH)
            .count("distinct", DISTINCT)
            .count("rounds", rounds)
            .count("paths", PATHS),
    ))
}

fn path(before: &str, number: u64) -> Result<CString, Failure> {
    Ok(CString::new(format!("{before}{number}"))?)
}

/// It is not there, or it is: both are calls. By its number, since the C library may take a newer
/// one.
fn access(path: &CStr) {
    // SAFETY: a string that ends with a zero, and numbers.
    unsafe { libc::syscall(libc::SYS_faccessat, libc::AT_FDCWD, path.as_ptr(), libc::F_OK) };
}

//! Page faults.
#![allow(unsafe_code)]

use crate::clock;
use crate::{Failure, Program, Truth, number, process};

pub(super) static PROGRAMS: &[Program] = &[Program {
    name: "fault",
    what: "writes to every small page of [MIB=256] of fresh memory, and again when it is no longer fresh",
    truth: "ns.touched (with faults), ns.again (the same loop without), ns.unmapped; counts.pages",
    run: fault,
}];

fn fault(args: &[String]) -> Result<Option<Truth>, Failure> {
    let len = number(args, 0, 256)? as usize * 1024 * 1024;
    // SAFETY: takes and keeps no memory.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new anonymous mapping; nothing else knows of it.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error().into());
    }
    // Huge pages would make it 128 faults, not 65,536. A kernel without them (PREEMPT_RT) refuses.
    // SAFETY: the range is the mapping just made.
    let small = process::check(unsafe { libc::madvise(at, len, libc::MADV_NOHUGEPAGE) });
    if let Err(error) = small
        && error.raw_os_error() != Some(libc::EINVAL)
    {
        return Err(error.into());
    }
    let touch = || {
        for offset in (0..len).step_by(page) {
            // SAFETY: within the mapping, which is writable and aliased by nothing.
            unsafe { at.cast::<u8>().add(offset).write_volatile(1) };
        }
    };
    let ((), touched) = clock::time(touch);
    let ((), again) = clock::time(touch);
    // SAFETY: the mapping made above, used by nothing from here on.
    let (unmapped, unmapping) = clock::time(|| process::check(unsafe { libc::munmap(at, len) }));
    unmapped?;
    Ok(Some(
        Truth::new()
            .spent("touched", touched)
            .spent("again", again)
            .spent("unmapped", unmapping)
            .id("main", process::tid())
            .count("pages", (len / page) as u64),
    ))
}

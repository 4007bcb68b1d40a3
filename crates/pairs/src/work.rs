//! What programs of several pairs do.

use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use std::fs::{self, File};
use std::hint::black_box;
use std::{io, thread};

/// Work that no compiler leaves out: about 1 ms for each million rounds.
#[inline(never)]
pub(crate) fn compute(rounds: u64) {
    let mut x = 88_172_645_463_325_252_u64;
    for _ in 0..rounds {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep(x);
}

/// Bytes that are not all the same.
pub(crate) fn filled(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at % 251) as u8).collect()
}

/// Takes a result, so that what made it is not left out.
pub(crate) fn keep<T>(result: T) {
    black_box(result);
}

/// Numbers that look like chance, the same each time.
pub(crate) fn random() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(88_172_645_463_325_252_u64), |x| {
        let x = x ^ x << 13;
        let x = x ^ x >> 7;
        Some(x ^ x << 17)
    })
}

/// The numbers below `many` in an order that looks like chance.
pub(crate) fn shuffled(many: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..many as u32).collect();
    for (at, number) in (1..many).rev().zip(random()) {
        order.swap(at, number as usize % (at + 1));
    }
    order
}

/// CPUs that this process may use.
pub(crate) fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// A process that does this and ends. The caller must have no other threads.
#[allow(unsafe_code)]
pub(crate) fn child(does: impl FnOnce()) -> io::Result<Pid> {
    // SAFETY: there is no other thread whose locks could stay taken in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // Nothing is left running if the parent is killed.
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            does();
            // SAFETY: it returns to nobody, and runs no handlers of the parent.
            unsafe { libc::_exit(0) }
        }
        pid => Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::InvalidData.into()),
    }
}

/// Waits until it has ended.
pub(crate) fn wait(child: Pid) -> io::Result<()> {
    waitpid(Some(child), WaitOptions::empty())?;
    Ok(())
}

/// Waits until any of this process's children has ended.
pub(crate) fn wait_for_any() -> io::Result<()> {
    waitpid(None, WaitOptions::empty())?;
    Ok(())
}

/// Whether it has ended.
pub(crate) fn ended(child: Pid) -> io::Result<bool> {
    Ok(waitpid(Some(child), WaitOptions::NOHANG)?.is_some())
}

/// The same work in this many threads; the first error of any.
pub(crate) fn in_threads(threads: usize, work: &(impl Fn() -> io::Result<()> + Sync)) -> io::Result<()> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        };
        threads.into_iter().map(ended).fold(Ok(()), io::Result::and)
    })
}

/// Lets the kernel forget what it has of a file in memory, as far as the disk has it.
pub(crate) fn forget(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

/// A directory of directories that have a hundred names each, all of them of one empty file.
pub(crate) fn tree(path: &str, names: u64) -> io::Result<()> {
    fs::create_dir(path)?;
    for directory in 0..names.div_ceil(100) {
        fs::create_dir(format!("{path}/{directory}"))?;
    }
    fs::write(format!("{path}/0/0"), "")?;
    for name in 1..names {
        fs::hard_link(format!("{path}/0/0"), format!("{path}/{}/{name}", name / 100))?;
    }
    Ok(())
}

/// A directory that no run had before this one. Its files are emptied and stay there: to make files
/// where many were removed takes ext4 several times as long, since it passes over each inode that
/// was freed in the last minutes, and every run would find another state.
pub(crate) fn fresh_directory(name: &str) -> io::Result<String> {
    let path = format!("{name}-{}", std::process::id());
    fs::create_dir(&path)?;
    Ok(path)
}

//! Locked memory: mlockall(2), mlock(2), and a prefaulted stack.
#![allow(unsafe_code)]

use std::io;

/// Bytes of a stack that [`prefault_stack`] touches: far more than a loop of few calls needs.
const STACK_BYTES: usize = 64 << 10;

/// Locks all memory of the process for the lifetime of this value.
#[derive(Debug)]
pub struct Locked(());

impl Locked {
    /// Locks all current mappings and prefaults them. Later mappings are not locked: under a limit,
    /// new threads and allocations would fail.
    ///
    /// # Errors
    /// `EPERM`, `ENOMEM`: more than `RLIMIT_MEMLOCK`, and no CAP_IPC_LOCK.
    pub fn all() -> io::Result<Self> {
        // SAFETY: it only makes memory present.
        match unsafe { libc::mlockall(libc::MCL_CURRENT) } {
            0 => Ok(Self(())),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: as above; it cannot fail.
        unsafe { libc::munlockall() };
    }
}

/// Locks the pages of some memory until they are unmapped.
///
/// # Errors
/// As for [`Locked::all`].
pub fn lock<T>(memory: &[T]) -> io::Result<()> {
    // SAFETY: the memory is ours; locking does not change it.
    match unsafe { libc::mlock(memory.as_ptr().cast(), size_of_val(memory)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Prefaults the stack below the caller's frame, and locks it where `locked`, for functions called
/// afterwards.
///
/// # Errors
/// As for [`lock`]; it is present even then.
#[inline(never)]
pub fn prefault_stack(locked: bool) -> io::Result<()> {
    let mut stack = [0_u8; STACK_BYTES];
    for at in (0..STACK_BYTES).step_by(1024) {
        stack[at] = 1;
        std::hint::black_box(&mut stack);
    }
    if locked { lock(&stack) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked_kb() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    fn locked_memory_is_counted_by_the_kernel() {
        let memory = vec![1_u8; 256 << 10];
        let before = locked_kb();
        match lock(&memory) {
            Ok(()) => assert!(locked_kb() >= before + 255, "{before} {}", locked_kb()),
            Err(error) => {
                assert!(matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOMEM)), "{error}")
            }
        }
        let stack = std::thread::spawn(|| prefault_stack(true)).join().unwrap();
        assert!(stack.is_ok() || locked_kb() < 64, "{stack:?}");
    }
}

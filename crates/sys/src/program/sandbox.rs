//! System calls that Rust's runtime and what it is built on cannot do without, tried before it
//! begins. In a sandbox that refuses one of them (a seccomp filter), the runtime would end the
//! process by a signal before `main`, mostly without a word. (Where no mmap at all is allowed, musl
//! does not come this far: it needs one for thread-local storage.)
#![allow(unsafe_code)]

use super::errno::errno;
use libc::{c_int, size_t};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Which status says that dwell itself failed.
const FAILED: c_int = 125;

// SAFETY: the C library calls what this section points to, once, before `main`; `check` needs
// nothing that is not there yet.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = check;

/// Ends the process with a sentence if a call is refused.
extern "C" fn check() {
    if let Err((call, error)) = try_all() {
        say(b"dwell: the system call ");
        say(call.as_bytes());
        say(b" fails: ");
        // SAFETY: a text that ends with a zero and lasts, for every number; nothing else runs yet.
        unsafe {
            let text = libc::strerror(error);
            libc::write(libc::STDERR_FILENO, text.cast(), libc::strlen(text));
        }
        say(
            b"\ntry: allow poll, mmap, mprotect, munmap, rt_sigaction, sigaltstack and clock_gettime in the \
              sandbox (seccomp filter) that dwell is started in, or start it outside\n",
        );
        // SAFETY: ends the process.
        unsafe { libc::_exit(FAILED) };
    }
    crate::allocator::tell_of_exhaustion();
}

fn say(text: &[u8]) {
    // A failure to print has nowhere to go.
    // SAFETY: the text is as long as it says.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

/// The name of the call that fails, and its error number.
fn try_all() -> Result<(), (&'static str, c_int)> {
    // SAFETY: all of these get memory of their own, of the right size, or none where that is
    // allowed; the page is used by nobody else, and given back.
    unsafe {
        // The runtime looks at the standard descriptors so, and lives with these errors.
        if libc::poll(null_mut(), 0, 0) < 0
            && ![libc::EINTR, libc::EINVAL, libc::EAGAIN, libc::ENOMEM].contains(&errno())
        {
            return Err(("poll", errno()));
        }
        let bytes = libc::sysconf(libc::_SC_PAGESIZE) as size_t;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, kind, -1, 0);
        if page == libc::MAP_FAILED {
            return Err(("mmap", errno()));
        }
        done("mprotect", libc::mprotect(page, bytes, libc::PROT_NONE))?;
        done("munmap", libc::munmap(page, bytes))?;
        let mut action = MaybeUninit::zeroed();
        done("rt_sigaction", libc::sigaction(libc::SIGPIPE, null_mut(), action.as_mut_ptr()))?;
        let mut stack = MaybeUninit::zeroed();
        done("sigaltstack", libc::sigaltstack(null_mut(), stack.as_mut_ptr()))?;
        let mut now = MaybeUninit::zeroed();
        // The vDSO answers for other clocks; of this one the kernel is asked.
        done("clock_gettime", libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, now.as_mut_ptr()))
    }
}

fn done(call: &'static str, returned: c_int) -> Result<(), (&'static str, c_int)> {
    if returned < 0 { Err((call, errno())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_refused_here_and_a_refusal_is_named() {
        assert_eq!(try_all(), Ok(()));
        // SAFETY: no such descriptor.
        let refused = done("close", unsafe { libc::close(-1) });
        assert_eq!(refused, Err(("close", libc::EBADF)));
    }
}

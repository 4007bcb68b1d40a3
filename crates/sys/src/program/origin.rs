//! The signal dispositions and mask that this process inherited, so that the program can start with
//! the same.
//!
//! Rust ignores SIGPIPE before `main`, so that is too late: whether the caller had it ignored
//! (systemd does, for services) is visible only before.
//!
//! And the environment: of a program that gets rights by its execution, as one with capabilities,
//! the dynamic loader takes variables away (`LD_LIBRARY_PATH`, `TMPDIR` and more). The measured
//! program gets no rights, and without them it may be another one.
#![allow(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::OnceLock;

/// The inherited dispositions and mask.
pub(crate) struct InheritedSignals {
    mask: libc::sigset_t,
    sigpipe_ignored: bool,
    sigchld_ignored: bool,
    sigxfsz_ignored: bool,
}

static ORIGIN: OnceLock<InheritedSignals> = OnceLock::new();

/// Run by the C start-up code, before Rust's.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = capture;

extern "C" fn capture() {
    ORIGIN.get_or_init(InheritedSignals::now);
    // A file that reaches the limit of its size is an error in words then.
    set_ignored(libc::SIGXFSZ, true);
}

/// What was captured before `main`.
pub(crate) fn origin() -> &'static InheritedSignals {
    ORIGIN.get_or_init(InheritedSignals::now)
}

impl InheritedSignals {
    fn now() -> Self {
        let mut mask = empty_set();
        // SAFETY: both pointers are valid; a null new set only reads.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, ptr::null(), &mut mask) };
        Self {
            mask,
            sigpipe_ignored: is_ignored(libc::SIGPIPE),
            sigchld_ignored: is_ignored(libc::SIGCHLD),
            sigxfsz_ignored: is_ignored(libc::SIGXFSZ),
        }
    }

    /// Restores it in the calling process. For a forked child: async-signal-safe, allocates
    /// nothing.
    pub(crate) fn restore(&self) {
        set_ignored(libc::SIGPIPE, self.sigpipe_ignored);
        set_ignored(libc::SIGCHLD, self.sigchld_ignored);
        set_ignored(libc::SIGXFSZ, self.sigxfsz_ignored);
        // SAFETY: the mask is initialised; a null old set is not written.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.mask, ptr::null_mut()) };
    }
}

/// The environment that dwell was started with.
///
/// # Errors
/// The loader took some of it away, and what it was is not known.
pub(crate) fn environment() -> io::Result<Vec<(OsString, OsString)>> {
    // SAFETY: takes a number.
    if unsafe { libc::getauxval(libc::AT_SECURE) } == 0 {
        return Ok(std::env::vars_os().collect());
    }
    // The loader removes pointers; the text stays where the kernel put it.
    let stat = std::fs::read("/proc/self/stat")?;
    let (start, end) = bounds(&stat).ok_or(ErrorKind::InvalidData)?;
    // SAFETY: the kernel's bounds of the environment's text on the stack of the first thread, which
    // is there until the process ends; nobody writes to it.
    let text = unsafe { std::slice::from_raw_parts(start as *const u8, end - start) };
    Ok(entries(text))
}

/// Where the text of the environment is, of proc_pid_stat(5): `env_start` and `env_end`.
fn bounds(stat: &[u8]) -> Option<(usize, usize)> {
    const ENV_START: usize = 50;
    // The name, in brackets, may have any character.
    let after_name = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    let mut fields = after_name.split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty());
    let mut next = |skip| std::str::from_utf8(fields.nth(skip)?).ok()?.parse::<usize>().ok();
    let (start, end) = (next(ENV_START - 3)?, next(0)?);
    (start != 0 && start <= end).then_some((start, end))
}

/// `NAME=value` with a zero after each; what has no name is none.
fn entries(text: &[u8]) -> Vec<(OsString, OsString)> {
    let owned = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    let entry = |entry: &[u8]| {
        let at = entry.iter().skip(1).position(|byte| *byte == b'=')? + 1;
        Some((owned(&entry[..at]), owned(&entry[at + 1..])))
    };
    text.split(|byte| *byte == 0).filter_map(entry).collect()
}

/// The empty signal set.
pub(crate) fn empty_set() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the whole set and cannot fail.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// Whether `signal` is ignored by this process.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only reads; zeros are a valid `sigaction` should the call fail.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Ignores `signal`, or restores its default action. Async-signal-safe.
pub(crate) fn set_ignored(signal: i32, ignored: bool) {
    // SAFETY: zeros are a valid `sigaction` (no flags, empty mask), and both handlers are the
    // system's own.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_the_environment_is_found_where_the_kernel_put_it() {
        let (start, end) = bounds(&std::fs::read("/proc/self/stat").unwrap()).unwrap();
        let kernels = entries(&std::fs::read("/proc/self/environ").unwrap());
        // SAFETY: as in `environment`.
        let text = unsafe { std::slice::from_raw_parts(start as *const u8, end - start) };
        assert_eq!(entries(text), kernels);
        assert!(kernels.iter().any(|(name, _)| name == "PATH"));
        assert!(environment().unwrap().iter().any(|(name, _)| name == "PATH"));
        assert_eq!(bounds(b"7 (a) b) S 1 2"), None);
        let made = entries(b"A=1\0=x=2\0nothing\0B=\0");
        let pairs: Vec<_> = made.iter().map(|(a, b)| (a.to_str().unwrap(), b.to_str().unwrap())).collect();
        assert_eq!(pairs, [("A", "1"), ("=x", "2"), ("B", "")]);
    }
}

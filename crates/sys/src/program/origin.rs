//! The signal dispositions and mask that this process inherited, so that the program can start with
//! the same.
//!
//! Rust ignores SIGPIPE before `main`, so that is too late: whether the caller had it ignored
//! (systemd does, for services) is visible only before.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::OnceLock;

/// The inherited dispositions and mask.
pub(crate) struct InheritedSignals {
    mask: libc::sigset_t,
    sigpipe_ignored: bool,
    sigchld_ignored: bool,
}

static ORIGIN: OnceLock<InheritedSignals> = OnceLock::new();

/// Run by the C start-up code, before Rust's.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = capture;

extern "C" fn capture() {
    ORIGIN.get_or_init(InheritedSignals::now);
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
        Self { mask, sigpipe_ignored: is_ignored(libc::SIGPIPE), sigchld_ignored: is_ignored(libc::SIGCHLD) }
    }

    /// Restores it in the calling process. For a forked child: async-signal-safe, allocates
    /// nothing.
    pub(crate) fn restore(&self) {
        set_ignored(libc::SIGPIPE, self.sigpipe_ignored);
        set_ignored(libc::SIGCHLD, self.sigchld_ignored);
        // SAFETY: the mask is initialised; a null old set is not written.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.mask, ptr::null_mut()) };
    }
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
fn is_ignored(signal: i32) -> bool {
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

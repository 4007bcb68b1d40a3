//! The error of the last system call that libc made: where nothing may be allocated.
#![allow(unsafe_code)]

use libc::c_int;

/// Of this thread.
pub(crate) fn errno() -> c_int {
    // SAFETY: the location is valid for this thread.
    unsafe { *libc::__errno_location() }
}

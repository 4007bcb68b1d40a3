//! A thread that does nothing, without the extras of Rust's own threads (a name, a guard, a slot
//! for the result).
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// The C library that dwell is linked with, whose threads and allocator these are.
pub const C_LIBRARY: &str = if cfg!(target_env = "musl") { "musl" } else { "glibc" };

extern "C" fn nothing(_: *mut c_void) -> *mut c_void {
    ptr::null_mut()
}

/// `pthread_create` with the default stack, and `pthread_join`.
///
/// # Errors
/// The error of `pthread_create`: too many threads, no memory.
pub fn create_and_join() -> io::Result<()> {
    let mut thread = MaybeUninit::uninit();
    // SAFETY: the place for the thread is valid, null asks for the default attributes, and the
    // function touches nothing.
    let error = unsafe { libc::pthread_create(thread.as_mut_ptr(), ptr::null(), nothing, ptr::null_mut()) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    // SAFETY: it was created a moment ago and is joined once.
    match unsafe { libc::pthread_join(thread.assume_init(), ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_thread_is_made_and_gone() {
        for _ in 0..100 {
            super::create_and_join().unwrap();
        }
    }
}
